#include "harness/run/run.h"

#include "base/system/clock.h"
#include "base/system/lock.h"
#include "base/text/text.h"
#include "harness/judge/judge.h"
#include "harness/judge/relation.h"
#include "harness/run/ending.h"
#include "harness/run/process.h"
#include "harness/run/sweep.h"
#include "harness/run/watchdog.h"

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

/* Criterion's callbacks carry no argument of ours: the run that is going on. */
static struct {
    struct ypi_runner *runner;
    struct ypi_plan *plan;
    struct ypi_terminal *terminal;
    int reported; /* results */
    int failures;
    int again;    /* items that want one more process */
    bool alone;   /* one case at a time */
    bool stopped; /* nothing more is begun */
} now;

/* Set by the signal handler, read by the watchdog. */
static volatile bool interrupted;
static volatile bool urgent;

/* -- storing and printing ----------------------------------------------------------------- */

static void stop(void)
{
    now.stopped = true;
    for (int i = 0; i < now.plan->count; i++) {
        struct ypi_item *item = &now.plan->items[i];
        item->extra.disabled = true;
        if (item->state == YPI_WAITING && item->result_count == 0) {
            item->state = YPI_DROPPED;
            now.runner->totals.stopped = true;
        }
    }
}

static void count_outcome(const struct ypi_result *r)
{
    struct ypi_runner *runner = now.runner;
    runner->totals.count[r->outcome]++;
    if (!ypi_is_failure(r->outcome))
        return;
    now.failures++;
    if (runner->o->max_failures > 0 && now.failures >= runner->o->max_failures)
        stop();
}

static void store(const struct ypi_result *r)
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
}

/* Stored first: what is printed is in the history. */
static void store_and_tell(const struct ypi_result *r)
{
    struct ypi_runner *runner = now.runner;
    const struct ypi_options *o = runner->o;
    store(r);
    now.reported++;
    count_outcome(r);
    if (!o->tap) {
        ypi_terminal_case(now.terminal, r);
        return;
    }
    ypi_tap_case(runner->out, now.reported, r);
    if (ypi_is_failure(r->outcome)) {
        fprintf(stderr, "%s %s\n", r->outcome == YPI_ERROR ? "ERROR" : "FAILED", r->c->id);
        ypi_tell_failure(stderr, runner->session, r);
        fflush(stderr);
    }
}

/* -- the end of an item ------------------------------------------------------------------- */

static void finish_skipped_up_to(int number);

/* Stored, printed and kept for the relations that read it, but for its samples. */
static void close_item(struct ypi_item *item, struct ypi_result *r)
{
    item->state = YPI_FINISHED;
    finish_skipped_up_to(item->number - 1);
    store_and_tell(r);
    for (int i = 0; i < r->measured_count; i++)
        ypi_measured_clear(&r->measured[i]);
    free(r->tail);
    r->tail = NULL;
}

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

/* Cases skipped by declaration need no process; they are printed where their turn comes. */
static void finish_skipped_up_to(int number)
{
    for (int i = 0; i < now.plan->count && i < number; i++)
        if (now.plan->items[i].state == YPI_WAITING && now.plan->items[i].c.skip != NULL)
            finish_skipped(&now.plan->items[i]);
}

static struct ypi_judging judging(void)
{
    const struct ypi_options *o = now.runner->o;
    bool timed = o->speed == YPI_SPEED_JUDGE && !o->instructions && !o->audit && !o->fail_each;
    return (struct ypi_judging){.speed_judged = timed,
                                .instructions = o->instructions || o->audit,
                                .once = o->fail_each,
                                .noisy_fails = o->noisy_fails,
                                .confirmations = timed ? o->confirmations : 0};
}

/* The last word on an item, from all of its processes. */
static void conclude(struct ypi_item *item)
{
    struct ypi_judging how = judging();
    struct ypi_result *r = &item->results[0];
    int others = item->result_count - 1;
    ypi_conclude(r, &how, item->results + 1, others);
    how.confirmations = 0;
    for (int i = 1; i <= others; i++) {
        ypi_conclude(&item->results[i], &how, NULL, 0);
        store(&item->results[i]);
        ypi_result_clear(&item->results[i]);
    }
    item->result_count = 1;
    close_item(item, r);
}

static void keep_result(struct ypi_item *item, const struct ypi_result *r)
{
    item->results =
        ypi_realloc(item->results, (size_t)item->result_count + 1, sizeof *item->results);
    item->results[item->result_count++] = *r;
}

/* One more process for the same case, in the next pass. */
static void again(struct ypi_item *item)
{
    item->attempt++;
    item->state = YPI_WAITING;
    now.again++;
}

/* After the process that has the whole memory, one for each of its allocations. */
static void finish_failing(struct ypi_item *item, struct ypi_result *r)
{
    struct ypi_judging how = judging();
    ypi_judge_budgets(r, &how);
    if (item->attempt == 0) {
        keep_result(item, r);
    } else {
        ypi_failed_allocation(&item->results[0], r);
        ypi_conclude(r, &how, NULL, 0);
        store(r);
        ypi_result_clear(r);
    }
    const struct ypi_result *whole = &item->results[0];
    bool sound =
        whole->ended && !whole->skipped && (item->attempt > 0 || whole->failure_count == 0);
    if (sound && (uint64_t)item->attempt < ypi_allocations(&whole->memory) && !now.stopped)
        again(item);
    else
        conclude(item);
}

static void finish_timed(struct ypi_item *item, const struct ypi_result *r)
{
    struct ypi_judging how = judging();
    keep_result(item, r);
    struct ypi_result *all = item->results;
    ypi_judge_budgets(&all[item->result_count - 1], &how);
    if (!now.stopped && ypi_needs_confirmation(&all[0], &how, all + 1, item->result_count - 1))
        again(item);
    else
        conclude(item);
}

static void finish(struct ypi_item *item, int signal_number, int exit_code)
{
    struct ypi_result r;
    struct ypi_ending ending = {
        .signal = signal_number, .exit_code = exit_code, .alone = now.alone};
    item->over = true;
    item->state = YPI_FINISHED;
    struct ypi_report report = ypi_ending_result(item, &ending, now.runner->o, &r);
    if (ypi_was_interrupted(item, &report, signal_number)) {
        fprintf(now.runner->o->tap ? stderr : now.runner->out, "\ninterrupted: %s\n", item->c.id);
        ypi_result_clear(&r);
        if (item->result_count > 0)
            item->state = YPI_WAITING; /* to be concluded with what there is */
        return;
    }
    r.skipped = report.skipped;
    if (now.runner->o->fail_each)
        finish_failing(item, &r);
    else
        finish_timed(item, &r);
}

static void conclude_early(struct ypi_item *item)
{
    struct ypi_result *r = &item->results[0];
    if (now.runner->o->fail_each)
        ypi_result_note(r, "stopped after %d of %llu allocations were refused", item->attempt - 1,
                        (unsigned long long)ypi_allocations(&r->memory));
    conclude(item);
}

/* Those that waited for one more process when the run was stopped. */
static void conclude_pending(void)
{
    for (int i = 0; i < now.plan->count; i++) {
        struct ypi_item *item = &now.plan->items[i];
        bool open = item->state == YPI_WAITING || item->state == YPI_RUNNING;
        if (open && item->result_count > 0)
            conclude_early(item);
    }
}

/* -- relations ------------------------------------------------------------------------------ */

static void finish_relation(struct ypi_item *item, const struct ypi_relation_input *input)
{
    struct ypi_result r = {
        .c = &item->c, .started = ypi_wall_clock(), .ended = true, .tail = ypi_strdup("")};
    r.skipped = !ypi_relation_evaluate(input, &r);
    struct ypi_judging how = judging();
    ypi_judge(&r, &how);
    keep_result(item, &r);
    close_item(item, &item->results[0]);
}

static void finish_relations(void)
{
    int count = now.plan->count;
    const struct yp_case **cases = ypi_calloc((size_t)count, sizeof(*cases));
    const struct ypi_result **results = ypi_calloc((size_t)count, sizeof(*results));
    struct ypi_relation_input input = {.cases = cases, .results = results, .count = count};
    for (int i = 0; i < count; i++) {
        struct ypi_item *item = &now.plan->items[i];
        cases[i] = &item->c;
        results[i] = item->result_count > 0 ? item->results : NULL;
    }
    for (int i = 0; i < count && !interrupted && !now.stopped; i++)
        if (now.plan->items[i].state == YPI_WAITING && ypi_is_relation(&now.plan->items[i].c))
            finish_relation(&now.plan->items[i], &input);
    free(cases);
    free(results);
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
    if (!item->over)
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
            ypi_plan_job(&now.plan->items[i], now.runner->o);
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

static bool needs_process(const struct ypi_item *item)
{
    return item->c.skip == NULL && !ypi_is_relation(&item->c);
}

/* One pass of Criterion over the items that are `parallel`, or over those that are not. */
static void pass(struct criterion_test_set *set, bool parallel, int jobs)
{
    int count = 0;
    for (int i = 0; i < now.plan->count; i++) {
        struct ypi_item *item = &now.plan->items[i];
        bool mine = item->state == YPI_WAITING && needs_process(item) &&
                    (jobs == 1 || item->c.test->parallel == parallel);
        item->extra.disabled = !mine || interrupted;
        if (mine)
            ypi_item_renew(item);
        count += mine;
    }
    if (count == 0 || interrupted || now.stopped)
        return;
    now.alone = jobs == 1;
    criterion_options.jobs = (size_t)jobs;
    criterion_run_all_tests(set);
}

/* As many passes as the items that want one more process need. */
static void passes(struct criterion_test_set *set, bool parallel, int jobs)
{
    do {
        now.again = 0;
        pass(set, parallel, jobs);
    } while (now.again > 0 && !interrupted && !now.stopped);
}

static bool any_timed(const struct ypi_plan *plan)
{
    for (int i = 0; i < plan->count; i++)
        if (needs_process(&plan->items[i]) && !plan->items[i].c.test->parallel)
            return true;
    return false;
}

static void run_timed(struct criterion_test_set *set)
{
    /* Whoever holds it for hours in a debugger would hold up all others. */
    bool timed = now.runner->o->speed != YPI_SPEED_OFF && any_timed(now.plan);
    int lock = timed ? ypi_machine_lock(stderr, &interrupted) : -1;
    passes(set, false, 1);
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
        if (needs_process(&plan->items[i]))
            criterion_register_test(set, &plan->items[i].test);
    return set;
}

/* What was neither run nor dropped: Criterion never spoke of it. */
static void finish_unseen(void)
{
    for (int i = 0; i < now.plan->count && !interrupted; i++) {
        struct ypi_item *item = &now.plan->items[i];
        bool open = item->state == YPI_WAITING || item->state == YPI_RUNNING;
        if (open && needs_process(item) && item->result_count == 0)
            finish(item, 0, 0);
    }
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

/* A process that never started: what is known is stored and printed, and the run is over, since
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
        /* As the case itself, or as a fresh process, whose failure the case takes over. */
        r.attempt = item->attempt;
        struct ypi_judging how = judging();
        ypi_judge_budgets(&r, &how);
        keep_result(item, &r);
        conclude(item);
        break;
    }
    conclude_pending();
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

/* What the cases inherit: processors and instruction sets. */
static bool confine(const struct ypi_options *o)
{
    /* OpenBLAS chooses its kernels by this name alone. */
    static const char *const cores[YP_ISAS] = {
        [YP_ISA_BASELINE] = "Nehalem", [YP_ISA_AVX2] = "Haswell", [YP_ISA_AVX512] = "SkylakeX"};
    if (o->cpus != NULL && ypi_cpus_confine(o->cpus) != YP_OK) {
        fprintf(stderr, "error: --cpus %s: %s\n", o->cpus, yp_last_error());
        return false;
    }
    if (!o->isa_given)
        return true;
    setenv("YIELDPOINT_ISA", yp_isa_name(o->isa), 1);
    if (cores[o->isa] != NULL)
        setenv("OPENBLAS_CORETYPE", cores[o->isa], 1);
    return true;
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

    if (!confine(runner->o)) {
        runner->record_failed = true;
        return;
    }
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
        passes(set, true, runner->o->jobs);
    run_timed(set);
    if (!interrupted && !runner->totals.stopped)
        finish_skipped_up_to(plan->count);
    finish_unseen();
    conclude_pending();
    finish_relations();
    if (watchdog != NULL)
        ypi_watchdog_stop(watchdog);
    criterion_finalize(set);
    ypi_cgroup_leave(plan->cgroup);
    plan->cgroup = NULL;

    tell_end();
}
