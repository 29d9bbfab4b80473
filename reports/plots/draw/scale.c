#include "reports/plots/draw/draw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool ypi_scale_takes(bool log, double value)
{
    return isfinite(value) && (!log || value > 0);
}

double ypi_scale_place(const struct ypi_scale *s, double value)
{
    double part = s->log ? (log(value) - log(s->low)) / (log(s->high) - log(s->low))
                         : (value - s->low) / (s->high - s->low);
    return s->from + part * (s->to - s->from);
}

/* -- figures ------------------------------------------------------------------------------- */

const char *ypi_axis_prefix(enum ypi_quantity quantity, int power)
{
    static const char *const si[] = {"p", "n", "µ", "m", "", "k", "M", "G", "T", "P", "E"};
    static const char *const binary[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    return quantity == YPI_BYTES ? binary[power] : si[power + 4];
}

void ypi_axis_quantity_text(char out[YPI_QUANTITY_MAX], double value, enum ypi_quantity quantity,
                            const char *unit)
{
    const bool bytes = quantity == YPI_BYTES;
    const double base = bytes ? 1024 : 1000;
    /* Of counts a small one is a fraction and has no prefix. */
    const int least = quantity == YPI_SECONDS ? -4 : 0;
    int power = 0;
    unit = quantity == YPI_SECONDS ? "s" : bytes ? "B" : unit;
    if (!isfinite(value)) {
        snprintf(out, YPI_QUANTITY_MAX, "%s", isnan(value) ? "n/a" : value < 0 ? "-inf" : "inf");
        return;
    }
    while (fabs(value) >= base * (1 - 5e-5) && power < 6) {
        value /= base;
        power++;
    }
    while (value != 0 && fabs(value) < 1 - 5e-5 && power > least) {
        value *= base;
        power--;
    }
    const char *prefix = ypi_axis_prefix(quantity, power);
    const bool symbol =
        strlen(unit) <= 1 || strncmp(unit, "FLOP", 4) == 0 || strncmp(unit, "B/s", 3) == 0;
    snprintf(out, YPI_QUANTITY_MAX, "%.4g%s%s%s%.60s", value, *prefix || *unit ? " " : "", prefix,
             *prefix && !symbol ? " " : "", unit);
}

/* -- round values -------------------------------------------------------------------------- */

/* 1024^k at or below the value. */
static double binary_unit(double value)
{
    double unit = 1;
    while (value >= unit * 1024 && unit < 0x1p60)
        unit *= 1024;
    return unit;
}

/* 1, 2 or 5 times a power of ten, at `value` or above it; of bytes in the unit of `largest`, so
 * that ticks are round in it. */
static double round_up(double value, double largest, enum ypi_quantity quantity)
{
    static const double steps[] = {1, 2, 5};
    const double unit = quantity == YPI_BYTES ? binary_unit(fabs(largest)) : 1;
    const double power = pow(10, floor(log10(value / unit)));
    for (size_t i = 0; i < 3; i++)
        if (steps[i] * power * unit >= value * (1 - 1e-9))
            return steps[i] * power * unit;
    return 10 * power * unit;
}

void ypi_scale_round(struct ypi_scale *s, double low, double high, bool zero,
                     enum ypi_quantity quantity)
{
    if (!ypi_scale_takes(s->log, low) || !ypi_scale_takes(s->log, high)) {
        s->low = s->log ? 1 : 0;
        s->high = s->log ? 10 : 1;
        return;
    }
    if (s->log) { /* a margin of a part of the width, that marks do not lie on the frame */
        double margin = fmax(pow(high / low, 0.06), low == high ? 2 : 1.02);
        s->low = fmax(low / margin, 5e-324);
        s->high = fmin(high * margin, 1e308);
        return;
    }
    if (zero && low >= 0)
        low = 0;
    if (low == high) {
        high = low == 0 ? 1 : low + fabs(low) / 2;
        low = low == 0 ? 0 : low - fabs(low) / 2;
    }
    /* Halves, that the difference of the largest doubles is one, too. */
    double step = round_up((high / 2 - low / 2) / 5 * 2, high, quantity);
    s->low = low == 0 ? 0 : fmax(floor(low / step) * step, -1e308);
    s->high = fmin(ceil(high / step * (1 - 1e-9)) * step, 1e308);
    if (!(s->high > s->low)) /* beyond what doubles tell apart */
        s->high = nextafter(s->low, INFINITY);
}

static size_t linear_ticks(const struct ypi_scale *s, enum ypi_quantity quantity, size_t most,
                           double *out)
{
    double step = round_up((s->high / 2 - s->low / 2) / (double)(most - 1) * 2, s->high, quantity);
    double first = ceil(s->low / step - 1e-9);
    size_t count = 0;
    for (size_t i = 0; i < most && (first + (double)i) * step <= s->high * (1 + 1e-12); i++)
        out[count++] = first + (double)i == 0 ? 0 : (first + (double)i) * step;
    return count;
}

/* Powers of ten (of two for bytes), every one or every second, ...; where that gives fewer than
 * three, 2 and 5 times them too. */
static size_t log_ticks(const struct ypi_scale *s, enum ypi_quantity quantity, size_t most,
                        double *out)
{
    const double base = quantity == YPI_BYTES ? 2 : 10;
    double low = ceil(log(s->low) / log(base) - 1e-9);
    double high = floor(log(s->high) / log(base) + 1e-9);
    size_t count = 0;
    if (high - low < 2 && quantity != YPI_BYTES) {
        static const double steps[] = {1, 2, 5};
        for (double power = low - 1; power <= high; power++)
            for (size_t i = 0; i < 3 && count < most; i++) {
                double tick = steps[i] * pow(base, power);
                if (tick >= s->low * (1 - 1e-9) && tick <= s->high * (1 + 1e-9))
                    out[count++] = tick;
            }
        return count;
    }
    double every = fmax(1, ceil((high - low + 1) / (double)most));
    if (quantity == YPI_BYTES && every > 5) /* 1 KiB, 1 MiB, ... */
        every = ceil(every / 10) * 10;
    for (double power = ceil(low / every) * every; power <= high && count < most; power += every)
        out[count++] = pow(base, power);
    return count;
}

size_t ypi_scale_ticks(const struct ypi_scale *s, enum ypi_quantity quantity, size_t most,
                       double *out)
{
    size_t count =
        s->log ? log_ticks(s, quantity, most, out) : linear_ticks(s, quantity, most, out);
    if (count >= 2)
        return count;
    out[0] = s->low; /* nothing round lies inside */
    out[1] = s->high;
    return 2;
}
