/* The shards' histories into the project's. */
#include "base/system/file.h"
#include "base/text/text.h"
#include "harness/history/history.h"
#include "launch/outcome.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -- one history a shard ------------------------------------------------------------------- */

static void fail(struct ypi_launch_outcome *out)
{
    fprintf(stderr, "yieldpoint: %s\n", yp_last_error());
    out->broken = true;
}

static bool execute(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return true;
    (void)yp_set_error(YP_IO, "history '%s': %s", sqlite3_db_filename(db, "main"),
                       sqlite3_errmsg(db));
    return false;
}

/* Of each case the results of the last start that has one; the runs are in the order of the starts.
 * A result by SIGTERM or SIGKILL is none of a shard that the queue has ended, nor of a run that did
 * not end by itself. */
static bool keep_last(const char *path, bool ended_by_queue)
{
    static const char sql[] =
        "PRAGMA foreign_keys = ON; BEGIN IMMEDIATE;"
        "CREATE TEMP TABLE last AS SELECT r.case_id, max(run.rowid) AS run_row"
        " FROM result AS r JOIN run ON run.id = r.run_id WHERE r.attempt = 0"
        " AND NOT (coalesce(r.signal, 0) IN (9, 15) AND (%d OR run.exit_code IS NULL"
        " OR run.exit_code = 2)) GROUP BY r.case_id;"
        "CREATE UNIQUE INDEX temp.last_case ON last (case_id);"
        "DELETE FROM result WHERE NOT EXISTS (SELECT 1 FROM temp.last AS l"
        " JOIN run ON run.rowid = l.run_row WHERE l.case_id = result.case_id"
        " AND run.id = result.run_id); COMMIT";
    char *text = ypi_format(sql, ended_by_queue);
    sqlite3 *db = ypi_store_open_to_write(path);
    const bool right = db != NULL && execute(db, text);
    sqlite3_close(db);
    free(text);
    return right;
}

static void remove_history(const char *path)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char *name = ypi_format("%s%s", path, ends[i]);
        unlink(name);
        free(name);
    }
}

/* By its own end a job is completed, or failed with the suite's exit code. */
static bool is_ended_by_queue(const struct ypi_shard *s)
{
    return strcmp(s->state, "COMPLETED") != 0 && strcmp(s->state, "FAILED") != 0;
}

static bool stage(const struct ypi_launch *l, int shard, int starts, const char *path)
{
    struct ypi_imported imported;
    bool right = true;
    remove_history(path); /* of a merge before */
    for (int i = 0; i < starts && right; i++) {
        char *from = ypi_shard_history(l, shard, i);
        right = ypi_history_import(path, from, &imported) == YP_OK;
        free(from);
    }
    return right && keep_last(path, is_ended_by_queue(&l->shards[shard]));
}

/* Whether it holds what the end of its job made. */
static bool was_cut(const char *path, bool *cut)
{
    static const char sql[] = "SELECT 1 FROM run WHERE exit_code IS NULL OR exit_code = 2 LIMIT 1";
    sqlite3 *db = ypi_store_open(path);
    cJSON *rows = db != NULL ? ypi_store_rows(db, sql, 0, NULL) : NULL;
    const bool right = rows != NULL;
    *cut = cJSON_GetArraySize(rows) > 0;
    cJSON_Delete(rows);
    sqlite3_close(db);
    return right;
}

/* The history with what the shard came to; the caller frees. NULL with yp_last_error() set, or
 * where the shard was never begun, *starts 0. */
static char *history_of(const struct ypi_launch *l, int shard, int *starts)
{
    bool cut = false;
    char *path = ypi_shard_history(l, shard, 0);
    for (*starts = 0; access(path, F_OK) == 0;) {
        free(path);
        path = ypi_shard_history(l, shard, ++*starts);
    }
    free(path);
    path = *starts > 0 ? ypi_shard_history(l, shard, 0) : NULL;
    bool right = *starts != 1 || was_cut(path, &cut);
    if (*starts > 1 || (*starts == 1 && (cut || is_ended_by_queue(&l->shards[shard])))) {
        free(path);
        path = ypi_shard_file(l, shard, ".merged.db");
        right = stage(l, shard, *starts, path);
    }
    if (right)
        return path;
    free(path);
    return NULL;
}

/* -- what it came to ----------------------------------------------------------------------- */

static int outcome_of(const char *name)
{
    for (int i = 0; ypi_store_outcome(i) != NULL; i++)
        if (strcmp(ypi_store_outcome(i), name) == 0)
            return i;
    return 0;
}

static bool read_cases(const char *path, struct ypi_launch_outcome *out)
{
    static const char sql[] =
        "SELECT r.case_id, r.repeat, r.outcome, r.id, r.run_id, coalesce((SELECT message FROM "
        "failure"
        " WHERE result_id = r.id ORDER BY position LIMIT 1), r.reason, '') AS reason"
        " FROM result AS r WHERE r.attempt = 0 ORDER BY r.rowid";
    sqlite3 *db = ypi_store_open(path);
    cJSON *rows = db != NULL ? ypi_store_rows(db, sql, 0, NULL) : NULL;
    const bool right = rows != NULL;
    out->list = ypi_realloc(out->list, (size_t)out->count + (size_t)cJSON_GetArraySize(rows) + 1,
                            sizeof *out->list);
    const cJSON *row;
    cJSON_ArrayForEach(row, rows)
    {
        out->list[out->count++] =
            (struct ypi_launched_case){.id = ypi_strdup(ypi_text_of(row, "case_id")),
                                       .repeat = ypi_whole(row, "repeat"),
                                       .outcome = outcome_of(ypi_text_of(row, "outcome")),
                                       .result = ypi_strdup(ypi_text_of(row, "id")),
                                       .run = ypi_strdup(ypi_text_of(row, "run_id")),
                                       .reason = ypi_strdup(ypi_text_of(row, "reason"))};
    }
    cJSON_Delete(rows);
    sqlite3_close(db);
    return right;
}

static bool is_failure(const struct ypi_launched_case *c)
{
    const char *name = ypi_store_outcome(c->outcome);
    return strcmp(name, "failed") == 0 || strcmp(name, "error") == 0;
}

/* Of two results of one case the failed one first. */
static int by_id(const void *a, const void *b)
{
    const struct ypi_launched_case *x = a;
    const struct ypi_launched_case *y = b;
    const int names = strcmp(x->id, y->id);
    if (names != 0 || x->repeat != y->repeat)
        return names != 0 ? names : x->repeat - y->repeat;
    return (int)is_failure(y) - (int)is_failure(x);
}

static void clear_case(struct ypi_launched_case *c)
{
    free(c->id);
    free(c->result);
    free(c->run);
    free(c->reason);
}

/* A fixture has a process in each shard that needs it. */
static void drop_twice(struct ypi_launch_outcome *out)
{
    int kept = 0;
    if (out->count > 0)
        qsort(out->list, (size_t)out->count, sizeof *out->list, by_id);
    for (int i = 0; i < out->count; i++) {
        const struct ypi_launched_case *last = kept > 0 ? &out->list[kept - 1] : NULL;
        if (last != NULL && strcmp(last->id, out->list[i].id) == 0 &&
            last->repeat == out->list[i].repeat)
            clear_case(&out->list[i]);
        else
            out->list[kept++] = out->list[i];
    }
    out->count = kept;
}

const struct ypi_launched_case *ypi_launched_find(const struct ypi_launch_outcome *found,
                                                  const char *id)
{
    int low = 0;
    int high = found->count;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (strcmp(found->list[middle].id, id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < found->count && strcmp(found->list[low].id, id) == 0 ? &found->list[low] : NULL;
}

/* -- all of them --------------------------------------------------------------------------- */

static void take_end(const struct ypi_launch *l, int shard)
{
    char *path = ypi_shard_file(l, shard, ".end");
    char text[16];
    long long code = 0;
    size_t length = ypi_read_file(path, text, sizeof text);
    while (length > 0 && text[length - 1] == '\n')
        text[--length] = '\0';
    l->shards[shard].ended = ypi_parse_i64(text, &code);
    l->shards[shard].code = (int)code;
    free(path);
}

static void import_all(const struct ypi_launch *l, char *const *paths, int count,
                       struct ypi_launch_outcome *out)
{
    struct ypi_import_source *sources = ypi_calloc((size_t)count + 1, sizeof *sources);
    for (int i = 0; i < count; i++)
        sources[i].path = paths[i];
    ypi_history_import_all(l->history, sources, count);
    for (int i = 0; i < count; i++) {
        if (sources[i].status != YP_OK) {
            (void)yp_set_error(sources[i].status, "%s", sources[i].problem);
            fail(out);
        }
        free(sources[i].problem);
    }
    free(sources);
}

void ypi_launch_merge(struct ypi_launch *l, struct ypi_launch_outcome *out)
{
    char **paths = NULL;
    int count = 0;
    for (int i = 0; i < l->count; i++) {
        int starts = 0;
        take_end(l, i);
        char *path = history_of(l, i, &starts);
        if (starts > 0 && (path == NULL || !read_cases(path, out)))
            fail(out);
        if (path != NULL)
            paths = ypi_list_add(paths, count++, path);
    }
    import_all(l, paths, count, out);
    ypi_list_free(paths, count);
    drop_twice(out);
    for (int i = 0; i < l->count; i++)
        for (int k = 0; k < l->shards[i].id_count; k++)
            l->shards[i].missing += ypi_launched_find(out, l->shards[i].ids[k]) == NULL;
}

void ypi_launch_outcome_clear(struct ypi_launch_outcome *out)
{
    for (int i = 0; i < out->count; i++)
        clear_case(&out->list[i]);
    free(out->list);
    *out = (struct ypi_launch_outcome){0};
}
