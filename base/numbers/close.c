#include "base/numbers/close.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* -- kinds of numbers ---------------------------------------------------------------------- */

static const struct {
    size_t size;
    int digits, least; /* of the significand; exponent of the smallest normal number */
} kinds[] = {
    [YP_NUMBER_FLOAT64] = {8, 53, -1022}, [YP_NUMBER_FLOAT32] = {4, 24, -126},
    [YP_NUMBER_FLOAT16] = {2, 11, -14},   [YP_NUMBER_BFLOAT16] = {2, 8, -126},
    [YP_NUMBER_INT8] = {1, 0, 0},         [YP_NUMBER_UINT8] = {1, 0, 0},
    [YP_NUMBER_INT16] = {2, 0, 0},        [YP_NUMBER_UINT16] = {2, 0, 0},
    [YP_NUMBER_INT32] = {4, 0, 0},        [YP_NUMBER_UINT32] = {4, 0, 0},
    [YP_NUMBER_INT64] = {8, 0, 0},        [YP_NUMBER_UINT64] = {8, 0, 0},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

size_t ypi_number_size(enum yp_number number)
{
    return (unsigned)number < KINDS ? kinds[number].size : 0;
}

static double of_half(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    int fraction = bits & 1023;
    double value = exponent == 0    ? ldexp(fraction, -24)
                   : exponent == 31 ? (fraction != 0 ? (double)NAN : (double)INFINITY)
                                    : ldexp(1024 + fraction, exponent - 25);
    return bits >> 15 != 0 ? -value : value;
}

static double of_bfloat(uint16_t bits)
{
    uint32_t whole = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &whole, sizeof value);
    return value;
}

#define AT(type) (double)((const type *)array)[i]
double ypi_number_at(enum yp_number number, const void *array, size_t i)
{
    switch (number) {
    case YP_NUMBER_FLOAT64:
        return AT(double);
    case YP_NUMBER_FLOAT32:
        return AT(float);
    case YP_NUMBER_FLOAT16:
        return of_half(((const uint16_t *)array)[i]);
    case YP_NUMBER_BFLOAT16:
        return of_bfloat(((const uint16_t *)array)[i]);
    case YP_NUMBER_INT8:
        return AT(int8_t);
    case YP_NUMBER_UINT8:
        return AT(uint8_t);
    case YP_NUMBER_INT16:
        return AT(int16_t);
    case YP_NUMBER_UINT16:
        return AT(uint16_t);
    case YP_NUMBER_INT32:
        return AT(int32_t);
    case YP_NUMBER_UINT32:
        return AT(uint32_t);
    case YP_NUMBER_INT64:
        return AT(int64_t);
    case YP_NUMBER_UINT64:
        return AT(uint64_t);
    }
    return NAN;
}

double ypi_number_unit(enum yp_number number, double value)
{
    if (kinds[number].digits == 0)
        return 1;
    int exponent = value != 0 && isfinite(value) ? ilogb(value) : kinds[number].least;
    if (exponent < kinds[number].least)
        exponent = kinds[number].least;
    return ldexp(1, exponent - kinds[number].digits + 1);
}

/* -- one element --------------------------------------------------------------------------- */

/* Where a double could not tell two whole numbers apart. */
static bool difference_of_words(const struct yp_close *b, const void *got, const void *want,
                                size_t i, double *difference)
{
    if (b->number != b->want_number ||
        (b->number != YP_NUMBER_INT64 && b->number != YP_NUMBER_UINT64))
        return false;
    uint64_t x = ((const uint64_t *)got)[i];
    uint64_t y = ((const uint64_t *)want)[i];
    bool less = b->number == YP_NUMBER_INT64 ? (int64_t)x < (int64_t)y : x < y;
    *difference = (double)(less ? y - x : x - y);
    return true;
}

static bool is_close(const struct yp_close *b, const struct ypi_off *e)
{
    bool bounded = b->absolute > 0 || b->relative > 0 || b->ulp > 0;
    if (isnan(e->want) && isnan(e->got))
        return b->equal_nan;
    if (!isfinite(e->got) || !isfinite(e->want))
        return e->got == e->want;
    if (!bounded)
        return b->nmse > 0 || e->by == 0;
    return e->by <= b->absolute + b->relative * fabs(e->want) ||
           (b->ulp > 0 && e->by <= b->ulp * ypi_number_unit(b->number, e->want));
}

static bool is_worse(const struct ypi_off *a, const struct ypi_off *b)
{
    return isnan(a->by) ? !isnan(b->by) : a->by > b->by;
}

void ypi_close_add(struct ypi_closeness *c, const void *got, const void *want, size_t count)
{
    const struct yp_close *b = &c->bounds;
    for (size_t i = 0; i < count; i++) {
        struct ypi_off e = {.index = c->count + i,
                            .got = ypi_number_at(b->number, got, i),
                            .want = ypi_number_at(b->want_number, want, i)};
        if (!difference_of_words(b, got, want, i, &e.by))
            e.by = e.got == e.want ? 0 : fabs(e.got - e.want);
        bool right = !isfinite(e.want) && is_close(b, &e); /* it has no square */
        c->square += right ? 0 : e.by * e.by;
        c->square_want += right ? 0 : e.want * e.want;
        if (is_close(b, &e))
            continue;
        c->not_finite += !isfinite(e.got) && isfinite(e.want);
        if (c->off == 0)
            c->first = e;
        if (c->off++ == 0 || is_worse(&e, &c->worst))
            c->worst = e;
    }
    c->count += count;
}

double ypi_close_nmse(const struct ypi_closeness *c)
{
    return c->square == 0 ? 0 : c->square / c->square_want;
}

bool ypi_close_holds(const struct ypi_closeness *c)
{
    return c->off == 0 && (c->bounds.nmse == 0 || ypi_close_nmse(c) <= c->bounds.nmse);
}
