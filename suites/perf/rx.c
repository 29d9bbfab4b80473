/* The operations of the RX detector over channels, from data that are in memory already. */
#include "suites/perf/rx_work.h"

#define CHANNELS yp_axis_int("channels", 10, 50, 100, 200)
/* Channels at which arithmetic bounds the work, with budgets near what the kernels reach. With few
 * channels memory and calls bound it, and the budgets only catch gross faults. */
#define WIDE yp_axis_int("channels", 100, 200)

static void on_image(struct yp_case *t, perf_measurement *operation)
{
    perf_scene(t, perf_image((size_t)yp_int(t, "channels")), PERF_TILE_PIXELS, (struct rx_work){0},
               operation);
}

YP_TEST(rx, scene, .tags = "perf small", .axes = YP_AXES(CHANNELS),
        .budgets = YP_BUDGETS(yp_min_share("scene", 0.003), yp_max_peak(YP_HOST, 64 * YP_MIB)))
{
    measure_scene(t, (size_t)yp_int(t, "channels"), 1, 1);
}

YP_TEST(rx, scene_wide, .tags = "perf small", .axes = YP_AXES(WIDE),
        .budgets = YP_BUDGETS(yp_min_share("scene", 0.025)))
{
    measure_scene(t, (size_t)yp_int(t, "channels"), 1, 1);
}

YP_TEST(rx, statistics, .tags = "perf small", .axes = YP_AXES(CHANNELS),
        .budgets = YP_BUDGETS(yp_min_share("statistics", 0.05)))
{
    on_image(t, measure_statistics);
}

YP_TEST(rx, statistics_wide, .tags = "perf small", .axes = YP_AXES(WIDE),
        .budgets = YP_BUDGETS(yp_min_share("statistics", 0.45)))
{
    on_image(t, measure_statistics);
}

YP_TEST(rx, score, .tags = "perf small", .axes = YP_AXES(CHANNELS),
        .budgets = YP_BUDGETS(yp_min_share("score", 0.05)))
{
    on_image(t, measure_score);
}

YP_TEST(rx, score_wide, .tags = "perf small", .axes = YP_AXES(WIDE),
        .budgets = YP_BUDGETS(yp_min_share("score", 0.4)))
{
    on_image(t, measure_score);
}

YP_TEST(rx, gradient_step, .tags = "perf small", .axes = YP_AXES(CHANNELS),
        .budgets = YP_BUDGETS(yp_min_share("gradient step", 0.01)))
{
    on_image(t, measure_gradient_step);
}

YP_TEST(rx, pipeline_step, .tags = "perf small", .axes = YP_AXES(CHANNELS),
        .budgets = YP_BUDGETS(yp_min_share("pipeline step", 0.01)))
{
    on_image(t, measure_pipeline_step);
}

/* Growth with channels: between linear, where memory bounds the work, and quadratic. */
YP_RELATION(rx, statistics_growth, .tags = "perf small",
            .budgets = YP_BUDGETS(yp_min_value("exponent", 0.5), yp_max_value("exponent", 2.2)),
            .relation = yp_growth("perf/rx.c::statistics", "statistics", "channels"));

YP_RELATION(rx, score_growth, .tags = "perf small",
            .budgets = YP_BUDGETS(yp_min_value("exponent", 0.5), yp_max_value("exponent", 2.2)),
            .relation = yp_growth("perf/rx.c::score", "score", "channels"));
