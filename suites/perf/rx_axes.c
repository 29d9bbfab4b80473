/* The operations of the RX detector over threads, tiles, images of one pass, and caches. */
#include "suites/perf/rx_work.h"

#include <string.h>

#define TAGS "perf medium"

/* With few channels memory and calls bound the work, with many arithmetic does. */
#define SWEEP(name_, axis_, floor_, body_) \
    YP_TEST(rx, name_, .tags = TAGS, .axes = YP_AXES(yp_axis_int("channels", 10, 100), axis_), \
            .budgets_of = floor_) \
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

/* What no two second-level caches hold: tiles are dealt out anew each time, so a core finds what it
 * needs in the other's cache, and the ceiling of its own would be no measure. */
static void on_large_image(struct yp_case *t, perf_measurement *operation)
{
    struct scale s = image(t);
    if (s.channels == 10)
        s.height = s.width = 512;
    perf_scene(t, s, PERF_TILE_PIXELS, on_threads(t), operation);
}

SWEEP(scene_threads, THREADS, NULL,
      measure_scene(t, (size_t)yp_int(t, "channels"), 4, (int)yp_int(t, "threads")))
SWEEP(statistics_threads, THREADS, perf_statistics_floor, on_large_image(t, measure_statistics))
SWEEP(score_threads, THREADS, perf_score_floor, on_large_image(t, measure_score))
SWEEP(gradient_threads, THREADS, perf_gradient_floor, on_large_image(t, measure_gradient_step))

/* -- tiles and images ---------------------------------------------------------------------- */

static void statistics_of_batch(struct yp_case *t)
{
    struct scale s = image(t);
    s.cubes = (size_t)yp_int(t, "batch");
    s.height = s.width = 128;
    perf_scene(t, s, PERF_TILE_PIXELS, (struct rx_work){0}, measure_statistics);
}

SWEEP(statistics_tile, yp_axis_int("tile", 512, 1024, 4096, 16384), perf_statistics_floor,
      on_image(t, (size_t)yp_int(t, "tile"), (struct rx_work){0}, measure_statistics))
SWEEP(statistics_batch, yp_axis_int("batch", 1, 4, 16), perf_statistics_floor,
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

SWEEP(statistics_cache, yp_axis_string("cache", "hot", "cold"), perf_statistics_floor,
      from_cache(t, measure_statistics))
SWEEP(score_cache, yp_axis_string("cache", "hot", "cold"), perf_score_floor,
      from_cache(t, measure_score))

/* More than any cache holds. Memory bounds it: the 11 operations of a value take a sixth of the
 * time that its 4 bytes take at the speed of copying, so only these are declared. By SSE2 the
 * operations do, with a share of 0.03: no floor. */
YP_TEST(rx, statistics_memory, .tags = TAGS,
        .axes = YP_AXES(yp_axis_int("channels", 10), THREADS, yp_axis_int("mib", 256)))
{
    struct scale s = image(t);
    s.cubes = ((size_t)yp_int(t, "mib") << 20) / (4 * s.height * s.width * s.channels);
    struct rx_work how = on_threads(t);
    how.copying = true;
    perf_scene(t, s, PERF_TILE_PIXELS, how, measure_statistics);
}

/* -- one against the other ----------------------------------------------------------------- */

/* What two threads gain by what the machine gains by them; a serial loop gains half of it. On a
 * Zen 4 medians are 0.79 to 1; those of gradients, a short step with 10 channels, 0.85 to 1.04 with
 * intervals from 0.64. */
#define TWO_THREADS(test_, what_, least_) \
    YP_RELATION( \
        rx, test_##_ratio, .tags = TAGS, .budgets = YP_BUDGETS(yp_min_value("ratio", least_)), \
        .relation = yp_share_ratio_over("perf/rx_axes.c::" #test_, what_, "threads", "2", "1"))
#define HOT(test_, what_) \
    YP_RELATION(rx, test_##_ratio, .tags = TAGS, .budgets = YP_BUDGETS(yp_min_value("ratio", 1)), \
                .relation = \
                    yp_ratio_over("perf/rx_axes.c::" #test_, what_, "cache", "hot", "cold"))

TWO_THREADS(scene_threads, "scene", 0.7);
TWO_THREADS(statistics_threads, "statistics", 0.7);
TWO_THREADS(score_threads, "score", 0.7);
TWO_THREADS(gradient_threads, "gradient step", 0.6);
HOT(statistics_cache, "statistics");
HOT(score_cache, "score");
