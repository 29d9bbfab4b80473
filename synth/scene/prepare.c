/* The tables of a mixing scene: spectra, atmosphere, sensor. In double, from sums and products only
 * (table.h), so that they have the same bits everywhere. */
#include "base/random/stream.h"
#include "synth/scene/internal.h"
#include "synth/scene/optics.h"
#include "synth/scene/passband.h"
#include "synth/scene/table.h"

#include <math.h>

#define WORDS_A_SPECTRUM 32 /* 17 used; the others are reserved for further features */

void ypi_scene_lay_out(struct synth_scene *scene, struct synth_tables *tables)
{
    const struct synth_spec *spec = &scene->spec;
    size_t row = scene->stride * sizeof(float);
    scene->spectra = ypi_synth_take(tables, SYNTH_ROWS * row);
    scene->levels = ypi_synth_take(tables, SYNTH_ROWS * row);
    scene->slopes = ypi_synth_take(tables, SYNTH_LANES * row);
    scene->path = ypi_synth_take(tables, row);
    if (spec->prnu > 0 || spec->dsnu > 0 || spec->dead_elements > 0)
        scene->columns = ypi_synth_take(tables, spec->width * scene->stride * sizeof(uint32_t));
    scene->tau = ypi_synth_take(tables, row);
    ypi_optics_lay_out(scene, tables);
}

/* -- spectra ------------------------------------------------------------------------------ */

struct shape {
    double level, slope;
    double hump[2], hump_at[2], hump_width[2];
    double depth[3], dip_at[3], dip_width[3];
};

static double draw(const uint32_t **word, double low, double high)
{
    double u = ((double)*(*word)++ + 0.5) * 0x1p-32;
    return low + (high - low) * u;
}

/* Brightness of endmember `lane`, 0.12 to 0.48. The range is cut into seven equal parts on a
 * logarithmic scale, one for each lane, in an order that spreads the first few lanes over all of
 * it. Water, soil and concrete differ by as much, and that contrast shapes the spectrum of the
 * covariance and the tail of RX scores in real scenes. */
static double brightness(const uint32_t **word, size_t lane)
{
    static const int seventh[SYNTH_LAST] = {3, 0, 6, 1, 5, 2, 4};
    return synth_table_exp(-2.1 + 1.366 * (seventh[lane] + draw(word, 0, 1)) / 7);
}

/* The ranges keep slope and humps within 0.1 ... 1.9 and reflectances within 0.001 ... 0.92, so
 * nothing has to be clipped. */
static struct shape draw_shape(const uint32_t *word, size_t lane)
{
    struct shape shape;
    bool target = lane >= SYNTH_LAST;
    shape.level = target ? 0 : brightness(&word, lane);
    shape.slope = draw(&word, -0.8, 0.8);
    for (int i = 0; i < 2; i++) {
        shape.hump[i] = draw(&word, -0.25, 0.25);
        shape.hump_at[i] = draw(&word, 0.0, 1.0);
        shape.hump_width[i] = draw(&word, 0.1, 0.3);
    }
    for (int i = 0; i < 3; i++) {
        shape.depth[i] = target ? draw(&word, 0.2, 0.3) : draw(&word, 0.1, 0.5);
        shape.dip_at[i] = target ? draw(&word, 0.05, 0.4) : draw(&word, 0.0, 1.0);
        shape.dip_width[i] = target ? draw(&word, 0.005, 0.012) : draw(&word, 0.015, 0.075);
    }
    return shape;
}

static double bell(double x, double at, double width)
{
    double d = (x - at) / width, exponent = 0.5 * d * d;
    return exponent < 50 ? synth_table_exp(-exponent) : 0; /* less than a last place of 1 */
}

/* The share of the light that remains after the absorption features of a shape. */
static double dips(const struct shape *shape, double w)
{
    double remaining = 1.0;
    for (int i = 0; i < 3; i++)
        remaining *= 1.0 - shape->depth[i] * bell(w, shape->dip_at[i], shape->dip_width[i]);
    return remaining;
}

static double reflectance(const struct shape *shape, double w)
{
    double smooth = 1.0 + shape->slope * (w - 0.5);
    for (int i = 0; i < 2; i++)
        smooth += shape->hump[i] * bell(w, shape->hump_at[i], shape->hump_width[i]);
    return shape->level * smooth * dips(shape, w);
}

/* The factor of a target's features, which are shifted a little towards longer wavelengths against
 * those of the surroundings: darker below, brighter above, the same on average. Each has the form
 * (x/w) exp(1/2 - (x/w)^2/2), which is at most 1. */
static double shifts(const struct shape *shape, double w)
{
    double factor = 1.0;
    for (int i = 0; i < 3; i++) {
        double x = (w - shape->dip_at[i]) / shape->dip_width[i];
        factor *= 1.0 + shape->depth[i] * x * bell(x, 0, 1) * 1.6487212707001282;
    }
    return factor;
}

static struct shape shape_of(const struct synth_scene *scene, size_t lane)
{
    uint32_t words[WORDS_A_SPECTRUM];
    ypi_random_words(scene->spec.level, synth_stream(scene->spec.seed, 0, SYNTH_SPECTRA),
                     lane * WORDS_A_SPECTRUM, WORDS_A_SPECTRUM, words);
    return draw_shape(words, lane);
}

/* With fewer than 100 channels features grow with the channels' spacing: narrower ones would fall
 * between two channels. */
static void widen(struct shape *shape, size_t channels)
{
    if (channels >= 100 || channels < 2)
        return;
    double spacing = 99.0 / (double)(channels - 1);
    for (int i = 0; i < 3; i++) {
        double depth = shape->depth[i] * spacing;
        shape->dip_width[i] *= spacing;
        shape->depth[i] = depth < 0.6 ? depth : 0.6;
    }
}

/* The shapes of all spectra, by the rows of the tables. */
struct ground {
    struct shape shape[SYNTH_ROWS];
};

static void draw_ground(const struct synth_scene *scene, struct ground *ground)
{
    for (size_t k = 0; k < scene->spec.endmembers; k++)
        ground->shape[k] = shape_of(scene, k);
    for (size_t row = SYNTH_LAST; row < SYNTH_ROWS; row++) {
        ground->shape[row] = shape_of(scene, row);
        widen(&ground->shape[row], scene->spec.channels);
    }
}

/* All reflectances at one wavelength. A target is the mean of the endmembers times deep features of
 * its own, where the light is good. It hides in the directions in which the background varies and
 * shows in those in which it does not. */
static void reflectances(const struct ground *ground, size_t endmembers, double w,
                         float e[SYNTH_ROWS])
{
    double mean = 0;
    memset(e, 0, SYNTH_ROWS * sizeof *e);
    for (size_t k = 0; k < endmembers; k++) {
        e[k] = (float)reflectance(&ground->shape[k], w);
        mean += (double)e[k] / (double)endmembers;
    }
    for (size_t row = SYNTH_LAST; row < SYNTH_ROWS; row++)
        e[row] = (float)(mean * shifts(&ground->shape[row], w));
}

/* -- atmosphere --------------------------------------------------------------------------- */

/* Transmission of water vapour. Centres and widths are those of its absorption bands in handbooks
 * of remote sensing. */
static double transmission(const struct synth_spec *spec, double nm)
{
    static const struct {
        double at, width, depth;
    } bands[] = {{940, 20, 0.6}, {1130, 25, 0.8}, {1400, 40, 1}, {1900, 50, 1}};
    double transmitted = 1.0;
    for (size_t i = 0; i < sizeof bands / sizeof bands[0]; i++)
        transmitted *= 1.0 - spec->water * bands[i].depth * bell(nm, bands[i].at, bands[i].width);
    return transmitted;
}

/* Sunlight, optics and detector together: strongest in the visible, nowhere 0. */
static double response(double nm)
{
    return 0.5 * (0.2 + 0.8 * bell(nm, 700, 500));
}

static double scattered(const struct synth_spec *spec, double nm)
{
    double ratio = 400 / nm * (400 / nm);
    return 0.5 * spec->path * ratio * ratio;
}

/* The shape in which material k varies, besides its brightness: one of three. */
static double variation(size_t k, double w)
{
    return synth_table_cos_turns((double)(k % 3 + 1) * w / 2);
}

/* What a channel sees: sums over its passband. */
struct light {
    const struct synth_spec *spec;
    const struct ground *ground;
    double place, centre; /* of the channel */
    double weight, transmitted, tau, path;
    double e[SYNTH_ROWS], level[SYNTH_ROWS], slope[SYNTH_LAST];
};

static void add_light(void *arg, double offset, double weight)
{
    struct light *sum = arg;
    const struct synth_spec *spec = sum->spec;
    double nm = sum->centre + offset, w = sum->place + offset / (spec->last_nm - spec->first_nm);
    double transmitted = transmission(spec, nm), tau = response(nm) * transmitted;
    float e[SYNTH_ROWS];
    reflectances(sum->ground, spec->endmembers, w, e);
    sum->weight += weight;
    sum->transmitted += weight * transmitted;
    sum->tau += weight * tau;
    sum->path += weight * scattered(spec, nm);
    for (size_t k = 0; k < SYNTH_ROWS; k++) {
        double level = tau * (double)e[k];
        sum->e[k] += weight * (double)e[k];
        sum->level[k] += weight * level;
        if (k < spec->endmembers)
            sum->slope[k] += weight * (level * variation(k, w));
    }
}

static struct light light_of(const struct synth_spec *spec, const struct ground *ground,
                             size_t channel, double shift_nm)
{
    struct light light = {.spec = spec,
                          .ground = ground,
                          .place = ypi_passband_place(spec, channel),
                          .centre = ypi_passband_centre(spec, channel)};
    ypi_passband_sample(spec, channel, shift_nm, add_light, &light);
    light.transmitted /= light.weight;
    light.tau /= light.weight;
    light.path /= light.weight;
    for (size_t k = 0; k < SYNTH_ROWS; k++) {
        light.e[k] /= light.weight;
        light.level[k] /= light.weight;
        if (k < SYNTH_LAST)
            light.slope[k] /= light.weight;
    }
    return light;
}

/* Column c of the tables that values are made of. */
static void put_light(const struct light *light, float *levels, float *slopes, float *path,
                      size_t stride)
{
    *path = (float)light->path;
    for (size_t k = 0; k < SYNTH_ROWS; k++)
        levels[k * stride] = (float)light->level[k];
    for (size_t k = 0; k < light->spec->endmembers; k++)
        slopes[k * stride] = (float)light->slope[k];
}

/* The same tables for channels that are shifted. */
static void fill_knots(struct synth_scene *scene, const struct ground *ground)
{
    size_t stride = scene->stride;
    for (size_t knot = 0; knot < SYNTH_KNOTS; knot++) {
        float *levels = scene->knots + knot * SYNTH_KNOT_ROWS * stride;
        float *slopes = levels + SYNTH_ROWS * stride, *path = slopes + SYNTH_LANES * stride;
        double shift = scene->spec.smile_nm * (double)knot / (SYNTH_KNOTS - 1);
        for (size_t c = 0; c < scene->spec.channels; c++) {
            struct light light = light_of(&scene->spec, ground, c, shift);
            put_light(&light, levels + c, slopes + c, path + c, stride);
        }
    }
}

/* Fills e_k, tau e_k, that times its variation, tau and path; returns m of scene.h. */
static double fill_radiance(struct synth_scene *scene, const struct ground *ground)
{
    const struct synth_spec *spec = &scene->spec;
    size_t stride = scene->stride;
    double sum = 0.0;
    for (size_t c = 0; c < spec->channels; c++) {
        struct light light = light_of(spec, ground, c, 0);
        scene->wavelengths[c] = (float)light.centre;
        scene->good[c] = light.transmitted >= 0.3;
        scene->tau[c] = (float)light.tau;
        put_light(&light, scene->levels + c, scene->slopes + c, scene->path + c, stride);
        for (size_t k = 0; k < SYNTH_ROWS; k++)
            scene->spectra[k * stride + c] = (float)light.e[k];
        for (size_t k = 0; k < spec->endmembers; k++)
            sum += light.level[k] + light.path;
    }
    return sum / ((double)spec->channels * (double)spec->endmembers);
}

/* -- sensor ------------------------------------------------------------------------------- */

/* `value` rounded to bf16, ties to even: the upper half of a float. */
static uint32_t bf16(float value)
{
    uint32_t bits = (uint32_t)ypi_bits_of(value);
    return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}

static void fill_columns(struct synth_scene *scene, double m)
{
    const struct synth_spec *spec = &scene->spec;
    struct ypi_stream stream = synth_stream(spec->seed, 0, SYNTH_COLUMNS);
    float gain = (float)spec->prnu, offset = (float)(m * spec->dsnu);
    enum { BATCH = 64 };
    float normals[2 * BATCH];
    for (size_t column = 0; column < spec->width; column++)
        for (size_t c = 0; c < spec->channels; c += BATCH) {
            size_t count = spec->channels - c < BATCH ? spec->channels - c : BATCH;
            ypi_random_normals(spec->level, stream, 2 * ((uint64_t)column * spec->channels + c),
                               2 * count, normals);
            for (size_t i = 0; i < count; i++)
                scene->columns[column * scene->stride + c + i] =
                    bf16(gain * normals[2 * i]) << 16 | bf16(offset * normals[2 * i + 1]);
        }
}

static uint64_t threshold(double probability)
{
    return (uint64_t)(probability * 0x1p32 + 0.5);
}

static void kill_elements(struct synth_scene *scene)
{
    const struct synth_spec *spec = &scene->spec;
    struct ypi_stream stream = synth_stream(spec->seed, 0, SYNTH_ELEMENTS);
    uint64_t dead = threshold(spec->dead_elements);
    enum { BATCH = 64 };
    uint32_t words[BATCH];
    for (size_t column = 0; column < spec->width && dead > 0; column++)
        for (size_t c = 0; c < spec->channels; c += BATCH) {
            size_t count = spec->channels - c < BATCH ? spec->channels - c : BATCH;
            ypi_random_words(spec->level, stream, (uint64_t)column * spec->channels + c, count,
                             words);
            for (size_t i = 0; i < count; i++)
                if (words[i] < dead)
                    scene->columns[column * scene->stride + c + i] = SYNTH_DEAD_ELEMENT;
        }
}

void ypi_scene_prepare(struct synth_scene *scene)
{
    const struct synth_spec *spec = &scene->spec;
    struct ground ground;
    draw_ground(scene, &ground);
    double m = fill_radiance(scene, &ground);
    if (scene->knots != NULL)
        fill_knots(scene, &ground);
    ypi_optics_prepare(scene);

    /* m^2 10^(-snr/10) at m; half of it grows with the signal. */
    double variance =
        spec->snr_db > 0 ? m * m * synth_table_exp(-0.23025850929940457 * spec->snr_db) : 0;
    scene->sensor.photon = (float)(0.5 * variance / m);
    scene->sensor.read = (float)(0.5 * variance);
    if (scene->columns != NULL) {
        fill_columns(scene, m);
        kill_elements(scene);
    }
    scene->sensor.low = spec->bits > 0 ? 0.0f : -INFINITY;
    scene->sensor.high = INFINITY;
    if (spec->bits > 0) {
        int64_t steps = INT64_C(1) << (int)spec->bits;
        scene->sensor.high = (float)(1.0 - 1.0 / (double)steps);
        scene->sensor.magic = (float)(1.5 * 0x1p23 / (double)steps); /* its last place is 2^-bits */
    }
    scene->target = threshold(spec->target_fraction);
    ypi_shapes_prepare(scene);
    scene->dead = threshold(spec->dead_fraction);
}
