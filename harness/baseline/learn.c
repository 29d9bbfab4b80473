/* From the history to baselines: which processes show what the work takes. */
#include "harness/baseline/baseline.h"

#include "base/numbers/slack.h"
#include "base/text/text.h"
#include "harness/history/history.h"
#include "harness/measure/noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* So many of the newest processes of a case are looked at; those of any code follow it as fast as
 * so few do. */
#define LOOKED_AT "60"
enum { ROLLING = 8 };

/* -- runs ---------------------------------------------------------------------------------- */

struct run {
    char *id;                      /* owned */
    cJSON *facts;                  /* owned: [{key, value}] */
    const char *why;               /* nothing is learned from it; NULL: something is */
    bool counted;                  /* by Callgrind: instructions alone are learned */
    char *kind[2], *exact_kind[2]; /* owned: of cases on the processor, and on an accelerator */
    double started;
    const char *commit, *hash; /* of clean sources, of the program; "": not known */
};

struct ypi_learner {
    sqlite3 *db;
    bool any_code;
    struct run **runs; /* owned */
    int count;
};

static const char *fact_of(const void *arg, const char *key)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, (const cJSON *)arg) if (strcmp(ypi_text_of(row, "key"), key) ==
                                                    0) return ypi_text_of(row, "value");
    return NULL;
}

static const char *known(const char *fact)
{
    return fact != NULL ? fact : "";
}

/* A line each; with = or the line's end behind its name. */
static bool has_option(const char *options, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = options; (at = strstr(at, name)) != NULL; at += length)
        if ((at == options || at[-1] == '\n') && strchr("=\n", at[length]) != NULL)
            return true;
    return false;
}

static bool has_sanitizer(const cJSON *facts)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, facts)
    {
        const char *value = ypi_text_of(row, "value");
        if (strstr(value, "-fsanitize") != NULL || strstr(value, "with a sanitizer") != NULL)
            return true;
    }
    return false;
}

/* Of a run: why nothing is learned from it. */
static const char *why_not(const cJSON *row, const cJSON *facts)
{
    static const char *const changing[] = {"--memory-limit", "--device-memory-limit",
                                           "--fail-allocation", "--audit", "--speed=off"};
    const char *options = ypi_text_of(row, "options");
    if (ypi_real(row, "slowdown") > 1)
        return "--slowdown";
    if (ypi_real(row, "no_fork") > 0 || cJSON_IsTrue(cJSON_GetObjectItem(row, "no_fork")))
        return "--no-fork";
    for (size_t i = 0; i < sizeof changing / sizeof *changing; i++)
        if (has_option(options, changing[i]))
            return changing[i];
    if (has_sanitizer(facts))
        return "a sanitizer";
    if (isnan(ypi_real(row, "exit_code")))
        return "a run that did not end";
    if (ypi_real(row, "exit_code") != 0)
        return "a red run";
    return fact_of(facts, "cpu.isa") == NULL ? "a run of an older Yieldpoint" : NULL;
}

static struct run *load_run(struct ypi_learner *l, const char *id)
{
    static const char run_sql[] =
        "SELECT run.started, run.exit_code, run.slowdown, run.no_fork,"
        " (SELECT group_concat(argument, char(10)) FROM run_option WHERE run_id = run.id)"
        "  AS options FROM run WHERE run.id = ?1";
    static const char fact_sql[] =
        "SELECT key, value FROM fact WHERE run_id = ?1 AND (key LIKE '%flags%' OR key IN"
        " ('cpu.signature', 'cpu.isa', 'cpu.allowed', 'cgroup.cpu.quota', 'gpu.name',"
        "  'program.compiler', 'env.omp_num_threads', 'env.openblas_num_threads', 'git.commit',"
        "  'git.dirty', 'program.hash'))";
    const char *const parameters[] = {id};
    cJSON *rows = ypi_store_rows(l->db, run_sql, 1, parameters);
    cJSON *facts = rows != NULL ? ypi_store_rows(l->db, fact_sql, 1, parameters) : NULL;
    if (facts == NULL) {
        cJSON_Delete(rows);
        return NULL;
    }
    const cJSON *row = cJSON_GetArrayItem(rows, 0);
    const char *options = ypi_text_of(row, "options");
    struct run *run = ypi_calloc(1, sizeof *run);
    *run = (struct run){.id = ypi_strdup(id),
                        .facts = facts,
                        .why = why_not(row, facts),
                        .counted = has_option(options, "--instructions"),
                        .started = ypi_real(row, "started"),
                        .commit = strcmp(known(fact_of(facts, "git.dirty")), "no") == 0
                                      ? known(fact_of(facts, "git.commit"))
                                      : "",
                        .hash = known(fact_of(facts, "program.hash"))};
    for (int i = 0; i < 2; i++) {
        run->kind[i] = ypi_machine_kind(fact_of, facts, options, i == 1);
        run->exact_kind[i] = ypi_machine_kind_exact(fact_of, facts, i == 1);
    }
    cJSON_Delete(rows);
    return run;
}

/* Its place among the runs; -1 with yp_last_error() set. */
static int run_at(struct ypi_learner *l, const char *id)
{
    for (int i = l->count - 1; i >= 0; i--)
        if (strcmp(l->runs[i]->id, id) == 0)
            return i;
    struct run *run = load_run(l, id);
    if (run == NULL)
        return -1;
    l->runs = ypi_realloc(l->runs, (size_t)l->count + 1, sizeof(*l->runs));
    l->runs[l->count] = run;
    return l->count++;
}

struct ypi_learner *ypi_learner_open(sqlite3 *db, bool any_code)
{
    struct ypi_learner *l = ypi_calloc(1, sizeof *l);
    *l = (struct ypi_learner){.db = db, .any_code = any_code};
    return l;
}

void ypi_learner_close(struct ypi_learner *l)
{
    for (int i = 0; i < l->count; i++) {
        struct run *run = l->runs[i];
        for (int k = 0; k < 2; k++) {
            free(run->kind[k]);
            free(run->exact_kind[k]);
        }
        cJSON_Delete(run->facts);
        free(run->id);
        free(run);
    }
    free(l->runs);
    free(l);
}

/* One commit, or one program: a commit of documents leaves the program as it is. What is known by
 * neither is its run's alone. */
static bool same_code(const struct run *a, const struct run *b)
{
    return a == b || (*a->commit != '\0' && strcmp(a->commit, b->commit) == 0) ||
           (*a->hash != '\0' && strcmp(a->hash, b->hash) == 0);
}

/* -- processes ----------------------------------------------------------------------------- */

/* A figure of a process, as it is in the history: newest first. */
struct seen {
    int run;
    const char *name; /* "make", "peak host" */
    enum ypi_baseline_of of;
    double share, time;
    char *exact; /* owned */
    uint64_t seed;
    bool used; /* it belongs to an entry, or to none */
};

struct list {
    struct seen *of; /* owned */
    int count;
};

static void refuse(struct ypi_refused *refused, const char *why)
{
    int at = 0;
    if (refused == NULL)
        return;
    while (at < refused->count && strcmp(refused->list[at].why, why) != 0)
        at++;
    if (at == (int)(sizeof refused->list / sizeof *refused->list))
        return;
    if (at == refused->count)
        refused->list[refused->count++].why = why;
    refused->list[at].processes++;
}

/* Without what may be rounding: of a measurement of milliseconds, a tick is most of it. */
static struct ypi_noise noise_of(const cJSON *row)
{
    const int processors = ypi_whole(row, "processors");
    const double others = ypi_real(row, "others");
    const double stolen = ypi_real(row, "stolen");
    return (struct ypi_noise){.wall = ypi_real(row, "wall"),
                              .own = ypi_real(row, "own"),
                              .others = others > YPI_NOISE_GRAIN * processors ? others : 0,
                              .stolen = stolen > YPI_NOISE_GRAIN ? stolen : 0,
                              .throttled = ypi_real(row, "throttled"),
                              .processors = processors};
}

static const char *why_process_not(const struct run *run, const cJSON *row)
{
    if (run->why != NULL)
        return run->why;
    if (strcmp(ypi_text_of(row, "outcome"), "passed") != 0)
        return "not passed";
    if (ypi_real(row, "fail_allocation") > 0)
        return "an allocation refused";
    return NULL;
}

static void add_seen(struct list *list, const struct seen *seen)
{
    list->of = ypi_realloc(list->of, (size_t)list->count + 1, sizeof *list->of);
    list->of[list->count++] = *seen;
}

/* False where there is no figure to compare: no time, or none above 0. */
static bool take_times(struct seen *seen, const cJSON *row)
{
    seen->of = YPI_BASELINE_TIME;
    seen->share = ypi_real(row, "share");
    seen->time = ypi_real(row, "median");
    if (!(seen->share > 0 && isfinite(seen->share)))
        seen->share = NAN;
    return seen->time > 0 && isfinite(seen->time);
}

/* Under Callgrind instructions alone, without it all else. */
static bool take_exact(struct seen *seen, const cJSON *row, bool counted)
{
    char number[32];
    const char *text = ypi_text_of(row, "text");
    const double figure = ypi_real(row, "figure");
    if ((strncmp(seen->name, "instructions ", 13) == 0) != counted || (!*text && isnan(figure)) ||
        !ypi_parse_u64(ypi_text_of(row, "seed"), &seen->seed))
        return false;
    ypi_print_double(number, figure);
    seen->of = YPI_BASELINE_EXACT;
    seen->exact = ypi_strdup(*text ? text : number);
    return true;
}

static const char measured_sql[] =
    "WITH r AS (SELECT * FROM result WHERE case_id = ?1 ORDER BY started DESC, rowid DESC"
    "  LIMIT " LOOKED_AT "),"
    " n AS (SELECT * FROM noise WHERE result_id IN (SELECT id FROM r))"
    " SELECT r.id AS result, r.run_id AS run, r.outcome, r.fail_allocation, m.name, m.share,"
    "  m.median, m.threads,"
    "  max(CASE WHEN n.name = 'wall' THEN n.value END) AS wall,"
    "  max(CASE WHEN n.name = 'own' THEN n.value END) AS own,"
    "  max(CASE WHEN n.name = 'others' THEN n.value END) AS others,"
    "  max(CASE WHEN n.name = 'stolen' THEN n.value END) AS stolen,"
    "  max(CASE WHEN n.name = 'throttled' THEN n.value END) AS throttled,"
    "  max(CASE WHEN n.name = 'processors' THEN n.value END) AS processors"
    " FROM r JOIN measurement AS m ON m.result_id = r.id AND m.kind IN ('work', 'serve')"
    " LEFT JOIN n ON n.result_id = m.result_id AND n.position = m.position"
    " GROUP BY r.id, m.position ORDER BY r.started DESC, m.position";

/* Values that are not made of times; of counts those by Callgrind. */
static const char exact_sql[] =
    "WITH r AS (SELECT * FROM result WHERE case_id = ?1 ORDER BY started DESC, rowid DESC"
    "  LIMIT " LOOKED_AT "),"
    " m AS (SELECT * FROM memory WHERE result_id IN (SELECT id FROM r)),"
    " f AS (SELECT result_id, 'peak ' || memory AS name, allocated_peak AS figure, NULL AS text"
    "   FROM m UNION ALL"
    "  SELECT result_id, 'allocations ' || memory, allocations, NULL FROM m UNION ALL"
    "  SELECT result_id, 'value ' || name, value, NULL FROM value"
    "   WHERE of_speed = 0 AND result_id IN (SELECT id FROM r) UNION ALL"
    "  SELECT c.result_id, 'instructions ' || w.name, c.count, NULL FROM counter AS c"
    "   JOIN measurement AS w ON w.result_id = c.result_id AND w.position = c.position"
    "   WHERE c.counter = 'instructions' AND c.source = 'callgrind'"
    "   AND c.result_id IN (SELECT id FROM r) UNION ALL"
    "  SELECT id, 'hash', NULL, data_hash FROM r WHERE data_hash IS NOT NULL)"
    " SELECT r.run_id AS run, r.outcome, r.fail_allocation, CAST(r.seed AS TEXT) AS seed, f.name,"
    " f.figure, f.text FROM r JOIN f ON f.result_id = r.id ORDER BY r.started DESC";

/* The rows of `sql`, owned by the caller, and what of them is learned from. */
static cJSON *look(struct ypi_learner *l, const char *sql, const char *id, bool exact,
                   struct list *out, struct ypi_refused *refused)
{
    const char *const parameters[] = {id};
    cJSON *rows = ypi_store_rows(l->db, sql, 1, parameters);
    const cJSON *row;
    const char *last = "";
    cJSON_ArrayForEach(row, rows)
    {
        const int at = run_at(l, ypi_text_of(row, "run"));
        if (at < 0) {
            cJSON_Delete(rows);
            return NULL;
        }
        const struct run *run = l->runs[at];
        const char *why = why_process_not(run, row);
        const struct ypi_noise noise = noise_of(row);
        struct seen seen = {.run = at, .name = ypi_text_of(row, "name")};
        if (why == NULL && !exact && ypi_noise_crowded(&noise, ypi_whole(row, "threads")))
            why = "disturbed";
        if (why == NULL && !exact && run->counted)
            why = "--instructions";
        if (why != NULL) {
            if (!exact && strcmp(last, ypi_text_of(row, "result")) != 0)
                refuse(refused, why);
            last = ypi_text_of(row, "result");
            continue;
        }
        if (exact ? take_exact(&seen, row, run->counted) : take_times(&seen, row))
            add_seen(out, &seen);
    }
    return rows;
}

/* -- entries ------------------------------------------------------------------------------- */

/* Those that make one baseline: of one figure on one kind of machine, and of one code. */
struct group {
    const struct seen **of; /* owned, newest first */
    int count;
};

static const char *kind_of(const struct ypi_learner *l, const struct seen *s, bool accelerated)
{
    const struct run *run = l->runs[s->run];
    const char *kind =
        s->of == YPI_BASELINE_EXACT ? run->exact_kind[accelerated] : run->kind[accelerated];
    return kind != NULL ? kind : "";
}

static bool same_subject(const struct ypi_learner *l, const struct seen *a, const struct seen *b,
                         bool accelerated)
{
    return a->of == b->of && strcmp(a->name, b->name) == 0 && a->seed == b->seed &&
           strcmp(kind_of(l, a, accelerated), kind_of(l, b, accelerated)) == 0;
}

/* All that are of the same as `first`, and of its code, from it on. */
static struct group collect(const struct ypi_learner *l, struct list *list, int first,
                            bool accelerated)
{
    struct group g = {.of = ypi_calloc((size_t)list->count, sizeof(*g.of))};
    for (int i = first; i < list->count; i++) {
        struct seen *s = &list->of[i];
        if (s->used || !same_subject(l, s, &list->of[first], accelerated) ||
            (!l->any_code && !same_code(l->runs[s->run], l->runs[list->of[first].run])))
            continue;
        s->used = true;
        if (!l->any_code || g.count < ROLLING)
            g.of[g.count++] = s;
    }
    return g;
}

static int runs_of(const struct group *g)
{
    int runs = 0;
    for (int i = 0; i < g->count; i++) {
        bool seen = false;
        for (int k = 0; k < i; k++)
            seen = seen || g->of[k]->run == g->of[i]->run;
        runs += !seen;
    }
    return runs;
}

static bool all_same(const struct group *g)
{
    for (int i = 1; i < g->count; i++)
        if (strcmp(g->of[i]->exact, g->of[0]->exact) != 0)
            return false;
    return true;
}

/* Exact: all say the same. Instructions differ by a few with the environment; the newest stands
 * for all. */
static bool estimate_exact(struct ypi_baseline *b, const struct group *g)
{
    const bool counts = strncmp(g->of[0]->name, "instructions ", 13) == 0;
    const int runs = runs_of(g);
    if (g->count < YPI_BASELINE_PROCESSES || runs < YPI_BASELINE_RUNS || !(counts || all_same(g)))
        return false;
    b->typical = b->slower = NAN;
    b->exact = ypi_strdup(g->of[0]->exact);
    b->seed = g->of[0]->seed;
    b->processes = g->count;
    b->runs = runs;
    return true;
}

static bool estimate(struct ypi_baseline *b, const struct group *g)
{
    struct ypi_learned_figure *list = ypi_calloc((size_t)g->count, sizeof *list);
    int shares = 0;
    for (int i = 0; i < g->count; i++) {
        list[i] = (struct ypi_learned_figure){.figure = g->of[i]->share, .run = g->of[i]->run};
        shares += isfinite(g->of[i]->share);
    }
    b->of = YPI_BASELINE_SHARE;
    bool enough = shares == g->count && ypi_baseline_estimate(b, list, g->count) &&
                  b->typical >= YPI_LEAST_SHARE;
    if (!enough) {
        b->of = YPI_BASELINE_TIME;
        for (int i = 0; i < g->count; i++)
            list[i].figure = g->of[i]->time;
        enough = ypi_baseline_estimate(b, list, g->count);
    }
    free(list);
    return enough;
}

static void put_entry(const struct ypi_learner *l, const struct group *g, const char *id,
                      const char *machine, struct ypi_baseline *b, struct ypi_baseline_file *out)
{
    const struct run *newest = l->runs[g->of[0]->run];
    const time_t started = (time_t)newest->started;
    struct tm day;
    b->name = ypi_strdup(g->of[0]->name);
    snprintf(b->commit, sizeof b->commit, "%s", newest->commit);
    if (gmtime_r(&started, &day) == NULL ||
        strftime(b->date, sizeof b->date, "%Y-%m-%d", &day) == 0)
        snprintf(b->date, sizeof b->date, "1970-01-01");
    ypi_baseline_put(out, (struct ypi_baseline_entry){
                              .id = ypi_strdup(id), .machine = ypi_strdup(machine), .b = *b});
}

/* Of each figure and kind of machine the newest code that has enough makes the entry. */
static void make_entries(const struct ypi_learner *l, struct list *list, const char *id,
                         bool accelerated, const char *machine, struct ypi_baseline_file *out,
                         int *so_far, struct ypi_refused *refused)
{
    for (int i = 0; i < list->count; i++) {
        if (list->of[i].used)
            continue;
        const bool exact = list->of[i].of == YPI_BASELINE_EXACT;
        const char *kind = kind_of(l, &list->of[i], accelerated);
        struct ypi_baseline b = {.of = list->of[i].of};
        struct ypi_baseline_entry like = {.id = (char *)(uintptr_t)id,
                                          .machine = (char *)(uintptr_t)kind,
                                          .b = {.of = b.of,
                                                .name = (char *)(uintptr_t)list->of[i].name,
                                                .seed = list->of[i].seed}};
        struct group g = collect(l, list, i, accelerated);
        const bool there = ypi_baseline_find(out, &like) != NULL;
        const bool wanted =
            *kind != '\0' && (machine == NULL || exact || strcmp(kind, machine) == 0);
        if (wanted && !there && (exact ? estimate_exact(&b, &g) : estimate(&b, &g)))
            put_entry(l, &g, id, kind, &b, out);
        else if (wanted && !exact) {
            for (int k = 0; k < g.count; k++)
                refuse(refused, there ? "of another commit" : "too few of one commit");
            if (so_far != NULL && !there && *so_far < g.count)
                *so_far = g.count;
        }
        free(g.of);
    }
}

bool ypi_learner_sees_new(struct ypi_learner *l, const char *id, const struct ypi_baselines *known)
{
    static const char sql[] =
        "SELECT name FROM measurement WHERE kind IN ('work', 'serve') AND result_id ="
        " (SELECT id FROM result WHERE case_id = ?1 ORDER BY started DESC, rowid DESC LIMIT 1)";
    const char *const parameters[] = {id};
    cJSON *rows = ypi_store_rows(l->db, sql, 1, parameters);
    bool all = true;
    for (const cJSON *row = rows != NULL ? rows->child : NULL; row != NULL; row = row->next) {
        bool there = false;
        for (int i = 0; i < known->count; i++)
            there = there || (known->list[i].of != YPI_BASELINE_EXACT &&
                              strcmp(known->list[i].name, ypi_text_of(row, "name")) == 0);
        all = all && there;
    }
    cJSON_Delete(rows);
    return !all;
}

enum yp_status ypi_learn(struct ypi_learner *l, const char *id, bool accelerated,
                         const char *machine, struct ypi_baseline_file *out, int *so_far,
                         struct ypi_refused *refused)
{
    struct list list = {0};
    cJSON *measured = look(l, measured_sql, id, false, &list, refused);
    cJSON *exact = measured != NULL ? look(l, exact_sql, id, true, &list, refused) : NULL;
    const enum yp_status status = exact != NULL ? YP_OK : YP_IO;
    if (status == YP_OK)
        make_entries(l, &list, id, accelerated, machine, out, so_far, refused);
    for (int i = 0; i < list.count; i++)
        free(list.of[i].exact);
    free(list.of);
    cJSON_Delete(exact);
    cJSON_Delete(measured);
    return status;
}
