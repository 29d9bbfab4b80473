/* Which runs a report is about, and which it compares them with. */
#include "base/text/text.h"
#include "gate/stored/stored.h"
#include "reports/content/loaded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many earlier runs are looked at for those that ran the same cases. */
#define CANDIDATES "50"

/* -- all runs ------------------------------------------------------------------------------ */

static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct ypi_run_row *)a)->id, ((const struct ypi_run_row *)b)->id);
}

const struct ypi_run_row *ypi_run_find(const struct ypi_loaded *l, const char *id)
{
    const struct ypi_run_row wanted = {.id = id};
    return bsearch(&wanted, l->all, l->all_count, sizeof *l->all, by_id);
}

static bool read_all(struct ypi_loaded *l)
{
    static const char sql[] =
        "SELECT run.id, run.started, run.machine, " YPI_NORMAL_RUN " AS normal,"
        " (SELECT value FROM fact WHERE run_id = run.id AND key = 'git.commit') AS \"commit\","
        " (SELECT value FROM fact WHERE run_id = run.id AND key = 'git.dirty') = 'yes' AS dirty,"
        " " YPI_WORK_OPTIONS " AS options FROM run";
    const cJSON *row;
    l->run_rows = ypi_store_rows(l->db, sql, 0, NULL);
    if (l->run_rows == NULL)
        return false;
    l->all = ypi_calloc((size_t)cJSON_GetArraySize(l->run_rows) + 1, sizeof *l->all);
    cJSON_ArrayForEach(row, l->run_rows)
    {
        l->all[l->all_count++] = (struct ypi_run_row){.id = ypi_text_of(row, "id"),
                                                      .machine = ypi_text_of(row, "machine"),
                                                      .options = ypi_text_of(row, "options"),
                                                      .commit = ypi_text_of(row, "commit"),
                                                      .started = ypi_real(row, "started"),
                                                      .dirty = ypi_real(row, "dirty") > 0,
                                                      .normal = ypi_real(row, "normal") > 0};
    }
    qsort(l->all, l->all_count, sizeof *l->all, by_id);
    return true;
}

/* -- those that are reported ----------------------------------------------------------------- */

/* Adds UUIDs that are not there yet. */
static void add(cJSON *ids, const char *id)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, ids)
    {
        if (strcmp(item->valuestring, id) == 0)
            return;
    }
    cJSON_AddItemToArray(ids, cJSON_CreateString(id));
}

/* Adds the runs that a word names; false with *right. */
static bool add_named(struct ypi_loaded *l, const char *word, cJSON *ids, bool *right)
{
    struct ypi_stored found;
    enum yp_status status = ypi_stored_find_in(l->db, word, true, &found);
    for (int i = 0; i < found.run_count; i++)
        add(ids, found.runs[i].id);
    ypi_stored_clear(&found);
    if (status == YP_INVALID) {
        fprintf(stderr, "yieldpoint: %s\n", yp_last_error());
        *right = false;
    }
    return status == YP_OK;
}

/* The newest run that has a result: one that has just begun, or was refused, says nothing. */
static bool add_newest(struct ypi_loaded *l, cJSON *ids)
{
    static const char sql[] = "SELECT id FROM run WHERE EXISTS (SELECT 1 FROM result WHERE run_id ="
                              " run.id) ORDER BY started DESC, rowid DESC LIMIT 1";
    cJSON *rows = ypi_store_rows(l->db, sql, 0, NULL);
    if (rows == NULL)
        return false;
    if (rows->child != NULL)
        add(ids, ypi_text_of(rows->child, "id"));
    cJSON_Delete(rows);
    return true;
}

/* -- those they are compared with ------------------------------------------------------------- */

static double count_of(sqlite3 *db, const char *sql, int count, const char *const *parameters)
{
    cJSON *rows = ypi_store_rows(db, sql, count, parameters);
    double found = ypi_real(rows != NULL ? rows->child : NULL, "count");
    cJSON_Delete(rows);
    return found;
}

/* How many cases of one run the other one has, too. */
static double shared(sqlite3 *db, const char *run, const char *other)
{
    return count_of(db,
                    "SELECT count(*) AS count FROM (SELECT DISTINCT case_id FROM result WHERE"
                    " run_id = ?1 INTERSECT SELECT case_id FROM result WHERE run_id = ?2)",
                    2, (const char *const[]){run, other});
}

/* The runs before `run` of its machine and with its options, newest first, but for the reported
 * ones. NULL with the error set. */
static cJSON *earlier(const struct ypi_loaded *l, const struct ypi_run_row *run)
{
    static const char sql[] =
        "SELECT run.id FROM run WHERE " YPI_NORMAL_RUN " AND run.machine = ?1"
        " AND coalesce(" YPI_WORK_OPTIONS ", '') = ?2"
        " AND (run.started, run.rowid) < (SELECT started, rowid FROM run WHERE id = ?3)"
        " AND run.id NOT IN (SELECT value FROM json_each(?4))"
        " ORDER BY run.started DESC, run.rowid DESC LIMIT " CANDIDATES;
    return ypi_store_rows(l->db, sql, 4,
                          (const char *const[]){run->machine, run->options, run->id, l->reported});
}

/* Adds the newest earlier run that has at least half of the run's cases; where none has, that which
 * has most of them: a run of one case between two of a whole suite is not what they are compared
 * with. */
static bool add_before(const struct ypi_loaded *l, const char *id, cJSON *base)
{
    const struct ypi_run_row *run = ypi_run_find(l, id);
    if (run == NULL || !run->normal)
        return true;
    cJSON *rows = earlier(l, run);
    if (rows == NULL)
        return false;
    const double own = shared(l->db, id, id);
    const char *best = NULL;
    double most = 0;
    for (const cJSON *row = rows->child; row != NULL && most < own / 2; row = row->next) {
        double same = shared(l->db, id, ypi_text_of(row, "id"));
        if (same > most) {
            most = same;
            best = ypi_text_of(row, "id");
        }
    }
    if (best != NULL)
        add(base, best);
    cJSON_Delete(rows);
    return true;
}

/* -- together ------------------------------------------------------------------------------- */

static char *as_text(const cJSON *ids)
{
    char *printed = cJSON_PrintUnformatted(ids);
    char *out = ypi_strdup(printed != NULL ? printed : "[]");
    cJSON_free(printed);
    return out;
}

/* Documents of runs, newest first. NULL with the error set. */
static cJSON *documents(sqlite3 *db, const char *ids)
{
    static const char sql[] = "SELECT id FROM run WHERE id IN (SELECT value FROM json_each(?1))"
                              " ORDER BY started DESC, rowid DESC";
    cJSON *rows = ypi_store_rows(db, sql, 1, &ids);
    cJSON *list = rows != NULL ? cJSON_CreateArray() : NULL;
    for (const cJSON *row = rows != NULL ? rows->child : NULL; row != NULL; row = row->next) {
        cJSON *run = ypi_document_of_run(db, ypi_text_of(row, "id"));
        if (run == NULL) {
            cJSON_Delete(list);
            list = NULL;
            break;
        }
        cJSON_AddItemToArray(list, run);
    }
    cJSON_Delete(rows);
    return list;
}

static bool find_reported(struct ypi_loaded *l, const struct ypi_content_request *what, bool *right)
{
    cJSON *ids = cJSON_CreateArray();
    bool found = what->run_count > 0 || add_newest(l, ids);
    for (int i = 0; i < what->run_count && found; i++)
        found = add_named(l, what->runs[i], ids, right);
    l->reported = as_text(ids);
    cJSON_Delete(ids);
    l->content.runs = found ? documents(l->db, l->reported) : NULL;
    return l->content.runs != NULL;
}

static bool find_base(struct ypi_loaded *l, const char *against, bool *right)
{
    const cJSON *run;
    cJSON *ids = cJSON_CreateArray();
    bool found = against == NULL || add_named(l, against, ids, right);
    cJSON_ArrayForEach(run, l->content.runs)
    {
        found = found && (against != NULL || add_before(l, ypi_text_of(run, "id"), ids));
    }
    l->base = as_text(ids);
    cJSON_Delete(ids);
    cJSON *list = found ? documents(l->db, l->base) : NULL;
    if (list != NULL)
        l->content.against = cJSON_DetachItemFromArray(list, 0);
    l->content.other_bases = (size_t)cJSON_GetArraySize(list);
    found = list != NULL;
    cJSON_Delete(list);
    return found;
}

bool ypi_content_find_runs(struct ypi_loaded *l, const struct ypi_content_request *what,
                           bool *right)
{
    return read_all(l) && find_reported(l, what, right) && find_base(l, what->against, right);
}
