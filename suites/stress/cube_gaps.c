#include "suites/stress/cube_gaps.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

YP_OPTION(leave_out, .value = "LIST",
          .help = "channels of --cube that are left out, counted from 0: 3,100-108");

/* -- what is left out ---------------------------------------------------------------------- */

static void leave_out_asked(struct cube_gaps *gaps, struct yp_case *t, const char *list)
{
    size_t channels = gaps->info->channels;
    for (const char *at = list; *at != '\0';) {
        char *end = NULL;
        unsigned long long first = isdigit((unsigned char)*at) ? strtoull(at, &end, 10) : 0;
        unsigned long long last = first;
        if (end != NULL && *end == '-' && isdigit((unsigned char)end[1]))
            last = strtoull(end + 1, &end, 10);
        if (end == NULL || (*end != '\0' && *end != ',') || first > last || last >= channels)
            yp_fail(t,
                    "--leave-out is '%s': must be channels from 0 to %zu and ranges of them, as in "
                    "3,100-108",
                    list, channels - 1);
        memset(gaps->out + first, CUBE_ASKED, (size_t)(last - first) + 1);
        at = *end == ',' ? end + 1 : end;
    }
}

void cube_gaps_open(struct cube_gaps *gaps, struct yp_case *t, const struct synth_cube_file *file)
{
    const struct synth_cube_info *info = synth_cube_info(file);
    size_t channels = info->channels;
    *gaps = (struct cube_gaps){.file = file,
                               .info = info,
                               .finite = yp_alloc_host(t, channels * sizeof(uint64_t)),
                               .first = yp_alloc_host(t, channels * sizeof(float)),
                               .low = yp_alloc_host(t, channels * sizeof(float)),
                               .high = yp_alloc_host(t, channels * sizeof(float)),
                               .out = yp_alloc_host(t, channels)};
    for (size_t c = 0; c < channels; c++) {
        gaps->finite[c] = 0;
        gaps->first[c] = 0;
        gaps->low[c] = INFINITY;
        gaps->high[c] = -INFINITY;
        gaps->out[c] = info->good_bands != NULL && !info->good_bands[c] ? CUBE_BAD : 0;
    }
    if (yp_option(leave_out) != NULL)
        leave_out_asked(gaps, t, yp_option(leave_out));
}

/* Whether a band's value is data: finite, and not what a 0 becomes that means no data. */
static bool is_data(const struct cube_gaps *gaps, const float *pixel, size_t c)
{
    const struct synth_cube_info *info = gaps->info;
    float zero = info->offsets != NULL ? (float)info->offsets[c] : 0;
    return isfinite(pixel[c]) && (info->has_ignore || pixel[c] != zero);
}

static bool has_data(const struct cube_gaps *gaps, const float *pixel)
{
    for (size_t c = 0; c < gaps->info->channels; c++)
        if (gaps->out[c] == 0 && is_data(gaps, pixel, c))
            return true;
    return false;
}

static bool has_zero(const struct cube_gaps *gaps, const float *pixel)
{
    for (size_t c = 0; c < gaps->info->channels; c++)
        if (gaps->out[c] == 0 && isfinite(pixel[c]))
            return true;
    return false;
}

static void count_values(struct cube_gaps *gaps, const float *pixel)
{
    for (size_t c = 0; c < gaps->info->channels; c++) {
        float x = pixel[c];
        if (!isfinite(x))
            continue;
        if (gaps->finite[c]++ == 0)
            gaps->first[c] = x;
        gaps->low[c] = fminf(gaps->low[c], x);
        gaps->high[c] = fmaxf(gaps->high[c], x);
    }
}

void cube_gaps_count(struct cube_gaps *gaps, const float *values, size_t pixels)
{
    gaps->pixels += pixels;
    for (size_t i = 0; i < pixels; i++) {
        const float *pixel = values + i * gaps->info->channels;
        if (has_data(gaps, pixel)) {
            count_values(gaps, pixel);
            continue;
        }
        gaps->blank++;
        gaps->zero += has_zero(gaps, pixel);
    }
}

void cube_gaps_clear(const struct cube_gaps *gaps, float *values, size_t pixels)
{
    size_t channels = gaps->info->channels;
    for (size_t i = 0; i < pixels; i++) {
        float *pixel = values + i * channels;
        bool data = has_data(gaps, pixel);
        for (size_t c = 0; c < channels; c++)
            if (!data || gaps->out[c] != 0)
                pixel[c] = data ? gaps->constant : NAN;
    }
}

static size_t left_out(const struct cube_gaps *gaps)
{
    size_t n = 0;
    for (size_t c = 0; c < gaps->info->channels; c++)
        n += gaps->out[c] != 0;
    return n;
}

bool cube_gaps_any(const struct cube_gaps *gaps)
{
    return gaps->blank > 0 || left_out(gaps) > 0;
}

size_t cube_gaps_varying(const struct cube_gaps *gaps)
{
    size_t n = 0;
    for (size_t c = 0; c < gaps->info->channels; c++)
        n += gaps->out[c] == 0 && gaps->low[c] < gaps->high[c];
    return n;
}

/* -- output -------------------------------------------------------------------------------- */

/* "2 channels left out (bbl is 0): 3, 5-8" */
static void tell_channels(const struct cube_gaps *gaps, uint8_t reason, const char *why)
{
    size_t channels = gaps->info->channels, count = 0;
    for (size_t c = 0; c < channels; c++)
        count += gaps->out[c] == reason;
    if (count == 0)
        return;
    printf("%zu of %zu channels left out (%s):", count, channels, why);
    const char *comma = " ";
    for (size_t c = 0; c < channels; c++) {
        size_t first = c;
        if (gaps->out[c] != reason)
            continue;
        while (c + 1 < channels && gaps->out[c + 1] == reason)
            c++;
        printf("%s%zu", comma, first);
        if (c > first)
            printf("-%zu", c);
        comma = ", ";
    }
    printf("\n");
}

static void tell(const struct cube_gaps *gaps, struct yp_case *t)
{
    tell_channels(gaps, CUBE_BAD, "bbl is 0");
    tell_channels(gaps, CUBE_ASKED, "--leave-out");
    tell_channels(gaps, CUBE_BLANK, "no data in most pixels that have any");
    if (gaps->blank > 0)
        printf("%" PRIu64 " of %" PRIu64 " pixels have no data\n", gaps->blank, gaps->pixels);
    if (gaps->zero > 0)
        printf("%" PRIu64 " of these are 0 in all channels: the file declares no data ignore value "
               "that it can hold\n",
               gaps->zero);
    if (synth_cube_note(gaps->file) != NULL)
        printf("note: %s\n", synth_cube_note(gaps->file));
    yp_value(t, "channels left out", (double)left_out(gaps));
    yp_value(t, "pixels without data", (double)gaps->blank);
    yp_value(t, "pixels of zeros", (double)gaps->zero);
}

void cube_gaps_judge(struct cube_gaps *gaps, struct yp_case *t)
{
    uint64_t with_data = gaps->pixels - gaps->blank;
    size_t channels = gaps->info->channels;
    for (size_t c = channels; c-- > 0;) {
        if (gaps->out[c] == 0 && 2 * gaps->finite[c] < with_data)
            gaps->out[c] = CUBE_BLANK;
        if (gaps->out[c] == 0)
            gaps->constant = gaps->first[c];
    }
    tell(gaps, t);
    yp_require(t, with_data > 0,
               "nothing is left of the cube: %zu of %zu channels are left out, and no pixel has "
               "data in the others; %" PRIu64 " of %" PRIu64 " are 0 there",
               left_out(gaps), channels, gaps->zero, gaps->pixels);
}
