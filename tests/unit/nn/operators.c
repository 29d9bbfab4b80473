/* models/nn: entries that are not there, work that is counted, types and functions to the last bit,
 * what a version may not write, and memory. suites/stress/operators.c has results, gradients and
 * calls. */
#include "models/nn/point.h"

#include "models/nn/convert.h"
#include "models/nn/maths.h"
#include "models/nn/types.h"
#include "tests/unit/status.h"

#include <math.h>

static struct nn_point *point_of(const struct nn_operator *op, const struct nn_version *version)
{
    struct nn_point *p = nn_point_create(yp_device_cpu(), op, nn_shape(op, "odd"), version, 7);
    cr_assert_not_null(p, "%s: %s", op->name, yp_last_error());
    return p;
}

#define EACH(op) \
    for (size_t op##_ = 0; op##_ == 0; op##_ = 1) \
        for (const struct nn_operator *const *at = nn_operators, *op = *at; *at != NULL; op = *++at)
/* The version for the CPU that every entry begins with. */
static const struct nn_version *of_cpu(const struct nn_operator *op)
{
    return nn_version(op, "cpu", op->versions[0].precision);
}

/* -- entries ----------------------------------------------------------------------------------- */

Test(nn_operators, entries_have_what_suites_ask_for)
{
    static const char *const shapes[] = {"one", "odd", "small", "medium"};
    EACH(op)
    {
        bool trained = false;
        for (int i = 0; i < nn_tensors(op); i++)
            trained = trained || nn_has_gradient(&op->tensors[i]);
        cr_expect_eq(nn_operator(op->name), op);
        cr_expect((op->oracle_vjp != NULL) == trained && (op->plain_vjp != NULL) == trained,
                  "%s: what has a gradient has its formula", op->name);
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            const struct nn_shape *shape = nn_shape(op, shapes[i]);
            cr_assert_not_null(shape, "%s", yp_last_error());
            for (int pass = NN_FORWARD; pass <= (int)nn_last_pass(op); pass++)
                cr_expect(op->flops(shape, (enum nn_pass)pass) > 0 &&
                              nn_bytes_moved(op, shape, (enum nn_pass)pass, &op->versions[0]) > 0,
                          "%s %s", op->name, shapes[i]);
        }
        cr_expect_not_null(of_cpu(op), "%s", yp_last_error());
    }
}

Test(nn_operators, what_is_not_there_is_named)
{
    cr_expect_null(nn_operator("no such"));
    cr_expect_not_null(strstr(yp_last_error(), "'no such' is not in the table"));
    cr_expect_null(nn_shape(&nn_matmul, "huge"));
    cr_expect_not_null(strstr(yp_last_error(), "matmul has no shape 'huge'"));
    cr_expect_null(nn_version(&nn_matmul, "cuda", NN_INT8));
    cr_expect_not_null(strstr(yp_last_error(), "matmul has no version in int8 for cuda"));
    cr_expect_eq(yp_last_status(), YP_UNSUPPORTED);
}

Test(nn_operators, work_is_counted)
{
    const struct nn_shape *shape = nn_shape(&nn_matmul, "odd"); /* (5, 3) by (3, 7) */
    const struct nn_version *fp32 = nn_version(&nn_matmul, "cpu", NN_FP32);
    const struct nn_version *bf16 = nn_version(&nn_matmul, "cpu", NN_BF16);
    cr_expect_eq(nn_matmul.flops(shape, NN_FORWARD), 210);
    cr_expect_eq(nn_matmul.flops(shape, NN_VJP), 420);
    cr_expect_eq(nn_bytes_moved(&nn_matmul, shape, NN_FORWARD, fp32), 4 * (15 + 21 + 35));
    cr_expect_eq(nn_bytes_moved(&nn_matmul, shape, NN_VJP, fp32), 4 * (15 + 21 + 35 + 15 + 21));
    cr_expect_eq(nn_bytes_moved(&nn_matmul, shape, NN_FORWARD, bf16), 2 * (15 + 21) + 4 * 35);
    cr_expect_eq(nn_bytes_moved(&nn_bce, nn_shape(&nn_bce, "odd"), NN_FORWARD, fp32),
                 37 * (4 + 1 + 4));
}

Test(nn_operators, bf16_is_rounded_to_the_nearest)
{
    cr_expect_eq(nn_from_bf16(nn_to_bf16(1.0f)), 1.0f);
    cr_expect_eq(nn_to_bf16(1 + 0x1p-8f), nn_to_bf16(1.0f)); /* a tie goes to the even one */
    cr_expect_eq(nn_from_bf16(nn_to_bf16(1 + 3 * 0x1p-8f)), 1 + 0x1p-6f);
    cr_expect_eq(nn_from_bf16(nn_to_bf16(1 + 0x1p-8f + 0x1p-20f)), 1 + 0x1p-7f);
    cr_expect(isinf(nn_from_bf16(nn_to_bf16(3.4e38f))));
    static const uint32_t nans[] = {0x7fc00000, 0x7f800001, 0x7fffffff, 0xffffffff};
    for (size_t i = 0; i < sizeof nans / sizeof *nans; i++) {
        float nan;
        memcpy(&nan, &nans[i], sizeof nan);
        cr_expect(isnan(nn_from_bf16(nn_to_bf16(nan))), "%x", nans[i]);
    }
    cr_expect_eq(nn_from_bf16(nn_to_bf16(-INFINITY)), -INFINITY);
}

/* Value `bits` of binary16, in double; the one behind the last is where it becomes infinite. */
static double half_value(unsigned bits)
{
    unsigned exponent = bits >> 10, digits = bits & 1023;
    return exponent == 0 ? ldexp(digits, -24) : ldexp(1024 + digits, (int)exponent - 25);
}

/* Every value, what lies between it and the next, and on both sides of the middle. */
Test(nn_operators, fp16_is_rounded_to_the_nearest)
{
    for (unsigned bits = 0; bits < 0x7c00; bits++) {
        double value = half_value(bits), next = half_value(bits + 1);
        float middle = (float)((value + next) / 2);
        float up = bits == 0x7bff ? INFINITY : (float)next,
              even = bits % 2 == 0 ? (float)value : up;
        cr_assert_eq(nn_from_fp16((uint16_t)bits), (float)value, "%x", bits);
        cr_assert_eq(nn_from_fp16((uint16_t)(bits | 0x8000U)), -(float)value, "-%x", bits);
        cr_assert_eq(nn_to_fp16((float)value), bits, "%a", value);
        cr_assert_eq(nn_from_fp16(nn_to_fp16(middle)), even, "%a", (double)middle);
        cr_assert_eq(nn_to_fp16(nextafterf(middle, 0)), bits, "below %a", (double)middle);
        cr_assert_eq(nn_to_fp16(nextafterf(middle, INFINITY)), bits + 1, "above %a",
                     (double)middle);
        cr_assert_eq(nn_to_fp16(-(float)value), bits | 0x8000U, "%a", -value);
        cr_assert_eq(nn_as_fp16((float)value), (float)value, "%a", value);
        cr_assert_eq(nn_as_fp16(middle), even, "%a", (double)middle);
        cr_assert_eq(nn_as_fp16(nextafterf(middle, 0)), (float)value, "below %a", (double)middle);
        cr_assert_eq(nn_as_fp16(nextafterf(middle, INFINITY)), up, "above %a", (double)middle);
        cr_assert_eq(nn_as_fp16(-middle), -even, "%a", -(double)middle);
    }
    const float odd[] = {1e-30F, 3.4e38F, INFINITY, NAN, -0.0F, 0x1p-149F};
    float out[6], other[6];
    nn_round_fp16(odd, 6, out);
    nn_round_bf16(odd, 6, other);
    cr_expect(out[0] == 0 && isinf(out[1]) && isinf(out[2]) && isnan(out[3]) && signbit(out[4]) &&
              out[5] == 0);
    for (int i = 0; i < 6; i++)
        cr_expect(isnan(out[i]) ? isnan(nn_from_fp16(nn_to_fp16(odd[i])))
                                : nn_from_fp16(nn_to_fp16(odd[i])) == out[i],
                  "%g", (double)odd[i]);
    cr_expect(nn_to_fp16(-0.0F) == 0x8000 && nn_to_fp16(-INFINITY) == 0xfc00 &&
              isnan(nn_from_fp16(0x7c01)));
    cr_expect(other[0] == nn_from_bf16(nn_to_bf16(1e-30F)) && isinf(other[1]) && isnan(other[3]));
}

Test(nn_operators, elementary_functions_are_within_their_bounds)
{
    for (int i = -870000; i <= 880000; i += 7) {
        float x = (float)i * 1e-4f;
        cr_assert_leq(fabs((double)nn_exp(x) / exp((double)x) - 1), 0x1p-22, "e^%g", (double)x);
    }
    for (int i = 1; i <= 1000000; i += 3) {
        float u = (float)i * 1e-6f;
        cr_assert_leq(fabs((double)nn_log1p_unit(u) / log1p((double)u) - 1), 0x1p-22, "%g",
                      (double)u);
    }
    cr_expect_eq(nn_log1p_unit(0), 0);
    cr_expect_eq(nn_exp(0), 1);
    cr_expect(isnan(nn_exp(NAN)));
    cr_expect_eq(nn_exp(-1000), nn_exp(-87));
    cr_expect_eq(nn_exp(1000), nn_exp(88));
}

/* A row of x that has NaN, an infinity or only zeros leaves the others as they are. */
Test(nn_operators, quantised_rows_are_each_their_own)
{
    const struct nn_operator *op = nn_operator("linear_int8");
    struct nn_point *p = point_of(op, of_cpu(op)), *q = point_of(op, of_cpu(op));
    enum { X, W, SCALE, B, Y, WIDTH = 7, DEPTH = 3 };
    float *x = p->fast.value[X], *y = p->fast.value[Y];
    const float *b = p->fast.value[B], *other = q->fast.value[Y];
    x[0 * DEPTH + 1] = NAN;
    x[1 * DEPTH + 2] = -INFINITY;
    for (int i = 0; i < DEPTH; i++)
        x[3 * DEPTH + i] = 0;
    const float near[DEPTH] = {127, 63.4F, -1.6F}; /* to 127, 63 and -2 */
    memcpy(x + 2 * DEPTH, near, sizeof near);
    OK(nn_point_fast(p, NN_FORWARD));
    OK(nn_point_fast(q, NN_FORWARD));
    for (int i = 0; i < WIDTH; i++) {
        const int8_t *w = (const int8_t *)p->fast.value[W] + i * DEPTH;
        float sum = (float)(127 * w[0] + 63 * w[1] - 2 * w[2]);
        float scale = ((const float *)p->fast.value[SCALE])[i];
        cr_expect_float_eq(y[2 * WIDTH + i], sum * scale + b[i], 1e-5F);
        cr_expect(isnan(y[i]) && isnan(y[WIDTH + i]), "%g and %g", (double)y[i],
                  (double)y[WIDTH + i]);
        cr_expect_eq(y[3 * WIDTH + i], b[i]);
        cr_expect_eq(y[4 * WIDTH + i], other[4 * WIDTH + i]);
    }
    nn_point_destroy(p);
    nn_point_destroy(q);
}

Test(nn_operators, inputs_are_of_the_seed_alone)
{
    EACH(op)
    {
        const struct nn_shape *shape = nn_shape(op, "small");
        struct nn_point *p = nn_point_create(yp_device_cpu(), op, shape, of_cpu(op), 7);
        struct nn_point *q = nn_point_create(yp_device_cpu(), op, shape, of_cpu(op), 7);
        struct nn_point *other = nn_point_create(yp_device_cpu(), op, shape, of_cpu(op), 8);
        cr_expect_eq(nn_point_hash(p), nn_point_hash(q), "%s", op->name);
        cr_expect_neq(nn_point_hash(p), nn_point_hash(other), "%s", op->name);
        nn_point_destroy(p);
        nn_point_destroy(q);
        nn_point_destroy(other);
    }
}

/* -- what a wrong version does ----------------------------------------------------------------- */

static enum yp_status writes_beyond(const struct nn_call *call)
{
    memset(call->value[2], 0, 36 * sizeof(float)); /* y has 35 */
    return YP_OK;
}

static enum yp_status writes_an_input(const struct nn_call *call)
{
    ((float *)call->value[1])[3] += 1;
    return YP_OK;
}

static enum yp_status writes_beyond_work(const struct nn_call *call)
{
    ((char *)call->work)[8] = 0;
    return YP_OK;
}

static size_t eight(const struct nn_shape *shape)
{
    (void)shape;
    return 8;
}

Test(nn_operators, what_a_version_may_not_write_is_found)
{
    static const struct {
        nn_fast *forward;
        nn_bytes *work;
        const char *words;
    } wrong[] = {{writes_beyond, NULL, "matmul in fp32 wrote 0 bytes behind y"},
                 {writes_an_input, NULL, "matmul in fp32 wrote to b, which it may only read"},
                 {writes_beyond_work, eight, "matmul in fp32 wrote 0 bytes behind its workspace"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct nn_version version = {NN_FP32, "cpu", .forward = wrong[i].forward};
        version.work = wrong[i].work;
        struct nn_point *p = point_of(&nn_matmul, &version);
        OK(nn_point_fast(p, NN_FORWARD));
        cr_expect_eq(nn_point_fetch(p, NN_FORWARD), YP_INVALID);
        cr_expect_not_null(strstr(yp_last_error(), wrong[i].words), "%s", yp_last_error());
        nn_point_destroy(p);
    }
}

/* -- memory ------------------------------------------------------------------------------------ */

Test(nn_operators, memory_is_what_was_predicted_and_every_refusal_is_told)
{
    EACH(op)
    {
        const struct nn_version *version = of_cpu(op);
        const struct nn_shape *shape = nn_shape(op, "odd");
        yp_device_reset_peak(yp_device_cpu());
        struct nn_point *p = point_of(op, version);
        cr_expect_eq(memory().allocated_peak, nn_point_bytes(op, shape, version), "%s", op->name);
        nn_point_destroy(p);
        for (uint64_t nth = 1; nth <= 2; nth++) {
            yp_device_fail_allocation(yp_device_cpu(), nth);
            cr_expect_null(nn_point_create(yp_device_cpu(), op, shape, version, 1));
            cr_expect_eq(yp_last_status(), YP_OUT_OF_MEMORY);
        }
        yp_device_fail_allocation(yp_device_cpu(), 0);
        cr_expect_eq(memory().allocated, 0, "%s", op->name);
    }
}
