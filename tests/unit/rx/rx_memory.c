/* The detector's memory, and each of its allocations refused. */
#include "tests/unit/rx/rx_detector.h"

/* -- memory -------------------------------------------------------------------------------- */

Test(rx, bytes_are_the_peak_of_a_whole_run)
{
    struct yp_device *cpu = yp_device_cpu();
    const size_t channels[] = {1, 10, 37}, tiles[] = {1, 333, 1000};
    for (int i = 0; i < 3; i++)
        for (int threads = 1; threads <= 3; threads++) {
            struct scene s = scene_make(2000, channels[i], 10, 1);
            s.tile_pixels = tiles[i];
            struct rx_source source = source_of(&s);
            float *scores = block(source.tiles * source.tile_pixels, sizeof *scores);
            float *gradient = block(2 * rx_loss_parameters(channels[i]), sizeof *gradient);
            double mean;
            yp_device_reset_peak(cpu);
            struct rx *rx = detector_for(&s, threads);
            OK(rx_fit(rx, &source));
            OK(rx_finish(rx, 0));
            OK(rx_score(rx, &source, scores));
            cr_expect_eq(memory().allocated_peak, rx_bytes(channels[i], tiles[i], threads));
            rx_destroy(rx);

            yp_device_reset_peak(cpu);
            struct rx_loss *loss = rx_loss_create(cpu, channels[i], tiles[i], threads);
            OK(rx_loss_gradient(loss, &source, gradient, &mean,
                                gradient + rx_loss_parameters(channels[i])));
            cr_expect_eq(memory().allocated_peak, rx_loss_bytes(channels[i], tiles[i], threads));
            rx_loss_destroy(loss);
            free(scores);
            free(gradient);
            scene_free(&s);
        }
    cr_expect_eq(memory().allocated, 0);
}

/* Everything that takes memory, under a limit; YP_OK when all of it went through. */
static enum yp_status whole_run(struct scene *s, float *parameters, double *scores)
{
    struct yp_device *cpu = yp_device_cpu();
    struct rx_source source = source_of(s);
    struct rx_tile all = tile_of(s);
    struct rx *rx = rx_create(cpu, s->channels, s->tile_pixels, 2);
    if (rx == NULL)
        return YP_OUT_OF_MEMORY;
    OK(rx_fit(rx, &source));
    OK(rx_finish(rx, 0));
    double auc;
    struct rx_loss *loss = NULL;
    enum yp_status status = rx_score_plain(rx, &all, scores);
    if (status == YP_OK)
        status = rx_loss_start(rx, 1, 5, parameters);
    if (status == YP_OK)
        status = metrics_auc(cpu, s->values, s->labels, s->pixels, &auc, NULL);
    if (status == YP_OK && (loss = rx_loss_create(cpu, s->channels, s->tile_pixels, 2)) == NULL)
        status = YP_OUT_OF_MEMORY;
    rx_loss_destroy(loss);
    rx_destroy(rx);
    return status;
}

Test(rx, every_refusal_is_told_and_nothing_leaks)
{
    struct scene s = scene_make(400, 5, 10, 1);
    struct yp_device *cpu = yp_device_cpu();
    float parameters[32];
    double scores[400];
    s.tile_pixels = 50;
    uint64_t need = rx_bytes(5, 50, 2) + rx_loss_bytes(5, 50, 2), highest = 0;
    for (uint64_t limit = 1; limit <= need; limit += limit < need - 600 ? 97 : 1) {
        yp_device_set_limit(cpu, limit);
        enum yp_status status = whole_run(&s, parameters, scores);
        yp_device_set_limit(cpu, 0);
        cr_assert_eq(memory().allocated, 0, "%" PRIu64 " bytes leaked at limit %" PRIu64,
                     memory().allocated, limit);
        cr_assert_eq(status, limit < need ? YP_OUT_OF_MEMORY : YP_OK, "limit %" PRIu64, limit);
        if (status != YP_OK)
            cr_assert_not_null(strstr(yp_last_error(), "out of memory"));
        highest = limit;
    }
    cr_expect_eq(highest, need);

    /* The three that take memory for the time of a call. */
    struct rx *rx = fitted(&s, 1);
    struct rx_tile all = tile_of(&s);
    OK(rx_finish(rx, 0));
    double auc;
    yp_device_set_limit(cpu, memory().allocated + 1);
    cr_expect_eq(rx_score_plain(rx, &all, scores), YP_OUT_OF_MEMORY);
    cr_expect_eq(rx_loss_start(rx, 1, 5, parameters), YP_OUT_OF_MEMORY);
    cr_expect_eq(metrics_auc(cpu, s.values, s.labels, 400, &auc, NULL), YP_OUT_OF_MEMORY);
    yp_device_set_limit(cpu, 0);
    rx_destroy(rx);
    cr_expect_eq(memory().allocated, 0);
    scene_free(&s);
}

Test(rx, arguments_are_checked)
{
    struct yp_device *cpu = yp_device_cpu();
    cr_expect_null(rx_create(cpu, 0, 10, 1));
    cr_expect_not_null(strstr(yp_last_error(), "channels is 0"));
    cr_expect_null(rx_create(cpu, RX_MAX_CHANNELS + 1, 10, 1));
    cr_expect_null(rx_create(cpu, 4, 0, 1));
    cr_expect_not_null(strstr(yp_last_error(), "tile_pixels is 0"));
    cr_expect_null(rx_create(cpu, 4, 10, -1));
    cr_expect_not_null(strstr(yp_last_error(), "threads is -1"));
    cr_expect_null(rx_loss_create(cpu, 4, 10, RX_MAX_THREADS + 1));
    cr_expect_null(rx_loss_create(NULL, 4, 10, 1));
    cr_expect_not_null(strstr(yp_last_error(), "device is NULL"));
    cr_expect_eq(rx_bytes(0, 1, 1), 0);
    cr_expect_eq(rx_loss_bytes(1, 0, 1), 0);
    cr_expect_gt(rx_bytes(1, 1, 0), 0);
    rx_destroy(NULL);
    rx_loss_destroy(NULL);
    cr_expect_eq(memory().allocations, 0);
}
