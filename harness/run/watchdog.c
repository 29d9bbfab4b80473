#include "harness/run/watchdog.h"

#include "base/system/clock.h"
#include "base/system/freeze.h"
#include "base/system/process.h"
#include "base/system/thread.h"
#include "base/text/text.h"
#include "harness/message/starts.h"
#include "harness/message/worker.h"
#include "harness/run/cgroup.h"
#include "harness/stack/pending.h"
#include "harness/stack/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILDREN_MAX = 1024, ZOMBIES_MAX = 64 };
#define PERIOD_SECONDS 0.02
/* Criterion reaps a case's process at once; what stays longer was started by something else. */
#define UNRELATED_SECONDS 1.0
#define AGAIN_SECONDS 1.0
/* In which all threads of a case that is too slow stop, but those that a device keeps waiting. */
#define STOP_SECONDS 0.2
/* In which a case that is too slow ends its ranks. */
#define RANKS_SECONDS 5.0
/* From a process's first sight to its first message; a start takes milliseconds. */
#define START_SECONDS 30.0
/* For a case that just comes to life, before the run stops at Ctrl-Z. */
#define SUSPEND_SECONDS 1.0

struct zombie {
    pid_t pid;
    double seen;
};

struct ypi_watchdog {
    struct ypi_plan *plan;
    const struct ypi_options *o;
    struct ypi_requests *requests;
    _Atomic uint32_t stop; /* set once */
    pthread_t thread;
    struct zombie zombies[ZOMBIES_MAX];
    ypi_never_started *never_started;
    struct zombie starting; /* a child that has sent no message yet */
    double blind;           /* since when /proc cannot be read; 0: it can */
    double suspending;      /* since when the run is to stop; 0: it is not */
};

/* Held while the watchdog works. Criterion forks in the runner's thread and allocates memory before
 * it executes the program anew; a lock of an allocator that does not know fork (AddressSanitizer's)
 * would stay taken in that child for ever. */
static pthread_mutex_t working = PTHREAD_MUTEX_INITIALIZER;

static void before_fork(void)
{
    pthread_mutex_lock(&working);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&working);
}

static void pause_during_forks(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
}

static bool too_much_output(const struct ypi_item *item, const struct ypi_options *o)
{
    struct stat status;
    return item->output != NULL && stat(item->output, &status) == 0 &&
           (uint64_t)status.st_size > o->output_limit;
}

static int processes(const struct ypi_item *item, int capacity)
{
    pid_t *found = ypi_calloc((size_t)capacity, sizeof *found);
    int count = item->pid > 0 ? ypi_descendants(item->pid, found, capacity) : 0;
    free(found);
    return count;
}

/* Whether it is still that process's: the runner's thread may have begun the item anew. */
static bool is_of(const struct ypi_item *item, pid_t pid)
{
    return pid > 0 && item->pid == pid;
}

static void end_case(struct ypi_item *item, pid_t pid, enum ypi_cause cause)
{
    if (!is_of(item, pid))
        return;
    if (item->killed == 0)
        item->killed = (int)cause + 1;
    item->killed_at = ypi_kernel_now();
    ypi_kill_tree(pid, true);
}

/* The stack of a command's case tells nothing of the command. */
static void take_stacks(struct ypi_item *item, pid_t pid)
{
    if (item->c.test->command != NULL || item->stacks != NULL)
        return;
    struct ypi_stack *stacks = ypi_calloc(YPI_THREADS_MAX, sizeof *stacks);
    const int count = ypi_threads(pid, item->threads, YPI_THREADS_MAX);
    const int untraced = ypi_walk_stopped(pid, item->addresses.below, item->threads, count, stacks);
    if (!is_of(item, pid)) {
        free(stacks);
        return;
    }
    item->untraced = untraced;
    item->stacks = stacks;
    item->stack_count = count;
}

/* From here on nothing of the case runs: what it did after its time would count, too. */
static void end_late(struct ypi_item *item, pid_t pid)
{
    struct ypi_frozen frozen = {0};
    item->killed = (int)YPI_CAUSE_TIMEOUT + 1;
    ypi_freeze(&frozen, pid);
    ypi_await_frozen(pid, STOP_SECONDS);
    take_stacks(item, pid);
    if (is_of(item, pid))
        ypi_pending_rescue(item->pid, item->addresses.output, item->output);
    end_case(item, pid, YPI_CAUSE_TIMEOUT);
    ypi_frozen_clear(&frozen);
}

/* A case of several ranks ends them itself when its time is over, and says where each stood. */
static double margin(const struct ypi_item *item)
{
    return ypi_ranks(&item->c) > 1 ? RANKS_SECONDS : 0;
}

static void watch(struct ypi_watchdog *w, struct ypi_item *item)
{
    double now = ypi_kernel_now();
    const pid_t pid = item->pid;
    if (item->state != YPI_RUNNING || pid == 0)
        return;
    if (item->killed != 0) {
        if (now > item->killed_at + AGAIN_SECONDS)
            end_case(item, pid, YPI_CAUSE_TIMEOUT);
    } else if (w->requests->interrupted) {
        end_case(item, pid, YPI_CAUSE_INTERRUPTED);
    } else if (now > item->started + item->paused + item->c.timeout + margin(item)) {
        end_late(item, pid);
    } else if (too_much_output(item, w->o)) {
        end_case(item, pid, YPI_CAUSE_OUTPUT);
    } else if (w->plan->cgroup == NULL &&
               processes(item, w->o->process_limit + 1) > w->o->process_limit) {
        /* Where no cgroup bounds them, processes are counted from outside. */
        end_case(item, pid, YPI_CAUSE_FORKS);
    }
}

/* The kernel has refused a process since a case began: of those that run, the one that has most of
 * them wanted too many. */
static void watch_cgroup(struct ypi_watchdog *w)
{
    enum { CAPACITY = 65536 };
    if (w->plan->cgroup == NULL)
        return;
    uint64_t refusals = ypi_cgroup_refusals(w->plan->cgroup);
    struct ypi_item *guilty = NULL;
    int largest = -1;
    for (int i = 0; i < w->plan->count; i++) {
        struct ypi_item *item = &w->plan->items[i];
        if (item->state != YPI_RUNNING || item->killed != 0 || refusals <= item->refusals ||
            item->pid == 0)
            continue;
        int count = processes(item, CAPACITY);
        if (count > largest) {
            largest = count;
            guilty = item;
        }
    }
    if (guilty != NULL)
        end_case(guilty, guilty->pid, YPI_CAUSE_FORKS);
}

/* -- processes without a parent ----------------------------------------------------------- */

static bool is_worker(const struct ypi_watchdog *w, pid_t pid)
{
    for (int i = 0; i < w->plan->count; i++)
        if (w->plan->items[i].state == YPI_RUNNING && w->plan->items[i].pid == pid)
            return true;
    return false;
}

/* Criterion waits for any child and spins while one that is not its own stays a zombie. Its own
 * are gone within milliseconds, so a zombie that is still there after a second is not its own. */
static void reap_unrelated(struct ypi_watchdog *w)
{
    pid_t children[CHILDREN_MAX];
    int count = ypi_children(getpid(), children, CHILDREN_MAX);
    double now = ypi_kernel_now();
    struct zombie seen[ZOMBIES_MAX];
    memcpy(seen, w->zombies, sizeof seen);
    memset(w->zombies, 0, sizeof w->zombies);
    int kept = 0;
    for (int i = 0; i < count && kept < ZOMBIES_MAX; i++) {
        if (ypi_process_state(children[i]) != 'Z' || is_worker(w, children[i]) ||
            (&ypi_starts != NULL && ypi_starts.has(children[i])))
            continue;
        double since = now;
        for (int k = 0; k < ZOMBIES_MAX; k++)
            if (seen[k].pid == children[i])
                since = seen[k].seen;
        bool leads = getsid(children[i]) == children[i];
        if (now - since > (leads ? UNRELATED_SECONDS : UNRELATED_SECONDS / 10))
            waitpid(children[i], NULL, WNOHANG);
        else
            w->zombies[kept++] = (struct zombie){.pid = children[i], .seen = since};
    }
}

/* A process that Criterion has forked for a case and that has sent no message yet: it executes the
 * program anew, or is about to. A process that a case left behind carries another one's mark. */
static bool has_not_started(pid_t pid)
{
    char mark[64];
    snprintf(mark, sizeof mark, "BXFI_MAP=/bxfi_%d", (int)pid);
    return ypi_environment_has(pid, mark) || ypi_same_command(pid, getpid());
}

/* A constructor of the program may hang, which Criterion would wait for without an end. */
static void watch_start(struct ypi_watchdog *w)
{
    pid_t children[CHILDREN_MAX];
    int count = ypi_children(getpid(), children, CHILDREN_MAX);
    double now = ypi_kernel_now();
    struct zombie before = w->starting;
    w->starting.pid = 0;
    for (int i = 0; i < count; i++) {
        char state = ypi_process_state(children[i]);
        if (state == 'Z' || state == '\0' || is_worker(w, children[i]))
            continue;
        w->starting.pid = children[i];
        w->starting.seen = before.pid == children[i] ? before.seen : now;
        if (now > w->starting.seen + START_SECONDS && has_not_started(children[i]))
            w->never_started(children[i], START_SECONDS);
        return;
    }
}

int ypi_kill_leftovers(pid_t worker, bool alone, char name[64])
{
    static const struct timespec pause = {.tv_nsec = 1000000};
    pid_t children[CHILDREN_MAX];
    /* Without its number the children of a process cannot be known from unrelated ones. */
    int count = worker > 0 ? ypi_children(getpid(), children, CHILDREN_MAX) : 0;
    int swept = 0;
    for (int i = 0; i < count; i++) {
        char state = ypi_process_state(children[i]);
        if (children[i] == worker || state == '\0')
            continue;
        if (!alone && !ypi_started_by(children[i], worker))
            continue;
        if (state != 'Z') {
            ypi_process_name(children[i], name);
            swept++;
        }
        ypi_kill_tree(children[i], true);
        for (int k = 0; k < 1000 && waitpid(children[i], NULL, WNOHANG) == 0; k++)
            nanosleep(&pause, NULL);
    }
    return swept;
}

/* -- the thread --------------------------------------------------------------------------- */

static void end_everything(struct ypi_watchdog *w)
{
    for (int i = 0; i < w->plan->count; i++)
        if (w->plan->items[i].killed == 0)
            w->plan->items[i].killed = (int)YPI_CAUSE_INTERRUPTED + 1;
    ypi_kill_tree(getpid(), false);
    _exit(YPI_EXIT_INTERRUPTED);
}

/* Without descriptors neither the watchdog sees a case nor Criterion hears of one: both would wait
 * for ever. */
static void watch_itself(struct ypi_watchdog *w)
{
    const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    const int error = errno;
    if (fd >= 0) {
        close(fd);
        w->blind = 0;
    } else if (w->blind <= 0) {
        w->blind = ypi_kernel_now();
    } else if (ypi_kernel_now() > w->blind + START_SECONDS) {
        fprintf(stderr, "error: /proc could not be read for %g s: %s\n", START_SECONDS,
                strerror(error));
        abort(); /* as Criterion does: the runner concludes */
    }
}

/* The shell knows the runner alone; cases have process groups of their own. The time for which all
 * of them stand still counts for nothing. */
static void suspend(struct ypi_watchdog *w)
{
    struct ypi_frozen frozen = {0};
    for (int i = 0; i < w->plan->count; i++)
        if (w->plan->items[i].state == YPI_RUNNING && w->plan->items[i].pid > 0)
            ypi_freeze(&frozen, w->plan->items[i].pid);
    const double from = ypi_kernel_now();
    ypi_stop_here();
    const double gap = ypi_kernel_now() - from;
    for (int i = 0; i < w->plan->count; i++) {
        const bool running = w->plan->items[i].state == YPI_RUNNING;
        w->plan->items[i].paused += running ? gap : 0;
        w->plan->items[i].killed_at += running ? gap : 0;
    }
    for (int i = 0; i < ZOMBIES_MAX; i++)
        w->zombies[i].seen += gap;
    w->starting.seen += gap;
    w->blind += w->blind > 0 ? gap : 0;
    ypi_thaw(&frozen);
}

/* A case that comes to life is waited for: until then Criterion stops and continues it. */
static void watch_suspension(struct ypi_watchdog *w)
{
    if (!w->requests->suspended)
        return;
    if (w->suspending <= 0)
        w->suspending = ypi_kernel_now();
    if (w->starting.pid != 0 && ypi_kernel_now() < w->suspending + SUSPEND_SECONDS)
        return;
    w->suspending = 0;
    w->requests->suspended = false;
    suspend(w);
}

static bool stopped_within(struct ypi_watchdog *w, double seconds)
{
    ypi_kernel_wait(&w->stop, 0, seconds);
    return w->stop != 0;
}

static void *run(void *argument)
{
    struct ypi_watchdog *w = argument;
    do {
        pthread_mutex_lock(&working);
        if (w->requests->urgent)
            end_everything(w);
        if (w->requests->interrupted)
            ypi_plan_end(w->plan);
        for (int i = 0; i < w->plan->count; i++)
            watch(w, &w->plan->items[i]);
        watch_itself(w);
        watch_cgroup(w);
        watch_start(w);
        reap_unrelated(w);
        watch_suspension(w);
        pthread_mutex_unlock(&working);
    } while (!stopped_within(w, PERIOD_SECONDS));
    return NULL;
}

struct ypi_watchdog *ypi_watchdog_start(struct ypi_plan *plan, const struct ypi_options *o,
                                        struct ypi_requests *requests,
                                        ypi_never_started *never_started)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, pause_during_forks);
    struct ypi_watchdog *w = ypi_calloc(1, sizeof *w);
    w->never_started = never_started;
    w->plan = plan;
    w->o = o;
    w->requests = requests;
    if (ypi_thread_begin(&w->thread, run, w, 0))
        return w;
    free(w);
    return NULL;
}

void ypi_watchdog_stop(struct ypi_watchdog *w)
{
    w->stop = 1;
    ypi_kernel_wake(&w->stop);
    pthread_join(w->thread, NULL);
    free(w);
}
