/* Cubes in files: reading gives what was written, in any window, and faults are reported. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/atomic_file.h"
#include "synth/cube/cube.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- a folder for each test ---- */

static char folder[64];
static char path_text[4][PATH_MAX];

static void make_folder(void)
{
    strcpy(folder, "/tmp/cube-file-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

static void remove_folder(void)
{
    DIR *directory = opendir(folder);
    if (directory == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        unlinkat(dirfd(directory), entry->d_name, 0);
    closedir(directory);
    rmdir(folder);
}

TestSuite(cube_file, .init = make_folder, .fini = remove_folder);

/* Valid for three calls more. */
static const char *in_folder(const char *name)
{
    static int next;
    char *text = path_text[next++ % 4];
    snprintf(text, PATH_MAX, "%s/%s", folder, name);
    return text;
}

static int files_there(void)
{
    int count = 0;
    DIR *directory = opendir(folder);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

static void put(const char *name, const void *data, size_t size)
{
    FILE *file = fopen(in_folder(name), "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(data, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
}

static void put_text(const char *name, const char *text)
{
    put(name, text, strlen(text));
}

static struct synth_cube_file *open_scaled(const char *name, enum synth_scaling scaling)
{
    struct synth_cube_file *file = synth_cube_open(yp_device_cpu(), in_folder(name), scaling);
    cr_assert_not_null(file, "%s: %s", name, yp_last_error());
    return file;
}

static struct synth_cube_file *open_good(const char *name)
{
    return open_scaled(name, SYNTH_AS_STORED);
}

static void refuse_open(const char *name, const char *message)
{
    struct yp_memory before, after;
    yp_device_memory(yp_device_cpu(), &before);
    struct synth_cube_file *file = synth_cube_open(yp_device_cpu(), in_folder(name), 0);
    yp_device_memory(yp_device_cpu(), &after);
    cr_expect_null(file, "%s: was opened, not: %s", name, message);
    cr_expect_not_null(strstr(yp_last_error(), message), "wanted '%s'\n   got '%s'", message,
                       yp_last_error());
    cr_expect_eq(before.allocated, after.allocated);
    synth_cube_close(file);
}

static bool same(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

/* ---- an oracle: every value written and read on its own ---- */

static const struct kind {
    int number; /* ENVI's */
    const char *descr;
    enum synth_type type;
    size_t size;
    bool is_signed, is_float;
} kinds[] = {
    {1, "u1", SYNTH_U8, 1, false, false},   {2, "i2", SYNTH_I16, 2, true, false},
    {3, "i4", SYNTH_I32, 4, true, false},   {4, "f4", SYNTH_F32, 4, true, true},
    {5, "f8", SYNTH_F64, 8, true, true},    {12, "u2", SYNTH_U16, 2, false, false},
    {13, "u4", SYNTH_U32, 4, false, false}, {14, "i8", SYNTH_I64, 8, true, false},
    {15, "u8", SYNTH_U64, 8, false, false}, {0, "i1", SYNTH_I8, 1, true, false},
};
#define ENVI_KINDS 9

/* A value of each kind at each place; the widest kinds have some that no float holds. */
static double value_at(const struct kind *k, size_t place)
{
    uint64_t mixed = (place + 1) * UINT64_C(0x9e3779b97f4a7c15);
    double sign = k->is_signed && mixed >> 63 ? -1 : 1;
    if (k->is_float)
        return sign * (double)(mixed >> 40 & 0xffff) / 512;
    int bits = (int)k->size * 8 - k->is_signed;
    return sign * (double)(mixed >> 8 & ((UINT64_C(1) << (bits < 50 ? bits : 50)) - 1)) + 0.0;
}

static void store_at(const struct kind *k, bool big, double value, unsigned char *to)
{
    unsigned char bytes[8];
    float single = (float)value;
    int64_t whole = k->is_float ? 0 : (int64_t)value;
    if (k->is_float)
        memcpy(bytes, k->size == 4 ? (void *)&single : (void *)&value, k->size);
    else
        for (size_t i = 0; i < k->size; i++)
            bytes[i] = (unsigned char)((uint64_t)whole >> 8 * i);
    for (size_t i = 0; i < k->size; i++)
        to[i] = bytes[big ? k->size - 1 - i : i];
}

/* A window against the values one by one; `at` gives the place of a value in the cube. */
static void check_window(struct synth_cube_file *file, const struct kind *k, uint64_t cube,
                         const struct synth_window *w)
{
    const struct synth_cube_info *info = synth_cube_info(file);
    size_t count = w->rows * w->columns * w->bands;
    float *values = malloc((count + 1) * sizeof *values);
    values[count] = 77;
    cr_assert_eq(synth_cube_read_window(file, cube, w, values), YP_OK, "%s", yp_last_error());
    cr_assert_eq(values[count], 77, "wrote beyond the end");
    for (size_t i = 0; i < count; i++) {
        size_t band = w->band + i % w->bands, column = w->column + i / w->bands % w->columns;
        size_t row = w->row + i / w->bands / w->columns;
        size_t place = ((cube * info->height + row) * info->width + column) * info->channels + band;
        cr_assert(same(values[i], (float)value_at(k, place)), "(%zu, %zu, %zu): %g, not %g", row,
                  column, band, (double)values[i], value_at(k, place));
    }
    free(values);
}

static size_t some(unsigned *state, size_t below)
{
    *state = *state * 1664525U + 1013904223U;
    return (*state >> 8) % below;
}

/* Random windows, and runs of pixels that begin and end within rows. */
static void check_cube(struct synth_cube_file *file, const struct kind *k)
{
    const struct synth_cube_info *info = synth_cube_info(file);
    unsigned state = 1;
    size_t pixels = info->height * info->width;
    for (uint64_t cube = 0; cube < info->cubes; cube++) {
        struct synth_window all = {0, info->height, 0, info->width, 0, info->channels};
        check_window(file, k, cube, &all);
        for (int i = 0; i < 12; i++) {
            struct synth_window w = {some(&state, info->height),   1, some(&state, info->width), 1,
                                     some(&state, info->channels), 1};
            w.rows += some(&state, info->height - w.row);
            w.columns += some(&state, info->width - w.column);
            w.bands += some(&state, info->channels - w.band);
            check_window(file, k, cube, &w);
        }
        for (int i = 0; i < 8; i++) {
            size_t first = some(&state, pixels), count = 1 + some(&state, pixels - first);
            float *values = malloc(count * info->channels * sizeof *values);
            cr_assert_eq(synth_cube_read(file, cube, first, count, values), YP_OK);
            for (size_t j = 0; j < count * info->channels; j++)
                cr_assert(same(values[j],
                               (float)value_at(k, (cube * pixels + first) * info->channels + j)));
            free(values);
        }
    }
}

static const size_t shapes[][3] = {{1, 1, 1}, {1, 1, 40},  {4, 1, 3},   {1, 5, 1},
                                   {5, 7, 3}, {3, 11, 50}, {7, 350, 17}};

Test(cube_file, reads_every_envi_type_interleave_and_byte_order)
{
    static const char *const names[] = {"bip", "bil", "bsq"};
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (size_t each = 0; each < (size_t)ENVI_KINDS * 3 * 2; each++) {
            const struct kind *k = &kinds[each / 6];
            size_t interleave = each / 2 % 3, big = each % 2, offset = each % 4 == 1 ? 123 : 0;
            size_t h = shapes[s][0], w = shapes[s][1], c = shapes[s][2];
            unsigned char *raw = calloc(offset + h * w * c * k->size, 1);
            for (size_t i = 0; i < h * w * c; i++) {
                size_t row = i / c / w, column = i / c % w, band = i % c;
                size_t to = interleave == 0   ? i
                            : interleave == 1 ? (row * c + band) * w + column
                                              : (band * h + row) * w + column;
                store_at(k, big, value_at(k, i), raw + offset + to * k->size);
            }
            char header[512];
            snprintf(header, sizeof header,
                     "ENVI\nbands=%zu\nlines = %zu\nsamples = %zu\nheader offset = %zu\n"
                     "data type = %d\ninterleave = %s\nbyte order = %zu\n",
                     c, h, w, offset, k->number, names[interleave], big);
            put_text("cube.hdr", header);
            put("cube", raw, offset + h * w * c * k->size);
            free(raw);
            struct synth_cube_file *file = open_good("cube.hdr");
            cr_assert_eq(synth_cube_info(file)->type, k->type);
            check_cube(file, k);
            synth_cube_close(file);
        }
}

static void put_npy(const char *name, const char *descr, bool fortran, const char *shape,
                    int version, const void *values, size_t size)
{
    char text[256];
    FILE *file = fopen(in_folder(name), "wb");
    int length =
        snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n", descr,
                 fortran ? "True" : "False", shape);
    fwrite("\x93NUMPY", 1, 6, file);
    fputc(version, file);
    fputc(0, file);
    for (int i = 0; i < (version == 1 ? 2 : 4); i++)
        fputc(length >> 8 * i & 0xff, file);
    fwrite(text, 1, (size_t)length, file);
    fwrite(values, 1, size, file);
    fclose(file);
}

/* Any number of axes, of any type and order. */
Test(cube_file, reads_every_npy_type_and_order)
{
    static const struct {
        size_t n, h, w, c;
        const char *shape;
    } arrays[] = {{1, 6, 1, 5, "(6, 5)"},          {1, 3, 7, 2, "(3, 7, 2)"},
                  {2, 3, 4, 5, "(2, 3, 4, 5)"},    {1, 1, 9, 4, "(1, 9, 4)"},
                  {1, 8, 1, 1, "(8, 1, 1)"},       {3, 1, 1, 2, "(3L, 1L, 1L, 2L)"},
                  {1, 90, 31, 3, "( 90 ,31, 3,)"}, {1, 1300, 2, 2, "(1300, 2, 2)"}};
    for (size_t a = 0; a < COUNT(arrays); a++)
        for (size_t each = 0; each < COUNT(kinds) * 4; each++) {
            const struct kind *k = &kinds[each / 4];
            bool fortran = each & 1, big = each & 2;
            size_t n = arrays[a].n, h = arrays[a].h, w = arrays[a].w, c = arrays[a].c;
            size_t count = n * h * w * c;
            unsigned char *raw = malloc(count * k->size);
            for (size_t i = 0; i < count; i++) {
                size_t band = i % c, column = i / c % w, row = i / c / w % h, cube = i / c / w / h;
                size_t to = fortran ? cube + n * (row + h * (column + w * band)) : i;
                store_at(k, big, value_at(k, i), raw + to * k->size);
            }
            char descr[8];
            snprintf(descr, sizeof descr, "%c%s", k->size == 1 ? '|' : big ? '>' : '<', k->descr);
            put_npy("cube.npy", descr, fortran, arrays[a].shape, 1 + (int)(each % 3), raw,
                    count * k->size);
            free(raw);
            struct synth_cube_file *file = open_good("cube.npy");
            const struct synth_cube_info *info = synth_cube_info(file);
            cr_assert(info->cubes == n && info->height == h && info->width == w &&
                      info->channels == c && info->type == k->type);
            check_cube(file, k);
            synth_cube_close(file);
        }
}

/* ---- written and read ---- */

static float written_at(enum synth_type type, size_t place)
{
    uint64_t mixed = (place + 1) * UINT64_C(0x9e3779b97f4a7c15) >> 40;
    if (place % 61 == 5)
        return NAN;
    switch (type) {
    case SYNTH_U8:
        return (float)(mixed % 255);
    case SYNTH_U16:
        return (float)(mixed % 65535) / 65536;
    case SYNTH_I16:
        return (float)((int)(mixed % 65535) - 32767) / 32768;
    default:
        return (float)mixed / 1024 - 1e3F;
    }
}

/* In tiles of odd sizes, the last one first. */
static void write_all(struct synth_cube_writer *writer, const struct synth_cube_info *info)
{
    size_t cubes = info->cubes > 0 ? info->cubes : 1, pixels = info->height * info->width;
    size_t tile = pixels / 3 + 1, c = info->channels;
    float *values = malloc(tile * c * sizeof *values);
    for (size_t cube = cubes; cube-- > 0;)
        for (size_t end = pixels; end > 0;) {
            size_t first = end > tile ? end - tile : 0;
            for (size_t i = 0; i < (end - first) * c; i++)
                values[i] = written_at(info->type, (cube * pixels + first) * c + i);
            cr_assert_eq(synth_cube_write(writer, cube, first, end - first, values), YP_OK, "%s",
                         yp_last_error());
            end = first;
        }
    free(values);
}

static void check_all(struct synth_cube_file *file, enum synth_type type)
{
    const struct synth_cube_info *info = synth_cube_info(file);
    size_t count = info->height * info->width * info->channels;
    float *values = malloc(count * sizeof *values);
    for (size_t cube = 0; cube < info->cubes; cube++) {
        cr_assert_eq(synth_cube_read(file, cube, 0, info->height * info->width, values), YP_OK);
        for (size_t i = 0; i < count; i++)
            cr_assert(same(values[i], written_at(type, cube * count + i)), "%zu: %g, not %g", i,
                      (double)values[i], (double)written_at(type, cube * count + i));
    }
    free(values);
}

Test(cube_file, writes_what_it_reads)
{
    const struct {
        enum synth_type type;
        double scale, ignore;
    } types[] = {{SYNTH_F32, 0, 0},
                 {SYNTH_U16, 65536, 65535},
                 {SYNTH_I16, 32768, -32768},
                 {SYNTH_U8, 0, 255}};
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (size_t each = 0; each < COUNT(types) * 6; each++) {
            struct synth_cube_info info = {.format = SYNTH_ENVI,
                                           .type = types[each / 6].type,
                                           .interleave = each / 2 % 3,
                                           .big_endian = each % 2,
                                           .height = shapes[s][0],
                                           .width = shapes[s][1],
                                           .channels = shapes[s][2],
                                           .scale = types[each / 6].scale,
                                           .ignore = types[each / 6].ignore};
            info.has_ignore = info.type != SYNTH_F32;
            struct synth_cube_writer *writer =
                synth_cube_create(yp_device_cpu(), in_folder("cube.img"), &info, SYNTH_REPLACE);
            cr_assert_not_null(writer, "%s", yp_last_error());
            write_all(writer, &info);
            cr_assert_eq(synth_cube_clipped(writer), 0);
            cr_assert_eq(synth_cube_commit(writer), YP_OK, "%s", yp_last_error());
            cr_assert_eq(files_there(), 2);
            struct synth_cube_file *file = open_scaled("cube.img", SYNTH_SCALED);
            check_all(file, info.type);
            const struct synth_cube_info *read = synth_cube_info(file);
            cr_assert(read->type == info.type && read->interleave == info.interleave &&
                      read->big_endian == info.big_endian && read->scale == info.scale);
            synth_cube_close(file);
        }
}

Test(cube_file, writes_npy_of_one_and_of_many_cubes)
{
    for (size_t each = 0; each < 6; each++) {
        struct synth_cube_info info = {.format = SYNTH_NPY,
                                       .cubes = each % 3,
                                       .height = 5,
                                       .width = 7,
                                       .channels = 9,
                                       .big_endian = each > 2};
        struct synth_cube_writer *writer =
            synth_cube_create(yp_device_cpu(), in_folder("cube.npy"), &info, SYNTH_REPLACE);
        cr_assert_not_null(writer, "%s", yp_last_error());
        write_all(writer, &info);
        cr_assert_eq(synth_cube_commit(writer), YP_OK, "%s", yp_last_error());
        struct stat status;
        stat(in_folder("cube.npy"), &status);
        cr_expect_eq((uint64_t)status.st_size, synth_cube_bytes(&info));
        struct synth_cube_file *file = open_good("cube.npy");
        cr_assert_eq(synth_cube_info(file)->offset % 64, 0);
        check_all(file, info.type);
        synth_cube_close(file);
    }
}

Test(cube_file, keeps_what_a_header_says)
{
    const float wavelengths[] = {400.1F, 1234.5678F, 2500}, fwhm[] = {1.5F, 10, 0.1F};
    const uint8_t good[] = {1, 0, 1};
    const char *const names[] = {"red", "a band with blanks", "x"};
    struct synth_cube_info info = {.height = 1,
                                   .width = 1,
                                   .channels = 3,
                                   .wavelengths = wavelengths,
                                   .fwhm = fwhm,
                                   .good_bands = good,
                                   .band_names = names,
                                   .description = "what it is,\n in two lines",
                                   .default_bands = {2, 0, 1},
                                   .default_band_count = 3,
                                   .scale = 0.1,
                                   .has_ignore = true,
                                   .ignore = -9999.5};
    struct synth_cube_writer *writer =
        synth_cube_create(yp_device_cpu(), in_folder("cube.hdr"), &info, SYNTH_REFUSE);
    cr_assert_not_null(writer, "%s", yp_last_error());
    write_all(writer, &info);
    cr_assert_eq(synth_cube_commit(writer), YP_OK, "%s", yp_last_error());
    struct synth_cube_file *file = open_good("cube");
    const struct synth_cube_info *read = synth_cube_info(file);
    cr_assert_arr_eq(read->wavelengths, wavelengths, sizeof wavelengths);
    cr_assert_arr_eq(read->fwhm, fwhm, sizeof fwhm);
    cr_assert_arr_eq(read->good_bands, good, sizeof good);
    for (size_t i = 0; i < 3; i++) {
        cr_assert_str_eq(read->band_names[i], names[i]);
        cr_assert_eq(read->default_bands[i], info.default_bands[i]);
    }
    cr_assert_str_eq(read->description, info.description);
    cr_assert(read->default_band_count == 3 && read->scale == 0.1 && read->has_ignore &&
              read->ignore == -9999.5);
    synth_cube_close(file);
}

/* ---- scales and classes ---- */

Test(cube_file, keeps_a_gain_apart_from_a_reflectance_scale_factor)
{
    const double scales[] = {65536, 50, 10000, 3};
    for (size_t i = 0; i < COUNT(scales); i++)
        for (int gain = 0; gain < 2; gain++) {
            struct synth_cube_info info = {.type = SYNTH_U16,
                                           .height = 2,
                                           .width = 3,
                                           .channels = 11,
                                           .scale = scales[i],
                                           .scale_is_gain = gain == 1,
                                           .units = "counts, of a kind"};
            struct synth_cube_writer *writer =
                synth_cube_create(yp_device_cpu(), in_folder("cube.hdr"), &info, SYNTH_REPLACE);
            cr_assert_not_null(writer, "%s", yp_last_error());
            write_all(writer, &info);
            cr_assert_eq(synth_cube_commit(writer), YP_OK, "%s", yp_last_error());
            struct synth_cube_file *file = open_good("cube");
            const struct synth_cube_info *read = synth_cube_info(file);
            cr_assert(fabs(read->scale / scales[i] - 1) < 0x1p-51 &&
                      read->scale_is_gain == info.scale_is_gain);
            cr_assert_str_eq(read->units, info.units);
            synth_cube_close(file);
        }
}

/* A scale where all bands have the same gain and nothing is added, else lists of both; or a note.
 */
Test(cube_file, applies_gains_and_offsets)
{
    static const struct {
        const char *line;
        double scale;
        float values[2];
        const char *note; /* NULL: none */
    } cases[] = {
        {"data gain values = {0.5, 0.5}", 2, {3, 4}, NULL},
        {"data gain values = {\n 0.25 ,\n 0.25,}", 4, {1.5F, 2}, NULL},
        {"data gain values = {0.5, 0.5}\ndata offset values = {0, 0}", 2, {3, 4}, NULL},
        {"data gain values = {0.5, 0.5}\ndata offset values = {0, 1}", 0, {3, 5}, NULL},
        {"data gain values = {0.5, 0.25}", 0, {3, 2}, NULL},
        {"data gain values = {-0.5, -0.5}", 0, {-3, -4}, NULL},
        {"data gain values = {2, 0}\ndata offset values = {-0.1, 7}", 0, {11.9F, 7}, NULL},
        {"data offset values = {-1, 1}", 0, {5, 9}, NULL},
        {"data gain values = {1, 1}\ndata offset values = {0, 0}", 1, {6, 8}, NULL},
        {"data gain values = {}\ndata offset values = {}", 0, {6, 8}, NULL},
        {"reflectance scale factor = 2\ndata gain values = {1, 1}", 2, {3, 4}, NULL},
        {"data gain values = {0.5, 0.5}\nreflectance scale factor = 2",
         2,
         {3, 4},
         "are not applied: the reflectance scale factor is"},
        {"data gain values = {0.5}", 0, {6, 8}, "they must be lists of one number for each band"},
        {"data gain values = {1, 2}\ndata offset values = {0, 0, 0}",
         0,
         {6, 8},
         "they must be lists"},
        {"data gain values = {0, 0}",
         0,
         {6, 8},
         "data gain and offset values are not applied: all gains are"},
        {"data gain values = {1, inf}", 0, {6, 8}, "are not applied: one of them is beyond"},
        {"data offset values = {nan, 0}", 0, {6, 8}, "are not applied: one of"},
        {"data gain values = {1e-310, 1e-310}", 0, {6, 8}, "are not applied: one of them is"},
        {"data gain values = {half, half}", 0, {6, 8}, "they must be lists"},
    };
    static const char *const orders[] = {"bip", "bil", "bsq"};
    const uint8_t raw[] = {6, 8};
    put("cube.img", raw, sizeof raw);
    for (size_t i = 0; i < COUNT(cases) * 3; i++) {
        char text[256];
        const float *wanted = cases[i / 3].values;
        snprintf(text, sizeof text,
                 "ENVI\nsamples = 1\nlines = 1\nbands = 2\ndata type = 1\n%s\ninterleave = %s\n",
                 cases[i / 3].line, orders[i % 3]);
        put_text("cube.hdr", text);
        struct synth_cube_file *file = open_scaled("cube.hdr", SYNTH_SCALED);
        const struct synth_cube_info *info = synth_cube_info(file);
        float values[2], second;
        cr_assert_eq(info->scale, cases[i / 3].scale, "%s", text);
        const char *note = synth_cube_note(file);
        cr_assert_eq(note == NULL, cases[i / 3].note == NULL, "%s", text);
        cr_assert(note == NULL || strstr(note, cases[i / 3].note) != NULL, "%s", note);
        cr_assert_eq(synth_cube_read(file, 0, 0, 1, values), YP_OK);
        cr_assert(values[0] == wanted[0] && values[1] == wanted[1], "%s%g %g", text,
                  (double)values[0], (double)values[1]);
        cr_assert_eq(synth_cube_read_window(
                         file, 0,
                         &(struct synth_window){.rows = 1, .columns = 1, .band = 1, .bands = 1},
                         &second),
                     YP_OK);
        cr_assert_eq(second, wanted[1]);
        synth_cube_close(file);
        file = open_good("cube.hdr");
        cr_assert_eq(synth_cube_read(file, 0, 0, 1, values), YP_OK);
        cr_assert(values[0] == 6 && values[1] == 8, "as stored: %s", text);
        synth_cube_close(file);
    }
}

static const char *const class_names[] = {"none of them", "tree", "roof (red)"};
static const uint8_t class_lookup[] = {0, 0, 0, 0, 255, 1, 200, 30, 40};
static const struct synth_cube_info classified = {.type = SYNTH_U8,
                                                  .height = 3,
                                                  .width = 2,
                                                  .channels = 1,
                                                  .classes = 3,
                                                  .class_names = class_names,
                                                  .class_lookup = class_lookup};

Test(cube_file, keeps_classes)
{
    struct synth_cube_writer *writer =
        synth_cube_create(yp_device_cpu(), in_folder("cube.hdr"), &classified, SYNTH_REFUSE);
    cr_assert_not_null(writer, "%s", yp_last_error());
    write_all(writer, &classified);
    cr_assert_eq(synth_cube_commit(writer), YP_OK, "%s", yp_last_error());
    struct synth_cube_file *file = open_good("cube");
    const struct synth_cube_info *read = synth_cube_info(file);
    cr_assert_eq(read->classes, 3);
    cr_assert_not_null(read->class_names);
    for (size_t i = 0; i < 3; i++)
        cr_assert_str_eq(read->class_names[i], class_names[i]);
    cr_assert_not_null(read->class_lookup);
    cr_assert_arr_eq(read->class_lookup, class_lookup, sizeof class_lookup);
    synth_cube_close(file);
}

/* What other software says of classes is taken where it fits, and never a reason to refuse. */
Test(cube_file, bears_any_classes)
{
    static const struct {
        const char *lines;
        size_t classes;
        bool names, colours;
    } cases[] = {
        {"classes = 2\nclass names = {a, b}\nclass lookup = {0, 0, 0, 1, 2, 255}", 2, true, true},
        {"classes = 2\nclass names = {a, b, c}\nclass lookup = {0, 0, 0, 1, 2}", 2, false, false},
        {"classes = 2\nclass names = {a}\nclass lookup = {0, 0, 0, 1, 2, 256}", 2, false, false},
        {"classes = 2\nclass lookup = {0, 0, 0, 1, 2, -1}", 2, false, false},
        {"classes = 2\nclass lookup = {0, 0, 0, 1, 2, nan}", 2, false, false},
        {"classes = 0\nclass names = {}\nclass lookup = {}", 0, false, false},
        {"classes = many\nclass names = {a}", 0, false, false},
        {"class names = {a}\nclass lookup = {0, 0, 0}", 0, false, false},
        {"classes = 1000000000000\nclass names = {a}\nclass lookup = {0, 0, 0}", 1000000000000,
         false, false},
    };
    const uint8_t raw[] = {1};
    put("cube.img", raw, sizeof raw);
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "ENVI\nfile type = ENVI Classification\nsamples = 1\nlines = 1\nbands = 1\n"
                 "data type = 1\n%s\n",
                 cases[i].lines);
        put_text("cube.hdr", text);
        struct synth_cube_file *file = open_good("cube.hdr");
        const struct synth_cube_info *info = synth_cube_info(file);
        cr_assert_eq(info->classes, cases[i].classes, "%s", cases[i].lines);
        cr_assert_eq(info->class_names != NULL, cases[i].names, "%s", cases[i].lines);
        cr_assert_eq(info->class_lookup != NULL, cases[i].colours, "%s", cases[i].lines);
        synth_cube_close(file);
    }
}

/* ---- headers as they are found ---- */

Test(cube_file, takes_real_headers)
{
    static const char *const headers[] = {
        "ENVI\r\nDESCRIPTION = {\r\n  From a sensor; as\r\n  it was [1]}\r\nSamples\t=\t2\r\n"
        "LINES   = 1\r\nBands = 3 ; three\r\nData  Type= 4\r\nInterleave = BIP\r\n"
        "sensor type = Unknown\r\nmap info = {UTM, 1, 1, 500000, {north}, units=Meters}\r\n"
        "wavelength units = Micrometers\r\nwavelength = {\r\n 0.5,\r\n;0.55 is broken\r\n 0.6,\r\n "
        "0.7,\r\n}\r\nbbl = {1, 0, 1,}\r\nBAND_NAMES = {a, b (x y), c}\r\nz plot range = {1, 2}",
        "\xef\xbb\xbf  envi  \n;comment = {\nbands = 3\nwavelength\n= 7\nsamples = 2\nlines = 1\n"
        "interleave=bip\ndata_type = 4\n\n\njunk without a sign\nwavelength = \n { .5 .6 .7 }\n"
        "bbl={1 0.0 1}\nband names = {a,b (x y)\n,c,\n}\nbands = 3\ndefault bands = {9, 9, 9}\n",
        "ENVI\rsamples = 2\rlines = 1\rbands = 3\rdata type = 4\rinterleave = bip\r"
        "wavelength units = um\rwavelength = {0.5, 0.6,\r 0.7}\rbbl = {1,0,1}\r"
        "band names = {\ra,\rb (x y),\rc}\rheader offset = 0\rbyte order = 0\rempty =\r= 3",
    };
    const float raw[] = {1, 2, 3, 4, 5, 6};
    put("cube.dat", raw, sizeof raw);
    for (size_t i = 0; i < COUNT(headers); i++) {
        put_text("cube.hdr", headers[i]);
        struct synth_cube_file *file = open_good("cube.hdr");
        const struct synth_cube_info *info = synth_cube_info(file);
        cr_assert(info->height == 1 && info->width == 2 && info->channels == 3);
        cr_assert_not_null(info->wavelengths, "%zu", i);
        cr_assert(info->wavelengths[0] == 500 && info->wavelengths[2] == 700, "%zu: %g", i,
                  (double)info->wavelengths[0]);
        cr_assert(info->good_bands[0] == 1 && info->good_bands[1] == 0);
        cr_assert_not_null(info->band_names, "%zu", i);
        cr_assert_str_eq(info->band_names[1], "b (x y)");
        cr_assert_str_eq(info->band_names[2], "c");
        cr_assert_eq(info->default_band_count, 0);
        float values[6];
        cr_assert_eq(synth_cube_read(file, 0, 0, 2, values), YP_OK);
        cr_assert_arr_eq(values, raw, sizeof raw);
        synth_cube_close(file);
    }
}

/* An empty value is as if its key were missing, and of two descriptions the last counts. */
Test(cube_file, bears_what_is_empty_or_twice)
{
    static const char *const empty[] = {
        "data ignore value =",    "data ignore value = ; none",
        "data ignore value = {}", "bbl = {}",
        "wavelength = { }",       "fwhm = {\n}",
        "band names = {}",        "reflectance scale factor =",
        "data gain values = {}",  "data offset values = ",
        "byte order =",           "header offset =",
        "file compression =",     "wavelength units =",
        "default bands = {}",     "classes =",
        "description =",
    };
    put("cube", "\1\2", 2);
    for (size_t i = 0; i < COUNT(empty); i++) {
        char text[256];
        snprintf(text, sizeof text, "ENVI\n%s\nsamples = 1\nlines = 1\nbands = 2\ndata type = 1\n",
                 empty[i]);
        put_text("cube.hdr", text);
        struct synth_cube_file *file = open_scaled("cube.hdr", SYNTH_SCALED);
        const struct synth_cube_info *info = synth_cube_info(file);
        float values[2];
        cr_assert(!info->has_ignore && info->good_bands == NULL && info->wavelengths == NULL &&
                      info->fwhm == NULL && info->band_names == NULL && info->scale == 0 &&
                      info->gains == NULL && synth_cube_note(file) == NULL &&
                      info->description == NULL,
                  "%s", empty[i]);
        cr_assert_eq(synth_cube_read(file, 0, 0, 1, values), YP_OK);
        cr_assert(values[0] == 1 && values[1] == 2, "%s", empty[i]);
        synth_cube_close(file);
    }
    put_text("cube.hdr", "ENVI\nsamples = 1\nlines = 1\nbands = 2\ndata type = 1\nbbl = {}\n"
                         "bbl = {1, 0}\nbbl = {1, 0}\ndescription = {a}\ndescription = {b}\n"
                         "band names = {a, b}\nband names = {c, d}\nwavelength = {1, 2}\n"
                         "wavelength units =\n");
    struct synth_cube_file *file = open_good("cube.hdr");
    const struct synth_cube_info *info = synth_cube_info(file);
    cr_assert_str_eq(info->description, "b");
    cr_assert_str_eq(info->band_names[1], "d");
    cr_assert(info->good_bands[0] == 1 && info->good_bands[1] == 0);
    cr_assert_eq(info->wavelengths[1], 2000, "2 um, as without a unit");
    synth_cube_close(file);
}

/* Of several files the one that fits what the header says, or none. */
Test(cube_file, chooses_the_raw_file_by_what_the_header_says)
{
    static const struct {
        const char *files[3], *wanted, *message;
    } cases[] = {
        {{"a.hyspex"}, "a.hyspex", NULL},
        {{"a.spectra"}, "a.spectra", NULL},
        {{"a.img", "a.long"}, "a.img", NULL},
        {{"a.txt", "a.png"}, NULL, "2 files may be its raw file"},
        {{"a.img", "a.hyspex"}, NULL, "name the raw file instead of the header"},
        {{"a", "a.raw"}, NULL, "a and "},
        {{"a.raw", "a.bil"}, "a.bil", NULL},
        {{"a.bsq", "a.bil", "a.bip"}, "a.bil", NULL},
        {{"a.raw", "a.bil", "a.BIL"}, NULL, "3 files may be its raw file"},
        {{"a.img", "a.raw", "short"}, NULL, "2 files may be"},
        {{"a.b.img", "ab.img", "b.img"}, NULL, "no raw file beside it"},
    };
    put_text("a.hdr", "ENVI\nsamples=1\nlines=1\nbands=1\ndata type=1\ninterleave=bil\n");
    for (size_t i = 0; i < COUNT(cases); i++) {
        for (size_t k = 0; k < 3 && cases[i].files[k] != NULL; k++) {
            const char *name = cases[i].files[k];
            bool wanted = cases[i].wanted != NULL && strcmp(name, cases[i].wanted) == 0;
            put(name, wanted ? "\7" : "\1", 1);
        }
        const char *asked[] = {"a.hdr", "a"};
        /* "a" is a raw file's own name where it is there. */
        for (size_t k = 0; k < (strcmp(cases[i].files[0], "a") == 0 ? 1 : 2); k++) {
            if (cases[i].wanted == NULL) {
                refuse_open(asked[k], cases[i].message);
                continue;
            }
            struct synth_cube_file *file = open_good(asked[k]);
            float value;
            cr_assert_eq(synth_cube_read(file, 0, 0, 1, &value), YP_OK);
            cr_expect_eq(value, 7, "%zu: %g", i, (double)value);
            synth_cube_close(file);
        }
        for (size_t k = 0; k < 3 && cases[i].files[k] != NULL; k++)
            unlink(in_folder(cases[i].files[k]));
    }
    /* One that is too long does not count where another fits; alone it is refused with its length.
     */
    put("a.img", "\1\1", 2);
    put("a.raw", "\7", 1);
    synth_cube_close(open_good("a.hdr"));
    unlink(in_folder("a.raw"));
    refuse_open("a.hdr", "a.img: has 2 bytes, more than the 1 that");
    /* One file with two names is one. */
    put("a.raw", "\7", 1);
    cr_assert_eq(link(in_folder("a.raw"), in_folder("a.bin")), 0);
    synth_cube_close(open_good("a.hdr"));
}

Test(cube_file, finds_both_files_by_either_name)
{
    static const struct {
        const char *header, *raw, *asked[4];
    } pairs[] = {{"a.hdr", "a", {"a.hdr", "a"}},
                 {"a.hdr", "a.img", {"a.hdr", "a.img", "a"}},
                 {"a.img.hdr", "a.img", {"a.img.hdr", "a.img", "a"}},
                 {"a.HDR", "a.BIL", {"a.HDR", "a.BIL", "a"}},
                 {"a.b.hdr", "a.b.raw", {"a.b.hdr", "a.b.raw", "a.b"}},
                 {"a.hdr", "a.odd", {"a.odd"}},
                 {"a.odd.hdr", "a.odd", {"a.odd.hdr", "a.odd"}}};
    for (size_t i = 0; i < COUNT(pairs); i++) {
        put_text(pairs[i].header, "ENVI\nsamples=1\nlines=1\nbands=1\ndata type=1\n");
        put(pairs[i].raw, "\7", 1);
        for (size_t j = 0; j < 4 && pairs[i].asked[j] != NULL; j++)
            synth_cube_close(open_good(pairs[i].asked[j]));
        unlink(in_folder(pairs[i].header));
        refuse_open(pairs[i].raw, "there is no header beside it");
        unlink(in_folder(pairs[i].raw));
        refuse_open(pairs[i].raw, "No such file");
    }
    put_text("only.hdr", "ENVI\nsamples=1\nlines=1\nbands=1\ndata type=1\n");
    refuse_open("only.hdr", "no raw file beside it");
    refuse_open("nowhere.hdr", "No such file");
    refuse_open("", "is there and is no file");
}

/* The rest of the header, which is valid. */
#define REST "samples=1\nlines=1\nbands=2\ndata type=2\n"

Test(cube_file, refuses_broken_headers)
{
    static const struct {
        const char *header, *message;
    } broken[] = {
        {"", "has 0 bytes: a header has 1 to"},
        {"ENVY\n" REST, ":1: the first line is 'ENVY': an ENVI header begins with ENVI"},
        {"samples = 1\n", "an ENVI header begins with ENVI"},
        {"ENVI", "samples is missing"},
        {"ENVI\nlines=1\nbands=2\ndata type=2\n", "samples is missing: must be a whole number"},
        {"ENVI\nsamples=1\nbands=2\ndata type=2\n", "lines is missing"},
        {"ENVI\nsamples=1\nlines=1\ndata type=2\n", "bands is missing"},
        {"ENVI\nsamples=1\nlines=1\nbands=2\n", "data type is missing: must be 1 (uint8), 2"},
        {"ENVI\nsamples=0\nlines=1\nbands=2\ndata type=2\n",
         ":2: samples is '0': must be a whole number of 1 at least"},
        {"ENVI\nlines=-1\nsamples=1\nbands=2\ndata type=2\n", ":2: lines is '-1': must be"},
        {"ENVI\n\nbands=2x\nlines=1\nsamples=1\ndata type=2\n", ":3: bands is '2x': must be"},
        {"ENVI\ndescription = {a\n b,\n c} d\nsamples=x\n", ":5: samples is 'x': must be"},
        {"ENVI\r\na =\r\n {a\r\n}\r\n\r\nsamples=x\r\n", ":6: samples is 'x': must be"},
        {"ENVI\rdescription = {a\r}\rsamples=x\r", ":4: samples is 'x': must be"},
        {"ENVI\nbands=\nlines=1\nsamples=1\ndata type=2\n", ":2: bands is '': must be"},
        {"ENVI\nbands=99999999999999999999\nlines=1\nsamples=1\ndata type=2\n",
         ":2: bands is '99999999999999999999': must be"},
        {"ENVI\nbands=4294967296\nlines=4294967296\nsamples=4294967296\ndata type=2\n",
         "more than a file can hold"},
        {"ENVI\nbands=2\nlines=2305843009213693952\nsamples=4\ndata type=2\n",
         "more than a file can hold"},
        {"ENVI\nheader offset=9223372036854775807\n" REST, "more than a file can hold"},
        {"ENVI\nheader offset=-1\n" REST, ":2: header offset is '-1': must be a whole number"},
        {"ENVI\nsamples=1\nlines=1\nbands=2\ndata type=6\n",
         ":5: data type is '6': must be 1 (uint8), 2 (int16)"},
        {"ENVI\nsamples=1\nlines=1\nbands=2\ndata type=0\n", ":5: data type is '0': must be"},
        {"ENVI\nsamples=1\nlines=1\nbands=2\ndata type=float\n", ":5: data type is 'float'"},
        {"ENVI\ninterleave=bib\n" REST, ":2: interleave is 'bib': must be bip, bil or bsq"},
        {"ENVI\ninterleave=\n" REST, ":2: interleave is '': must be bip, bil or bsq"},
        {"ENVI\nbyte order=2\n" REST, ":2: byte order is '2': must be 0 (little) or 1"},
        {"ENVI\nfile compression=1\n" REST, ":2: file compression is '1': must be 0: compressed"},
        {"ENVI\nmajor frame offsets={0, 4}\n" REST, ":2: major frame offsets is '0, 4': must be 0"},
        {"ENVI\nsamples=1\nsamples=2\n",
         ":3: samples is there again, and in line 2 it was another: which one counts? remove"},
        {"ENVI\n" REST "bbl={1,1}\nbbl={1,0}\n", ":7: bbl is there again, and in line 6"},
        {"ENVI\n" REST "data gain values={1,1}\ndata gain values={1,2}\n", "is there again"},
        {"ENVI\n" REST "wavelength = {1, 2, 3\n", ":6: the brace { is not closed to the end"},
        {"ENVI\n" REST "wavelength = {1}\n", ":6: wavelength has 1 entries: must be 2, one for"},
        {"ENVI\n" REST "wavelength = {1,2,3}\n", ":6: wavelength has 2 or more entries: must be 2"},
        {"ENVI\n" REST "wavelength = {1,\n two}\n",
         ":7: entry 2 of wavelength is 'two': must be a number"},
        {"ENVI\n" REST "wavelength = {1,,2}\n", ":6: entry 2 of wavelength is '': must be"},
        {"ENVI\n" REST "fwhm = {1}\n", ":6: fwhm has 1 entries"},
        {"ENVI\n" REST "bbl = {1, yes}\n", ":6: entry 2 of bbl is 'yes': must be a number"},
        {"ENVI\n" REST "data ignore value = none\n", ":6: data ignore value is 'none': must be a"},
        {"ENVI\n" REST "reflectance scale factor = 0\n",
         ":6: reflectance scale factor is '0': must be a number above 0"},
        {"ENVI\n" REST "reflectance scale factor = -5\n", ": must be a number above 0"},
        {"ENVI\nbands=1\nlines=1\nsamples=1\ndata type=2\n", "has 4 bytes, more than the 2 that"},
        {"ENVI\nbands=3\nlines=1\nsamples=1\ndata type=2\n", "has 4 bytes, less than the 6 that"},
        {"ENVI\nbands=1073741824\nlines=1\nsamples=1\ndata type=2\nwavelength = {1}\n",
         "less than the 2147483648 that"},
        {"ENVI\nheader offset=1\n" REST, "1 lines x 1 samples x 2 bands of int16 after 1 bytes"},
    };
    put("cube", "1234", 4);
    for (size_t i = 0; i < COUNT(broken); i++) {
        put_text("cube.hdr", broken[i].header);
        refuse_open("cube.hdr", broken[i].message);
    }
    put("cube.hdr", "ENVI\nsamples\0=1\n", 16);
    refuse_open("cube.hdr", "byte 12 is 0: a header is a text");
    put_text("cube.hdr", "ENVI\n" REST); /* the rest of them is indeed sound */
    synth_cube_close(open_good("cube.hdr"));
}

/* Blanks after the magic, a version and a length of two bytes. */
static void begin_npy(char *file, size_t size, int version, unsigned length)
{
    static const char magic[6] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};
    memset(file, ' ', size);
    memcpy(file, magic, sizeof magic);
    file[6] = (char)version;
    file[7] = 0;
    file[8] = (char)(length & 0xff);
    file[9] = (char)(length >> 8);
}

Test(cube_file, refuses_broken_npy)
{
    static const struct {
        const char *header, *message;
    } broken[] = {
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (1, 2)}", "descr is '<c8': must be f4"},
        {"{'descr': '<f2', 'fortran_order': False, 'shape': (1, 2)}", "descr is '<f2': must be"},
        {"{'descr': '|u2', 'fortran_order': False, 'shape': (1, 2)}", "descr is '|u2': must be"},
        {"{'descr': '', 'fortran_order': False, 'shape': (1, 2)}", "descr is '': must be"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", "must be a quoted"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (1, 2)}", "must be True or False"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, -2)}", "must be whole numbers"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 2)}",
         "must be whole numbers"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': ()}", "shape has 0 axes: must have 2"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "shape has 1 axes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,2)}", "must have 2 to 4 axes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 2)}", "axis 0 of shape is 0"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}", "with commas between"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': 2}", "must be a tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 2)}",
         "more than a file can hold"},
        {"{'descr': '<f4', 'fortran_order': False}", "shape is missing"},
        {"{'descr': '<f4', 'shape': (1, 2)}", "fortran_order is missing"},
        {"{'fortran_order': False, 'shape': (1, 2)}", "descr is missing"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1, 2)}",
         "the key 'descr': must be descr, fortran_order and shape, each once"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), 'more': 1}", "the key 'more'"},
        {"{'descr': '<f4' 'fortran_order': False, 'shape': (1, 2)}", "must be a comma"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2)} x", "after the dictionary"},
        {"['descr']", "must be a dictionary"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2", "with commas between"},
        {"{'descr", "must be a quoted key"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3)}", "has 104 bytes, less than"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1)}", "has 104 bytes, more than"},
    };
    char file[106];
    for (size_t i = 0; i < COUNT(broken); i++) {
        begin_npy(file, sizeof file, 1, 86);
        memcpy(file + 10, broken[i].header, strlen(broken[i].header));
        put("cube.npy", file, 104);
        refuse_open("cube.npy", broken[i].message);
    }
    begin_npy(file, sizeof file, 4, 86);
    put("cube.npy", file, sizeof file);
    refuse_open("cube.npy", "version 4.0: must be 1.0, 2.0 or 3.0");
    begin_npy(file, sizeof file, 2, 0xffff);
    file[10] = file[11] = (char)0xff;
    put("cube.npy", file, sizeof file);
    refuse_open("cube.npy", "has 4294967295 bytes: must have 1048576 at most");
    put("cube.npy", file, 8);
    refuse_open("cube.npy", "ends at byte 8, and 2 more were expected");
    put_text("cube.npy", "no array at all");
    refuse_open("cube.npy", "is no .npy");
    begin_npy(file, sizeof file, 1, 86);
    file[11] = '\0';
    put("cube.npy", file, sizeof file);
    refuse_open("cube.npy", "byte 11 is 0");
}

/* A header cut at each byte is refused or read, and nothing else happens. */
Test(cube_file, survives_headers_that_are_cut_off)
{
    const char *header = "ENVI\ndescription = {a,\n b}\nsamples = 1\nlines = 1\nbands = 2\n"
                         "data type = 2\nbyte order = 1\nwavelength = {\n 1,\n 2\n}\n"
                         "band names = {x,\n y}\nbbl={0,1}\ndefault bands = {1}\n";
    put("cube", "1234", 4);
    for (size_t length = 0; length < strlen(header); length++) {
        put("cube.hdr", header, length);
        synth_cube_close(synth_cube_open(yp_device_cpu(), in_folder("cube.hdr"), 0));
        char *changed = strdup(header);
        unsigned state = (unsigned)length;
        for (int i = 0; i < 20; i++) {
            changed[some(&state, strlen(header))] = "{},;=\n\r\t 9-\xff"[some(&state, 12)];
            put("cube.hdr", changed, strlen(header));
            synth_cube_close(synth_cube_open(yp_device_cpu(), in_folder("cube.hdr"), 0));
        }
        free(changed);
    }
}

/* ---- values ---- */

Test(cube_file, no_data_becomes_nan_and_scale_divides)
{
    static const struct {
        const char *type, *ignore;
        float first, second;
    } cases[] = {{"2", "-2", NAN, 300},  {"2", "300", -2, NAN},     {"2", "70000", -2, 300},
                 {"2", "-2.5", -2, 300}, {"12", "65534", NAN, 300}, {"2", "nan", -2, 300}};
    const int16_t raw[] = {-2, 300};
    char header[256];
    put("cube", raw, sizeof raw);
    for (size_t i = 0; i < COUNT(cases); i++)
        for (int scaled = 0; scaled < 2; scaled++) {
            float values[2], by = scaled ? 4 : 1;
            snprintf(header, sizeof header,
                     "ENVI\nsamples=1\nlines=1\nbands=2\ndata type=%s\ndata ignore value=%s\n"
                     "reflectance scale factor=4\n",
                     cases[i].type, cases[i].ignore);
            put_text("cube.hdr", header);
            struct synth_cube_file *file = open_scaled("cube", scaled);
            cr_assert_eq(synth_cube_read(file, 0, 0, 1, values), YP_OK);
            cr_assert(same(values[0], cases[i].first / by) && same(values[1], cases[i].second / by),
                      "%zu: %g %g", i, (double)values[0], (double)values[1]);
            synth_cube_close(file);
        }
    const float floats[] = {-3.4028234e38F, 0.1F};
    put("cube", floats, sizeof floats);
    put_text("cube.hdr", "ENVI\nsamples=1\nlines=1\nbands=2\ndata type=4\n"
                         "data ignore value=-3.40282347e+38\n");
    struct synth_cube_file *file = open_good("cube");
    float values[2];
    cr_assert_eq(synth_cube_read(file, 0, 0, 1, values), YP_OK);
    cr_assert(isnan(values[0]) && values[1] == 0.1F);
    synth_cube_close(file);
}

/* A data ignore value that the header has rounded means what it is rounded from, and no more. */
Test(cube_file, no_data_may_be_rounded_in_the_header)
{
    static const struct {
        const char *ignore;
        double value; /* as stored */
        bool none;
        int type;
    } cases[] = {
        {"-3.40282e+38", -FLT_MAX, true, 4},
        {"-3.402823466e+38", -FLT_MAX, true, 4},
        {"-3.4028235e+38", -FLT_MAX, true, 4},
        {"-3.403E+38", -FLT_MAX, true, 4},
        {"-3.4e+38", -FLT_MAX, true, 4},
        {"-3.4e+38", -3.4e38F, true, 4},
        {"-3.4e+38", FLT_MAX, false, 4},
        {"-3.40282e+38", -INFINITY, false, 4},
        {"9.96921e+36", 0x1.ep+122, true, 4},
        {"9.97e+36", 0x1.ep+122, false, 4},
        {"-9999.9", -9999.9F, true, 4},
        {"-9999.9", -9999.88F, false, 4},
        {"-9999", -9999, true, 4},
        {"-9999.00", -9999.004F, false, 4},
        {"0.1", 0.12F, false, 4},
        {"0.100000000", 0.1F, true, 4},
        {"0.123457", 0.1234567F, true, 4},
        {"0.123457", 0.123458F, false, 4},
        {"-1e300", -FLT_MAX, false, 4},
        {"-3.40282e+38", -FLT_MAX, true, 5},
        {"-3.40282346638529e+38", -FLT_MAX, true, 5},
        {"-1.79769e+308", -DBL_MAX, true, 5},
        {"-1.79769313486232e+308", -DBL_MAX, true, 5},
        {"-2.14748e+09", INT32_MIN, true, 3},
        {"2.147e+09", INT32_MAX, false, 3},
        {"-32768.4", INT16_MIN, false, 2},
        {"-32768.0", INT16_MIN, true, 2},
    };
    char header[256];
    for (size_t i = 0; i < COUNT(cases); i++) {
        const float f = (float)cases[i].value;
        const int32_t whole = cases[i].type < 4 ? (int32_t)cases[i].value : 0;
        const int16_t half = (int16_t)whole;
        float value;
        if (cases[i].type == 5)
            put("cube", &cases[i].value, 8);
        else if (cases[i].type == 2)
            put("cube", &half, 2);
        else
            put("cube", cases[i].type == 4 ? (const void *)&f : &whole, 4);
        snprintf(header, sizeof header,
                 "ENVI\nsamples=1\nlines=1\nbands=1\ndata type=%d\ndata ignore value=%s\n",
                 cases[i].type, cases[i].ignore);
        put_text("cube.hdr", header);
        struct synth_cube_file *file = open_good("cube");
        cr_assert_eq(synth_cube_read(file, 0, 0, 1, &value), YP_OK);
        cr_expect(synth_cube_info(file)->has_ignore == (strcmp(cases[i].ignore, "-1e300") != 0 &&
                                                        strcmp(cases[i].ignore, "-32768.4") != 0));
        cr_expect_eq(isnan(value), cases[i].none, "%s and %.9g: %g", cases[i].ignore,
                     cases[i].value, (double)value);
        synth_cube_close(file);
    }
}

/* Large integers that round to the same float are compared before the conversion. */
Test(cube_file, no_data_is_looked_for_in_the_stored_values)
{
    const int32_t raw[] = {INT32_MAX, INT32_MAX - 1};
    float values[2];
    put("cube", raw, sizeof raw);
    put_text("cube.hdr", "ENVI\nsamples=2\nlines=1\nbands=1\ndata type=3\n"
                         "data ignore value=2147483647\n");
    struct synth_cube_file *file = open_good("cube");
    cr_assert_eq(synth_cube_read(file, 0, 0, 2, values), YP_OK);
    cr_assert(isnan(values[0]) && values[1] == 0x1p31F);
    synth_cube_close(file);
}

Test(cube_file, clips_and_counts)
{
    static const struct {
        enum synth_type type;
        double ignore;
        float in[6], out[6];
    } cases[] = {
        {SYNTH_U16,
         65535,
         {-1, 0.49F, 65534, 65535, 1e30F, -INFINITY},
         {0, 0, 65534, 65534, 65534, 0}},
        {SYNTH_I16,
         -32768,
         {-32768, -32767, 32767, 32768, 2.5F, 3.5F},
         {-32767, -32767, 32767, 32767, 2, 4}},
        {SYNTH_U8, 255, {-0.4F, 254.4F, 254.6F, 255, INFINITY, 7}, {0, 254, 254, 254, 254, 7}},
    };
    static const uint64_t clipped[] = {4, 2, 3};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct synth_cube_info info = {.type = cases[i].type,
                                       .height = 1,
                                       .width = 1,
                                       .channels = 6,
                                       .has_ignore = true,
                                       .ignore = cases[i].ignore};
        struct synth_cube_writer *writer =
            synth_cube_create(yp_device_cpu(), in_folder("cube"), &info, SYNTH_REPLACE);
        cr_assert_not_null(writer, "%s", yp_last_error());
        cr_assert_eq(synth_cube_write(writer, 0, 0, 1, cases[i].in), YP_OK);
        cr_expect_eq(synth_cube_clipped(writer), clipped[i], "%zu: %d", i,
                     (int)synth_cube_clipped(writer));
        cr_assert_eq(synth_cube_commit(writer), YP_OK);
        struct synth_cube_file *file = open_good("cube");
        float values[6];
        cr_assert_eq(synth_cube_read(file, 0, 0, 1, values), YP_OK);
        for (size_t j = 0; j < 6; j++)
            cr_expect(values[j] == cases[i].out[j], "%zu.%zu: %g", i, j, (double)values[j]);
        synth_cube_close(file);
    }
}

Test(cube_file, refuses_windows_beyond_the_cube)
{
    const struct synth_window windows[] = {{0, 4, 0, 1, 0, 1},        {4, 0, 0, 1, 0, 1},
                                           {0, 1, 3, 3, 0, 1},        {0, 1, 0, 1, 7, 1},
                                           {0, 1, 1, SIZE_MAX, 0, 1}, {2, SIZE_MAX, 0, 1, 0, 1}};
    float values[200];
    put_text("cube.hdr", "ENVI\nsamples=5\nlines=3\nbands=7\ndata type=1\ninterleave=bil\n");
    put("cube",
        "0123456789012345678901234567890123456789012345678901234567890123456789"
        "01234567890123456789012345678901234",
        105);
    struct synth_cube_file *file = open_good("cube");
    for (size_t i = 0; i < COUNT(windows); i++) {
        enum yp_status wanted = windows[i].rows == 0 && windows[i].row <= 3 ? YP_OK : YP_INVALID;
        cr_expect_eq(synth_cube_read_window(file, 0, &windows[i], values), wanted, "%zu", i);
    }
    cr_expect_eq(synth_cube_read(file, 0, 15, 0, values), YP_OK);
    cr_expect_eq(synth_cube_read(file, 0, 15, 1, values), YP_INVALID);
    cr_expect_eq(synth_cube_read(file, 0, 1, SIZE_MAX, values), YP_INVALID);
    cr_expect_eq(synth_cube_read(file, 1, 0, 1, values), YP_INVALID);
    cr_expect_not_null(strstr(yp_last_error(), "cube is 1: must be below the 1 of the file"));
    cr_expect_eq(synth_cube_read(NULL, 0, 0, 1, values), YP_INVALID);
    cr_expect_eq(synth_cube_read(file, 0, 0, 1, NULL), YP_INVALID);
    cr_assert_eq(truncate(in_folder("cube"), 50), 0);
    cr_expect_eq(synth_cube_read(file, 0, 0, 5, values), YP_OK, "the first line is still there");
    cr_expect_eq(synth_cube_read(file, 0, 0, 15, values), YP_IO);
    cr_expect_not_null(strstr(yp_last_error(), "ends at byte 50"), "%s", yp_last_error());
    synth_cube_close(file);
}

/* ---- writing goes wrong ---- */

static const struct synth_cube_info little = {.height = 4, .width = 4, .channels = 4};

static struct synth_cube_writer *create(const char *name, const struct synth_cube_info *info)
{
    return synth_cube_create(yp_device_cpu(), in_folder(name), info, SYNTH_REFUSE);
}

static void refuse_create(const char *name, const struct synth_cube_info *info, const char *message)
{
    struct synth_cube_writer *writer = create(name, info);
    cr_expect_null(writer, "%s", message);
    cr_expect_not_null(strstr(yp_last_error(), message), "wanted '%s'\n   got '%s'", message,
                       yp_last_error());
    synth_cube_abandon(writer);
}

Test(cube_file, refuses_what_it_cannot_write)
{
    const char *const names[] = {"a", "b,c", "d", "e"};
    struct synth_cube_info info = little;
    refuse_create("none/cube", &info, "No such file or directory");
    put_text("file", "x");
    refuse_create("file/cube", &info, "Not a directory");
    refuse_create("", &info, "must be the name of a file");
    mkdir(in_folder("folder"), 0777);
    refuse_create("folder", &info, "is there and is no file");
    rmdir(in_folder("folder"));
    info.height = 0;
    refuse_create("cube", &info, "each must be 1 at least");
    info.height = SIZE_MAX / 2;
    refuse_create("cube", &info, "fit a file");
    info = little, info.type = SYNTH_F64;
    refuse_create("cube", &info, "synth_cube_info.type is none that is written");
    info = little, info.type = SYNTH_U16, info.has_ignore = true, info.ignore = -1;
    refuse_create("cube", &info, "synth_cube_info.ignore is -1: must be a whole number of uint16");
    info = little;
    info.units = "in {parts}";
    refuse_create("cube", &info, "synth_cube_info.units is 'in {parts}': must be without any of");
    info = classified;
    info.channels = 2;
    refuse_create("cube", &info, "synth_cube_info.classes is 3 in 2 channels of uint8: must be");
    info = classified;
    info.type = SYNTH_U16;
    refuse_create("cube", &info, "synth_cube_info.classes is 3 in 1 channels of uint16");
    info = classified;
    info.classes = 257;
    refuse_create("cube", &info, "synth_cube_info.classes is 257");
    info = classified;
    info.class_names = NULL;
    refuse_create("cube", &info, "synth_cube_info.class_names is NULL");
    info = classified;
    info.class_lookup = NULL;
    refuse_create("cube", &info, "synth_cube_info.class_lookup is NULL");
    info = classified;
    info.class_names = (const char *const[]){"a", "b, c", "d"};
    refuse_create("cube", &info, "synth_cube_info.class_names[] is 'b, c'");
    info = little, info.cubes = 2;
    refuse_create("cube", &info, "ENVI has one cube a file");
    info = little, info.format = SYNTH_NPY, info.interleave = SYNTH_BSQ;
    refuse_create("cube", &info, "must be SYNTH_BIP in a .npy");
    info = little, info.band_names = names;
    refuse_create("cube", &info, "band_names[] is 'b,c': must be without");
    info = little, info.description = "}";
    refuse_create("cube", &info, "description is '}'");
    info = little, info.scale = NAN;
    refuse_create("cube", &info, "scale is not allowed");
    const double gains[] = {1, 2, 3, 4};
    info = little, info.gains = gains;
    refuse_create("cube", &info, "gains or offsets is there: must be NULL");
    info = little, info.default_band_count = 1, info.default_bands[0] = 4;
    refuse_create("cube", &info, "default_bands[] is beyond the cube");
    cr_assert_eq(files_there(), 1);
}

Test(cube_file, says_when_there_is_no_room)
{
    struct synth_cube_info info = {.height = 1 << 20, .width = 1 << 20, .channels = 1 << 12};
    refuse_create("cube", &info, "needs 18014398509");
    cr_expect_not_null(strstr(yp_last_error(), "left"), "%s", yp_last_error());
    cr_assert_eq(files_there(), 0);
}

/* Until the commit the final names do not exist, whether or not the file has another name. */
Test(cube_file, has_its_name_when_it_is_whole)
{
    float values[64] = {1, 2, 3};
    for (int named = 0; named < 2; named++) {
        ypi_atomic_named = named;
        struct synth_cube_writer *writer = create("cube", &little);
        cr_assert_not_null(writer, "%s", yp_last_error());
        cr_assert_eq(synth_cube_write(writer, 0, 0, 16, values), YP_OK);
        cr_assert_eq(files_there(), named ? 2 : 0);
        cr_assert(access(in_folder("cube"), F_OK) != 0 && access(in_folder("cube.hdr"), F_OK) != 0);
        synth_cube_abandon(writer);
        cr_assert_eq(files_there(), 0);

        writer = create("cube", &little);
        cr_assert_eq(synth_cube_write(writer, 0, 0, 15, values), YP_OK);
        cr_assert_eq(synth_cube_commit(writer), YP_INVALID);
        cr_assert_not_null(strstr(yp_last_error(), "cube: 15 pixels were written: must be 16"));
        cr_assert_eq(files_there(), 0);

        writer = create("cube", &little);
        cr_assert_eq(synth_cube_write(writer, 0, 0, 16, values), YP_OK);
        cr_assert_eq(synth_cube_commit(writer), YP_OK, "%s", yp_last_error());
        cr_assert_eq(files_there(), 2);
        refuse_create("cube", &little, "is there already");
        refuse_create("cube.hdr", &little, "cube.hdr: is there already");

        values[0] = 9;
        writer = synth_cube_create(yp_device_cpu(), in_folder("cube"), &little, SYNTH_REPLACE);
        cr_assert_eq(synth_cube_write(writer, 0, 0, 16, values), YP_OK);
        cr_assert_eq(synth_cube_commit(writer), YP_OK, "%s", yp_last_error());
        struct synth_cube_file *file = open_good("cube");
        float first[4];
        cr_assert_eq(synth_cube_read(file, 0, 0, 1, first), YP_OK);
        cr_assert_eq(first[0], 9);
        synth_cube_close(file);
        unlink(in_folder("cube"));
        unlink(in_folder("cube.hdr"));
        cr_assert_eq(files_there(), 0);
    }
}

static void check_text(const char *name, const char *wanted)
{
    char text[32] = "";
    FILE *file = fopen(in_folder(name), "r");
    cr_assert_not_null(file, "%s is gone", name);
    cr_expect(fgets(text, sizeof text, file) != NULL && strcmp(text, wanted) == 0, "%s: '%s'", name,
              text);
    fclose(file);
}

/* Another program creates one of the two files while a cube is being written. */
Test(cube_file, refuses_a_name_that_was_taken_meanwhile)
{
    static const char *const names[] = {"cube", "cube.hdr"};
    const float values[64] = {1, 2, 3};
    for (int i = 0; i < 4; i++) {
        const char *taken = names[i % 2];
        ypi_atomic_named = i >= 2;
        struct synth_cube_writer *writers[2] = {create("first", &little), create("cube", &little)};
        for (int w = 0; w < 2; w++)
            cr_assert_eq(synth_cube_write(writers[w], 0, 0, 16, values), YP_OK);
        put_text(taken, "mine");
        cr_expect_eq(synth_cube_commit_all(writers, 2), YP_IO);
        cr_expect_not_null(strstr(yp_last_error(), "File exists"), "%s", yp_last_error());
        check_text(taken, "mine");
        cr_expect_eq(files_there(), 1, "%s, named %d: %d files", taken, i >= 2, files_there());
        unlink(in_folder(taken));
    }
}

/* A data ignore value inside the range: data may equal it and are read back as no data. */
Test(cube_file, a_data_ignore_value_within_the_range_takes_nothing)
{
    const struct synth_cube_info info = {
        .type = SYNTH_U8, .height = 1, .width = 1, .channels = 4, .has_ignore = true, .ignore = 7};
    const float in[4] = {6, 7.2F, NAN, 255};
    float out[4];
    struct synth_cube_writer *writer = create("cube", &info);
    cr_assert_eq(synth_cube_write(writer, 0, 0, 1, in), YP_OK);
    cr_expect_eq(synth_cube_clipped(writer), 0);
    cr_assert_eq(synth_cube_commit(writer), YP_OK);
    struct synth_cube_file *file = open_good("cube");
    cr_assert_eq(synth_cube_read(file, 0, 0, 1, out), YP_OK);
    cr_expect(out[0] == 6 && isnan(out[1]) && isnan(out[2]) && out[3] == 255, "%g %g %g %g",
              (double)out[0], (double)out[1], (double)out[2], (double)out[3]);
    synth_cube_close(file);
}

Test(cube_file, leaves_nothing_when_the_disk_is_full)
{
    static float values[1 << 14];
    struct synth_cube_info info = {.height = 64, .width = 64, .channels = 4};
    const struct rlimit limit = {30000, RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    for (int each = 0; each < 6; each++) {
        ypi_atomic_named = each % 2;
        info.interleave = each / 2;
        struct synth_cube_writer *writer = create("cube", &info);
        cr_assert_not_null(writer, "%s", yp_last_error());
        cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
        enum yp_status status = synth_cube_write(writer, 0, 0, 64 * 64, values);
        cr_expect_eq(status, YP_IO);
        cr_expect_not_null(strstr(yp_last_error(), strerror(EFBIG)), "%s", yp_last_error());
        cr_expect_eq(synth_cube_commit(writer), YP_IO);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
        cr_expect_eq(files_there(), 0);
    }
}

/* ---- threads and memory ---- */

struct worker {
    struct synth_cube_writer *writer;
    const struct synth_cube_info *info;
    size_t first;
};

static void *write_some(void *argument)
{
    const struct worker *w = argument;
    size_t c = w->info->channels;
    float values[8 * 50];
    for (size_t pixel = w->first; pixel < w->info->height * w->info->width; pixel += 4 * 8) {
        for (size_t i = 0; i < 8 * c; i++)
            values[i] = written_at(SYNTH_F32, pixel * c + i);
        if (synth_cube_write(w->writer, 0, pixel, 8, values) != YP_OK)
            return argument;
    }
    return NULL;
}

Test(cube_file, is_written_by_many_threads)
{
    for (int interleave = 0; interleave < 3; interleave++) {
        struct synth_cube_info info = {
            .height = 64, .width = 20, .channels = 50, .interleave = interleave};
        struct synth_cube_writer *writer =
            synth_cube_create(yp_device_cpu(), in_folder("cube"), &info, SYNTH_REPLACE);
        pthread_t threads[4];
        struct worker workers[4];
        for (size_t i = 0; i < 4; i++) {
            workers[i] = (struct worker){writer, &info, 8 * i};
            cr_assert_eq(pthread_create(&threads[i], NULL, write_some, &workers[i]), 0);
        }
        for (size_t i = 0; i < 4; i++) {
            void *bad = NULL;
            pthread_join(threads[i], &bad);
            cr_assert_null(bad);
        }
        cr_assert_eq(synth_cube_commit(writer), YP_OK, "%s", yp_last_error());
        struct synth_cube_file *file = open_good("cube");
        check_all(file, SYNTH_F32);
        synth_cube_close(file);
    }
}

Test(cube_file, gives_all_memory_back_and_bears_having_none)
{
    struct yp_memory before, after;
    const float wavelengths[] = {1, 2, 3, 4};
    struct synth_cube_info info = little;
    info.wavelengths = wavelengths;
    yp_device_memory(yp_device_cpu(), &before);
    yp_device_fail_allocation(yp_device_cpu(), 1);
    cr_assert_null(create("cube", &info));
    cr_assert_eq(files_there(), 0);
    struct synth_cube_writer *writer = create("cube", &info);
    const float values[64] = {0};
    synth_cube_write(writer, 0, 0, 16, values);
    cr_assert_eq(synth_cube_commit(writer), YP_OK);
    for (uint64_t nth = 1; nth <= 2; nth++) {
        yp_device_fail_allocation(yp_device_cpu(), nth);
        cr_assert_null(synth_cube_open(yp_device_cpu(), in_folder("cube"), 0));
    }
    synth_cube_close(open_good("cube"));
    yp_device_memory(yp_device_cpu(), &after);
    cr_assert_eq(before.allocated, after.allocated);
}
