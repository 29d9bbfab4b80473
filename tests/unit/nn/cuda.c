/* Operators on a GPU: the emulated device with the kernels' own code, each entry that has a version
 * for it against the oracle, and what the CPU is not asked: order of threads, garbage. */
#include "models/nn/point.h"
#include "tests/emulated/device.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yieldpoint/gradient.h>

#define OK(call) cr_assert_eq(call, YP_OK, "%s", yp_last_error())

static void check_results(struct nn_point *p, enum nn_pass pass)
{
    OK(nn_point_fast(p, pass));
    OK(yp_device_synchronize(p->device));
    OK(nn_point_fetch(p, pass));
    nn_point_plain(p, pass);
    for (int i = 0; i < nn_tensors(p->op); i++) {
        if (!nn_point_written(p, pass, i))
            continue;
        struct yp_precision check = nn_point_precision(p, pass, i);
        struct yp_precision_result result;
        OK(yp_precision_error(&check, &result));
        double allowed = check.multiple * fmax(result.plain_error, 0x1p-24);
        cr_expect(result.error <= allowed, "%s, %s in %s, %s of %s: %g, at most %g", p->op->name,
                  p->shape->name, nn_precision_name(p->version->precision),
                  pass == NN_VJP ? "gradient" : "value", p->op->tensors[i].name, result.error,
                  allowed);
    }
}

static void check(const struct nn_operator *op, const struct nn_version *version,
                  const struct nn_shape *shape)
{
    struct nn_point *p = nn_point_create(emulated_device(), op, shape, version, 5);
    cr_assert_not_null(p, "%s", yp_last_error());
    for (int pass = NN_FORWARD; pass <= (int)nn_last_pass(op); pass++)
        check_results(p, (enum nn_pass)pass);
    nn_point_destroy(p);
}

/* Every version, with the threads of blocks in another order each time. */
static void check_all(const char *shape)
{
    int checked = 0;
    for (const struct nn_operator *const *op = nn_operators; *op != NULL; op++)
        for (int i = 0; i < NN_VERSIONS && (*op)->versions[i].device != NULL; i++) {
            if (strcmp((*op)->versions[i].device, "cuda") != 0)
                continue;
            emulated.kernels.order = (enum ypk_order)(checked % 3);
            emulated.kernels.garbage = checked % 2 == 0 ? EMULATED_NAN : EMULATED_LARGE;
            check(*op, &(*op)->versions[i], nn_shape(*op, shape));
            checked++;
        }
    cr_expect_geq(checked, 18);
}

Test(nn_cuda, one_element)
{
    check_all("one");
}

Test(nn_cuda, odd_sizes)
{
    check_all("odd");
}

Test(nn_cuda, several_blocks)
{
    check_all("small");
}

/* -- what the shapes of the table do not have ----------------------------------------------- */

static void check_at(const char *name, struct nn_shape shape)
{
    const struct nn_operator *op = nn_operator(name);
    shape.name = "other";
    for (int i = 0; i < NN_VERSIONS && op->versions[i].device != NULL; i++)
        if (strcmp(op->versions[i].device, "cuda") == 0)
            check(op, &op->versions[i], &shape);
}

Test(nn_cuda, attention_of_several_tiles_and_all_channels)
{
    check_at("attention", (struct nn_shape){.size = {2, 77, 3, 16}, .setting = {1}});
    check_at("attention", (struct nn_shape){.size = {1, 33, 2, 128}, .setting = {1}});
    check_at("attention", (struct nn_shape){.size = {1, 65, 1, 5}, .setting = {0}});
}

/* Softmaxes of scores that are large and near each other. */
Test(nn_cuda, large_scores)
{
    static const char *const names[] = {"attention", "linear_cross_entropy"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check_at(names[i], *nn_shape(nn_operator(names[i]), "lifted"));
}

Test(nn_cuda, products_of_several_tiles)
{
    check_at("linear", (struct nn_shape){.size = {130, 67, 33}});
    check_at("matmul", (struct nn_shape){.size = {65, 129, 17}});
}

Test(nn_cuda, losses_of_several_chunks)
{
    check_at("linear_cross_entropy", (struct nn_shape){.size = {515, 300, 8}});
}

static struct nn_point *point_of(const char *name, const struct nn_shape *shape)
{
    const struct nn_operator *op = nn_operator(name);
    for (int i = 0; i < NN_VERSIONS && op->versions[i].device != NULL; i++)
        if (strcmp(op->versions[i].device, "cuda") == 0)
            return nn_point_create(emulated_device(), op, shape, &op->versions[i], 5);
    return NULL;
}

Test(nn_cuda, heads_that_are_too_wide_are_refused)
{
    const struct nn_shape shape = {"wide", .size = {1, 4, 1, 129}, .setting = {1}};
    struct nn_point *p = point_of("attention", &shape);
    cr_expect_eq(nn_point_fast(p, NN_FORWARD), YP_UNSUPPORTED);
    cr_expect_not_null(strstr(yp_last_error(), "129 channels a head"), "%s", yp_last_error());
    cr_expect_eq(nn_point_fast(p, NN_VJP), YP_UNSUPPORTED);
    nn_point_destroy(p);
}

/* The host writes to the device's memory by a copy, as it would to a GPU's. */
static void set_index(struct nn_point *p, int tensor, size_t at, int32_t value)
{
    OK(yp_device_copy(p->device, (int32_t *)p->fast.value[tensor] + at, &value, sizeof value));
}

static void get(struct nn_point *p, const void *from, size_t count, float *out)
{
    OK(yp_device_copy(p->device, out, from, count * sizeof *out));
}

Test(nn_cuda, indices_outside_make_nan)
{
    enum { ROWS = 9, WIDTH = 7, TOKEN = 1, Y = 2, LABEL = 2, LOSS = 3 };
    const struct nn_operator *embedding = nn_operator("embedding");
    struct nn_point *p = point_of("embedding", nn_shape(embedding, "odd"));
    float y[ROWS * WIDTH], loss[5];
    set_index(p, TOKEN, 3, -1);
    set_index(p, TOKEN, 4, 5);
    OK(nn_point_fast(p, NN_FORWARD));
    get(p, p->fast.value[Y], ROWS * WIDTH, y);
    for (int i = 0; i < ROWS * WIDTH; i++)
        cr_expect_eq(isnan(y[i]) != 0, i / WIDTH == 3 || i / WIDTH == 4, "row %d", i / WIDTH);
    OK(nn_point_fast(p, NN_VJP)); /* writes nothing outside */
    nn_point_destroy(p);
    p = point_of("linear_cross_entropy", nn_shape(nn_operator("linear_cross_entropy"), "odd"));
    set_index(p, LABEL, 2, 7);
    OK(nn_point_fast(p, NN_FORWARD));
    get(p, p->fast.value[LOSS], 5, loss);
    for (int i = 0; i < 5; i++)
        cr_expect_eq(isnan(loss[i]) != 0, i == 2, "%g", (double)loss[i]);
    nn_point_destroy(p);
}

/* Gradients that are added, and those that nobody wants. */
Test(nn_cuda, gradients_are_added_or_left_out)
{
    static const char *const names[] = {"linear", "rmsnorm", "embedding", "linear_cross_entropy"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        const struct nn_operator *op = nn_operator(names[n]);
        struct nn_point *p = point_of(names[n], nn_shape(op, "odd"));
        OK(nn_point_fast(p, NN_FORWARD));
        OK(nn_point_fast(p, NN_VJP));
        for (int i = 0; i < nn_tensors(op); i++) {
            const struct nn_tensor *tensor = &op->tensors[i];
            size_t count = nn_count(op, tensor, p->shape);
            float *once = malloc(count * sizeof *once), *twice = malloc(count * sizeof *twice);
            if (nn_has_gradient(tensor) && tensor->adds) {
                get(p, p->fast.gradient[i], count, once);
                p->fast.add = 1U << i;
                OK(nn_point_fast(p, NN_VJP));
                get(p, p->fast.gradient[i], count, twice);
                for (size_t k = 0; k < count; k++)
                    cr_expect_float_eq(twice[k], 2 * once[k], 1e-5F * (1 + fabsf(once[k])),
                                       "%s of %s", tensor->name, op->name);
                p->fast.add = 0;
            }
            void *there = p->fast.gradient[i];
            if (nn_has_gradient(tensor)) {
                p->fast.gradient[i] = NULL;
                OK(nn_point_fast(p, NN_VJP));
                p->fast.gradient[i] = there;
            }
            free(once);
            free(twice);
        }
        nn_point_destroy(p);
    }
}

/* Without forward, as models call the loss. */
Test(nn_cuda, a_vjp_that_does_forwards_work)
{
    const struct nn_operator *op = nn_operator("linear_cross_entropy");
    struct nn_point *p = point_of(op->name, nn_shape(op, "small"));
    p->fast.both = true;
    OK(nn_point_fast(p, NN_VJP));
    OK(nn_point_fetch(p, NN_FORWARD));
    nn_point_plain(p, NN_FORWARD);
    struct yp_precision check = nn_point_precision(p, NN_FORWARD, 3);
    struct yp_precision_result result;
    OK(yp_precision_error(&check, &result));
    cr_expect_leq(result.error, 1e-6, "%g", result.error);
    nn_point_destroy(p);
}
