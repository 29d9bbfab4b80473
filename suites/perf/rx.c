/* The operations of the RX detector over channels, from data that are in memory already. */
#include "suites/perf/rx_work.h"

#define CHANNELS yp_axis_int("channels", 10, 20, 50, 100, 200)

static void on_image(struct yp_case *t, perf_measurement *operation)
{
    perf_scene(t, perf_image((size_t)yp_int(t, "channels")), PERF_TILE_PIXELS, (struct rx_work){0},
               operation);
}

/* What measure_scene() takes: a scene, and one tile. */
static void scene_memory(const struct yp_case *c, struct yp_budgets *out)
{
    struct scale s = perf_image((size_t)yp_int(c, "channels"));
    struct synth_spec spec = scale_spec(&s, 0);
    size_t tile = PERF_TILE_PIXELS * s.channels * sizeof(float);
    yp_budget_add(out, yp_max_peak(YP_HOST, synth_scene_bytes(&spec) + tile));
}

/* No floor: by SSE2, in plain loops, a scene has a share of 0.02, by vectors 0.14 to 0.37. */
YP_TEST(rx, scene, .tags = "perf small", .axes = YP_AXES(CHANNELS), .budgets_of = scene_memory)
{
    measure_scene(t, (size_t)yp_int(t, "channels"), 1, 1);
}

YP_TEST(rx, statistics, .tags = "perf small", .axes = YP_AXES(CHANNELS),
        .budgets_of = perf_statistics_floor)
{
    on_image(t, measure_statistics);
}

YP_TEST(rx, score, .tags = "perf small", .axes = YP_AXES(CHANNELS), .budgets_of = perf_score_floor)
{
    on_image(t, measure_score);
}

/* With 10 channels the declared products are a small part of a step: vectors are not full, and the
 * loss of a pixel takes as long. Its share is below 0.05 for that, and with 20 about 0.1. */
YP_TEST(rx, gradient_step, .tags = "perf small", .axes = YP_AXES(CHANNELS),
        .budgets_of = perf_gradient_floor)
{
    on_image(t, measure_gradient_step);
}

/* As above with 10 channels. */
YP_TEST(rx, pipeline_step, .tags = "perf small", .axes = YP_AXES(CHANNELS),
        .budgets_of = perf_pipeline_floor)
{
    on_image(t, measure_pipeline_step);
}

/* Growth with channels: linear where memory bounds the work, quadratic where products do. Over both
 * the line is bent, so the exponent is known where products bound it alone. */
YP_RELATION(rx, statistics_growth, .tags = "perf small",
            .budgets = YP_BUDGETS(yp_min_value("exponent", 0.5), yp_max_value("exponent", 2.2)),
            .relation = yp_growth("perf/rx.c::statistics", "statistics", "channels"));

YP_TEST(rx, score_of_many, .tags = "perf small",
        .axes = YP_AXES(yp_axis_int("channels", 50, 70, 100, 140, 200)))
{
    on_image(t, measure_score);
}

YP_RELATION(rx, score_growth, .tags = "perf small",
            .budgets = YP_BUDGETS(yp_min_value("exponent", 1.3), yp_max_value("exponent", 2.2)),
            .relation = yp_growth("perf/rx.c::score_of_many", "score", "channels"));
