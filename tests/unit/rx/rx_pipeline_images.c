/* Images without a factor. */
#include "tests/unit/rx/rx_stage.h"

/* -- images without a factor ----------------------------------------------------------------- */

/* All calls of the source fail alike on the GPU and on the CPU, and tell of that image. */
static void check_no_factor(struct stage *g, struct rx_pipeline *on, const float *parameters,
                            size_t image)
{
    char wanted[64], message[512];
    enum rx_tiles tiles = g->tiles;
    struct rx_source source = stage_source(g);
    struct rx_pipeline *here = rx_pipeline_create(yp_device_cpu(), &on->options);
    cr_assert_not_null(here, "%s", yp_last_error());
    float *got = block(span_of(on, &source), sizeof *got);
    snprintf(wanted, sizeof wanted, "the covariance of image %zu with eps", image);
    for (int call = 0; call < CALLS; call++) {
        g->tiles = RX_TILES_OVERLAPPED;
        FAILS(ask((enum call)call, here, &source, parameters, got), YP_INVALID, wanted);
        g->tiles = tiles;
        snprintf(message, sizeof message, "%s", yp_last_error());
        FAILS(ask((enum call)call, on, &source, parameters, got), YP_INVALID,
              "not positive definite");
        cr_expect_str_eq(yp_last_error(), message);
        expect_idle(g);
    }
    free(got);
    rx_pipeline_destroy(here);
}

Test(pipeline_cuda, the_first_image_without_a_factor_is_told)
{
    struct stage g = stage_make(5 * 40, 4, 40, 0);
    struct rx_pipeline_options o = {
        .channels = 4, .tile_pixels = 40, .threads = 1, .detector = RX_IMAGE, .eps = 1e-6};
    for (size_t p = 2 * 40; p < 5 * 40; p++) { /* images 2 to 4: two channels are one */
        g.host.values[4 * p] *= 1000;
        g.host.values[4 * p + 3] = g.host.values[4 * p];
    }
    stage_send(&g);
    emulated.order = EMULATED_LATE;
    for (int tiles = RX_TILES_RESIDENT; tiles <= RX_TILES_SEQUENTIAL; tiles++) {
        o.tiles = g.tiles = (enum rx_tiles)tiles;
        struct rx_pipeline *p = rx_pipeline_create(g.device, &o);
        cr_assert_not_null(p, "%s", yp_last_error());
        check_no_factor(&g, p, (float[]){1, 3}, 2); /* of the logit */
        rx_pipeline_destroy(p);
    }
    stage_free(&g);
}

/* Values whose squares float does not have, in one channel or in all. */
Test(pipeline_cuda, an_infinite_variance_leaves_no_factor)
{
    for (size_t channels = 1; channels < 4; channels++)
        for (size_t huge = 1; huge <= channels; huge++) {
            struct stage g = stage_make(3 * 40, channels, 40, 0);
            struct rx_pipeline_options o = {
                .channels = channels, .tile_pixels = 40, .detector = RX_IMAGE, .eps = 1e-3};
            for (size_t p = 40; p < 80; p++)
                for (size_t c = 0; c < huge; c++)
                    g.host.values[p * channels + c] *= 1e25F;
            o.tiles = g.tiles;
            struct rx_pipeline *p = rx_pipeline_create(g.device, &o);
            cr_assert_not_null(p, "%s", yp_last_error());
            check_no_factor(&g, p, (float[]){1, 3}, 1);
            rx_pipeline_destroy(p);
            stage_free(&g);
        }
}

/* min, max; logits; temperature; scale, bias: channels are multiplied by about 1e6. */
static const float steep[] = {3, 3, 0, 0, 0, 0, 0.8F, 1e-12F, 4};

/* A pixel that is finite, and where the detector sees it no more. */
Test(pipeline_cuda, a_pixel_that_overflows_on_its_way_leaves_no_factor)
{
    struct stage g = stage_make(4 * 40, 4, 40, 0);
    struct rx_source source = stage_source(&g);
    struct rx_pipeline *p = pipeline_on(g.device, IMAGE, &g);
    size_t span = span_of(p, &source);
    g.host.values[4 * 50 + 1] = NAN; /* which is no failure */
    float *right = answers_of(p, &source, steep, CALLS);
    for (size_t channel = 0; channel < 4; channel++)
        for (int sign = -1; sign <= 1; sign += 2) {
            float *at = &g.host.values[4 * (2 * 40 + 17 + channel) + channel], before = *at;
            *at = (float)sign * 1e35F;
            check_no_factor(&g, p, steep, 2);
            *at = before;
            float *got = answers_of(p, &source, steep, CALLS);
            expect_same(right, got, CALLS, span, "after an image without a factor");
            free(got);
        }
    rx_pipeline_destroy(p);
    free(right);
    stage_free(&g);
}
