/* To be preloaded: a wall clock that goes an hour back at every look. */
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HOUR 3600
#define EXPORTED __attribute__((visibility("default")))

/* In the place of the C library's. */
EXPORTED int look(clockid_t clock, struct timespec *out) __asm__("clock_gettime");
EXPORTED time_t look_at_seconds(time_t *out) __asm__("time");

static atomic_int looks;

int look(clockid_t clock, struct timespec *out)
{
    long status = syscall(SYS_clock_gettime, clock, out);
    if (status == 0 && clock == CLOCK_REALTIME)
        out->tv_sec -= (time_t)HOUR * atomic_fetch_add(&looks, 1);
    return (int)status;
}

time_t look_at_seconds(time_t *out)
{
    struct timespec now;
    look(CLOCK_REALTIME, &now);
    if (out != NULL)
        *out = now.tv_sec;
    return now.tv_sec;
}
