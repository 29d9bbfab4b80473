#include "harness/run/stack/registers.h"

#include "base/system/file.h"
#include "base/text/text.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

bool ypi_registers_of_waiting(pid_t pid, pid_t thread, struct ypi_registers *out)
{
    char path[64];
    char text[256];
    *out = (struct ypi_registers){0};
    snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)pid, (int)thread);
    if (ypi_read_file(path, text, sizeof text) == 0)
        return false;
    text[strcspn(text, "\n")] = '\0';
    /* "running", or what it waits in, and at last its stack pointer and where it is. */
    char *last = strrchr(text, ' ');
    if (last == NULL)
        return false;
    *last = '\0';
    const char *before = strrchr(text, ' ');
    if (before == NULL)
        return false;
    out->pc = strtoull(last + 1, NULL, 16);
    out->value[YPI_REGISTER_SP] = strtoull(before + 1, NULL, 16);
    out->known = UINT64_C(1) << YPI_REGISTER_SP;
    return out->pc != 0;
}

/* -- by ptrace ---------------------------------------------------------------------------- */

static void read_registers(pid_t thread, struct ypi_registers *out)
{
#if defined __x86_64__
    struct user_regs_struct user;
#elif defined __aarch64__
    struct user_regs_struct user; /* x0 to x30, sp, pc, pstate */
#endif
    struct iovec to = {.iov_base = &user, .iov_len = sizeof user};
    if (ptrace(PTRACE_GETREGSET, thread, (void *)NT_PRSTATUS, &to) != 0)
        return;
#if defined __x86_64__
    const uint64_t values[YPI_REGISTERS] = {
        user.rax, user.rdx, user.rcx, user.rbx, user.rsi, user.rdi, user.rbp, user.rsp, user.r8,
        user.r9,  user.r10, user.r11, user.r12, user.r13, user.r14, user.r15, user.rip};
    memcpy(out->value, values, sizeof values);
    out->pc = user.rip;
#elif defined __aarch64__
    memcpy(out->value, user.regs, sizeof user.regs);
    out->value[YPI_REGISTER_SP] = user.sp;
    out->pc = user.pc;
#endif
    out->known = (UINT64_C(1) << YPI_REGISTERS) - 1;
}

struct order {
    const pid_t *threads;
    int count;
    struct ypi_registers *out;
    int error;
};

/* In a process of its own, which shares the memory: a process that traces gets word of what it
 * traces from wait(), by which Criterion waits for the ends of cases in the runner. When this one
 * ends it traces no more, and what it traced is stopped as before. */
static int trace(void *argument)
{
    struct order *order = argument;
    for (int i = 0; i < order->count; i++) {
        /* Of a thread that is stopped it comes back once the registers can be read. */
        if (ptrace(PTRACE_SEIZE, order->threads[i], NULL, NULL) == 0)
            read_registers(order->threads[i], &order->out[i]);
        else if (errno != ESRCH) /* gone */
            order->error = errno;
    }
    return 0;
}

int ypi_registers_of_stopped(pid_t pid, const pid_t *threads, int count, struct ypi_registers *out)
{
    enum { STACK = 64 << 10 };
    struct order order = {.threads = threads, .count = count, .out = out};
    sigset_t all;
    sigset_t before;
    memset(out, 0, (size_t)count * sizeof *out);
    char *stack = ypi_calloc(STACK, 1);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    /* No signal for its end: Criterion does not see it then. */
    const pid_t tracer = clone(trace, stack + STACK, CLONE_VM | CLONE_VFORK, &order);
    if (tracer < 0)
        order.error = errno;
    while (tracer > 0 && waitpid(tracer, NULL, (int)__WCLONE) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    free(stack);
    for (int i = 0; i < count; i++)
        if (out[i].known == 0)
            ypi_registers_of_waiting(pid, threads[i], &out[i]);
    return order.error;
}
