#include "gate/stored/stored.h"

#include "base/text/text.h"
#include "gate/revision/git.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DIGITS_LEAST = 4 }; /* of a UUID or a hash: fewer fit by chance */

#define RUN_COLUMNS \
    "SELECT run.id, run.machine, (SELECT value FROM fact WHERE run_id = run.id AND key =" \
    " 'git.commit') AS \"commit\", (SELECT value FROM fact WHERE run_id = run.id AND key =" \
    " 'git.dirty') = 'yes' AS dirty, " YPI_WORK_OPTIONS " AS options FROM run WHERE "
#define NEWEST_FIRST " ORDER BY run.started DESC, run.id"

/* -- what a word means --------------------------------------------------------------------- */

static bool is_file(const char *word)
{
    struct stat s;
    return stat(word, &s) == 0 && S_ISREG(s.st_mode);
}

static bool is_hexadecimal(const char *word)
{
    return strlen(word) >= DIGITS_LEAST && word[strspn(word, "0123456789abcdef-")] == '\0';
}

/* How many runs back "last" or "last~N" goes; -1: the word is another one. */
static long runs_back(const char *word)
{
    if (strncmp(word, "last", 4) != 0)
        return -1;
    if (word[4] == '\0')
        return 0;
    char *end = NULL;
    long back = word[4] == '~' ? strtol(word + 5, &end, 10) : -1;
    return end != NULL && end != word + 5 && *end == '\0' && back >= 0 && back < 1000000 ? back
                                                                                         : -1;
}

/* Where a word is looked for. */
struct search {
    sqlite3 *db;
    bool every; /* also among runs that cannot be compared */
};

/* `more` stands behind what chooses the runs, with `parameter` as ?1. */
static cJSON *select_runs(struct search in, const char *more, const char *parameter)
{
    char *sql = ypi_format("%s%s%s", RUN_COLUMNS, in.every ? "1" : YPI_NORMAL_RUN, more);
    cJSON *rows = ypi_store_rows(in.db, sql, parameter != NULL, &parameter);
    free(sql);
    return rows;
}

static cJSON *newest(struct search in, long back)
{
    char limit[64];
    snprintf(limit, sizeof limit, NEWEST_FIRST " LIMIT 1 OFFSET %ld", back);
    return select_runs(in, limit, NULL);
}

/* With those that begin with the same digits. */
static cJSON *of_uuid(struct search in, const char *digits)
{
    return select_runs(in, " AND substr(run.id, 1, length(?1)) = ?1" NEWEST_FIRST, digits);
}

static cJSON *of_commit(struct search in, const char *digits, bool dirty)
{
    return select_runs(in,
                       dirty ? " AND substr(\"commit\", 1, length(?1)) = ?1 AND dirty" NEWEST_FIRST
                             : " AND substr(\"commit\", 1, length(?1)) = ?1 AND NOT"
                               " coalesce(dirty, 0)" NEWEST_FIRST,
                       digits);
}

static bool all_alike(const cJSON *rows, const char *column)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, rows)
    {
        if (strcmp(ypi_text_of(row, column), ypi_text_of(rows->child, column)) != 0)
            return false;
    }
    return true;
}

/* `file`: the name of one would have been right, too. */
static enum yp_status none(const char *word, sqlite3 *db, bool file)
{
    return yp_set_error(YP_INVALID,
                        "%s: %s has no such run that can be compared; wanted are a run's UUID or a "
                        "commit's hash (%d digits at least), 'last', 'last~1', a revision that git "
                        "knows, with '-dirty' behind it for runs with uncommitted changes%s",
                        word, sqlite3_db_filename(db, "main"), DIGITS_LEAST,
                        file ? ", or the file of another history" : "");
}

/* The rows of the commit that `word` means. NULL with the error set. */
static cJSON *rows_of_commit(struct search in, const char *word)
{
    size_t length = strlen(word);
    bool dirty = length > 6 && strcmp(word + length - 6, "-dirty") == 0;
    char *name = ypi_format("%.*s", (int)(dirty ? length - 6 : length), word);
    cJSON *rows = is_hexadecimal(name) ? of_commit(in, name, dirty) : cJSON_CreateArray();
    if (rows != NULL && rows->child == NULL) {
        char *commit = ypi_gate_commit(".", name);
        cJSON_Delete(rows);
        rows = of_commit(in, commit != NULL ? commit : "no hash", dirty);
        free(commit);
    } else if (rows != NULL && !all_alike(rows, "commit")) {
        (void)yp_set_error(YP_INVALID, "%s: more than one commit begins so", word);
        cJSON_Delete(rows);
        rows = NULL;
    }
    free(name);
    return rows;
}

/* NULL with the error set. */
static cJSON *rows_of(struct search in, const char *word)
{
    if (runs_back(word) >= 0)
        return newest(in, runs_back(word));
    cJSON *runs = is_hexadecimal(word) ? of_uuid(in, word) : cJSON_CreateArray();
    cJSON *commit = runs != NULL ? rows_of_commit(in, word) : NULL;
    if (commit != NULL && runs->child != NULL && (commit->child != NULL || runs->child->next)) {
        (void)yp_set_error(YP_INVALID, "%s: %s begins so", word,
                           commit->child != NULL ? "a run and a commit" : "more than one run");
        cJSON_Delete(commit);
        commit = NULL;
    }
    if (commit == NULL || commit->child != NULL) {
        cJSON_Delete(runs);
        return commit;
    }
    cJSON_Delete(commit);
    return runs;
}

/* -- runs ---------------------------------------------------------------------------------- */

static void take(struct ypi_stored *s, const cJSON *rows)
{
    const cJSON *row;
    bool one = rows->child != NULL && all_alike(rows, "commit");
    s->commit = ypi_strdup(one ? ypi_text_of(rows->child, "commit") : "");
    s->runs = ypi_calloc((size_t)cJSON_GetArraySize(rows) + 1, sizeof *s->runs);
    cJSON_ArrayForEach(row, rows)
    {
        s->dirty = s->dirty || (one && ypi_real(row, "dirty") > 0);
        s->runs[s->run_count++] =
            (struct ypi_stored_run){.id = ypi_strdup(ypi_text_of(row, "id")),
                                    .machine = ypi_strdup(ypi_text_of(row, "machine")),
                                    .options = ypi_strdup(ypi_text_of(row, "options"))};
    }
}

static void clear_run(struct ypi_stored_run *r)
{
    free(r->id);
    free(r->machine);
    free(r->options);
}

/* Takes over the rows that were found; NULL has the error set. */
static enum yp_status take_found(const char *word, sqlite3 *db, cJSON *rows, struct ypi_stored *out)
{
    if (rows == NULL)
        return yp_last_status();
    enum yp_status status = rows->child != NULL ? YP_OK : none(word, db, out->db != NULL);
    if (status == YP_OK)
        take(out, rows);
    cJSON_Delete(rows);
    return status;
}

enum yp_status ypi_stored_find(const char *word, const char *history, struct ypi_stored *out)
{
    const bool file = is_file(word);
    *out = (struct ypi_stored){.db = ypi_store_open(file ? word : history)};
    if (out->db == NULL)
        return yp_last_status();
    const struct search in = {.db = out->db};
    return take_found(word, out->db, file ? select_runs(in, NEWEST_FIRST, NULL) : rows_of(in, word),
                      out);
}

enum yp_status ypi_stored_find_in(sqlite3 *db, const char *word, bool every, struct ypi_stored *out)
{
    *out = (struct ypi_stored){0};
    return take_found(word, db, rows_of((struct search){db, every}, word), out);
}

enum yp_status ypi_stored_of_run(const char *run, const char *history, struct ypi_stored *out)
{
    *out = (struct ypi_stored){.db = ypi_store_open(history)};
    cJSON *rows =
        out->db != NULL ? ypi_store_rows(out->db, RUN_COLUMNS "run.id = ?1", 1, &run) : NULL;
    if (rows == NULL)
        return yp_last_status();
    take(out, rows);
    cJSON_Delete(rows);
    return YP_OK;
}

static bool has_machine(const struct ypi_stored *s, const char *machine)
{
    for (int i = 0; i < s->run_count; i++)
        if (strcmp(s->runs[i].machine, machine) == 0)
            return true;
    return false;
}

static void keep(struct ypi_stored *s, const struct ypi_stored *other)
{
    int kept = 0;
    for (int i = 0; i < s->run_count; i++)
        if (has_machine(other, s->runs[i].machine))
            s->runs[kept++] = s->runs[i];
        else
            clear_run(&s->runs[i]);
    s->run_count = kept;
}

bool ypi_stored_keep_common(struct ypi_stored *a, struct ypi_stored *b)
{
    bool common = false;
    for (int i = 0; i < a->run_count && !common; i++)
        common = has_machine(b, a->runs[i].machine);
    if (common) {
        keep(a, b);
        keep(b, a);
    }
    return common;
}

char *ypi_stored_ids(const struct ypi_stored *s)
{
    struct ypi_text text = {0};
    ypi_text_add(&text, "[");
    for (int i = 0; i < s->run_count; i++)
        ypi_text_add(&text, "%s\"%s\"", i > 0 ? "," : "", s->runs[i].id);
    ypi_text_add(&text, "]");
    return ypi_text_take(&text);
}

void ypi_stored_clear(struct ypi_stored *s)
{
    for (int i = 0; i < s->run_count; i++)
        clear_run(&s->runs[i]);
    free(s->runs);
    free(s->commit);
    sqlite3_close(s->db);
    *s = (struct ypi_stored){0};
}
