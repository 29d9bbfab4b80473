/* Cubes through files of every type and order that can be written, against the values themselves.
 */
#include "suites/file_tiles.h"

#include <math.h>
#include <string.h>

enum { HEIGHT = 61, WIDTH = 53, CHANNELS = 17, PIXELS = HEIGHT * WIDTH };

static const struct {
    const char *name;
    enum synth_type type;
    double scale, ignore, low, high;
} types[] = {{"float", SYNTH_F32, 0, 0, 0, 0},
             {"u16", SYNTH_U16, 20000, 65535, 0, 65534},
             {"i16", SYNTH_I16, 30000, -9999, -32768, 32767},
             {"u8", SYNTH_U8, 256, 0, 1, 255}};

/* A scene that has dead pixels and, divided by this, values beyond what an integer holds. */
static float *values_of(struct yp_case *t)
{
    struct synth_spec spec = {.height = HEIGHT,
                              .width = WIDTH,
                              .channels = CHANNELS,
                              .seed = yp_seed(t),
                              .dead_fraction = 0.02,
                              .path = 1,
                              .bits = SYNTH_OFF};
    float *values = yp_alloc_host(t, (size_t)PIXELS * CHANNELS * sizeof *values);
    make_cube(t, yp_device_cpu(), &spec, 0, values, NULL);
    yp_data_hash(t, yp_hash_f32(0, values, (size_t)PIXELS * CHANNELS));
    for (size_t i = 0; i < (size_t)PIXELS * CHANNELS; i += 97)
        values[i] += i % 2 == 0 ? 9 : -9;
    return values;
}

/* What a value is read back as: rounded to the nearest in its type, ties apart. */
static bool is_stored(size_t type, float value, float got)
{
    if (isnan(value) || types[type].type == SYNTH_F32)
        return isnan(value) ? isnan(got) : got == value;
    double wanted = (double)value * types[type].scale, back = (double)got * types[type].scale;
    wanted = fmin(fmax(wanted, types[type].low), types[type].high);
    return fabs(back - round(back)) < 0.01 && fabs(back - wanted) < 0.51;
}

static void check_window(struct yp_case *t, const struct synth_cube_file *file, const float *values,
                         size_t type)
{
    const struct synth_window w = {
        .row = 3, .rows = 20, .column = 7, .columns = 31, .band = 2, .bands = 5};
    float *part = yp_alloc_host(t, w.rows * w.columns * w.bands * sizeof *part);
    memset(part, 0, w.rows * w.columns * w.bands * sizeof *part);
    yp_ok(t, synth_cube_read_window(file, 0, &w, part));
    for (size_t r = 0; r < w.rows; r++)
        for (size_t c = 0; c < w.columns; c++)
            for (size_t b = 0; b < w.bands; b++) {
                float value = values[((w.row + r) * WIDTH + w.column + c) * CHANNELS + w.band + b];
                float got = part[(r * w.columns + c) * w.bands + b];
                yp_require(t, is_stored(type, value, got), "window: %g is read as %g",
                           (double)value, (double)got);
            }
}

YP_TEST(cubes, stored, .tags = "stress small", .timeout = 120, .parallel = true,
        .axes = YP_AXES(yp_axis_string("type", "float", "u16", "i16", "u8"),
                        yp_axis_string("order", "bip", "bil", "bsq")))
{
    static const char *const orders[] = {"bip", "bil", "bsq"};
    size_t type = 0, order = 0;
    while (type < 3 && strcmp(types[type].name, yp_string(t, "type")) != 0)
        type++;
    while (order < 2 && strcmp(orders[order], yp_string(t, "order")) != 0)
        order++;
    float *values = values_of(t), *got = yp_alloc_host(t, PIXELS * CHANNELS * sizeof *got);
    char path[512];
    memset(got, 0, PIXELS * CHANNELS * sizeof *got);
    tmp_file(t, "cube.img", path);
    for (int big = 0; big < 2; big++) {
        struct synth_cube_info info = {.type = types[type].type,
                                       .interleave = (enum synth_interleave)order,
                                       .big_endian = big == 1,
                                       .height = HEIGHT,
                                       .width = WIDTH,
                                       .channels = CHANNELS,
                                       .scale = types[type].scale,
                                       .has_ignore = types[type].scale > 0,
                                       .ignore = types[type].ignore};
        struct synth_cube_writer *writer =
            synth_cube_create(yp_device_cpu(), path, &info, SYNTH_REPLACE);
        yp_got(t, writer);
        for (size_t at = 0; at < PIXELS; at += 2500) {
            size_t n = PIXELS - at < 2500 ? PIXELS - at : 2500;
            yp_ok(t, synth_cube_write(writer, 0, at, n, values + at * CHANNELS));
        }
        double clipped = 0;
        for (size_t i = 0; i < PIXELS * CHANNELS; i++) {
            double whole = rint((double)values[i] * types[type].scale);
            clipped += whole < types[type].low || whole > types[type].high;
        }
        yp_expect(t, (double)synth_cube_clipped(writer) == clipped, "%llu values clipped, not %g",
                  (unsigned long long)synth_cube_clipped(writer), clipped);
        yp_ok(t, synth_cube_commit(writer));
        struct synth_cube_file *file = synth_cube_open(yp_device_cpu(), path, SYNTH_SCALED);
        yp_got(t, file);
        for (size_t at = 0; at < PIXELS; at += 2700) {
            size_t n = PIXELS - at < 2700 ? PIXELS - at : 2700;
            yp_ok(t, synth_cube_read(file, 0, at, n, got + at * CHANNELS));
        }
        for (size_t i = 0; i < PIXELS * CHANNELS; i++)
            yp_require(t, is_stored(type, values[i], got[i]), "%g is read as %g", (double)values[i],
                       (double)got[i]);
        check_window(t, file, values, type);
        synth_cube_close(file);
    }
}
