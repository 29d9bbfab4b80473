/* Pipelines: memory, and each allocation refused. */
#include "tests/unit/rx/rx_nodes.h"

/* -- memory ---------------------------------------------------------------------------------- */

Test(rx_nodes, bytes_are_what_is_taken)
{
    struct yp_device *cpu = yp_device_cpu();
    struct scene s = scene_make(300, 7, 10, 0);
    struct rx_source source = source_of(&s);
    struct rx_tile tile = tile_of(&s);
    s.tile_pixels = source.tile_pixels = 90;
    source.tiles = 4;
    for (size_t i = 0; i < SHAPES; i++)
        for (int threads = 1; threads <= 2; threads++) {
            struct rx_pipeline_options o = options_for(&shapes[i], &s, threads);
            struct rx *rx = detector_for(&s, threads);
            double mean;
            uint64_t before = memory().allocated;
            yp_device_reset_peak(cpu);
            struct rx_pipeline *p = pipeline_for(&o);
            float *parameters = block(2 * rx_pipeline_parameters(p), sizeof *parameters);
            OK(rx_pipeline_fit(p, rx, &source, parameters, NULL));
            OK(rx_pipeline_gradient(p, &source, parameters, &mean,
                                    parameters + rx_pipeline_parameters(p)));
            cr_expect_eq(memory().allocated_peak - before, PIPELINE_BYTES(&o), "%s: %zu, not %zu",
                         shapes[i].name, (size_t)(memory().allocated_peak - before),
                         PIPELINE_BYTES(&o));
            rx_pipeline_destroy(p);
            before = memory().allocated;
            yp_device_reset_peak(cpu);
            FAILS(rx_plain_create(cpu, &o, &tile) == NULL ? YP_INVALID : YP_OK, YP_INVALID,
                  "the tile has 300 pixels, allowed are 0 to 90");
            o.tile_pixels = 300;
            struct rx_plain *plain = rx_plain_create(cpu, &o, &tile);
            cr_assert_not_null(plain, "%s", yp_last_error());
            cr_expect_eq(memory().allocated_peak - before, rx_plain_bytes(&o, &tile), "%s",
                         shapes[i].name);
            rx_plain_destroy(plain);
            rx_destroy(rx);
            free(parameters);
        }
    cr_expect_eq(memory().allocated, 0);
    scene_free(&s);
}

/* Everything that takes memory; YP_OK when all of it went through. */
static enum yp_status all_memory(struct scene *s, const struct rx_pipeline_options *o)
{
    struct yp_device *cpu = yp_device_cpu();
    struct rx_source source = source_of(s);
    struct rx_tile tile = tile_of(s);
    struct rx_channel channels[5];
    double covariance[25] = {1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 3}, w[25], values[5];
    enum yp_status status = rx_survey(cpu, &source, 2, channels);
    if (status == YP_OK)
        status = rx_pca(cpu, covariance, 5, 2, w, values);
    struct rx_subset *subset =
        status == YP_OK ? rx_subset_create(cpu, &source, (size_t[]){1, 0}, 2, 2) : NULL;
    struct rx_pipeline *p = subset != NULL ? rx_pipeline_create(device_of_pipelines(), o) : NULL;
    struct rx_plain *plain = p != NULL ? rx_plain_create(cpu, o, &tile) : NULL;
    if (status == YP_OK && plain == NULL)
        status = YP_OUT_OF_MEMORY;
    rx_plain_destroy(plain);
    rx_pipeline_destroy(p);
    rx_subset_destroy(subset);
    return status;
}

Test(rx_nodes, every_refusal_is_told_and_nothing_leaks)
{
    struct scene s = scene_make(100, 5, 10, 0);
    struct rx_pipeline_options o = options_for(&shapes[5], &s, 2);
    for (uint64_t nth = 1; nth <= 5; nth++) {
        yp_device_fail_allocation(yp_device_cpu(), nth);
        cr_assert_eq(all_memory(&s, &o), YP_OUT_OF_MEMORY, "request %" PRIu64, nth);
        cr_assert_not_null(strstr(yp_last_error(), "out of memory"), "%s", yp_last_error());
        cr_assert_eq(memory().allocated, 0);
    }
    yp_device_fail_allocation(yp_device_cpu(), 0);
    OK(all_memory(&s, &o));
    cr_assert_eq(memory().allocated, 0);
    scene_free(&s);
}
