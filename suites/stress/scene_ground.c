/* Grain that is correlated in space: its field is the same at every place of its lattice, and
 * methods that take differences of neighbours for noise find the noise of the sensor, which they do
 * not where grain is white. */
#include "models/rx/methods/mnf.h"
#include "suites/scene_tiles.h"
#include "suites/worst.h"

#include <math.h>
#include <string.h>

enum { SIDE = 128, PIXELS = SIDE * SIDE, THREADS = 2 };

/* -- the field ------------------------------------------------------------------------------- */

enum { CUBES = 128, PITCH = 7, APART = 4 * PITCH }; /* chunks begin anywhere in a cell */

/* The mixture under grain alone. */
static struct synth_spec grainy(struct yp_case *t, size_t pitch)
{
    return (struct synth_spec){.height = SIDE,
                               .width = SIDE,
                               .channels = 1,
                               .seed = yp_seed(t),
                               .variability = SYNTH_OFF,
                               .shade = SYNTH_OFF,
                               .water = SYNTH_OFF,
                               .path = SYNTH_OFF,
                               .snr_db = SYNTH_OFF,
                               .prnu = SYNTH_OFF,
                               .dsnu = SYNTH_OFF,
                               .bits = SYNTH_OFF,
                               .dead_fraction = SYNTH_OFF,
                               .target_fraction = SYNTH_OFF,
                               .grain_px = pitch};
}

/* z of each pixel of a cube: its light over that of its mixture is 1 + grain z. */
static void grain_of(struct yp_case *t, const struct synth_scene *scene, uint64_t cube,
                     float *values, float *abundances, double *z)
{
    const struct synth_spec *spec = synth_scene_spec(scene);
    float tau;
    synth_scene_transmission(scene, &tau);
    yp_ok(t, synth_scene_tile(scene, cube, 0, PIXELS, values,
                              &(struct synth_truth){.abundances = abundances}));
    for (size_t p = 0; p < PIXELS; p++) {
        double mixture = 0;
        for (size_t k = 0; k < spec->endmembers; k++)
            mixture += (double)abundances[p * spec->endmembers + k] *
                       (double)synth_scene_spectrum(scene, k)[0];
        z[p] = ((double)values[p] / ((double)tau * mixture) - 1) / spec->grain;
    }
}

/* Sums of squares of the field and of its steps, over the pixels of one place modulo the pitch. */
struct place {
    double values, value, steps, step;
};

static void add_places(const double *z, int axis, struct place *places)
{
    size_t next = axis == 0 ? 1 : SIDE;
    for (size_t y = 0; y + 1 < SIDE; y++)
        for (size_t x = 0; x + 1 < SIDE; x++) {
            const double *at = z + y * SIDE + x;
            struct place *place = &places[(axis == 0 ? x : y) % PITCH];
            place->values++, place->steps++;
            place->value += *at * *at;
            place->step += (at[next] - *at) * (at[next] - *at);
        }
}

/* As of the other fields (scene_fields.c), a step of one pixel has the variance
 * 2/3 (1 - cos(2 pi / (3 pitch))), at a cell's border too. A place has about 30,000 independent
 * values and steps; for eight seeds the worst of 14 places is off by 0.2 to 2.3 %. */
YP_TEST(synth, grain_field, .tags = "stress small", .timeout = 120, .parallel = true,
        .budgets = YP_BUDGETS(yp_max_value("variance off", 0.035), yp_max_value("step off", 0.03),
                              yp_max_value("one pitch apart", 0.49),
                              yp_min_value("one pitch apart", 0.45),
                              yp_max_value("four pitches apart", 0.022)))
{
    struct synth_spec spec = grainy(t, PITCH);
    struct synth_scene *scene = open_scene(t, yp_device_cpu(), &spec);
    size_t shares = PIXELS * synth_scene_spec(scene)->endmembers;
    float *values = yp_alloc(t, PIXELS * sizeof *values);
    float *abundances = yp_alloc(t, shares * sizeof *abundances);
    double *z = yp_alloc(t, PIXELS * sizeof *z), near = 0, far = 0, squares = 0;
    struct place places[2][PITCH] = {{{0}}};
    for (uint64_t cube = 0; cube < CUBES; cube++) {
        grain_of(t, scene, cube, values, abundances, z);
        for (int axis = 0; axis < 2; axis++)
            add_places(z, axis, places[axis]);
        for (size_t p = 0; p < PIXELS; p++)
            if (p % SIDE + APART < SIDE && p / SIDE + APART < SIDE) {
                squares += 2 * z[p] * z[p];
                near += z[p] * (z[p + PITCH] + z[p + PITCH * SIDE]);
                far += z[p] * (z[p + APART] + z[p + APART * SIDE]);
            }
    }
    yp_data_hash(t, yp_hash_f32(0, values, PIXELS));
    double step = 2.0 / 3 * (1 - cos(2 * acos(-1.0) / 3 / PITCH)), off = 0, steps = 0;
    for (int axis = 0; axis < 2; axis++)
        for (size_t i = 0; i < PITCH; i++) {
            const struct place *place = &places[axis][i];
            off = worse(off, fabs(place->value / place->values - 1));
            steps = worse(steps, fabs(place->step / place->steps / step - 1));
        }
    yp_value(t, "variance off", off);
    yp_value(t, "step off", steps);
    yp_value(t, "one pitch apart", near / squares);
    yp_value(t, "four pitches apart", fabs(far / squares));
    synth_scene_destroy(scene);
}

/* -- what is taken for noise ----------------------------------------------------------------- */

enum { CHANNELS = 20, POWERS = 2000 };

struct estimate {
    double most, least; /* of the estimated noise over the true one, of all directions */
    size_t found, there;
};

/* The eigenvalue of a (CHANNELS, CHANNELS) that is farthest from 0. */
static double farthest(const double *a)
{
    double v[CHANNELS], w[CHANNELS], length = 0;
    for (size_t i = 0; i < CHANNELS; i++)
        v[i] = 1 + 0.1 * (double)(i % 3);
    for (int power = 0; power < POWERS; power++) {
        double dot = 0;
        length = 0;
        for (size_t i = 0; i < CHANNELS; i++) {
            w[i] = 0;
            for (size_t j = 0; j < CHANNELS; j++)
                w[i] += a[i * CHANNELS + j] * v[j];
            length += w[i] * w[i];
            dot += w[i] * v[i];
        }
        length = copysign(sqrt(length), dot);
        for (size_t i = 0; i < CHANNELS; i++)
            v[i] = w[i] / length;
    }
    return length;
}

/* Largest and smallest eigenvalue of the estimate, which is overwritten, whitened by the truth. */
static void compare(const double truth[CHANNELS], double *noise, struct estimate *e)
{
    for (size_t i = 0; i < CHANNELS; i++)
        for (size_t j = 0; j < CHANNELS; j++)
            noise[i * CHANNELS + j] /= sqrt(truth[i] * truth[j]);
    e->most = farthest(noise);
    for (size_t i = 0; i < CHANNELS; i++)
        noise[i * CHANNELS + i] -= e->most;
    e->least = e->most + farthest(noise);
}

static size_t components(struct yp_case *t, const struct rx *rx, const double *noise, size_t tile)
{
    struct rx_mnf *m = rx_mnf_create(yp_device(t), rx, noise, NULL, tile, THREADS);
    yp_got(t, m);
    size_t count = rx_mnf_with_snr(m, 1);
    rx_mnf_destroy(m);
    return count;
}

/* The noise that differences with the pixel below tell, which has the same detector elements, and
 * the components above it; beside a x + b at the mean of each channel. Materials change slowly,
 * nothing is clipped and no target is there, so that grain and noise alone are rough. */
static struct estimate estimate(struct yp_case *t, size_t pitch)
{
    struct synth_spec spec = {.height = SIDE,
                              .width = SIDE,
                              .channels = CHANNELS,
                              .seed = yp_seed(t),
                              .correlation_px = 8 * (size_t)SIDE,
                              .snr_db = 30,
                              .bits = SYNTH_OFF,
                              .target_fraction = SYNTH_OFF,
                              .grain_px = pitch};
    struct synth_scene *scene = open_scene(t, yp_device_cpu(), &spec);
    float *values = yp_alloc(t, (size_t)PIXELS * CHANNELS * sizeof *values);
    yp_ok(t, synth_scene_tile(scene, 0, 0, PIXELS, values, NULL));
    yp_data_hash(t, yp_hash_f32(0, values, (size_t)PIXELS * CHANNELS));
    struct rx_image image = {values, SIDE, SIDE, CHANNELS};
    struct rx_image_tiles tiles;
    double truth[CHANNELS], a, b, *noise = yp_alloc(t, 2 * CHANNELS * CHANNELS * sizeof *noise);
    yp_ok(t, rx_image_pixels(&image, &tiles));
    struct rx *rx = open_rx(t, CHANNELS, tiles.source.tile_pixels, THREADS);
    yp_ok(t, rx_fit(rx, &tiles.source));
    synth_scene_noise(scene, &a, &b);
    double *right = noise + CHANNELS * CHANNELS;
    const double *mean = rx_mean(rx);
    memset(right, 0, CHANNELS * CHANNELS * sizeof *right);
    for (size_t c = 0; c < CHANNELS; c++)
        right[c * CHANNELS + c] = truth[c] = a * mean[c] + b;
    yp_ok(t, rx_noise(yp_device(t), &image, RX_LOWER, THREADS, noise));
    struct estimate e = {.found = components(t, rx, noise, tiles.source.tile_pixels),
                         .there = components(t, rx, right, tiles.source.tile_pixels)};
    compare(truth, noise, &e);
    rx_destroy(rx);
    synth_scene_destroy(scene);
    return e;
}

/* White grain is a signal of its own in every pixel, and no difference of neighbours tells it from
 * noise: where the ground is bright it passes for noise of hundred times the variance, and the
 * component of the light, which it varies, is lost in it. 16,256 differences in 20 channels tell a
 * variance to 0.93 to 1.07 in the worst direction; grain of 64 pixels adds 0.02 at most. */
YP_TEST(synth, noise_of_neighbours, .tags = "stress small", .timeout = 120,
        .budgets = YP_BUDGETS(yp_min_value("white grain, most over true", 50),
                              yp_max_value("grain of 64, most over true", 1.13),
                              yp_min_value("grain of 64, least over true", 0.89)))
{
    struct estimate white = estimate(t, 1), field = estimate(t, 64);
    yp_value(t, "white grain, most over true", white.most);
    yp_value(t, "grain of 64, most over true", field.most);
    yp_value(t, "grain of 64, least over true", field.least);
    yp_expect(t, field.there >= 1 && field.found == field.there,
              "grain of 64: %zu components above noise, by the true noise %zu", field.found,
              field.there);
    yp_expect(t, white.found < white.there,
              "white grain: %zu components above noise, by the true noise %zu", white.found,
              white.there);
}
