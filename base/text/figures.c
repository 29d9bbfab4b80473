#include "base/text/figures.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The largest power of `base` at or below the value, among `count` that begin at base^first. */
static int scale(double *value, double base, int first, int count)
{
    int power = 0;
    double size = fabs(*value);
    while (size >= base * (1 - 5e-5) && power < first + count - 1) { /* four digits are shown */
        size /= base;
        *value /= base;
        power++;
    }
    while (size > 0 && size < 1 - 5e-5 && power > first) {
        size *= base;
        *value *= base;
        power--;
    }
    return power - first;
}

static bool odd(char out[YPI_FIGURE_MAX], double value, const char *unit)
{
    if (isfinite(value))
        return false;
    if (isnan(value))
        snprintf(out, YPI_FIGURE_MAX, "n/a");
    else
        snprintf(out, YPI_FIGURE_MAX, "%sinf%s%.90s", value < 0 ? "-" : "", *unit ? " " : "", unit);
    return true;
}

void ypi_format_seconds(char out[YPI_FIGURE_MAX], double seconds)
{
    static const char *const units[] = {"ps", "ns", "us", "ms", "s"};
    if (odd(out, seconds, "s"))
        return;
    int unit = scale(&seconds, 1000, -4, 5);
    snprintf(out, YPI_FIGURE_MAX, "%.4g %s", seconds, units[unit]);
}

void ypi_format_bytes(char out[YPI_FIGURE_MAX], double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    if (odd(out, bytes, "B"))
        return;
    int unit = scale(&bytes, 1024, 0, 6);
    snprintf(out, YPI_FIGURE_MAX, "%.*f %s", unit == 0 && bytes == floor(bytes) ? 0 : 1, bytes,
             units[unit]);
}

void ypi_format_rate(char out[YPI_FIGURE_MAX], double rate, const char *unit)
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
    bool symbol = strcmp(unit, "B") == 0 || strcmp(unit, "FLOP") == 0;
    char whole[YPI_FIGURE_MAX];
    snprintf(whole, sizeof whole, "%.90s/s", *unit ? unit : "items");
    if (odd(out, rate, whole))
        return;
    const char *prefix = prefixes[scale(&rate, 1000, 0, 7)];
    snprintf(out, YPI_FIGURE_MAX, "%.4g %s%s%.100s", rate, prefix, *prefix && !symbol ? " " : "",
             whole);
}

void ypi_format_value(char out[YPI_FIGURE_MAX], double value, const char *unit)
{
    if (!odd(out, value, unit))
        snprintf(out, YPI_FIGURE_MAX, "%.6g%s%.90s", value, *unit ? " " : "", unit);
}

/* Beyond it a figure has an exponent: nobody reads so many zeros. */
#define WHOLE_MAX 1e9

void ypi_format_percent(char out[YPI_FIGURE_MAX], double part, int digits)
{
    const double percent = 100 * part;
    char rounded[YPI_FIGURE_MAX];
    if (odd(out, percent, "%"))
        return;
    snprintf(rounded, sizeof rounded, "%.*g", digits, percent);
    if (strchr(rounded, 'e') != NULL && fabs(percent) >= 1 && fabs(percent) < WHOLE_MAX)
        snprintf(rounded, sizeof rounded, "%.0f", strtod(rounded, NULL));
    snprintf(out, YPI_FIGURE_MAX, "%.100s %%", rounded);
}

void ypi_format_time(char out[32], double since_1970)
{
    struct tm local;
    time_t seconds = isfinite(since_1970) ? (time_t)since_1970 : 0;
    if (!isfinite(since_1970) || !localtime_r(&seconds, &local) ||
        strftime(out, 32, "%Y-%m-%d %H:%M:%S", &local) == 0)
        *out = '\0';
}
