/*
 * Measuring a piece of work.
 *
 *     yp_measure(t, "fit", .items = pixels, .unit = "pixels", .bytes = 4.0 * values) {
 *         rx_fit(rx, tiles);
 *     }
 *
 * The block runs many times: first as warm-up, then for samples. A sample is a batch of one or more
 * iterations, large enough for the clock's resolution and timed as a whole on the device's stream.
 * The record has seconds per iteration, the number of iterations and the reason for stopping. The
 * estimate is the median with a distribution-free interval.
 *
 * `break` in the block ends the measurement and drops the current sample.
 *
 * With --speed=off nothing is timed. The block runs `.samples` times, else `.min_samples` times,
 * else ten times for a yp_max_growth, else once.
 */
#ifndef YIELDPOINT_MEASURE_H
#define YIELDPOINT_MEASURE_H

#include <yieldpoint/case.h>
#include <yieldpoint/ceiling.h>
#include <yieldpoint/keep.h>

YPI_BEGIN_C

#define YP_MAX_BOUNDS 8 /* of YP_WORK, yp_then() counted */

enum yp_bound_kind {
    YP_BOUND_NONE = 0,
    YP_BOUND_WORK,
    YP_BOUND_TRAFFIC,
    YP_BOUND_THEN,
    YP_BOUND_EXCHANGE
};

/* One of YP_WORK, made by its macros. */
struct yp_bound {
    enum yp_bound_kind kind YPI_OR_ZERO;
    enum yp_ceiling ceiling YPI_OR_ZERO;
    double work YPI_OR_ZERO;      /* operations or bytes per iteration; of an exchange: its size */
    double footprint YPI_OR_ZERO; /* of YP_BOUND_TRAFFIC */
};

/* A .footprint larger than every cache. */
#define YP_FOOTPRINT_MEMORY (-1.0)

struct yp_measure_options {
    const char *name; /* set by yp_measure; unique in the case */
    /* The work of one iteration, for rates; 0: unknown. */
    double items YPI_OR_ZERO;
    const char *unit YPI_OR_ZERO; /* of items, plural: "pixels" */
    double flops YPI_OR_ZERO;     /* operations, of the kind `arithmetic` */
    double bytes YPI_OR_ZERO;     /* read plus written, as `traffic` */
    /* The bounds of that work, for shares. */
    enum yp_ceiling arithmetic YPI_OR_ZERO; /* of flops [YP_FP32] */
    enum yp_ceiling traffic YPI_OR_ZERO;    /* of bytes [YP_COPY] */
    double footprint YPI_OR_ZERO; /* bytes that all iterations touch repeatedly; they come from the
                                     smallest cache that holds them. 0: unknown; work bound by
                                     bytes then has no share, unless it is .cold.
                                     YP_FOOTPRINT_MEMORY: larger than every cache */
    struct yp_bound bounds[YP_MAX_BOUNDS] YPI_OR_ZERO; /* further bounds: YP_WORK(...) below */
    int threads YPI_OR_ZERO; /* of the work; 0: all that the case may use */
    bool cold YPI_OR_ZERO;   /* caches are emptied before every iteration; each is timed alone */
    bool graph YPI_OR_ZERO; /* an accelerator's launches are recorded once, as a CUDA graph, and the
                               samples replay it; such work must not allocate or wait. Ignored on
                               the CPU */
    bool manual_time YPI_OR_ZERO; /* the body reports the time of each iteration by
                                     yp_iteration_time() */
    bool heap YPI_OR_ZERO; /* in a test with .heap: what the block allocates counts too, in all of
                              its iterations, so that their number must be fixed (.samples) where
                              the figures are to be. Else nothing is counted there; that a block is
                              freed there is noted, which takes some nanoseconds */
    /* Runs before every iteration, untimed; each iteration is then timed alone. */
    void (*reset)(void *arg) YPI_OR_ZERO;
    void *arg YPI_OR_ZERO; /* of reset */
    /* A fixed protocol. warmup -1: none; 0: as long as the adaptive rule needs, one iteration with
     * .samples. */
    int warmup YPI_OR_ZERO;  /* iterations */
    int samples YPI_OR_ZERO; /* number of samples, one iteration each, without the adaptive rule; on
                                the CPU the body runs for the warm-up and these alone */
    /* The adaptive rule: stop when every speed budget of this measurement is decided. Without a
     * budget, stop when half the interval is below `precision` of the median, or when more samples
     * do not narrow it. Stop in any case at `max_samples` or `max_seconds`, but not before
     * `min_samples`. 0 takes the defaults in brackets. */
    int min_samples YPI_OR_ZERO;    /* [10] */
    int max_samples YPI_OR_ZERO;    /* [10,000] */
    double max_seconds YPI_OR_ZERO; /* [1.0] */
    double precision YPI_OR_ZERO;   /* [0.01] */
    int end_ YPI_OR_ZERO;
    char bounds_fit_ YPI_OR_ZERO;
};

/*
 * All bounds of the work, if .flops and .bytes are not enough:
 *
 *     .bounds = YP_WORK(yp_work(YP_INT32, 9.25 * words), yp_work(YP_FP32, 20.5 * words),
 *                       yp_traffic(YP_FILL, 4 * words, YP_FOOTPRINT_MEMORY))
 *
 * The roofline (Williams, Waterman and Patterson, CACM 52, 2009): arithmetic units and memory
 * levels work at the same time, so the work takes at least the longest of their times. The longest
 * depends on the machine, so every ceiling is probed there. Bytes of several levels may be declared
 * at once. .flops and .bytes are bounds like these.
 *
 * If each step of the work needs the whole result of the step before, declare the steps one by one.
 * The work then takes at least the sum of their times:
 *
 *     .bounds = YP_WORK(yp_work(YP_INT32, words), yp_then(), yp_work(YP_FP32, fit))
 *
 * .flops and .bytes belong to the first step. Declare the least work that any implementation needs,
 * not the work of yours: the share then shows how much can still be gained. At most YP_MAX_BOUNDS
 * entries. Two entries of one step with the same ceiling and level are an error: add them up.
 */
/* clang-format off */
#ifdef __cplusplus
#define YP_WORK(...) { __VA_ARGS__ }
#else /* test.h says why */
#define YP_WORK(...) { __VA_ARGS__ }, .bounds_fit_ = YPI_FIT(YP_MAX_BOUNDS, struct yp_bound, __VA_ARGS__)
#endif
/* Operations of arithmetic. */
#define yp_work(ceiling_, operations_) \
    { .kind = YP_BOUND_WORK, .ceiling = ceiling_, .work = (double)(operations_) }
/* Bytes of traffic; footprint_ is the .footprint of these bytes, ignored for transfers between host
 * and device. */
#define yp_traffic(ceiling_, bytes_, footprint_) \
    { .kind = YP_BOUND_TRAFFIC, .ceiling = ceiling_, .work = (double)(bytes_), .footprint = (double)(footprint_) }
/* In a test with .ranks: data that the ranks exchange in an iteration, the same in all ranks.
 * ceiling_ is YP_ALL_REDUCE and so on; bytes_ is the operation's size as nccl-tests have it: of a
 * rank's array in an all-reduce, of what all ranks have together in an all-gather and a
 * reduce-scatter, of the message that each rank sends. With one rank it bounds nothing. */
#define yp_exchange(ceiling_, bytes_) \
    { .kind = YP_BOUND_EXCHANGE, .ceiling = ceiling_, .work = (double)(bytes_) }
#define yp_then() { .kind = YP_BOUND_THEN }
/* clang-format on */

struct yp_measurement; /* of the running case, owned by it */

#ifdef __cplusplus
#define YPI_MEASURE_OPTIONS yp_measure_options
#else
#define YPI_MEASURE_OPTIONS (struct yp_measure_options)
#endif

/* clang-format off */
#define yp_measure(...) YPI_MEASURE(__VA_ARGS__, .end_ = 0)
#define YPI_MEASURE(t_, name_, ...)                                                             \
    for (struct yp_measurement *ypi_m_ =                                                        \
             ypi_measure_begin(t_, YPI_MEASURE_OPTIONS{.name = name_, __VA_ARGS__});            \
         ypi_measure_next(ypi_m_);)                                                             \
        for (uint64_t ypi_i_ = ypi_measure_batch(ypi_m_), ypi_open_ = 1; ypi_open_ != 0;        \
             ypi_open_ = ypi_measure_sampled(ypi_m_, ypi_i_))                                   \
            for (; ypi_i_ > 0; ypi_i_--)

/* A named part of an iteration, inside a yp_measure block:
 *     yp_phase(t, "forward") { ... }
 * Its seconds per iteration are stored beside those of the measurement. */
#define yp_phase(t_, name_)                                                                     \
    for (bool ypi_p_ = ypi_phase_begin(t_, name_); ypi_p_; ypi_p_ = ypi_phase_end(t_))
/* clang-format on */

/* Code inside a yp_measure block that is not part of the iteration, such as restoring its input.
 *     yp_pause(t) { refill(queue); }
 * Its time, processor time, instructions and other counts are left out. Each pause adds two
 * readings of the clock (some 50 ns) to the measurement, or two events on a device; if one pause
 * before each iteration is enough, `.reset` adds nothing. Not allowed inside a phase or another
 * pause, or in yp_serve, whose requests wait for each other. */
/* clang-format off */
#define yp_pause(t_)                                                                            \
    for (bool ypi_q_ = ypi_pause_begin(t_); ypi_q_; ypi_q_ = ypi_pause_end(t_))
/* clang-format on */

/* With .manual_time: reports the time of this iteration by the body's own clock, such as that of
 * another machine or of a protocol analyser. Call it once in each iteration, with finite seconds
 * above 0. Processor time and counts are still those of the body. */
void yp_iteration_time(struct yp_case *t, double seconds);

/* Inside a yp_measure block: adds a finite `amount` to a count of what the iteration did. At the
 * end the case has a value of this name. yp_average stores the sum divided by the number of
 * iterations. yp_rate divides that average by the seconds per iteration, with the interval of the
 * median; for example yp_rate(t, "collisions", insert(table, keys, count)). yp_min_value and
 * yp_max_value judge the value like speed; it is NaN if nothing is timed. Up to 16 per measurement;
 * each name may be used once per case, as for yp_value. */
void yp_average(struct yp_case *t, const char *name, double amount);
void yp_rate(struct yp_case *t, const char *name, double amount);

struct yp_measurement *ypi_measure_begin(struct yp_case *t, struct yp_measure_options options);
bool ypi_measure_next(struct yp_measurement *m);
uint64_t ypi_measure_batch(struct yp_measurement *m);
uint64_t ypi_measure_sampled(struct yp_measurement *m, uint64_t left); /* always 0 */
bool ypi_pause_begin(struct yp_case *t);
bool ypi_pause_end(struct yp_case *t); /* always false */
bool ypi_phase_begin(struct yp_case *t, const char *name);
bool ypi_phase_end(struct yp_case *t); /* always false */

YPI_END_C

#endif
