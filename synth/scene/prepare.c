/* The tables of a mixing scene: spectra, atmosphere, sensor. In double, from sums and products only
 * (table.h), so that they have the same bits everywhere. */
#include "base/random/stream.h"
#include "synth/scene/internal.h"
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
    double d = (x - at) / width;
    return synth_table_exp(-0.5 * d * d);
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

/* The place of a channel on the wavelength axis, 0 to 1. */
static double position(const struct synth_spec *spec, size_t channel)
{
    return spec->channels > 1 ? (double)channel / (double)(spec->channels - 1) : 0.0;
}

static double wavelength(const struct synth_spec *spec, size_t channel)
{
    return spec->first_nm + (spec->last_nm - spec->first_nm) * position(spec, channel);
}

/* The factor of a target's features, which are shifted a little towards longer wavelengths against
 * those of the surroundings: darker below, brighter above, the same on average. Each has the form
 * (x/w) exp(1/2 - (x/w)^2/2), which is at most 1. */
static double shifts(const struct shape *shape, double w)
{
    double factor = 1.0;
    for (int i = 0; i < 3; i++) {
        double x = (w - shape->dip_at[i]) / shape->dip_width[i];
        factor *= 1.0 + shape->depth[i] * x * synth_table_exp(-0.5 * x * x) * 1.6487212707001282;
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

/* Fills row `lane` of the table with spectrum `lane` of the seed. */
static void fill_spectrum(struct synth_scene *scene, size_t lane)
{
    struct shape shape = shape_of(scene, lane);
    for (size_t c = 0; c < scene->spec.channels; c++)
        scene->spectra[lane * scene->stride + c] =
            (float)reflectance(&shape, position(&scene->spec, c));
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

/* Fills row `row` with a target: the mean of the endmembers times deep features of its own, where
 * the light is good. It hides in the directions in which the background varies and shows in those
 * in which it does not. */
static void fill_target(struct synth_scene *scene, size_t row)
{
    struct shape shape = shape_of(scene, row);
    size_t endmembers = scene->spec.endmembers;
    widen(&shape, scene->spec.channels);
    for (size_t c = 0; c < scene->spec.channels; c++) {
        double mean = 0;
        for (size_t k = 0; k < endmembers; k++)
            mean += (double)scene->spectra[k * scene->stride + c] / (double)endmembers;
        scene->spectra[row * scene->stride + c] =
            (float)(mean * shifts(&shape, position(&scene->spec, c)));
    }
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

/* Fills tau e_k, that times its variation, and path; returns m of scene.h. */
static double fill_radiance(struct synth_scene *scene)
{
    const struct synth_spec *spec = &scene->spec;
    size_t stride = scene->stride;
    double sum = 0.0;
    for (size_t c = 0; c < spec->channels; c++) {
        double nm = wavelength(spec, c), transmitted = transmission(spec, nm);
        double tau = response(nm) * transmitted;
        scene->wavelengths[c] = (float)nm;
        scene->good[c] = transmitted >= 0.3;
        scene->path[c] = (float)scattered(spec, nm);
        for (size_t k = 0; k < SYNTH_ROWS; k++) {
            double level = tau * (double)scene->spectra[k * stride + c];
            scene->levels[k * stride + c] = (float)level;
            if (k < spec->endmembers) {
                scene->slopes[k * stride + c] = (float)(level * variation(k, position(spec, c)));
                sum += level + scattered(spec, nm);
            }
        }
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
    for (size_t k = 0; k < spec->endmembers; k++)
        fill_spectrum(scene, k);
    for (size_t i = 0; i < SYNTH_TARGETS; i++)
        fill_target(scene, SYNTH_LAST + i);
    double m = fill_radiance(scene);

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
