/* From the history to the figures of each budget. */
#include "reports/budgets/budgets.h"

#include "base/numbers/slack.h"
#include "base/numbers/stats.h"
#include "base/text/text.h"
#include "harness/history/history.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- runs ---------------------------------------------------------------------------------- */

struct run {
    const char *id;
    const char *why; /* it is left out; NULL: it is not */
    int machine[2];  /* of cases on the processor, and on an accelerator */
};

struct runs {
    cJSON *rows; /* owns the ids */
    struct run *list;
    int count;
};

static const char run_sql[] =
    "SELECT run.id, run.machine,"
    " (SELECT group_concat(argument, char(10)) FROM run_option WHERE run_id = run.id) AS options,"
    " (SELECT group_concat(value, char(10)) FROM fact WHERE run_id = run.id"
    "   AND key LIKE '%flags%') AS flags,"
    " (SELECT group_concat(value, ', ') FROM fact WHERE run_id = run.id"
    "   AND key = 'gpu.name') AS accelerator"
    " FROM run ORDER BY run.id";

/* The NAME of --isa=NAME among options, a line each; "" when it is not there. */
static const char *isa_of(const char *options, char out[16])
{
    static const char option[] = "--isa=";
    const char *at = options;
    *out = '\0';
    while ((at = strstr(at, option)) && at != options && at[-1] != '\n')
        at++;
    if (at)
        snprintf(out, 16, "%.*s", (int)strcspn(at + strlen(option), "\n"), at + strlen(option));
    return out;
}

/* Options under which other work is done, or the same work at another speed. */
static const char *why_left_out(const cJSON *run, const char *isa)
{
    static const char *const changing[] = {"--instructions",
                                           "--audit",
                                           "--speed=off",
                                           "--slowdown",
                                           "--cpus",
                                           "--bind",
                                           "--memory-limit",
                                           "--device-memory-limit",
                                           "--fail-allocation",
                                           "--no-fork"};
    char used[16];
    const char *options = ypi_text_of(run, "options");
    if (strcmp(isa_of(options, used), isa) != 0)
        return *isa ? "other instructions" : "--isa";
    for (size_t i = 0; i < sizeof changing / sizeof *changing; i++) {
        size_t length = strlen(changing[i]);
        for (const char *at = options; (at = strstr(at, changing[i])) != NULL; at += length)
            if ((at == options || at[-1] == '\n') && strchr("=\n", at[length]) != NULL)
                return changing[i];
    }
    const char *flags = ypi_text_of(run, "flags");
    return strstr(flags, "-fsanitize") || strstr(flags, "with a sanitizer") ? "sanitizers" : NULL;
}

static int machine_named(struct ypi_budgets *b, const char *name)
{
    for (int i = 0; i < b->machine_count; i++)
        if (strcmp(b->machines[i], name) == 0)
            return i;
    b->machines = ypi_list_add(b->machines, b->machine_count, ypi_strdup(name));
    return b->machine_count++;
}

static bool load_runs(sqlite3 *db, const char *isa, struct ypi_budgets *b, struct runs *out)
{
    out->rows = ypi_store_rows(db, run_sql, 0, NULL);
    if (!out->rows)
        return false;
    out->list = ypi_calloc((size_t)cJSON_GetArraySize(out->rows) + 1, sizeof *out->list);
    const cJSON *row;
    cJSON_ArrayForEach(row, out->rows)
    {
        const char *machine = ypi_text_of(row, "machine");
        const char *accelerator = ypi_text_of(row, "accelerator");
        char *both = ypi_format("%s, %s", *machine ? machine : "unknown", accelerator);
        out->list[out->count++] =
            (struct run){.id = ypi_text_of(row, "id"),
                         .why = why_left_out(row, isa),
                         .machine = {machine_named(b, *machine ? machine : "unknown"),
                                     machine_named(b, *accelerator ? both
                                                      : *machine   ? machine
                                                                   : "unknown")}};
        free(both);
    }
    return true;
}

static int compare_run(const void *id, const void *run)
{
    return strcmp(id, ((const struct run *)run)->id);
}

/* -- results ------------------------------------------------------------------------------- */

#define TEXT(x) #x
#define TEXT_OF(x) TEXT(x)
#define LEAST_SHARE TEXT_OF(YPI_LEAST_SHARE)

/* Of the case ?1; where ?2 is set, with what its results have a figure of and no budget. */
static const char case_sql[] =
    "WITH r AS (SELECT rowid AS row, * FROM result WHERE case_id = ?1),"
    " v AS (SELECT result_id, position, kind, name, memory, detail, allowed, met, measured, low,"
    "   high, required FROM verdict WHERE result_id IN (SELECT id FROM r)"
    "  UNION ALL SELECT result_id, 1000 + position, 'min share', name, NULL, NULL, NULL, 'met',"
    "   share, share_low, share_high, NULL FROM measurement AS m"
    "   WHERE ?2 <> '' AND share >= " LEAST_SHARE " AND result_id IN (SELECT id FROM r)"
    "   AND NOT EXISTS (SELECT 1 FROM verdict AS d WHERE d.result_id = m.result_id"
    "    AND d.kind = 'min share' AND d.name = m.name)"
    "  UNION ALL SELECT result_id, 2000, 'max peak', NULL, memory, NULL, NULL, 'met',"
    "   allocated_peak, NULL, NULL, NULL FROM memory AS m"
    "   WHERE ?2 <> '' AND allocated_peak > 0 AND result_id IN (SELECT id FROM r)"
    "   AND NOT EXISTS (SELECT 1 FROM verdict AS d WHERE d.result_id = m.result_id"
    "    AND d.kind = 'max peak' AND d.memory = m.memory))"
    " SELECT v.*, r.id AS result, r.run_id AS run, r.fail_allocation, r.outcome,"
    " coalesce((SELECT unit FROM measurement AS m WHERE m.result_id = r.id AND m.name = v.name),"
    "          (SELECT unit FROM value AS x WHERE x.result_id = r.id AND x.name = v.name)) AS unit,"
    " EXISTS (SELECT 1 FROM failure AS f WHERE f.result_id = r.id AND f.cause <> 'budget')"
    "   AS failed"
    " FROM r JOIN v ON v.result_id = r.id ORDER BY r.started DESC, r.row DESC, v.position";

static void leave_out(struct ypi_budgets *b, const char *why)
{
    int at = 0;
    while (at < b->left_out_count && strcmp(b->left_out[at].why, why) != 0)
        at++;
    if (at == (int)(sizeof b->left_out / sizeof *b->left_out))
        return;
    if (at == b->left_out_count)
        snprintf(b->left_out[b->left_out_count++].why, sizeof b->left_out[at].why, "%s", why);
    b->left_out[at].processes++;
}

static const struct run *run_of(const struct runs *runs, const cJSON *row)
{
    return bsearch(ypi_text_of(row, "run"), runs->list, (size_t)runs->count, sizeof *runs->list,
                   compare_run);
}

static const char *why_result_left_out(const cJSON *row, const struct run *run, char out[64])
{
    if (!run)
        return "of no run";
    if (run->why) {
        snprintf(out, 64, "%s", run->why);
        return out;
    }
    if (ypi_real(row, "fail_allocation") > 0)
        return "an allocation was refused";
    if (ypi_real(row, "failed") > 0)
        return "failed for another reason than a budget";
    return NULL;
}

static bool same_budget(const cJSON *a, const cJSON *b)
{
    static const char *const key[] = {"kind", "name", "memory", "detail"};
    for (size_t i = 0; i < sizeof key / sizeof *key; i++)
        if (strcmp(ypi_text_of(a, key[i]), ypi_text_of(b, key[i])) != 0)
            return false;
    return true;
}

static void add_budget(struct ypi_budgets *b, const char *id, const cJSON *verdict)
{
    const char *name = ypi_text_of(verdict, "name");
    const char *memory = ypi_text_of(verdict, "memory");
    const char *detail = ypi_text_of(verdict, "detail");
    b->list = ypi_realloc(b->list, (size_t)b->count + 1, sizeof *b->list);
    struct ypi_budget_history *h = &b->list[b->count++];
    *h = (struct ypi_budget_history){
        .id = id, .verdict = cJSON_Duplicate(verdict, true), .suggested = NAN};
    const char *kind = ypi_text_of(verdict, "kind");
    h->kind = ypi_store_budget_kind(verdict);
    h->figures.at_least = h->kind.at_least;
    h->figures.exact = h->kind.exact;
    snprintf(h->label, sizeof h->label, "%s %s%s%s", kind, *name ? name : memory,
             *detail ? " " : "", detail);
}

static void add_figure(struct ypi_budget_history *h, const cJSON *row, int machine)
{
    size_t count = (size_t)h->figures.count + 1;
    h->measured = ypi_realloc(h->measured, count, sizeof *h->measured);
    h->low = ypi_realloc(h->low, count, sizeof *h->low);
    h->high = ypi_realloc(h->high, count, sizeof *h->high);
    h->machine = ypi_realloc(h->machine, count, sizeof *h->machine);
    h->measured[count - 1] = ypi_real(row, "measured");
    h->low[count - 1] = ypi_real(row, "low");
    h->high[count - 1] = ypi_real(row, "high");
    h->machine[count - 1] = machine;
    h->figures.count++;
}

/* Whether the row had a figure of one of the case's budgets, which are those from `first` on. */
static bool take_figure(struct ypi_budgets *b, int first, const cJSON *row, int machine)
{
    if (!ypi_store_budget_measured(row) || !isfinite(ypi_real(row, "measured")))
        return false;
    for (int i = first; i < b->count; i++)
        if (same_budget(b->list[i].verdict, row)) {
            add_figure(&b->list[i], row, machine);
            return true;
        }
    return false;
}

/* All rows of one result, from `row` on; returns what follows them. */
static const cJSON *take_result(struct ypi_budgets *b, const struct runs *runs, bool accelerated,
                                int first, const cJSON *row)
{
    char text[64];
    const char *result = ypi_text_of(row, "result");
    const struct run *run = run_of(runs, row);
    const char *why = why_result_left_out(row, run, text);
    bool any = false;
    for (; row && strcmp(ypi_text_of(row, "result"), result) == 0; row = row->next)
        any = (!why && take_figure(b, first, row, run->machine[accelerated])) || any;
    if (any)
        b->process_count++;
    else
        leave_out(b, why ? why : "without a figure");
    return row;
}

/* The result whose budgets are listed: the newest that counts, else the newest. */
static const char *newest_of(const cJSON *rows, const struct runs *runs)
{
    char text[64];
    for (const cJSON *row = rows->child; row; row = row->next)
        if (!why_result_left_out(row, run_of(runs, row), text))
            return ypi_text_of(row, "result");
    return rows->child ? ypi_text_of(rows->child, "result") : "";
}

static bool load_case(sqlite3 *db, const struct ypi_budgets_wanted *what, struct ypi_budgets *b,
                      const struct runs *runs, const cJSON *test_case)
{
    const char *id = ypi_text_of(test_case, "id");
    const char *device = ypi_text_of(test_case, "device");
    bool accelerated = *device && strcmp(device, "cpu") != 0;
    const char *parameters[] = {id, what->fresh ? "new" : ""};
    cJSON *rows = ypi_store_rows(db, case_sql, 2, parameters);
    int first = b->count;
    if (!rows)
        return false;
    const char *newest = newest_of(rows, runs);
    for (const cJSON *row = rows->child; row; row = row->next)
        if (strcmp(ypi_text_of(row, "result"), newest) == 0)
            add_budget(b, id, row);
    b->case_count += b->count > first;
    for (const cJSON *row = rows->child; row;)
        row = take_result(b, runs, accelerated, first, row);
    cJSON_Delete(rows);
    return true;
}

/* -- what comes of it ---------------------------------------------------------------------- */

/* The median of the interval's nearer ends over the figures themselves: 1 for exact ones. */
static double typical_end(const struct ypi_budget_history *h)
{
    int count = h->figures.count;
    const double *end = h->figures.at_least ? h->high : h->low;
    double *ratios = ypi_calloc((size_t)count + 1, sizeof *ratios);
    size_t known = 0;
    for (int i = 0; i < count; i++)
        if (h->measured[i] > 0 && isfinite(end[i]))
            ratios[known++] = end[i] / h->measured[i];
    double ratio = known > 0 ? ypi_quantile(ratios, known, 0.5) : 1;
    free(ratios);
    return ratio;
}

static void summarize(struct ypi_budget_history *h, int machine_count)
{
    double limit = ypi_real(h->verdict, "allowed");
    h->figures.measured = h->measured;
    h->figures.machine = h->machine;
    h->figures.machine_count = machine_count;
    h->spread = (struct ypi_spread){NAN, NAN, NAN, NAN, NAN};
    if (h->figures.count > 0)
        h->spread = ypi_spread_of(&h->figures);
    if (h->kind.relative) {
        const double end =
            h->figures.count > 0 ? ypi_quantile(h->low, (size_t)h->figures.count, 0.5) : NAN;
        h->slack = (1 + limit) / (1 + h->spread.typical);
        h->noticed = (1 + limit) / (1 + end);
        return;
    }
    h->slack = ypi_slack(limit, h->spread.typical, h->figures.at_least);
    double end = typical_end(h);
    double factor = h->figures.at_least ? h->slack * end : h->slack / end;
    h->noticed = h->spread.typical > 0 && !isnan(factor) ? fmax(factor, 1) : NAN;
}

bool ypi_budgets_load(sqlite3 *db, cJSON *cases, const struct ypi_budgets_wanted *what,
                      struct ypi_budgets *out)
{
    struct runs runs = {0};
    *out = (struct ypi_budgets){.cases = cases};
    bool ok = load_runs(db, what->isa ? what->isa : "", out, &runs);
    const cJSON *test_case;
    cJSON_ArrayForEach(test_case, cases)
    {
        ok = ok && load_case(db, what, out, &runs, test_case);
    }
    for (int i = 0; ok && i < out->count; i++)
        summarize(&out->list[i], out->machine_count);
    cJSON_Delete(runs.rows);
    free(runs.list);
    return ok;
}

bool ypi_budget_is_required(const struct ypi_budget_history *b)
{
    return *ypi_text_of(b->verdict, "required") != '\0';
}

/* A suggestion of speed, or looser so that the typical value has at least that slack: another
 * machine, which was not measured, may be slower or faster. */
static double with_slack(const struct ypi_budget_history *h, double slack)
{
    if (!h->kind.speed ||
        !(ypi_slack(h->suggested, h->spread.typical, h->figures.at_least) < slack))
        return h->suggested;
    return h->figures.at_least ? ypi_round_outwards(h->spread.typical / slack, false)
                               : ypi_round_outwards(h->spread.typical * slack, true);
}

void ypi_budgets_suggest(struct ypi_budgets *b, double error, double slack)
{
    for (int i = 0; i < b->count; i++) {
        struct ypi_budget_history *h = &b->list[i];
        if (ypi_budget_is_required(h)) {
            h->why_not = "required";
            continue;
        }
        if (h->kind.ordinal || h->kind.relative) {
            h->why_not = h->kind.relative ? "of a baseline" : "an order";
            continue;
        }
        h->suggested = ypi_suggest(&h->figures, error, &h->why_not);
        h->suggested = with_slack(h, slack);
        if (h->suggested < 0 && !h->kind.any_sign)
            h->suggested = 0;
    }
}

void ypi_budgets_free(struct ypi_budgets *b)
{
    for (int i = 0; i < b->count; i++) {
        cJSON_Delete(b->list[i].verdict);
        free(b->list[i].measured);
        free(b->list[i].low);
        free(b->list[i].high);
        free(b->list[i].machine);
    }
    free(b->list);
    ypi_list_free(b->machines, b->machine_count);
    cJSON_Delete(b->cases);
    *b = (struct ypi_budgets){0};
}
