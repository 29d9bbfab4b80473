#include "ranks/probe.h"

#include "base/numbers/stats.h"
#include "base/system/clock.h"

#include <math.h>
#include <string.h>

#define SAMPLE_SECONDS 1e-3 /* a sample of shorter calls has more of them */
enum { SAMPLES_MOST = 64, SAMPLES_LEAST = 3, CALLS_MOST = 10000, WARM = 2 };

struct probe {
    struct ypk_communicator *c;
    enum ypk_probed what;
    size_t each; /* floats of a rank */
    float *data, *other;
};

const char *ypk_probe_name(enum ypk_probed what)
{
    static const char *const names[] = {"barrier", "all-reduce", "all-gather", "reduce-scatter",
                                        "exchange"};
    return names[what];
}

static enum yp_status call(const struct probe *p)
{
    const int size = ypk_size(p->c);
    const int rank = ypk_rank(p->c);
    const size_t bytes = p->each * sizeof(float);
    switch (p->what) {
    case YPK_PROBE_ALL_REDUCE:
        return ypk_all_reduce(p->c, p->data, p->each, YPK_FLOAT, YPK_SUM);
    case YPK_PROBE_ALL_GATHER:
        return ypk_all_gather(p->c, p->other, bytes, p->data);
    case YPK_PROBE_REDUCE_SCATTER:
        return ypk_reduce_scatter(p->c, p->data, p->each, p->other, YPK_FLOAT, YPK_SUM);
    case YPK_PROBE_EXCHANGE:
        return ypk_exchange(p->c, p->data, bytes, (rank + 1) % size, p->other, bytes,
                            (rank + size - 1) % size);
    default:
        return ypk_barrier(p->c);
    }
}

/* Seconds a call on the slowest rank. */
static enum yp_status sample(const struct probe *p, int calls, double *seconds)
{
    enum yp_status status = ypk_barrier(p->c);
    const double begin = ypi_now();
    for (int i = 0; i < calls && status == YP_OK; i++)
        status = call(p);
    *seconds = (ypi_now() - begin) / calls;
    return status == YP_OK ? ypk_all_reduce(p->c, seconds, 1, YPK_DOUBLE, YPK_MAX) : status;
}

static enum yp_status measure(const struct probe *p, double limit, struct ypk_figure *out)
{
    double samples[SAMPLES_MOST];
    double one = 0;
    enum yp_status status = YP_OK;
    memset(p->data, 0, p->each * sizeof(float)); /* sums stay what they are */
    for (int i = 0; i < WARM && status == YP_OK; i++)
        status = sample(p, 1, &one);
    /* All ranks have the same times, and so the same numbers. */
    const double wanted = ceil(SAMPLE_SECONDS / fmax(one, SAMPLE_SECONDS / CALLS_MOST));
    const int calls = wanted > 1 ? (int)wanted : 1;
    double spent = 0;
    int count = 0;
    while (status == YP_OK && count < SAMPLES_MOST && (spent < limit || count < SAMPLES_LEAST)) {
        status = sample(p, calls, &samples[count]);
        spent += samples[count] * calls;
        count++;
    }
    if (status != YP_OK)
        return status;
    const struct ypi_estimate estimate = ypi_estimate(samples, (size_t)count);
    *out = (struct ypk_figure){
        .seconds = estimate.median, .least = estimate.min, .most = estimate.max, .samples = count};
    return YP_OK;
}

double ypk_bus_bytes(enum ypk_probed what, double bytes, int ranks)
{
    const double others = (double)(ranks - 1) / ranks;
    switch (what) {
    case YPK_PROBE_ALL_REDUCE:
        return 2 * others * bytes;
    case YPK_PROBE_ALL_GATHER:
    case YPK_PROBE_REDUCE_SCATTER:
        return others * bytes;
    case YPK_PROBE_EXCHANGE:
        return bytes;
    default:
        return NAN;
    }
}

static void rates(const struct probe *p, struct ypk_figure *out)
{
    const int ranks = ypk_size(p->c);
    const bool parts = p->what == YPK_PROBE_ALL_GATHER || p->what == YPK_PROBE_REDUCE_SCATTER;
    const double bytes = (double)(p->each * sizeof(float)) * (parts ? ranks : 1);
    out->algorithm = p->what == YPK_PROBE_BARRIER ? NAN : bytes / out->seconds;
    out->bus = ypk_bus_bytes(p->what, bytes, ranks) / out->seconds;
}

enum yp_status ypk_probe(struct ypk_communicator *c, enum ypk_probed what, size_t bytes,
                         double seconds, struct ypk_figure *out)
{
    const size_t ranks = (size_t)ypk_size(c);
    const bool parts = what == YPK_PROBE_ALL_GATHER || what == YPK_PROBE_REDUCE_SCATTER;
    struct probe p = {.c = c, .what = what};
    p.each = bytes / sizeof(float) / (parts ? ranks : 1);
    if (ranks < 2)
        return yp_set_error(YP_INVALID, "ranks: a %s of one rank has no time",
                            ypk_probe_name(what));
    if (p.each == 0 && what != YPK_PROBE_BARRIER)
        return yp_set_error(YP_INVALID,
                            "ranks: a %s of %zu bytes is less than a float of %zu ranks",
                            ypk_probe_name(what), bytes, parts ? ranks : 1);
    p.data = ypk_allocate(c, p.each * ranks * sizeof(float));
    p.other = p.data != NULL ? ypk_allocate(c, p.each * sizeof(float)) : NULL;
    enum yp_status status = yp_last_status();
    if (p.data != NULL && p.other != NULL)
        status = measure(&p, seconds, out);
    if (p.other != NULL && ypk_free(c, p.other) != YP_OK && status == YP_OK)
        status = yp_last_status();
    if (p.data != NULL && ypk_free(c, p.data) != YP_OK && status == YP_OK)
        status = yp_last_status();
    if (status == YP_OK)
        rates(&p, out);
    return status;
}
