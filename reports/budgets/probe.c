/* yieldpoint budgets --probe: which cases of a suite stay green though all that is timed is slow.
 */
#include "reports/budgets/probe.h"

#include "base/options/arguments.h"
#include "base/text/output.h"
#include "base/text/text.h"
#include "harness/baseline/baseline.h"
#include "harness/history/history.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SUITE_FAILED = 1, SUITE_USAGE = 4, SUITE_NOTHING = 5, NOT_STARTED = 127 };

/* -- the program --------------------------------------------------------------------------- */

struct place {
    char directory[4096];
    char *history;
};

static bool make_place(struct place *p)
{
    const char *temporary = getenv("TMPDIR");
    snprintf(p->directory, sizeof p->directory, "%s/yieldpoint-probe-XXXXXX",
             temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(p->directory)) {
        (void)yp_set_error(YP_IO, "%s: cannot be made: %s", p->directory, strerror(errno));
        return false;
    }
    p->history = ypi_format("%s/history.db", p->directory);
    return true;
}

/* The baselines of the history that a run would have used. Without any there are none to copy. */
static bool copy_baselines(const struct place *p)
{
    struct ypi_baseline_file file = {0};
    char *history = ypi_store_path(NULL);
    char *from = history != NULL ? ypi_baseline_path(history) : NULL;
    char *to = ypi_baseline_path(p->history);
    bool right = from == NULL || ypi_baseline_read(from, &file);
    if (!right)
        (void)yp_set_error(YP_INVALID, "%s is wrong", from);
    if (right && file.count > 0)
        right = ypi_baseline_write(to, &file) == YP_OK;
    ypi_baseline_file_clear(&file);
    free(history);
    free(from);
    free(to);
    return right;
}

static void remove_place(struct place *p)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    char *baselines = ypi_baseline_path(p->history);
    unlink(baselines);
    free(baselines);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char *name = ypi_format("%s%s", p->history, ends[i]);
        unlink(name);
        free(name);
    }
    rmdir(p->directory);
    free(p->history);
}

/* Ours stand in front, so that the caller's factor counts; what the suite prints goes to the
 * standard error stream. Does not return. */
static void become(const struct ypi_probe *probe, const char *history)
{
    const char *own[] = {probe->program, "--history", history, "--slowdown", "2x", "--speed=judge"};
    const size_t count = sizeof own / sizeof *own;
    char **words = ypi_calloc(count + (size_t)probe->word_count + 1, sizeof *words);
    memcpy((void *)words, own, sizeof own);
    memcpy((void *)(words + count), (void *)probe->words,
           (size_t)probe->word_count * sizeof *words);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    execvp(probe->program, words);
    fprintf(stderr, "yieldpoint: %s: %s\n", probe->program, strerror(errno));
    _exit(NOT_STARTED);
}

/* As system() does: an interruption is meant for the suite, which then ends the probe. -1 with
 * yp_last_error() set, else what wait() says. */
static int run_program(const struct ypi_probe *probe, const char *history)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction interrupt;
    struct sigaction quit;
    int status = 0;
    fflush(NULL);
    sigaction(SIGINT, &ignore, &interrupt);
    sigaction(SIGQUIT, &ignore, &quit);
    pid_t pid = fork();
    if (pid == 0) {
        sigaction(SIGINT, &interrupt, NULL);
        sigaction(SIGQUIT, &quit, NULL);
        become(probe, history);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (pid < 0)
        (void)yp_set_error(YP_IO, "%s: cannot be started: %s", probe->program, strerror(errno));
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGQUIT, &quit, NULL);
    return pid < 0 ? -1 : status;
}

/* Whether it ran to its end; else *code is what the probe ends with. */
static bool ran(const struct ypi_probe *probe, int status, int *code)
{
    if (status < 0) {
        *code = ypi_file_error();
        return false;
    }
    int end = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (end == 0 || end == SUITE_FAILED)
        return true;
    *code = end == SUITE_USAGE || end == NOT_STARTED ? YPI_COMMAND_USAGE
            : end == SUITE_NOTHING                   ? YPI_COMMAND_UNSELECTED
                                                     : YPI_COMMAND_FILE;
    if (end < 0)
        fprintf(stderr, "yieldpoint: %s was ended by signal %d\n", probe->program,
                WTERMSIG(status));
    else if (end != NOT_STARTED)
        fprintf(stderr, "yieldpoint: %s ended with %d\n", probe->program, end);
    return false;
}

/* -- what it says -------------------------------------------------------------------------- */

/* Timed cases with the budget of speed that is nearest to noticing. */
static const char sql[] =
    "SELECT r.case_id AS id, r.outcome, run.slowdown,"
    " EXISTS (SELECT 1 FROM failure AS f WHERE f.result_id = r.id AND f.cause = 'budget') AS red,"
    " EXISTS (SELECT 1 FROM failure AS f WHERE f.result_id = r.id AND f.cause <> 'budget')"
    "   AS failed, v.kind, v.name, v.memory, v.detail, v.allowed, v.measured, v.met, m.unit"
    " FROM result AS r JOIN run ON run.id = r.run_id"
    " LEFT JOIN verdict AS v ON v.result_id = r.id AND v.position ="
    "  (SELECT w.position FROM verdict AS w WHERE w.result_id = r.id AND w.measured IS NOT NULL"
    "   AND instr(?1, ',' || w.kind || ',')"
    "   ORDER BY CASE WHEN w.kind LIKE 'min %' THEN w.measured / w.allowed"
    "            ELSE w.allowed / w.measured END LIMIT 1)"
    " LEFT JOIN measurement AS m ON m.result_id = r.id AND m.name = v.name"
    " WHERE r.attempt = 0 AND EXISTS (SELECT 1 FROM measurement AS t WHERE t.result_id = r.id"
    "   AND t.kind IN ('work', 'serve') AND t.median IS NOT NULL)"
    " ORDER BY r.case_id, r.repeat";

struct counts {
    int timed, red, green, failed;
};

static struct counts count(const cJSON *rows)
{
    struct counts c = {0};
    const cJSON *row;
    cJSON_ArrayForEach(row, rows)
    {
        bool red = ypi_real(row, "red") > 0;
        bool failed = !red && ypi_real(row, "failed") > 0;
        c.timed++;
        c.red += red;
        c.failed += failed;
        c.green += !red && !failed;
    }
    return c;
}

static bool is_green(const cJSON *row)
{
    return !(ypi_real(row, "red") > 0) && !(ypi_real(row, "failed") > 0);
}

static void print(const cJSON *rows, const struct counts *c)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, rows)
    {
        char wanted[256];
        char figure[128];
        if (!is_green(row))
            continue;
        printf("stayed green: %s (%s)\n", ypi_text_of(row, "id"), ypi_text_of(row, "outcome"));
        if (!*ypi_text_of(row, "kind")) {
            puts("  no budget of speed");
            continue;
        }
        ypi_store_budget_text(wanted, row, ypi_text_of(row, "unit"));
        ypi_store_budget_figure(figure, row, ypi_real(row, "measured"), ypi_text_of(row, "unit"));
        printf("  %s; measured %s\n", wanted, figure);
    }
    if (c->failed > 0)
        printf("%d of %d timed cases failed for another reason\n", c->failed, c->timed);
    printf("--slowdown %gx: %d of %d timed case%s red, %d stayed green\n",
           ypi_real(rows->child, "slowdown"), c->red, c->timed, c->timed == 1 ? "" : "s", c->green);
}

static cJSON *document_of(const cJSON *rows, const struct counts *c)
{
    static const char *const members[] = {"id",     "outcome", "kind",     "name",
                                          "detail", "allowed", "measured", "unit"};
    cJSON *document = cJSON_CreateObject();
    const cJSON *row;
    cJSON_AddNumberToObject(document, "slowdown", ypi_real(rows->child, "slowdown"));
    cJSON_AddNumberToObject(document, "timed", c->timed);
    cJSON_AddNumberToObject(document, "red", c->red);
    cJSON_AddNumberToObject(document, "failed", c->failed);
    cJSON *green = cJSON_AddArrayToObject(document, "green");
    cJSON_ArrayForEach(row, rows)
    {
        if (!is_green(row))
            continue;
        cJSON *object = cJSON_CreateObject();
        for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
            const cJSON *member = cJSON_GetObjectItem(row, members[i]);
            cJSON_AddItemToObject(object, i == 0 ? "case" : members[i],
                                  cJSON_Duplicate(member, true));
        }
        cJSON_AddItemToArray(green, object);
    }
    return document;
}

static int tell(const char *history, bool json)
{
    sqlite3 *db = ypi_store_open(history);
    char *kinds = ypi_store_speed_kinds();
    cJSON *rows = db ? ypi_store_rows(db, sql, 1, (const char *const[]){kinds}) : NULL;
    int code = YPI_COMMAND_UNSELECTED;
    if (!rows) {
        code = ypi_file_error();
    } else if (!rows->child) {
        fputs("yieldpoint: no case was timed\n", stderr);
    } else {
        struct counts c = count(rows);
        if (json) {
            cJSON *document = document_of(rows, &c);
            code = ypi_put_json(document);
            cJSON_Delete(document);
        } else {
            print(rows, &c);
            code = ypi_flush();
        }
        if (code == YPI_COMMAND_OK && c.green > 0)
            code = YPI_COMMAND_NOTHING;
    }
    cJSON_Delete(rows);
    sqlite3_close(db);
    free(kinds);
    return code;
}

int ypi_probe(const struct ypi_probe *probe)
{
    struct place place = {.history = NULL};
    int code = YPI_COMMAND_OK;
    if (!make_place(&place))
        return ypi_file_error();
    if (!copy_baselines(&place))
        code = ypi_file_error();
    else if (ran(probe, run_program(probe, place.history), &code))
        code = tell(place.history, probe->json);
    remove_place(&place);
    return code;
}
