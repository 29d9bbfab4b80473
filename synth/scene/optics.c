/* Point spread, smile and keystone. A mixture is linear in its coefficients, so it is these that
 * are blurred, and a pixel's spectrum is made once. Plain loops in a fixed order: a value depends
 * on its pixel and channel alone, whatever the tile and the instruction set. */
#include "synth/scene/optics.h"
#include "base/random/stream.h"
#include "synth/scene/table.h"

#include <math.h>

#define RUN 24    /* pixels that are made together */
#define BLOCK 128 /* channels */

_Static_assert(BLOCK % SYNTH_PAD == 0, "whole vectors");

/* -- creation ---------------------------------------------------------------------------------- */

/* One and a half widths at half maximum, or 3.5 deviations: 0.4 per cent of the height. */
size_t ypi_optics_reach(const struct synth_spec *spec)
{
    return spec->psf_px > 0 ? (size_t)(1.5 * spec->psf_px) + 1 : 0;
}

/* Positions beyond a pixel's own that keystone reads. */
static size_t shift_of(const struct synth_spec *spec)
{
    size_t whole = (size_t)spec->keystone_px;
    return whole + ((double)whole < spec->keystone_px);
}

enum yp_status ypi_optics_check_device(const struct synth_spec *spec)
{
    const char *option = spec->psf_px > 0     ? "psf_px"
                         : spec->smile_nm > 0 ? "smile_nm"
                                              : "keystone_px";
    if (!ypi_optics_is_on(spec))
        return YP_OK;
    return yp_set_error(YP_UNSUPPORTED,
                        "synth_spec.%s is on: it is made on the CPU only, on accelerators it must "
                        "be off",
                        option);
}

void ypi_optics_lay_out(struct synth_scene *scene, struct synth_tables *tables)
{
    const struct synth_spec *spec = &scene->spec;
    if (spec->psf_px > 0)
        scene->psf = ypi_synth_take(tables, (ypi_optics_reach(spec) + 1) * sizeof(float));
    if (spec->smile_nm > 0)
        scene->knots =
            ypi_synth_take(tables, SYNTH_KNOTS * SYNTH_KNOT_ROWS * scene->stride * sizeof(float));
}

void ypi_optics_prepare(struct synth_scene *scene)
{
    size_t reach = ypi_optics_reach(&scene->spec);
    double sum = 0, weights[SYNTH_SPAN];
    for (size_t i = 0; i <= reach && scene->psf != NULL; i++) {
        double d = (double)i / scene->spec.psf_px;
        weights[i] = synth_table_exp(-2.7725887222397811 * d * d); /* 4 ln 2 */
        sum += i == 0 ? weights[i] : 2 * weights[i];
    }
    for (size_t i = 0; i <= reach && scene->psf != NULL; i++)
        scene->psf[i] = (float)(weights[i] / sum);
}

/* -- the light of a run of pixels -------------------------------------------------------------- */

/* Beyond the border the image goes on as its mirror image, the border's pixels twice. */
static size_t mirrored(int64_t at, size_t size)
{
    int64_t period = 2 * (int64_t)size;
    at %= period;
    at = at < 0 ? at + period : at;
    return (size_t)(at < (int64_t)size ? at : period - 1 - at);
}

/* The coefficients of the light that positions column .. column + count - 1 of a row get; those
 * beyond the border too. */
static void gather(const struct synth_scene *scene, uint64_t cube, size_t row, size_t column,
                   size_t count, struct synth_ground_light *seen)
{
    const struct synth_spec *spec = &scene->spec;
    int64_t reach = (int64_t)ypi_optics_reach(spec);
    struct synth_ground_light ground, down = {{{0}}};
    size_t low = spec->width - 1, high = 0, place[SYNTH_SPAN];
    for (size_t i = 0; i < count + 2 * (size_t)reach; i++) {
        place[i] = mirrored((int64_t)(column + i) - reach, spec->width);
        low = place[i] < low ? place[i] : low;
        high = place[i] > high ? place[i] : high;
    }
    for (int64_t y = -reach; y <= reach; y++) {
        float weight = scene->psf != NULL ? scene->psf[y < 0 ? -y : y] : 1.0f;
        size_t from = mirrored((int64_t)row + y, spec->height);
        ypi_mixing_light(scene, cube, from * spec->width + low, high - low + 1, &ground);
        for (size_t k = 0; k < SYNTH_LIGHTS; k++)
            for (size_t i = 0; i <= high - low; i++)
                down.of[k][i] += weight * ground.of[k][i];
    }
    for (size_t k = 0; k < SYNTH_LIGHTS; k++)
        for (size_t i = 0; i < count; i++) {
            float sum = 0;
            for (size_t x = 0; x <= 2 * (size_t)reach; x++) {
                size_t off = x < (size_t)reach ? (size_t)reach - x : x - (size_t)reach;
                float weight = scene->psf != NULL ? scene->psf[off] : 1.0f;
                sum += weight * down.of[k][place[i + x] - low];
            }
            seen->of[k][i] = sum;
        }
}

/* -- a pixel's spectrum ------------------------------------------------------------------------ */

/* The tables at one shift of the channels. */
struct optics_tables {
    const float *levels, *slopes, *path;
};

static struct optics_tables tables_at(const struct synth_scene *scene, size_t knot)
{
    if (scene->knots == NULL)
        return (struct optics_tables){scene->levels, scene->slopes, scene->path};
    const float *levels = scene->knots + knot * SYNTH_KNOT_ROWS * scene->stride;
    const float *slopes = levels + SYNTH_ROWS * scene->stride;
    return (struct optics_tables){levels, slopes, slopes + SYNTH_LANES * scene->stride};
}

static void add_row(float part, const float *row, size_t count, float *x)
{
    for (size_t i = 0; i < count && part != 0.0f; i++)
        x[i] += part * row[i];
}

/* x of scene.h at channels c .. c + count - 1 of position i. */
static void mix(const struct synth_scene *scene, const struct optics_tables *tables,
                const struct synth_ground_light *seen, size_t i, size_t c, size_t count, float *x)
{
    size_t endmembers = scene->spec.endmembers, stride = scene->stride;
    memcpy(x, tables->path + c, count * sizeof *x);
    for (size_t k = 0; k < endmembers; k++)
        add_row(seen->of[SYNTH_LEVELS + k][i], tables->levels + k * stride + c, count, x);
    for (size_t k = 0; k < SYNTH_TARGETS; k++)
        add_row(seen->of[SYNTH_FILLS + k][i], tables->levels + (SYNTH_LAST + k) * stride + c, count,
                x);
    for (size_t k = 0; k < endmembers && scene->spec.variability > 0; k++)
        add_row(seen->of[SYNTH_SLOPES + k][i], tables->slopes + k * stride + c, count, x);
}

/* The same where each channel looks at a place of its own between two positions. */
static void mix_along(const struct synth_scene *scene, const struct optics_tables *tables,
                      const struct synth_ground_light *seen, size_t i, size_t c, size_t count,
                      float *x)
{
    const struct synth_spec *spec = &scene->spec;
    double step = spec->channels > 1 ? spec->keystone_px / (double)(spec->channels - 1) : 0;
    size_t last = shift_of(spec);
    if (last == 0) {
        mix(scene, tables, seen, i, c, count, x);
        return;
    }
    for (size_t at = 0, end; at < count; at = end) {
        float next[BLOCK];
        size_t whole = (size_t)(step * (double)(c + at));
        whole = whole < last ? whole : last - 1;
        for (end = at + 1; end < count && step * (double)(c + end) < (double)(whole + 1); end++)
            ;
        mix(scene, tables, seen, i + whole, c + at, end - at, x + at);
        mix(scene, tables, seen, i + whole + 1, c + at, end - at, next);
        for (size_t k = at; k < end; k++) {
            float part = (float)(step * (double)(c + k) - (double)whole);
            x[k] += part * (next[k - at] - x[k]);
        }
    }
}

/* And where the channels are shifted by the square of the column's distance from the middle. */
static void light_of(const struct synth_scene *scene, const struct synth_ground_light *seen,
                     size_t i, size_t column, size_t c, size_t count, float *x)
{
    struct optics_tables tables = tables_at(scene, 0);
    if (scene->knots == NULL) {
        mix_along(scene, &tables, seen, i, c, count, x);
        return;
    }
    double wide = scene->spec.width > 1 ? (double)(scene->spec.width - 1) : 1;
    double u = scene->spec.width > 1 ? 2 * (double)column / wide - 1 : 0;
    double place = (SYNTH_KNOTS - 1) * (u * u);
    size_t knot = (size_t)place;
    knot = knot < SYNTH_KNOTS - 1 ? knot : SYNTH_KNOTS - 2;
    float part = (float)(place - (double)knot), next[BLOCK];
    tables = tables_at(scene, knot);
    mix_along(scene, &tables, seen, i, c, count, x);
    tables = tables_at(scene, knot + 1);
    mix_along(scene, &tables, seen, i, c, count, next);
    for (size_t k = 0; k < count; k++)
        x[k] += part * (next[k] - x[k]);
}

/* -- the reading ------------------------------------------------------------------------------- */

/* Channels c .. c + count - 1 of a pixel, count at most BLOCK. */
static void read_channels(const struct synth_scene *scene, uint64_t cube, size_t pixel,
                          const struct synth_ground_light *seen, size_t i, size_t c, size_t count,
                          float *values)
{
    static const float zeros[SYNTH_ROWS * BLOCK];
    const struct synth_spec *spec = &scene->spec;
    size_t column = pixel % spec->width;
    float x[BLOCK] = {0};
    uint32_t columns[BLOCK] = {0};
    light_of(scene, seen, i, column, c, count, x);
    struct synth_scene narrow = *scene;
    narrow.path = x;
    narrow.levels = narrow.slopes = (void *)(uintptr_t)zeros; /* read only */
    narrow.stride = BLOCK;
    narrow.spec.channels = count;
    narrow.spec.variability = 0;
    if (scene->columns != NULL) {
        memcpy(columns, scene->columns + column * scene->stride + c, count * sizeof *columns);
        narrow.columns = columns;
    }
    ypi_random_normals(spec->level, synth_stream(spec->seed, cube, SYNTH_NOISE),
                       (uint64_t)pixel * spec->channels + c, count, values);
    ypi_mixing_read(&narrow, values);
    for (size_t k = 0; k < count && spec->blank_bands; k++)
        values[k] = scene->good[c + k] ? values[k] : 0.0f;
}

/* Pixels of a run: all of one row, at most RUN. */
static size_t run_at(const struct synth_spec *spec, size_t pixel, size_t pixels)
{
    size_t left = spec->width - pixel % spec->width;
    left = left < pixels ? left : pixels;
    return left < RUN ? left : RUN;
}

static void gather_run(const struct synth_scene *scene, uint64_t cube, size_t pixel, size_t pixels,
                       struct synth_ground_light *seen)
{
    size_t width = scene->spec.width;
    gather(scene, cube, pixel / width, pixel % width, pixels + shift_of(&scene->spec), seen);
}

/* Truth of the blurred light: the parts of all the light that the pixel gets. Its largest target
 * labels it where it is as much as the target of the least fill leaves in its own pixel, but for
 * rounding. */
static void blur_truth(const struct synth_scene *scene, const struct synth_ground_light *seen,
                       size_t pixels, size_t at, const struct synth_truth *truth)
{
    const struct synth_spec *spec = &scene->spec;
    float least = (float)(0.99999 * spec->fill_low) * scene->psf[0] * scene->psf[0];
    for (size_t i = 0; i < pixels; i++) {
        float all = 0, fill = 0;
        size_t top = 0;
        for (size_t k = 0; k < SYNTH_TARGETS; k++) {
            fill += seen->of[SYNTH_FILLS + k][i];
            top = seen->of[SYNTH_FILLS + k][i] > seen->of[SYNTH_FILLS + top][i] ? k : top;
        }
        for (size_t k = 0; k < spec->endmembers; k++)
            all += seen->of[SYNTH_SHARES + k][i];
        all += fill;
        if (truth->fill != NULL)
            truth->fill[at + i] = fill / all;
        if (truth->labels != NULL)
            truth->labels[at + i] =
                seen->of[SYNTH_FILLS + top][i] >= least * all && fill > 0 ? (uint8_t)(1 + top) : 0;
        for (size_t k = 0; k < spec->endmembers && truth->abundances != NULL; k++)
            truth->abundances[(at + i) * spec->endmembers + k] =
                seen->of[SYNTH_SHARES + k][i] / all;
    }
}

void ypi_optics_tile(const struct synth_scene *scene, uint64_t cube, size_t first_pixel,
                     size_t pixels, float *values, const struct synth_truth *truth)
{
    const struct synth_spec *spec = &scene->spec;
    size_t channels = spec->channels;
    for (size_t at = 0, run; at < pixels; at += run) {
        struct synth_ground_light seen;
        uint8_t valid[RUN];
        run = run_at(spec, first_pixel + at, pixels - at);
        gather_run(scene, cube, first_pixel + at, run, &seen);
        ypi_mixing_truth(scene, cube, first_pixel + at, run, 0,
                         &(struct synth_truth){.valid = valid});
        if (truth->labels != NULL || truth->fill != NULL || truth->abundances != NULL ||
            truth->valid != NULL)
            ypi_mixing_truth(scene, cube, first_pixel + at, run, at, truth);
        if (scene->psf != NULL)
            blur_truth(scene, &seen, run, at, truth);
        for (size_t i = 0; i < run; i++) {
            float *own = values + (at + i) * channels;
            for (size_t c = 0; c < channels; c += BLOCK)
                read_channels(scene, cube, first_pixel + at + i, &seen, i, c,
                              channels - c < BLOCK ? channels - c : BLOCK, own + c);
            for (size_t c = 0; c < channels && !valid[i]; c++)
                own[c] = NAN;
        }
    }
}

void ypi_optics_band(const struct synth_scene *scene, uint64_t cube, size_t channel,
                     size_t first_pixel, size_t pixels, float *values)
{
    for (size_t at = 0, run; at < pixels; at += run) {
        struct synth_ground_light seen;
        uint8_t valid[RUN];
        run = run_at(&scene->spec, first_pixel + at, pixels - at);
        gather_run(scene, cube, first_pixel + at, run, &seen);
        ypi_mixing_truth(scene, cube, first_pixel + at, run, 0,
                         &(struct synth_truth){.valid = valid});
        for (size_t i = 0; i < run; i++) {
            read_channels(scene, cube, first_pixel + at + i, &seen, i, channel, 1, values + at + i);
            values[at + i] = valid[i] ? values[at + i] : NAN;
        }
    }
}
