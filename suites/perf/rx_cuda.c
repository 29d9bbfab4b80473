/* The detector on a GPU from data that are in its memory: shares of what bounds the work, batches,
 * and the same work on the CPU. */
#include "suites/perf/rx_work.h"

#define WIDE yp_axis_int("channels", 100, 200)
/* A pass goes so many times over one tile of a million pixels: more than any cache holds, and long
 * enough that the start and end of a pass are negligible. */
#define TILES 16

struct repeated {
    struct kept_tiles kept;
    struct rx_source source; /* `arg` is this structure */
};

static enum yp_status yield_repeated(void *arg, size_t index, float *values, uint8_t *labels,
                                     struct rx_tile *tile)
{
    (void)index;
    struct repeated *r = arg;
    return r->kept.source.yield(r->kept.source.arg, 0, values, labels, tile);
}

static struct rx_work open_repeated(struct repeated *r, struct yp_case *t, size_t channels)
{
    struct scale s = {.cubes = 16, .height = 256, .width = 256, .channels = channels};
    perf_keep(&r->kept, t, &s, scale_tile_pixels(&s, yp_device(t), PERF_TILE_PIXELS));
    r->source = r->kept.source;
    r->source.tiles = TILES;
    r->source.yield = yield_repeated;
    r->source.arg = r;
    return (struct rx_work){.source = &r->source};
}

static void on_repeated(struct yp_case *t, perf_measurement *operation)
{
    struct repeated r;
    struct rx_work work = open_repeated(&r, t, (size_t)yp_int(t, "channels"));
    perf_measure(t, &work, operation);
}

YP_TEST(rx_cuda, statistics, .tags = "perf small", .axes = YP_AXES(WIDE), .devices = "cuda",
        .timeout = 120, .budgets = YP_BUDGETS(yp_min_share("statistics", 0.18)))
{
    on_repeated(t, measure_statistics);
}

YP_TEST(rx_cuda, score, .tags = "perf small", .axes = YP_AXES(WIDE), .devices = "cuda",
        .timeout = 120, .budgets = YP_BUDGETS(yp_min_share("score", 0.2)))
{
    on_repeated(t, measure_score);
}

/* Scores, weights, and products with weights. */
YP_TEST(rx_cuda, gradient_step, .tags = "perf small", .axes = YP_AXES(WIDE), .devices = "cuda",
        .timeout = 120, .budgets = YP_BUDGETS(yp_min_share("gradient step", 0.35)))
{
    on_repeated(t, measure_gradient_step);
}

/* Products, weights, products with weights, and the nodes before the detector. Products are stored,
 * so that the backward pass needs no second matrix. */
YP_TEST(rx_cuda, pipeline_step, .tags = "perf small", .axes = YP_AXES(WIDE), .devices = "cuda",
        .timeout = 120, .budgets = YP_BUDGETS(yp_min_share("pipeline step", 0.11)))
{
    on_repeated(t, measure_pipeline_step);
}

/* -- batches ----------------------------------------------------------------------------------- */

/* A small batch does not fill a GPU: statistics of one image have 0.04. */
static void batch_floors(const struct yp_case *c, struct yp_budgets *out)
{
    yp_budget_add(out, yp_min_share("score", 0.15));
    if (yp_int(c, "batch") >= 8)
        yp_budget_add(out, yp_min_share("statistics", 0.1));
}

/* Images of one tile. */
YP_TEST(rx_cuda, batch, .tags = "perf medium", .devices = "cuda", .budgets_of = batch_floors,
        .axes = YP_AXES(yp_axis_int("channels", 100), yp_axis_int("batch", 1, 2, 4, 8, 16, 32)))
{
    struct scale s = perf_image((size_t)yp_int(t, "channels"));
    s.cubes = (size_t)yp_int(t, "batch");
    struct kept_tiles kept;
    perf_keep(&kept, t, &s, s.cubes * s.height * s.width);
    struct rx_work work = {.source = &kept.source};
    struct rx *rx = perf_fitted(t, &work);
    measure_statistics(t, rx, &work);
    yp_ok(t, rx_finish(rx, RX_EPS)); /* the measurement discarded the factor */
    measure_score(t, rx, &work);
    rx_destroy(rx);
}

/* An image must not take longer in a larger batch (exponent 1, with the tolerance that six values
 * can tell). */
#define BATCH_GROWTH(name_, what_) \
    YP_RELATION(rx_cuda, name_, .tags = "perf medium", .devices = "cuda", \
                .budgets = YP_BUDGETS(yp_max_value("exponent", 1.1)), \
                .relation = yp_growth("perf/rx_cuda.c::batch", what_, "batch"))
BATCH_GROWTH(batch_statistics, "statistics");
BATCH_GROWTH(batch_score, "score");

/* -- against the CPU --------------------------------------------------------------------------- */

/* A million pixels; all processors against the GPU. Marked gpu on the CPU too, so that `-m gpu` has
 * both sides. */
YP_TEST(rx_cuda, both, .tags = "perf medium gpu", .devices = "cpu cuda", .timeout = 120,
        .budgets = YP_BUDGETS(yp_for_device("cuda"), yp_min_share("statistics", 0.16),
                              yp_min_share("score", 0.2), yp_min_share("gradient step", 0.3),
                              yp_min_share("pipeline step", 0.1)),
        .axes = YP_AXES(yp_axis_int("channels", 100)))
{
    struct scale s = perf_image((size_t)yp_int(t, "channels"));
    s.cubes = 16;
    struct kept_tiles kept;
    perf_keep(&kept, t, &s, scale_tile_pixels(&s, yp_device(t), PERF_TILE_PIXELS));
    struct rx_work work = {.source = &kept.source};
    struct rx *rx = perf_fitted(t, &work);
    measure_statistics(t, rx, &work);
    yp_ok(t, rx_finish(rx, RX_EPS)); /* the measurement discarded the factor */
    measure_score(t, rx, &work);
    measure_gradient_step(t, rx, &work);
    measure_pipeline_step(t, rx, &work);
    rx_destroy(rx);
}

/* A third of what an H100 and an H200 reach beside 16 processors of their hosts; the two with a
 * gradient were measured beside an OpenBLAS that did not know those, and have what scores have. */
#define CUDA_AGAINST_CPU(name_, what_, least_) \
    YP_RELATION(rx_cuda, name_, .tags = "perf medium gpu", \
                .budgets = YP_BUDGETS(yp_min_value("ratio", least_)), \
                .relation = yp_ratio_over("perf/rx_cuda.c::both", what_, "device", "cuda", "cpu"))
CUDA_AGAINST_CPU(statistics_against_cpu, "statistics", 7);
CUDA_AGAINST_CPU(score_against_cpu, "score", 4);
CUDA_AGAINST_CPU(gradient_against_cpu, "gradient step", 4);
CUDA_AGAINST_CPU(pipeline_against_cpu, "pipeline step", 4);

YP_RELATION(rx_cuda, both_data, .tags = "perf medium gpu",
            .relation = yp_same_hash("perf/rx_cuda.c::both[channels=100-cpu]",
                                     "perf/rx_cuda.c::both[channels=100-cuda]"));

/* -- from the host ----------------------------------------------------------------------------- */

/* A pass over data of the host's: 16 tiles of 131,072 pixels. */
struct on_host {
    float *values;
    struct rx_source source; /* `arg` is this structure */
};

enum { HOST_TILE = 1 << 17, HOST_TILES = 16 };

static enum yp_status yield_host(void *arg, size_t index, float *values, uint8_t *labels,
                                 struct rx_tile *tile)
{
    (void)values, (void)labels;
    const struct on_host *h = arg;
    tile->values = h->values + index * HOST_TILE * h->source.channels;
    tile->pixels = HOST_TILE;
    return YP_OK;
}

static void *host_memory(struct yp_case *t, bool pinned, size_t bytes)
{
    void *memory = pinned ? yp_device_alloc_pinned(yp_device(t), bytes)
                          : yp_device_alloc(yp_device_cpu(), bytes);
    yp_got(t, memory);
    return memory;
}

static void free_host_memory(struct yp_case *t, bool pinned, void *memory)
{
    if (pinned)
        yp_device_free_pinned(yp_device(t), memory);
    else
        yp_device_free(yp_device_cpu(), memory);
}

/* Made on the GPU, and copied from there. */
static enum yp_status fill_host(struct yp_case *t, struct on_host *h)
{
    size_t channels = h->source.channels, one = (size_t)HOST_TILE * channels;
    struct scale s = {.cubes = HOST_TILES, .height = 512, .width = HOST_TILE / 512};
    s.channels = channels;
    struct scene_tiles tiles;
    float *there = yp_alloc(t, one * sizeof *there);
    scene_tiles_open(&tiles, t, &s, HOST_TILE);
    enum yp_status status = YP_OK;
    for (size_t i = 0; i < HOST_TILES && status == YP_OK; i++) {
        status = synth_scene_tile(tiles.scene, i, 0, HOST_TILE, there, NULL);
        if (status == YP_OK)
            status = yp_device_copy(yp_device(t), h->values + i * one, there, one * sizeof *there);
    }
    scene_tiles_close(&tiles);
    return status;
}

static void from_host(struct yp_case *t, bool pinned, bool ahead)
{
    size_t channels = (size_t)yp_int(t, "channels");
    const struct rx_options options = {.tiles = ahead ? RX_TILES_OVERLAPPED : RX_TILES_SEQUENTIAL};
    struct on_host h = {.source = {.channels = channels,
                                   .tile_pixels = HOST_TILE,
                                   .tiles = HOST_TILES,
                                   .yield = yield_host}};
    h.source.arg = &h;
    double bytes = 4.0 * HOST_TILES * HOST_TILE * (double)channels;
    h.values = host_memory(t, pinned, (size_t)bytes);
    struct rx *rx = rx_create_with(yp_device(t), channels, HOST_TILE, 0, &options);
    enum yp_status status = rx != NULL ? fill_host(t, &h) : YP_OUT_OF_MEMORY;
    if (status == YP_OK)
        yp_data_hash(t, yp_hash_f32(0, h.values, (size_t)HOST_TILE * channels));
    yp_measure (t, "fit", .items = bytes / 4, .unit = "values", .bytes = bytes,
                .traffic = pinned ? YP_UPLOAD : YP_UPLOAD_PAGEABLE, .max_seconds = 2) {
        if (status != YP_OK)
            break;
        rx_reset(rx);
        status = rx_fit(rx, &h.source);
    }
    rx_destroy(rx);
    free_host_memory(t, pinned, h.values);
    yp_ok(t, status);
}

/* By the memory that a yielder points to. The bus bounds it. */
YP_TEST(rx_cuda, from_host, .tags = "perf medium", .devices = "cuda", .timeout = 120,
        .axes = YP_AXES(yp_axis_int("channels", 100),
                        yp_axis_string("memory", "pinned", "pageable")),
        .budgets = YP_BUDGETS(yp_min_share("fit", 0.6)))
{
    from_host(t, yp_string(t, "memory")[1] == 'i', true);
}

/* A tile is copied while the one before is processed, or after it. */
YP_TEST(rx_cuda, fetched, .tags = "perf medium", .devices = "cuda", .timeout = 120,
        .axes = YP_AXES(yp_axis_int("channels", 100), yp_axis_string("fetch", "ahead", "behind")),
        .budgets = YP_BUDGETS(yp_min_share("fit", 0.6)))
{
    from_host(t, true, yp_string(t, "fetch")[0] == 'a');
}

#define FROM_HOST(name_, test_, axis_, a_, b_, least_) \
    YP_RELATION(rx_cuda, name_, .tags = "perf medium", .devices = "cuda", \
                .budgets = YP_BUDGETS(yp_min_value("ratio", least_)), \
                .relation = yp_ratio_over("perf/rx_cuda.c::" test_, "fit", axis_, a_, b_))
FROM_HOST(pinned_memory, "from_host", "memory", "pinned", "pageable", 3);
FROM_HOST(fetched_ahead, "fetched", "fetch", "ahead", "behind", 1.05);
