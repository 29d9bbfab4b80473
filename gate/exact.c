#include "gate/exact.h"

#include "base/numbers/stats.h"
#include "base/text/text.h"
#include "harness/history/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The resident set is what the kernel happened to map: of 414 cases in 20 runs each, the largest
 * less the least was 0.36 MiB in the median case, 1.1 MiB in one of twenty, 2.3 MiB at most. */
#define RESIDENT_NOTICED 262144.0 /* bytes: less is not looked at again */
#define RESIDENT_LEAST 524288.0   /* the medians' difference that is worse */
#define RESIDENT_MOST 2621440.0   /* the same where there are fewer processes than that */

/* One figure of one process. */
struct figure {
    const char *id, *name, *text, *unit; /* the rows' */
    enum ypi_quantity quantity;
    double value;
    double work; /* iterations, of what may grow with them; else 0 */
    int wanted;  /* by its budgets: 1 large, -1 small; 0: neither, or both */
};

struct ypi_exact {
    cJSON *rows, *measurements, *wanted;
    char *machine;
    struct figure *list; /* by id, quantity, name */
    int count;
};

/* The results of the runs in the JSON array ?1. A case that is too noisy for its budgets did what
 * one that passed did. The number of iterations is that of all measurements. */
#define CHOSEN \
    "WITH r AS MATERIALIZED (SELECT * FROM result WHERE attempt = 0 AND run_id IN (SELECT value" \
    " FROM json_each(?1))) "

/* Quantities by their numbers in comparison.h. */
static const char figures_sql[] = CHOSEN
    "SELECT case_id AS id, 1 AS quantity, '' AS name, NULL AS value, 0 AS work,"
    " CASE outcome WHEN 'noisy' THEN 'passed' ELSE outcome END AS text, '' AS unit FROM r"
    " UNION ALL SELECT r.case_id, 3, m.memory, m.allocated_peak, 0, NULL, 'B' FROM r"
    " JOIN memory AS m ON m.result_id = r.id"
    " UNION ALL SELECT case_id, 4, '', max(0, resident_peak - resident_before), 0, NULL, 'B'"
    " FROM r WHERE resident_peak IS NOT NULL"
    " UNION ALL SELECT r.case_id, 5, m.memory, m.allocations, (SELECT sum(t.warmup + t.count *"
    " t.batch) FROM measurement AS t WHERE t.result_id = r.id), NULL, '' FROM r"
    " JOIN memory AS m ON m.result_id = r.id"
    " UNION ALL SELECT r.case_id, 6, m.name, c.count, 0, NULL, '' FROM r"
    " JOIN measurement AS m ON m.result_id = r.id JOIN counter AS c"
    " ON c.result_id = r.id AND c.position = m.position"
    " WHERE c.source = 'callgrind' AND c.count IS NOT NULL"
    " UNION ALL SELECT r.case_id, 7, v.name, v.value, 0, NULL, v.unit FROM r"
    " JOIN value AS v ON v.result_id = r.id WHERE v.of_speed = 0"
    " UNION ALL SELECT r.case_id, 8, g.name, g.error, 0, NULL, '' FROM r"
    " JOIN gradient AS g ON g.result_id = r.id"
    " UNION ALL SELECT case_id, 9, '', NULL, 0, data_hash, '' FROM r WHERE data_hash IS NOT NULL"
    " ORDER BY id, quantity, name";

static const char measurements_sql[] =
    CHOSEN "SELECT r.case_id AS id, m.name, m.position, max(m.threads) AS threads FROM r"
           " JOIN measurement AS m ON m.result_id = r.id WHERE m.kind IN ('work', 'serve', 'run')"
           " GROUP BY r.case_id, m.position, m.name ORDER BY r.case_id, m.position";

/* The direction that budgets give to values and errors. */
static const char wanted_sql[] =
    CHOSEN "SELECT r.case_id AS id, coalesce(b.name, '') AS name,"
           " CASE b.kind WHEN 'max gradient error' THEN 8 ELSE 7 END AS quantity,"
           " sum(DISTINCT CASE b.kind WHEN 'min value' THEN 1 ELSE -1 END) AS wanted FROM r"
           " JOIN verdict AS b ON b.result_id = r.id"
           " WHERE b.kind IN ('min value', 'max value', 'max gradient error') GROUP BY 1, 2, 3";

_Static_assert(YPI_QUANTITY_OUTCOME == 1 && YPI_QUANTITY_PEAK == 3 && YPI_QUANTITY_RESIDENT == 4 &&
                   YPI_QUANTITY_ALLOCATIONS == 5 && YPI_QUANTITY_INSTRUCTIONS == 6 &&
                   YPI_QUANTITY_VALUE == 7 && YPI_QUANTITY_ERROR == 8 && YPI_QUANTITY_HASH == 9,
               "the numbers in the query");

/* The first figure whose id is not before `id`. */
static int find(const struct ypi_exact *e, const char *id)
{
    int low = 0;
    int high = e->count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (strcmp(e->list[middle].id, id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void take_wanted(struct ypi_exact *e)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, e->wanted)
    {
        const char *id = ypi_text_of(row, "id");
        const char *name = ypi_text_of(row, "name");
        enum ypi_quantity quantity = (enum ypi_quantity)ypi_real(row, "quantity");
        for (int i = find(e, id); i < e->count && strcmp(e->list[i].id, id) == 0; i++)
            if (e->list[i].quantity == quantity &&
                (*name == '\0' || strcmp(e->list[i].name, name) == 0))
                e->list[i].wanted = (int)ypi_real(row, "wanted");
    }
}

struct ypi_exact *ypi_exact_read(const char *path)
{
    sqlite3 *db = ypi_store_open(path);
    static const char sql[] =
        "SELECT json_group_array(id) AS runs, max(machine) AS machine FROM run";
    cJSON *rows = db != NULL ? ypi_store_rows(db, sql, 0, NULL) : NULL;
    struct ypi_exact *e =
        rows != NULL ? ypi_exact_read_runs(db, ypi_text_of(rows->child, "runs")) : NULL;
    if (e != NULL)
        e->machine = ypi_strdup(ypi_text_of(rows->child, "machine"));
    cJSON_Delete(rows);
    sqlite3_close(db);
    return e;
}

struct ypi_exact *ypi_exact_read_runs(sqlite3 *db, const char *runs)
{
    struct ypi_exact *e = ypi_calloc(1, sizeof *e);
    e->rows = ypi_store_rows(db, figures_sql, 1, &runs);
    e->measurements = e->rows != NULL ? ypi_store_rows(db, measurements_sql, 1, &runs) : NULL;
    e->wanted = e->measurements != NULL ? ypi_store_rows(db, wanted_sql, 1, &runs) : NULL;
    if (e->wanted == NULL) {
        ypi_exact_close(e);
        return NULL;
    }
    e->list = ypi_calloc((size_t)cJSON_GetArraySize(e->rows) + 1, sizeof *e->list);
    const cJSON *row;
    cJSON_ArrayForEach(row, e->rows)
    {
        e->list[e->count++] =
            (struct figure){.id = ypi_text_of(row, "id"),
                            .name = ypi_text_of(row, "name"),
                            .text = ypi_text_of(row, "text"),
                            .unit = ypi_text_of(row, "unit"),
                            .quantity = (enum ypi_quantity)ypi_real(row, "quantity"),
                            .value = ypi_real(row, "value"),
                            .work = ypi_real(row, "work")};
    }
    take_wanted(e);
    return e;
}

void ypi_exact_close(struct ypi_exact *e)
{
    if (e == NULL)
        return;
    cJSON_Delete(e->rows);
    cJSON_Delete(e->measurements);
    cJSON_Delete(e->wanted);
    free(e->list);
    free(e->machine);
    free(e);
}

const char *ypi_exact_machine(const struct ypi_exact *e)
{
    return e->machine != NULL ? e->machine : "";
}

bool ypi_exact_has(const struct ypi_exact *e, const char *id)
{
    int at = find(e, id);
    return at < e->count && strcmp(e->list[at].id, id) == 0;
}

const char **ypi_exact_measurements(const struct ypi_exact *e, const char *id, int *count)
{
    const char **names = ypi_calloc((size_t)cJSON_GetArraySize(e->measurements) + 1, sizeof *names);
    const cJSON *row;
    *count = 0;
    cJSON_ArrayForEach(row, e->measurements)
    {
        if (strcmp(ypi_text_of(row, "id"), id) == 0)
            names[(*count)++] = ypi_text_of(row, "name");
    }
    return names;
}

int ypi_exact_threads(const struct ypi_exact *e, const char *id)
{
    const cJSON *row;
    double most = 0;
    cJSON_ArrayForEach(row, e->measurements)
    {
        if (strcmp(ypi_text_of(row, "id"), id) == 0)
            most = fmax(most, ypi_real(row, "threads"));
    }
    return (int)most;
}

/* -- one figure of both sides -------------------------------------------------------------- */

/* The processes of one side; those of one figure stand together. */
struct group {
    const struct figure *first;
    int count;
};

static struct group group_at(const struct ypi_exact *e, int at)
{
    struct group g = {.first = &e->list[at]};
    while (at + g.count < e->count) {
        const struct figure *f = &e->list[at + g.count];
        if (strcmp(f->id, g.first->id) != 0 || f->quantity != g.first->quantity ||
            strcmp(f->name, g.first->name) != 0)
            break;
        g.count++;
    }
    return g;
}

/* The same figure of the other side; empty where it has none. */
static struct group group_like(const struct ypi_exact *e, const struct figure *wanted)
{
    for (int i = find(e, wanted->id); i < e->count && strcmp(e->list[i].id, wanted->id) == 0; i++)
        if (e->list[i].quantity == wanted->quantity && strcmp(e->list[i].name, wanted->name) == 0)
            return group_at(e, i);
    return (struct group){0};
}

static bool equal(const struct figure *a, const struct figure *b)
{
    bool same = a->value == b->value || (isnan(a->value) && isnan(b->value));
    return same && strcmp(a->text, b->text) == 0;
}

static bool is_constant(struct group g)
{
    for (int i = 1; i < g.count; i++)
        if (!equal(&g.first[i], g.first))
            return false;
    return true;
}

static double rank(struct group g, double q)
{
    /* A group has a figure at least, which gcc 14 cannot know. */
    double values[4 * YPI_EXACT_REPEATS] = {0};
    int count = 0;
    for (; count < g.count && count < 4 * YPI_EXACT_REPEATS; count++)
        values[count] = g.first[count].value;
    return ypi_quantile(values, (size_t)count, q);
}

static bool is_bad(const struct figure *f)
{
    return strcmp(f->text, "failed") == 0 || strcmp(f->text, "error") == 0 ||
           strcmp(f->text, "xpassed") == 0;
}

static int bad_count(struct group g)
{
    int bad = 0;
    for (int i = 0; i < g.count; i++)
        bad += is_bad(&g.first[i]);
    return bad;
}

/* A case that fails now and then says nothing sure about the revision that it failed in. */
static enum ypi_compared judge_outcome(struct group base, struct group head)
{
    int bad[2] = {bad_count(base), bad_count(head)};
    if (bad[0] == 0 && bad[1] == 0)
        return strcmp(base.first->text, head.first->text) == 0 ? YPI_COMPARED_SAME
                                                               : YPI_COMPARED_CHANGED;
    if (bad[0] == 0)
        return 2 * bad[1] > head.count ? YPI_COMPARED_WORSE : YPI_COMPARED_UNSURE;
    if (bad[1] == 0)
        return 2 * bad[0] > base.count ? YPI_COMPARED_BETTER : YPI_COMPARED_UNSURE;
    return YPI_COMPARED_UNSURE; /* neither can be compared */
}

/* As a whole but for one process of each, where there are more than two. */
static bool is_above(struct group high, struct group low)
{
    double of_high = high.count > 2 ? 1.0 / (high.count - 1) : 0;
    double of_low = low.count > 2 ? 1.0 / (low.count - 1) : 0;
    return rank(high, of_high) > rank(low, 1 - of_low);
}

/* Apart, and by more than is worth a word. */
static enum ypi_compared judge_resident(struct group base, struct group head)
{
    double difference = rank(head, 0.5) - rank(base, 0.5);
    bool few = base.count < YPI_EXACT_REPEATS || head.count < YPI_EXACT_REPEATS;
    if (fabs(difference) < (few ? RESIDENT_MOST : RESIDENT_LEAST))
        return YPI_COMPARED_SAME;
    if (difference > 0 && is_above(head, base))
        return YPI_COMPARED_WORSE;
    return difference < 0 && is_above(base, head) ? YPI_COMPARED_BETTER : YPI_COMPARED_SAME;
}

/* What is less is better. Where a side does not repeat itself, all of one must be beyond the
 * other's. */
static enum ypi_compared judge_amount(struct group base, struct group head)
{
    if (rank(head, 0) > rank(base, 1))
        return YPI_COMPARED_WORSE;
    return rank(head, 1) < rank(base, 0) ? YPI_COMPARED_BETTER : YPI_COMPARED_SAME;
}

/* What a body allocates in what it repeats grows with the iterations, of which a timed run does as
 * many as fit into its time. */
static bool did_the_same(struct group base, struct group head)
{
    double least = fmin(base.first->work, head.first->work);
    double most = least;
    for (int i = 0; i < base.count; i++)
        most = fmax(most, base.first[i].work);
    for (int i = 0; i < head.count; i++)
        most = fmax(most, head.first[i].work);
    return !(most > least);
}

static enum ypi_compared judge(struct group base, struct group head)
{
    switch (base.first->quantity) {
    case YPI_QUANTITY_OUTCOME:
        return judge_outcome(base, head);
    case YPI_QUANTITY_RESIDENT:
        return judge_resident(base, head);
    case YPI_QUANTITY_ALLOCATIONS:
        return did_the_same(base, head) ? judge_amount(base, head) : YPI_COMPARED_SAME;
    case YPI_QUANTITY_PEAK:
    case YPI_QUANTITY_INSTRUCTIONS:
        return judge_amount(base, head);
    default:
        if (!is_constant(base) || !is_constant(head) || equal(base.first, head.first))
            return YPI_COMPARED_SAME;
        return YPI_COMPARED_CHANGED;
    }
}

/* -- a case -------------------------------------------------------------------------------- */

/* Whether more processes may show that it is another one. What overlaps once, or does not repeat
 * itself, does so for ever; the ends of the resident set come nearer to each other from the third
 * process on. */
static bool is_open(struct group base, struct group head)
{
    switch (base.first->quantity) {
    case YPI_QUANTITY_OUTCOME:
        return !is_constant(base) || !is_constant(head) || !equal(base.first, head.first);
    case YPI_QUANTITY_RESIDENT:
        return fabs(head.first->value - base.first->value) > RESIDENT_NOTICED &&
               (base.count < 3 || head.count < 3 || is_above(head, base) || is_above(base, head));
    case YPI_QUANTITY_PEAK:
    case YPI_QUANTITY_ALLOCATIONS:
    case YPI_QUANTITY_INSTRUCTIONS:
        return judge_amount(base, head) != YPI_COMPARED_SAME;
    default:
        return is_constant(base) && is_constant(head) && !equal(base.first, head.first);
    }
}

/* Calls back for each figure of a case that either side has; an empty group where it does not. */
static void each_figure(const struct ypi_exact *base, const struct ypi_exact *head, const char *id,
                        void (*take)(void *arg, struct group base, struct group head), void *arg)
{
    const struct ypi_exact *const sides[] = {base, head};
    for (int s = 0; s < 2; s++)
        for (int i = find(sides[s], id);
             i < sides[s]->count && strcmp(sides[s]->list[i].id, id) == 0;) {
            struct group mine = group_at(sides[s], i);
            struct group other = group_like(sides[!s], mine.first);
            i += mine.count;
            if (s == 0)
                take(arg, mine, other);
            else if (other.count == 0)
                take(arg, other, mine);
        }
}

static void note_open(void *arg, struct group base, struct group head)
{
    bool *open = arg;
    if (base.count == 0 || head.count == 0 || is_open(base, head))
        *open = true;
}

bool ypi_exact_is_open(const struct ypi_exact *base, const struct ypi_exact *head, const char *id)
{
    bool open = false;
    each_figure(base, head, id, note_open, &open);
    return open;
}

bool ypi_exact_failed(const struct ypi_exact *e, const char *id)
{
    const struct figure outcome = {.id = id, .name = "", .quantity = YPI_QUANTITY_OUTCOME};
    return bad_count(group_like(e, &outcome)) > 0;
}

struct comparing_figures {
    struct ypi_comparisons *all;
    bool failed; /* a side did: what it did not come to is not missing */
    bool every;  /* figures that are the same are reported too */
    bool any;    /* something was reported */
};

static void fill(struct ypi_comparison *c, struct group base, struct group head)
{
    struct group *const sides[] = {&base, &head};
    double *const values[] = {&c->base, &c->head};
    char **const texts[] = {&c->base_text, &c->head_text};
    for (int s = 0; s < 2; s++) {
        if (sides[s]->count == 0)
            continue;
        *values[s] = rank(*sides[s], 0.5);
        if (*sides[s]->first->text != '\0')
            *texts[s] = ypi_strdup(sides[s]->first->text);
        if (*sides[s]->first->unit != '\0' && c->unit == NULL)
            c->unit = ypi_strdup(sides[s]->first->unit);
    }
    if (c->base > 0 && c->head > 0)
        c->ratio = c->head / c->base;
    c->pairs = base.count < head.count ? base.count : head.count;
}

/* The text that most processes of a side that failed at times would not show. */
static void note_flaky(struct ypi_comparison *c, struct group base, struct group head)
{
    int bad[2] = {bad_count(base), bad_count(head)};
    if (c->verdict != YPI_COMPARED_UNSURE)
        return;
    c->note = ypi_format("fails in %d of %d processes of base and %d of %d of head", bad[0],
                         base.count, bad[1], head.count);
}

static void compare_figure(void *arg, struct group base, struct group head)
{
    struct comparing_figures *t = arg;
    const struct figure *f = base.count > 0 ? base.first : head.first;
    bool both = base.count > 0 && head.count > 0;
    if (!both && t->failed)
        return;
    enum ypi_compared verdict = both             ? judge(base, head)
                                : base.count > 0 ? YPI_COMPARED_GONE
                                                 : YPI_COMPARED_NEW;
    if (verdict == YPI_COMPARED_SAME && !t->every)
        return;
    struct ypi_comparison *c = ypi_comparison_add(t->all, f->id, f->quantity, f->name);
    c->verdict = verdict;
    fill(c, base, head);
    if (both && f->quantity == YPI_QUANTITY_OUTCOME)
        note_flaky(c, base, head);
    if (verdict == YPI_COMPARED_CHANGED && head.first->wanted != 0 && c->base != c->head)
        c->note = ypi_format("%s by its budget, which wants it %s",
                             (c->head > c->base) == (head.first->wanted > 0) ? "better" : "worse",
                             head.first->wanted > 0 ? "large" : "small");
    t->any = true;
}

static void compare_instructions(void *arg, struct group base, struct group head)
{
    const struct figure *f = base.count > 0 ? base.first : head.first;
    if (f->quantity == YPI_QUANTITY_INSTRUCTIONS)
        compare_figure(arg, base, head);
}

void ypi_exact_compare_instructions(const struct ypi_exact *base, const struct ypi_exact *head,
                                    const char *id, struct ypi_comparisons *all)
{
    struct comparing_figures t = {
        .all = all,
        .failed = ypi_exact_failed(base, id) || ypi_exact_failed(head, id),
        .every = true}; /* else nothing would show that they were counted */
    each_figure(base, head, id, compare_instructions, &t);
}

void ypi_exact_compare(const struct ypi_exact *base, const struct ypi_exact *head, const char *id,
                       struct ypi_comparisons *all)
{
    const struct figure outcome = {.id = id, .name = "", .quantity = YPI_QUANTITY_OUTCOME};
    struct group b = group_like(base, &outcome);
    struct group h = group_like(head, &outcome);
    struct comparing_figures t = {
        .all = all, .failed = bad_count(b) > 0 || bad_count(h) > 0, .every = all->every};
    each_figure(base, head, id, compare_figure, &t);
    if (t.any || b.count == 0 || h.count == 0)
        return;
    struct ypi_comparison *c = ypi_comparison_add(all, id, YPI_QUANTITY_OUTCOME, NULL);
    fill(c, b, h);
}
