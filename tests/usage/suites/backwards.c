/* To be preloaded: a wall clock that goes an hour back at every look. */
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define HOUR 3600

static atomic_int looks;

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): those of the C library are
 * reserved */
__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *out)
{
    long status = syscall(SYS_clock_gettime, clock, out);
    if (status == 0 && clock == CLOCK_REALTIME)
        out->tv_sec -= (time_t)HOUR * atomic_fetch_add(&looks, 1);
    return (int)status;
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): those of the C library are
 * reserved */
__attribute__((visibility("default"))) time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL)
        *out = now.tv_sec;
    return now.tv_sec;
}
