/* models/nn/model: what may be built, the order of calls and places that do not overlap while they
 * are needed, of small chains of operators. suites/stress/lm.c runs a whole model. */
#include "models/nn/model/internal.h"
#include "tests/unit/status.h"

enum { N = 4, D = 6 };

static struct nn_model *model_of(size_t steps, size_t tensors)
{
    struct nn_model_options options = {
        .device = yp_device_cpu(), .steps = steps, .tensors = tensors};
    struct nn_model *model = nn_model_create(&options);
    cr_assert_not_null(model, "%s", yp_last_error());
    return model;
}

static int embed(struct nn_model *m)
{
    int table = nn_model_parameter(m, "table", 5 * D);
    int tokens = nn_model_constant(m, "tokens", NN_INT32, N);
    return nn_model_step(m, &nn_embedding, (struct nn_shape){.size = {N, 5, D}},
                         (int[]){table, tokens});
}

static int project(struct nn_model *m, int x, int w)
{
    return nn_model_step(m, &nn_linear, (struct nn_shape){.size = {N, D, D}},
                         (int[]){x, w, YPI_NONE});
}

static int add(struct nn_model *m, int a, int b)
{
    return nn_model_step(m, &nn_add, (struct nn_shape){.size = {N * D}}, (int[]){a, b});
}

static int gate(struct nn_model *m, int a, int b)
{
    return nn_model_step(m, &nn_swiglu, (struct nn_shape){.size = {N * D}}, (int[]){a, b});
}

/* y = x + w (w x), with the same w twice. */
static struct nn_model *residual(int *result)
{
    struct nn_model *m = model_of(4, 9);
    int x = embed(m), w = nn_model_parameter(m, "w", D * D);
    *result = add(m, x, project(m, project(m, x, w), w));
    cr_assert_geq(*result, 0, "%s", yp_last_error());
    return m;
}

/* -- order and places
 * ------------------------------------------------------------------------------ */

static void check_places(const struct nn_model *m)
{
    for (int i = 0; i < m->piece_count; i++) {
        const struct ypi_piece *a = &m->pieces[i];
        cr_expect_eq(a->offset % 64, 0);
        cr_expect_leq(a->offset + a->bytes, m->bytes.arena);
        for (int k = 0; k < i; k++) {
            const struct ypi_piece *b = &m->pieces[k];
            bool together = a->from <= b->to && b->from <= a->to;
            cr_expect(!together || a->offset + a->bytes <= b->offset ||
                          b->offset + b->bytes <= a->offset,
                      "pieces %d and %d share memory", i, k);
        }
    }
    cr_expect_leq(m->bytes.peak, m->bytes.arena);
    cr_expect_leq(m->bytes.kept, m->bytes.peak);
}

Test(nn_model, vjps_run_backwards_and_add_to_what_is_there)
{
    int result;
    struct nn_model *m = residual(&result);
    OK(nn_model_plan(m, NN_MODEL_GRADIENT));
    check_places(m);
    /* Forward: embedding, two products, sum. Backward, without the sum: products, embedding. */
    static const int steps[] = {0, 1, 2, 3, 2, 1, 0};
    cr_assert_eq(m->call_count, 7);
    for (int i = 0; i < 7; i++) {
        cr_expect_eq(m->calls[i].step, steps[i]);
        cr_expect_eq(m->calls[i].kind, i < 4 ? YPI_FORWARD : YPI_VJP);
    }
    cr_expect_eq(m->calls[4].add, 0, "the first to write w's gradient");
    cr_expect_eq(m->calls[5].add, 3, "x has the sum's, w the other's");
    cr_expect_eq(m->calls[4].final, 0, "w's gradient is not whole");
    cr_expect_eq(m->calls[5].final, 2, "w's");
    cr_expect_eq(m->calls[6].final, 1, "the table's");
    nn_model_destroy(m);
}

Test(nn_model, a_forward_pass_alone_keeps_nothing)
{
    int result;
    struct nn_model *m = residual(&result);
    OK(nn_model_plan(m, NN_MODEL_FORWARD));
    check_places(m);
    cr_expect_eq(m->call_count, 4);
    cr_expect_eq(nn_model_bytes(m)->kept, 0);
    size_t forward = nn_model_bytes(m)->arena;
    OK(nn_model_plan(m, NN_MODEL_GRADIENT));
    cr_expect_gt(nn_model_bytes(m)->arena, forward);
    cr_expect_gt(nn_model_bytes(m)->kept, 0);
    nn_model_destroy(m);
}

/* -- what is not allowed
 * ----------------------------------------------------------------------------- */

static void expect_error(const char *words)
{
    cr_expect_eq(yp_last_status(), YP_INVALID);
    cr_expect_not_null(strstr(yp_last_error(), words), "'%s' is not '%s'", yp_last_error(), words);
}

static void expect_no_plan(struct nn_model *m, const char *words)
{
    cr_expect_eq(nn_model_plan(m, NN_MODEL_GRADIENT), YP_INVALID);
    expect_error(words);
    nn_model_destroy(m);
}

Test(nn_model, what_does_not_fit_is_told_once)
{
    struct nn_model *m = model_of(3, 20);
    int x = embed(m), small = nn_model_parameter(m, "small", D);
    cr_expect_eq(project(m, x, small), -1);
    expect_error("w of linear is 'small' with 6 elements of type 2: must be 36 of type 2");
    cr_expect_eq(add(m, x, x), -1, "the first failure stays");
    expect_error("w of linear is 'small'");
    cr_expect_eq(nn_model_plan(m, NN_MODEL_FORWARD), YP_INVALID);
    nn_model_destroy(m);

    m = model_of(3, 20);
    x = embed(m);
    cr_expect_eq(project(m, x, x + 7), -1);
    expect_error("w of linear is tensor");
    nn_model_destroy(m);

    m = model_of(3, 20);
    x = embed(m);
    cr_expect_eq(add(m, x, nn_model_parameter(m, "p", N * D)), -1);
    expect_error("b of add is 'p', another kind of tensor");
    nn_model_destroy(m);
}

Test(nn_model, no_more_than_was_asked_for)
{
    struct nn_model *m = model_of(1, 20);
    int x = embed(m);
    cr_expect_eq(add(m, x, x), -1);
    expect_error("add is step 2: nn_model_options.steps are 1");
    nn_model_destroy(m);
    m = model_of(4, 2);
    cr_expect_eq(embed(m), -1);
    expect_error("'y' is tensor 3: nn_model_options.tensors are 2");
    nn_model_destroy(m);
    cr_expect_null(nn_model_create(&(struct nn_model_options){.steps = 1, .tensors = 1}));
    expect_error("device is NULL");
}

/* swiglu's vjp writes; it does not add. */
Test(nn_model, gradients_that_cannot_be_added_are_refused)
{
    struct nn_model *m = model_of(4, 20);
    int x = embed(m);
    gate(m, gate(m, x, x), x);
    expect_no_plan(m, "the gradient of 'y' is that of several steps, and swiglu does not add");
    int result;
    m = residual(&result);
    OK(nn_model_plan(m, NN_MODEL_FORWARD));
    cr_expect_eq(nn_model_pass(m, NULL, NULL, 0), YP_INVALID);
    expect_error("no arena is bound");
    nn_model_destroy(m);
}

/* The terms of a sum have the sum's cotangent in one place. It is not added to while a step has to
 * read it, and the sum does not pass it on to what has a gradient already. */
Test(nn_model, a_cotangent_that_others_read_is_not_added_to)
{
    struct nn_model *m = model_of(6, 20);
    int x = embed(m), w = nn_model_parameter(m, "w", D * D);
    add(m, x, project(m, x, w)); /* x + w x: the product's vjp reads what it would add to */
    expect_no_plan(m, "linear would add to the gradient of 'y' where that of 'y' is read still");

    m = model_of(6, 20);
    x = embed(m);
    w = nn_model_parameter(m, "w", D * D);
    int v = project(m, x, w), u = project(m, project(m, x, w), w);
    add(m, add(m, x, v), u); /* x + w x + w w x: v's is still to be read */
    expect_no_plan(m, "is read still");

    m = model_of(6, 20);
    x = embed(m);
    w = nn_model_parameter(m, "w", D * D);
    v = project(m, x, w);
    add(m, v, project(m, x, w));
    project(m, v, w); /* behind the sum, so that its vjp runs before */
    expect_no_plan(m, "the gradient of 'y' is that of several steps, and add does not add");
}
