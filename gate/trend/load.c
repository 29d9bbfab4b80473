/* From the history to series of points. */
#include "gate/trend/trend.h"

#include "base/numbers/stats.h"
#include "base/system/clock.h"
#include "base/text/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- runs ---------------------------------------------------------------------------------- */

#define FACT(key_) "(SELECT value FROM fact WHERE run_id = run.id AND key = '" key_ "')"

/* clang-format off */
static const char run_sql[] =
    "SELECT run.id, " FACT("git.commit") " AS git_commit, " FACT("git.dirty") " AS dirty,"
    " " FACT("gpu.name") " AS accelerator,"
    " coalesce(" FACT("program.flags") ", '') || coalesce(" FACT("library.flags") ", '')"
    "   || coalesce(" FACT("program.compiler") ", '') AS flags,"
    " (SELECT group_concat(argument, char(10)) FROM run_option WHERE run_id = run.id) AS options"
    " FROM run WHERE " YPI_NORMAL_RUN " AND coalesce(run.machine, '') = ?1 ORDER BY run.id";
/* clang-format on */

/* Whether one of `names` stands at the start of the option, whole or before a '='. */
static bool is_one_of(const char *option, size_t length, const char *const *names)
{
    for (; *names != NULL; names++) {
        size_t part = strlen(*names);
        if (length >= part && strncmp(option, *names, part) == 0 &&
            (length == part || option[part] == '='))
            return true;
    }
    return false;
}

/* Under other options other work is done, or the same at another speed: series of their own. What
 * is in a case's id, or only judges, makes none; -m and -k are stored for relations. */
static void read_options(struct ypi_trend_run *run, const char *options)
{
    static const char *const no_matter[] = {
        "--device",        "--set",     "--timeout", "--output-limit",
        "--process-limit", "--budgets", "--speed",   NULL};
    static const char *const incomparable[] = {"--instructions", "--audit", "--fail-allocation",
                                               NULL};
    struct ypi_text text = {0};
    for (const char *at = options; *at != '\0';) {
        size_t length = strcspn(at, "\n");
        if (is_one_of(at, length, incomparable))
            run->counts = false;
        if (length > 2 && strncmp(at, "--", 2) == 0 && !is_one_of(at, length, no_matter))
            ypi_text_add(&text, "%s%.*s", text.length > 0 ? " " : "", (int)length, at);
        at += length + (at[length] == '\n');
    }
    run->options = ypi_text_take(&text);
}

static bool load_runs(sqlite3 *db, const char *machine, struct ypi_trend *t)
{
    t->runs = ypi_store_rows(db, run_sql, 1, &machine);
    if (t->runs == NULL)
        return false;
    t->run_list = ypi_calloc((size_t)cJSON_GetArraySize(t->runs) + 1, sizeof *t->run_list);
    const cJSON *row;
    cJSON_ArrayForEach(row, t->runs)
    {
        const char *flags = ypi_text_of(row, "flags");
        struct ypi_trend_run *run = &t->run_list[t->run_count++];
        *run = (struct ypi_trend_run){.id = ypi_text_of(row, "id"),
                                      .commit = ypi_text_of(row, "git_commit"),
                                      .accelerator = ypi_text_of(row, "accelerator"),
                                      .dirty = strcmp(ypi_text_of(row, "dirty"), "yes") == 0,
                                      .counts = strstr(flags, "-fsanitize") == NULL &&
                                                strstr(flags, "with a sanitizer") == NULL};
        read_options(run, ypi_text_of(row, "options"));
    }
    return true;
}

static int compare_run(const void *id, const void *run)
{
    return strcmp(id, ((const struct ypi_trend_run *)run)->id);
}

/* NULL: it does not count. */
static const struct ypi_trend_run *run_of(const struct ypi_trend *t, const cJSON *row)
{
    const struct ypi_trend_run *run = bsearch(ypi_text_of(row, "run"), t->run_list, t->run_count,
                                              sizeof *t->run_list, compare_run);
    return run != NULL && run->counts ? run : NULL;
}

/* -- results ------------------------------------------------------------------------------- */

#define OF_CASE \
    " WHERE r.case_id = ?1 AND r.attempt = 0 AND r.fail_allocation = 0 AND NOT EXISTS" \
    " (SELECT 1 FROM failure AS f WHERE f.result_id = r.id AND f.cause <> 'budget')"

/* A loop that the compiler has emptied has no time. */
#define TEXT_OF(value) #value
#define AS_TEXT(value) TEXT_OF(value)
#define POSSIBLE AS_TEXT(YPI_IMPOSSIBLE_SECONDS)

static const char time_sql[] =
    "SELECT r.run_id AS run, r.started, m.name, m.median AS figure, m.share"
    " FROM result AS r JOIN measurement AS m ON m.result_id = r.id" OF_CASE
    " AND m.median >= " POSSIBLE " ORDER BY r.started, r.rowid, m.position";
static const char peak_sql[] =
    "SELECT r.run_id AS run, r.started, m.memory AS name, m.allocated_peak AS figure"
    " FROM result AS r JOIN memory AS m ON m.result_id = r.id" OF_CASE
    " ORDER BY r.started, r.rowid, m.memory";
static const char allocations_sql[] =
    "SELECT r.run_id AS run, r.started, m.memory AS name, m.allocations AS figure"
    " FROM result AS r JOIN memory AS m ON m.result_id = r.id" OF_CASE
    " ORDER BY r.started, r.rowid, m.memory";

static const char *sql_of(enum ypi_trend_quantity quantity)
{
    return quantity == YPI_TREND_TIME   ? time_sql
           : quantity == YPI_TREND_PEAK ? peak_sql
                                        : allocations_sql;
}

/* The series of the case, those from `first` on, that a row belongs to: a new one if need be. */
static struct ypi_trend_series *series_of(struct ypi_trend *t, size_t first,
                                          const struct ypi_trend_series *like)
{
    for (size_t i = first; i < t->series_count; i++) {
        struct ypi_trend_series *s = &t->series[i];
        if (s->quantity == like->quantity && strcmp(s->name, like->name) == 0 &&
            strcmp(s->options, like->options) == 0)
            return s;
    }
    t->series = ypi_realloc(t->series, t->series_count + 1, sizeof *t->series);
    struct ypi_trend_series *s = &t->series[t->series_count++];
    *s = *like;
    s->name = ypi_strdup(like->name);
    return s;
}

static void add_point(struct ypi_trend_series *s, const struct ypi_trend_point *point)
{
    if ((s->count & (s->count - 1)) == 0)
        s->points = ypi_realloc(s->points, s->count > 0 ? 2 * s->count : 1, sizeof *s->points);
    s->points[s->count++] = *point;
}

static bool add_rows(sqlite3 *db, struct ypi_trend *t, size_t first, const char *id,
                     const char *accelerator, enum ypi_trend_quantity quantity)
{
    cJSON *rows = ypi_store_rows(db, sql_of(quantity), 1, &id);
    const cJSON *row;
    cJSON_ArrayForEach(row, rows)
    {
        const struct ypi_trend_run *run = run_of(t, row);
        if (run == NULL || (accelerator != NULL && strcmp(run->accelerator, accelerator) != 0))
            continue;
        const struct ypi_trend_series like = {.id = id,
                                              .name = (char *)(uintptr_t)ypi_text_of(row, "name"),
                                              .options = run->options,
                                              .quantity = quantity};
        double started = ypi_real(row, "started");
        double figure = ypi_real(row, "figure");
        struct ypi_trend_point point = {.run = run,
                                        .first = started,
                                        .last = started,
                                        .results = 1,
                                        .value = figure,
                                        .share = NAN};
        if (quantity == YPI_TREND_TIME) {
            double share = ypi_real(row, "share");
            point.value = log(figure);
            point.share = share > 0 ? log(share) : NAN;
        }
        if (isfinite(point.value))
            add_point(series_of(t, first, &like), &point);
    }
    cJSON_Delete(rows);
    return rows != NULL;
}

/* -- points -------------------------------------------------------------------------------- */

static bool same_code(const struct ypi_trend_point *a, const struct ypi_trend_point *b)
{
    const double day = 86400;
    if (a->run == b->run)
        return true;
    return *a->run->commit != '\0' && !a->run->dirty && !b->run->dirty &&
           strcmp(a->run->commit, b->run->commit) == 0 &&
           floor(a->first / day) == floor(b->first / day);
}

static double median_of(const struct ypi_trend_point *points, size_t count, double *scratch,
                        bool share)
{
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        double value = share ? points[i].share : points[i].value;
        if (!isnan(value))
            scratch[known++] = value;
    }
    return ypi_quantile(scratch, known, 0.5);
}

/* Results that follow each other and are of the same code are one point: minutes apart on one
 * machine they say the same thing again. */
static void join_points(struct ypi_trend_series *s)
{
    double *scratch = ypi_calloc(s->count + 1, sizeof *scratch);
    size_t points = 0;
    for (size_t first = 0, end; first < s->count; first = end) {
        for (end = first + 1; end < s->count && same_code(&s->points[first], &s->points[end]);)
            end++;
        struct ypi_trend_point point = s->points[first];
        point.last = s->points[end - 1].last;
        point.results = (int)(end - first);
        point.value = median_of(&s->points[first], end - first, scratch, false);
        point.share = median_of(&s->points[first], end - first, scratch, true);
        s->points[points++] = point;
    }
    s->count = points;
    free(scratch);
}

/* -- a case -------------------------------------------------------------------------------- */

/* The accelerator of its newest result that counts, for cases on one; NULL: it does not matter. The
 * caller frees. */
static bool newest_accelerator(sqlite3 *db, const struct ypi_trend *t, const cJSON *test_case,
                               char **out)
{
    static const char sql[] =
        "SELECT run_id AS run FROM result WHERE case_id = ?1 ORDER BY started DESC";
    const char *id = ypi_text_of(test_case, "id");
    const char *device = ypi_text_of(test_case, "device");
    *out = NULL;
    if (*device == '\0' || strcmp(device, "cpu") == 0)
        return true;
    cJSON *rows = ypi_store_rows(db, sql, 1, &id);
    const cJSON *row;
    cJSON_ArrayForEach(row, rows)
    {
        const struct ypi_trend_run *run = run_of(t, row);
        if (run != NULL && *out == NULL)
            *out = ypi_strdup(run->accelerator);
    }
    cJSON_Delete(rows);
    return rows != NULL;
}

static bool load_case(sqlite3 *db, const cJSON *test_case, struct ypi_trend *t)
{
    const char *id = ypi_text_of(test_case, "id");
    size_t first = t->series_count;
    char *accelerator = NULL;
    bool right = newest_accelerator(db, t, test_case, &accelerator);
    for (int q = YPI_TREND_TIME; right && q <= YPI_TREND_ALLOCATIONS; q++)
        right = add_rows(db, t, first, id, accelerator, (enum ypi_trend_quantity)q);
    free(accelerator);
    for (size_t i = first; i < t->series_count; i++)
        if (t->series[i].quantity == YPI_TREND_TIME)
            join_points(&t->series[i]);
    t->case_count += t->series_count > first;
    return right;
}

bool ypi_trend_load(sqlite3 *db, cJSON *cases, const char *machine, struct ypi_trend *out)
{
    *out = (struct ypi_trend){.cases = cases, .machine = ypi_strdup(machine)};
    bool right = load_runs(db, machine, out);
    const cJSON *test_case;
    cJSON_ArrayForEach(test_case, cases)
    {
        right = right && load_case(db, test_case, out);
    }
    return right;
}

void ypi_trend_free(struct ypi_trend *t)
{
    for (size_t i = 0; i < t->series_count; i++) {
        free(t->series[i].name);
        free(t->series[i].points);
        free(t->series[i].changes);
    }
    for (size_t i = 0; i < t->run_count; i++)
        free(t->run_list[i].options);
    free(t->series);
    free(t->run_list);
    free(t->machine);
    cJSON_Delete(t->cases);
    cJSON_Delete(t->runs);
    *t = (struct ypi_trend){0};
}
