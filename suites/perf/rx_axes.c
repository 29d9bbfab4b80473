/* The operations of the RX detector over threads, tiles, images of one pass, and caches. */
#include "suites/perf/rx_work.h"

#include <string.h>

#define TAGS "perf medium"

/* A test with few channels, where memory and calls bound the work, and one with many, where
 * arithmetic does. At least this share of it, about 0.7 of what was reached on two cores. */
#define SWEEP(name_, what_, axis_, few_, many_, body_) \
    YP_TEST(rx, name_, .tags = TAGS, .axes = YP_AXES(yp_axis_int("channels", 10), axis_), \
            .budgets = YP_BUDGETS(yp_min_share(what_, few_))) \
    { \
        body_; \
    } \
    YP_TEST(rx, name_##_wide, .tags = TAGS, .axes = YP_AXES(yp_axis_int("channels", 100), axis_), \
            .budgets = YP_BUDGETS(yp_min_share(what_, many_))) \
    { \
        body_; \
    }

static struct scale image(const struct yp_case *t)
{
    return perf_image((size_t)yp_int(t, "channels"));
}

static void on_image(struct yp_case *t, size_t tile_pixels, struct rx_work how,
                     perf_measurement *operation)
{
    perf_scene(t, image(t), tile_pixels, how, operation);
}

/* -- threads ------------------------------------------------------------------------------- */

#define THREADS yp_axis_int("threads", 1, 2)

static struct rx_work on_threads(const struct yp_case *t)
{
    return (struct rx_work){.threads = (int)yp_int(t, "threads")};
}

SWEEP(scene_threads, "scene", THREADS, 0.006, 0.03,
      measure_scene(t, (size_t)yp_int(t, "channels"), 4, (int)yp_int(t, "threads")))
SWEEP(statistics_threads, "statistics", THREADS, 0.05, 0.25,
      on_image(t, PERF_TILE_PIXELS, on_threads(t), measure_statistics))
SWEEP(score_threads, "score", THREADS, 0.06, 0.4,
      on_image(t, PERF_TILE_PIXELS, on_threads(t), measure_score))
SWEEP(gradient_threads, "gradient step", THREADS, 0.015, 0.22,
      on_image(t, PERF_TILE_PIXELS, on_threads(t), measure_gradient_step))

/* -- tiles and images ---------------------------------------------------------------------- */

static void statistics_of_batch(struct yp_case *t)
{
    struct scale s = image(t);
    s.cubes = (size_t)yp_int(t, "batch");
    s.height = s.width = 128;
    perf_scene(t, s, PERF_TILE_PIXELS, (struct rx_work){0}, measure_statistics);
}

SWEEP(statistics_tile, "statistics", yp_axis_int("tile", 512, 1024, 4096, 16384), 0.04, 0.25,
      on_image(t, (size_t)yp_int(t, "tile"), (struct rx_work){0}, measure_statistics))
SWEEP(statistics_batch, "statistics", yp_axis_int("batch", 1, 4, 16), 0.04, 0.25,
      statistics_of_batch(t))

/* -- caches and memory --------------------------------------------------------------------- */

/* An image that a core's second-level cache holds, but for the cold, before whose iterations caches
 * are emptied. One thread: emptying leaves other cores' own caches alone. */
static void from_cache(struct yp_case *t, perf_measurement *operation)
{
    struct scale s = image(t);
    s.height = s.width = 32;
    perf_scene(t, s, s.height * s.width,
               (struct rx_work){.threads = 1, .cold = strcmp(yp_string(t, "cache"), "cold") == 0},
               operation);
}

SWEEP(statistics_cache, "statistics", yp_axis_string("cache", "hot", "cold"), 0.045, 0.3,
      from_cache(t, measure_statistics))
SWEEP(score_cache, "score", yp_axis_string("cache", "hot", "cold"), 0.045, 0.4,
      from_cache(t, measure_score))

/* More than any cache holds. Memory bounds it: the 11 operations of a value take a sixth of the
 * time that its 4 bytes take at the speed of copying, so only these are declared. */
YP_TEST(rx, statistics_memory, .tags = TAGS,
        .axes = YP_AXES(yp_axis_int("channels", 10), THREADS, yp_axis_int("mib", 256)),
        .budgets = YP_BUDGETS(yp_min_share("statistics", 0.07)))
{
    struct scale s = image(t);
    s.cubes = ((size_t)yp_int(t, "mib") << 20) / (4 * s.height * s.width * s.channels);
    struct rx_work how = on_threads(t);
    how.copying = true;
    perf_scene(t, s, PERF_TILE_PIXELS, how, measure_statistics);
}

/* -- one against the other ----------------------------------------------------------------- */

/* Reported and not judged: beside other programs, threads that wait for each other may gain
 * nothing, and a relation cannot be confirmed by fresh processes. Budgets judge two threads by
 * share. */
#define TWO_THREADS(test_, what_) \
    YP_RELATION(rx, test_##_ratio, .tags = TAGS, \
                .relation = yp_ratio_over("perf/rx_axes.c::" #test_, what_, "threads", "2", "1"))
#define HOT(test_, what_) \
    YP_RELATION(rx, test_##_ratio, .tags = TAGS, .budgets = YP_BUDGETS(yp_min_value("ratio", 1)), \
                .relation = \
                    yp_ratio_over("perf/rx_axes.c::" #test_, what_, "cache", "hot", "cold"))

TWO_THREADS(scene_threads, "scene");
TWO_THREADS(scene_threads_wide, "scene");
TWO_THREADS(statistics_threads, "statistics");
TWO_THREADS(statistics_threads_wide, "statistics");
TWO_THREADS(score_threads, "score");
TWO_THREADS(score_threads_wide, "score");
TWO_THREADS(gradient_threads, "gradient step");
TWO_THREADS(gradient_threads_wide, "gradient step");
HOT(statistics_cache, "statistics");
HOT(statistics_cache_wide, "statistics");
HOT(score_cache, "score");
HOT(score_cache_wide, "score");
