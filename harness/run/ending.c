/* What became of a case's process: its channel, how it ended, what it left running. */
#include "harness/run/ending.h"

#include "base/system/clock.h"
#include "base/system/process.h"
#include "base/text/text.h"
#include "harness/message/rank_files.h"
#include "harness/message/tmp_path.h"
#include "harness/run/watchdog.h"
#include "harness/stack/symbols.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TAIL_MAX = 8192 };

static char *read_tail(const struct ypi_item *item, uint64_t *bytes)
{
    *bytes = 0;
    char *tail = ypi_calloc(TAIL_MAX + 1, 1);
    int fd = item->output_fd;
    if (fd < 0 && item->output != NULL)
        fd = open(item->output, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd >= 0 && fstat(fd, &status) == 0) {
        *bytes = (uint64_t)status.st_size;
        off_t from = status.st_size > TAIL_MAX ? status.st_size - TAIL_MAX : 0;
        ssize_t got = pread(fd, tail, TAIL_MAX, from);
        /* NUL would end the text early and hide what follows. */
        for (ssize_t i = 0; i < got; i++)
            if (tail[i] == '\0')
                tail[i] = '?';
    }
    if (fd >= 0 && fd != item->output_fd)
        close(fd);
    return tail;
}

/* Present in a program built with ThreadSanitizer. */
extern void __tsan_init(void) __attribute__((weak));

enum { THREAD_SANITIZER_EXIT = 66 };

static const char *stage_name(const struct ypi_report *report)
{
    static const char *const names[] = {"in setup", "in the body", "in teardown", "after teardown"};
    return report->staged ? names[report->stage] : "before it began";
}

static void add_line(struct ypi_text *text, const char *line)
{
    ypi_text_add(text, "%s%s", text->length > 0 ? "\n" : "", line);
}

/* The case's own thread needs no name where it is the only one. */
static void add_stack(struct ypi_text *text, const struct ypi_stack *stack, bool named)
{
    char *frames = ypi_stack_text(stack, named ? "  " : "");
    if (named) {
        char *head = ypi_format("thread %s (%d)%s", stack->name, stack->thread,
                                stack->of_case ? ", the case's" : "");
        add_line(text, head);
        free(head);
    }
    if (frames != NULL)
        add_line(text, frames);
    free(frames);
}

/* The case's own thread, then the others as they answered. */
static void add_stacks(struct ypi_text *text, const struct ypi_result *r, enum ypi_stack_kind kind)
{
    int count = 0;
    for (int i = 0; i < r->stack_count; i++)
        count += r->stacks[i].kind == kind;
    for (int other = 0; other < 2; other++)
        for (int i = 0; i < r->stack_count; i++)
            if (r->stacks[i].kind == kind && r->stacks[i].of_case == (other == 0))
                add_stack(text, &r->stacks[i], count > 1 || other == 1);
}

static bool has_stack(const struct ypi_result *r, int thread, enum ypi_stack_kind kind)
{
    for (int i = 0; i < r->stack_count; i++)
        if (r->stacks[i].thread == thread && r->stacks[i].kind == kind)
            return true;
    return false;
}

static void add_silent_threads(struct ypi_text *text, const struct ypi_result *r,
                               const struct ypi_item *item)
{
    for (int i = 0; i < item->stack_count; i++) {
        const struct ypi_thread *thread = &item->threads[i];
        if (!has_stack(r, thread->id, YPI_STACK_BEFORE) &&
            !has_stack(r, thread->id, YPI_STACK_STUCK))
            ypi_text_add(text, "%sthread %s (%d): %s", text->length > 0 ? "\n" : "", thread->name,
                         thread->id,
                         thread->state == 'D' ? "it cannot be stopped (state D)"
                                              : "its stack cannot be read");
    }
}

/* What the watchdog saw of the threads, but of the framework's own. */
static void add_seen_stacks(struct ypi_result *r, const struct ypi_item *item)
{
    for (int i = 0; i < item->stack_count; i++) {
        const struct ypi_stack *stack = &item->stacks[i];
        if (stack->count == 0 || has_stack(r, stack->thread, YPI_STACK_BEFORE))
            continue;
        r->stacks = ypi_realloc(r->stacks, (size_t)r->stack_count + 1, sizeof *r->stacks);
        r->stacks[r->stack_count++] = *stack;
    }
}

/* The stacks of one kind to the failure that was added last. */
static void take_stacks(struct ypi_result *r, const struct ypi_item *item, enum ypi_stack_kind kind)
{
    struct ypi_text text = {0};
    add_stacks(&text, r, kind);
    if (kind == YPI_STACK_STUCK)
        add_silent_threads(&text, r, item);
    if (kind == YPI_STACK_STUCK && item->untraced != 0)
        ypi_text_add(&text, "%sframes may be missing: ptrace is refused (%s)",
                     text.length > 0 ? "\n" : "", strerror(item->untraced));
    if (text.length > 0)
        r->failures[r->failure_count - 1].stack = ypi_text_take(&text);
}

/* A check that had failed before may be why, and comes next. */
static void put_last_first(struct ypi_result *r)
{
    const struct ypi_failure last = r->failures[r->failure_count - 1];
    memmove(r->failures + 1, r->failures, (size_t)(r->failure_count - 1) * sizeof last);
    r->failures[0] = last;
}

static void note_left_threads(struct ypi_result *r)
{
    for (int i = 0; i < r->stack_count; i++) {
        const struct ypi_stack *stack = &r->stacks[i];
        if (stack->kind != YPI_STACK_LEFT || ypi_stack_of_pool(stack))
            continue;
        char *line = ypi_stack_line(stack);
        ypi_result_note(r, "thread %s (%d) outlived the body: %s", stack->name, stack->thread,
                        line != NULL ? line : "its stack is not known");
        free(line);
    }
}

static void explain_killed(struct ypi_result *r, const struct ypi_item *item,
                           const struct ypi_report *report, const struct ypi_options *o)
{
    enum ypi_cause cause = (enum ypi_cause)(item->killed - 1);
    switch (cause) {
    case YPI_CAUSE_TIMEOUT:
        ypi_result_fail(r, cause, NULL, 0, "timeout: still running after %g s, killed %s",
                        item->c.timeout, stage_name(report));
        add_seen_stacks(r, item);
        take_stacks(r, item, YPI_STACK_STUCK);
        put_last_first(r);
        break;
    case YPI_CAUSE_OUTPUT:
        ypi_result_fail(r, cause, NULL, 0,
                        "wrote more than %llu bytes of output (--output-limit), killed %s",
                        (unsigned long long)o->output_limit, stage_name(report));
        break;
    case YPI_CAUSE_FORKS:
        ypi_result_fail(r, cause, NULL, 0,
                        "wanted more than %d processes and threads (--process-limit), killed %s",
                        o->process_limit, stage_name(report));
        break;
    default:
        ypi_result_fail(r, cause, NULL, 0, "interrupted %s", stage_name(report));
    }
}

static bool came_to_its_end(const struct ypi_report *report, int signal)
{
    return report->ended && report->exited && signal == 0;
}

/* The process had ended by itself before the interrupt came or its time was over; the runner had
 * other work, and has not yet seen it. */
static bool ended_before(const struct ypi_item *item, const struct ypi_report *report, int signal)
{
    return (item->killed == (int)YPI_CAUSE_INTERRUPTED + 1 ||
            item->killed == (int)YPI_CAUSE_TIMEOUT + 1) &&
           came_to_its_end(report, signal);
}

bool ypi_was_interrupted(const struct ypi_item *item, const struct ypi_report *report, int signal)
{
    return item->killed == (int)YPI_CAUSE_INTERRUPTED + 1 && !came_to_its_end(report, signal);
}

static void explain_end(struct ypi_result *r, const struct ypi_item *item,
                        const struct ypi_report *report, const struct ypi_options *o)
{
    if (item->killed != 0 && !ended_before(item, report, r->signal)) {
        explain_killed(r, item, report, o);
    } else if (r->signal == SIGKILL && ypi_oom_kills() > item->oom_kills) {
        ypi_result_fail(r, YPI_CAUSE_OOM_KILL, NULL, 0,
                        "killed by the kernel for want of memory, %s", stage_name(report));
    } else if (r->signal != 0) {
        const char *name = sigabbrev_np(r->signal); /* real-time signals have none */
        ypi_result_fail(r, YPI_CAUSE_SIGNAL, NULL, 0, "crashed %s: SIG%s (%s)", stage_name(report),
                        name != NULL ? name : "RT", strsignal(r->signal));
        take_stacks(r, item, YPI_STACK_CRASH);
    } else if (report->pid == 0) {
        ypi_result_fail(r, YPI_CAUSE_EXIT, NULL, 0,
                        "the process exited with status %d before it began: a constructor left, "
                        "there is no room beside the history, or no more files may be open",
                        r->exit_code);
    } else if (!report->ended) {
        ypi_result_fail(r, YPI_CAUSE_EXIT, NULL, 0, "the process exited with status %d %s",
                        r->exit_code, stage_name(report));
    } else if (r->exit_code == THREAD_SANITIZER_EXIT && __tsan_init != NULL) {
        ypi_result_fail(r, YPI_CAUSE_EXIT, NULL, 0,
                        "ThreadSanitizer found an error; its report is in the output below");
    } else if (!report->exited || r->exit_code != 0) {
        ypi_result_fail(r, YPI_CAUSE_EXIT, NULL, 0,
                        "the process left with status %d from an exit handler or a destructor",
                        r->exit_code);
    }
}

static void sweep(struct ypi_result *r, const struct ypi_item *item,
                  const struct ypi_report *report, bool alone)
{
    char name[64] = "";
    int swept = ypi_kill_leftovers(report->pid, alone, name);
    /* A case that was killed could not have tidied up. */
    if (swept > 0 && (item->killed == 0 || ended_before(item, report, r->signal)))
        ypi_result_fail(r, YPI_CAUSE_ORPHANS, NULL, 0,
                        "left %d process%s running, among them %s; killed", swept,
                        swept > 1 ? "es" : "", name);
}

static void end_paths_of_ranks(const struct ypi_item *item, enum ypi_keep_tmp keep,
                               struct ypi_result *r)
{
    const int ranks = ypi_ranks(&item->c);
    for (int i = 0; i < ranks && ranks > 1; i++) {
        char *channel = ypi_rank_file(item->channel, i, "channel");
        ypi_tmp_path_end(channel, item->attempt, keep, r);
        free(channel);
    }
}

struct ypi_report ypi_ending_result(struct ypi_item *item, const struct ypi_ending *ending,
                                    const struct ypi_options *o, struct ypi_result *r)
{
    *r = (struct ypi_result){
        .c = &item->c, .attempt = item->attempt, .fail_allocation = ypi_item_fails(item, o)};
    struct ypi_report report = ypi_item_read(item, r);
    r->started = item->started_wall;
    r->duration = item->started > 0 ? ypi_kernel_now() - item->started - item->paused : 0;
    r->signal = ending->signal;
    r->exit_code = ending->exit_code;
    r->ended = report.ended;
    sweep(r, item, &report, ending->alone);
    explain_end(r, item, &report, o);
    note_left_threads(r);
    if (item->paused > 0) /* what was timed meanwhile has that in it */
        ypi_result_note(r, "stood still together with the runner for %.3g s", item->paused);
    r->tail = read_tail(item, &r->output_bytes);
    /* Of a process whose result goes nobody would learn of the directory. */
    const enum ypi_keep_tmp keep = item->watched != 0 ? YPI_KEEP_TMP_NONE : o->keep_tmp;
    ypi_tmp_path_end(item->channel, item->attempt, keep, r);
    end_paths_of_ranks(item, keep, r);
    ypi_item_remove_files(item);
    return report;
}
