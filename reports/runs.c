#include "reports/runs.h"

#include "harness/record/history.h"
#include "reports/format.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OF_RESULT \
    " r.id, r.case_id AS 'case', r.repeat, r.attempt," \
    " printf('%u', r.fail_allocation) AS fail_allocation, r.outcome, r.reason, r.started," \
    " r.duration, r.data_hash, f.cause, f.message," \
    " m.name, m.median, m.low, m.high, m.items, m.unit, m.flops, m.bytes, m.share, m.share_low," \
    " m.share_high, m.bound"
#define PARTS_OF_RESULT \
    " LEFT JOIN failure AS f ON f.result_id = r.id AND f.position = 0" \
    " LEFT JOIN measurement AS m ON m.result_id = r.id AND m.position = 0"

static const char query[] =
    "SELECT run.id AS run_id, run.started AS run_started, run.ended AS run_ended, run.exit_code,"
    " run.command, run.machine,"
    " (SELECT value FROM fact WHERE run_id = run.id AND key = 'git.commit') AS 'commit',"
    " (SELECT value FROM fact WHERE run_id = run.id AND key = 'git.dirty') AS dirty," OF_RESULT
    " FROM run LEFT JOIN result AS r ON r.run_id = run.id"
    " AND (?5 IS NOT NULL OR r.attempt = 0)" PARTS_OF_RESULT
    " WHERE (?1 IS NULL OR run.id = ?1) AND (?2 IS NULL OR instr(r.case_id, ?2) > 0)"
    " AND (?3 IS NULL OR r.outcome = ?3)"
    " ORDER BY run.started DESC, run.rowid DESC, r.started DESC, r.rowid DESC LIMIT ?4 + 0";

static const char attempts_query[] =
    "SELECT" OF_RESULT " FROM result AS this JOIN result AS r ON r.run_id = this.run_id"
    " AND r.case_id = this.case_id AND r.repeat = this.repeat"
    " AND r.attempt <> this.attempt" PARTS_OF_RESULT " WHERE this.id = ?1 ORDER BY r.attempt";

static const char *const of_run[] = {"exit_code", "command", "machine", "commit"};
static const char *const of_measurement[] = {"name",  "median",    "low",        "high",
                                             "items", "unit",      "flops",      "bytes",
                                             "share", "share_low", "share_high", "bound"};

/* Takes a member out of `from` and puts it into `to`. */
static void move(cJSON *to, const char *name, cJSON *from, const char *old)
{
    cJSON *item = cJSON_DetachItemFromObjectCaseSensitive(from, old);
    if (item)
        cJSON_AddItemToObject(to, name, item);
}

static cJSON *new_run(cJSON *row)
{
    cJSON *run = cJSON_CreateObject();
    move(run, "id", row, "run_id");
    move(run, "started", row, "run_started");
    move(run, "ended", row, "run_ended");
    for (size_t i = 0; i < sizeof of_run / sizeof *of_run; i++)
        move(run, of_run[i], row, of_run[i]);
    if (*ypi_text_of(row, "dirty"))
        cJSON_AddBoolToObject(run, "dirty", strcmp(ypi_text_of(row, "dirty"), "yes") == 0);
    else
        cJSON_AddNullToObject(run, "dirty");
    cJSON_AddArrayToObject(run, "results");
    return run;
}

static cJSON *new_result(cJSON *row)
{
    static const char *const plain[] = {
        "id",      "case",   "repeat",  "attempt",  "fail_allocation",
        "outcome", "reason", "started", "duration", "data_hash"};
    cJSON *result = cJSON_CreateObject();
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        move(result, plain[i], row, plain[i]);
    if (*ypi_text_of(row, "cause")) {
        cJSON *failure = cJSON_AddObjectToObject(result, "failure");
        move(failure, "cause", row, "cause");
        move(failure, "message", row, "message");
    }
    if (*ypi_text_of(row, "name")) {
        cJSON *measurement = cJSON_AddObjectToObject(result, "measurement");
        for (size_t i = 0; i < sizeof of_measurement / sizeof *of_measurement; i++)
            move(measurement, of_measurement[i], row, of_measurement[i]);
    }
    return result;
}

cJSON *ypi_runs_load(sqlite3 *db, const struct ypi_runs_filter *filter)
{
    const char *parameters[] = {filter->run, filter->id, filter->outcome, filter->limit,
                                filter->attempts ? "" : NULL};
    cJSON *rows = ypi_store_rows(db, query, 5, parameters);
    if (!rows)
        return NULL;
    cJSON *runs = cJSON_CreateArray();
    cJSON *run = NULL;
    cJSON *row;
    cJSON_ArrayForEach(row, rows)
    {
        if (!run || strcmp(ypi_text_of(run, "id"), ypi_text_of(row, "run_id")) != 0) {
            run = new_run(row);
            cJSON_AddItemToArray(runs, run);
        }
        if (*ypi_text_of(row, "id"))
            cJSON_AddItemToArray(cJSON_GetObjectItem(run, "results"), new_result(row));
    }
    cJSON_Delete(rows);
    return runs;
}

cJSON *ypi_attempts_load(sqlite3 *db, const char *result_id)
{
    cJSON *rows = ypi_store_rows(db, attempts_query, 1, &result_id);
    if (!rows)
        return NULL;
    cJSON *attempts = cJSON_CreateArray();
    cJSON *row;
    cJSON_ArrayForEach(row, rows)
    {
        cJSON_AddItemToArray(attempts, new_result(row));
    }
    cJSON_Delete(rows);
    return attempts;
}

/* -- for a person -------------------------------------------------------------------------- */

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

/* What tells results of one case in a run apart: " #2 attempt 3". */
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
    const int most = YPI_LINE_WIDTH - BEFORE_ID - 2 - 26;
    int width = 0;
    char text[64];
    const cJSON *result;
    cJSON_ArrayForEach(result, results)
    {
        int columns = ypi_line_columns(ypi_text_of(result, "case")) + marks(result, text);
        if (columns > width)
            width = columns < most ? columns : most;
    }
    return width;
}

/* Nothing is cut where a program may be reading. */
static int room(int columns)
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
    int columns = ypi_put_line(ypi_text_of(result, "case"), room(YPI_LINE_WIDTH - BEFORE_ID));
    if (columns <= width) {
        fputs(more, stdout);
        columns += length;
    }
    if (*text && columns > width)
        printf("\n%*s", columns = BEFORE_ID + 2, "");
    else if (*text)
        columns += BEFORE_ID + printf("%*s", width - columns + 2, "");
    if (*text)
        (void)ypi_put_line(text, room(YPI_LINE_WIDTH - columns));
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
