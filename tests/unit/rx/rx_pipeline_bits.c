/* Pipelines have the same bits whenever work is done and wherever tiles come from, and the CPU's
 * answers. */
#include "tests/unit/rx/rx_stage.h"

/* -- bits ----------------------------------------------------------------------------------- */

/* Tiles of a little more than one block, one without pixels, one without a finite one. */
static struct stage stage_for_bits(void)
{
    struct stage g = stage_make(4 * 130 - 90, 5, 130, 2);
    g.empty = 1;
    for (size_t p = 260; p < 390; p++)
        g.host.values[p * g.host.stride + p % 5] = p % 2 != 0 ? NAN : INFINITY;
    g.host.values[128 * g.host.stride + 4] = NAN;
    g.host.values[429 * g.host.stride] = -INFINITY;
    stage_send(&g);
    return g;
}

/* A pipeline's gradient and scores, the way that the numbers say. */
static float *answers_by(struct stage *g, size_t shape, const float *parameters, int tiles,
                         bool copy, size_t way)
{
    vary(way);
    g->tiles = (enum rx_tiles)tiles;
    g->host.copy = copy;
    struct rx_pipeline *p = pipeline_on(g->device, shape, g);
    struct rx_source source = stage_source(g);
    float *answers = answers_of(p, &source, parameters, SCORE + 1);
    rx_pipeline_destroy(p);
    return answers;
}

static void check_bits(struct stage *g, size_t shape, double by)
{
    float *parameters = parameters_for(shape, g, by);
    struct rx_pipeline *p = pipeline_on(g->device, shape, g);
    struct rx_source source = stage_source(g);
    size_t span = span_of(p, &source);
    emulated.order = EMULATED_AT_ONCE;
    float *right = answers_by(g, shape, parameters, RX_TILES_RESIDENT, false, 0);
    for (int order = EMULATED_AT_ONCE; order < EMULATED_ORDERS; order++)
        for (int tiles = RX_TILES_RESIDENT; tiles <= RX_TILES_SEQUENTIAL; tiles++)
            for (int copy = 0; copy < 2; copy++) {
                char where[80];
                int way = (order + tiles + 2 * copy) % 4;
                snprintf(where, sizeof where, "%s: order %d, tiles %d, copy %d, way %d",
                         shapes[shape].name, order, tiles, copy, way);
                emulated.order = (int)order;
                float *got = answers_by(g, shape, parameters, tiles, copy != 0, (size_t)way);
                expect_same(right, got, SCORE + 1, span, where);
                free(got);
            }
    rx_pipeline_destroy(p);
    free(parameters);
    free(right);
}

Test(pipeline_cuda, bits_are_the_same_in_any_order_and_from_anywhere)
{
    struct stage g = stage_for_bits();
    for (size_t shape = 0; shape < SHAPES; shape++)
        check_bits(&g, shape, shape == LAD ? 0 : 0.02);
    stage_free(&g);
    expect_nothing_left(g.device);
}

/* Gradient, scores and logits are the CPU's, each tensor within `bound`. */
static void check_answers(struct stage *g, size_t shape, double by, double bound)
{
    const char *name = shapes[shape].name;
    float *parameters = parameters_for(shape, g, by), *answers[2];
    struct rx_pipeline *here = pipeline_on(yp_device_cpu(), shape, g);
    struct rx_pipeline *on = pipeline_on(g->device, shape, g);
    struct rx_source source = stage_source(g);
    size_t span = span_of(on, &source), places = source.tiles * source.tile_pixels;
    answers[0] = answers_of(here, &source, parameters, SCORE + 1);
    answers[1] = answers_of(on, &source, parameters, SCORE + 1);
    double means[2];
    for (int i = 0; i < 2; i++)
        memcpy(&means[i], answers[i], sizeof *means);
    cr_expect_leq(fabs(means[1] / means[0] - 1), 1e-6, "%s: the loss is %.9g, not %.9g", name,
                  means[1], means[0]);
    check_gradient(on, answers[1] + NUMBERS, answers[0] + NUMBERS, bound, name);
    for (size_t i = 0; i < 2; i++) { /* scores and logits */
        const float *got = answers[1] + span + NUMBERS + i * places;
        const float *wanted = answers[0] + span + NUMBERS + i * places;
        for (size_t at = 0; at < places; at++)
            cr_assert(!isnan(got[at]) == !isnan(wanted[at]), "%s: place %zu is %g, not %g", name,
                      at, (double)got[at], (double)wanted[at]);
        double error = off(got, wanted, places);
        cr_expect_leq(error, 1e-6, "%s: %s are off by %g", name, i == 0 ? "scores" : "logits",
                      error);
    }
    rx_pipeline_destroy(here);
    rx_pipeline_destroy(on);
    for (int i = 0; i < 2; i++)
        free(answers[i]);
    free(parameters);
}

/* One chunk, more channels, and the kernels themselves. Twice what rx_nodes_gradients.c allows of
 * either. */
Test(pipeline_cuda, answers_are_the_cpus)
{
    struct stage g = stage_make(700, 12, 300, 3);
    g.host.values[299 * g.host.stride + 11] = NAN;
    for (size_t shape = 0; shape < SHAPES; shape++)
        for (int moved = 0; moved < 2; moved++)
            check_answers(&g, shape, moved != 0 ? 0.02 : 0, 8e-6);
    stage_free(&g);
}

/* The first tile's third chunk is one pixel. */
Test(pipeline_cuda, tiles_of_several_chunks)
{
    size_t large = 2 * YPI_RX_DEVICE_CHUNK + 1;
    struct stage g = stage_make(large + 70000, 3, large, 0);
    g.host.values[3 * (YPI_RX_DEVICE_CHUNK + 5) + 1] = NAN;
    g.host.values[3 * (large + YPI_RX_DEVICE_CHUNK + 700)] = INFINITY;
    ypi_rx_set_cuda(quick_table());
    check_answers(&g, RX, 0.02, 1e-6);
    check_answers(&g, PCA, 0.02, 1e-6);
    check_answers(&g, IMAGE, 0.02, 1e-6);
    check_answers(&g, AUTOENCODER, 0.02, 1e-6);
    stage_free(&g);
}
