#include "reports/report/text.h"

#include "base/text/text.h"
#include "reports/advice/advice.h"
#include "reports/format.h"
#include "reports/report/chart.h"
#include "reports/report/lines.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BAR = 10, PAST = 20, FIGURE = 22, INDENT = 10 };

/* A case that has a line of its own, until its test is over and the longest bar is known. */
struct waiting {
    char *id, *figure, *past;
    double height; /* NaN: no bar */
};

struct ypi_report_text {
    const struct ypi_content *content;
    int section;  /* printed last; -1: none */
    bool blocks;  /* bars of block elements */
    char *test;   /* of those that wait */
    bool is_rate; /* their bars are rates: longer is faster; else times */
    struct waiting *list;
    size_t count;
};

/* -- the head ------------------------------------------------------------------------------ */

static void put_text(struct ypi_text *text, int indent)
{
    char *line = ypi_text_take(text);
    ypi_put_lines(line, indent);
    free(line);
}

static void put_head(const struct ypi_content *content)
{
    const cJSON *run;
    struct ypi_text line = {0};
    cJSON_ArrayForEach(run, content->runs)
    {
        ypi_add_run(&line, run);
        put_text(&line, 0);
    }
    ypi_text_add(&line, "compared with ");
    if (content->against != NULL)
        ypi_add_bases(&line, content);
    else
        ypi_text_add(&line, "no run: the history has none before it with the same cases, options "
                            "and machine");
    put_text(&line, 0);
    for (size_t i = 0; i < content->note_count; i++) {
        ypi_text_add(&line, "note: %s", content->notes[i]);
        put_text(&line, 0);
    }
}

struct ypi_report_text *ypi_report_text_create(const struct ypi_content *content)
{
    struct ypi_report_text *t = ypi_calloc(1, sizeof *t);
    *t = (struct ypi_report_text){.content = content, .section = -1, .blocks = ypi_chart_blocks()};
    put_head(content);
    return t;
}

/* -- a case that is shown whole ---------------------------------------------------------------- */

static void put_failures(const cJSON *document)
{
    const cJSON *failure;
    cJSON_ArrayForEach(failure, cJSON_GetObjectItemCaseSensitive(document, "failures"))
    {
        printf("%*s", INDENT, "");
        ypi_put_text(ypi_text_of(failure, "message"), INDENT);
        if (*ypi_text_of(failure, "file") != '\0') {
            printf("%*sin ", INDENT, "");
            (void)ypi_put_line(ypi_text_of(failure, "file"), 0);
            printf(":%.0f\n", ypi_real(failure, "line"));
        }
    }
}

static void put_budgets(const cJSON *document)
{
    const cJSON *b;
    cJSON_ArrayForEach(b, cJSON_GetObjectItemCaseSensitive(document, "budgets"))
    {
        struct ypi_budget_words words;
        struct ypi_text line = {0};
        ypi_word_budget(&words, document, b);
        printf("%*s", INDENT, "");
        ypi_put_outcome(words.met, 11);
        ypi_text_add(&line, " %s", words.text);
        if (*words.measured != '\0')
            ypi_text_add(&line, ": measured %s%s%s", words.measured,
                         *words.interval != '\0' ? " " : "", words.interval);
        if (*words.distance != '\0')
            ypi_text_add(&line, ", distance %s", words.distance);
        put_text(&line, 0);
    }
}

static void put_whole(const struct ypi_report_case *one, const cJSON *document)
{
    const char *reason =
        ypi_text_of(cJSON_GetObjectItemCaseSensitive(document, "result"), "reason");
    struct ypi_text line = {0};
    printf("  ");
    ypi_put_outcome(one->outcome, 7);
    printf(" ");
    (void)ypi_put_line(one->id, 0);
    putchar('\n');
    if (*reason != '\0') {
        printf("%*s", INDENT, "");
        ypi_put_text(reason, INDENT);
    }
    for (size_t i = 0; i < one->change_count; i++) {
        ypi_text_add(&line, "%s: %s", one->changes[i].word, one->changes[i].text);
        put_text(&line, INDENT);
    }
    put_failures(document);
    put_budgets(document);
    if (*ypi_text_of(document, "reproduce") != '\0')
        ypi_put_lines(ypi_text_of(document, "reproduce"), INDENT);
}

/* -- a line each ------------------------------------------------------------------------------ */

static void put_waiting(const struct ypi_report_text *t, const struct waiting *w, double most)
{
    struct ypi_text line = {0};
    const int width = YPI_LINE_WIDTH - 2 - FIGURE - BAR - PAST - 4;
    printf("  ");
    int columns = ypi_put_line(w->id, 0);
    if (columns > width)
        printf("\n%*s", width + 2, "");
    else
        printf("%*s", width - columns, "");
    ypi_text_add(&line, " %s%*s", w->figure,
                 (int)fmax(0, FIGURE - (double)ypi_columns(w->figure, strlen(w->figure))), "");
    if (!isnan(w->height)) {
        ypi_text_add(&line, " ");
        ypi_chart_bar(&line, w->height / most, BAR, t->blocks);
        ypi_text_add(&line, "  %s", w->past);
    }
    while (line.length > 0 && line.data[line.length - 1] == ' ')
        line.data[--line.length] = '\0';
    put_text(&line, 0);
}

static void clear_test(struct ypi_report_text *t)
{
    for (size_t i = 0; i < t->count; i++) {
        free(t->list[i].id);
        free(t->list[i].figure);
        free(t->list[i].past);
    }
    free(t->list);
    free(t->test);
    t->list = NULL;
    t->test = NULL;
    t->count = 0;
}

/* Prints the cases of a test, now that the longest bar is known. */
static void put_test(struct ypi_report_text *t)
{
    double most = 0;
    for (size_t i = 0; i < t->count; i++)
        most = fmax(most, t->list[i].height);
    for (size_t i = 0; i < t->count; i++)
        put_waiting(t, &t->list[i], most);
    clear_test(t);
}

/* The medians of a measurement, oldest first. */
static char *past_of(const struct ypi_report_text *t, const struct ypi_report_case *one,
                     const char *name)
{
    double values[PAST];
    int count = 0;
    struct ypi_text out = {0};
    const cJSON *past;
    int first = cJSON_GetArraySize(one->past) - PAST;
    cJSON_ArrayForEach(past, one->past)
    {
        const cJSON *m;
        if (first-- > 0 || count >= PAST)
            continue;
        values[count] = NAN;
        cJSON_ArrayForEach(m, cJSON_GetObjectItemCaseSensitive(past, "measurements"))
        {
            if (strcmp(ypi_text_of(m, "name"), name) == 0)
                values[count] = ypi_real(m, "median");
        }
        count++;
    }
    ypi_chart_line(&out, values, (size_t)count, t->blocks);
    return ypi_text_take(&out);
}

/* A rate of whatever it is the rate of, else seconds. */
static double height_of(const cJSON *m, bool *is_rate)
{
    static const char *const work[] = {"items", "flops", "bytes"};
    const double seconds = ypi_real(m, "median");
    for (size_t i = 0; i < sizeof work / sizeof *work; i++)
        if (ypi_real(m, work[i]) > 0) {
            *is_rate = true;
            return ypi_real(m, work[i]) / seconds;
        }
    *is_rate = false;
    return seconds;
}

static void add_waiting(struct ypi_report_text *t, const struct ypi_report_case *one,
                        const cJSON *document)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(document, "measurements");
    const bool skipped = one->section == YPI_SKIPPED;
    const cJSON *m = list != NULL && !skipped ? list->child : NULL;
    const char *reason = ypi_reason_of(document);
    bool is_rate = false;
    double height = m != NULL ? height_of(m, &is_rate) : (double)NAN;
    struct ypi_measured_words words = {.name = ""};
    if (m != NULL)
        ypi_word_measured(&words, m);
    if (t->test == NULL || strcmp(t->test, one->test) != 0 || t->is_rate != is_rate) {
        put_test(t);
        t->test = ypi_strdup(one->test);
        t->is_rate = is_rate;
    }
    t->list = ypi_realloc(t->list, t->count + 1, sizeof *t->list);
    t->list[t->count++] = (struct waiting){
        .id = ypi_strdup(one->id),
        .figure = m != NULL ? ypi_strdup(words.figure)
                            : ypi_format("%.*s", (int)strcspn(reason, "\n"), reason),
        .past = m != NULL ? past_of(t, one, words.name) : ypi_strdup(""),
        .height = isfinite(height) ? height : (double)NAN,
    };
}

/* -- together ------------------------------------------------------------------------------- */

void ypi_report_text_take(struct ypi_report_text *t, const struct ypi_report_case *one,
                          const cJSON *document)
{
    if (t->section != (int)one->section) {
        put_test(t);
        t->section = (int)one->section;
        printf("\n%zu %s\n", t->content->of_section[one->section], ypi_section_name(one->section));
    }
    if (one->section == YPI_PASSED || one->section == YPI_SKIPPED)
        add_waiting(t, one, document);
    else
        put_whole(one, document);
}

void ypi_report_text_drop(struct ypi_report_text *t)
{
    if (t != NULL)
        clear_test(t);
    free(t);
}

void ypi_report_text_finish(struct ypi_report_text *t, const cJSON *advice)
{
    struct ypi_text line = {0};
    put_test(t);
    if (t->content->gone_count > 0)
        printf("\n%zu only in the run compared with\n", t->content->gone_count);
    for (size_t i = 0; i < t->content->gone_count; i++) {
        printf("  ");
        (void)ypi_put_line(t->content->gone[i], 0);
        putchar('\n');
    }
    if (cJSON_GetArraySize(advice) > 0) {
        puts("\nadvice");
        ypi_advice_print(advice);
    }
    putchar('\n');
    ypi_add_counts(&line, t->content);
    put_text(&line, 0);
    ypi_report_text_drop(t);
}
