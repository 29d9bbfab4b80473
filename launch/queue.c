/* Slurm, by its commands: sbatch, squeue and scancel. */
#include "base/system/file.h"
#include "base/system/program.h"
#include "base/text/text.h"
#include "launch/shards.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOOKS = 3 };   /* that find a shard over before it is taken to be */
#define PATIENCE 60.0 /* seconds for one command; without a controller each takes 4 */

struct words {
    char **list;
    int count;
};

static void add(struct words *w, char *word)
{
    w->list = ypi_list_add(w->list, w->count++, word);
}

/* Exit code 0, and what it printed into *text, which the caller frees; what it says of errors goes
 * to `log`, NULL: the standard error stream. */
static bool run(struct words *w, const char *log, char **text)
{
    const char **words = ypi_calloc((size_t)w->count + 1, sizeof *words);
    for (int i = 0; i < w->count; i++)
        words[i] = w->list[i];
    const struct ypi_program program = {.words = words, .log = log};
    *text = NULL;
    struct ypi_program_status status = ypi_program_run(&program, PATIENCE, NULL, text);
    const bool right = status.end == YPI_PROGRAM_EXITED && status.code == 0 && *text != NULL;
    if (status.end == YPI_PROGRAM_NOT_STARTED)
        fprintf(stderr, "yieldpoint: %s (is Slurm installed here?)\n", yp_last_error());
    free((void *)words);
    ypi_list_free(w->list, w->count);
    *w = (struct words){0};
    if (!right) {
        free(*text);
        *text = NULL;
    }
    return right;
}

/* -- in ------------------------------------------------------------------------------------ */

/* A path in which sbatch shall see no pattern. */
static char *without_patterns(const char *path)
{
    struct ypi_text text = {0};
    for (; *path != '\0'; path++)
        ypi_text_add(&text, *path == '%' ? "%%%%" : "%c", *path);
    return ypi_text_take(&text);
}

static void add_resources(struct words *w, const struct ypi_launch_request *r)
{
    const char *word = NULL;
    size_t length = 0;
    if (!r->shared)
        add(w, ypi_strdup("--exclusive"));
    if (r->partition != NULL)
        add(w, ypi_format("--partition=%s", r->partition));
    if (r->gres != NULL)
        add(w, ypi_format("--gres=%s", r->gres));
    for (const char *at = r->sbatch; at != NULL && ypi_next_word(&at, &word, &length);)
        add(w, ypi_format("%.*s", (int)length, word));
}

bool ypi_queue_submit(struct ypi_launch *l)
{
    struct words w = {0};
    char *here = getcwd(NULL, 0);
    char *folder = without_patterns(l->folder);
    char *text = NULL;
    const char *name = strrchr(l->program, '/') + 1;
    add(&w, ypi_strdup("sbatch"));
    add(&w, ypi_strdup("--parsable"));
    add(&w, ypi_format("--job-name=%s", name));
    add(&w, ypi_format("--array=0-%d%%%d", l->count - 1, l->r->jobs));
    add(&w, ypi_format("--nodes=%d", l->r->nodes_per_job));
    add(&w, ypi_strdup("--requeue"));
    add(&w, ypi_strdup("--open-mode=append"));
    add(&w, ypi_format("--chdir=%s", here != NULL ? here : "."));
    add(&w, ypi_format("--output=%s/shard-%%a.log", folder));
    add_resources(&w, l->r);
    add(&w, ypi_format("%s/job.sh", l->folder));
    free(here);
    free(folder);
    if (!run(&w, NULL, &text))
        return false;
    l->job = ypi_format("%.*s", (int)strcspn(text, ";\n"), text);
    free(text);
    if (isdigit((unsigned char)*l->job))
        return true;
    fprintf(stderr, "yieldpoint: sbatch printed no number of a job: '%s'\n", l->job);
    return false;
}

/* -- where it is --------------------------------------------------------------------------- */

static enum ypi_shard_phase phase_of(const char *state)
{
    static const char waiting[] = "PENDING CONFIGURING REQUEUED REQUEUE_FED REQUEUE_HOLD "
                                  "SPECIAL_EXIT RESV_DEL_HOLD";
    static const char running[] =
        "RUNNING COMPLETING SUSPENDED STOPPED SIGNALING STAGE_OUT RESIZING";
    if (ypi_has_word(waiting, state, strlen(state)))
        return YPI_SHARD_WAITS;
    return ypi_has_word(running, state, strlen(state)) ? YPI_SHARD_RUNS : YPI_SHARD_IS_OVER;
}

/* The text up to the next '|' or line end into `out`; where it ended. */
static const char *take(const char *at, char *out, size_t size)
{
    const size_t length = strcspn(at, "|\n");
    snprintf(out, size, "%.*s", (int)length, at);
    return at + length + (at[length] == '|');
}

/* "3|RUNNING|n1|0|None|" */
static void take_line(struct ypi_launch *l, const char *line, bool *seen)
{
    char number[16];
    char state[32];
    long long shard = 0;
    line = take(line, number, sizeof number);
    line = take(line, state, sizeof state);
    if (!ypi_parse_i64(number, &shard) || shard < 0 || shard >= l->count)
        return;
    struct ypi_shard *s = &l->shards[shard];
    const enum ypi_shard_phase phase = phase_of(state);
    char node[sizeof s->node];
    long long restarts = 0;
    line = take(line, node, sizeof node);
    if (*node != '\0') /* else it waits, and the last one is worth telling */
        snprintf(s->node, sizeof s->node, "%s", node);
    line = take(line, number, sizeof number);
    take(line, s->reason, sizeof s->reason);
    if (ypi_parse_i64(number, &restarts))
        s->restarts = (int)restarts;
    /* A job that is requeued is for a moment in the state of its end. */
    s->looks = phase == YPI_SHARD_IS_OVER ? s->looks + 1 : 0;
    if (phase != YPI_SHARD_IS_OVER || strcmp(state, "COMPLETED") == 0 || s->looks >= LOOKS)
        s->phase = phase;
    snprintf(s->state, sizeof s->state, "%s", state);
    seen[shard] = true;
}

/* Slurm forgets a job some minutes after its end. */
static bool is_forgotten(const char *log)
{
    char said[512];
    return ypi_read_file(log, said, sizeof said) > 0 && strstr(said, "Invalid job id") != NULL;
}

bool ypi_queue_look(struct ypi_launch *l)
{
    struct words w = {0};
    char *text = NULL;
    char *log = ypi_format("%s/squeue.log", l->folder);
    bool *seen = ypi_calloc((size_t)l->count, sizeof *seen);
    unlink(log);
    add(&w, ypi_strdup("squeue"));
    add(&w, ypi_strdup("--noheader"));
    add(&w, ypi_strdup("--array"));
    add(&w, ypi_strdup("--states=all"));
    add(&w, ypi_format("--jobs=%s", l->job));
    add(&w, ypi_strdup("--Format=ArrayTaskID:|,State:|,NodeList:|,RestartCnt:|,Reason:|"));
    const bool answered = run(&w, log, &text) || is_forgotten(log);
    for (const char *line = text; line != NULL && *line != '\0';) {
        take_line(l, line, seen);
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    for (int i = 0; i < l->count && answered; i++)
        if (!seen[i] && ++l->shards[i].looks >= LOOKS)
            l->shards[i].phase = YPI_SHARD_IS_OVER;
    free(seen);
    free(text);
    free(log);
    return answered;
}

bool ypi_queue_holds(const struct ypi_shard *s)
{
    return s->phase == YPI_SHARD_WAITS && (strncmp(s->reason, "launch failed", 13) == 0 ||
                                           strncmp(s->reason, "launch_failed", 13) == 0);
}

void ypi_queue_release(const struct ypi_launch *l, int shard, bool go_on)
{
    struct words w = {0};
    char *text = NULL;
    add(&w, ypi_strdup(go_on ? "scontrol" : "scancel"));
    if (go_on)
        add(&w, ypi_strdup("release"));
    add(&w, ypi_format("%s_%d", l->job, shard));
    (void)run(&w, NULL, &text);
    free(text);
}

void ypi_queue_cancel(const struct ypi_launch *l)
{
    struct words w = {0};
    char *text = NULL;
    add(&w, ypi_strdup("scancel"));
    add(&w, ypi_strdup(l->job));
    (void)run(&w, NULL, &text);
    free(text);
}
