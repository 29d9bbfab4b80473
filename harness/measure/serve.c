/* Requests that come at a given rate, whether or not the one before is done. */
#include "base/numbers/splitmix.h"
#include "base/system/clock.h"
#include "base/text/text.h"
#include "harness/measure/measurement.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

/* A sleep ends some 60 us late; from so long before a request is due the clock is watched. */
#define WATCH_SECONDS 200e-6
#define PURPOSE UINT64_C(0x7365727665) /* of the random stream: "serve" */

struct ypi_arrivals {
    struct ypi_seed seed;
    double rate, begin, due, seconds;
    uint64_t requests, sent; /* requests 0: until `seconds` are over */
    bool regular;
};

struct ypi_arrivals *ypi_arrivals_open(const struct yp_serve_options *options, uint64_t seed,
                                       double begin)
{
    struct ypi_arrivals *a = ypi_calloc(1, sizeof *a);
    *a = (struct ypi_arrivals){.seed = ypi_seed_of(seed, PURPOSE, 0),
                               .rate = options->rate,
                               .begin = begin,
                               .due = begin,
                               .seconds = options->seconds,
                               .requests = (uint64_t)options->requests,
                               .regular = options->regular};
    return a;
}

static void wait_until(double due)
{
    double left = due - ypi_now();
    if (left > WATCH_SECONDS) {
        double nap = left - WATCH_SECONDS;
        struct timespec pause = {.tv_sec = (time_t)nap,
                                 .tv_nsec = (long)((nap - floor(nap)) * 1e9)};
        nanosleep(&pause, NULL);
    }
    while (ypi_now() < due) {
    }
}

bool ypi_arrivals_wait(struct ypi_arrivals *a)
{
    if (a->requests > 0 && a->sent == a->requests)
        return false;
    double gap = a->regular ? 1 / a->rate : -log(ypi_seed_uniform(&a->seed)) / a->rate;
    a->due += gap;
    if (a->requests == 0 && a->due - a->begin > a->seconds)
        return false;
    a->sent++;
    wait_until(a->due);
    return true;
}

double ypi_arrivals_latency(const struct ypi_arrivals *a)
{
    return ypi_now() - a->due;
}

void ypi_arrivals_close(struct ypi_arrivals *a)
{
    free(a);
}
