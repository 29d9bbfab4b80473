/*
 * Measuring a piece of work.
 *
 *     yp_measure(t, "fit", .items = pixels, .unit = "pixels", .bytes = 4.0 * values) {
 *         rx_fit(rx, tiles);
 *     }
 *
 * The block runs many times: warm-up first, then samples. A sample is one or more iterations in
 * a row (a batch, sized so that the clock's resolution does not matter), timed as a whole on the
 * device's stream; what is stored is seconds an iteration. How often it ran and why it stopped
 * are stored too. The estimate is the median with a distribution-free interval.
 *
 * `break` in the block ends the measurement after the current sample, which is dropped.
 *
 * With --speed=off nothing is timed: the block runs once, or `.samples` times, else `.min_samples`
 * times, where these are given; ten times for a yp_max_growth without them.
 */
#ifndef YIELDPOINT_MEASURE_H
#define YIELDPOINT_MEASURE_H

#include <yieldpoint/case.h>
#include <yieldpoint/ceiling.h>
#include <yieldpoint/keep.h>

#ifdef __cplusplus
extern "C" {
#endif

#define YP_MAX_BOUNDS 8 /* of YP_WORK, yp_then() counted */

enum yp_bound_kind { YP_BOUND_NONE = 0, YP_BOUND_WORK, YP_BOUND_TRAFFIC, YP_BOUND_THEN };

/* One of YP_WORK, made by its macros. */
struct yp_bound {
    enum yp_bound_kind kind YPI_OR_ZERO;
    enum yp_ceiling ceiling YPI_OR_ZERO;
    double work YPI_OR_ZERO;      /* operations or bytes an iteration */
    double footprint YPI_OR_ZERO; /* of YP_BOUND_TRAFFIC */
};

/* A .footprint that no cache holds. */
#define YP_FOOTPRINT_MEMORY (-1.0)

struct yp_measure_options {
    const char *name; /* set by yp_measure; unique in the case */
    /* Work of one iteration, for rates; 0: unknown. */
    double items YPI_OR_ZERO;
    const char *unit YPI_OR_ZERO; /* of items, plural: "pixels" */
    double flops YPI_OR_ZERO;     /* operations, whatever `arithmetic` they are */
    double bytes YPI_OR_ZERO;     /* read plus written, as `traffic` */
    /* What bounds that work, for yp_min_share and the classification of every measurement. */
    enum yp_ceiling arithmetic YPI_OR_ZERO; /* of flops [YP_FP32] */
    enum yp_ceiling traffic YPI_OR_ZERO;    /* of bytes [YP_COPY] */
    double footprint YPI_OR_ZERO; /* bytes that all iterations touch again and again: the smallest
                                     cache that holds them is the level meant. 0: not known; where
                                     bytes are what bounds the work there is then no share, unless
                                     it is .cold. YP_FOOTPRINT_MEMORY: beyond every cache */
    struct yp_bound bounds[YP_MAX_BOUNDS] YPI_OR_ZERO; /* beside these: YP_WORK(...) below */
    int threads YPI_OR_ZERO; /* that the work runs on; 0: as many as the case may use */
    bool cold YPI_OR_ZERO;   /* caches are emptied before every iteration, which is timed alone */
    bool graph YPI_OR_ZERO; /* an accelerator's launches are recorded once, as CUDA's graph, and the
                               samples replay them; such work allocates nothing and waits
                               for nothing. Ignored on the CPU */
    bool manual_time YPI_OR_ZERO; /* the body says how long each iteration took: see
                                     yp_iteration_time() */
    /* Runs before every iteration, untimed; iterations are then timed one by one. */
    void (*reset)(void *arg) YPI_OR_ZERO;
    void *arg YPI_OR_ZERO; /* of reset */
    /* A fixed protocol. -1 for warmup: none. 0: as long as the adaptive rule needs, one iteration
     * with .samples. */
    int warmup YPI_OR_ZERO;  /* iterations */
    int samples YPI_OR_ZERO; /* samples to take, an iteration each; the adaptive rule is off:
                                on the CPU the body runs for the warm-up and these alone */
    /* The adaptive rule: stop when every speed budget of this measurement is decided; without one,
     * when the interval's half-width is below `precision` of the median, or when more samples make
     * it no narrower; in any case when `max_samples` are taken or `max_seconds` are over, but not
     * before `min_samples`. 0 takes the defaults in brackets. */
    int min_samples YPI_OR_ZERO;    /* [10] */
    int max_samples YPI_OR_ZERO;    /* [10,000] */
    double max_seconds YPI_OR_ZERO; /* [1.0] */
    double precision YPI_OR_ZERO;   /* [0.01] */
    int end_ YPI_OR_ZERO;
    char bounds_fit_ YPI_OR_ZERO;
};

/*
 * All that bounds the work, where .flops and .bytes are not all of it:
 *
 *     .bounds = YP_WORK(yp_work(YP_INT32, 9.25 * words), yp_work(YP_FP32, 20.5 * words),
 *                       yp_traffic(YP_FILL, 4 * words, YP_FOOTPRINT_MEMORY))
 *
 * The roofline (Williams, Waterman and Patterson, CACM 52, 2009): units and levels of memory work
 * at the same time, so the work takes at least as long as the longest of what each of them needs.
 * Which one that is depends on the machine; every ceiling is probed there. Bytes may be declared of
 * several levels at once. .flops and .bytes are bounds like these.
 *
 * Work done in steps of which each needs all that the one before has made is declared step by step,
 * and takes at least the sum of their times:
 *
 *     .bounds = YP_WORK(yp_work(YP_INT32, words), yp_then(), yp_work(YP_FP32, fit))
 *
 * .flops and .bytes belong to the first step. Declare the least that any way of doing the work
 * needs, not what yours does: a share says how much is left. At most YP_MAX_BOUNDS entries; two of
 * one step that name the same ceiling and level are a mistake: add them up.
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
/* Bytes of traffic; footprint_: as .footprint, of these bytes. Of no meaning for transfers between
 * host and device. */
#define yp_traffic(ceiling_, bytes_, footprint_) \
    { .kind = YP_BOUND_TRAFFIC, .ceiling = ceiling_, .work = (double)(bytes_), .footprint = (double)(footprint_) }
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
 * Its seconds an iteration are stored beside the measurement's. */
#define yp_phase(t_, name_)                                                                     \
    for (bool ypi_p_ = ypi_phase_begin(t_, name_); ypi_p_; ypi_p_ = ypi_phase_end(t_))
/* clang-format on */

/* Inside a yp_measure block: what is no part of the iteration, such as putting its input back.
 *     yp_pause(t) { refill(queue); }
 * Neither its time nor its processor time counts, nor do its instructions and other counts. Each
 * pause costs the measurement two readings of the clock (some 50 ns), on a device two events; where
 * a pause before each iteration is enough, `.reset` costs nothing. Not inside a phase or another
 * pause, and not in yp_serve, whose requests wait for each other. */
/* clang-format off */
#define yp_pause(t_)                                                                            \
    for (bool ypi_q_ = ypi_pause_begin(t_); ypi_q_; ypi_q_ = ypi_pause_end(t_))
/* clang-format on */

/* With .manual_time: how long this iteration took, by a clock of the body's own, such as that of
 * another machine or of a protocol analyser. Called once in each iteration; seconds finite and
 * above 0. Processor time and counts are still those of the body. */
void yp_iteration_time(struct yp_case *t, double seconds);

/* Inside a yp_measure block: `amount`, finite, more of what the iteration did. What it comes to
 * over all samples is a value of the case of this name: yp_average, its sum over the iterations;
 * yp_rate, that average over the seconds of an iteration, a second, with the interval of the
 * median. yp_rate(t, "collisions", insert(table, keys, count)); yp_min_value and yp_max_value judge
 * it as speed is judged; NaN where nothing is timed. Up to 16 in a measurement; names are those of
 * values, used once a case. */
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

#ifdef __cplusplus
}
#endif

#endif
