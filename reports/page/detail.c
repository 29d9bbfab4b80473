/* A case as compact JSON: arrays by position, so that no names are repeated ten thousand times.
 * Every figure is the text that a person reads; the script takes numbers for its drawings from it.
 */
#include "reports/page/escape.h"
#include "reports/page/parts.h"

#include "harness/history/history.h"
#include "reports/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_text(struct ypi_text *out, const char *key, const char *text)
{
    if (*text == '\0')
        return;
    ypi_page_key(out, key);
    ypi_page_string(out, text);
}

/* Opens the array of a member; nothing is written for a list without items. */
static bool begin_list(struct ypi_text *out, const char *key, const cJSON *list)
{
    if (list == NULL || list->child == NULL)
        return false;
    ypi_page_key(out, key);
    ypi_page_open(out, '[');
    return true;
}

/* -- the head ------------------------------------------------------------------------------ */

static size_t number_of_run(const struct ypi_content *content, const char *id)
{
    const cJSON *run;
    size_t number = 0;
    cJSON_ArrayForEach(run, content->runs)
    {
        if (id == NULL || strcmp(ypi_text_of(run, "id"), id) == 0)
            break;
        number++;
    }
    return number;
}

static void add_axes(struct ypi_page *page, struct ypi_text *out, const cJSON *axes)
{
    const cJSON *axis;
    if (!begin_list(out, "x", axes))
        return;
    cJSON_ArrayForEach(axis, axes)
    {
        char number[32] = "nan";
        if (cJSON_IsNumber(axis))
            ypi_print_double(number, axis->valuedouble);
        ypi_page_pooled(&page->pool, out, axis->string);
        ypi_page_pooled(&page->pool, out, cJSON_IsString(axis) ? axis->valuestring : number);
    }
    ypi_page_close(out, ']');
}

static void add_times(struct ypi_text *out, const cJSON *result)
{
    static const char *const names[] = {"duration", "setup", "body", "teardown", "timeout"};
    if (!(ypi_real(result, "duration") > 0))
        return;
    ypi_page_key(out, "t");
    ypi_page_open(out, '[');
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ypi_page_string(out, ypi_page_seconds(result, names[i]));
    ypi_page_close(out, ']');
}

static void add_head(struct ypi_page *page, struct ypi_text *out, const struct ypi_report_case *one,
                     const cJSON *document)
{
    const cJSON *result = ypi_member(document, "result");
    const char *seed = ypi_text_of(result, "seed");
    char text[96] = "";
    if (number_of_run(page->content, one->run) > 0) {
        snprintf(text, sizeof text, "%zu", number_of_run(page->content, one->run));
        add_text(out, "i", text);
        *text = '\0';
    }
    snprintf(text, sizeof text, "%.13s", one->result != NULL ? one->result : "");
    add_text(out, "r", text); /* enough of it to name it */
    *text = '\0';
    add_text(out, "n", ypi_text_of(result, "reason"));
    add_text(out, "N", ypi_text_of(result, "note"));
    add_text(out, "S", strcmp(seed, "0") != 0 ? seed : "");
    add_text(out, "H", ypi_text_of(result, "data_hash"));
    if (ypi_real(result, "signal") > 0)
        snprintf(text, sizeof text, "ended by signal %.0f", ypi_real(result, "signal"));
    else if (ypi_real(result, "exit_code") > 0)
        snprintf(text, sizeof text, "exit code %.0f", ypi_real(result, "exit_code"));
    add_text(out, "E", text);
    add_axes(page, out, ypi_member(ypi_member(document, "case"), "axes"));
    add_times(out, result);
}

/* "" as it is, "'" between such quotes, else the text. */
static const char *how_quoted(const char *id, const char *quoted)
{
    size_t length = strlen(id);
    if (strcmp(id, quoted) == 0)
        return "";
    bool is_between = strlen(quoted) == length + 2 && quoted[0] == '\'' &&
                      quoted[length + 1] == '\'' && strncmp(quoted + 1, id, length) == 0;
    return is_between ? "'" : quoted;
}

/* Most lines name the case: its id is not written again. */
static void add_reproduce(struct ypi_page *page, struct ypi_text *out,
                          const struct ypi_report_case *one, const cJSON *document)
{
    const char *line = ypi_text_of(document, "reproduce");
    char *quoted = ypi_shell_quote(one->id != NULL ? one->id : "");
    const char *at = one->id != NULL ? strstr(line, quoted) : NULL;
    if (at != NULL) {
        struct ypi_text before = {0};
        ypi_text_add(&before, "%.*s", (int)(at - line), line);
        ypi_page_key(out, "R");
        ypi_page_open(out, '[');
        ypi_page_pooled(&page->pool, out, before.data != NULL ? before.data : "");
        ypi_page_string(out, how_quoted(one->id, quoted));
        ypi_page_pooled(&page->pool, out, at + strlen(quoted));
        ypi_page_close(out, ']');
        free(ypi_text_take(&before));
    } else if (*line) {
        ypi_page_key(out, "R");
        ypi_page_open(out, '[');
        ypi_page_string(out, line);
        ypi_page_close(out, ']');
    }
    free(quoted);
}

/* -- what was checked ---------------------------------------------------------------------- */

static void add_failures(struct ypi_text *out, const cJSON *failures)
{
    const cJSON *f;
    if (!begin_list(out, "f", failures))
        return;
    cJSON_ArrayForEach(f, failures)
    {
        char place[512] = "";
        if (*ypi_text_of(f, "file"))
            snprintf(place, sizeof place, "%.480s:%.0f", ypi_text_of(f, "file"),
                     ypi_real(f, "line"));
        ypi_page_open(out, '[');
        ypi_page_string(out, ypi_text_of(f, "cause"));
        ypi_page_string(out, place);
        ypi_page_string(out, ypi_text_of(f, "message"));
        ypi_page_string(out, ypi_text_of(f, "stack"));
        ypi_page_close(out, ']');
    }
    ypi_page_close(out, ']');
}

/* [verdict, sentence, measured, low, high, limit, distance, memory, ceiling, required, baseline]
 * without what is empty at the end. A budget of memory has the kind that it limits. */
static void add_budget(struct ypi_page *page, struct ypi_text *out, const cJSON *document,
                       const cJSON *b)
{
    enum { PLACES = 11, FIGURES = 2, FIGURE_COUNT = 4 };
    static const char *const figures[] = {"measured", "low", "high", "allowed"};
    char texts[9][256] = {{0}};
    const char *places[PLACES];
    int count = PLACES;
    for (int i = 0; i < 9; i++)
        places[i] = texts[i];
    places[0] = ypi_text_of(b, "met");
    ypi_page_budget(texts[1], document, b);
    for (int i = 0; i < FIGURE_COUNT; i++)
        ypi_page_budget_figure(texts[FIGURES + i], document, b, figures[i]);
    if (!isnan(ypi_real(b, "distance")))
        ypi_format_share(texts[6], ypi_real(b, "distance"));
    places[7] = ypi_text_of(b, "memory");
    if (strcmp(places[0], "met") != 0)
        ypi_page_ceiling(texts[8], document, ypi_text_of(b, "name"));
    places[9] = ypi_text_of(b, "required");
    places[10] = ypi_text_of(b, "baseline");
    while (count > 0 && *places[count - 1] == '\0')
        count--;
    ypi_page_open(out, '[');
    for (int i = 0; i < count; i++)
        if (i == 1 || (i >= FIGURES && i < FIGURES + FIGURE_COUNT))
            ypi_page_string(out, places[i]);
        else
            ypi_page_pooled(&page->pool, out, places[i]);
    ypi_page_close(out, ']');
}

static void add_budgets(struct ypi_page *page, struct ypi_text *out, const cJSON *document)
{
    const cJSON *b;
    if (!begin_list(out, "b", ypi_member(document, "budgets")))
        return;
    cJSON_ArrayForEach(b, ypi_member(document, "budgets")) add_budget(page, out, document, b);
    ypi_page_close(out, ']');
}

static void add_values(struct ypi_text *out, const cJSON *values)
{
    const cJSON *v;
    if (!begin_list(out, "v", values))
        return;
    cJSON_ArrayForEach(v, values)
    {
        static const char *const figures[] = {"value", "low", "high"};
        bool interval = ypi_real(v, "low") < ypi_real(v, "high");
        ypi_page_open(out, '[');
        ypi_page_string(out, ypi_text_of(v, "name"));
        for (int i = 0; i < (interval ? 3 : 1); i++) {
            char text[YPI_FIGURE_MAX];
            ypi_format_value(text, ypi_real(v, figures[i]), ypi_text_of(v, "unit"));
            ypi_page_string(out, text);
        }
        ypi_page_close(out, ']');
    }
    ypi_page_close(out, ']');
}

static void add_gradients(struct ypi_text *out, const cJSON *gradients)
{
    const cJSON *g;
    if (!begin_list(out, "g", gradients))
        return;
    cJSON_ArrayForEach(g, gradients)
    {
        char error[32];
        char allowed[32];
        snprintf(error, sizeof error, "%.3g", ypi_real(g, "error"));
        snprintf(allowed, sizeof allowed, "%.3g", ypi_real(g, "allowed"));
        ypi_page_open(out, '[');
        ypi_page_string(out, ypi_text_of(g, "name"));
        ypi_page_string(out, error);
        ypi_page_string(out, allowed);
        ypi_page_string(out, ypi_text_of(g, "tensor"));
        ypi_page_close(out, ']');
    }
    ypi_page_close(out, ']');
}

/* -- memory -------------------------------------------------------------------------------- */

static void add_memory(struct ypi_page *page, struct ypi_text *out, const cJSON *document)
{
    static const char *const figures[] = {"allocated_peak", "reserved_peak", "allocated", "total"};
    const cJSON *kind;
    if (!begin_list(out, "k", ypi_member(document, "memory")))
        return;
    cJSON_ArrayForEach(kind, ypi_member(document, "memory"))
    {
        char count[64];
        snprintf(count, sizeof count, "%.0f", ypi_real(kind, "allocations"));
        ypi_page_open(out, '[');
        ypi_page_pooled(&page->pool, out, kind->string);
        for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
            ypi_page_pooled(&page->pool, out, ypi_page_bytes(kind, figures[i]));
        ypi_page_string(out, count);
        ypi_page_string(out, ypi_real(kind, "allowed") > 0 ? ypi_page_bytes(kind, "allowed") : "");
        ypi_page_close(out, ']');
    }
    ypi_page_close(out, ']');
}

static void add_resident(struct ypi_text *out, const cJSON *result)
{
    if (isnan(ypi_real(result, "resident_peak")))
        return;
    ypi_page_key(out, "q");
    ypi_page_open(out, '[');
    ypi_page_string(out, ypi_page_bytes(result, "resident_peak"));
    ypi_page_string(out, ypi_page_bytes(result, "resident_before"));
    if (ypi_real(result, "leaked_bytes") > 0)
        ypi_page_string(out, ypi_page_bytes(result, "leaked_bytes"));
    ypi_page_close(out, ']');
}

/* -- all of it ----------------------------------------------------------------------------- */

static void add_changes(struct ypi_text *out, const struct ypi_report_case *one)
{
    if (one->change_count == 0)
        return;
    ypi_page_key(out, "d");
    ypi_page_open(out, '[');
    for (size_t i = 0; i < one->change_count; i++) {
        ypi_page_open(out, '[');
        ypi_page_string(out, one->changes[i].text);
        ypi_page_string(out, one->changes[i].better  ? "better"
                             : one->changes[i].worse ? "worse"
                                                     : "changed");
        ypi_page_close(out, ']');
    }
    ypi_page_close(out, ']');
}

void ypi_page_detail(struct ypi_page *page, const struct ypi_report_case *one,
                     const cJSON *document)
{
    struct ypi_text *out = &page->details;
    const cJSON *result = ypi_member(document, "result");
    if (page->count % YPI_PAGE_CHUNK == 0)
        ypi_text_add(out, "%s<script type=\"application/json\" id=\"d%zu\">[",
                     page->count > 0 ? "]</script>\n" : "", page->count / YPI_PAGE_CHUNK);
    ypi_page_open(out, '{');
    add_head(page, out, one, document);
    add_reproduce(page, out, one, document);
    add_failures(out, ypi_member(document, "failures"));
    add_budgets(page, out, document);
    add_changes(out, one);
    ypi_page_measurements(page, out, one, ypi_member(document, "measurements"));
    add_values(out, ypi_member(document, "values"));
    add_gradients(out, ypi_member(document, "gradients"));
    add_memory(page, out, document);
    add_resident(out, result);
    ypi_page_series(page, out, ypi_member(document, "series"));
    ypi_page_past(page, out, one);
    add_text(out, "T", ypi_text_of(result, "tail"));
    ypi_page_close(out, '}');
}
