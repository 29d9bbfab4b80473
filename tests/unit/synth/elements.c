/* Dead elements of the sensor: a column and channel that read 0 whatever light they get. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/synth/scene_kit.h"

enum { HEIGHT = 9, WIDTH = 101, CHANNELS = 70, ELEMENTS = WIDTH * CHANNELS };

/* With and without are the same bits but where an element is dead, which reads 0 in every row of
 * every cube; a dead pixel stays NaN. */
static double check_elements(struct synth_spec spec)
{
    struct synth_spec plain = spec;
    plain.dead_elements = 0;
    struct synth_scene *scene = kit_scene(&spec), *whole = kit_scene(&plain);
    double dead = 0;
    for (uint64_t cube = 0; cube < 8; cube += 7) {
        struct kit_cube a = kit_make(scene, cube), b = kit_make(whole, cube);
        for (size_t i = 0; i < a.values; i++) {
            size_t column = i / CHANNELS % WIDTH, c = i % CHANNELS;
            bool is = synth_scene_dead_element(scene, column, c);
            dead += is && i < ELEMENTS && cube == 0;
            if (is && a.valid[i / CHANNELS])
                cr_assert_eq(a.value[i], 0.0f, "column %zu channel %zu: %g", column, c,
                             (double)a.value[i]);
            else
                cr_assert_arr_eq(a.value + i, b.value + i, sizeof(float), "value %zu", i);
            cr_assert_not(synth_scene_dead_element(whole, column, c));
        }
        cr_expect_arr_eq(a.label, b.label, a.pixels);
        cr_expect_arr_eq(a.valid, b.valid, a.pixels);
        kit_free(a);
        kit_free(b);
    }
    cr_expect_not(synth_scene_dead_element(scene, WIDTH, 0));
    cr_expect_not(synth_scene_dead_element(scene, 0, CHANNELS));
    synth_scene_destroy(scene);
    synth_scene_destroy(whole);
    return dead;
}

Test(elements, read_nothing_when_dead)
{
    static const double parts[] = {0.003, 0.05, 0.7, 1};
    for (int i = 0; i < 4; i++) {
        struct synth_spec spec = kit_sized(HEIGHT, WIDTH, CHANNELS);
        spec.dead_elements = parts[i];
        spec.dead_fraction = 0.02;
        double n = ELEMENTS, p = parts[i];
        double dead = check_elements(spec);
        cr_expect_leq(fabs(dead - p * n), 5 * sqrt(p * (1 - p) * n), "%g of %g", dead, p * n);
        spec.prnu = spec.dsnu = SYNTH_OFF;
        cr_expect_eq(check_elements(spec), dead, "without striping they are others");
        spec.bits = spec.snr_db = SYNTH_OFF;
        spec.prnu = spec.dsnu = 0.1; /* gains as far from 1 as they come */
        cr_expect_eq(check_elements(spec), dead, "others, neither rounded nor noisy");
    }
}

/* They are the seed's: not a run of columns, and others for another seed. */
Test(elements, lie_where_chance_puts_them)
{
    struct synth_spec spec = kit_sized(1, WIDTH, CHANNELS), other = spec;
    spec.dead_elements = other.dead_elements = 0.3;
    other.seed++;
    struct synth_scene *a = kit_scene(&spec), *b = kit_scene(&other);
    double both = 0, right = 0, down = 0;
    for (size_t x = 0; x + 1 < WIDTH; x++)
        for (size_t c = 0; c + 1 < CHANNELS; c++) {
            bool is = synth_scene_dead_element(a, x, c);
            both += is && synth_scene_dead_element(b, x, c);
            right += is && synth_scene_dead_element(a, x + 1, c);
            down += is && synth_scene_dead_element(a, x, c + 1);
        }
    double n = (WIDTH - 1) * (CHANNELS - 1), want = 0.09 * n, error = 5 * sqrt(0.09 * 0.91 * n);
    cr_expect_leq(fabs(both - want), error, "%g of %g with another seed", both, want);
    cr_expect_leq(fabs(right - want), error, "%g of %g in the next column", right, want);
    cr_expect_leq(fabs(down - want), error, "%g of %g in the next channel", down, want);
    synth_scene_destroy(a);
    synth_scene_destroy(b);
}
