/*
 * Latency under load.
 *
 *     yp_serve(t, "lookup", .rate = 2000, .seconds = 5) {
 *         answer(request);
 *     }
 *
 * Requests arrive at a given rate, whether or not the one before is done. The latency of a request
 * counts from the time it was due, so it includes waiting behind others. (A loop that sends the
 * next request after the last answer would leave that out.) Each latency is one sample.
 *
 * With --speed=off nothing waits and nothing is timed: `.requests` are answered, or one.
 */
#ifndef YIELDPOINT_SERVE_H
#define YIELDPOINT_SERVE_H

#include <yieldpoint/measure.h>

YPI_BEGIN_C

struct yp_serve_options {
    const char *name; /* set by yp_serve; the measurement's name, unique in the case */
    double rate;      /* requests a second, above 0 */
    /* Ends after `requests` if set, else after `seconds` of arrivals. */
    double seconds YPI_OR_ZERO; /* [2] */
    int requests YPI_OR_ZERO;
    int warmup YPI_OR_ZERO;   /* requests answered back to back before the first is due [10]; -1:
                                 none */
    bool regular YPI_OR_ZERO; /* evenly spaced arrivals; else a Poisson process from the seed */
    int end_ YPI_OR_ZERO;
};

#ifdef __cplusplus
#define YPI_SERVE_OPTIONS yp_serve_options
#else
#define YPI_SERVE_OPTIONS (struct yp_serve_options)
#endif

/* clang-format off */
#define yp_serve(...) YPI_SERVE(__VA_ARGS__, .end_ = 0)
#define YPI_SERVE(t_, name_, ...)                                                               \
    for (struct yp_measurement *ypi_m_ =                                                        \
             ypi_serve_begin(t_, YPI_SERVE_OPTIONS{.name = name_, __VA_ARGS__});                \
         ypi_measure_next(ypi_m_);)                                                             \
        for (uint64_t ypi_i_ = 1, ypi_open_ = 1; ypi_open_ != 0;                                \
             ypi_open_ = ypi_measure_sampled(ypi_m_, ypi_i_))                                   \
            for (; ypi_i_ > 0; ypi_i_--)
/* clang-format on */

struct yp_measurement *ypi_serve_begin(struct yp_case *t, struct yp_serve_options options);

YPI_END_C

#endif
