/* Cubes in files as they are found: every type and order, headers of other software, and what is
 * said of those that are refused. What the suites and `yieldpoint synth` write is tested there. */
#include <dirent.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/atomic_file.h"
#include "synth/cube/cube.h"
#include "tests/unit/harness/folder.h"
#include "tests/unit/status.h"

/* ---- a folder for each test ---- */

static char path_text[4][PATH_MAX];

TestSuite(cube_file, .init = make_directory, .fini = remove_directory);

/* Valid for three calls more. */
static const char *in_folder(const char *name)
{
    static int next;
    char *text = path_text[next++ % 4];
    snprintf(text, PATH_MAX, "%s/%s", directory, name);
    return text;
}

static int files_there(void)
{
    int count = 0;
    DIR *there = opendir(directory);
    for (struct dirent *entry; (entry = readdir(there)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(there);
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

static void expect_said(const char *wanted)
{
    cr_expect_not_null(strstr(yp_last_error(), wanted), "wanted '%s'\n   got '%s'", wanted,
                       yp_last_error());
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
    uint64_t before = memory().allocated;
    struct synth_cube_file *file = synth_cube_open(yp_device_cpu(), in_folder(name), 0);
    cr_expect_null(file, "%s: was opened, not: %s", name, message);
    expect_said(message);
    cr_expect_eq(before, memory().allocated);
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

/* A window against the values one by one. */
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

/* All of it, and random windows. */
static void check_cube(struct synth_cube_file *file, const struct kind *k)
{
    const struct synth_cube_info *info = synth_cube_info(file);
    unsigned state = 1;
    for (uint64_t cube = 0; cube < info->cubes; cube++)
        for (int i = 0; i < 12; i++) {
            struct synth_window w = {0, info->height, 0, info->width, 0, info->channels};
            if (i > 0) {
                w = (struct synth_window){some(&state, info->height),   1,
                                          some(&state, info->width),    1,
                                          some(&state, info->channels), 1};
                w.rows += some(&state, info->height - w.row);
                w.columns += some(&state, info->width - w.column);
                w.bands += some(&state, info->channels - w.band);
            }
            check_window(file, k, cube, &w);
        }
}

static const size_t shapes[][3] = {{1, 1, 1}, {1, 1, 40},  {4, 1, 3},   {1, 5, 1},
                                   {5, 7, 3}, {3, 11, 50}, {7, 350, 17}};

Test(cube_file, reads_every_envi_type_interleave_and_byte_order)
{
    static const char *const names[] = {"bip", "bil", "bsq"};
    for (size_t s = 0; s < LENGTH(shapes); s++)
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
    for (size_t a = 0; a < LENGTH(arrays); a++)
        for (size_t each = 0; each < LENGTH(kinds) * 4; each++) {
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

/* ---- what is written besides values ---- */

static const char *const class_names[] = {"none of them", "tree", "roof (red)"};
static const uint8_t class_lookup[] = {0, 0, 0, 0, 255, 1, 200, 30, 40};
static const struct synth_cube_info little = {.height = 4, .width = 4, .channels = 4};
static const struct synth_cube_info classified = {.type = SYNTH_U8,
                                                  .height = 3,
                                                  .width = 2,
                                                  .channels = 1,
                                                  .classes = 3,
                                                  .class_names = class_names,
                                                  .class_lookup = class_lookup};

static struct synth_cube_file *written(const struct synth_cube_info *info)
{
    const float values[64] = {0};
    struct synth_cube_writer *writer =
        synth_cube_create(yp_device_cpu(), in_folder("cube.hdr"), info, SYNTH_REPLACE);
    cr_assert_not_null(writer, "%s", yp_last_error());
    cr_assert_eq(synth_cube_write(writer, 0, 0, info->height * info->width, values), YP_OK);
    cr_assert_eq(synth_cube_commit(writer), YP_OK, "%s", yp_last_error());
    return open_good("cube");
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
                                   .units = "counts, of a kind",
                                   .default_bands = {2, 0, 1},
                                   .default_band_count = 3,
                                   .has_ignore = true,
                                   .ignore = -9999.5};
    const double scales[] = {0.1, 65536, 50, 10000, 3};
    for (size_t i = 0; i < 2 * LENGTH(scales); i++) {
        info.scale = scales[i / 2];
        info.scale_is_gain = i % 2 == 1;
        struct synth_cube_file *file = written(&info);
        const struct synth_cube_info *read = synth_cube_info(file);
        cr_assert_arr_eq(read->wavelengths, wavelengths, sizeof wavelengths);
        cr_assert_arr_eq(read->fwhm, fwhm, sizeof fwhm);
        cr_assert_arr_eq(read->good_bands, good, sizeof good);
        for (size_t k = 0; k < 3; k++)
            cr_assert_str_eq(read->band_names[k], names[k]);
        cr_assert_arr_eq(read->default_bands, info.default_bands, sizeof info.default_bands);
        cr_assert_str_eq(read->description, info.description);
        cr_assert_str_eq(read->units, info.units);
        cr_assert(fabs(read->scale / info.scale - 1) < 0x1p-51 &&
                  read->scale_is_gain == info.scale_is_gain);
        cr_assert(read->default_band_count == 3 && read->has_ignore && read->ignore == -9999.5);
        synth_cube_close(file);
    }
    struct synth_cube_file *file = written(&classified);
    const struct synth_cube_info *read = synth_cube_info(file);
    cr_assert(read->classes == 3 && read->class_names != NULL && read->class_lookup != NULL);
    for (size_t i = 0; i < 3; i++)
        cr_assert_str_eq(read->class_names[i], class_names[i]);
    cr_assert_arr_eq(read->class_lookup, class_lookup, sizeof class_lookup);
    synth_cube_close(file);
}

/* ---- headers as they are found ---- */

/* Gains, offsets, scales and data ignore values; what is empty, which is as if it were missing. */
Test(cube_file, makes_of_stored_values_what_the_header_says)
{
    static const struct {
        int type;
        const char *lines;
        double stored[2];
        float values[2];
        double scale;
        const char *note; /* NULL: none */
    } cases[] = {
        {1, "data gain values = {0.5, 0.5}", {6, 8}, {3, 4}, 2, NULL},
        {1, "data gain values = {\n 0.25 ,\n 0.25,}", {6, 8}, {1.5F, 2}, 4, NULL},
        {1, "data gain values={.5, .5}\ndata offset values={0, 1}", {6, 8}, {3, 5}, 0, NULL},
        {1, "data gain values = {0.5, 0.25}", {6, 8}, {3, 2}, 0, NULL},
        {1, "data gain values = {-0.5, -0.5}", {6, 8}, {-3, -4}, 0, NULL},
        {1, "data gain values={2, 0}\ndata offset values={-.1, 7}", {6, 8}, {11.9F, 7}, 0, NULL},
        {1, "data offset values = {-1, 1}", {6, 8}, {5, 9}, 0, NULL},
        {1, "data gain values={1, 1}\ndata offset values={0, 0}", {6, 8}, {6, 8}, 1, NULL},
        {1, "data gain values={}\ndata offset values={}", {6, 8}, {6, 8}, 0, NULL},
        {1, "reflectance scale factor=2\ndata gain values={1, 1}", {6, 8}, {3, 4}, 2, NULL},
        {1,
         "data gain values = {0.5, 0.5}\nreflectance scale factor = 2",
         {6, 8},
         {3, 4},
         2,
         "are not applied: the reflectance scale factor is"},
        {1, "data gain values = {0.5}", {6, 8}, {6, 8}, 0, "lists of one number for each band"},
        {1,
         "data gain values={1, 2}\ndata offset values={0, 0, 0}",
         {6, 8},
         {6, 8},
         0,
         "they must be lists"},
        {1, "data gain values = {0, 0}", {6, 8}, {6, 8}, 0, "not applied: all gains are"},
        {1, "data gain values = {1, inf}", {6, 8}, {6, 8}, 0, "one of them is beyond"},
        {1, "data offset values = {nan, 0}", {6, 8}, {6, 8}, 0, "are not applied: one of"},
        {1, "data gain values = {1e-310, 1e-310}", {6, 8}, {6, 8}, 0, "one of them is"},
        {1, "data gain values = {half, half}", {6, 8}, {6, 8}, 0, "they must be lists"},
        /* Integers are compared as they are stored. */
        {2, "data ignore value=-2\nreflectance scale factor=4", {-2, 300}, {NAN, 75}, 4, NULL},
        {2, "data ignore value=300\nreflectance scale factor=4", {-2, 300}, {-.5F, NAN}, 4, NULL},
        {2, "data ignore value=70000", {-2, 300}, {-2, 300}, 0, NULL},
        {2, "data ignore value=-2.5", {-2, 300}, {-2, 300}, 0, NULL},
        {2, "data ignore value=nan", {-2, 300}, {-2, 300}, 0, NULL},
        {12, "data ignore value=65534", {65534, 300}, {NAN, 300}, 0, NULL},
        {3, "data ignore value=2147483647", {INT32_MAX, INT32_MAX - 1}, {NAN, 0x1p31F}, 0, NULL},
        /* One that the header has rounded means what it is rounded from, and no more. */
        {4, "data ignore value=-3.40282347e+38", {-FLT_MAX, 0.1}, {NAN, 0.1F}, 0, NULL},
        {4, "data ignore value=-3.40282e+38", {-FLT_MAX, 1}, {NAN, 1}, 0, NULL},
        {4, "data ignore value=-3.40282e+38", {-INFINITY, 1}, {-INFINITY, 1}, 0, NULL},
        {4, "data ignore value=-3.403E+38", {-FLT_MAX, 1}, {NAN, 1}, 0, NULL},
        {4, "data ignore value=-3.4e+38", {-FLT_MAX, FLT_MAX}, {NAN, FLT_MAX}, 0, NULL},
        {4, "data ignore value=9.96921e+36", {0x1.ep+122, 1}, {NAN, 1}, 0, NULL},
        {4, "data ignore value=9.97e+36", {0x1.ep+122, 1}, {0x1.ep+122F, 1}, 0, NULL},
        {4, "data ignore value=-9999.9", {-9999.9F, -9999.88}, {NAN, -9999.88F}, 0, NULL},
        {4, "data ignore value=-9999.00", {-9999, -9999.004}, {NAN, -9999.004F}, 0, NULL},
        {4, "data ignore value=0.1", {0.12, 1}, {0.12F, 1}, 0, NULL},
        {4, "data ignore value=0.100000000", {0.1, 1}, {NAN, 1}, 0, NULL},
        {4, "data ignore value=0.123457", {0.1234567, 0.123458}, {NAN, 0.123458F}, 0, NULL},
        {4, "data ignore value=-1e300", {-FLT_MAX, 1}, {-FLT_MAX, 1}, 0, NULL},
        {5, "data ignore value=-3.40282e+38", {-FLT_MAX, 1}, {NAN, 1}, 0, NULL},
        {5, "data ignore value=-1.79769e+308", {-DBL_MAX, 1}, {NAN, 1}, 0, NULL},
        {3, "data ignore value=-2.14748e+09", {INT32_MIN, 1}, {NAN, 1}, 0, NULL},
        {3, "data ignore value=2.147e+09", {INT32_MAX, 1}, {0x1p31F, 1}, 0, NULL},
        {2, "data ignore value=-32768.4", {INT16_MIN, 1}, {INT16_MIN, 1}, 0, NULL},
        {2, "data ignore value=-32768.0", {INT16_MIN, 1}, {NAN, 1}, 0, NULL},
        {1, "data ignore value = ; none\nbbl = {}\nwavelength = { }", {0, 1}, {0, 1}, 0, NULL},
        {1, "data ignore value =\nfwhm = {\n}\nband names = {}", {0, 1}, {0, 1}, 0, NULL},
        {1, "data ignore value = {}\ndefault bands = {}\nclasses =", {0, 1}, {0, 1}, 0, NULL},
        {1, "reflectance scale factor =\nbyte order =\ndescription =", {0, 1}, {0, 1}, 0, NULL},
        {1, "header offset =\nfile compression =\nwavelength units =", {0, 1}, {0, 1}, 0, NULL},
    };
    static const char *const orders[] = {"bip", "bil", "bsq"};
    for (size_t i = 0; i < LENGTH(cases) * 3; i++) {
        char text[256];
        unsigned char raw[16];
        float values[2], second;
        const struct synth_window band = {.rows = 1, .columns = 1, .band = 1, .bands = 1};
        const struct kind *k = kinds;
        while (k->number != cases[i / 3].type)
            k++;
        for (size_t b = 0; b < 2; b++)
            store_at(k, false, cases[i / 3].stored[b], raw + b * k->size);
        put("cube.img", raw, 2 * k->size);
        snprintf(text, sizeof text,
                 "ENVI\nsamples = 1\nlines = 1\nbands = 2\ndata type = %d\n%s\ninterleave = %s\n",
                 k->number, cases[i / 3].lines, orders[i % 3]);
        put_text("cube.hdr", text);
        for (int scaled = 0; scaled < 2; scaled++) {
            struct synth_cube_file *file = open_scaled("cube.hdr", (enum synth_scaling)scaled);
            const struct synth_cube_info *info = synth_cube_info(file);
            const char *note = synth_cube_note(file), *wanted = cases[i / 3].note;
            cr_assert_eq(info->scale, cases[i / 3].scale, "%s", text);
            cr_assert(info->good_bands == NULL && info->wavelengths == NULL && info->fwhm == NULL &&
                          info->band_names == NULL && info->description == NULL,
                      "%s", text);
            cr_assert(wanted == NULL ? note == NULL : note != NULL && strstr(note, wanted) != NULL,
                      "%s: %s", text, note);
            cr_assert_eq(synth_cube_read(file, 0, 0, 1, values), YP_OK);
            cr_assert_eq(synth_cube_read_window(file, 0, &band, &second), YP_OK);
            for (int b = 0; b < 2; b++) {
                float want = cases[i / 3].values[b];
                want = scaled || isnan(want) ? want : (float)cases[i / 3].stored[b];
                cr_assert(same(values[b], want), "%s%d: %.9g", text, scaled, (double)values[b]);
            }
            cr_assert(same(second, values[1]), "%s", text);
            synth_cube_close(file);
        }
    }
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
    for (size_t i = 0; i < LENGTH(cases); i++) {
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
    for (size_t i = 0; i < LENGTH(headers); i++) {
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

/* Of two descriptions the last counts; a unit that is empty is none. */
Test(cube_file, takes_the_last_of_what_only_describes)
{
    put("cube", "\1\2", 2);
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
    for (size_t i = 0; i < LENGTH(cases); i++) {
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
    for (size_t i = 0; i < LENGTH(pairs); i++) {
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
        {"ENVI", "samples is missing"},
        {"ENVI\nlines=1\nbands=2\ndata type=2\n", "samples is missing: must be a whole number"},
        {"ENVI\nsamples=1\nbands=2\ndata type=2\n", "lines is missing"},
        {"ENVI\nsamples=1\nlines=1\ndata type=2\n", "bands is missing"},
        {"ENVI\nsamples=1\nlines=1\nbands=2\n", "data type is missing: must be 1 (uint8), 2"},
        {"ENVI\nsamples=0\nlines=1\nbands=2\ndata type=2\n",
         ":2: samples is '0': must be a whole number of 1 at least"},
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
    for (size_t i = 0; i < LENGTH(broken); i++) {
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
    for (size_t i = 0; i < LENGTH(broken); i++) {
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

/* ---- windows ---- */

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
    for (size_t i = 0; i < LENGTH(windows); i++) {
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

static struct synth_cube_writer *create(const char *name, const struct synth_cube_info *info)
{
    return synth_cube_create(yp_device_cpu(), in_folder(name), info, SYNTH_REFUSE);
}

static void refuse_create(const char *name, const struct synth_cube_info *info, const char *message)
{
    struct synth_cube_writer *writer = create(name, info);
    cr_expect_null(writer, "%s", message);
    expect_said(message);
    synth_cube_abandon(writer);
}

Test(cube_file, refuses_what_it_cannot_write)
{
#define LITTLE .height = 4, .width = 4, .channels = 4
#define CLASSES .height = 3, .width = 2, .classes = 3
#define NAMED .class_names = class_names, .class_lookup = class_lookup
    const struct {
        const char *path;
        struct synth_cube_info info;
        const char *message;
    } bad[] = {
        {"none/cube", {LITTLE}, "No such file or directory"},
        {"file/cube", {LITTLE}, "Not a directory"},
        {"", {LITTLE}, "must be the name of a file"},
        {"folder", {LITTLE}, "is there and is no file"},
        {"file", {LITTLE}, "file: is there already"},
        {"taken", {LITTLE}, "taken.hdr: is there already"},
        {"cube", {.height = 1 << 20, .width = 1 << 20, .channels = 1 << 12}, "needs 18014398509"},
        {"cube", {.width = 4, .channels = 4}, "each must be 1 at least"},
        {"cube", {.height = SIZE_MAX / 2, .width = 4, .channels = 4}, "fit a file"},
        {"cube", {LITTLE, .type = SYNTH_F64}, "synth_cube_info.type is none that is written"},
        {"cube",
         {LITTLE, .type = SYNTH_U16, .has_ignore = true, .ignore = -1},
         "synth_cube_info.ignore is -1: must be a whole number of uint16"},
        {"cube", {LITTLE, .units = "in {parts}"}, "units is 'in {parts}': must be without any of"},
        {"cube",
         {CLASSES, NAMED, .type = SYNTH_U8, .channels = 2},
         "synth_cube_info.classes is 3 in 2 channels of uint8: must be"},
        {"cube",
         {CLASSES, NAMED, .type = SYNTH_U16, .channels = 1},
         "synth_cube_info.classes is 3 in 1 channels of uint16"},
        {"cube",
         {NAMED, .type = SYNTH_U8, .height = 3, .width = 2, .channels = 1, .classes = 257},
         "synth_cube_info.classes is 257"},
        {"cube",
         {CLASSES, .type = SYNTH_U8, .channels = 1, .class_lookup = class_lookup},
         "synth_cube_info.class_names is NULL"},
        {"cube",
         {CLASSES, .type = SYNTH_U8, .channels = 1, .class_names = class_names},
         "synth_cube_info.class_lookup is NULL"},
        {"cube",
         {CLASSES, .type = SYNTH_U8, .channels = 1, .class_lookup = class_lookup,
          .class_names = (const char *const[]){"a", "b, c", "d"}},
         "synth_cube_info.class_names[] is 'b, c'"},
        {"cube", {LITTLE, .cubes = 2}, "ENVI has one cube a file"},
        {"cube", {LITTLE, .format = SYNTH_NPY, .interleave = SYNTH_BSQ}, "SYNTH_BIP in a .npy"},
        {"cube",
         {LITTLE, .band_names = (const char *const[]){"a", "b,c", "d", "e"}},
         "band_names[] is 'b,c': must be without"},
        {"cube", {LITTLE, .description = "}"}, "description is '}'"},
        {"cube", {LITTLE, .scale = NAN}, "scale is not allowed"},
        {"cube",
         {LITTLE, .gains = (const double[]){1, 2, 3, 4}},
         "gains or offsets is there: must be NULL"},
        {"cube",
         {LITTLE, .default_band_count = 1, .default_bands = {4}},
         "default_bands[] is beyond the cube"},
    };
    put_text("file", "x");
    put_text("taken.hdr", "x");
    mkdir(in_folder("folder"), 0777);
    for (size_t i = 0; i < LENGTH(bad); i++)
        refuse_create(bad[i].path, &bad[i].info, bad[i].message);
    rmdir(in_folder("folder"));
    cr_assert_eq(files_there(), 2);
}

static enum yp_status write_pixels(struct synth_cube_writer *writer, size_t pixels)
{
    const float values[64] = {1, 2, 3};
    return synth_cube_write(writer, 0, 0, pixels, values);
}

/* Until the commit the final names do not exist, whether or not the file has another name; another
 * program may create one of the two in the meantime. */
Test(cube_file, has_its_name_when_it_is_whole)
{
    static const char *const names[] = {"cube", "cube.hdr"};
    for (int i = 0; i < 4; i++) {
        ypi_atomic_named = i >= 2;
        struct synth_cube_writer *writer = create("cube", &little);
        cr_assert_eq(write_pixels(writer, 16), YP_OK);
        cr_assert_eq(files_there(), ypi_atomic_named ? 2 : 0);
        cr_assert(access(in_folder("cube"), F_OK) != 0 && access(in_folder("cube.hdr"), F_OK) != 0);
        synth_cube_abandon(writer);
        cr_assert_eq(files_there(), 0);

        writer = create("cube", &little);
        cr_assert_eq(write_pixels(writer, 15), YP_OK);
        cr_assert_eq(synth_cube_commit(writer), YP_INVALID);
        expect_said("cube: 15 pixels were written: must be 16");
        cr_assert_eq(files_there(), 0);

        struct synth_cube_writer *writers[2] = {create("first", &little), create("cube", &little)};
        for (int w = 0; w < 2; w++)
            cr_assert_eq(write_pixels(writers[w], 16), YP_OK);
        put_text(names[i % 2], "mine");
        cr_expect_eq(synth_cube_commit_all(writers, 2), YP_IO);
        expect_said("File exists");
        char text[8] = "";
        FILE *file = fopen(in_folder(names[i % 2]), "r");
        cr_expect(fgets(text, sizeof text, file) != NULL && strcmp(text, "mine") == 0);
        fclose(file);
        cr_expect_eq(files_there(), 1, "%s: %d files", names[i % 2], files_there());
        unlink(in_folder(names[i % 2]));
    }
}

/* ---- memory ---- */

Test(cube_file, gives_all_memory_back_and_bears_having_none)
{
    const float wavelengths[] = {1, 2, 3, 4};
    struct synth_cube_info info = little;
    uint64_t before = memory().allocated;
    info.wavelengths = wavelengths;
    yp_device_fail_allocation(yp_device_cpu(), 1);
    cr_assert_null(create("cube", &info));
    cr_assert_eq(files_there(), 0);
    synth_cube_close(written(&info));
    for (uint64_t nth = 1; nth <= 2; nth++) {
        yp_device_fail_allocation(yp_device_cpu(), nth);
        cr_assert_null(synth_cube_open(yp_device_cpu(), in_folder("cube"), 0));
    }
    cr_assert_eq(before, memory().allocated);
}
