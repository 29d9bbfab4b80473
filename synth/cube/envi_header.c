/* The text of a new ENVI header. */
#include "synth/cube/internal.h"

#include <stdarg.h>
#include <stdio.h>

struct text {
    char *to;
    size_t capacity, length; /* length: of the whole text, also beyond capacity */
};

static void add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *text, const char *format, ...)
{
    va_list arguments;
    size_t left = text->length < text->capacity ? text->capacity - text->length : 0;
    va_start(arguments, format);
    int length = vsnprintf(left > 0 ? text->to + text->length : NULL, left, format, arguments);
    va_end(arguments);
    text->length += length > 0 ? (size_t)length : 0;
}

/* With nine digits, from which the same float is read back. */
static void add_floats(struct text *text, const char *key, const float *values, size_t count)
{
    if (values == NULL)
        return;
    add(text, "%s = {", key);
    for (size_t i = 0; i < count; i++)
        add(text, "%s%.9g", i == 0 ? "" : i % 8 == 0 ? ",\n " : ", ", (double)values[i]);
    add(text, "}\n");
}

static void add_names(struct text *text, const char *key, const char *const *names, size_t count)
{
    if (names == NULL)
        return;
    add(text, "%s = {", key);
    for (size_t i = 0; i < count; i++)
        add(text, "%s%s", i > 0 ? ",\n " : "", names[i]);
    add(text, "}\n");
}

static void add_classes(struct text *text, const struct synth_cube_info *info)
{
    if (info->classes == 0)
        return;
    add(text, "classes = %zu\nclass lookup = {", info->classes);
    for (size_t i = 0; i < 3 * info->classes; i++)
        add(text, "%s%d", i == 0 ? "" : i % 3 == 0 ? ",\n " : ", ", info->class_lookup[i]);
    add(text, "}\n");
    add_names(text, "class names", info->class_names, info->classes);
}

/* What the stored values are times or over, for values that are reflectance and for others. */
static void add_scale(struct text *text, const struct synth_cube_info *info)
{
    if (info->scale != 0 && !info->scale_is_gain)
        add(text, "reflectance scale factor = %.17g\n", info->scale);
    if (info->scale == 0 || !info->scale_is_gain)
        return;
    add(text, "data gain values = {");
    for (size_t i = 0; i < info->channels; i++)
        add(text, "%s%.17g", i == 0 ? "" : i % 8 == 0 ? ",\n " : ", ", 1 / info->scale);
    add(text, "}\n");
}

static void add_lists(struct text *text, const struct synth_cube_info *info)
{
    if (info->default_band_count > 0) {
        add(text, "default bands = {");
        for (size_t i = 0; i < info->default_band_count; i++)
            add(text, "%s%zu", i > 0 ? ", " : "", info->default_bands[i] + 1);
        add(text, "}\n");
    }
    if (info->wavelengths != NULL || info->fwhm != NULL)
        add(text, "wavelength units = Nanometers\n");
    add_floats(text, "wavelength", info->wavelengths, info->channels);
    add_floats(text, "fwhm", info->fwhm, info->channels);
    if (info->good_bands != NULL) {
        add(text, "bbl = {");
        for (size_t i = 0; i < info->channels; i++)
            add(text, "%s%d", i == 0 ? "" : i % 32 == 0 ? ",\n " : ", ", info->good_bands[i] != 0);
        add(text, "}\n");
    }
    add_names(text, "band names", info->band_names, info->channels);
}

size_t ypi_envi_header(char *to, size_t capacity, const struct synth_cube_info *info)
{
    static const char *const interleaves[] = {"bip", "bil", "bsq"};
    static const int numbers[SYNTH_TYPES] = {
        [SYNTH_U8] = 1, [SYNTH_I16] = 2, [SYNTH_F32] = 4, [SYNTH_U16] = 12};
    struct text text = {.to = to, .capacity = capacity};
    add(&text, "ENVI\n");
    if (info->description != NULL)
        add(&text, "description = {%s}\n", info->description);
    add(&text,
        "samples = %zu\nlines = %zu\nbands = %zu\nheader offset = 0\n"
        "file type = ENVI %s\ndata type = %d\ninterleave = %s\nbyte order = %d\n",
        info->width, info->height, info->channels,
        info->classes > 0 ? "Classification" : "Standard", numbers[info->type],
        interleaves[info->interleave], info->big_endian);
    if (info->has_ignore)
        add(&text, "data ignore value = %.17g\n", info->ignore);
    if (info->units != NULL)
        add(&text, "data units = %s\n", info->units);
    add_scale(&text, info);
    add_classes(&text, info);
    add_lists(&text, info);
    return text.length;
}
