/* What an entry of the operator table may be and none is yet: indices, tensors saved for the vjp,
 * states, kinks, results in bf16. Operators of the tests' own go through the same checks. */
#ifndef REAL
#define NN_FILE "tests/unit/nn/interface.c"
enum { TABLE, INDEX, NORM, Y };
enum { N, V, C };
#include "models/nn/plain.h"
#include "models/nn/types.h"
#include "tests/unit/nn/checks.h"

/* -- rows of a table by index, each divided by its norm, which is saved ---------------------------
 */

static enum yp_status forward(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const uint16_t *table = call->value[TABLE];
    const int32_t *index = call->value[INDEX];
    float *norm = call->value[NORM];
    uint16_t *y = call->value[Y];
    for (size_t i = 0; i < size[N]; i++) {
        const uint16_t *row = table + (size_t)index[i] * size[C];
        float sum = 0;
        for (size_t c = 0; c < size[C]; c++)
            sum += nn_from_bf16(row[c]) * nn_from_bf16(row[c]);
        norm[i] = sqrtf(sum / (float)size[C]);
        for (size_t c = 0; c < size[C]; c++)
            y[i * size[C] + c] = nn_to_bf16(nn_from_bf16(row[c]) / norm[i]);
    }
    return YP_OK;
}

static enum yp_status vjp(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const uint16_t *table = call->value[TABLE], *dy = call->gradient[Y];
    const int32_t *index = call->value[INDEX];
    const float *norm = call->value[NORM];
    float *dtable = call->gradient[TABLE];
    memset(dtable, 0, size[V] * size[C] * sizeof *dtable);
    for (size_t i = 0; i < size[N]; i++, dy += size[C]) {
        const uint16_t *row = table + (size_t)index[i] * size[C];
        float along = 0;
        for (size_t c = 0; c < size[C]; c++)
            along += nn_from_bf16(dy[c]) * nn_from_bf16(row[c]) / norm[i] / (float)size[C];
        for (size_t c = 0; c < size[C]; c++)
            dtable[(size_t)index[i] * size[C] + c] +=
                (nn_from_bf16(dy[c]) - along * nn_from_bf16(row[c]) / norm[i]) / norm[i];
    }
    return YP_OK;
}

static const struct nn_operator lookup = {
    .name = "lookup",
    .dims = "nvc",
    .tensors = {{"table", "vc", .role = NN_PARAMETER, .domain = {.kink = 0, .margin = 0.5}},
                {"index", "n", .role = NN_CONSTANT, .type = NN_INT32,
                 .domain = {NN_WHOLE, .below = 'v'}},
                {"norm", "n", .role = NN_SAVED},
                {"y", "nc", .role = NN_OUTPUT}},
    .kinks = "a row of zeros",
    .shapes = {{"odd", .size = {9, 4, 3}}, {"small", .size = {200, 7, 30}}},
    NN_PLAIN,
    .versions = {{NN_BF16, "cpu", .forward = forward, .vjp = vjp, .types = "bffb",
                  .gradients = "fffb"}},
};

Test(nn_interface, indices_stay_below_their_size_and_values_off_kinks)
{
    struct nn_point *p = point_of(&lookup, "small", NULL, 1);
    const int32_t *index = p->oracle.value[INDEX];
    const double *table = p->oracle.value[TABLE];
    int seen[7] = {0};
    for (int i = 0; i < 200; i++) {
        cr_assert(index[i] >= 0 && index[i] < 7);
        seen[index[i]]++;
    }
    for (int i = 0; i < 7; i++)
        cr_expect_gt(seen[i], 0);
    for (int i = 0; i < 210; i++)
        cr_expect_geq(fabs(table[i]), 0.5);
    cr_expect(p->oracle.gradient[INDEX] == NULL && p->oracle.gradient[NORM] == NULL);
    cr_expect_eq(p->inputs, 210);
    cr_expect_eq(p->outputs, 6000);
    nn_point_destroy(p);
}

Test(nn_interface, what_forward_saves_reaches_the_vjp)
{
    cr_expect_geq(check_gradient(&lookup, "odd"), 6);
    check_precision(&lookup, &lookup.versions[0], "odd", 1);
    check_precision(&lookup, &lookup.versions[0], "small", 2);
}

Test(nn_interface, bytes_follow_types_and_roles)
{
    const struct nn_shape *shape = nn_shape(&lookup, "odd");
    cr_expect_eq(nn_bytes_moved(&lookup, shape, NN_FORWARD, &lookup.versions[0]),
                 2 * 12 + 4 * 9 + 4 * 9 + 2 * 27);
    cr_expect_eq(nn_bytes_moved(&lookup, shape, NN_VJP, &lookup.versions[0]),
                 (2 + 4) * 12 + 4 * 9 + 4 * 9 + 2 * 27);
}

/* -- a step of an optimiser, which has states and no gradient
 * --------------------------------------- */

#define STEP(type, name) \
    static void name(const struct nn_call *call) \
    { \
        const type *g = call->value[0]; \
        type *moment = call->value[1], *p = call->value[2]; \
        for (size_t i = 0; i < call->shape->size[0]; i++) { \
            moment[i] = (type)0.875 * moment[i] + g[i]; \
            p[i] -= (type)call->shape->setting[0] * moment[i]; \
        } \
    }
STEP(double, step_f64)
STEP(float, step_f32)

static enum yp_status step(const struct nn_call *call)
{
    step_f32(call);
    return YP_OK;
}

static enum yp_status wrong_step(const struct nn_call *call)
{
    step_f32(call);
    ((float *)call->value[1])[3] *= 1.001F;
    return YP_OK;
}

static const struct nn_operator momentum = {
    .name = "momentum",
    .dims = "n",
    .settings = {"rate"},
    .tensors = {{"g", "n", .role = NN_CONSTANT},
                {"moment", "n", .role = NN_STATE},
                {"p", "n", .role = NN_STATE}},
    .shapes = {{"odd", .size = {37}, .setting = {0.01}}},
    .oracle = step_f64,
    .plain = step_f32,
    .versions = {{NN_FP32, "cpu", .forward = step}, {NN_FP32, "cpu", .forward = wrong_step}},
};

Test(nn_interface, states_are_updated_and_compared)
{
    const struct nn_shape *shape = &momentum.shapes[0];
    for (int i = 0; i < 2; i++) {
        struct nn_point *p = point_of(&momentum, "odd", &momentum.versions[i], 1);
        double worst = 0;
        nn_point_plain(p, NN_FORWARD);
        OK(nn_point_fast(p, NN_FORWARD));
        OK(nn_point_fetch(p, NN_FORWARD));
        for (int k = 1; k <= 2; k++) {
            struct yp_precision_result result;
            struct yp_precision check = nn_point_precision(p, NN_FORWARD, k);
            OK(yp_precision_error(&check, &result));
            worst = fmax(worst, result.ratio);
        }
        cr_expect(i == 0 ? worst <= 3 : worst > 100, "%g", worst);
        nn_point_destroy(p);
    }
    cr_expect_eq(nn_bytes_moved(&momentum, shape, NN_FORWARD, &momentum.versions[0]),
                 4 * 37 * (1 + 2 + 2));
}

#else
static void NAME(forward)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *table = call->value[TABLE];
    const int32_t *index = call->value[INDEX];
    REAL *norm = call->value[NORM], *y = call->value[Y];
    for (size_t i = 0; i < size[N]; i++) {
        const REAL *row = table + (size_t)index[i] * size[C];
        REAL sum = 0;
        for (size_t c = 0; c < size[C]; c++)
            sum += row[c] * row[c];
        norm[i] = sqrt(sum / (REAL)size[C]);
        for (size_t c = 0; c < size[C]; c++)
            y[i * size[C] + c] = row[c] / norm[i];
    }
}

static void NAME(vjp)(const struct nn_call *call)
{
    const size_t *size = call->shape->size;
    const REAL *table = call->value[TABLE], *norm = call->value[NORM], *dy = call->gradient[Y];
    const int32_t *index = call->value[INDEX];
    REAL *dtable = call->gradient[TABLE];
    memset(dtable, 0, size[V] * size[C] * sizeof *dtable);
    for (size_t i = 0; i < size[N]; i++, dy += size[C]) {
        const REAL *row = table + (size_t)index[i] * size[C];
        REAL along = 0;
        for (size_t c = 0; c < size[C]; c++)
            along += dy[c] * row[c] / norm[i] / (REAL)size[C];
        for (size_t c = 0; c < size[C]; c++)
            dtable[(size_t)index[i] * size[C] + c] += (dy[c] - along * row[c] / norm[i]) / norm[i];
    }
}
#endif
