/* The statistics of a cube, on cubes whose statistics are known. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/random/stream.h"
#include "suites/cube_statistics.h"
#include "synth/scene/purpose.h"
#include "tests/unit/status.h"

static struct cube_statistics run(const float *values, size_t height, size_t width, size_t channels)
{
    struct cube_statistics out;
    struct cube_view cube = {values, height, width, channels};
    cr_assert_eq(cube_statistics(yp_device_cpu(), &cube, &out), YP_OK, "%s", yp_last_error());
    return out;
}

static float *normals(size_t count, uint64_t purpose)
{
    float *z = malloc(count * sizeof *z);
    ypi_random_normals(YPI_LEVEL_AUTO, synth_stream(5, purpose, SYNTH_NOISE), 0, count, z);
    return z;
}

enum { SIDE = 160, PIXELS = SIDE * SIDE };

/* Independent channels with deviations 1, 1/2, 1/4, ...: the eigenvalues are 1, 1/4, 1/16, ... of
 * 4/3; shares 0.75, 1 - 4^-3, 1; 99 % take 4, 99.9 % take 5. */
Test(cube_statistics, knows_a_normal_cube)
{
    enum { CHANNELS = 12 };
    float *x = normals(PIXELS * CHANNELS, 1);
    for (size_t i = 0; i < PIXELS * CHANNELS; i++)
        x[i] = (x[i] + 1000) * exp2f(-(float)(i % CHANNELS));
    struct cube_statistics s = run(x, SIDE, SIDE, CHANNELS);
    cr_expect_eq(s.pixels, PIXELS);
    cr_expect_eq(s.channels, CHANNELS);
    cr_expect_lt(fabs(s.share[0] - 0.75), 5 * 0.75 * 0.25 * sqrt(2.0 / PIXELS) + 0.005);
    cr_expect_lt(fabs(s.share[1] - 63.0 / 64), 0.001);
    cr_expect_gt(s.share[2], 0.9999);
    cr_expect_eq(s.components_99, 4);
    cr_expect_eq(s.components_999, 5);
    for (int i = 0; i < CUBE_LAGS; i++)
        cr_expect_lt(fabs(s.correlation[i]), 5 / sqrt(CHANNELS * 2.0 * PIXELS) * 2, "%g",
                     s.correlation[i]);
    cr_expect_lt(fabs(s.snr_db - 60), 0.2, "%g dB", s.snr_db);
    for (int i = 0; i < CUBE_TAILS; i++) {
        double above = pow(10, -2 - i) * PIXELS;
        cr_expect_lt(fabs(s.tail[i] - 1), 5 / sqrt(above), "tail %d: %g", i, s.tail[i]);
    }
    cr_expect_gt(s.degrees, 500, "%g degrees of freedom", s.degrees);
    free(x);
}

/* x / sqrt(chi-square(v) / v) is multivariate t; the correlation between channels changes nothing
 * of its scores. */
Test(cube_statistics, finds_the_degrees_of_a_t_distribution)
{
    enum { CHANNELS = 8, DEGREES = 7 };
    float *x = normals(PIXELS * CHANNELS, 2), *z = normals(PIXELS * DEGREES, 3);
    for (size_t i = 0; i < PIXELS; i++) {
        double chi = 0;
        for (int k = 0; k < DEGREES; k++)
            chi += (double)z[i * DEGREES + k] * (double)z[i * DEGREES + k];
        for (int c = CHANNELS - 1; c >= 0; c--) {
            float *at = x + i * CHANNELS + c;
            *at = (*at + (c > 0 ? 2 * at[-1] : 0)) * (float)sqrt(DEGREES / chi);
        }
    }
    struct cube_statistics s = run(x, SIDE, SIDE, CHANNELS);
    /* The likelihood's curvature gives a deviation of about 0.12; five of them. */
    cr_expect_lt(fabs(s.degrees - DEGREES), 0.6, "%g", s.degrees);
    cr_expect_gt(s.tail[2], 50, "%g", s.tail[2]);
    cr_expect(s.tail[0] < s.tail[1] && s.tail[1] < s.tail[2]);
    free(x);
    free(z);
}

/* Moving averages of n along rows correlate by 1 - lag / n there, and not at all down columns. */
Test(cube_statistics, sees_how_far_neighbours_look_alike)
{
    enum { AVERAGE = 16, WIDE = SIDE + AVERAGE };
    float *z = normals(SIDE * WIDE, 4), *x = calloc(PIXELS, sizeof *x);
    for (size_t i = 0; i < PIXELS; i++)
        for (size_t k = 0; k < AVERAGE; k++)
            x[i] += z[i / SIDE * WIDE + i % SIDE + k];
    struct cube_statistics s = run(x, SIDE, SIDE, 1);
    cr_expect_lt(fabs(s.correlation[0] - 15.0 / 32), 0.05, "%g", s.correlation[0]);
    cr_expect_lt(fabs(s.correlation[1] - 8.0 / 32), 0.08, "%g", s.correlation[1]);
    cr_expect_lt(fabs(s.correlation[2]), 0.1, "%g", s.correlation[2]);
    free(z);
    free(x);
}

/* The test is between correlation and covariance, so what counts is what the mean adds: one
 * direction, which takes the place of another that it leans on. */
Test(cube_statistics, counts_the_sources_that_stand_out)
{
    enum { CHANNELS = 30 };
    float *x = normals(PIXELS * CHANNELS, 6);
    for (size_t i = 0; i < PIXELS; i++) {
        float a = (float)(i % SIDE) / SIDE;
        for (size_t c = 0; c < CHANNELS; c++)
            x[i * CHANNELS + c] += 40 * (a * (float)(c < 15) + (1 - a) * (float)(c >= 15));
    }
    struct cube_statistics s = run(x, SIDE, SIDE, CHANNELS);
    cr_expect(s.virtual_dimension >= 1 && s.virtual_dimension <= 2, "%g", s.virtual_dimension);
    free(x);
}

/* What does not count changes nothing: a constant channel, one that is mostly NaN, dead pixels. */
Test(cube_statistics, leaves_out_what_does_not_count)
{
    enum { CHANNELS = 5, WITH = CHANNELS + 2, DEAD = SIDE * (SIDE / 2) };
    float *x = normals(PIXELS * CHANNELS, 7), *y = malloc(PIXELS * WITH * sizeof *y);
    for (size_t i = 0; i < PIXELS; i++) {
        for (size_t c = 0; c < CHANNELS; c++)
            y[i * WITH + c + (c > 1)] = x[i * CHANNELS + c];
        y[i * WITH + 2] = 3;
        y[i * WITH + WITH - 1] = i % 3 == 0 ? (float)i : NAN;
        if (i >= DEAD)
            y[i * WITH + i % 2] = i % 4 < 2 ? NAN : INFINITY;
    }
    struct cube_statistics a = run(x, SIDE / 2, SIDE, CHANNELS), b = run(y, SIDE, SIDE, WITH);
    cr_expect_eq(b.channels, CHANNELS);
    cr_expect_eq(b.pixels, DEAD);
    cr_expect_arr_eq(a.share, b.share, sizeof a.share);
    cr_expect_arr_eq(a.tail, b.tail, sizeof a.tail);
    cr_expect_eq(a.degrees, b.degrees);
    cr_expect_eq(a.snr_db, b.snr_db);
    cr_expect_arr_eq(a.correlation, b.correlation, sizeof a.correlation);
    free(x);
    free(y);
}

/* A band counts by the pixels that have any data: of this cube 62 % have none. */
Test(cube_statistics, bears_a_rotated_flight_line)
{
    enum { CHANNELS = 4, DATA = SIDE * 60 };
    float *x = normals(PIXELS * CHANNELS, 10);
    for (size_t i = DATA; i < PIXELS; i++)
        for (size_t c = 0; c < CHANNELS; c++)
            x[i * CHANNELS + c] = NAN;
    struct cube_statistics all = run(x, SIDE, SIDE, CHANNELS), part = run(x, 60, SIDE, CHANNELS);
    cr_expect(all.with_data == DATA && all.pixels == DATA && all.channels == CHANNELS);
    cr_expect_arr_eq(all.share, part.share, sizeof all.share);
    cr_expect_arr_eq(all.correlation, part.correlation, sizeof all.correlation);
    cr_expect_eq(all.snr_db, part.snr_db);
    free(x);
}

/* What a small cube has no value for is NaN, and the rest is there. */
Test(cube_statistics, leaves_open_what_a_cube_does_not_have)
{
    float *x = normals(400, 8);
    struct cube_statistics few = run(x, 3, 4, 11), fine = run(x, 2, 5, 8),
                           narrow = run(x, 40, 9, 1);
    cr_expect(few.share[0] > 0 && few.share[0] < 1 && few.components_99 > 1);
    cr_expect(isnan(few.degrees) && isnan(few.tail[0]) && isnan(few.virtual_dimension),
              "12 pixels of 11 channels have scores");
    cr_expect(isnan(fine.correlation[1]), "a cube of 2 x 5 has pixels 8 apart");
    cr_expect(isnan(fine.snr_db), "two rows have second differences");
    cr_expect(isnan(narrow.correlation[1]) && narrow.correlation[0] < 1 && narrow.snr_db < 20 &&
              narrow.degrees > 2);
    struct cube_statistics one = run(x, 1, 1, 6);
    cr_expect(one.pixels == 1 && one.channels == 0 && isnan(one.share[0]) && isnan(one.snr_db));
    for (int i = 0; i < 200; i++)
        x[i] = 1;
    struct cube_statistics constant = run(x, 2, 5, 8);
    cr_expect(constant.channels == 0 && isnan(constant.components_99));
    free(x);
}

/* In most channels more than half of the second differences are 0: the noise is below a step. */
Test(cube_statistics, knows_no_noise_below_a_step)
{
    float x[100];
    for (int i = 0; i < 100; i++)
        x[i] = 5 + (float)(i == 50);
    cr_expect(isnan(run(x, 10, 10, 1).snr_db));
}

Test(cube_statistics, refuses_what_has_no_data)
{
    struct cube_statistics s;
    float x[] = {NAN, NAN, INFINITY, NAN}, gaps[] = {1, NAN, NAN, 1, 2, NAN, NAN, 3};
    cr_expect_eq(cube_statistics(yp_device_cpu(), &(struct cube_view){x, 2, 1, 2}, &s), YP_INVALID);
    cr_expect_not_null(strstr(yp_last_error(), "0 of 2 have a finite value"), "%s",
                       yp_last_error());
    cr_expect_eq(cube_statistics(yp_device_cpu(), &(struct cube_view){gaps, 2, 2, 2}, &s),
                 YP_INVALID);
    cr_expect_not_null(strstr(yp_last_error(), "none is finite in all of the 2"), "%s",
                       yp_last_error());
}

Test(cube_statistics, takes_exactly_the_bytes_it_says)
{
    float *x = normals(40 * 40 * 9, 9);
    struct cube_view cube = {x, 40, 40, 9};
    struct cube_statistics s;
    const struct yp_memory before = memory();
    yp_device_set_limit(yp_device_cpu(), before.allocated + cube_statistics_bytes(&cube));
    cr_expect_eq(cube_statistics(yp_device_cpu(), &cube, &s), YP_OK);
    yp_device_set_limit(yp_device_cpu(), before.allocated + cube_statistics_bytes(&cube) - 1);
    cr_expect_eq(cube_statistics(yp_device_cpu(), &cube, &s), YP_OUT_OF_MEMORY);
    yp_device_set_limit(yp_device_cpu(), 0);
    cr_expect_eq(memory().allocated, before.allocated);
    free(x);
}
