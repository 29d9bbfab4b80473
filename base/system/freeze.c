#include "base/system/freeze.h"

#include "base/system/clock.h"
#include "base/system/process.h"
#include "base/text/text.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static bool is_frozen(const struct ypi_frozen *frozen, pid_t pid)
{
    for (int i = 0; i < frozen->count; i++)
        if (frozen->pids[i] == pid)
            return true;
    return false;
}

/* False: it had been stopped. */
static bool freeze(struct ypi_frozen *frozen, pid_t pid)
{
    const char state = ypi_process_state(pid);
    if (is_frozen(frozen, pid) || state == '\0' || strchr("TtZX", state) != NULL ||
        kill(pid, SIGSTOP) != 0)
        return false;
    frozen->pids = ypi_realloc(frozen->pids, (size_t)frozen->count + 1, sizeof *frozen->pids);
    frozen->pids[frozen->count++] = pid;
    return true;
}

void ypi_freeze(struct ypi_frozen *frozen, pid_t root)
{
    enum { CAPACITY = 4096 };
    static const double patience = 0.5; /* seconds, with a chain of which each starts the next */
    const double end = ypi_kernel_now() + patience;
    pid_t *found = ypi_calloc(CAPACITY, sizeof *found);
    freeze(frozen, root);
    /* What is being stopped may just have started another. */
    for (bool again = true; again && ypi_kernel_now() < end;) {
        const int count = ypi_descendants(root, found, CAPACITY);
        again = false;
        for (int i = 0; i < count; i++)
            again = freeze(frozen, found[i]) || again;
    }
    free(found);
}

static bool any_runs(pid_t pid)
{
    enum { MOST = 256 };
    struct ypi_thread threads[MOST];
    const int count = ypi_threads(pid, threads, MOST);
    for (int i = 0; i < count; i++)
        if (strchr("TtZX", threads[i].state) == NULL)
            return true;
    return false;
}

void ypi_await_frozen(pid_t pid, double seconds)
{
    static const double pause = 0.0005;
    _Atomic uint32_t nothing = 0;
    const double end = ypi_kernel_now() + seconds;
    while (any_runs(pid) && ypi_kernel_now() < end)
        ypi_kernel_wait(&nothing, 0, pause);
}

void ypi_thaw(struct ypi_frozen *frozen)
{
    for (int i = frozen->count - 1; i >= 0; i--)
        kill(frozen->pids[i], SIGCONT);
    ypi_frozen_clear(frozen);
}

void ypi_frozen_clear(struct ypi_frozen *frozen)
{
    free(frozen->pids);
    *frozen = (struct ypi_frozen){0};
}

void ypi_stop_here(void)
{
    const struct sigaction stop = {.sa_handler = SIG_DFL};
    struct sigaction before;
    sigset_t mask;
    sigset_t masked;
    sigemptyset(&mask);
    sigaddset(&mask, SIGTSTP);
    sigaction(SIGTSTP, &stop, &before);
    pthread_sigmask(SIG_UNBLOCK, &mask, &masked);
    pthread_kill(pthread_self(), SIGTSTP); /* here it stops */
    pthread_sigmask(SIG_SETMASK, &masked, NULL);
    sigaction(SIGTSTP, &before, NULL);
}
