/* What a header says of the stored numbers: which mean no data, and what the others are times or
 * over. */
#include "synth/cube/envi_text.h"
#include "synth/cube/internal.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

/* ---- no data ---- */

/* The significant digits of a decimal number, and what one in the last of them is worth; 0 digits:
 * it is none (inf, nan, hexadecimal). */
static int significant_digits(const char *at, long double *unit)
{
    int digits = 0;
    long after = 0, exponent = 0;
    bool point = false;
    *unit = 0;
    at += *at == '-' || *at == '+';
    if (at[0] == '0' && tolower((unsigned char)at[1]) == 'x')
        return 0;
    for (; isdigit((unsigned char)*at) || (*at == '.' && !point); at++) {
        point = point || *at == '.';
        digits += *at != '.' && (digits > 0 || *at != '0');
        after += point && *at != '.';
    }
    if (tolower((unsigned char)*at) == 'e')
        exponent = strtol(at + 1, NULL, 10);
    exponent = exponent < -10000 ? -10000 : exponent > 10000 ? 10000 : exponent;
    *unit = powl(10, (long double)(exponent - after));
    return digits;
}

/* The numbers that a header's number may stand for. */
struct meant {
    long double low, high;
};

/* Of floats the one nearest to the number. A number of six digits or more, what %g prints, that is
 * no float is a float rounded to so many digits; so is one of fewer digits that may stand for the
 * end of the range, where no data are. */
static struct meant floats_meant(enum synth_type type, long double value, long double unit,
                                 int digits)
{
    long double nearest =
        type == SYNTH_F32 ? (long double)(float)value : (long double)(double)value;
    long double end = type == SYNTH_F32 ? (long double)FLT_MAX : (long double)DBL_MAX;
    long double half = unit / 2;
    bool rounded = digits >= FLT_DIG || (digits > 0 && fabsl(value) + half >= end);
    if (nearest == value || !rounded)
        return isinf(nearest) && !isinf(value) ? (struct meant){1, 0}
                                               : (struct meant){nearest, nearest};
    long double low = fminl(value - half, nearest), high = fmaxl(value + half, nearest);
    return (struct meant){fmaxl(low, -end), fminl(high, end)};
}

/* Of integers the number itself; "-2.14748e+09" is one rounded to six digits. */
static struct meant integers_meant(enum synth_type type, long double value, long double unit,
                                   int digits)
{
    double least, greatest;
    long double half = digits >= FLT_DIG && unit > 1 ? unit / 2 : 0;
    ypi_type_range(type, &least, &greatest);
    return (struct meant){fmaxl(ceill(value - half), (long double)least),
                          fminl(floorl(value + half), (long double)greatest)};
}

static enum yp_status parse_ignore(const struct ypi_envi_text *text, struct synth_cube_file *file)
{
    struct synth_cube_info *info = &file->info;
    const char *value = text->keys[YPI_IGNORE].value;
    if (value == NULL)
        return YP_OK;
    enum yp_status status = ypi_envi_number(text, YPI_IGNORE, &info->ignore);
    if (status != YP_OK)
        return status;
    info->has_ignore = ypi_type_is_float(info->type);
    if (isnan(info->ignore))
        return YP_OK;
    long double unit, number = strtold(value, NULL);
    int digits = significant_digits(value, &unit);
    const struct meant meant = ypi_type_is_float(info->type)
                                   ? floats_meant(info->type, number, unit, digits)
                                   : integers_meant(info->type, number, unit, digits);
    file->loading.nodata = (struct ypi_range){(double)meant.low, (double)meant.high};
    info->has_ignore = meant.low <= meant.high;
    return YP_OK;
}

/* ---- gains and offsets ---- */

const char *synth_cube_note(const struct synth_cube_file *file)
{
    static const char *const notes[] = {
        [YPI_NO_NOTE] = NULL,
        [YPI_NOTE_LISTS] = "data gain and offset values are not applied: they must be lists of one "
                           "number for each band",
        [YPI_NOTE_ZERO] = "data gain and offset values are not applied: all gains are 0",
        [YPI_NOTE_RANGE] = "data gain and offset values are not applied: one of them is beyond the "
                           "range of a float",
        [YPI_NOTE_SCALE] = "data gain and offset values are not applied: the reflectance scale "
                           "factor is",
    };
    return notes[file->note];
}

/* Whether all of a list are this number. */
static bool all_are(const double *values, size_t count, double number)
{
    size_t i = 0;
    while (i < count && values[i] == number)
        i++;
    return i == count;
}

/* Reads the lists that are there; the other gets the values that change nothing. */
static enum yp_status read_gains(const struct ypi_envi_text *text, size_t count, double *gains,
                                 double *offsets)
{
    enum yp_status status = YP_OK;
    for (size_t i = 0; i < count; i++)
        gains[i] = 1, offsets[i] = 0;
    if (text->keys[YPI_GAINS].value != NULL)
        status = ypi_envi_doubles(text, YPI_GAINS, count, gains);
    if (status == YP_OK && text->keys[YPI_OFFSETS].value != NULL)
        status = ypi_envi_doubles(text, YPI_OFFSETS, count, offsets);
    return status;
}

/* Why lists of numbers cannot be applied. A band without a gain is as good as absent, but a cube of
 * such bands is a header that was not filled in. */
static enum ypi_note fault_of(const double *gains, const double *offsets, size_t count)
{
    if (all_are(gains, count, 0))
        return YPI_NOTE_ZERO;
    for (size_t i = 0; i < count; i++)
        if ((gains[i] != 0 && !isnormal((float)gains[i])) || !isfinite((float)offsets[i]))
            return YPI_NOTE_RANGE;
    return YPI_NO_NOTE;
}

/* One gain above 0 for all bands and no offset is a scale, which is exact for powers of two. */
static void take_gains(struct synth_cube_info *info, const double *gains, const double *offsets)
{
    if (all_are(offsets, info->channels, 0) && gains[0] > 0 &&
        all_are(gains, info->channels, gains[0])) {
        info->scale = 1 / gains[0];
        info->scale_is_gain = true;
        return;
    }
    info->gains = gains;
    info->offsets = offsets;
}

/* Without memory for the lists they are shorter than the bands are many. */
static void parse_gains(const struct ypi_envi_text *text, struct synth_cube_file *file,
                        double *gains, double *offsets)
{
    struct synth_cube_info *info = &file->info;
    if (text->keys[YPI_GAINS].value == NULL && text->keys[YPI_OFFSETS].value == NULL)
        return;
    if (gains == NULL || read_gains(text, info->channels, gains, offsets) != YP_OK)
        file->note = YPI_NOTE_LISTS;
    else
        file->note = fault_of(gains, offsets, info->channels);
    if (file->note != YPI_NO_NOTE)
        return;
    if (info->scale == 0)
        take_gains(info, gains, offsets);
    else if (!all_are(gains, info->channels, 1) || !all_are(offsets, info->channels, 0))
        file->note = YPI_NOTE_SCALE;
}

enum yp_status ypi_envi_meaning(const struct ypi_envi_text *text, struct synth_cube_file *file,
                                double *gains, double *offsets)
{
    struct synth_cube_info *info = &file->info;
    enum yp_status status = parse_ignore(text, file);
    if (status == YP_OK && text->keys[YPI_SCALE].value != NULL &&
        (ypi_envi_number(text, YPI_SCALE, &info->scale) != YP_OK || !(info->scale > 0) ||
         isinf(info->scale)))
        status = ypi_envi_value_error(text, YPI_SCALE, "a number above 0");
    if (status == YP_OK)
        parse_gains(text, file, gains, offsets);
    return status;
}
