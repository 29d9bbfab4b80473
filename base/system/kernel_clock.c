#include "base/system/clock.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

double ypi_kernel_now(void)
{
    struct timespec t = {0};
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void ypi_kernel_wait(_Atomic uint32_t *word, uint32_t value, double seconds)
{
    struct timespec span = {.tv_sec = (time_t)seconds};
    span.tv_nsec = (long)((seconds - (double)span.tv_sec) * 1e9);
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &span);
}

void ypi_kernel_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX);
}
