#include "harness/driver/arrange.h"

#include "base/numbers/splitmix.h"
#include "base/text/text.h"
#include "harness/history/history.h"
#include "harness/vocabulary/relation.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The cases and, beside each, whether it runs. */
struct arranging {
    struct yp_case **cases;
    bool *runs;
    int count;
    struct ypi_text told;
};

/* -- as they ended before ------------------------------------------------------------------ */

/* YP_IO with yp_last_error() set when the history cannot be read. */
static enum yp_status failed_last(sqlite3 *db, const struct yp_case *c, bool *failed)
{
    static const char sql[] = "SELECT outcome FROM result WHERE case_id = ?1 AND attempt = 0 "
                              "ORDER BY started DESC LIMIT 1";
    const char *const parameters[] = {c->id};
    cJSON *rows = ypi_store_rows(db, sql, 1, parameters);
    const char *outcome = ypi_text_of(cJSON_GetArrayItem(rows, 0), "outcome");
    *failed = strcmp(outcome, "failed") == 0 || strcmp(outcome, "error") == 0;
    cJSON_Delete(rows);
    return rows != NULL ? YP_OK : YP_IO;
}

/* Of each case whether it failed when it was run last; NULL with yp_last_error() set. */
static bool *read_failed(const struct arranging *a, const struct ypi_options *o, int *count)
{
    bool *failed = ypi_calloc((size_t)a->count + 1, sizeof *failed);
    *count = 0;
    if (o->history == NULL || access(o->history, F_OK) != 0)
        return failed; /* nothing was run yet */
    sqlite3 *db = ypi_store_open(o->history);
    if (db == NULL) {
        free(failed);
        return NULL;
    }
    enum yp_status status = YP_OK;
    for (int i = 0; i < a->count && status == YP_OK; i++) {
        status = failed_last(db, a->cases[i], &failed[i]);
        *count += failed[i];
    }
    sqlite3_close(db);
    if (status != YP_OK) {
        free(failed);
        failed = NULL;
    }
    return failed;
}

static void failures_first(struct arranging *a, const bool *failed)
{
    struct yp_case **order = ypi_calloc((size_t)a->count, sizeof(*order));
    int placed = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < a->count; i++)
            if (failed[i] == (pass == 0))
                order[placed++] = a->cases[i];
    memcpy(a->cases, order, (size_t)a->count * sizeof(*order));
    free(order);
}

/* A relation would be skipped without the cases that it reads. */
static void bring_what_is_read(struct arranging *a)
{
    for (int i = 0; i < a->count; i++)
        for (int k = 0; k < a->count && a->runs[i] && ypi_is_relation(a->cases[i]); k++)
            if (ypi_relation_reads(a->cases[i], a->cases[k]))
                a->runs[k] = true;
}

/* Before the order changes: the cases in front of the first failure. */
static void from_first_failure(struct arranging *a, const bool *failed, int failures)
{
    int first = 0;
    while (failures > 0 && !failed[first])
        a->runs[first++] = false;
    if (failures > 0)
        ypi_text_add(&a->told, "stepwise: skipping %d already passed item%s.\n", first,
                     first == 1 ? "" : "s");
    else
        ypi_text_add(&a->told, "stepwise: no previously failed tests, not skipping.\n");
}

static enum yp_status by_history(struct arranging *a, const struct ypi_options *o)
{
    int failures = 0;
    if (!o->last_failed && !o->failed_first && !o->stepwise)
        return YP_OK;
    bool *failed = read_failed(a, o, &failures);
    if (failed == NULL)
        return YP_IO;
    if (o->stepwise)
        from_first_failure(a, failed, failures);
    for (int i = 0; i < a->count && o->last_failed && failures > 0; i++)
        a->runs[i] = a->runs[i] && failed[i];
    bring_what_is_read(a);
    if ((o->last_failed || o->failed_first) && failures == 0)
        ypi_text_add(&a->told, "run-last-failure: no previously failed tests, not deselecting "
                               "items.\n");
    else if (o->last_failed || o->failed_first)
        ypi_text_add(&a->told, "run-last-failure: rerun previous %d failure%s%s\n", failures,
                     failures == 1 ? "" : "s", o->last_failed ? "" : " first");
    if (o->failed_first && !o->last_failed && !o->stepwise)
        failures_first(a, failed);
    free(failed);
    return YP_OK;
}

/* -- parts --------------------------------------------------------------------------------- */

/* The first of the cases that `i` belongs together with. */
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
static int *belonging(const struct arranging *a)
{
    int *parent = ypi_calloc((size_t)a->count + 1, sizeof *parent);
    for (int i = 0; i < a->count; i++)
        parent[i] = i;
    for (int i = 0; i < a->count; i++)
        for (int k = 0; k < a->count && ypi_is_relation(a->cases[i]); k++)
            if (ypi_relation_reads(a->cases[i], a->cases[k]))
                join(parent, i, k);
    return parent;
}

/* In their order, each to the part that has the fewest so far: the same on every machine. */
static void keep_shard(struct arranging *a, const struct ypi_options *o)
{
    int *parent = belonging(a);
    int *size = ypi_calloc((size_t)a->count + 1, sizeof *size);
    int *part = ypi_calloc((size_t)a->count + 1, sizeof *part);
    int *load = ypi_calloc((size_t)o->shard_count, sizeof *load);
    int kept = 0;
    int all = 0;
    for (int i = 0; i < a->count; i++)
        size[root_of(parent, i)] += a->runs[i];
    for (int i = 0; i < a->count; i++) {
        if (root_of(parent, i) != i)
            continue;
        int fewest = 0;
        for (int k = 1; k < o->shard_count && load[fewest] > 0; k++)
            if (load[k] < load[fewest])
                fewest = k;
        part[i] = fewest;
        load[fewest] += size[i];
    }
    for (int i = 0; i < a->count; i++) {
        all += a->runs[i];
        a->runs[i] = a->runs[i] && part[root_of(parent, i)] == o->shard - 1;
        kept += a->runs[i];
    }
    ypi_text_add(&a->told, "shard %d of %d: %d of %d cases\n", o->shard, o->shard_count, kept, all);
    free(load);
    free(part);
    free(size);
    free(parent);
}

/* -- order --------------------------------------------------------------------------------- */

struct drawn {
    uint64_t key;
    struct yp_case *c;
};

static int by_key(const void *a, const void *b)
{
    const struct drawn *x = a;
    const struct drawn *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : strcmp(x->c->id, y->c->id);
}

/* By a key of its own for each id, so that some of the cases keep the order that they have among
 * all of them. */
static uint64_t key_of(const char *id, uint64_t seed)
{
    uint64_t key = ypi_mix64(seed + YPI_GOLDEN);
    for (const char *c = id; *c != '\0'; c++)
        key = ypi_mix64(key ^ (unsigned char)*c);
    return key;
}

static void shuffle(struct arranging *a, uint64_t seed)
{
    struct drawn *drawn = ypi_calloc((size_t)a->count + 1, sizeof *drawn);
    for (int i = 0; i < a->count; i++)
        drawn[i] = (struct drawn){.key = key_of(a->cases[i]->id, seed), .c = a->cases[i]};
    qsort(drawn, (size_t)a->count, sizeof *drawn, by_key);
    for (int i = 0; i < a->count; i++)
        a->cases[i] = drawn[i].c;
    free(drawn);
    ypi_text_add(&a->told, "shuffle: by seed %llu\n", (unsigned long long)seed);
}

/* -- all of it ----------------------------------------------------------------------------- */

/* What does not run goes behind what does. */
static int settle(struct arranging *a)
{
    struct yp_case **rest = ypi_calloc((size_t)a->count + 1, sizeof(*rest));
    int kept = 0;
    int left = 0;
    for (int i = 0; i < a->count; i++) {
        if (a->runs[i])
            a->cases[kept++] = a->cases[i];
        else
            rest[left++] = a->cases[i];
    }
    memcpy(a->cases + kept, rest, (size_t)left * sizeof(*rest));
    free(rest);
    return kept;
}

enum yp_status ypi_arrange(struct ypi_collection *c, const struct ypi_options *o, int *selected,
                           char **told)
{
    *told = NULL;
    if (*selected == 0)
        return YP_OK;
    struct arranging a = {.cases = c->cases,
                          .runs = ypi_calloc((size_t)*selected + 1, sizeof(bool)),
                          .count = *selected};
    for (int i = 0; i < a.count; i++)
        a.runs[i] = true;
    if (o->shard_count > 0)
        keep_shard(&a, o);
    a.count = settle(&a);
    for (int i = 0; i < a.count; i++)
        a.runs[i] = true;
    if (o->shuffled)
        shuffle(&a, o->shuffle);
    enum yp_status status = by_history(&a, o);
    *selected = status == YP_OK && (o->last_failed || o->stepwise) ? settle(&a) : a.count;
    if (o->last_failed)
        c->meant -= a.count - *selected; /* as pytest, which does not collect the others then */
    free(a.runs);
    *told = ypi_text_take(&a.told);
    return status;
}
