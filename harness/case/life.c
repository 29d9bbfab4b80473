#include "harness/case/life.h"

#include "base/system/clock.h"
#include "base/system/self.h"
#include "base/text/text.h"
#include "device/backend.h"
#include "device/plugin.h"
#include "device/registry.h"
#include "harness/body/stack.h"
#include "harness/body/state.h"
#include "harness/case/made.h"
#include "harness/case/orphans.h"
#include "harness/conduct/conduct.h"
#include "harness/measure/count/callgrind.h"
#include "harness/measure/measurement.h"
#include "harness/measure/series.h"
#include "harness/message/libraries.h"
#include "harness/vocabulary/linked.h"
#include "ranks/place.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Present in a program built with AddressSanitizer or LeakSanitizer. */
extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

/* The case's channel and process, for the word at its very end. */
static const char *exit_channel;
static pid_t exit_pid;

static bool guarded(struct yp_case *t, enum ypi_stage_name stage,
                    void (*function)(struct yp_case *t));
static void end(struct yp_case *t);

static void enter(const struct yp_case *t, enum ypi_stage_name name)
{
    struct ypi_stage stage;
    memset(&stage, 0, sizeof stage);
    stage.stage = name;
    stage.at = ypi_now();
    ypi_child_send(t, YPI_MESSAGE_STAGE, &stage, sizeof stage, NULL, 0);
    static const char *const names[] = {"in setup", "in the body", "in teardown", "at the end"};
    ypi_child_stands(names[name]);
}

/* A process that the body forked must not go on as the case: everything would be there twice. */
static void end_forked_child(const struct yp_case *t, enum ypi_stage_name stage)
{
    if (getpid() == t->child->pid)
        return;
    ypi_child_send(t, YPI_MESSAGE_RETURNED, &stage, sizeof stage, NULL, 0);
    _exit(EXIT_FAILURE);
}

/* The body ended the thread that runs it: the rest of the case's life goes on from here. */
static void on_thread_end(void *arg)
{
    struct yp_case *t = arg;
    static const char *const names[] = {"setup", "the body", "teardown"};
    const enum ypi_stage_name stage = t->child->stage;
    end_forked_child(t, stage);
    ypi_child_framework_returns(t);
    ypi_child_leaves(true);
    ypi_child_fail(t, YPI_CAUSE_EXIT, NULL, 0, "%s ended the case's thread (pthread_exit)",
                   names[stage]);
    if (stage == YPI_STAGE_BODY) {
        enter(t, YPI_STAGE_TEARDOWN);
        guarded(t, YPI_STAGE_TEARDOWN, t->test->teardown);
    }
    enter(t, YPI_STAGE_DONE);
    end(t);
    exit(EXIT_SUCCESS);
}

/* Runs one function of the test, or of a fixture of its own; false when it left early. */
static bool guarded(struct yp_case *t, enum ypi_stage_name stage,
                    void (*function)(struct yp_case *t))
{
    volatile bool whole = false; /* in no register that longjmp() brings back */
    t->child->stage = stage;
    t->child->leaving_allowed = true;
    const void *below = ypi_stack_below(__builtin_frame_address(0));
    pthread_cleanup_push(on_thread_end, t);
    if (setjmp(t->child->leave) == 0) {
        ypi_child_framework_ends(t);
        if (function != NULL && t->test->enter != NULL)
            t->test->enter(function, t);
        else if (function != NULL)
            function(t);
        whole = true;
    }
    pthread_cleanup_pop(0);
    ypi_child_framework_returns(t);
    ypi_stack_below(below);
    t->child->leaving_allowed = false;
    t->child->unwind = NULL;
    end_forked_child(t, stage);
    return whole;
}

static void open_account(struct yp_device *device, uint64_t limit)
{
    ypi_device_renew_account(device);
    yp_device_set_limit(device, limit);
}

static void open_accounts(const struct yp_case *t)
{
    open_account(yp_device_cpu(), t->child->job->memory_limit);
    if (t->child->device != yp_device_cpu())
        open_account(t->child->device, t->child->job->device_memory_limit);
}

/* Of several ranks one refuses: their requests are numbered in turn, the first of each rank, then
 * the second ones. */
static uint64_t refused_here(const struct ypi_job *job)
{
    const uint64_t ranks = (uint64_t)job->ranks;
    const uint64_t before = job->fail_allocation - 1; /* of all ranks */
    if (job->fail_allocation == 0 || job->ranks < 2)
        return job->fail_allocation;
    return job->rank >= 0 && before % ranks == (uint64_t)job->rank ? before / ranks + 1 : 0;
}

/* What a fixture took is given back but for what it provides, and what it left is its fault. */
static void settle_fixture(struct yp_case *fixture)
{
    struct yp_memory host;
    ypi_child_free_blocks(fixture->child);
    yp_device_memory(yp_device_cpu(), &host);
    if (!fixture->child->failed && host.allocated > 0)
        ypi_child_fail(fixture, YPI_CAUSE_LEAK, NULL, 0,
                       "it left %llu bytes of accounted memory behind",
                       (unsigned long long)host.allocated);
}

/* No block of the heap is the case's. */
static bool run_of_fixture(struct yp_case *fixture, void (*function)(struct yp_case *))
{
    ypi_child_heap_pauses(fixture, true);
    return guarded(fixture, YPI_STAGE_SETUP, function);
}

static bool make_fixture(struct yp_case *t, const struct ypi_own_fixture *own)
{
    struct yp_case fixture = ypi_case_of_fixture(t, own);
    char *where = ypi_format("in fixture %s", own->id);
    ypi_child_makes(t, own);
    ypi_child_stands(where);
    free(where);
    bool whole = run_of_fixture(&fixture, fixture.test->setup) && !t->child->failed;
    if (whole) {
        whole = run_of_fixture(&fixture, fixture.test->body);
        whole = run_of_fixture(&fixture, fixture.test->teardown) && whole;
    }
    settle_fixture(&fixture);
    ypi_child_makes(t, NULL);
    return whole && !t->child->failed;
}

/* In each process of a case, before its own functions; these begin with an account that has nothing
 * of it. */
static bool make_fixtures(struct yp_case *t)
{
    const struct ypi_job *job = t->child->job;
    bool whole = true;
    if (job->own_count == 0)
        return true;
    ypi_fail_any_allocation(0);
    for (int i = 0; i < job->own_count && whole; i++)
        whole = make_fixture(t, &job->own[i]);
    if (!whole) /* the others wait in vain */
        t->child->left_early = true;
    open_accounts(t);
    ypi_resident_begin(&t->child->resident);
    ypi_fail_any_allocation(refused_here(job));
    ypi_child_stands("in setup");
    return whole;
}

static void run_stages(struct yp_case *t)
{
    const struct yp_test *test = t->test;
    enter(t, YPI_STAGE_SETUP);
    /* As in pytest, a setup that failed or skipped has nothing to tear down. */
    if (make_fixtures(t) && guarded(t, YPI_STAGE_SETUP, test->setup) && !t->child->failed) {
        enter(t, YPI_STAGE_BODY);
        guarded(t, YPI_STAGE_BODY, test->body);
        enter(t, YPI_STAGE_TEARDOWN);
        guarded(t, YPI_STAGE_TEARDOWN, test->teardown);
    }
    enter(t, YPI_STAGE_DONE);
}

/* What the runner was started with must not show: a shell's background jobs ignore SIGINT. */
static void reset_signals(void)
{
    for (int number = 1; number < SIGRTMIN; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            signal(number, SIG_DFL);
    }
}

/* Why the case cannot run: what it needs is not here, or does not work. */
static void send_refusal(struct yp_case *t, enum yp_status status)
{
    const char *reason = yp_last_error();
    if (status == YP_UNSUPPORTED)
        ypi_child_send(t, YPI_MESSAGE_SKIP, reason, strlen(reason) + 1, NULL, 0);
    else
        ypi_child_fail(t, status == YP_OUT_OF_MEMORY ? YPI_CAUSE_OUT_OF_MEMORY : YPI_CAUSE_DEVICE,
                       NULL, 0, "%s", reason);
}

/* Among the ranks of its node; a launcher that does not say gives all the same device. */
static int local_rank(void)
{
    struct ypk_place place;
    return ypk_place_of_launcher(&place, NULL) == YP_OK && place.local_rank > 0 ? place.local_rank
                                                                                : 0;
}

static void send_rank_device(struct yp_case *t)
{
    const struct yp_device *device = t->child->device;
    struct ypi_rank_device message;
    memset(&message, 0, sizeof message);
    snprintf(message.name, sizeof message.name, "%s", yp_device_name(device));
    if (device->backend->place != NULL)
        snprintf(message.place, sizeof message.place, "%s", device->backend->place(device));
    ypi_child_send(t, YPI_MESSAGE_RANK_DEVICE, &message, sizeof message, NULL, 0);
}

/* False when the case cannot run for want of its device, which is reported. A command opens it
 * itself: a context of ours beside it would take memory, and all of an exclusive device. */
static bool open_device(struct yp_case *t)
{
    const bool is_rank = ypi_child_job(t)->rank >= 0;
    char name[sizeof t->device];
    t->child->device = yp_device_cpu();
    snprintf(name, sizeof name, "%s", t->device);
    if (is_rank)
        ypi_device_of_rank(t->device, local_rank(), name);
    enum yp_status status = t->child->conducts         ? YP_OK /* the ranks open it */
                            : t->test->command != NULL ? ypi_device_confine(name)
                                                       : ypi_device_open(name, &t->child->device);
    if (status == YP_OK && is_rank && t->child->device != yp_device_cpu())
        send_rank_device(t);
    if (status == YP_OK && ypi_child_job(t)->bind != YPI_BIND_NONE)
        ypi_device_bind_near("");
    if (status != YP_OK)
        send_refusal(t, status);
    return status == YP_OK;
}

static bool open_audit(struct yp_case *t)
{
    enum yp_status status = ypi_audit_open(t->child->device);
    if (status != YP_OK)
        send_refusal(t, status);
    return status == YP_OK;
}

/* Work that nobody waited for may have failed: the case has then not shown what it says. */
static void close_device(struct yp_case *t)
{
    struct yp_device *device = t->child->device;
    size_t count = 0;
    double *rows = ypi_series_close(t->child->series, &count);
    if (count > 0)
        ypi_child_send(t, YPI_MESSAGE_SERIES, rows, count * YPI_SERIES_COLUMNS * sizeof *rows, NULL,
                       0);
    free(rows);
    ypi_plugins_close();
    if (device->backend->close != NULL && device->backend->close(device) != YP_OK)
        ypi_child_fail(t, YPI_CAUSE_DEVICE, NULL, 0, "the device failed: %s", yp_last_error());
}

static bool begin(struct yp_case *t)
{
    reset_signals();
    const struct ypi_job *job = t->child->job;
    ypi_bind_among(&job->places);
    /* Whatever the case forks, however it detaches, stays a descendant of this process. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    /* By a process of its own the runner looks at the stacks of a case that is too slow; at those
     * of a rank the one beside it does. */
    prctl(PR_SET_PTRACER, (unsigned long)(job->rank >= 0 ? getppid() : job->runner));
    /* Criterion leaves a pipe there that never ends: a case that reads would hang. */
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
    close(nothing);
    if (job->output != NULL) {
        int fd = open(job->output, O_WRONLY | O_APPEND | O_CLOEXEC);
        dup2(fd, STDOUT_FILENO);
        dup2(fd, STDERR_FILENO);
        close(fd);
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    bool ready = open_device(t);
    open_accounts(t);
    ypi_child_watch_blocks(t);
    t->child->descriptors = ypi_descriptors();
    getrlimit(RLIMIT_NOFILE, &t->child->descriptor_limit);
    t->child->modes = ypi_modes_read();
    ypi_tree_open(t);
    ypi_resident_begin(&t->child->resident);
    ypi_fail_any_allocation(refused_here(job));
    if (t->child->device != yp_device_cpu())
        t->child->series = ypi_series_open(t->child->device);
    /* Here, so that descriptors which the profiler opens and closes are its own affair. */
    ready = ready && (!job->audit || open_audit(t));
    ypi_child_open_heap(t);
    return ready;
}

/* What the body left of the process's means is too little to say what became of the case. */
static void restore_means(const struct ypi_child *child)
{
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);  /* of what is still to be flushed */
    prctl(PR_SET_DUMPABLE, 1); /* another user's /proc/self is closed to it */
    if (setrlimit(RLIMIT_NOFILE, &child->descriptor_limit) == 0 ||
        getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* The framework's own part of what follows, and other cases where they share the process, are to
 * compute as they always do. */
static void restore_modes(struct yp_case *t)
{
    char *changed = ypi_modes_restore(&t->child->modes);
    if (changed == NULL)
        return;
    char *note = ypi_format("the case left changed, and it was put back: %s", changed);
    ypi_child_send(t, YPI_MESSAGE_NOTE, note, strlen(note) + 1, NULL, 0);
    free(note);
    free(changed);
}

/* LeakSanitizer, which starts a process to look for leaks, says that there are some where it
 * cannot; in the runner's own process they may be anybody's. */
static bool can_look_for_leaks(const struct ypi_child *child)
{
    if (child->pid == child->job->runner)
        return false;
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0 && __lsan_do_recoverable_leak_check != NULL;
}

static void end(struct yp_case *t)
{
    struct ypi_child *child = t->child;
    restore_modes(t);
    restore_means(child);
    if (child->resident.tree != NULL)
        child->tree_peak = ypi_tree_close(child->resident.tree);
    ypi_stack_of_left_threads();
    fflush(NULL);
    close_device(t);
    ypi_child_free_blocks(child);
    ypi_child_forget_tmp_paths(child);
    if (!child->conducts)
        ypi_child_send_memory(t);
    ypi_child_leave_fixtures(child);
    ypi_orphans_check(t);
    char *lost = ypi_descriptors_lost(child->descriptors);
    free(child->descriptors);
    free(ypi_text_take(&child->names));
    if (lost != NULL)
        ypi_child_fail(t, YPI_CAUSE_DESCRIPTORS, NULL, 0,
                       "closed descriptors that were not its own: %s", lost);
    if (lost == NULL && can_look_for_leaks(child) && __lsan_do_recoverable_leak_check() != 0)
        ypi_child_fail(t, YPI_CAUSE_LEAK, NULL, 0,
                       "LeakSanitizer found leaked memory; its report is in the output below");
    free(lost);
    ypi_child_send(t, YPI_MESSAGE_END, NULL, 0, NULL, 0);
}

/* Criterion packs its objects without regard to alignment. */
static const struct ypi_job *read_job(void)
{
    struct criterion_test_extra_data extra;
    memcpy(&extra, (const void *)criterion_current_test->data, sizeof extra);
    return extra.data;
}

static void open_memory(const struct ypi_job *job)
{
    ypi_channel_set_memory(ypi_channel_memory_map(job->runner, job->memory, job->number));
}

/* The executable is the runner's own, and libraries are opened anew. */
static bool is_of_the_run(const struct yp_case *t)
{
    const struct ypi_job *job = ypi_child_job(t);
    char *path = job->runner != getpid() ? ypi_libraries_replaced(job->channel) : NULL;
    if (path != NULL)
        ypi_child_fail(t, YPI_CAUSE_EXIT, NULL, 0,
                       "%s is another file than when the run began: the case would not be of the "
                       "same program",
                       path);
    free(path);
    return path == NULL;
}

static void run_job(const struct ypi_job *job)
{
    /* Handlers of signals look at them to the end of the process. */
    static struct yp_case t;
    static struct ypi_child child;
    t = ypi_case_of_job(job);
    child = (struct ypi_child){.job = job, .thread = pthread_self(), .pid = getpid()};
    t.child = &child;
    bool here = !job->instructions || ypi_callgrind_running();
    if (job->instructions && here) /* executed anew */
        open_memory(job);
    if (!here)
        ypi_callgrind_execute(&t, job);
    child.conducts = job->ranks > 1 && job->rank < 0;
    bool ready = begin(&t) && is_of_the_run(&t) && ypi_child_join(&t);
    ypi_stack_watch(&t);
    ypi_stack_below(__builtin_frame_address(0));
    if (child.conducts && ready)
        ypi_conduct(&t);
    else if (here && ready)
        run_stages(&t);
    else if (!here) /* it came back */
        ypi_child_fail(&t, YPI_CAUSE_EXIT, NULL, 0, "%s", yp_last_error());
    ypi_child_part(&t);
    end(&t);
}

void ypi_child_here(const struct ypi_job *job)
{
    struct ypi_hello hello = {.pid = getpid()};
    ypi_channel_set_memory(NULL);
    if (!ypi_channel_send(job->channel, YPI_MESSAGE_HELLO, &hello, sizeof hello, NULL, 0))
        fprintf(stderr, "error: %s: %s\n", job->channel, strerror(errno));
    run_job(job);
    ypi_channel_send(job->channel, YPI_MESSAGE_EXIT, NULL, 0, NULL, 0);
}

void ypi_child_direct(const struct ypi_job *job)
{
    exit_channel = job->channel;
    exit_pid = getpid();
    run_job(job);
    /* Not by returning: Criterion would wait for an answer on a connection that the body may have
     * closed, and would call the case over before its exit handlers have run. */
    exit(EXIT_SUCCESS);
}

static void run_case(void)
{
    ypi_child_direct(read_job());
}

/* Runs after the program's own exit handlers and destructors: its absence tells that one of them
 * crashed or left early. */
__attribute__((destructor(101))) static void send_exit(void)
{
    if (exit_channel != NULL && getpid() == exit_pid)
        ypi_channel_send(exit_channel, YPI_MESSAGE_EXIT, NULL, 0, NULL, 0);
}

void ypi_child_main(void)
{
    ypi_self_take_name();
    /* Before Criterion tells the runner of the case: it tells of cases that it passes over too, and
     * only one that has a process has said so here. */
    const struct ypi_job *job = read_job();
    const struct ypi_hello hello = {
        .pid = getpid(),
        .addresses = {.below = (uintptr_t)ypi_stack_below_at(), .output = (uintptr_t)stdout}};
    ypi_channel_create(job->channel);
    if (job->output != NULL)
        ypi_channel_create(job->output);
    open_memory(job);
    bool sent = ypi_channel_send(job->channel, YPI_MESSAGE_HELLO, &hello, sizeof hello, NULL, 0);
    if (!sent)
        fprintf(stderr, "error: %s: %s\n", job->channel, strerror(errno));
    criterion_internal_test_setup();
    if (!sent)
        _exit(EXIT_FAILURE);
    criterion_internal_test_main(run_case);
}
