#include "harness/driver/shard.h"

#include "base/numbers/fnv1a.h"
#include "base/numbers/stats.h"
#include "base/text/figures.h"
#include "harness/history/history.h"
#include "harness/vocabulary/relation.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* So many of a case's newest results are looked at. */
#define LOOKED_AT "5"
#define LEAST 0.001 /* seconds: a case without a body still takes a process */

/* Cases that belong together, as one unit. */
struct unit {
    int first; /* the place of its first case */
    double weight;
    int part;
};

struct division {
    struct yp_case *const *cases;
    const bool *runs;
    int count;
    int *parent;    /* of each case, towards the first that it belongs together with */
    double *weight; /* of each case: seconds, or 1 where no history says */
    int known;      /* cases whose seconds the history has */
    struct unit *units;
    int unit_count;
};

/* -- what belongs together ----------------------------------------------------------------- */

static int root_of(int *parent, int i)
{
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

static void join(int *parent, int a, int b)
{
    int x = root_of(parent, a);
    int y = root_of(parent, b);
    parent[x > y ? x : y] = x > y ? y : x;
}

/* A relation and the cases that it reads belong together, for it reads those of its own run. */
static void find_belonging(struct division *d)
{
    for (int i = 0; i < d->count; i++)
        d->parent[i] = i;
    for (int i = 0; i < d->count; i++)
        for (int k = 0; k < d->count && ypi_is_relation(d->cases[i]); k++)
            if (ypi_relation_reads(d->cases[i], d->cases[k]))
                join(d->parent, i, k);
}

/* -- how long each takes ------------------------------------------------------------------- */

/* The median of the newest results, each with the processes that confirmed it. NaN: none is
 * stored; *right is false where the history cannot be read. */
static double seconds_of(sqlite3 *db, sqlite3_stmt **ready, const char *id, bool *right)
{
    static const char sql[] =
        "SELECT (SELECT sum(coalesce(a.duration, 0)) FROM result AS a WHERE a.run_id = r.run_id"
        " AND a.case_id = r.case_id AND a.repeat = r.repeat) AS seconds FROM result AS r"
        " WHERE r.case_id = ?1 AND r.attempt = 0 AND r.outcome <> 'skipped'"
        " ORDER BY r.started DESC, r.id LIMIT " LOOKED_AT;
    double seconds[8];
    size_t count = 0;
    cJSON *rows = ypi_store_rows_ready(db, sql, ready, id);
    const cJSON *row;
    cJSON_ArrayForEach(row, rows) seconds[count++] = ypi_real(row, "seconds");
    *right = rows != NULL;
    cJSON_Delete(rows);
    return count > 0 ? fmax(ypi_quantile(seconds, count, 0.5), LEAST) : NAN;
}

/* A case that is not known gets the median of those that are. */
static void fill_unknown(struct division *d)
{
    double *known = ypi_calloc((size_t)d->count + 1, sizeof *known);
    for (int i = 0; i < d->count; i++)
        if (d->runs[i] && !isnan(d->weight[i]))
            known[d->known++] = d->weight[i];
    const double usual = d->known > 0 ? ypi_quantile(known, (size_t)d->known, 0.5) : 1;
    free(known);
    for (int i = 0; i < d->count; i++)
        if (isnan(d->weight[i]))
            d->weight[i] = usual;
}

/* Where d->known stays 0 the cases count the same. */
static enum yp_status weigh(struct division *d, const char *history)
{
    for (int i = 0; i < d->count; i++)
        d->weight[i] = 1;
    if (history == NULL || access(history, F_OK) != 0)
        return YP_OK;
    sqlite3 *db = ypi_store_open(history);
    sqlite3_stmt *ready = NULL;
    bool right = db != NULL;
    for (int i = 0; i < d->count && right; i++)
        if (d->runs[i])
            d->weight[i] = ypi_is_relation(d->cases[i])
                               ? LEAST
                               : seconds_of(db, &ready, d->cases[i]->id, &right);
    sqlite3_finalize(ready);
    sqlite3_close(db);
    if (right)
        fill_unknown(d);
    return right ? YP_OK : YP_IO;
}

/* -- parts --------------------------------------------------------------------------------- */

static void make_units(struct division *d)
{
    int *unit_of = ypi_calloc((size_t)d->count + 1, sizeof *unit_of);
    for (int i = 0; i < d->count; i++) {
        const int root = root_of(d->parent, i); /* stands before all that belong to it */
        if (root == i) {
            unit_of[i] = d->unit_count;
            d->units[d->unit_count++] = (struct unit){.first = i};
        }
        if (d->runs[i])
            d->units[unit_of[root]].weight += d->weight[i];
    }
    free(unit_of);
}

static int longest_first(const void *a, const void *b)
{
    const struct unit *x = a;
    const struct unit *y = b;
    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    return x->first - y->first;
}

/* Each to the part that has the least so far: in the order of the cases where they all count the
 * same, else the longest first, which no order of them beats by more than a third (Graham 1969). */
static void deal(struct division *d, int parts)
{
    double *load = ypi_calloc((size_t)parts, sizeof *load);
    if (d->known > 0)
        qsort(d->units, (size_t)d->unit_count, sizeof *d->units, longest_first);
    for (int i = 0; i < d->unit_count; i++) {
        int least = 0;
        for (int k = 1; k < parts && load[least] > 0; k++)
            if (load[k] < load[least])
                least = k;
        d->units[i].part = least;
        load[least] += d->units[i].weight;
    }
    free(load);
}

/* -- telling ------------------------------------------------------------------------------- */

/* Of the whole division, so that parts that were divided differently can be told apart. */
static uint32_t digest_of(const struct division *d, const int *part, int parts)
{
    uint64_t hash = ypi_fnv1a(YPI_FNV1A_BEGIN, &parts, sizeof parts);
    for (int i = 0; i < d->count; i++) {
        const int of = part[root_of(d->parent, i)];
        if (!d->runs[i])
            continue;
        hash = ypi_fnv1a(hash, d->cases[i]->id, strlen(d->cases[i]->id) + 1);
        hash = ypi_fnv1a(hash, &of, sizeof of);
    }
    return (uint32_t)(hash ^ hash >> 32);
}

static void tell(const struct division *d, const struct ypi_options *o, const int *part,
                 struct ypi_text *told)
{
    int all = 0;
    int kept = 0;
    double all_seconds = 0;
    double kept_seconds = 0;
    for (int i = 0; i < d->count; i++) {
        const bool here = part[root_of(d->parent, i)] == o->shard - 1;
        all += d->runs[i];
        kept += d->runs[i] && here;
        all_seconds += d->runs[i] ? d->weight[i] : 0;
        kept_seconds += d->runs[i] && here ? d->weight[i] : 0;
    }
    ypi_text_add(told, "shard %d of %d: %d of %d cases", o->shard, o->shard_count, kept, all);
    if (d->known > 0) {
        char of_this[YPI_FIGURE_MAX];
        char of_all[YPI_FIGURE_MAX];
        ypi_format_seconds(of_this, kept_seconds);
        ypi_format_seconds(of_all, all_seconds);
        ypi_text_add(told, ", %s of %s by %s, which knows %d", of_this, of_all, o->shard_by,
                     d->known);
    } else if (o->shard_by != NULL) {
        ypi_text_add(told, ", by their number: %s knows none", o->shard_by);
    }
    if (o->shard_by != NULL)
        ypi_text_add(told, "; division %08" PRIx32, digest_of(d, part, o->shard_count));
    ypi_text_add(told, "\n");
}

enum yp_status ypi_shard_keep(struct yp_case *const *cases, bool *runs, int count,
                              const struct ypi_options *o, struct ypi_text *told)
{
    const size_t room = (size_t)count + 1;
    struct division d = {.cases = cases,
                         .runs = runs,
                         .count = count,
                         .parent = ypi_calloc(room, sizeof *d.parent),
                         .weight = ypi_calloc(room, sizeof *d.weight),
                         .units = ypi_calloc(room, sizeof *d.units)};
    int *part = ypi_calloc(room, sizeof *part); /* of the first case of each unit */
    find_belonging(&d);
    enum yp_status status = weigh(&d, o->shard_by);
    if (status == YP_OK) {
        make_units(&d);
        deal(&d, o->shard_count);
        for (int i = 0; i < d.unit_count; i++)
            part[d.units[i].first] = d.units[i].part;
        tell(&d, o, part, told);
        for (int i = 0; i < count; i++)
            runs[i] = runs[i] && part[root_of(d.parent, i)] == o->shard - 1;
    }
    free(part);
    free(d.units);
    free(d.weight);
    free(d.parent);
    return status;
}
