#include "run.h"

#include "budget.h"
#include "lock.h"
#include "process.h"
#include "text.h"
#include "watchdog.h"

#include <criterion/criterion.h>
#include <criterion/logging.h>
#include <criterion/options.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TAIL_MOST = 8192 };

/* Criterion's callbacks carry no argument of ours: the run that is going on. */
static struct {
    struct ypi_runner *runner;
    struct ypi_plan *plan;
    struct ypi_terminal *terminal;
    int told;
    int failures;
    bool alone; /* one case at a time */
} now;

/* Set by the signal handler, read by the watchdog. */
static volatile bool interrupted;
static volatile bool urgent;

/* -- what became of a process ------------------------------------------------------------- */

static char *read_tail(const char *path, uint64_t *bytes)
{
    *bytes = 0;
    char *tail = ypi_calloc(TAIL_MOST + 1, 1);
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    struct stat status;
    if (fd >= 0 && fstat(fd, &status) == 0) {
        *bytes = (uint64_t)status.st_size;
        off_t from = status.st_size > TAIL_MOST ? status.st_size - TAIL_MOST : 0;
        ssize_t got = pread(fd, tail, TAIL_MOST, from);
        /* NUL would end the text early and hide what follows. */
        for (ssize_t i = 0; i < got; i++)
            if (tail[i] == '\0')
                tail[i] = '?';
    }
    if (fd >= 0)
        close(fd);
    return tail;
}

static const char *stage_name(const struct ypi_told *told)
{
    static const char *const names[] = {"in setup", "in the body", "in teardown", "after teardown"};
    return told->staged ? names[told->stage] : "before it began";
}

static void explain_killed(struct ypi_result *r, const struct ypi_item *item,
                           const struct ypi_told *told)
{
    const struct ypi_options *o = now.runner->o;
    enum ypi_cause cause = (enum ypi_cause)(item->killed - 1);
    switch (cause) {
    case YPI_CAUSE_TIMEOUT:
        ypi_result_fail(r, cause, NULL, 0, "timeout: still running after %g s, killed %s",
                        item->c.timeout, stage_name(told));
        break;
    case YPI_CAUSE_OUTPUT:
        ypi_result_fail(r, cause, NULL, 0,
                        "wrote more than %llu bytes of output (--output-limit), killed %s",
                        (unsigned long long)o->output_limit, stage_name(told));
        break;
    case YPI_CAUSE_FORKS:
        ypi_result_fail(r, cause, NULL, 0,
                        "wanted more than %d processes and threads (--process-limit), killed %s",
                        o->process_limit, stage_name(told));
        break;
    default:
        ypi_result_fail(r, cause, NULL, 0, "interrupted %s", stage_name(told));
    }
}

static void explain_end(struct ypi_result *r, const struct ypi_item *item,
                        const struct ypi_told *told)
{
    if (item->killed != 0) {
        explain_killed(r, item, told);
    } else if (r->signal == SIGKILL && ypi_oom_kills() > item->oom_kills) {
        ypi_result_fail(r, YPI_CAUSE_OOM_KILL, NULL, 0,
                        "killed by the kernel for want of memory, %s", stage_name(told));
    } else if (r->signal != 0) {
        const char *name = sigabbrev_np(r->signal); /* real-time signals have none */
        ypi_result_fail(r, YPI_CAUSE_SIGNAL, NULL, 0, "crashed %s: SIG%s (%s)", stage_name(told),
                        name != NULL ? name : "RT", strsignal(r->signal));
    } else if (told->pid == 0) {
        ypi_result_fail(r, YPI_CAUSE_EXIT, NULL, 0,
                        "the process exited with status %d before it began: a constructor left, or "
                        "there is no room beside the history",
                        r->exit_code);
    } else if (!told->ended) {
        ypi_result_fail(r, YPI_CAUSE_EXIT, NULL, 0, "the process exited with status %d %s",
                        r->exit_code, stage_name(told));
    } else if (!told->exited || r->exit_code != 0) {
        ypi_result_fail(r, YPI_CAUSE_EXIT, NULL, 0,
                        "the process left with status %d from an exit handler or a destructor",
                        r->exit_code);
    }
}

static void sweep(struct ypi_result *r, const struct ypi_item *item, pid_t worker)
{
    char name[64] = "";
    int swept = ypi_sweep(worker, now.alone, name);
    /* A case that was killed could not have tidied up. */
    if (swept > 0 && item->killed == 0)
        ypi_result_fail(r, YPI_CAUSE_ORPHANS, NULL, 0,
                        "left %d process%s running, among them %s; killed", swept,
                        swept > 1 ? "es" : "", name);
}

/* -- telling ------------------------------------------------------------------------------ */

/* Nothing more is begun. */
static void stop(void)
{
    for (int i = 0; i < now.plan->count; i++) {
        struct ypi_item *item = &now.plan->items[i];
        item->extra.disabled = true;
        if (item->state == YPI_WAITING) {
            item->state = YPI_DROPPED;
            now.runner->totals.stopped = true;
        }
    }
}

static void count_outcome(const struct ypi_result *r)
{
    struct ypi_runner *runner = now.runner;
    runner->totals.count[r->outcome]++;
    if (r->outcome != YPI_FAILED && r->outcome != YPI_ERROR)
        return;
    now.failures++;
    if (runner->o->max_failures > 0 && now.failures >= runner->o->max_failures)
        stop();
}

/* Stored first: what is printed is in the history. */
static void store_and_tell(const struct ypi_result *r)
{
    struct ypi_runner *runner = now.runner;
    const struct ypi_options *o = runner->o;
    if (ypi_history_add(runner->history, runner->session->run_id, r) != YP_OK) {
        fprintf(stderr, "error: the result of %s is not stored: %s\n", r->c->id, yp_last_error());
        runner->record_failed = true;
        stop();
    }
    if (o->csv != NULL && ypi_csv_append(o->csv, runner->session, r) != YP_OK) {
        fprintf(stderr, "error: %s\n", yp_last_error());
        runner->record_failed = true;
    }
    now.told++;
    count_outcome(r);
    if (!o->tap) {
        ypi_terminal_case(now.terminal, r);
        return;
    }
    ypi_tap_case(runner->out, now.told, r);
    if (r->outcome == YPI_FAILED || r->outcome == YPI_ERROR) {
        fprintf(stderr, "%s %s\n", r->outcome == YPI_ERROR ? "ERROR" : "FAILED", r->c->id);
        ypi_tell_failure(stderr, runner->session, r);
        fflush(stderr);
    }
}

/* -- the end of an item ------------------------------------------------------------------- */

static void finish_skipped(struct ypi_item *item)
{
    item->state = YPI_FINISHED;
    struct ypi_result r = {.c = &item->c,
                           .started = ypi_wall_clock(),
                           .reason = ypi_strdup(item->c.skip),
                           .outcome = YPI_SKIPPED,
                           .tail = ypi_strdup("")};
    store_and_tell(&r);
    ypi_result_clear(&r);
}

/* Cases skipped by declaration need no process; they are told where their turn comes. */
static void finish_skipped_up_to(int number)
{
    for (int i = 0; i < now.plan->count && i < number; i++)
        if (now.plan->items[i].state == YPI_WAITING && now.plan->items[i].c.skip != NULL)
            finish_skipped(&now.plan->items[i]);
}

static void remove_traces(const struct ypi_item *item)
{
    unlink(item->channel);
    if (item->output != NULL)
        unlink(item->output);
}

static void finish(struct ypi_item *item, int signal_number, int exit_code)
{
    struct ypi_result r = {.c = &item->c};
    struct ypi_told told = ypi_channel_read(item->channel, &r);
    item->state = YPI_FINISHED;
    r.started = item->started_wall;
    r.duration = item->started > 0 ? ypi_now() - item->started : 0;
    r.signal = signal_number;
    r.exit_code = exit_code;
    r.ended = told.ended;
    sweep(&r, item, told.pid);
    explain_end(&r, item, &told);
    r.tail = read_tail(item->output, &r.output_bytes);
    remove_traces(item);
    if (item->killed == (int)YPI_CAUSE_INTERRUPTED + 1) {
        fprintf(now.runner->o->tap ? stderr : now.runner->out, "\ninterrupted: %s\n", item->c.id);
    } else {
        const struct ypi_options *o = now.runner->o;
        struct ypi_judging how = {.speed_judged = o->speed_judged,
                                  .noisy_fails = o->noisy_fails,
                                  .skipped = told.skipped};
        ypi_judge(&r, &how);
        finish_skipped_up_to(item->number - 1);
        store_and_tell(&r);
    }
    ypi_result_clear(&r);
}

/* -- Criterion's events ------------------------------------------------------------------- */

static struct ypi_item *item_of(const struct criterion_test *test)
{
    return (struct ypi_item *)((char *)test->data - offsetof(struct ypi_item, extra));
}

static bool has_process(const struct ypi_item *item)
{
    struct ypi_result unused = {0};
    bool has = ypi_channel_read(item->channel, &unused).pid != 0;
    ypi_result_clear(&unused);
    return has;
}

static void on_start(struct criterion_suite *suite, struct criterion_test *test)
{
    (void)suite;
    struct ypi_item *item = item_of(test);
    /* Criterion also speaks of those that it passes over; they have no process. */
    if (item->extra.disabled && !has_process(item))
        return;
    item->started = ypi_now();
    item->started_wall = ypi_wall_clock();
    item->oom_kills = ypi_oom_kills();
    item->refusals = now.plan->cgroup != NULL ? ypi_cgroup_refusals(now.plan->cgroup) : 0;
    item->state = YPI_RUNNING;
}

/* A case's process leaves by exit() while Criterion believes it in the middle of the test, so each
 * of these comes when the process is gone, with its exit code or signal. */
static void on_end(struct criterion_test_stats *stats)
{
    struct ypi_item *item = item_of(stats->test);
    if (item->state != YPI_FINISHED)
        finish(item, stats->signal, stats->exit_code);
}

static void on_abort(struct criterion_test_stats *stats, const char *message)
{
    (void)message;
    on_end(stats);
}

/* Once Criterion's shared memory is there: what the cases' processes read. */
static void on_begin(struct criterion_test_set *set)
{
    (void)set;
    for (int i = 0; i < now.plan->count; i++)
        if (now.plan->items[i].state == YPI_WAITING && !now.plan->items[i].extra.disabled)
            ypi_plan_wire(&now.plan->items[i], now.runner->o);
}

static struct criterion_logger logger = {
    .log_pre_all = on_begin,
    .log_pre_init = on_start,
    .log_test_timeout = on_end,
    .log_test_crash = on_end,
    .log_test_abort = on_abort,
    .log_other_crash = on_end,
    .log_abnormal_exit = on_end,
    .log_post_fini = on_end,
};

/* -- signals ------------------------------------------------------------------------------ */

static void on_signal(int number)
{
    (void)number;
    /* A second one ends everything at once, by the watchdog, which may walk through /proc; a third
     * one does not even wait for that. */
    if (urgent)
        _exit(YPI_EXIT_INTERRUPTED);
    urgent = interrupted;
    interrupted = true;
}

/* Nobody reads on: what is done is stored, as after an interrupt. Caught and not ignored, for a
 * case's process would inherit that. */
static void on_broken_pipe(int number)
{
    (void)number;
    interrupted = true;
}

static void catch_signals(void)
{
    struct sigaction broken = {.sa_handler = on_broken_pipe, .sa_flags = SA_RESTART};
    sigaction(SIGPIPE, &broken, NULL);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

/* -- the run ------------------------------------------------------------------------------ */

/* One pass of Criterion over the items that are `parallel`, or over those that are not. */
static void pass(struct criterion_test_set *set, bool parallel, int jobs)
{
    int count = 0;
    for (int i = 0; i < now.plan->count; i++) {
        struct ypi_item *item = &now.plan->items[i];
        bool mine = item->state == YPI_WAITING && item->c.skip == NULL &&
                    (jobs == 1 || item->c.test->parallel == parallel);
        item->extra.disabled = !mine || interrupted;
        count += mine;
    }
    if (count == 0 || interrupted)
        return;
    now.alone = jobs == 1;
    criterion_options.jobs = (size_t)jobs;
    criterion_run_all_tests(set);
}

static bool any_timed(const struct ypi_plan *plan)
{
    for (int i = 0; i < plan->count; i++)
        if (plan->items[i].c.skip == NULL && !plan->items[i].c.test->parallel)
            return true;
    return false;
}

static void run_timed(struct criterion_test_set *set)
{
    int lock = any_timed(now.plan) ? ypi_machine_lock(stderr, &interrupted) : -1;
    pass(set, false, 1);
    if (lock >= 0)
        close(lock);
}

static struct criterion_test_set *set_up_criterion(struct ypi_plan *plan)
{
    pid_t group = getpgrp();
    struct criterion_test_set *set = criterion_initialize();
    /* Criterion makes a group of its own, which Ctrl-C in a script would not reach. */
    setpgid(0, group);
    catch_signals();
    criterion_options.logger = &logger;
    /* Silent, but not QUIET, which would close the program's own standard output. */
    criterion_options.logging_threshold = CRITERION_LOG_LEVEL_QUIET - 1;
    for (int i = 0; i < plan->count; i++)
        if (plan->items[i].c.skip == NULL)
            criterion_register_test(set, &plan->items[i].test);
    return set;
}

/* What was neither run nor dropped: Criterion never spoke of it. */
static void finish_unseen(void)
{
    for (int i = 0; i < now.plan->count && !interrupted; i++)
        if (now.plan->items[i].state == YPI_WAITING || now.plan->items[i].state == YPI_RUNNING)
            finish(&now.plan->items[i], 0, 0);
}

static void tell_end(void)
{
    struct ypi_runner *runner = now.runner;
    runner->totals.interrupted = interrupted;
    if (runner->o->tap)
        ypi_tap_end(runner->out, &runner->totals);
    else
        ypi_terminal_end(now.terminal, &runner->totals);
}

/* A process that never came to life: what is known is stored and told, and the run is over, since
 * Criterion cannot be brought to go on. */
static void give_up(pid_t pid, double seconds)
{
    struct ypi_runner *runner = now.runner;
    for (int i = 0; i < now.plan->count; i++) {
        struct ypi_item *item = &now.plan->items[i];
        if (item->state != YPI_WAITING || item->extra.disabled || item->c.skip != NULL)
            continue;
        finish_skipped_up_to(item->number - 1);
        struct ypi_result r = {.c = &item->c,
                               .started = ypi_wall_clock() - seconds,
                               .duration = seconds,
                               .tail = ypi_strdup("")};
        ypi_result_fail(&r, YPI_CAUSE_TIMEOUT, NULL, 0,
                        "its process did not come to life within %g s: does a constructor of the "
                        "program hang? Nothing after it was run",
                        seconds);
        struct ypi_judging how = {.speed_judged = runner->o->speed_judged};
        ypi_judge(&r, &how);
        store_and_tell(&r);
        ypi_result_clear(&r);
        break;
    }
    tell_end();
    ypi_history_finish(runner->history, runner->session->run_id, ypi_wall_clock(),
                       YPI_EXIT_INTERNAL);
    ypi_kill_tree(pid, true);
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

void ypi_run(struct ypi_runner *runner, struct ypi_plan *plan)
{
    now.runner = runner;
    now.plan = plan;
    /* What a crashed case leaves behind comes to this process, which ends it. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    /* Meson sets a random value, which costs time and touches memory that a case never used. */
    setenv("MALLOC_PERTURB_", "0", 1);
    /* A sanitizer's finding is a crash with its report in the output; leaks are looked for once,
     * while the case can still tell of them. */
    prefer_flags("ASAN_OPTIONS", "abort_on_error=1:leak_check_at_exit=0");
    prefer_flags("LSAN_OPTIONS", "leak_check_at_exit=0");
    prefer_flags("UBSAN_OPTIONS", "abort_on_error=1:print_stacktrace=1");
    if (runner->o->tap)
        ypi_tap_begin(runner->out, runner->session);
    else
        now.terminal = ypi_terminal_begin(runner->out, runner->session);
    fflush(runner->out); /* before a case writes to the same place, under -s */

    struct criterion_test_set *set = set_up_criterion(plan);
    plan->cgroup = ypi_cgroup_enter(runner->o->process_limit * runner->o->jobs);
    struct ypi_watchdog *watchdog =
        ypi_watchdog_start(plan, runner->o, &interrupted, &urgent, give_up);
    if (watchdog == NULL) {
        fputs("error: no thread can be had for the watchdog: nothing is run\n", stderr);
        runner->record_failed = true;
        stop();
    }
    if (runner->o->jobs > 1)
        pass(set, true, runner->o->jobs);
    run_timed(set);
    if (!interrupted && !runner->totals.stopped)
        finish_skipped_up_to(plan->count);
    finish_unseen();
    if (watchdog != NULL)
        ypi_watchdog_stop(watchdog);
    criterion_finalize(set);
    ypi_cgroup_leave(plan->cgroup);
    plan->cgroup = NULL;

    tell_end();
}
