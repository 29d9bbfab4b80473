#include "reports/watch/watched.h"

#include "base/system/clock.h"
#include "base/text/text.h"
#include "reports/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* -- which run -------------------------------------------------------------------------------- */

static const char runs_sql[] =
    "SELECT id, started, ended, exit_code, command FROM run ORDER BY started DESC, rowid DESC";

enum { LEAST_DIGITS = 4 };

static bool is_named(const cJSON *row, const char *word, bool going)
{
    if (word == NULL)
        return going;
    return (strlen(word) >= LEAST_DIGITS &&
            strncmp(ypi_text_of(row, "id"), word, strlen(word)) == 0) ||
           (going && strstr(ypi_text_of(row, "command"), word) != NULL);
}

static bool goes_on(enum ypi_run_life life)
{
    return life == YPI_RUN_ALIVE || life == YPI_RUN_CLOSED;
}

static void take_row(struct ypi_watched *w, const cJSON *row)
{
    w->ended = ypi_real(row, "ended");
    w->exit_code = ypi_whole(row, "exit_code");
}

/* How the newest run ended, for one who looks for a run that goes on. */
static char *why_none(const char *history, const cJSON *rows, const char *word)
{
    char when[32];
    if (word != NULL)
        return ypi_format("%s: no run that is going on has '%s' in its command line, and no run's "
                          "UUID begins so; `yieldpoint watch` alone takes the newest",
                          history, word);
    const cJSON *newest = rows->child;
    if (newest == NULL)
        return ypi_format("%s: no run is going on, and none ever was; start a suite, or name "
                          "another history with --history FILE",
                          history);
    double ended = ypi_real(newest, "ended");
    ypi_format_time(when, isnan(ended) ? ypi_real(newest, "started") : ended);
    char *how = isnan(ended) ? ypi_format("it was killed after %s", when)
                             : ypi_format("it ended %s with exit code %d", when,
                                          ypi_whole(newest, "exit_code"));
    char *text = ypi_format("%s: no run is going on; the newest is %.8s, %s: `yieldpoint show "
                            "%.8s` has its results; start a suite, or name another history with "
                            "--history FILE",
                            history, ypi_text_of(newest, "id"), how, ypi_text_of(newest, "id"));
    free(how);
    return text;
}

static void begin(struct ypi_watched *out, const char *history, const cJSON *row)
{
    *out = (struct ypi_watched){.history = ypi_strdup(history),
                                .run = ypi_strdup(ypi_text_of(row, "id")),
                                .command = ypi_strdup(ypi_text_of(row, "command")),
                                .started = ypi_real(row, "started")};
    take_row(out, row);
}

bool ypi_watched_find(struct ypi_watched *out, const char *history, const char *word, char **why)
{
    *out = (struct ypi_watched){0};
    *why = NULL;
    sqlite3 *db = ypi_store_open(history);
    cJSON *rows = db != NULL ? ypi_store_rows(db, runs_sql, 0, NULL) : NULL;
    sqlite3_close(db);
    if (rows == NULL)
        return false;
    const cJSON *row;
    cJSON_ArrayForEach(row, rows)
    {
        const char *id = ypi_text_of(row, "id");
        bool going = isnan(ypi_real(row, "ended")) && goes_on(ypi_run_life(history, id));
        if (out->run == NULL && is_named(row, word, going))
            begin(out, history, row);
    }
    if (out->run == NULL)
        *why = why_none(history, rows, word);
    cJSON_Delete(rows);
    return out->run != NULL;
}

/* -- its cases -------------------------------------------------------------------------------- */

static const char usual_sql[] =
    "SELECT (SELECT r.duration FROM result AS r JOIN run ON run.id = r.run_id WHERE r.case_id ="
    " p.value AND r.attempt = 0 AND run.id <> ?2 AND run.machine IS (SELECT machine FROM run WHERE"
    " id = ?2) ORDER BY r.started DESC LIMIT 1) AS seconds FROM json_each(?1) AS p ORDER BY p.key";

static int compare_places(const void *a, const void *b, void *list)
{
    const struct ypi_planned *sorted = list;
    const int *first = a;
    const int *second = b;
    int order = strcmp(sorted[*first].id, sorted[*second].id);
    return order != 0 ? order : (*first > *second) - (*first < *second);
}

/* How long each case took the last time. */
static enum yp_status read_usual(struct ypi_watched *w, sqlite3 *db)
{
    cJSON *ids = cJSON_CreateArray();
    for (int i = 0; i < w->total; i++)
        cJSON_AddItemToArray(ids, cJSON_CreateStringReference(w->list[i].id));
    char *text = cJSON_PrintUnformatted(ids);
    const char *const parameters[] = {text != NULL ? text : "[]", w->run};
    cJSON *rows = ypi_store_rows(db, usual_sql, 2, parameters);
    const cJSON *row = rows != NULL ? rows->child : NULL;
    for (int i = 0; i < w->total && row != NULL; i++, row = row->next)
        w->list[i].usual = ypi_real(row, "seconds");
    enum yp_status status = rows != NULL ? YP_OK : YP_IO;
    cJSON_Delete(rows);
    cJSON_free(text);
    cJSON_Delete(ids);
    return status;
}

static enum yp_status read_plan(struct ypi_watched *w, sqlite3 *db)
{
    const cJSON *one;
    w->plan = ypi_run_plan(w->history, w->run);
    if (w->plan == NULL)
        return YP_OK;
    w->total = cJSON_GetArraySize(w->plan);
    w->list = ypi_calloc((size_t)w->total + 1, sizeof *w->list);
    w->by_id = ypi_calloc((size_t)w->total + 1, sizeof *w->by_id);
    int i = 0;
    cJSON_ArrayForEach(one, w->plan)
    {
        w->list[i] = (struct ypi_planned){
            .id = ypi_text_of(one, "id"), .device = ypi_text_of(one, "device"), .usual = NAN};
        w->by_id[i] = i;
        i++;
    }
    qsort_r(w->by_id, (size_t)w->total, sizeof *w->by_id, compare_places, w->list);
    return read_usual(w, db);
}

/* The next of a case's items that is not done. */
static void mark_done(struct ypi_watched *w, const char *id)
{
    int low = 0;
    int high = w->total;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (strcmp(w->list[w->by_id[middle]].id, id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < w->total && strcmp(w->list[w->by_id[low]].id, id) == 0; low++)
        if (!w->list[w->by_id[low]].done) {
            w->list[w->by_id[low]].done = true;
            return;
        }
}

/* -- its results ------------------------------------------------------------------------------ */

static const char results_sql[] =
    "SELECT r.rowid AS place, r.case_id AS id, r.outcome AS outcome, r.duration AS duration,"
    " coalesce(f.message, r.reason, '') AS why FROM result AS r LEFT JOIN failure AS f ON"
    " f.result_id = r.id AND f.position = 0 WHERE r.run_id = ?1 AND r.attempt = 0 AND r.rowid >"
    " ?2 + 0 ORDER BY r.rowid";

static void keep_failure(struct ypi_watched *w, const cJSON *row)
{
    if (w->failure_count == YPI_WATCHED_FAILURES) {
        free(w->failures[0]);
        memmove(w->failures, w->failures + 1, (YPI_WATCHED_FAILURES - 1) * sizeof *w->failures);
        w->failure_count--;
    }
    const char *why = ypi_text_of(row, "why");
    w->failures[w->failure_count++] = ypi_format("%s%s%.*s", ypi_text_of(row, "id"),
                                                 *why ? ": " : "", (int)strcspn(why, "\n"), why);
}

static void take_result(struct ypi_watched *w, const cJSON *row)
{
    const char *outcome = ypi_text_of(row, "outcome");
    for (int i = 0; i < YPI_WATCHED_OUTCOMES && ypi_store_outcome(i) != NULL; i++)
        w->count[i] += strcmp(ypi_store_outcome(i), outcome) == 0;
    if (strcmp(outcome, "failed") == 0 || strcmp(outcome, "error") == 0)
        keep_failure(w, row);
    w->done++;
    w->spent += fmax(ypi_real(row, "duration"), 0);
    w->newest = (long long)ypi_real(row, "place");
    mark_done(w, ypi_text_of(row, "id"));
}

static enum yp_status read_results(struct ypi_watched *w, sqlite3 *db)
{
    char newest[32];
    snprintf(newest, sizeof newest, "%lld", w->newest);
    const char *const parameters[] = {w->run, newest};
    const cJSON *row;
    cJSON *rows = ypi_store_rows(
        db, "SELECT id, started, ended, exit_code, command FROM run WHERE id = ?1", 1, parameters);
    if (rows != NULL && rows->child != NULL)
        take_row(w, rows->child);
    cJSON_Delete(rows);
    rows = ypi_store_rows(db, results_sql, 2, parameters);
    if (rows == NULL)
        return YP_IO;
    cJSON_ArrayForEach(row, rows)
    {
        take_result(w, row);
    }
    cJSON_Delete(rows);
    return YP_OK;
}

/* Whether the history may have more than when it was last read. A file changes before what was
 * written to it can be read: SQLite waits for the disk in between. */
static bool has_changed(struct ypi_watched *w)
{
    enum { SETTLING = 3 }; /* seconds */
    static const char *const names[] = {"", "-wal"};
    bool changed = false;
    for (int i = 0; i < 2; i++) {
        struct stat there = {0};
        char *path = ypi_format("%s%s", w->history, names[i]);
        struct timespec now = stat(path, &there) == 0 ? there.st_mtim : (struct timespec){0};
        changed = changed || now.tv_sec != w->seen[i].tv_sec || now.tv_nsec != w->seen[i].tv_nsec;
        w->seen[i] = now;
        free(path);
    }
    const double now = ypi_now();
    w->changed = changed ? now : w->changed;
    return now - w->changed < SETTLING;
}

/* -- cases that run now ------------------------------------------------------------------------ */

static const char measured_sql[] =
    "SELECT m.* FROM result AS r JOIN run ON run.id = r.run_id JOIN measurement AS m ON m.result_id"
    " = r.id AND m.position = 0 WHERE r.case_id = ?1 AND r.attempt = 0 AND run.id <> ?2 AND"
    " run.machine IS (SELECT machine FROM run WHERE id = ?2) ORDER BY r.started DESC LIMIT 1";

/* By its newest measurement that is over, else what it reached the last time. */
static void add_rate(const struct ypi_watched *w, sqlite3 *db, cJSON *one, const char *id)
{
    char figure[YPI_FIGURE_MAX];
    const cJSON *all = cJSON_GetObjectItem(one, "measurements");
    const cJSON *last = cJSON_GetArrayItem(all, cJSON_GetArraySize(all) - 1);
    const char *const parameters[] = {id, w->run};
    cJSON *rows = NULL;
    const char *before = "";
    if (last == NULL && db != NULL) {
        rows = ypi_store_rows(db, measured_sql, 2, parameters);
        last = rows != NULL ? rows->child : NULL;
        before = "usually ";
    }
    if (last != NULL && ypi_real(last, "median") > 0) {
        ypi_format_measurement(figure, last, ypi_real(last, "median"));
        char *text = ypi_format("%s: %s%s", ypi_text_of(last, "name"), before, figure);
        cJSON_AddStringToObject(one, "rate", text);
        free(text);
    }
    cJSON_Delete(rows);
}

/* What was said of the same case before, unless it has measured since. */
static bool take_over(const struct ypi_watched *w, cJSON *one)
{
    const cJSON *old;
    const cJSON *measured = cJSON_GetObjectItem(one, "measurements");
    cJSON_ArrayForEach(old, w->now)
    {
        const char *rate = ypi_text_of(old, "rate");
        if (ypi_whole(old, "number") != ypi_whole(one, "number") ||
            cJSON_GetArraySize(cJSON_GetObjectItem(old, "measurements")) !=
                cJSON_GetArraySize(measured))
            continue;
        if (*rate && *ypi_text_of(one, "rate") == '\0')
            cJSON_AddStringToObject(one, "rate", rate);
        return true;
    }
    return false;
}

static void read_now(struct ypi_watched *w)
{
    cJSON *now = ypi_run_now(w->history, w->run, w->now);
    sqlite3 *db = NULL;
    cJSON *one;
    cJSON_ArrayForEach(one, now)
    {
        const int number = ypi_whole(one, "number");
        if (number < 1 || number > w->total || take_over(w, one))
            continue;
        db = db != NULL ? db : ypi_store_open(w->history);
        add_rate(w, db, one, w->list[number - 1].id);
    }
    sqlite3_close(db);
    cJSON_Delete(w->now);
    w->now = now;
}

/* -- all of it -------------------------------------------------------------------------------- */

enum yp_status ypi_watched_read(struct ypi_watched *w)
{
    enum yp_status status = YP_OK;
    /* First: a run lets go of its directory after it has stored its end. */
    w->life = ypi_run_life(w->history, w->run);
    if (has_changed(w) || !goes_on(w->life)) {
        sqlite3 *db = ypi_store_open(w->history);
        status = db != NULL ? YP_OK : YP_IO;
        if (status == YP_OK && w->plan == NULL)
            status = read_plan(w, db);
        if (status == YP_OK)
            status = read_results(w, db);
        sqlite3_close(db);
    }
    if (status == YP_OK)
        read_now(w);
    return status;
}

bool ypi_watched_is_over(const struct ypi_watched *w)
{
    return !isnan(w->ended) || !goes_on(w->life);
}

/* Seconds that the items which run have taken already. */
static double taken(const struct ypi_watched *w, int number)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, w->now)
    {
        if (ypi_whole(one, "number") == number)
            return ypi_real(one, "seconds");
    }
    return 0;
}

/* What is left of the cases' own time, times what the run takes for a second of that: less than one
 * where cases run side by side, more where processes and locks are waited for. */
double ypi_watched_left(const struct ypi_watched *w, double now)
{
    const double elapsed = now - w->started;
    double known = w->done > 0 ? w->spent : 0;
    double left = 0;
    int count = w->done;
    int unknown = 0;
    for (int i = 0; i < w->total; i++) {
        const struct ypi_planned *p = &w->list[i];
        if (p->done)
            continue;
        unknown += isnan(p->usual);
        if (isnan(p->usual))
            continue;
        known += p->usual;
        count++;
        left += fmax(p->usual - taken(w, i + 1), 0);
    }
    if (w->total == 0 || (unknown > 0 && count == 0))
        return NAN;
    if (unknown > 0)
        left += unknown * known / count;
    const double pace = w->done >= 3 && w->spent > 0.5 ? elapsed / w->spent : 1;
    return left * fmin(fmax(pace, 1.0 / 64), 16);
}

int ypi_watched_count(const struct ypi_watched *w, const char *outcome)
{
    for (int i = 0; i < YPI_WATCHED_OUTCOMES && ypi_store_outcome(i) != NULL; i++)
        if (strcmp(ypi_store_outcome(i), outcome) == 0)
            return w->count[i];
    return 0;
}

void ypi_watched_clear(struct ypi_watched *w)
{
    free(w->history);
    free(w->run);
    free(w->command);
    free(w->list);
    free(w->by_id);
    for (int i = 0; i < w->failure_count; i++)
        free(w->failures[i]);
    cJSON_Delete(w->plan);
    cJSON_Delete(w->now);
    *w = (struct ypi_watched){0};
}
