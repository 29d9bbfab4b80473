#include "harness/driver/arrange.h"

#include "base/numbers/splitmix.h"
#include "base/text/text.h"
#include "harness/driver/shard.h"
#include "harness/history/history.h"
#include "harness/vocabulary/relation.h"

#include <errno.h>
#include <stdio.h>
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

/* -- by a list ------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The lines of a file, sorted; NULL with yp_last_error() set. */
static char **read_lines(const char *path, int *count)
{
    FILE *file = fopen(path, "r");
    char **lines = ypi_calloc(1, sizeof *lines);
    char *line = NULL;
    size_t room = 0;
    *count = 0;
    while (file != NULL && getline(&line, &room, file) > 0)
        lines =
            ypi_list_add(lines, (*count)++, ypi_format("%.*s", (int)strcspn(line, "\r\n"), line));
    const bool right = file != NULL && ferror(file) == 0;
    if (!right) {
        (void)yp_set_error(YP_IO, "--only: %s: cannot be read: %s", path, strerror(errno));
        ypi_list_free(lines, *count);
        lines = NULL;
    }
    if (file != NULL)
        fclose(file);
    free(line);
    if (right)
        qsort(lines, (size_t)*count, sizeof *lines, by_text);
    return lines;
}

static enum yp_status keep_listed(struct arranging *a, const char *path)
{
    int count = 0;
    int kept = 0;
    char **lines = read_lines(path, &count);
    if (lines == NULL)
        return YP_IO;
    for (int i = 0; i < a->count; i++) {
        const char *const id = a->cases[i]->id;
        a->runs[i] = bsearch(&id, lines, (size_t)count, sizeof *lines, by_text) != NULL;
        kept += a->runs[i];
    }
    ypi_text_add(&a->told, "only: %d of %d cases\n", kept, a->count);
    ypi_list_free(lines, count);
    return YP_OK;
}

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

/* -- what is left of a run ------------------------------------------------------------------- */

/* How many of a case's repetitions have a result that will stay. Negative with yp_last_error() set.
 */
static int count_done(sqlite3 *db, sqlite3_stmt **ready, const char *id)
{
    static const char sql[] =
        "SELECT count(DISTINCT r.repeat) AS done FROM result AS r JOIN run ON run.id = r.run_id"
        " WHERE r.case_id = ?1 AND r.attempt = 0 AND NOT " YPI_CUT_SHORT;
    cJSON *rows = ypi_store_rows_ready(db, sql, ready, id);
    int done = rows != NULL ? ypi_whole(cJSON_GetArrayItem(rows, 0), "done") : -1;
    cJSON_Delete(rows);
    return done;
}

static enum yp_status leave_out(struct arranging *a, const struct ypi_options *o,
                                const char *history)
{
    sqlite3 *db = ypi_store_open(history);
    sqlite3_stmt *ready = NULL;
    int done = db != NULL ? 0 : -1;
    for (int i = 0; i < a->count && done >= 0; i++) {
        done = count_done(db, &ready, a->cases[i]->id);
        if (done >= o->repeat)
            a->runs[i] = false;
    }
    sqlite3_finalize(ready);
    sqlite3_close(db);
    return done >= 0 ? YP_OK : YP_IO;
}

/* A relation was judged by the cases of its run: with one of them it is judged anew. Whether any
 * was brought. */
static bool bring_what_reads(struct arranging *a)
{
    bool any = false;
    for (int i = 0; i < a->count; i++)
        for (int k = 0; k < a->count && !a->runs[i] && ypi_is_relation(a->cases[i]); k++)
            if (a->runs[k] && ypi_relation_reads(a->cases[i], a->cases[k]))
                any = a->runs[i] = true;
    return any;
}

static enum yp_status resume(struct arranging *a, const struct ypi_options *o)
{
    enum yp_status status = YP_OK;
    int left = 0;
    for (int i = 0; i < o->resumed_count && status == YP_OK; i++)
        status = leave_out(a, o, o->resumed[i]);
    while (bring_what_reads(a))
        bring_what_is_read(a);
    bring_what_is_read(a);
    for (int i = 0; i < a->count; i++)
        left += a->runs[i];
    ypi_text_add(&a->told, "resume: %d of %d cases are left\n", left, a->count);
    return status;
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

/* From here on there are no others. */
static void settle_all(struct arranging *a)
{
    a->count = settle(a);
    for (int i = 0; i < a->count; i++)
        a->runs[i] = true;
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
    enum yp_status status = o->only != NULL ? keep_listed(&a, o->only) : YP_OK;
    settle_all(&a);
    if (status == YP_OK && o->shard_count > 0)
        status = ypi_shard_keep(a.cases, a.runs, a.count, o, &a.told);
    settle_all(&a);
    if (status == YP_OK && o->resumed_count > 0)
        status = resume(&a, o);
    settle_all(&a);
    if (o->shuffled)
        shuffle(&a, o->shuffle);
    if (status == YP_OK)
        status = by_history(&a, o);
    *selected = status == YP_OK && (o->last_failed || o->stepwise) ? settle(&a) : a.count;
    if (o->last_failed)
        c->meant -= a.count - *selected; /* as pytest, which does not collect the others then */
    free(a.runs);
    *told = ypi_text_take(&a.told);
    return status;
}
