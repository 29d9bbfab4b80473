#include "harness/conduct/faults.h"

#include "base/system/process.h"
#include "base/text/text.h"
#include "harness/conduct/launch.h"
#include "harness/conduct/roll.h"
#include "harness/stack/symbols.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* -- what the ranks have said ----------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool same_failure(const struct ypi_failure *a, const struct ypi_failure *b)
{
    return a->cause == b->cause && a->line == b->line && same_text(a->file, b->file) &&
           strcmp(a->message, b->message) == 0;
}

static bool has(const struct ypi_member *m, const struct ypi_failure *failure, int before)
{
    for (int i = 0; i < m->result.failure_count && i < before; i++)
        if (same_failure(&m->result.failures[i], failure))
            return true;
    return false;
}

/* What several ranks say in the same words is one failure. `of_others`: those that say that another
 * rank is missing, or the rest. */
static void add_said(struct ypi_result *all, const struct ypi_members *members, bool of_others)
{
    bool *in = ypi_calloc((size_t)members->count, sizeof *in);
    for (int i = 0; i < members->count; i++)
        for (int f = 0; f < members->of[i].result.failure_count; f++) {
            const struct ypi_failure *failure = &members->of[i].result.failures[f];
            bool said = has(&members->of[i], failure, f) ||
                        (failure->cause == YPI_CAUSE_RANKS) != of_others;
            for (int k = 0; k < members->count; k++) {
                in[k] = has(&members->of[k], failure, members->of[k].result.failure_count);
                said = said || (k < i && in[k]);
            }
            if (said)
                continue;
            char *names = ypi_rank_names(in, members->count);
            ypi_result_fail(all, failure->cause, failure->file, failure->line, "%s: %s", names,
                            failure->message);
            free(names);
        }
    free(in);
}

/* -- how they ended -----------------------------------------------------------------------------
 */

static char *crash_stack(const struct ypi_result *r)
{
    for (int i = 0; i < r->stack_count; i++)
        if (r->stacks[i].kind == YPI_STACK_CRASH)
            return ypi_stack_text(&r->stacks[i], "");
    return NULL;
}

static void add_signal(struct ypi_result *all, const struct ypi_member *m, int rank,
                       const char *where, uint64_t oom_kills)
{
    const int number = WTERMSIG(m->report.reaped.status);
    const char *name = sigabbrev_np(number); /* real-time signals have none */
    if (number == SIGKILL && ypi_oom_kills() > oom_kills) {
        ypi_result_fail(all, YPI_CAUSE_OOM_KILL, NULL, 0,
                        "rank %d: killed by the kernel for want of memory, %s", rank, where);
        return;
    }
    ypi_result_fail(all, YPI_CAUSE_SIGNAL, NULL, 0, "rank %d: %s %s: SIG%s (%s)", rank,
                    number == SIGKILL ? "killed" : "crashed", where, name != NULL ? name : "RT",
                    strsignal(number));
    all->failures[all->failure_count - 1].stack = crash_stack(&m->result);
}

/* Of one that ended by itself, and not as a case does. */
static void add_end(struct ypi_result *all, const struct ypi_member *m, int rank,
                    uint64_t oom_kills)
{
    const int status = m->report.reaped.status;
    char where[YPI_STANDING_MAX];
    ypi_standing_text(m->standing, where);
    if (WIFSIGNALED(status))
        add_signal(all, m, rank, where, oom_kills);
    else if (!m->report.ended)
        ypi_result_fail(all, YPI_CAUSE_EXIT, NULL, 0,
                        "rank %d: the process exited with status %d %s", rank, WEXITSTATUS(status),
                        where);
    else
        ypi_result_fail(all, YPI_CAUSE_EXIT, NULL, 0,
                        "rank %d: the process left with status %d from an exit handler or a "
                        "destructor",
                        rank, WEXITSTATUS(status));
}

static void add_ends(struct ypi_result *all, const struct ypi_members *members, uint64_t oom_kills)
{
    for (int i = 0; i < members->count; i++) {
        const struct ypi_member *m = &members->of[i];
        if (m->report.is_reaped && !m->report.reaped.ordered && !ypi_member_is_whole(m))
            add_end(all, m, i, oom_kills);
    }
}

/* -- the case as a whole ------------------------------------------------------------------------
 */

static char *status_text(int status)
{
    if (WIFSIGNALED(status))
        return ypi_format("was killed by SIG%s", sigabbrev_np(WTERMSIG(status)));
    return ypi_format("ended with status %d", WEXITSTATUS(status));
}

struct vanished {
    bool *in;           /* ranks that had begun, and of which nobody could tell how they ended */
    int count, begun;   /* of those, and of all that had begun */
    bool ended, failed; /* the launcher ended some; some have failures */
};

static struct vanished find_vanished(const struct ypi_members *members,
                                     const struct ypi_breaking_off *off)
{
    struct vanished found = {.in = ypi_calloc((size_t)members->count, sizeof(bool))};
    const bool by_launcher = off->why == YPI_NOT_BROKEN_OFF || off->why == YPI_OFF_LAUNCHER;
    for (int i = 0; i < members->count; i++) {
        const struct ypi_member *m = &members->of[i];
        const bool begun = m->report.place.node[0] != '\0';
        found.in[i] = begun && !m->report.is_reaped;
        found.begun += begun;
        found.count += found.in[i];
        found.ended = found.ended ||
                      (by_launcher && m->report.is_reaped && m->report.reaped.ordered && begun);
        found.failed = found.failed || m->result.failure_count > 0;
    }
    return found;
}

static void add_launcher_end(struct ypi_result *all, const struct ypi_job *job, const char *status,
                             bool never)
{
    char *lack = never ? ypi_launcher_lacks(job) : NULL;
    ypi_result_fail(all, YPI_CAUSE_RANKS, NULL, 0, "%s %s before the ranks were over%s%s",
                    ypi_launcher_name(job), status, lack != NULL ? ": " : "",
                    lack != NULL ? lack : "");
    free(lack);
}

static void add_vanished(struct ypi_result *all, const struct ypi_members *members,
                         const struct ypi_job *job, const struct ypi_breaking_off *off)
{
    struct vanished found = find_vanished(members, off);
    const bool gone = off->launcher_is_gone;
    const bool killed = gone && WIFSIGNALED(off->launcher_status);
    /* While the launcher is there, other ranks fail because of the end that was ordered. */
    const bool own = found.failed && (gone || off->why != YPI_OFF_LAUNCHER);
    const bool never = found.begun < members->count && !own;
    char *names = ypi_rank_names(found.in, members->count);
    char *status = gone ? status_text(off->launcher_status) : NULL;
    if (found.count > 0 && !killed && (!gone || found.count < found.begun))
        ypi_result_fail(all, YPI_CAUSE_SIGNAL, NULL, 0, "%s: killed from outside (SIGKILL)", names);
    else if (gone && (found.count > 0 || found.ended || never))
        add_launcher_end(all, job, status, never);
    else if (found.ended || never)
        ypi_result_fail(all, YPI_CAUSE_RANKS, NULL, 0, "%s %s", ypi_launcher_name(job),
                        never ? "started too few ranks" : "ended the ranks");
    free(status);
    free(names);
    free(found.in);
}

/* In front of all others. */
static void put_first(struct ypi_result *all, int from)
{
    if (all->failure_count <= from || from == 0)
        return;
    const struct ypi_failure last = all->failures[all->failure_count - 1];
    memmove(all->failures + 1, all->failures, (size_t)(all->failure_count - 1) * sizeof last);
    all->failures[0] = last;
}

static void add_reason(struct ypi_result *all, const struct ypi_job *job,
                       const struct ypi_breaking_off *off)
{
    const int before = all->failure_count;
    if (off->why == YPI_OFF_TIME)
        ypi_result_fail(all, YPI_CAUSE_TIMEOUT, NULL, 0, "timeout: still running after %g s: %s",
                        job->timeout, off->roll);
    else if (off->why == YPI_OFF_OUTPUT)
        ypi_result_fail(all, YPI_CAUSE_OUTPUT, NULL, 0,
                        "the ranks wrote more than %llu bytes of output (--output-limit): %s",
                        (unsigned long long)job->output_limit, off->roll);
    else if (off->why == YPI_OFF_EARLY && before == 0)
        ypi_result_fail(all, YPI_CAUSE_RANKS, NULL, 0, "the ranks do not go the same way: %s",
                        off->roll);
    put_first(all, before);
}

/* Behind the reason: what the others were doing meanwhile. */
static void add_roll(struct ypi_result *all, const struct ypi_members *members,
                     const struct ypi_breaking_off *off)
{
    if (all->failure_count == 0)
        return;
    struct ypi_failure *first = &all->failures[0];
    const bool told = off->why == YPI_OFF_TIME || off->why == YPI_OFF_OUTPUT ||
                      (off->why == YPI_OFF_EARLY && strstr(first->message, off->roll) != NULL);
    if (off->why != YPI_NOT_BROKEN_OFF && !told) {
        char *with = ypi_format("%s; then: %s", first->message, off->roll);
        free(first->message);
        first->message = with;
    }
    char *stacks = off->why != YPI_NOT_BROKEN_OFF ? ypi_roll_stacks(members) : NULL;
    if (stacks != NULL && first->stack != NULL) {
        char *both = ypi_format("%s\n%s", first->stack, stacks);
        free(first->stack);
        free(stacks);
        stacks = both;
    }
    if (stacks != NULL)
        first->stack = stacks;
}

void ypi_rank_faults(struct ypi_result *all, const struct ypi_members *members,
                     const struct ypi_job *job, const struct ypi_breaking_off *off)
{
    /* Why a rank is gone, before that others miss it. */
    add_said(all, members, false);
    add_ends(all, members, off->oom_kills);
    if (all->failure_count == 0 || off->why == YPI_OFF_LAUNCHER) /* else others are to blame */
        add_vanished(all, members, job, off);
    if (off->why != YPI_OFF_TIME &&
        off->why != YPI_OFF_OUTPUT) /* they miss those that were ended */
        add_said(all, members, true);
    add_reason(all, job, off);
    add_roll(all, members, off);
}
