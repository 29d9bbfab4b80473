#include "harness/driver/runner.h"

#include "base/system/clock.h"
#include "base/system/lock.h"
#include "base/system/process.h"
#include "base/text/text.h"
#include "harness/collect/launcher.h"
#include "harness/criterion/events.h"
#include "harness/criterion/faults.h"
#include "harness/criterion/surroundings.h"
#include "harness/driver/conclude.h"
#include "harness/driver/finish.h"
#include "harness/driver/in_process.h"
#include "harness/driver/provided.h"
#include "harness/driver/rounds.h"
#include "harness/message/starts.h"
#include "harness/run/cgroup.h"
#include "harness/run/signals.h"
#include "harness/run/watchdog.h"

#include <criterion/criterion.h>
#include <criterion/options.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* From a case's end by a signal to the same signal of the runner. */
#define GRACE_SECONDS 0.3

/* Callbacks carry no argument of ours: the run that is going on. */
static struct ypi_runner *now;

/* Set by handlers of signals, read by the watchdog. */
static struct ypi_requests requests;

/* Held by the runner's thread but while it is in Criterion; and, for good, by whichever thread ends
 * the run because Criterion cannot go on: the runner's may be in the middle of a result then. */
static pthread_mutex_t ours = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static struct ypi_report begun(const struct ypi_item *item)
{
    struct ypi_result unused = {0};
    const struct ypi_report report = ypi_item_read(item, &unused);
    ypi_result_clear(&unused);
    return report;
}

static void start(struct ypi_item *item)
{
    item->started = ypi_kernel_now();
    item->started_wall = ypi_wall_clock();
    item->oom_kills = ypi_oom_kills();
    item->refusals = now->plan->cgroup != NULL ? ypi_cgroup_refusals(now->plan->cgroup) : 0;
    item->state = YPI_RUNNING;
}

static void on_start(struct ypi_item *item)
{
    pthread_mutex_lock(&ours);
    const struct ypi_report report = begun(item);
    /* Criterion also speaks of those that it passes over; they have no process. */
    if (!item->extra.disabled || report.pid != 0) {
        item->addresses = report.addresses;
        item->pid = report.pid;
        ypi_item_open_files(item);
        start(item);
        if (&ypi_starts != NULL)
            ypi_starts.begun(report.pid);
    }
    pthread_mutex_unlock(&ours);
}

/* Its process ended before it began: Criterion does not say how. */
static void finish_unbegun(struct ypi_item *item)
{
    int status = 0;
    if (item->started <= 0)
        item->started_wall = ypi_wall_clock();
    if (&ypi_starts != NULL)
        ypi_starts.take(&status);
    ypi_finish(now, item, WIFSIGNALED(status) ? WTERMSIG(status) : 0, WEXITSTATUS(status));
}

static bool is_of_a_job(int signal_number)
{
    return signal_number == SIGTERM || signal_number == SIGKILL || signal_number == SIGINT ||
           signal_number == SIGHUP;
}

/* A queue that ends a job, or a shell its group, sends the signal to each process: the case may be
 * gone before it reaches the runner. Such a case was interrupted, and has not failed. */
static void await_interrupt(struct ypi_item *item, int signal_number)
{
    static const struct timespec period = {.tv_nsec = 5000000};
    const double until = ypi_kernel_now() + GRACE_SECONDS;
    if (item->killed != 0 || !is_of_a_job(signal_number))
        return;
    while (!requests.interrupted && ypi_kernel_now() < until)
        nanosleep(&period, NULL);
    if (requests.interrupted && item->killed == 0)
        item->killed = (int)YPI_CAUSE_INTERRUPTED + 1;
}

static void on_end(struct ypi_item *item, int signal_number, int exit_code)
{
    pthread_mutex_lock(&ours);
    if (!item->over)
        await_interrupt(item, signal_number);
    if (!item->over && item->pid == 0)
        finish_unbegun(item);
    else if (!item->over)
        ypi_finish(now, item, signal_number, exit_code);
    if (requests.interrupted) /* Criterion starts the next one at once, before the watchdog looks */
        ypi_plan_end(now->plan);
    pthread_mutex_unlock(&ours);
}

static void on_begin(void)
{
    pthread_mutex_lock(&ours);
    struct ypi_places places = ypi_plan_places(now->o);
    if (&ypi_starts != NULL) /* what had not begun in the pass before begins in this one */
        ypi_starts.clear();
    for (int i = 0; i < now->plan->count; i++)
        if (now->plan->items[i].state == YPI_WAITING && !now->plan->items[i].extra.disabled)
            ypi_plan_job(&now->plan->items[i], now->o, places);
    pthread_mutex_unlock(&ours);
}

/* -- the run ------------------------------------------------------------------------------ */

static void report_end(void)
{
    now->totals.interrupted = requests.interrupted;
    if (!ypi_report(&now->reports, YPI_RUN_ENDS, NULL))
        now->record_failed = true;
}

/* The same without Criterion: what is not disabled, in this process. */
static void pass_here(void)
{
    for (int i = 0; i < now->plan->count && !requests.interrupted && !now->stopped; i++) {
        struct ypi_item *item = &now->plan->items[i];
        if (item->extra.disabled)
            continue;
        start(item);
        ypi_run_here(now, item, report_end);
    }
}

/* Which items a pass takes; ALONE: all that are left. What is timed, or has an accelerator, which
 * cases do not share, has the machine for itself, or a node of the allocation. */
enum way { ALONE, BESIDE_OTHERS, ON_OWN_NODE };

static enum way way_of(const struct ypi_item *item)
{
    if (ypi_is_packed(&item->c, now->o))
        return ON_OWN_NODE;
    return item->c.test->parallel ||
                   (now->o->speed == YPI_SPEED_OFF && !ypi_on_accelerator(&item->c))
               ? BESIDE_OTHERS
               : ALONE;
}

static bool in_pass(const struct ypi_item *item, enum way way)
{
    return item->state == YPI_WAITING && ypi_item_needs_process(item) &&
           (item->in_round || item->c.depth == now->depth) && (way == ALONE || way_of(item) == way);
}

/* One pass of Criterion over the items that go this way. */
static void pass(struct criterion_test_set *set, enum way way, int jobs)
{
    const uint64_t oom_kills = ypi_oom_kills();
    int count = 0;
    for (int i = 0; i < now->plan->count; i++) {
        struct ypi_item *item = &now->plan->items[i];
        bool mine = in_pass(item, way);
        item->extra.disabled = !mine || requests.interrupted;
        if (mine) {
            ypi_item_renew(item);
            item->oom_kills = oom_kills;
        }
        count += mine;
    }
    if (count == 0 || requests.interrupted || now->stopped)
        return;
    now->alone = jobs == 1;
    if (now->o->no_fork) {
        pass_here();
        return;
    }
    criterion_options.jobs = (size_t)jobs;
    pthread_mutex_unlock(&ours);
    criterion_run_all_tests(set);
    pthread_mutex_lock(&ours);
}

/* As many passes as the items that want one more process need. */
static void passes(struct criterion_test_set *set, enum way way, int jobs)
{
    do {
        now->again = 0;
        pass(set, way, jobs);
    } while (now->again > 0 && !requests.interrupted && !now->stopped);
}

static bool any_timed(const struct ypi_plan *plan, int depth)
{
    for (int i = 0; i < plan->count; i++)
        if (ypi_item_needs_process(&plan->items[i]) && plan->items[i].c.depth == depth &&
            !plan->items[i].c.test->parallel)
            return true;
    return false;
}

/* What was neither run nor dropped: Criterion never spoke of it. */
static void finish_unseen(void)
{
    for (int i = 0; i < now->plan->count && !requests.interrupted; i++) {
        struct ypi_item *item = &now->plan->items[i];
        if (ypi_item_open(item) && ypi_item_needs_process(item) && item->result_count == 0)
            finish_unbegun(item);
    }
}

static void finish_cases(void)
{
    if (!requests.interrupted && !now->totals.stopped)
        ypi_finish_skipped(now, now->plan->count);
    finish_unseen();
    ypi_finish_pending(now);
}

static void rounds(struct criterion_test_set *set)
{
    if (requests.interrupted || now->stopped)
        return;
    ypi_rounds_begin(now);
    while (!requests.interrupted && !now->stopped && ypi_rounds_next(now)) {
        pass(set, ALONE, 1);
        ypi_rounds_take(now);
    }
}

/* The items of one depth (ypi_case); of 0, all else. */
static void run_depth(struct criterion_test_set *set, int depth)
{
    now->depth = depth;
    ypi_provide_for(now, depth);
    if (now->o->jobs > 1 && !now->o->no_fork)
        passes(set, BESIDE_OTHERS, now->o->jobs);
    /* In a debugger it would be held for hours; the gate, which gives turns, holds it for both
     * builds. */
    bool timed =
        now->o->speed != YPI_SPEED_OFF && now->o->turns == NULL && any_timed(now->plan, depth);
    int lock = timed ? ypi_machine_lock(stderr, &requests.interrupted) : -1;
    if (ypi_pack_nodes(now->o) > 1)
        passes(set, ON_OWN_NODE, ypi_pack_nodes(now->o));
    passes(set, ALONE, 1);
    if (depth == 0) {
        finish_cases();
        rounds(set);
    }
    if (lock >= 0)
        close(lock);
}

/* Fixtures before what is given them. */
static void run_items(struct criterion_test_set *set)
{
    int deepest = 0;
    for (int i = 0; i < now->plan->count; i++)
        if (now->plan->items[i].c.depth > deepest)
            deepest = now->plan->items[i].c.depth;
    for (int depth = 1; depth <= deepest; depth++)
        run_depth(set, depth);
    run_depth(set, 0);
}

/* A process that never started: what is known is stored and printed, and the run is over, since the
 * processes of all other cases would hang, too. */
static void give_up(pid_t pid, double seconds)
{
    pthread_mutex_lock(&ours);
    ypi_finish_unstarted(now, seconds);
    ypi_finish_pending(now);
    if (now->rounds != NULL)
        ypi_rounds_take(now);
    ypi_rounds_conclude(now);
    report_end();
    ypi_history_finish(now->history, now->session->run_id, ypi_wall_clock(), YPI_EXIT_INTERNAL);
    /* The runner's own thread sees it end, too, and may abort in Criterion. */
    ypi_faults_end(YPI_EXIT_INTERNAL);
    ypi_kill_tree(pid, true);
    _exit(YPI_EXIT_INTERNAL);
}

/* Criterion cannot go on. What is known is stored and printed all the same. */
static void give_up_without_criterion(void)
{
    pthread_mutex_lock(&ours);
    fputs("error: the run cannot go on, for the reason above; what is done is stored\n", stderr);
    ypi_run_stop(now);
    ypi_finish_pending(now);
    if (now->rounds != NULL)
        ypi_rounds_take(now);
    ypi_rounds_conclude(now);
    now->totals.stopped = true;
    report_end();
    ypi_history_finish(now->history, now->session->run_id, ypi_wall_clock(), YPI_EXIT_INTERNAL);
    ypi_kill_tree(getpid(), false);
    _exit(YPI_EXIT_INTERNAL);
}

/* Sets flags of a sanitizer for the cases; the user's own come later and win. */
static void prefer_flags(const char *name, const char *flags)
{
    const char *own = getenv(name);
    char *all = own != NULL && own[0] != '\0' ? ypi_format("%s:%s", flags, own) : ypi_strdup(flags);
    setenv(name, all, 1);
    free(all);
}

/* The processors, which the cases inherit. */
static bool confine(const struct ypi_options *o)
{
    if (o->cpus == NULL || ypi_cpus_confine(o->cpus) == YP_OK)
        return true;
    fprintf(stderr, "error: --cpus %s: %s\n", o->cpus, yp_last_error());
    return false;
}

static int fixtures_of(const struct ypi_plan *plan)
{
    int count = 0;
    for (int i = 0; i < plan->count; i++)
        count += plan->items[i].c.test->fixture;
    return count;
}

/* Cases that have a process at one time, at most. */
static int at_once(const struct ypi_options *o)
{
    const int nodes = ypi_pack_nodes(o);
    return nodes > o->jobs ? nodes : o->jobs;
}

static bool can_run(const struct ypi_options *o, const struct ypi_plan *plan)
{
    if (!confine(o))
        return false;
    if (o->no_fork || ypi_surroundings_check(plan->count, at_once(o), fixtures_of(plan)) == YP_OK)
        return true;
    fprintf(stderr, "error: nothing was run: %s\n", yp_last_error());
    return false;
}

/* Present in a program built with AddressSanitizer. */
extern void __asan_init(void) __attribute__((weak));

static struct ypi_judging judging(const struct ypi_options *o, bool exact_fails)
{
    bool whole = o->turns == NULL && !o->instructions && !o->audit && !o->fail_each;
    return (struct ypi_judging){.speed_judged = whole && o->speed == YPI_SPEED_JUDGE,
                                .instructions = o->instructions || o->audit,
                                .sanitized = __asan_init != NULL,
                                .once = o->fail_each,
                                .noisy_fails = o->noisy_fails,
                                .baseline = o->baseline,
                                .exact_fails = exact_fails,
                                .confirmations = whole && !o->no_fork ? o->confirmations : 0};
}

/* No watchdog either: there is nothing that it could end. */
static void run_in_this_process(void)
{
    ypi_signals_catch(&requests, now->o->no_fork);
    run_items(NULL);
    ypi_rounds_conclude(now);
}

static void run_processes(void)
{
    struct ypi_plan *plan = now->plan;
    static const struct ypi_events events = {on_begin, on_start, on_end};
    struct criterion_test_set *set = ypi_events_begin(plan, &events);
    ypi_signals_catch(&requests, now->o->no_fork);
    pthread_mutex_lock(&ours);
    ypi_surroundings_tidy();
    ypi_faults_catch(give_up_without_criterion, YPI_EXIT_INTERNAL);
    plan->cgroup = ypi_cgroup_enter(now->o->process_limit * at_once(now->o));
    struct ypi_watchdog *watchdog = ypi_watchdog_start(plan, now->o, &requests, give_up);
    if (watchdog == NULL) {
        fputs("error: no thread can be had for the watchdog: nothing is run\n", stderr);
        now->record_failed = true;
        ypi_run_stop(now);
    }
    ypi_signals_catch_stops();
    run_items(set);
    ypi_rounds_conclude(now);
    ypi_signals_leave_stops();
    if (watchdog != NULL)
        ypi_watchdog_stop(watchdog);
    pthread_mutex_unlock(&ours);
    criterion_finalize(set);
    pthread_mutex_lock(&ours);
    ypi_faults_leave();
    pthread_mutex_unlock(&ours);
    ypi_cgroup_leave(plan->cgroup);
    plan->cgroup = NULL;
}

void ypi_run(struct ypi_runner *runner, struct ypi_plan *plan)
{
    now = runner;
    runner->plan = plan;
    runner->how = judging(runner->o, runner->exact_fails);
    if (!can_run(runner->o, plan)) {
        runner->record_failed = true;
        ypi_report(&runner->reports, YPI_RUN_DROPPED, NULL);
        return;
    }
    ypi_signals_look();
    /* What a crashed case leaves behind comes to this process, which ends it. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    /* Meson sets a random value, which costs time and touches memory that a case never used. */
    setenv("MALLOC_PERTURB_", "0", 1);
    /* A sanitizer's finding is a crash with its report in the output; leaks are looked for once,
     * while the case can still tell of them. */
    prefer_flags("ASAN_OPTIONS", "abort_on_error=1:leak_check_at_exit=0");
    prefer_flags("LSAN_OPTIONS", "leak_check_at_exit=0");
    prefer_flags("UBSAN_OPTIONS", "abort_on_error=1:print_stacktrace=1");
    ypi_report(&runner->reports, YPI_RUN_BEGINS, NULL);
    fflush(runner->out); /* before a case writes to the same place, under -s */

    if (runner->o->no_fork)
        run_in_this_process();
    else
        run_processes();
    report_end();
    ypi_rounds_free(runner->rounds);
    runner->rounds = NULL;
}
