/* Arrays held against each other: kinds of numbers, bounds, what is not finite. */
#include "base/numbers/close.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>

TestSuite(close, .timeout = 60);

static struct ypi_closeness compare(struct yp_close bounds, const void *got, const void *want,
                                    size_t count)
{
    if (bounds.want_number == 0)
        bounds.want_number = bounds.number;
    struct ypi_closeness c = {.bounds = bounds};
    /* In two pieces, as of a device's memory. */
    size_t half = count / 2;
    size_t got_size = ypi_number_size(bounds.number);
    size_t want_size = ypi_number_size(bounds.want_number);
    ypi_close_add(&c, got, want, half);
    ypi_close_add(&c, (const char *)got + half * got_size, (const char *)want + half * want_size,
                  count - half);
    return c;
}
#define COMPARE(got, want, ...) \
    compare((struct yp_close){__VA_ARGS__}, got, want, sizeof(got) / sizeof *(got))

Test(close, every_kind_is_read)
{
    static const uint16_t halves[] = {0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00, 0x7e00, 0x8000};
    static const double of_halves[] = {1, -2, 0x1p-24, 65504, INFINITY, NAN, -0.0};
    static const uint16_t brains[] = {0x3f80, 0xc000, 0x0080, 0x7f80};
    static const double of_brains[] = {1, -2, 0x1p-126, INFINITY};
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        double value = ypi_number_at(YP_NUMBER_FLOAT16, halves, i);
        cr_expect(value == of_halves[i] || (isnan(value) && isnan(of_halves[i])), "%zu: %g", i,
                  value);
    }
    for (size_t i = 0; i < sizeof brains / sizeof *brains; i++)
        cr_expect_eq(ypi_number_at(YP_NUMBER_BFLOAT16, brains, i), of_brains[i], "%zu", i);
    cr_expect_eq(ypi_number_at(YP_NUMBER_INT8, (const int8_t[]){0, -128}, 1), -128);
    cr_expect_eq(ypi_number_at(YP_NUMBER_UINT8, (const uint8_t[]){0, 255}, 1), 255);
    cr_expect_eq(ypi_number_at(YP_NUMBER_INT16, (const int16_t[]){0, -32768}, 1), -32768);
    cr_expect_eq(ypi_number_at(YP_NUMBER_UINT16, (const uint16_t[]){0, 65535}, 1), 65535);
    cr_expect_eq(ypi_number_at(YP_NUMBER_INT32, (const int32_t[]){0, INT32_MIN}, 1), INT32_MIN);
    cr_expect_eq(ypi_number_at(YP_NUMBER_UINT32, (const uint32_t[]){0, UINT32_MAX}, 1), UINT32_MAX);
    cr_expect_eq(ypi_number_at(YP_NUMBER_INT64, (const int64_t[]){0, -5}, 1), -5);
    cr_expect_eq(ypi_number_at(YP_NUMBER_UINT64, (const uint64_t[]){0, 7}, 1), 7);
    cr_expect_eq(ypi_number_at(YP_NUMBER_FLOAT64, (const double[]){0, 0.1}, 1), 0.1);
    cr_expect_eq(ypi_number_at(YP_NUMBER_FLOAT32, (const float[]){0, 0.5F}, 1), 0.5);
    cr_expect_eq(ypi_number_size((enum yp_number)0), 0);
    cr_expect_eq(ypi_number_size((enum yp_number)13), 0);
}

Test(close, a_unit_in_the_last_place)
{
    cr_expect_eq(ypi_number_unit(YP_NUMBER_FLOAT32, 1), 0x1p-23);
    cr_expect_eq(ypi_number_unit(YP_NUMBER_FLOAT32, -1.5), 0x1p-23);
    cr_expect_eq(ypi_number_unit(YP_NUMBER_FLOAT32, 2), 0x1p-22);
    cr_expect_eq(ypi_number_unit(YP_NUMBER_FLOAT64, 1), 0x1p-52);
    cr_expect_eq(ypi_number_unit(YP_NUMBER_FLOAT16, 1), 0x1p-10);
    cr_expect_eq(ypi_number_unit(YP_NUMBER_BFLOAT16, 1), 0x1p-7);
    cr_expect_eq(ypi_number_unit(YP_NUMBER_FLOAT32, 0), 0x1p-149, "the least number there is");
    cr_expect_eq(ypi_number_unit(YP_NUMBER_FLOAT32, 1e-42), 0x1p-149);
    cr_expect_eq(ypi_number_unit(YP_NUMBER_INT32, 1000), 1);
}

Test(close, without_bounds_equal)
{
    static const float want[] = {1, 2, 3, 0};
    static const float equal[] = {1, 2, 3, -0.0F};
    static const float off[] = {1, 2.0000002F, 3, 1e-30F};
    struct ypi_closeness c = COMPARE(equal, want, .number = YP_NUMBER_FLOAT32);
    cr_expect(ypi_close_holds(&c));
    c = COMPARE(off, want, .number = YP_NUMBER_FLOAT32);
    cr_expect(!ypi_close_holds(&c));
    cr_expect_eq(c.off, 2);
    cr_expect_eq(c.first.index, 1);
    cr_expect_eq(c.worst.index, 1);
    cr_expect_eq(c.count, 4);
}

/* At the bound and just beyond it. */
Test(close, bounds_of_an_element)
{
    static const double want[] = {100, -100, 0};
    static const double at[] = {101.5, -101.5, 0.5};
    static const double beyond[] = {101.5, -101.51, 0.5};
    struct ypi_closeness c =
        COMPARE(at, want, .number = YP_NUMBER_FLOAT64, .absolute = 0.5, .relative = 0.01);
    cr_expect(ypi_close_holds(&c));
    c = COMPARE(beyond, want, .number = YP_NUMBER_FLOAT64, .absolute = 0.5, .relative = 0.01);
    cr_expect(!ypi_close_holds(&c) && c.off == 1 && c.first.index == 1);
    cr_expect_float_eq(c.first.by, 1.51, 1e-12);
    c = COMPARE(at, want, .number = YP_NUMBER_FLOAT64, .relative = 0.015);
    cr_expect(c.off == 1 && c.first.index == 2, "nothing is relative to 0");
}

Test(close, units_of_what_was_got)
{
    /* A float beside an oracle in double. */
    static const double want[] = {1, 1 + 0x1p-24};
    static const float two[] = {1 + 0x1p-22F, 1};
    static const float three[] = {1 + 0x1.8p-22F, 1};
    struct ypi_closeness c =
        COMPARE(two, want, .number = YP_NUMBER_FLOAT32, .want_number = YP_NUMBER_FLOAT64, .ulp = 2);
    cr_expect(ypi_close_holds(&c));
    c = COMPARE(three, want, .number = YP_NUMBER_FLOAT32, .want_number = YP_NUMBER_FLOAT64,
                .ulp = 2);
    cr_expect(!ypi_close_holds(&c) && c.off == 1);
    c = COMPARE(three, want, .number = YP_NUMBER_FLOAT32, .want_number = YP_NUMBER_FLOAT64,
                .ulp = 2, .absolute = 1e-6);
    cr_expect(ypi_close_holds(&c), "either bound is enough");
}

Test(close, what_is_not_finite_fails_whatever_the_bounds)
{
    static const float want[] = {1, INFINITY, NAN, 4};
    static const float same[] = {1, INFINITY, NAN, 4};
    static const float wild[] = {NAN, -INFINITY, 3, INFINITY};
    const struct yp_close wide = {
        .number = YP_NUMBER_FLOAT32, .absolute = 1e30, .relative = 1e30, .ulp = 1e30, .nmse = 1e30};
    struct ypi_closeness c = compare(wide, wild, want, 4);
    cr_expect(!ypi_close_holds(&c));
    cr_expect_eq(c.off, 4);
    cr_expect_eq(c.not_finite, 2);
    cr_expect(isnan(c.worst.by), "a NaN is the worst");
    c = compare(wide, same, want, 4);
    cr_expect(!ypi_close_holds(&c) && c.off == 1 && c.first.index == 2);
    struct yp_close equal = wide;
    equal.equal_nan = true;
    c = compare(equal, same, want, 4);
    cr_expect(ypi_close_holds(&c), "off %zu, NMSE %g", c.off, ypi_close_nmse(&c));
    c = COMPARE(wild, want, .number = YP_NUMBER_FLOAT32, .nmse = 1e30);
    cr_expect(!ypi_close_holds(&c), "nor with a bound of the whole alone");
}

Test(close, nmse)
{
    static const double want[] = {3, 4, 0, 0};
    static const double got[] = {3, 4, 0.3, 0.4}; /* 0.25 / 25 */
    struct ypi_closeness c = COMPARE(got, want, .number = YP_NUMBER_FLOAT64, .nmse = 0.010001);
    cr_expect(ypi_close_holds(&c));
    cr_expect_float_eq(ypi_close_nmse(&c), 0.01, 1e-15);
    c = COMPARE(got, want, .number = YP_NUMBER_FLOAT64, .nmse = 0.0099);
    cr_expect(!ypi_close_holds(&c));
    static const double zeros[] = {0, 0};
    static const double one[] = {0, 1};
    c = COMPARE(zeros, zeros, .number = YP_NUMBER_FLOAT64, .nmse = 1e-9);
    cr_expect(ypi_close_holds(&c));
    c = COMPARE(one, zeros, .number = YP_NUMBER_FLOAT64, .nmse = 1e9);
    cr_expect(!ypi_close_holds(&c), "no bound is relative to nothing");
}

Test(close, words_that_no_double_tells_apart)
{
    static const int64_t want[] = {INT64_C(9007199254740993), INT64_MIN};
    static const int64_t got[] = {INT64_C(9007199254740992), INT64_MAX};
    struct ypi_closeness c = COMPARE(got, want, .number = YP_NUMBER_INT64);
    cr_expect_eq(c.off, 2);
    cr_expect_eq(c.first.by, 1);
    cr_expect_eq(c.worst.by, 0x1p64);
    static const uint64_t small[] = {1, UINT64_MAX};
    static const uint64_t large[] = {UINT64_MAX, UINT64_MAX};
    c = COMPARE(small, large, .number = YP_NUMBER_UINT64);
    cr_expect_eq(c.off, 1);
    cr_expect_eq(c.first.by, 0x1p64);
}

Test(close, nothing_to_compare)
{
    struct ypi_closeness c = {
        .bounds = {.number = YP_NUMBER_FLOAT32, .want_number = YP_NUMBER_FLOAT32}};
    cr_expect(ypi_close_holds(&c));
}
