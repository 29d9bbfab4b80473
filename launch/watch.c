/* Until all shards are over: how far they are. */
#include "base/system/clock.h"
#include "launch/shards.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#define EVERY 30.0 /* seconds between two lines, where nobody sees one line change */
#define SOON 60.0  /* so long the queue is asked each second, then more seldom */
#define GIVE_UP 60.0
#define RELEASED 5.0 /* the queue may show what was before */
enum { STEP_MS = 50, RELEASES = 3 };

struct watching {
    struct ypi_launch *l;
    bool terminal;
    bool line;   /* a line on the terminal is to be replaced */
    double told; /* when */
    bool cancelled, silent;
    double stopped; /* when */
};

static void end_line(struct watching *w)
{
    if (w->line)
        fputs("\r\033[K", stderr);
    w->line = false;
}

/* What the waiting ones wait for; "": none does, or nothing is said. */
static const char *reason_of(const struct ypi_launch *l)
{
    for (int i = 0; i < l->count; i++)
        if (l->shards[i].phase == YPI_SHARD_WAITS && strcmp(l->shards[i].reason, "None") != 0 &&
            strcmp(l->shards[i].reason, "JobArrayTaskLimit") != 0)
            return l->shards[i].reason;
    return "";
}

static void tell(struct watching *w)
{
    const struct ypi_launch *l = w->l;
    int in[YPI_SHARD_IS_OVER + 1] = {0};
    int restarts = 0;
    const int seconds = (int)(ypi_kernel_now() - l->submitted);
    for (int i = 0; i < l->count; i++) {
        in[l->shards[i].phase]++;
        restarts += l->shards[i].restarts;
    }
    end_line(w);
    const char *reason = reason_of(l);
    fprintf(stderr, "launch: job %s: %d of %d shards over, %d running, %d waiting%s%s%s", l->job,
            in[YPI_SHARD_IS_OVER], l->count, in[YPI_SHARD_RUNS], in[YPI_SHARD_WAITS],
            *reason != '\0' ? " (" : "", reason, *reason != '\0' ? ")" : "");
    if (restarts > 0)
        fprintf(stderr, ", %d restarted", restarts);
    fprintf(stderr, ", %d:%02d", seconds / 60, seconds % 60);
    if (!w->terminal)
        fputc('\n', stderr);
    fflush(stderr);
    w->line = w->terminal;
    w->told = ypi_kernel_now();
}

static void tell_restarts(struct watching *w, const int *before)
{
    const struct ypi_launch *l = w->l;
    for (int i = 0; i < l->count; i++) {
        const struct ypi_shard *s = &l->shards[i];
        if (s->restarts == before[i])
            continue;
        end_line(w);
        fprintf(
            stderr,
            "launch: shard %d of %d (job %s_%d) was requeued%s%s: it goes on where it stopped\n",
            i + 1, l->count, l->job, i, *s->node != '\0' ? ", last on node " : "", s->node);
    }
}

static bool all_over(const struct ypi_launch *l)
{
    for (int i = 0; i < l->count; i++)
        if (l->shards[i].phase != YPI_SHARD_IS_OVER)
            return false;
    return true;
}

/* Slurm holds a job that a node failed to start until somebody releases it. */
static void release(struct watching *w, int shard)
{
    struct ypi_shard *s = &w->l->shards[shard];
    const double now = ypi_kernel_now();
    if (!ypi_queue_holds(s) || (s->releases > 0 && now < s->released + RELEASED))
        return;
    const bool go_on = s->releases < RELEASES;
    end_line(w);
    fprintf(stderr, "launch: shard %d of %d (job %s_%d) was not started by its node: %s\n",
            shard + 1, w->l->count, w->l->job, shard,
            go_on ? "it is started again" : "it is cancelled");
    s->releases++;
    s->released = now;
    ypi_queue_release(w->l, shard, go_on);
}

static bool look(struct watching *w)
{
    struct ypi_launch *l = w->l;
    int before[1000] = {0};
    for (int i = 0; i < l->count; i++)
        before[i] = l->shards[i].restarts;
    const bool answered = ypi_queue_look(l);
    if (!answered && !w->silent) {
        end_line(w);
        fputs("launch: the queue does not answer; waiting for it\n", stderr);
    }
    w->silent = !answered;
    tell_restarts(w, before);
    for (int i = 0; i < l->count && answered && !w->cancelled; i++)
        release(w, i);
    return answered && all_over(l);
}

static void cancel(struct watching *w)
{
    if (w->cancelled)
        return;
    w->cancelled = true;
    w->stopped = ypi_kernel_now();
    end_line(w);
    fprintf(stderr, "launch: interrupted: cancelling job %s; what is done is kept\n", w->l->job);
    ypi_queue_cancel(w->l);
}

/* Seconds, or until a signal that is not yet answered. */
static void nap(const struct watching *w, double seconds)
{
    const double until = ypi_kernel_now() + seconds;
    while (ypi_kernel_now() < until && (w->cancelled || !*w->l->stop))
        (void)poll(NULL, 0, STEP_MS);
}

void ypi_launch_watch(struct ypi_launch *l)
{
    struct watching w = {.l = l, .terminal = isatty(STDERR_FILENO) != 0};
    int cases = 0;
    if (l->submitted == 0)
        l->submitted = ypi_kernel_now();
    for (int i = 0; i < l->count; i++)
        cases += l->shards[i].id_count;
    fprintf(stderr, "launch: job %s: %d case%s in %d shard%s, on %d node%s at once", l->job, cases,
            cases == 1 ? "" : "s", l->count, l->count == 1 ? "" : "s", l->r->nodes,
            l->r->nodes == 1 ? "" : "s");
    if (l->r->nodes_per_job > 1)
        fprintf(stderr, ", %d for each", l->r->nodes_per_job);
    fprintf(stderr, "; files in %s\n", l->folder);
    w.told = ypi_kernel_now();
    while (!look(&w)) {
        const double now = ypi_kernel_now();
        if (*l->stop)
            cancel(&w);
        if (w.cancelled && now - w.stopped > GIVE_UP)
            break;
        if (w.terminal || now - w.told >= EVERY)
            tell(&w);
        nap(&w, now - l->submitted < SOON || w.cancelled ? 1 : 5);
    }
    tell(&w);
    if (w.terminal)
        fputc('\n', stderr);
}
