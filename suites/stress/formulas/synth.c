/* The generator against the formulas of synth/scene/scene.h: what its parts are is told apart by
 * turning the others off, and compared with what the formulas say, in double. */
#include "suites/scene_tiles.h"
#include "suites/worst.h"
#include "synth/scene/purpose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 128, PIXELS = SIDE * SIDE, CHANNELS = 10, TILE = 1000, MAX_ENDMEMBERS = 7 };

/* A cube with all that is known of it; the case's. */
struct cube {
    struct synth_spec spec; /* with its defaults */
    size_t pixels, channels, endmembers;
    float *values, *fill, *abundances, *wavelengths;
    double *spectra; /* (endmembers + SYNTH_TARGETS, channels) */
    uint8_t *labels, *valid, *good;
};

/* All off but the mixture itself, at the channels' centres. */
static struct synth_spec bare(struct yp_case *t)
{
    return (struct synth_spec){.height = SIDE,
                               .width = SIDE,
                               .channels = CHANNELS,
                               .seed = yp_seed(t),
                               .fwhm_nm = SYNTH_OFF,
                               .variability = SYNTH_OFF,
                               .shade = SYNTH_OFF,
                               .grain = SYNTH_OFF,
                               .water = SYNTH_OFF,
                               .path = SYNTH_OFF,
                               .snr_db = SYNTH_OFF,
                               .prnu = SYNTH_OFF,
                               .dsnu = SYNTH_OFF,
                               .bits = SYNTH_OFF,
                               .dead_fraction = SYNTH_OFF,
                               .target_fraction = SYNTH_OFF};
}

/* In tiles that fit neither rows nor chunks. */
static struct cube make(struct yp_case *t, const struct synth_spec *spec, uint64_t number)
{
    struct synth_scene *scene = open_scene(t, yp_device_cpu(), spec);
    struct cube c = {.spec = *synth_scene_spec(scene)};
    bool mixes = c.spec.preset == SYNTH_SCENE;
    c.pixels = c.spec.height * c.spec.width;
    c.channels = c.spec.channels;
    c.endmembers = mixes ? c.spec.endmembers : 0;
    c.values = yp_alloc_host(t, c.pixels * c.channels * sizeof *c.values);
    c.fill = yp_alloc_host(t, c.pixels * sizeof *c.fill);
    c.labels = yp_alloc_host(t, c.pixels);
    c.valid = yp_alloc_host(t, c.pixels);
    c.wavelengths = yp_alloc_host(t, c.channels * sizeof *c.wavelengths);
    c.good = yp_alloc_host(t, c.channels);
    c.spectra = yp_alloc_host(t, (MAX_ENDMEMBERS + SYNTH_TARGETS) * c.channels * sizeof *c.spectra);
    if (mixes)
        c.abundances = yp_alloc_host(t, c.pixels * c.endmembers * sizeof *c.abundances);
    for (size_t at = 0; at < c.pixels; at += TILE) {
        size_t n = c.pixels - at < TILE ? c.pixels - at : TILE;
        struct synth_truth truth = {.labels = c.labels + at,
                                    .fill = c.fill + at,
                                    .valid = c.valid + at,
                                    .abundances = mixes ? c.abundances + at * c.endmembers : NULL};
        yp_ok(t, synth_scene_tile(scene, number, at, n, c.values + at * c.channels, &truth));
    }
    memcpy(c.wavelengths, synth_scene_wavelengths(scene), c.channels * sizeof *c.wavelengths);
    memcpy(c.good, synth_scene_good_bands(scene), c.channels);
    size_t rows = mixes ? c.endmembers + SYNTH_TARGETS : 2;
    for (size_t k = 0; k < rows; k++)
        for (size_t i = 0; i < c.channels; i++)
            c.spectra[k * c.channels + i] = (double)synth_scene_spectrum(scene, k)[i];
    synth_scene_destroy(scene);
    return c;
}

static double square(double x)
{
    return x * x;
}

/* Mean and deviation of what counts; some may be NaN. */
struct moments {
    double n, sum, squares, low, high;
};

static void count(struct moments *m, double x)
{
    if (m->n == 0)
        m->low = INFINITY, m->high = -INFINITY;
    m->n++;
    m->sum += x;
    m->squares += x * x;
    m->low = fmin(m->low, x);
    m->high = fmax(m->high, x);
}

static double mean_of(const struct moments *m)
{
    return m->sum / m->n;
}

static double deviation_of(const struct moments *m)
{
    return sqrt(fmax(m->squares / m->n - square(mean_of(m)), 0));
}

/* -- the mixture ------------------------------------------------------------------------------- */

static double bell(double x, double at, double width)
{
    return exp(-0.5 * square((x - at) / width));
}

/* Light, air and optics as scene.h and its tables have them; `water` the part that is absorbed. */
static double transmitted(double nm, double water)
{
    return (1 - 0.6 * water * bell(nm, 940, 20)) * (1 - 0.8 * water * bell(nm, 1130, 25)) *
           (1 - water * bell(nm, 1400, 40)) * (1 - water * bell(nm, 1900, 50));
}

static double tau_of(double nm, double water)
{
    return 0.5 * (0.2 + 0.8 * bell(nm, 700, 500)) * transmitted(nm, water);
}

/* sum_k a_k e_k + f t: abundances are (1 - f) a_k. */
static double reflectance(const struct cube *c, size_t pixel, size_t channel)
{
    double sum = 0;
    for (size_t k = 0; k < c->endmembers; k++)
        sum += (double)c->abundances[pixel * c->endmembers + k] *
               c->spectra[k * c->channels + channel];
    if (c->labels[pixel] > 0)
        sum += (double)c->fill[pixel] *
               c->spectra[(c->endmembers + c->labels[pixel] - 1) * c->channels + channel];
    return sum;
}

/* Targets, mixture, light, water and scattered light; the largest error over all values. */
YP_TEST(synth, mixture, .tags = "stress small", .timeout = 120, .parallel = true,
        .axes = YP_AXES(yp_axis_int("channels", 10, 60)),
        .budgets = YP_BUDGETS(yp_max_value("off", 1.2e-7), yp_max_value("wavelength off", 8e-8)))
{
    struct synth_spec spec = bare(t);
    spec.channels = (size_t)yp_int(t, "channels");
    spec.path = 0.1;
    spec.water = 0.97;
    spec.target_fraction = 0.05;
    spec.fill_low = 0.1;
    spec.fill_high = 0.9;
    struct cube c = make(t, &spec, 3);
    double worst = 0, nm_off = 0;
    struct moments fill = {0}, kind[SYNTH_TARGETS + 1] = {{0}};
    for (size_t p = 0; p < c.pixels; p++) {
        double whole = (double)c.fill[p];
        for (size_t k = 0; k < c.endmembers; k++)
            whole += (double)c.abundances[p * c.endmembers + k];
        yp_require(t, fabs(whole - 1) < 1e-5, "abundances and fill of pixel %zu sum to %g", p,
                   whole);
        yp_require(t, (c.labels[p] > 0) == (c.fill[p] > 0) && c.labels[p] <= SYNTH_TARGETS,
                   "pixel %zu: label %d, fill %g", p, c.labels[p], (double)c.fill[p]);
        count(&kind[c.labels[p]], 1);
        if (c.labels[p] > 0)
            count(&fill, (double)c.fill[p]);
        for (size_t i = 0; i < c.channels; i++) {
            double nm = 400 + 2100.0 * (double)i / (double)(c.channels - 1), scale = 400 / nm;
            double x =
                tau_of(nm, 0.97) * reflectance(&c, p, i) + 0.05 * scale * scale * scale * scale;
            worst = worse(worst, fabs((double)c.values[p * c.channels + i] - x));
            nm_off = worse(nm_off, fabs((double)c.wavelengths[i] / nm - 1));
        }
    }
    yp_value(t, "off", worst);
    yp_value(t, "wavelength off", nm_off);
    /* 819 of 16,384 with a deviation of 28; their parts are uniform. */
    yp_expect(t, fabs(fill.n - 0.05 * (double)c.pixels) < 5 * 28, "%g targets", fill.n);
    yp_expect(t,
              fabs(mean_of(&fill) - 0.5) < 0.05 && fill.low >= 0.1 && fill.low < 0.12 &&
                  fill.high <= 0.9 && fill.high > 0.88,
              "parts of targets: mean %g, %g to %g", mean_of(&fill), fill.low, fill.high);
    for (int k = 1; k <= SYNTH_TARGETS; k++)
        yp_expect(t, fabs(kind[k].n / fill.n - 0.25) < 0.1, "%g targets of material %d", kind[k].n,
                  k);
    for (size_t i = 0; i < c.channels; i++)
        yp_expect(t, (c.good[i] != 0) == (transmitted((double)c.wavelengths[i], 0.97) >= 0.3),
                  "band %zu: good is %d", i, c.good[i]);
    yp_data_hash(t, yp_hash_f32(0, c.values, c.pixels * c.channels));
}

/* -- what varies ------------------------------------------------------------------------------- */

/* Correlation of a map at pixels so far apart along rows. */
static double correlation(const double *map, size_t apart)
{
    double xy = 0, xx = 0, mean = 0;
    for (size_t p = 0; p < PIXELS; p++)
        mean += map[p] / PIXELS;
    for (size_t p = 0; p < PIXELS; p++) {
        xx += square(map[p] - mean);
        if (p % SIDE + apart < SIDE)
            xy += (map[p] - mean) * (map[p + apart] - mean) * SIDE / (double)(SIDE - apart);
    }
    return xy / xx;
}

/* S of each pixel, which all channels must have; its moments are added. */
static void shade_of(struct yp_case *t, const struct synth_spec *spec, uint64_t number, double *map,
                     struct moments *m)
{
    struct cube c = make(t, spec, number);
    for (size_t p = 0; p < c.pixels; p++) {
        struct moments s = {0};
        for (size_t i = 0; i < c.channels; i++)
            count(&s, (double)c.values[p * c.channels + i] /
                          (tau_of((double)c.wavelengths[i], 0) * reflectance(&c, p, i)));
        yp_require(t, s.high - s.low < 1e-5 * s.high, "the shade of pixel %zu is %g to %g", p,
                   s.low, s.high);
        count(m, mean_of(&s));
        map[p] = mean_of(&s);
    }
}

/* A field, whose neighbours are alike, and grain, whose are not; both within 1/4 and 7/4. */
YP_TEST(synth, shade, .tags = "stress small", .timeout = 120, .parallel = true)
{
    struct synth_spec spec = bare(t);
    double *map = yp_alloc_host(t, PIXELS * sizeof *map);
    struct moments field = {0}, grain = {0}, wild = {0};
    spec.grain = 0.1;
    shade_of(t, &spec, 0, map, &grain);
    double one = correlation(map, 1), chunk = correlation(map, 64), row = correlation(map, 127);
    yp_expect(t, fabs(mean_of(&grain) - 1) < 0.004 && fabs(deviation_of(&grain) - 0.1) < 0.003,
              "grain has mean %g and deviation %g", mean_of(&grain), deviation_of(&grain));
    yp_expect(t, fabs(one) < 0.04 && fabs(chunk) < 0.06, "grain is correlated: %g, %g, %g", one,
              chunk, row);
    spec.grain = SYNTH_OFF;
    spec.shade = 0.2;
    for (uint64_t i = 0; i < 8; i++)
        shade_of(t, &spec, i, map, &field);
    yp_expect(t, fabs(mean_of(&field) - 1) < 0.04 && fabs(deviation_of(&field) - 0.2) < 0.02,
              "shade has mean %g and deviation %g", mean_of(&field), deviation_of(&field));
    yp_expect(t, correlation(map, 1) > 0.95, "shade one apart: %g", correlation(map, 1));
    spec.shade = spec.grain = 0.5;
    shade_of(t, &spec, 0, map, &wild);
    yp_expect(t, fabs(wild.low - 0.25) < 1e-5 && fabs(wild.high - 1.75) < 1e-5,
              "shade is %g to %g, not 1/4 to 7/4", wild.low, wild.high);
}

/* -- the sensor -------------------------------------------------------------------------------- */

/* Noise: what it adds to a clean cube has the variance of the formula and is white. */
YP_TEST(synth, noise, .tags = "stress small", .timeout = 120, .parallel = true)
{
    struct synth_spec spec = bare(t);
    struct cube clean = make(t, &spec, 1);
    spec.snr_db = 30;
    struct cube noisy = make(t, &spec, 1);
    double m = 0, *map = yp_alloc_host(t, PIXELS * sizeof *map);
    for (size_t i = 0; i < CHANNELS; i++)
        for (size_t k = 0; k < clean.endmembers; k++)
            m += tau_of((double)clean.wavelengths[i], 0) * clean.spectra[k * CHANNELS + i] /
                 (CHANNELS * (double)clean.endmembers);
    double half = 0.5 * m * m * 1e-3;
    struct moments all = {0}, dark = {0}, bright = {0};
    double along = 0;
    for (size_t p = 0; p < clean.pixels; p++)
        for (size_t i = 0; i < CHANNELS; i++) {
            double x = (double)clean.values[p * CHANNELS + i];
            double z = ((double)noisy.values[p * CHANNELS + i] - x) / sqrt(half * x / m + half);
            count(&all, z);
            count(x < m / 2 ? &dark : &bright, z);
            if (i > 0)
                along += z * map[p] / ((double)clean.pixels * (CHANNELS - 1));
            map[p] = z;
        }
    yp_expect(t,
              fabs(mean_of(&all)) < 0.012 && fabs(deviation_of(&all) - 1) < 0.01 &&
                  fabs(deviation_of(&dark) - 1) < 0.03 && fabs(deviation_of(&bright) - 1) < 0.03,
              "noise has mean %g and deviation %g, %g in the dark, %g in the bright", mean_of(&all),
              deviation_of(&all), deviation_of(&dark), deviation_of(&bright));
    for (size_t apart = 1; apart < SIDE; apart += apart < 8 ? 1 : 7)
        yp_expect(t,
                  fabs(correlation(map, apart)) < 0.01 + 0.05 * sqrt(SIDE / (double)(SIDE - apart)),
                  "noise %zu apart: %g", apart, correlation(map, apart));
    yp_expect(t, fabs(along) < 0.015, "noise of neighbouring channels: %g", along);
}

/* Gain and offset: fixed for a column and channel; rounding and clipping; dead pixels. */
YP_TEST(synth, sensor, .tags = "stress small", .timeout = 120, .parallel = true)
{
    struct synth_spec spec = bare(t);
    spec.path = 0.1; /* sets the zero of the dark channels off */
    struct cube clean = make(t, &spec, 2);
    spec.prnu = 0.02;
    struct cube gain = make(t, &spec, 2);
    spec.prnu = SYNTH_OFF;
    spec.dsnu = 0.02;
    struct cube offset = make(t, &spec, 2);
    struct moments gains = {0}, offsets = {0};
    double m = 0, both = 0;
    for (size_t i = 0; i < CHANNELS; i++)
        for (size_t k = 0; k < clean.endmembers; k++) {
            double nm = (double)clean.wavelengths[i];
            m += (tau_of(nm, 0) * clean.spectra[k * CHANNELS + i] + 0.05 * pow(400 / nm, 4)) /
                 (CHANNELS * (double)clean.endmembers);
        }
    for (size_t p = 0; p < clean.pixels; p++)
        for (size_t i = 0; i < CHANNELS; i++) {
            size_t at = p * CHANNELS + i, first = p % SIDE * CHANNELS + i;
            double x = (double)clean.values[at], g = (double)gain.values[at] / x - 1;
            double o = (double)offset.values[at] - x, f = (double)clean.values[first];
            yp_require(t,
                       fabs(g - ((double)gain.values[first] / f - 1)) < 1e-5 &&
                           fabs(o - ((double)offset.values[first] - f)) < 1e-6,
                       "pixel %zu, channel %zu: gain %g and offset %g are not its column's", p, i,
                       g, o);
            if (p < SIDE) {
                count(&gains, g);
                count(&offsets, o / m);
                both += g * o / m / (SIDE * CHANNELS * 0.02 * 0.02);
            }
        }
    /* 1,280 of each: deviations are off by 2 %, correlations by 0.028. */
    yp_expect(t,
              fabs(mean_of(&gains)) < 0.0025 && fabs(deviation_of(&gains) - 0.02) < 0.0016 &&
                  fabs(mean_of(&offsets)) < 0.0025 && fabs(deviation_of(&offsets) - 0.02) < 0.0016,
              "gains have mean %g and deviation %g, offsets %g and %g", mean_of(&gains),
              deviation_of(&gains), mean_of(&offsets), deviation_of(&offsets));
    yp_expect(t, fabs(both) < 0.15, "gains and offsets are correlated: %g", both);

    spec = bare(t);
    spec.snr_db = 1; /* far below 0 and above 1 */
    spec.path = 1;
    struct cube exact = make(t, &spec, 2);
    spec.bits = 8;
    spec.dead_fraction = 0.02;
    struct cube stored = make(t, &spec, 2), other = make(t, &spec, 5);
    double low = 1, high = 0, dead = 0;
    for (size_t p = 0; p < stored.pixels; p++) {
        yp_require(t, stored.valid[p] == other.valid[p], "pixel %zu is dead in one cube", p);
        dead += !stored.valid[p];
        for (size_t i = 0; i < CHANNELS; i++) {
            double v = (double)stored.values[p * CHANNELS + i];
            double x = fmin(fmax((double)exact.values[p * CHANNELS + i], 0), 255.0 / 256);
            yp_require(t,
                       stored.valid[p]
                           ? v * 256 == floor(v * 256) && fabs(v - x) <= 0.5 / 256 + 1e-7
                           : isnan(v),
                       "%g is stored as %g", x, v);
            low = fmin(low, v);
            high = fmax(high, v);
        }
    }
    yp_expect(t, low == 0 && high == 255.0 / 256, "stored are %g to %g", low, high);
    yp_expect(t, fabs(dead / PIXELS - 0.02) < 0.0055, "%g of the pixels are dead", dead / PIXELS);

    spec.dead_elements = 0.3;
    struct cube broken = make(t, &spec, 5);
    struct synth_scene *scene = open_scene(t, yp_device_cpu(), &spec);
    double elements = 0;
    for (size_t i = 0; i < (size_t)PIXELS * CHANNELS; i++) {
        bool is = synth_scene_dead_element(scene, i / CHANNELS % SIDE, i % CHANNELS);
        elements += is && i < (size_t)SIDE * CHANNELS;
        yp_require(t,
                   other.valid[i / CHANNELS] ? broken.values[i] == (is ? 0 : other.values[i])
                                             : isnan(broken.values[i]),
                   "value %zu, dead %d: %g", i, is, (double)broken.values[i]);
    }
    synth_scene_destroy(scene);
    yp_expect(t, fabs(elements - 0.3 * SIDE * CHANNELS) < 5 * sqrt(0.21 * SIDE * CHANNELS),
              "%g elements are dead", elements);
}

/* -- the preset of the cuvis.ai suite ---------------------------------------------------------- */

YP_TEST(synth, cuvis, .tags = "stress small", .timeout = 120, .parallel = true)
{
    struct synth_spec spec = {.preset = SYNTH_CUVIS,
                              .height = SIDE,
                              .width = SIDE,
                              .channels = CHANNELS,
                              .seed = yp_seed(t),
                              .anomaly_strength = 2};
    struct cube noisy = make(t, &spec, 4);
    struct moments z = {0};
    const double pi = acos(-1);
    uint8_t *discs = yp_alloc_host(t, PIXELS);
    memset(discs, 0, PIXELS);
    for (uint64_t d = 0; d < (uint64_t)(0.05 * PIXELS) / 20; d++) {
        uint32_t words[4]; /* row, column, radius */
        ypi_philox_block(synth_stream(spec.seed, 4, SYNTH_DISCS), d, words);
        long row = (long)(words[0] * 0x1p-32 * SIDE), column = (long)(words[1] * 0x1p-32 * SIDE);
        double reach = 2 + (double)(words[2] >> 30);
        for (long p = 0; p < PIXELS; p++) {
            long y = p / SIDE - row, x = p % SIDE - column;
            discs[p] |= hypot((double)y, (double)x) <= reach;
        }
    }
    yp_expect(t, memcmp(discs, noisy.labels, PIXELS) == 0,
              "anomalies are not where the words put them");
    for (size_t p = 0; p < noisy.pixels; p++) {
        size_t line = p / SIDE;
        double row = 1 + 0.2 * sin(2 * pi * (double)line / SIDE);
        double column = 1 + 0.2 * cos(2 * pi * (double)(p % SIDE) / SIDE);
        for (size_t i = 0; i < CHANNELS; i++) {
            double w = (double)i / (CHANNELS - 1), v = (double)noisy.values[p * CHANNELS + i];
            double normal = 100 * exp(-square(w - 0.5) / 0.1) * row * column;
            double anomaly = 100 * (exp(-square(w - 0.3) / 0.05) + exp(-square(w - 0.7) / 0.05));
            if (noisy.labels[p] == 0)
                count(&z, (v - normal) / 10);
            else
                yp_require(t, fabs(v - anomaly) < 1e-4, "an anomaly of %g, not %g", v, anomaly);
        }
    }
    yp_expect(t,
              fabs(mean_of(&z)) < 0.012 && fabs(deviation_of(&z) - 1) < 0.01 && z.low < -3.9 &&
                  z.high > 3.9,
              "noise has mean %g and deviation %g", mean_of(&z), deviation_of(&z));
}
