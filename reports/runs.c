#include "reports/print.h"

#include "harness/history/history.h"
#include "reports/format.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#define BEFORE_ID 21 /* columns: indent, UUID's begin, outcome, gaps */

void ypi_result_headline(const cJSON *result, char *out, size_t size)
{
    const cJSON *failure = cJSON_GetObjectItem(result, "failure");
    const cJSON *measurement = cJSON_GetObjectItem(result, "measurement");
    const char *reason = ypi_text_of(result, "reason");
    char figure[YPI_FIGURE_MAX];
    char part[YPI_FIGURE_MAX];
    *out = '\0';
    if (failure) {
        snprintf(out, size, "%s", ypi_text_of(failure, "message"));
    } else if (*reason) {
        snprintf(out, size, "%s", reason);
    } else if (measurement && isnan(ypi_real(measurement, "median"))) {
        snprintf(out, size, "%s not timed", ypi_text_of(measurement, "name"));
    } else if (measurement) {
        ypi_format_measurement(figure, measurement, ypi_real(measurement, "median"));
        ypi_format_part(part, measurement);
        snprintf(out, size, "%s %s%s", ypi_text_of(measurement, "name"), figure, part);
    }
}

/* By what results of one case in a run differ: " #2 attempt 3". */
static int marks(const cJSON *result, char out[64])
{
    double repeat = ypi_real(result, "repeat");
    double attempt = ypi_real(result, "attempt");
    int length = 0;
    *out = '\0';
    if (repeat > 0)
        length = snprintf(out, 64, " #%.0f", repeat + 1);
    if (attempt > 0)
        length += snprintf(out + length, 64 - (size_t)length, " attempt %.0f", attempt);
    return length;
}

/* Ids as wide as the widest, unless that leaves too little for what stands behind them: an id
 * that is wider then has that on a line of its own. */
static int id_width(const cJSON *results)
{
    const int limit = YPI_LINE_WIDTH - BEFORE_ID - 2 - 26;
    int width = 0;
    char text[64];
    const cJSON *result;
    cJSON_ArrayForEach(result, results)
    {
        int columns = ypi_line_columns(ypi_text_of(result, "case")) + marks(result, text);
        if (columns > width)
            width = columns < limit ? columns : limit;
    }
    return width;
}

/* Nothing is cut where a program may be reading. */
static int cut_at(int columns)
{
    return isatty(STDOUT_FILENO) ? columns : 0;
}

static void print_result(const cJSON *result, int width)
{
    char text[512];
    char more[64];
    int length = marks(result, more);
    ypi_result_headline(result, text, sizeof text);
    printf("  %.8s  ", ypi_text_of(result, "id"));
    ypi_put_outcome(ypi_text_of(result, "outcome"), 7);
    printf("  ");
    int columns = ypi_put_line(ypi_text_of(result, "case"), cut_at(YPI_LINE_WIDTH - BEFORE_ID));
    if (columns <= width) {
        fputs(more, stdout);
        columns += length;
    }
    if (*text && columns > width)
        printf("\n%*s", columns = BEFORE_ID + 2, "");
    else if (*text)
        columns += BEFORE_ID + printf("%*s", width - columns + 2, "");
    if (*text)
        (void)ypi_put_line(text, cut_at(YPI_LINE_WIDTH - columns));
    putchar('\n');
}

static void print_run(const cJSON *run)
{
    char started[32];
    const char *commit = ypi_text_of(run, "commit");
    double exit_code = ypi_real(run, "exit_code");
    ypi_format_time(started, ypi_real(run, "started"));
    printf("run %.8s  %s", ypi_text_of(run, "id"), started);
    if (*commit)
        printf("  commit %.10s%s", commit,
               cJSON_IsTrue(cJSON_GetObjectItem(run, "dirty")) ? " (dirty)" : "");
    if (isnan(ypi_real(run, "ended")))
        printf("  unfinished");
    else if (exit_code != 0)
        printf("  exit code %.0f", exit_code);
    if (!isnan(ypi_real(run, "slowdown")))
        printf("  slowed down %g times", ypi_real(run, "slowdown"));
    if (cJSON_IsTrue(cJSON_GetObjectItem(run, "no_fork")))
        printf("  without isolation");
    putchar('\n');
}

void ypi_runs_print(const cJSON *runs)
{
    const cJSON *run;
    const char *between = "";
    cJSON_ArrayForEach(run, runs)
    {
        const cJSON *results = cJSON_GetObjectItem(run, "results");
        const cJSON *result;
        int width = id_width(results);
        fputs(between, stdout);
        print_run(run);
        cJSON_ArrayForEach(result, results) print_result(result, width);
        if (cJSON_GetArraySize(results) == 0)
            puts("  no result");
        between = "\n";
    }
}
