#include "harness/body/stack.h"

#include "base/system/clock.h"
#include "base/system/process.h"
#include "harness/body/state.h"
#include "harness/stack/pending.h"
#include "harness/stack/symbols.h"
#include "harness/stack/walk.h"

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

/* Present in a program built with a sanitizer. */
extern void __asan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));
extern void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

enum { THREADS_MOST = 256, ALTERNATE_BYTES = 1 << 17 };

/* Of exception.h, for C++. */
#pragma GCC visibility push(default)
void ypi_uncaught(const char *type, const char *what);
void ypi_not_unwound(void);
#pragma GCC visibility pop

/* Of this process: a signal's handler has no other way to them. */
static struct {
    const struct yp_case *t;
    pid_t thread;               /* that of the case */
    const void *volatile below; /* on its stack */
    struct ypi_thread before[THREADS_MOST];
    int before_count;
    char alternate[ALTERNATE_BYTES]; /* a stack that overflowed has no space for a handler */
} here;

static pid_t thread_id(void)
{
    return (pid_t)syscall(SYS_gettid);
}

struct walk {
    struct ypi_stack *stack;
    uintptr_t from; /* where the signal came; 0 once that was seen */
    bool own;       /* the case's thread */
};

/* Takes no lock, where the C library can: whatever was interrupted may hold it. */
static void locate(struct ypi_frame *frame, uintptr_t address)
{
    const char *module = "";
    uintptr_t base = 0;
#ifdef DLFO_STRUCT_HAS_EH_DBASE
    struct dl_find_object found;
    if (_dl_find_object((void *)address, &found) == 0) {
        base = found.dlfo_link_map->l_addr;
        module = found.dlfo_link_map->l_name;
    }
#else
    Dl_info found;
    struct link_map *map = NULL;
    if (dladdr1((void *)address, &found, (void **)&map, RTLD_DL_LINKMAP) != 0) {
        base = map->l_addr;
        module = map->l_name;
    }
#endif
    frame->offset = address - base;
    ypi_module_name(frame->module, module);
}

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *arg)
{
    struct walk *walk = arg;
    int exact = 0; /* else it is where a call returns to */
    uintptr_t address = _Unwind_GetIPInfo(context, &exact);
    if (walk->from != 0 && address != walk->from)
        return _URC_NO_REASON; /* the handler's */
    walk->from = 0;
    /* The stack pointer of this frame: beyond `below` is the caller of what set it. */
    if (walk->own && here.below != NULL && _Unwind_GetCFA(context) > (uintptr_t)here.below) {
        walk->stack->count -= walk->stack->count > 0;
        return _URC_END_OF_STACK;
    }
    if (address == 0 || walk->stack->count == YPI_FRAMES_MAX)
        return _URC_END_OF_STACK;
    struct ypi_frame *frame = &walk->stack->frames[walk->stack->count++];
    locate(frame, address - (exact == 0));
    return _URC_NO_REASON;
}

static uintptr_t interrupted_at(const void *context)
{
    const ucontext_t *user = context;
#if defined __x86_64__
    return (uintptr_t)user->uc_mcontext.gregs[REG_RIP];
#elif defined __aarch64__
    return (uintptr_t)user->uc_mcontext.pc;
#else
    (void)user;
    return 0;
#endif
}

static void send_stack_from(enum ypi_stack_kind kind, uintptr_t from)
{
    struct ypi_stack stack;
    memset(&stack, 0, offsetof(struct ypi_stack, frames));
    stack.kind = kind;
    stack.thread = thread_id();
    stack.of_case = stack.thread == here.thread;
    prctl(PR_GET_NAME, stack.name);
    struct walk walk = {&stack, from, stack.of_case};
    _Unwind_Backtrace(visit, &walk);
    ypi_channel_send(here.t->child->job->channel, YPI_MESSAGE_STACK, &stack,
                     offsetof(struct ypi_stack, frames), stack.frames,
                     (size_t)stack.count * sizeof *stack.frames);
}

static void send_stack(enum ypi_stack_kind kind, const void *context)
{
    send_stack_from(kind, interrupted_at(context));
}

void ypi_stack_of_allocation(uintptr_t caller)
{
    send_stack_from(YPI_STACK_LEAK, caller);
}

/* What was printed without an end of line; exit() would write it. */
static void write_pending(void)
{
    size_t size = 0;
    const void *bytes = ypi_pending(stdout, &size);
    if (size > 0 && write(fileno_unlocked(stdout), bytes, size) < 0)
        return; /* whatever crashed it may have destroyed that, too */
    stdout->_IO_write_ptr = stdout->_IO_write_base; /* a sanitizer may yet abort */
}

static bool sanitized(void)
{
    return __asan_init != NULL || __tsan_init != NULL;
}

/* The process dies of the signal all the same. */
static void on_crash(int number, siginfo_t *info, void *context)
{
    if (getpid() == here.t->child->pid) {
        write_pending();
        if (!sanitized())
            send_stack(YPI_STACK_CRASH, context);
    }
    signal(number, SIG_DFL);
    if (info->si_code <= 0) /* sent, and not raised anew by the instruction that is returned to */
        syscall(SYS_tgkill, getpid(), thread_id(), number);
}

/* So that the runner does not look for what they do. */
static void send_framework_threads(void)
{
    for (int i = 0; i < here.before_count; i++) {
        struct ypi_stack stack = {.kind = YPI_STACK_BEFORE, .thread = here.before[i].id};
        if (stack.thread != here.thread)
            ypi_child_send(here.t, YPI_MESSAGE_STACK, &stack, offsetof(struct ypi_stack, frames),
                           NULL, 0);
    }
}

static _Unwind_Reason_Code stop(struct _Unwind_Context *context, void *arg)
{
    (void)context;
    (void)arg;
    return _URC_END_OF_STACK;
}

/* In which the numbers of a process's threads usually follow its own. */
enum { NEAR = 64 };

/* The framework's threads, which were started right before. That their directories in /proc are not
 * looked into spares the reaper of the process a wait: the kernel keeps an entry of each that was.
 */
static void find_framework_threads(void)
{
    const int wanted = ypi_thread_count();
    const pid_t own = getpid();
    here.before_count = 0;
    for (pid_t id = own; id < own + NEAR && here.before_count < wanted; id++)
        if (syscall(SYS_tgkill, own, id, 0) == 0)
            here.before[here.before_count++] = (struct ypi_thread){.id = id};
    if (here.before_count != wanted)
        here.before_count = ypi_threads(own, here.before, THREADS_MOST);
}

/* As many as there were, and each of those is there still. */
static bool only_framework_threads(void)
{
    int there = 0;
    for (int i = 0; i < here.before_count; i++)
        there += syscall(SYS_tgkill, getpid(), here.before[i].id, 0) == 0;
    return there > 0 && there == ypi_thread_count();
}

void ypi_stack_watch(const struct yp_case *t)
{
    /* At the end of its report a sanitizer aborts. */
    static const int crashes[] = {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL};
    const size_t count = sanitized() ? 1 : sizeof crashes / sizeof *crashes;
    struct sigaction action = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    here.t = t;
    if (__sanitizer_set_death_callback != NULL)
        __sanitizer_set_death_callback(write_pending);
    here.thread = thread_id();
    find_framework_threads();
    send_framework_threads();
    _Unwind_Backtrace(stop, NULL); /* what it loads at first it loads here */
    if (t->test->command != NULL)
        return; /* the stack tells nothing of the command */
    stack_t alternate = {.ss_sp = here.alternate, .ss_size = sizeof here.alternate};
    if (!sanitized()) /* which has its own */
        sigaltstack(&alternate, NULL);
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < count; i++)
        sigaction(crashes[i], &action, NULL);
}

/* The place where it was thrown is on the stack of the abort that follows. */
void ypi_uncaught(const char *type, const char *what)
{
    if (here.t != NULL && getpid() == here.t->child->pid)
        ypi_child_fail(here.t, YPI_CAUSE_SIGNAL, NULL, 0, "uncaught exception %s%s%s", type,
                       what != NULL ? ": " : "", what != NULL ? what : "");
}

/* Only the thread of the body throws it. */
void ypi_not_unwound(void)
{
    here.t->child->unwind = NULL;
    longjmp(here.t->child->leave, 1);
}

const void *ypi_stack_below(const void *frame)
{
    const void *before = here.below;
    here.below = frame;
    return before;
}

static bool was_there(pid_t thread)
{
    for (int i = 0; i < here.before_count; i++)
        if (here.before[i].id == thread)
            return true;
    return false;
}

static int look_for_pool(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    return ypi_is_pool(info->dlpi_name);
}

static bool is_there(pid_t thread)
{
    return syscall(SYS_tgkill, getpid(), thread, 0) == 0;
}

/* False while it runs; a signal to it would end what it waits in. */
static bool read_stack(const struct ypi_target *target, pid_t thread, struct ypi_stack *stack)
{
    struct ypi_registers at;
    struct ypi_registers after;
    if (!ypi_registers_of_waiting(target->pid, thread, &at))
        return false;
    ypi_walk(target, &at, 0, stack);
    return ypi_registers_of_waiting(target->pid, thread, &after) &&
           memcmp(&at, &after, sizeof at) == 0;
}

/* One that runs is soon gone, or waits again; but those of a pool look for work all along. */
static void note_left_thread(const struct ypi_target *target, const struct ypi_thread *thread,
                             double until)
{
    static const struct timespec pause = {.tv_nsec = 1000000};
    struct ypi_stack stack = {.kind = YPI_STACK_LEFT, .thread = thread->id};
    memcpy(stack.name, thread->name, sizeof stack.name);
    while (!read_stack(target, thread->id, &stack)) {
        stack.count = 0;
        if (!is_there(thread->id) || dl_iterate_phdr(look_for_pool, NULL) != 0)
            return;
        if (ypi_kernel_now() > until)
            break;
        nanosleep(&pause, NULL);
    }
    ypi_child_send(here.t, YPI_MESSAGE_STACK, &stack, offsetof(struct ypi_stack, frames),
                   stack.frames, (size_t)stack.count * sizeof *stack.frames);
}

void ypi_stack_of_left_threads(void)
{
    static const double patience = 0.05; /* seconds */
    struct ypi_thread found[THREADS_MOST];
    struct ypi_target target;
    if (here.t->test->command != NULL || only_framework_threads())
        return;
    const int count = ypi_threads(getpid(), found, THREADS_MOST);
    const double until = ypi_kernel_now() + patience;
    ypi_target_open(&target, getpid());
    for (int i = 0; i < count; i++)
        if (!was_there(found[i].id))
            note_left_thread(&target, &found[i], until);
    ypi_target_close(&target);
}

const void *ypi_stack_below_at(void)
{
    return (const void *)&here.below;
}
