#include "tests/fuzz/cube.h"

#include "synth/cube/cube.h"
#include "tests/fuzz/fuzz.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES_MAX = 1 << 18, VALUES_MAX = 1 << 15 };

static bool same(const float *a, const float *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static void check_window(const struct synth_cube_file *file, uint64_t cube,
                         const struct synth_window *w, const float *all)
{
    const struct synth_cube_info *info = synth_cube_info(file);
    float *part = malloc(w->rows * w->columns * w->bands * sizeof *part + 1);
    FUZZ_CHECK(part != NULL && synth_cube_read_window(file, cube, w, part) == YP_OK);
    const float *at = part;
    for (size_t i = 0; i < w->rows; i++)
        for (size_t k = 0; k < w->columns; k++)
            for (size_t b = 0; b < w->bands; b++)
                FUZZ_CHECK(
                    same(at++, &all[((w->row + i) * info->width + w->column + k) * info->channels +
                                    w->band + b]));
    free(part);
}

static void read_cube(const struct synth_cube_file *file, uint64_t cube)
{
    const struct synth_cube_info *info = synth_cube_info(file);
    size_t pixels = info->height * info->width, h = info->height, w = info->width;
    size_t c = info->channels;
    float *all = malloc(pixels * c * sizeof *all);
    FUZZ_CHECK(all != NULL && synth_cube_read(file, cube, 0, pixels, all) == YP_OK);
    const struct synth_window windows[] = {
        {0, h, 0, w, 0, c},     {h / 2, h - h / 2, w / 3, w - w / 3, c / 2, c - c / 2},
        {h - 1, 1, 0, w, 0, 1}, {0, 1, w - 1, 1, c - 1, 1},
        {0, h, w / 2, 1, 0, c},
    };
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++)
        check_window(file, cube, &windows[i], all);
    FUZZ_CHECK(synth_cube_read(file, cube, 1, pixels, all) == YP_INVALID);
    free(all);
}

static void check_info(const struct synth_cube_info *info)
{
    FUZZ_CHECK(info->cubes > 0 && info->height > 0 && info->width > 0 && info->channels > 0);
    FUZZ_CHECK(info->default_band_count <= 3);
    for (size_t i = 0; i < info->default_band_count; i++)
        FUZZ_CHECK(info->default_bands[i] < info->channels);
    /* All of each list can be read. */
    size_t read = 0;
    for (size_t i = 0; i < info->channels && i < VALUES_MAX; i++) {
        read += info->wavelengths != NULL && info->wavelengths[i] > 0;
        read += info->fwhm != NULL && info->fwhm[i] > 0;
        read += info->good_bands != NULL && info->good_bands[i] > 0;
        read += info->band_names != NULL ? strlen(info->band_names[i]) : 0;
        FUZZ_CHECK(info->gains == NULL ||
                   (isfinite((float)info->gains[i]) && isfinite((float)info->offsets[i])));
    }
    for (size_t i = 0; i < info->classes && i < VALUES_MAX; i++) {
        read += info->class_names != NULL ? strlen(info->class_names[i]) : 0;
        for (size_t k = 0; k < 3 && info->class_lookup != NULL; k++)
            read += info->class_lookup[3 * i + k];
    }
    FUZZ_CHECK((info->gains == NULL) == (info->offsets == NULL));
    FUZZ_CHECK(info->scale >= 0 && (info->units == NULL || strlen(info->units) < SIZE_MAX));
    FUZZ_CHECK(read < SIZE_MAX);
}

/* How long the values have to be, by the message; 0: that is not what is wrong, or it is much. */
static off_t wanted_length(void)
{
    uint64_t bytes = 0;
    const char *than = strstr(yp_last_error(), " than the ");
    return than != NULL && sscanf(than, " than the %" SCNu64, &bytes) == 1 && bytes <= BYTES_MAX
               ? (off_t)bytes
               : 0;
}

static void open_and_read(const char *path, enum synth_scaling scaling)
{
    struct synth_cube_file *file = synth_cube_open(yp_device_cpu(), path, scaling);
    if (file == NULL) {
        FUZZ_CHECK(yp_last_error()[0] != '\0');
        return;
    }
    const struct synth_cube_info *info = synth_cube_info(file);
    check_info(info);
    FUZZ_CHECK(synth_cube_note(file) == NULL || info->gains == NULL);
    size_t values = info->height * info->width * info->channels;
    for (uint64_t cube = 0; cube < info->cubes && cube < 3 && values <= VALUES_MAX; cube++)
        read_cube(file, cube);
    synth_cube_close(file);
}

void fuzz_cube(const char *path, const char *values)
{
    struct synth_cube_file *file = synth_cube_open(yp_device_cpu(), path, SYNTH_AS_STORED);
    off_t length = file == NULL ? wanted_length() : 0;
    synth_cube_close(file);
    if (length > 0)
        FUZZ_CHECK(truncate(values, length) == 0);
    open_and_read(path, SYNTH_AS_STORED);
    open_and_read(path, SYNTH_SCALED);
}
