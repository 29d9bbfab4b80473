/* A report's cases: which results, in which section. */
#include "reports/content/content.h"

#include "base/text/text.h"
#include "harness/history/history.h"
#include "reports/content/loaded.h"

#include <stdlib.h>
#include <string.h>

/* The results of the runs ?1, of each case the best one to show first: that of the newest run, and
 * of its repetitions one that failed, else the newest. */
#define RESULTS \
    "SELECT r.id, r.case_id AS \"case\", r.run_id AS run, r.outcome, r.started, c.device, c.tags" \
    " FROM result AS r JOIN run ON run.id = r.run_id JOIN test_case AS c ON c.id = r.case_id" \
    " WHERE r.attempt = 0 AND r.run_id IN (SELECT value FROM json_each(?1)) ORDER BY r.case_id," \
    " run.started DESC, run.rowid DESC, r.outcome IN ('failed', 'error', 'xpassed') DESC," \
    " r.started DESC, r.rowid DESC"

/* -- results ------------------------------------------------------------------------------- */

/* Leaves the first row of each case. NULL with the error set. */
static cJSON *first_of_cases(sqlite3 *db, const char *runs)
{
    cJSON *rows = ypi_store_rows(db, RESULTS, 1, &runs);
    for (cJSON *next, *kept = NULL, *row = rows != NULL ? rows->child : NULL; row; row = next) {
        next = row->next;
        if (kept != NULL && strcmp(ypi_text_of(kept, "case"), ypi_text_of(row, "case")) == 0)
            cJSON_Delete(cJSON_DetachItemViaPointer(rows, row));
        else
            kept = row;
    }
    return rows;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Drops the rows of cases that are not meant. False with *right. */
static bool keep_meant(struct ypi_loaded *l, const struct ypi_selection *selection, bool *right)
{
    cJSON *cases = ypi_cases_load(l->db, selection, right);
    const char **meant = ypi_calloc((size_t)cJSON_GetArraySize(cases) + 1, sizeof *meant);
    const cJSON *item;
    size_t count = 0;
    cJSON_ArrayForEach(item, cases)
    {
        meant[count++] = ypi_text_of(item, "id");
    }
    qsort((void *)meant, count, sizeof *meant, by_text);
    for (cJSON *next, *row = cases != NULL ? l->rows->child : NULL; row != NULL; row = next) {
        const char *id = ypi_text_of(row, "case");
        next = row->next;
        if (bsearch(&id, (const void *)meant, count, sizeof *meant, by_text) == NULL)
            cJSON_Delete(cJSON_DetachItemViaPointer(l->rows, row));
    }
    free((void *)meant);
    cJSON_Delete(cases);
    return cases != NULL && *right;
}

/* -- the list ------------------------------------------------------------------------------ */

static enum ypi_section section_of(const struct ypi_report_case *c)
{
    static const char *const failed[] = {"failed", "error", "xpassed"};
    for (size_t i = 0; i < sizeof failed / sizeof *failed; i++)
        if (strcmp(c->outcome, failed[i]) == 0)
            return YPI_FAILED;
    if (strcmp(c->outcome, "noisy") == 0)
        return YPI_UNDECIDED;
    if (c->change_count > 0) /* be it that it ran before and is skipped now */
        return YPI_CHANGED;
    return strcmp(c->outcome, "skipped") == 0 ? YPI_SKIPPED : YPI_PASSED;
}

static int by_case(const void *a, const void *b)
{
    return strcmp(((const struct ypi_report_case *)a)->id, ((const struct ypi_report_case *)b)->id);
}

struct ypi_report_case *ypi_content_find(const struct ypi_loaded *l, const char *id)
{
    const struct ypi_report_case wanted = {.id = id};
    return bsearch(&wanted, l->list, l->content.count, sizeof *l->list, by_case);
}

static int by_section_and_id(const void *a, const void *b)
{
    const struct ypi_report_case *one = a;
    const struct ypi_report_case *two = b;
    return one->section != two->section ? (one->section < two->section ? -1 : 1)
                                        : strcmp(one->id, two->id);
}

static char *test_of(const char *id)
{
    const char *name = strstr(id, "::");
    return ypi_format(
        "%.*s", (int)(name != NULL ? name - id + (long)strcspn(name, "[") : (long)strlen(id)), id);
}

static void make_list(struct ypi_loaded *l)
{
    const cJSON *row;
    l->list = ypi_calloc((size_t)cJSON_GetArraySize(l->rows) + 1, sizeof *l->list);
    cJSON_ArrayForEach(row, l->rows)
    {
        l->list[l->content.count++] =
            (struct ypi_report_case){.id = ypi_text_of(row, "case"),
                                     .test = test_of(ypi_text_of(row, "case")),
                                     .device = ypi_text_of(row, "device"),
                                     .tags = ypi_text_of(row, "tags"),
                                     .outcome = ypi_text_of(row, "outcome"),
                                     .result = ypi_text_of(row, "id"),
                                     .run = ypi_text_of(row, "run")};
    }
    qsort(l->list, l->content.count, sizeof *l->list, by_case);
    l->content.list = l->list;
}

static void sort_list(struct ypi_loaded *l)
{
    for (size_t i = 0; i < l->content.count; i++) {
        l->list[i].section = section_of(&l->list[i]);
        l->content.of_section[l->list[i].section]++;
    }
    qsort(l->list, l->content.count, sizeof *l->list, by_section_and_id);
}

/* -- all of it ----------------------------------------------------------------------------- */

struct ypi_content *ypi_content_load(sqlite3 *db, const struct ypi_content_request *what,
                                     bool *right)
{
    struct ypi_loaded *l = ypi_calloc(1, sizeof *l);
    *right = true;
    l->db = db;
    /* A case's results lie all over the file: 128 MiB of pages save most of the reading. */
    (void)sqlite3_exec(db, "PRAGMA cache_size = -131072", NULL, NULL, NULL);
    l->documents = ypi_documents_open(db);
    l->past = what->past > 0 ? what->past : 20;
    l->content.history = sqlite3_db_filename(db, "main");
    bool loaded = ypi_content_find_runs(l, what, right) &&
                  (l->rows = first_of_cases(db, l->reported)) != NULL &&
                  (l->base_rows = first_of_cases(db, l->base)) != NULL &&
                  keep_meant(l, &what->selection, right);
    if (loaded)
        make_list(l);
    if (!loaded || !ypi_content_compare(l, &what->selection, right)) {
        ypi_content_free(&l->content);
        return NULL;
    }
    sort_list(l);
    return &l->content;
}

void ypi_content_free(struct ypi_content *content)
{
    struct ypi_loaded *l = (struct ypi_loaded *)content;
    if (l == NULL)
        return;
    for (size_t i = 0; i < l->content.count; i++)
        free((char *)(uintptr_t)l->list[i].test);
    free(l->list);
    cJSON_Delete((cJSON *)(uintptr_t)l->content.runs);
    cJSON_Delete((cJSON *)(uintptr_t)l->content.against);
    ypi_content_clear_changes(l);
    ypi_content_end_past(l);
    ypi_documents_close(l->documents);
    cJSON_Delete(l->rows);
    cJSON_Delete(l->base_rows);
    cJSON_Delete(l->run_rows);
    free(l->all);
    free(l->reported);
    free(l->base);
    free(l);
}

cJSON *ypi_content_document(struct ypi_content *content, size_t at)
{
    struct ypi_loaded *l = (struct ypi_loaded *)content;
    cJSON_Delete(l->past_of_last);
    l->list[l->last].past = NULL;
    l->past_of_last = ypi_content_past(l, &l->list[at]);
    if (l->past_of_last == NULL)
        return NULL;
    l->last = at;
    l->list[at].past = l->past_of_last;
    return ypi_documents_read(l->documents, l->list[at].result, true);
}
