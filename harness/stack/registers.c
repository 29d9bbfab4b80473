#include "harness/stack/registers.h"

#include "base/system/clock.h"
#include "base/system/file.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

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
#if defined __x86_64__ || defined __aarch64__
    struct user_regs_struct user;
    struct iovec to = {.iov_base = &user, .iov_len = sizeof user};
    if (ptrace(PTRACE_GETREGSET, thread, (void *)NT_PRSTATUS, &to) != 0)
        return;
#if defined __x86_64__
    const uint64_t values[YPI_REGISTERS] = {
        user.rax, user.rdx, user.rcx, user.rbx, user.rsi, user.rdi, user.rbp, user.rsp, user.r8,
        user.r9,  user.r10, user.r11, user.r12, user.r13, user.r14, user.r15, user.rip};
    memcpy(out->value, values, sizeof values);
    out->pc = user.rip;
#else
    memcpy(out->value, user.regs, sizeof user.regs); /* x0 to x30 */
    out->value[YPI_REGISTER_SP] = user.sp;
    out->pc = user.pc;
#endif
    out->known = (UINT64_C(1) << YPI_REGISTERS) - 1;
#else
    (void)thread;
    (void)out;
#endif
}

#define PATIENCE_SECONDS 1.0
#define POLL_SECONDS 0.001

/* In a process of its own. */
static int trace(const pid_t *threads, int count, struct ypi_registers *out)
{
    int error = 0;
    for (int i = 0; i < count; i++) {
        /* Of a thread that is stopped it comes back once the registers can be read. */
        if (ptrace(PTRACE_SEIZE, threads[i], NULL, NULL) == 0)
            read_registers(threads[i], &out[i]);
        else if (errno != ESRCH) /* gone */
            error = errno;
    }
    return error;
}

/* A process that traces gets word of what it traces from wait(), by which Criterion waits for the
 * ends of cases in the runner. Another one traces, therefore, whose end sends no signal, so that
 * Criterion does not see it; what it traced is stopped as before then. It is not made by fork():
 * nothing is to run in it but this. A thread inside of an execve() that hangs cannot be seized. */
static int trace_apart(const pid_t *threads, int count, struct ypi_registers *shared)
{
    static _Atomic uint32_t never; /* nobody wakes who waits for it */
    int status = 0;
    const pid_t tracer = (pid_t)syscall(SYS_clone, 0UL, NULL, NULL, NULL, 0UL);
    if (tracer == 0)
        syscall(SYS_exit_group, trace(threads, count, shared));
    if (tracer < 0)
        return errno;
    const double end = ypi_kernel_now() + PATIENCE_SECONDS;
    pid_t ended = 0;
    while ((ended = waitpid(tracer, &status, (int)__WCLONE | WNOHANG)) == 0 &&
           ypi_kernel_now() < end)
        ypi_kernel_wait(&never, 0, POLL_SECONDS);
    if (ended != 0)
        return WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
    kill(tracer, SIGKILL);
    while (waitpid(tracer, &status, (int)__WCLONE) < 0 && errno == EINTR) {
    }
    return ETIMEDOUT;
}

int ypi_registers_of_stopped(pid_t pid, const pid_t *threads, int count, struct ypi_registers *out)
{
    const size_t size = (size_t)count * sizeof *out;
    memset(out, 0, size);
    struct ypi_registers *shared =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const int error = shared != MAP_FAILED ? trace_apart(threads, count, shared) : errno;
    if (shared != MAP_FAILED) {
        memcpy(out, shared, size);
        munmap(shared, size);
    }
    for (int i = 0; i < count; i++)
        if (out[i].known == 0)
            ypi_registers_of_waiting(pid, threads[i], &out[i]);
    return error;
}
