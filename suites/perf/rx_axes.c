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
        body_(t); \
    } \
    YP_TEST(rx, name_##_wide, .tags = TAGS, .axes = YP_AXES(yp_axis_int("channels", 100), axis_), \
            .budgets = YP_BUDGETS(yp_min_share(what_, many_))) \
    { \
        body_(t); \
    }

static struct scale image(const struct yp_case *t)
{
    return perf_image((size_t)yp_int(t, "channels"));
}

/* -- threads ------------------------------------------------------------------------------- */

#define THREADS yp_axis_int("threads", 1, 2)

static struct rx_work on_threads(const struct yp_case *t)
{
    return (struct rx_work){.threads = (int)yp_int(t, "threads")};
}

static void scene_on_threads(struct yp_case *t)
{
    measure_scene(t, (size_t)yp_int(t, "channels"), 4, (int)yp_int(t, "threads"));
}

static void statistics_on_threads(struct yp_case *t)
{
    struct scale s = image(t);
    perf_statistics(t, &s, PERF_TILE_PIXELS, on_threads(t));
}

static void score_on_threads(struct yp_case *t)
{
    struct scale s = image(t);
    perf_score(t, &s, PERF_TILE_PIXELS, on_threads(t));
}

static void gradient_on_threads(struct yp_case *t)
{
    struct scale s = image(t);
    perf_gradient_step(t, &s, PERF_TILE_PIXELS, on_threads(t));
}

SWEEP(scene_threads, "scene", THREADS, 0.006, 0.03, scene_on_threads)
SWEEP(statistics_threads, "statistics", THREADS, 0.05, 0.25, statistics_on_threads)
SWEEP(score_threads, "score", THREADS, 0.06, 0.4, score_on_threads)
SWEEP(gradient_threads, "gradient step", THREADS, 0.015, 0.22, gradient_on_threads)

/* -- tiles and images ---------------------------------------------------------------------- */

static void statistics_by_tile(struct yp_case *t)
{
    struct scale s = image(t);
    perf_statistics(t, &s, (size_t)yp_int(t, "tile"), (struct rx_work){0});
}

static void statistics_of_batch(struct yp_case *t)
{
    struct scale s = image(t);
    s.cubes = (size_t)yp_int(t, "batch");
    s.height = s.width = 128;
    perf_statistics(t, &s, PERF_TILE_PIXELS, (struct rx_work){0});
}

SWEEP(statistics_tile, "statistics", yp_axis_int("tile", 512, 1024, 4096, 16384), 0.04, 0.25,
      statistics_by_tile)
SWEEP(statistics_batch, "statistics", yp_axis_int("batch", 1, 4, 16), 0.04, 0.25,
      statistics_of_batch)

/* -- caches and memory --------------------------------------------------------------------- */

/* An image that a core's second-level cache holds, but for the cold, before whose iterations caches
 * are emptied. One thread: emptying leaves other cores' own caches alone. */
static struct rx_work from_cache(const struct yp_case *t, struct scale *image_)
{
    image_->height = image_->width = 32;
    return (struct rx_work){.threads = 1, .cold = strcmp(yp_string(t, "cache"), "cold") == 0};
}

static void statistics_from_cache(struct yp_case *t)
{
    struct scale s = image(t);
    struct rx_work how = from_cache(t, &s);
    perf_statistics(t, &s, s.height * s.width, how);
}

static void score_from_cache(struct yp_case *t)
{
    struct scale s = image(t);
    struct rx_work how = from_cache(t, &s);
    perf_score(t, &s, s.height * s.width, how);
}

SWEEP(statistics_cache, "statistics", yp_axis_string("cache", "hot", "cold"), 0.045, 0.3,
      statistics_from_cache)
SWEEP(score_cache, "score", yp_axis_string("cache", "hot", "cold"), 0.045, 0.4, score_from_cache)

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
    perf_statistics(t, &s, PERF_TILE_PIXELS, how);
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
