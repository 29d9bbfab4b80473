/* Results in low precision against a double precision oracle. */
#include <criterion/criterion.h>
#include <yieldpoint/gradient.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/body/accuracy/tensors.h"
#include "tests/unit/status.h"

enum { N = 24 };

/* N rows of N values, some of which the plain implementation has wrong by a millionth. */
static double oracle_of_rows[N * N];
static float plain_rows[N * N], got_rows[N * N];

static void make_rows(void)
{
    for (int i = 0; i < N * N; i++) {
        oracle_of_rows[i] = 1 + i % 7;
        plain_rows[i] = (float)(oracle_of_rows[i] * (1 + 1e-6 * (i % 3)));
    }
    memcpy(got_rows, plain_rows, sizeof got_rows);
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

Test(precision, what_is_not_finite_is_kept, .init = make_rows)
{
    cr_expect_eq(judge(oracle_of_rows, plain_rows, plain_rows, N * N).ratio, 1, "plain itself");
    got_rows[7] = INFINITY;
    struct ypi_precision_result result = judge(oracle_of_rows, plain_rows, got_rows, N * N);
    cr_expect(isinf(result.error) && isinf(result.ratio) && result.worst == 7);
    got_rows[9] = NAN;
    got_rows[11] = NAN;
    result = judge(oracle_of_rows, plain_rows, got_rows, N * N);
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

Test(precision, tensors_are_judged_one_by_one, .init = make_rows)
{
    got_rows[100] *= 1.01F; /* of 24 values it shows more than of all */
    struct yp_tensor rows[N];
    char names[N][8];
    for (size_t i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "row %zu", i);
        rows[i] = (struct yp_tensor){names[i], i * N, N};
    }
    struct yp_precision check = {.count = (size_t)N * N,
                                 .oracle = oracle_of_rows,
                                 .plain = plain_rows,
                                 .got = got_rows,
                                 .tensors = rows,
                                 .n_tensors = N};
    struct ypi_precision_result worst, row,
        all = judge(oracle_of_rows, plain_rows, got_rows, N * N);
    cr_expect(all.tensor == NULL && all.worst == 100 && all.ratio > 3);
    cr_assert(ypi_precision_error(&check, &worst) == YP_OK, "%s", yp_last_error());
    cr_expect_str_eq(worst.tensor, "row 4");
    cr_expect_eq(worst.worst, 100);
    row = judge(oracle_of_rows + 96, plain_rows + 96, got_rows + 96, N);
    cr_expect(row.ratio == worst.ratio && worst.ratio > all.ratio, "%g", worst.ratio);
    got_rows[500] = NAN;
    cr_assert(ypi_precision_error(&check, &worst) == YP_OK);
    cr_expect_str_eq(worst.tensor, "row 20");
    cr_expect(isnan(worst.ratio) && worst.worst == 500);
}

Test(precision, names_the_field_that_is_not_allowed)
{
    double oracle[2] = {1, 2};
    float plain[2] = {1, 2}, got[2] = {1, 2};
    const struct yp_precision good = {
        .name = "p", .count = 2, .oracle = oracle, .plain = plain, .got = got};
    struct ypi_precision_result result;
    OK(ypi_precision_error(&good, &result));
    cr_expect(ypi_precision_error(NULL, &result) == YP_INVALID);
    cr_expect(ypi_precision_error(&good, NULL) == YP_INVALID);
#define BAD(names, ...) \
    do { \
        struct yp_precision bad = good; \
        __VA_ARGS__; \
        FAILS(ypi_precision_error(&bad, &result), YP_INVALID, names); \
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
    FAILS(ypi_precision_error(&good, &result), YP_INVALID, "oracle[1]");
    oracle[1] = 2;
    plain[0] = NAN;
    FAILS(ypi_precision_error(&good, &result), YP_INVALID, "plain[0]");
}
