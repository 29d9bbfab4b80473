#include "harness/criterion/faults.h"

#include "harness/criterion/surroundings.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <unistd.h>

static pid_t own_pid; /* of the runner */
static void (*when_ended)(void);
static int exit_code;

static void exit_at_abort(int number)
{
    (void)number;
    _exit(exit_code);
}

void ypi_faults_end(int code)
{
    exit_code = code;
    signal(SIGABRT, exit_at_abort);
}

/* Criterion ends the program where the system refuses it something in the middle of a run. abort()
 * calls this like a function, in a thread that is in Criterion. */
static void on_abort_of_criterion(int number)
{
    enum { PATIENCE = 30 };
    signal(SIGABRT, exit_at_abort);
    if (getpid() != own_pid) /* forked, and not yet another program */
        exit_at_abort(number);
    alarm(PATIENCE); /* whatever was going on may hold a lock that this needs */
    when_ended();
}

/* The library, or program, whose code was interrupted. */
static const char *object_of(const ucontext_t *at)
{
    Dl_info info;
#if defined(__x86_64__)
    const uintptr_t code = (uintptr_t)at->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    const uintptr_t code = (uintptr_t)at->uc_mcontext.pc;
#else
    const uintptr_t code = 0;
    (void)at;
#endif
    return code != 0 && dladdr((const void *)code, &info) != 0 ? info.dli_fname : "";
}

static struct sigaction fault_before;

/* Some of what the system refuses Criterion does not look at, and uses all the same (version 2.4.1
 * whose files are taken away while it starts a process). Faults of others are none of this. */
static void on_fault_of_criterion(int number, siginfo_t *about, void *context)
{
    sigaction(number, &fault_before, NULL);
    if (about->si_code <= 0 || strstr(object_of(context), "libcriterion") == NULL) {
        if (about->si_code <= 0) /* sent by somebody: it does not happen again by itself */
            raise(number);
        return;
    }
    fputs("error: Criterion has crashed; was it refused something, as by a limit (ulimit -a)?\n",
          stderr);
    on_abort_of_criterion(number);
}

/* In every process that the runner forks. Criterion's child asks for its end with the runner's a
 * little later, and stops: where the runner was killed before, it would stay stopped for ever, with
 * the run's output open. */
static void begin_child(void)
{
    const pid_t runner = own_pid;
    if (runner == 0)
        return;
    own_pid = 0; /* what this process forks is its own affair */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != runner)
        _exit(EXIT_FAILURE);
    ypi_surroundings_make_way();
}

void ypi_faults_catch(void (*ended)(void), int code)
{
    own_pid = getpid();
    when_ended = ended;
    exit_code = code;
    pthread_atfork(NULL, NULL, begin_child);
    const struct sigaction action = {.sa_handler = on_abort_of_criterion};
    const struct sigaction at_fault = {.sa_sigaction = on_fault_of_criterion,
                                       .sa_flags = SA_SIGINFO};
    sigaction(SIGABRT, &action, NULL);
    sigaction(SIGSEGV, &at_fault, &fault_before);
}

void ypi_faults_leave(void)
{
    signal(SIGABRT, SIG_DFL);
    sigaction(SIGSEGV, &fault_before, NULL);
    own_pid = 0;
}
