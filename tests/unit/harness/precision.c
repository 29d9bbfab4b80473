/* Results in low precision against a double precision oracle. */
#include <criterion/criterion.h>
#include <yieldpoint/gradient.h>

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/numbers/splitmix.h"
#include "harness/body/accuracy/tensors.h"

enum { N = 24, K = 512 };

struct product {
    float a[N * K], b[K * N];
    double oracle[N * N];
    float plain[N * N];
};

static struct product *product(void)
{
    static struct product p;
    struct ypi_seed random = ypi_seed_of(3, 0, 0);
    for (int i = 0; i < N * K; i++) {
        p.a[i] = (float)ypi_seed_normal(&random);
        p.b[i] = (float)ypi_seed_normal(&random);
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            float low = 0;
            for (int k = 0; k < K; k++) {
                sum += (double)p.a[i * K + k] * (double)p.b[k * N + j];
                low += p.a[i * K + k] * p.b[k * N + j];
            }
            p.oracle[i * N + j] = sum;
            p.plain[i * N + j] = low;
        }
    return &p;
}

/* Sixteen partial sums, as a vectorised product has them. */
static void blocked(const float *a, const float *b, float *y)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            float parts[16] = {0}, sum = 0;
            for (int k = 0; k < K; k++)
                parts[k % 16] += a[i * K + k] * b[k * N + j];
            for (int p = 0; p < 16; p++)
                sum += parts[p];
            y[i * N + j] = sum;
        }
}

/* To the nearest of bfloat16's 8 bits, ties to even. */
static float bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
    memcpy(&value, &bits, sizeof bits);
    return value;
}

static struct ypi_precision_result judge(const double *oracle, const float *plain, const float *got,
                                         size_t count)
{
    struct yp_precision check = {
        .name = "product", .count = count, .oracle = oracle, .plain = plain, .got = got};
    struct ypi_precision_result result;
    cr_assert(ypi_precision_error(&check, &result) == YP_OK, "%s", yp_last_error());
    return result;
}

Test(precision, another_order_of_the_sum_is_within_the_multiple)
{
    struct product *p = product();
    float got[N * N];
    blocked(p->a, p->b, got);
    struct ypi_precision_result result = judge(p->oracle, p->plain, got, N * N);
    /* A sum of K terms in sequence is off by about sqrt(K / 3) 2^-24 / sqrt(3) of itself. */
    cr_expect(result.plain_error > 1e-7 && result.plain_error < 2e-6, "%g", result.plain_error);
    cr_expect(result.ratio > 0.05 && result.ratio < 1, "%g", result.ratio);
    result = judge(p->oracle, p->plain, p->plain, N * N);
    cr_expect(result.ratio == 1, "plain against itself: %.17g", result.ratio);
}

/* Both inputs rounded to 8 bits: uniform in half a unit either way, 2^-9 at most, that is
 * 2^-9 / sqrt(3) / 1.4 or so of a value and sqrt(2) of that of a product. */
Test(precision, a_rounded_input_is_not)
{
    struct product *p = product();
    static float a[N * K], b[K * N];
    float got[N * N];
    for (int i = 0; i < N * K; i++) {
        a[i] = bf16(p->a[i]);
        b[i] = bf16(p->b[i]);
    }
    blocked(a, b, got);
    struct ypi_precision_result result = judge(p->oracle, p->plain, got, N * N);
    cr_expect(result.error > 5e-4 && result.error < 4e-3, "%g", result.error);
    cr_expect(result.ratio > 500, "%g", result.ratio);
}

Test(precision, a_few_wrong_values_show_when_they_are_large_enough)
{
    struct product *p = product();
    float got[N * N];
    memcpy(got, p->plain, sizeof got);
    got[100] *= 1.01F;
    struct ypi_precision_result result = judge(p->oracle, p->plain, got, N * N);
    cr_expect(result.ratio > 3, "%g", result.ratio);
    cr_expect_eq(result.worst, 100);
    cr_expect_float_eq(result.error, hypot(result.plain_error, result.error), 1e-4);
}

Test(precision, what_is_not_finite_is_kept)
{
    struct product *p = product();
    float got[N * N];
    memcpy(got, p->plain, sizeof got);
    got[7] = INFINITY;
    struct ypi_precision_result result = judge(p->oracle, p->plain, got, N * N);
    cr_expect(isinf(result.error) && isinf(result.ratio) && result.worst == 7);
    got[9] = NAN;
    got[11] = NAN;
    result = judge(p->oracle, p->plain, got, N * N);
    cr_expect(isnan(result.error) && isnan(result.ratio) && result.worst == 9);
    cr_expect(!(result.ratio <= 3));
}

Test(precision, an_exact_plain_result_is_given_half_a_unit)
{
    const double oracle[3] = {1, 2, -3};
    const float plain[3] = {1, 2, -3};
    float got[3] = {1, 2, -3};
    struct ypi_precision_result result = judge(oracle, plain, got, 3);
    cr_expect(result.error == 0 && result.plain_error == 0x1p-24 && result.ratio == 0);
    got[2] = nextafterf(-3, 0); /* 2^-22 of sqrt(14) */
    result = judge(oracle, plain, got, 3);
    cr_expect_float_eq(result.ratio, 4 / sqrt(14), 1e-12);
}

Test(precision, an_oracle_of_zeros_is_compared_in_absolute_terms)
{
    const double oracle[2] = {0, 0};
    const float plain[2] = {3e-8F, 4e-8F};
    float got[2] = {0, 1e-7F};
    struct ypi_precision_result result = judge(oracle, plain, got, 2);
    cr_expect_float_eq(result.error, 1e-7, 1e-14);
    cr_expect_float_eq(result.plain_error, 5e-8, 1e-14);
    cr_expect_float_eq(result.ratio, 2, 1e-6);

    const double three[3] = {0, 0, 0};
    const float falling[3] = {12, 4, 3}, rising[3] = {3, 4, 12};
    cr_expect_eq(judge(three, rising, falling, 3).error, 13);
    cr_expect_eq(judge(three, rising, falling, 3).plain_error, 13);

    const float zeros[2] = {0, 0};
    result = judge(oracle, zeros, zeros, 2);
    cr_expect(result.ratio == 0 && result.plain_error == (double)FLT_MIN);
    result = judge(oracle, zeros, got, 2);
    cr_expect(result.ratio > 3);
}

/* Squares of these leave the range of doubles on both sides. */
Test(precision, sizes_do_not_matter)
{
    const double large[2] = {3e38, 3e38}, small[2] = {3e-38, 3e-38};
    const float plain_large[2] = {3e38F, 3e38F}, plain_small[2] = {3e-38F, 3e-38F};
    const float got_large[2] = {3.003e38F, 3e38F}, got_small[2] = {3.003e-38F, 3e-38F};
    cr_expect_float_eq(judge(large, plain_large, got_large, 2).error, 1e-3 / sqrt(2), 1e-7);
    cr_expect_float_eq(judge(small, plain_small, got_small, 2).error, 1e-3 / sqrt(2), 1e-7);
    const double huge[2] = {1e300, 1e300}, tiny[2] = {1e-300, 1e-300};
    const float zeros[2] = {0, 0};
    cr_expect_float_eq(judge(huge, zeros, zeros, 2).error, 1, 1e-15);
    cr_expect_float_eq(judge(tiny, zeros, zeros, 2).error, 1, 1e-15);
}

Test(precision, tensors_are_judged_one_by_one)
{
    struct product *p = product();
    float got[N * N];
    blocked(p->a, p->b, got);
    got[100] *= 1.01F; /* of 24 values it shows more than of all */
    struct yp_tensor rows[N];
    char names[N][8];
    for (size_t i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "row %zu", i);
        rows[i] = (struct yp_tensor){names[i], i * N, N};
    }
    struct yp_precision check = {.count = (size_t)N * N,
                                 .oracle = p->oracle,
                                 .plain = p->plain,
                                 .got = got,
                                 .tensors = rows,
                                 .n_tensors = N};
    struct ypi_precision_result worst, row, all = judge(p->oracle, p->plain, got, N * N);
    cr_expect_null(all.tensor);
    cr_assert(ypi_precision_error(&check, &worst) == YP_OK, "%s", yp_last_error());
    cr_expect_str_eq(worst.tensor, "row 4");
    cr_expect_eq(worst.worst, 100);
    row = judge(p->oracle + 96, p->plain + 96, got + 96, N);
    cr_expect(row.ratio == worst.ratio && worst.ratio > all.ratio, "%g", worst.ratio);
    got[500] = NAN;
    cr_assert(ypi_precision_error(&check, &worst) == YP_OK);
    cr_expect_str_eq(worst.tensor, "row 20");
    cr_expect(isnan(worst.ratio) && worst.worst == 500);
}

static void expect_invalid(struct yp_precision check, const char *names)
{
    struct ypi_precision_result result;
    cr_expect(ypi_precision_error(&check, &result) == YP_INVALID, "%s was allowed", names);
    cr_expect(strstr(yp_last_error(), names) != NULL, "\"%s\" does not name %s", yp_last_error(),
              names);
}

Test(precision, names_the_field_that_is_not_allowed)
{
    double oracle[2] = {1, 2};
    float plain[2] = {1, 2}, got[2] = {1, 2};
    const struct yp_precision good = {
        .name = "p", .count = 2, .oracle = oracle, .plain = plain, .got = got};
    struct ypi_precision_result result;
    cr_expect(ypi_precision_error(&good, &result) == YP_OK);
    cr_expect(ypi_precision_error(NULL, &result) == YP_INVALID);
    cr_expect(ypi_precision_error(&good, NULL) == YP_INVALID);
#define BAD(names, ...) \
    do { \
        struct yp_precision bad = good; \
        __VA_ARGS__; \
        expect_invalid(bad, names); \
    } while (0)
    BAD("name is NULL", bad.name = NULL);
    BAD("count is 0", bad.count = 0);
    BAD("oracle is NULL", bad.oracle = NULL);
    BAD("plain is NULL", bad.plain = NULL);
    BAD("got is NULL", bad.got = NULL);
    BAD("multiple is -1", bad.multiple = -1);
    BAD("multiple is nan", bad.multiple = fabs(NAN));
    struct yp_tensor tensors[2] = {{"a", 0, 1}, {"b", 1, 2}};
    BAD("tensors is NULL, n_tensors is 1", bad.n_tensors = 1);
    BAD("tensors[1] (\"b\") is [1, +2), but count is 2", bad.tensors = tensors, bad.n_tensors = 2);
#undef BAD
    oracle[1] = INFINITY;
    expect_invalid(good, "oracle[1]");
    oracle[1] = 2;
    plain[0] = NAN;
    expect_invalid(good, "plain[0]");
}
