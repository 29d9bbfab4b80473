/* Every entry of the operator table: results and gradients as its formula has them. */
#include "suites/operators.h"

#include <math.h>
#include <omp.h>
#include <string.h>

static void right(struct yp_case *t)
{
    struct nn_point *point = operators_point(t, yp_string(t, "operator"), yp_string(t, "shape"));
    operators_check(t, point, NN_FORWARD);
    nn_point_destroy(point);
}

/* The fast vector-Jacobian product against the oracle's. */
static void vjp(struct yp_case *t)
{
    struct nn_point *point = operators_point(t, yp_string(t, "operator"), yp_string(t, "shape"));
    nn_point_plain(point, NN_FORWARD); /* what forward saves */
    yp_ok(t, nn_point_fast(point, NN_FORWARD));
    operators_check(t, point, NN_VJP);
    nn_point_destroy(point);
}

/* And the oracle's against differences of the formula, but where a step of any length would move
 * lifted scores far. */
static void gradient(struct yp_case *t)
{
    struct nn_point *point = operators_point(t, yp_string(t, "operator"), yp_string(t, "shape"));
    struct yp_gradient check;
    nn_point_gradient(point, &check);
    if (strcmp(yp_string(t, "shape"), "lifted") != 0)
        yp_check_gradient(t, &check);
    nn_point_destroy(point);
    vjp(t);
}

YP_TEST(operators, right, .tags = "stress small",
        .axes = OPERATORS_AXES(operators_shapes_but, "medium"), .devices = "cpu cuda",
        .filter = operators_has, .parallel = true)
{
    right(t);
}

YP_TEST(operators, gradient, .tags = "stress small",
        .axes = OPERATORS_AXES(operators_shapes_but, "medium"), .devices = "cpu cuda",
        .filter = operators_has_vjp, .parallel = true)
{
    gradient(t);
}

/* At the sizes of models, where the oracle takes a second and differences would take minutes. */
YP_TEST(operators, right_in_models, .tags = "stress medium",
        .axes = OPERATORS_AXES(operators_shapes_only, "medium"), .devices = "cpu cuda",
        .filter = operators_has, .parallel = true)
{
    right(t);
}

YP_TEST(operators, vjp_in_models, .tags = "stress medium",
        .axes = OPERATORS_AXES(operators_shapes_only, "medium"), .devices = "cpu cuda",
        .filter = operators_has_vjp, .parallel = true)
{
    vjp(t);
}

/* -- sizes of several tiles, of kernels and of the caches ------------------------------------- */

static const struct {
    const char *name;
    struct nn_shape shape;
} sizes[] = {
    {"attention", {"tiles", .size = {2, 77, 3, 16}, .setting = {1}}},
    {"attention", {"channels", .size = {1, 33, 2, 128}, .setting = {1}}},
    {"attention", {"unmasked", .size = {1, 65, 1, 5}, .setting = {0}}},
    {"attention", {"short", .size = {9, 10, 4, 16}, .setting = {0}}},
    {"attention", {"short and wider", .size = {3, 16, 2, 48}, .setting = {0}}},
    {"attention", {"two positions", .size = {5, 2, 1, 32}, .setting = {0}}},
    {"attention", {"wide", .size = {1, 4, 1, 129}, .setting = {1}}},
    {"convolution", {"tiles", .size = {3, 9, 7, 9, 7, 3, 3, 70, 130}, .setting = {1, 1}}},
    {"convolution", {"many", .size = {2, 42, 38, 42, 38, 3, 3, 16, 16}, .setting = {1, 1}}},
    {"convolution", {"halved", .size = {2, 47, 57, 24, 29, 3, 3, 17, 70}, .setting = {2, 1}}},
    {"convolution", {"few", .size = {1, 9, 7, 5, 4, 3, 3, 17, 18}, .setting = {2, 1}}},
    {"convolution", {"far", .size = {1, 9, 9, 4, 4, 7, 7, 5, 6}, .setting = {2, 2}}},
    {"convolution", {"lines", .size = {2, 130, 128, 63, 62, 7, 7, 4, 5}, .setting = {2, 1}}},
    {"convolution", {"pixels", .size = {2, 5, 3, 5, 3, 1, 1, 7, 6}, .setting = {1, 0}}},
    {"transposed_convolution",
     {"lines", .size = {2, 128, 130, 64, 65, 4, 4, 3, 32}, .setting = {2, 1}}},
    {"transposed_convolution", {"pixels", .size = {2, 5, 3, 5, 3, 1, 1, 7, 6}, .setting = {1, 0}}},
    {"depthwise_convolution", {"channels", .size = {2, 7, 9, 4, 5, 3, 3, 300}, .setting = {2, 1}}},
    {"convolution",
     {"tiles, ReLU", .size = {2, 30, 27, 30, 27, 3, 3, 17, 70}, .setting = {1, 1, 1}}},
    {"convolution", {"tiles, GELU", .size = {2, 17, 9, 9, 5, 3, 3, 17, 70}, .setting = {2, 1, 2}}},
    {"convolution", {"far, ReLU", .size = {1, 9, 9, 4, 4, 7, 7, 5, 6}, .setting = {2, 2, 1}}},
    {"transposed_convolution",
     {"lines, GELU", .size = {2, 28, 30, 14, 15, 4, 4, 3, 32}, .setting = {2, 1, 2}}},
    {"feed_forward", {"chunks", .size = {9, 60, 16, 32, 5, 2}, .setting = {0.5, 2}}},
    {"gatv2", {"features", .size = {5, 2, 80, 9, 16, 6, 14}, .setting = {0.2}}},
    {"gatv2", {"players", .size = {9, 3, 33, 40, 5, 10, 49}, .setting = {0.2}}},
    {"gatv2", {"parts of a head", .size = {40, 1, 75, 90, 5, 41, 130}, .setting = {0.2}}},
    {"edge_pair", {"columns", .size = {3, 130, 4, 20}}},
    {"segment_sum", {"columns", .size = {9, 130, 6, 5}, .setting = {0}}},
    {"scatter", {"columns", .size = {9, 75, 5}, .setting = {1}}},
    {"sparse_matmul", {"columns", .size = {5, 300, 7, 30, 6}}},
    {"linear_int8", {"rows", .size = {5, 300, 7}}},
    {"linear", {"tiles", .size = {130, 67, 33}}},
    {"matmul", {"tiles", .size = {65, 129, 17}}},
    {"linear_cross_entropy", {"chunks", .size = {515, 300, 8}}}};

/* What a version says that refuses a pass at the size; NULL: it takes it. */
static const char *refusal(const struct yp_case *t, enum nn_pass pass)
{
    const char *name = sizes[yp_int(t, "size")].shape.name;
    const bool gpu = strcmp(yp_device_of(t), "cpu") != 0;
    const bool narrow = strcmp(yp_string(t, "precision"), "fp32") != 0;
    if (gpu && strcmp(name, "wide") == 0)
        return "129 channels a head";
    return strchr(name, ',') != NULL && (gpu || (narrow && pass == NN_VJP)) ? "activation is"
                                                                            : NULL;
}

/* Lines are for the CPU's caches, and take an emulated GPU seconds. */
static bool has_size(const struct yp_case *t)
{
    bool lines = strcmp(sizes[yp_int(t, "size")].shape.name, "lines") == 0;
    return operators_declares(t, sizes[yp_int(t, "size")].name, "odd") &&
           (!lines || strcmp(yp_device_of(t), "cpu") == 0);
}

YP_TEST(operators, sizes, .tags = "stress small", .devices = "cpu cuda", .filter = has_size,
        .axes = YP_AXES(yp_axis_range("size", 0, sizeof sizes / sizeof *sizes - 1, 1),
                        yp_axis_string("precision", "fp32", "bf16", "fp16")),
        .parallel = true)
{
    const struct nn_shape *shape = &sizes[yp_int(t, "size")].shape;
    struct nn_point *p = operators_point_at(t, nn_operator(sizes[yp_int(t, "size")].name), shape);
    for (int i = NN_FORWARD; i <= NN_VJP; i++) {
        const enum nn_pass pass = (enum nn_pass)i;
        if (refusal(t, pass) == NULL)
            operators_check(t, p, pass);
        else
            yp_expect(t,
                      nn_point_fast(p, pass) == YP_UNSUPPORTED &&
                          strstr(yp_last_error(), refusal(t, pass)) != NULL,
                      "%s", yp_last_error());
    }
    nn_point_destroy(p);
}

/* -- what a call may ask for ------------------------------------------------------------------ */

struct calls {
    struct yp_case *t;
    struct nn_point *p;
    float *right[2][NN_TENSORS]; /* results of each pass */
};

/* Runs a pass without a tensor's value or gradient, where `value` and `gradient` name one. */
static void run(const struct calls *c, enum nn_pass pass, int value, int gradient)
{
    struct nn_call *call = &c->p->fast;
    const struct nn_call whole = *call;
    if (value >= 0)
        call->value[value] = NULL;
    if (gradient >= 0)
        call->gradient[gradient] = NULL;
    yp_ok(c->t, nn_point_fast(c->p, pass));
    yp_ok(c->t, yp_device_synchronize(yp_device(c->t)));
    memcpy(call->value, whole.value, sizeof whole.value);
    memcpy(call->gradient, whole.gradient, sizeof whole.gradient);
    yp_ok(c->t, nn_point_fetch(c->p, pass));
}

static size_t count_at(const struct calls *c, int i)
{
    return nn_count(c->p->op, &c->p->op->tensors[i], c->p->shape);
}

static void keep(struct calls *c, enum nn_pass pass)
{
    for (int i = 0; i < nn_tensors(c->p->op); i++) {
        size_t bytes = count_at(c, i) * sizeof(float);
        if (!nn_point_written(c->p, pass, i))
            continue;
        c->right[pass][i] = yp_alloc_host(c->t, bytes);
        memcpy(c->right[pass][i], c->p->got[i], bytes);
    }
}

/* All results have the bits of before, but those of tensor `but`. */
static void expect_same(const struct calls *c, enum nn_pass pass, int but, const char *how)
{
    for (int i = 0; i < nn_tensors(c->p->op); i++) {
        const float *right = c->right[pass][i];
        if (i != but && nn_point_written(c->p, pass, i))
            yp_expect(c->t,
                      right != NULL &&
                          memcmp(c->p->got[i], right, count_at(c, i) * sizeof *right) == 0,
                      "%s: other bits of %s", how, c->p->op->tensors[i].name);
    }
}

/* A gradient that is added to itself is twice as large: each element or, where sums are long and
 * some elements small beside their terms, all of it by its norm. */
static void check_added(const struct calls *c, int i, bool by_norm)
{
    double off = 0, norm = 0;
    const enum nn_type type = nn_gradient_type(c->p->op, c->p->version, i);
    const double unit = type == NN_BFLOAT16 ? 0x1p-6 : type == NN_FLOAT16 ? 0x1p-9 : 0x1p-18;
    const float *right = c->right[NN_VJP][i];
    run(c, NN_VJP, -1, -1);
    c->p->fast.add = 1U << i;
    run(c, NN_VJP, -1, -1);
    c->p->fast.add = 0;
    for (size_t k = 0; k < count_at(c, i); k++) {
        double got = (double)c->p->got[i][k], once = right != NULL ? (double)right[k] : (double)NAN;
        off += (got - 2 * once) * (got - 2 * once);
        norm += once * once;
        yp_expect(c->t, by_norm || fabs(got - 2 * once) <= unit * (0.1 + fabs(once)),
                  "%s[%zu] is %g, not %g twice", c->p->op->tensors[i].name, k, got, once);
    }
    yp_expect(c->t, sqrt(off) <= unit * sqrt(norm), "%s is off by %g of %g",
              c->p->op->tensors[i].name, sqrt(off), sqrt(norm));
    expect_same(c, NN_VJP, i, "added");
}

static void check_all_added(const struct calls *c, bool by_norm)
{
    for (int i = 0; i < nn_tensors(c->p->op) && nn_last_pass(c->p->op) == NN_VJP; i++)
        if (nn_has_gradient(&c->p->op->tensors[i]) && c->p->op->tensors[i].adds)
            check_added(c, i, by_norm);
}

/* Without the tensor the results are those of zeros. */
static void check_optional(struct calls *c, int i)
{
    size_t n = count_at(c, i);
    float *zeros = yp_alloc_host(c->t, n * sizeof *zeros);
    memset(zeros, 0, n * sizeof *zeros);
    memset(c->p->oracle.value[i], 0, n * sizeof(double));
    yp_ok(c->t, yp_device_copy(yp_device(c->t), c->p->fast.value[i], zeros,
                               n * nn_type_bytes(nn_value_type(c->p->op, c->p->version, i))));
    for (int pass = NN_FORWARD; pass <= (int)nn_last_pass(c->p->op); pass++) {
        run(c, (enum nn_pass)pass, -1, -1);
        keep(c, (enum nn_pass)pass);
        run(c, (enum nn_pass)pass, i, i);
        expect_same(c, (enum nn_pass)pass, i, "left out");
    }
}

/* The same call has the same bits; gradients are added or left out; what a vjp does not read may be
 * gone, and it may do forward's work. */
YP_TEST(operators, calls, .tags = "stress small",
        .axes = OPERATORS_AXES(operators_shapes_only, "odd"), .devices = "cpu cuda",
        .filter = operators_has, .parallel = true)
{
    struct calls c = {.t = t,
                      .p = operators_point(t, yp_string(t, "operator"), yp_string(t, "shape"))};
    const struct nn_operator *op = c.p->op;
    bool states = false;
    for (int i = 0; i < nn_tensors(op); i++)
        states = states || op->tensors[i].role == NN_STATE;
    for (int pass = NN_FORWARD; pass <= (int)nn_last_pass(op) && !states; pass++) {
        run(&c, (enum nn_pass)pass, -1, -1);
        keep(&c, (enum nn_pass)pass);
        run(&c, (enum nn_pass)pass, -1, -1);
        expect_same(&c, (enum nn_pass)pass, -1, "again");
    }
    check_all_added(&c, false);
    for (int i = 0; i < nn_tensors(op) && nn_last_pass(op) == NN_VJP; i++) {
        const struct nn_tensor *tensor = &op->tensors[i];
        if (nn_has_gradient(tensor)) {
            run(&c, NN_VJP, -1, i);
            expect_same(&c, NN_VJP, i, "not wanted");
        }
        if (tensor->unread) {
            run(&c, NN_VJP, i, -1);
            expect_same(&c, NN_VJP, -1, "not read");
        }
    }
    if (op->both) {
        nn_point_destroy(c.p); /* forward has not run at this one */
        c.p = operators_point(t, op->name, yp_string(t, "shape"));
        c.p->fast.both = true;
        run(&c, NN_VJP, -1, -1);
        expect_same(&c, NN_VJP, -1, "both");
        yp_ok(t, nn_point_fetch(c.p, NN_FORWARD));
        expect_same(&c, NN_FORWARD, -1, "both");
        c.p->fast.both = false;
    }
    for (int i = 0; i < nn_tensors(op); i++)
        if (op->tensors[i].optional)
            check_optional(&c, i);
    nn_point_destroy(c.p);
}

/* But for what is refused. */
static bool has_size_there(const struct yp_case *t)
{
    return has_size(t) && refusal(t, NN_VJP) == NULL;
}

/* Gradients are added at sizes that other kernels take than those above. */
YP_TEST(operators, sizes_added, .tags = "stress small", .devices = "cpu cuda",
        .filter = has_size_there,
        .axes = YP_AXES(yp_axis_range("size", 0, sizeof sizes / sizeof *sizes - 1, 1),
                        yp_axis_string("precision", "fp32", "bf16", "fp16")),
        .parallel = true)
{
    const struct nn_operator *op = nn_operator(sizes[yp_int(t, "size")].name);
    struct calls c = {.t = t, .p = operators_point_at(t, op, &sizes[yp_int(t, "size")].shape)};
    run(&c, NN_FORWARD, -1, -1);
    run(&c, NN_VJP, -1, -1);
    keep(&c, NN_VJP);
    check_all_added(&c, true);
    nn_point_destroy(c.p);
}

/* More points than a GPU's kernels count are refused before anything is launched. */
YP_TEST(operators, points, .tags = "stress small", .devices = "cuda", .parallel = true)
{
    const struct nn_operator *const ops[] = {&nn_convolution, &nn_transposed_convolution,
                                             &nn_depthwise_convolution};
    const struct nn_shape shape = {"many", .size = {1 << 20, 64, 64, 64, 64, 3, 3, 2, 2},
                                   .setting = {1, 1}};
    const struct nn_call call = {.device = yp_device(t), .shape = &shape};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        const struct nn_version *version = nn_version(ops[i], "cuda", NN_FP32);
        yp_got(t, version);
        yp_expect(t,
                  version->forward(&call) == YP_UNSUPPORTED &&
                      strstr(yp_last_error(), "4294967296 points of 18 taps") != NULL,
                  "%s: %s", ops[i]->name, yp_last_error());
    }
}

static bool prepares(const struct yp_case *t)
{
    const struct nn_operator *op = nn_operator(sizes[yp_int(t, "size")].name);
    enum nn_precision precision = NN_FP32;
    nn_precision_from_name(yp_string(t, "precision"), &precision);
    const struct nn_version *version = nn_version(op, "cpu", precision);
    return version != NULL && version->prepare != NULL &&
           version->prepared(&sizes[yp_int(t, "size")].shape) > 0;
}

/* What is prepared takes the place of the first parameter, which may be gone. */
YP_TEST(operators, prepared, .tags = "stress small", .filter = prepares,
        .axes = YP_AXES(yp_axis_range("size", 0, sizeof sizes / sizeof *sizes - 1, 1),
                        yp_axis_string("precision", "fp32", "bf16", "fp16")),
        .parallel = true)
{
    const struct nn_operator *op = nn_operator(sizes[yp_int(t, "size")].name);
    struct calls c = {.t = t, .p = operators_point_at(t, op, &sizes[yp_int(t, "size")].shape)};
    char *there = yp_alloc(t, c.p->version->prepared(c.p->shape) + 64);
    int first = 0;
    while (op->tensors[first].role != NN_PARAMETER)
        first++;
    c.p->fast.prepared = there + (64 - (uintptr_t)there % 64) % 64;
    yp_ok(t, c.p->version->prepare(&c.p->fast));
    nn_point_plain(c.p, NN_FORWARD);
    run(&c, NN_FORWARD, first, -1);
    for (int i = 0; i < nn_tensors(op); i++) {
        struct yp_precision check = nn_point_precision(c.p, NN_FORWARD, i);
        if (nn_point_written(c.p, NN_FORWARD, i))
            yp_check_precision(t, &check);
    }
    nn_point_destroy(c.p);
}

/* -- threads ---------------------------------------------------------------------------------- */

/* Those that add up in an order of their own; products of matrices follow the number of threads. */
static bool has_order(const struct yp_case *t)
{
    static const char *const names[] = {"edge_pair",   "gate",           "gather",
                                        "gatv2",       "scatter",        "segment_softmax",
                                        "segment_sum", "segment_spread", "sparse_matmul"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], yp_string(t, "operator")) == 0)
            return operators_has(t);
    return false;
}

/* Sums over edges have the same bits for any number of threads. */
YP_TEST(operators, threads, .tags = "stress medium",
        .axes = OPERATORS_AXES(operators_shapes_only, "medium"), .filter = has_order)
{
    struct calls c = {.t = t,
                      .p = operators_point(t, yp_string(t, "operator"), yp_string(t, "shape"))};
    for (int pass = NN_FORWARD; pass <= NN_VJP; pass++) {
        omp_set_num_threads(1);
        run(&c, (enum nn_pass)pass, -1, -1);
        keep(&c, (enum nn_pass)pass);
        for (int threads = 2; threads <= 5; threads += 3) {
            omp_set_num_threads(threads);
            run(&c, (enum nn_pass)pass, -1, -1);
            expect_same(&c, (enum nn_pass)pass, -1, "other threads");
        }
    }
    nn_point_destroy(c.p);
}

/* -- indices outside -------------------------------------------------------------------------- */

/* The first tensor of numbers of rows; any other whole number is allowed where they are not. */
static int index_tensor(const struct nn_operator *op)
{
    for (int i = 0; i < nn_tensors(op); i++)
        if (op->tensors[i].type == NN_INT32 && op->tensors[i].domain.below != 0)
            return i;
    return -1;
}

/* On a GPU, where results have a row for each index that may be NaN; offsets have none. */
static bool has_indices(const struct yp_case *t)
{
    const struct nn_operator *op = nn_operator(yp_string(t, "operator"));
    const int index = index_tensor(op);
    bool rows = index >= 0 && operators_has(t);
    for (int i = 0; rows && i < nn_tensors(op) && strcmp(yp_device_of(t), "cpu") != 0; i++)
        rows = op->tensors[i].role != NN_OUTPUT ||
               op->tensors[i].dims[0] == op->tensors[index].dims[0];
    return rows;
}

/* The CPU refuses them; on a GPU that row's results are NaN. */
YP_TEST(operators, indices, .tags = "stress small",
        .axes = OPERATORS_AXES(operators_shapes_only, "odd"), .devices = "cpu cuda",
        .filter = has_indices, .parallel = true)
{
    enum { ROW = 3 };
    struct calls c = {.t = t,
                      .p = operators_point(t, yp_string(t, "operator"), yp_string(t, "shape"))};
    const struct nn_operator *op = c.p->op;
    const int index = index_tensor(op);
    int32_t *drawn = (int32_t *)c.p->oracle.value[index] + ROW,
            *there = (int32_t *)c.p->fast.value[index] + ROW;
    const int32_t many = 1 << 20;
    for (int32_t wrong = -1; wrong <= many; wrong += many + 1) {
        yp_ok(t, yp_device_copy(yp_device(t), there, &wrong, sizeof wrong));
        *drawn = wrong; /* it is what may not change */
        if (yp_device_memory_kind(yp_device(t)) == YP_HOST) {
            yp_expect(t,
                      nn_point_fast(c.p, NN_FORWARD) == YP_INVALID &&
                          strstr(yp_last_error(), "must be 0 to ") != NULL,
                      "%d: %s", wrong, yp_last_error());
            c.p->fast.both = true;
            yp_expect(t, !op->both || nn_point_fast(c.p, NN_VJP) == YP_INVALID, "%d", wrong);
            c.p->fast.both = false;
            continue;
        }
        run(&c, NN_FORWARD, -1, -1);
        for (int i = 0; i < nn_tensors(op); i++) {
            size_t n = count_at(&c, i), rows = count_at(&c, index);
            for (size_t k = 0; k < n && op->tensors[i].role == NN_OUTPUT; k++)
                yp_expect(t, (isnan(c.p->got[i][k]) != 0) == (k / (n / rows) == ROW),
                          "%s[%zu] is %g", op->tensors[i].name, k, (double)c.p->got[i][k]);
        }
        run(&c, NN_VJP, -1, -1); /* writes nothing outside */
    }
    nn_point_destroy(c.p);
}

/* -- what is no number ------------------------------------------------------------------------- */

static bool takes_input(const struct yp_case *t)
{
    const struct nn_operator *op = nn_operator(yp_string(t, "operator"));
    return op->tensors[0].role == NN_INPUT && operators_has(t);
}

/* A NaN of the first input comes out, and is not turned into a number by the operator. */
static void check_not_a_number(struct yp_case *t, struct nn_point *p)
{
    struct calls c = {.t = t, .p = p};
    const struct nn_operator *op = p->op;
    const float wide = NAN;
    const enum nn_type type = nn_value_type(op, p->version, 0);
    const uint16_t narrow = type == NN_FLOAT16 ? 0x7e00 : 0x7fc0;
    const size_t bytes = nn_type_bytes(type), middle = count_at(&c, 0) / 2;
    size_t found = 0;
    ((double *)p->oracle.value[0])[middle] = NAN; /* it is what may not change */
    yp_ok(t, yp_device_copy(yp_device(t), (char *)p->fast.value[0] + middle * bytes,
                            nn_16_bits(type) ? (const void *)&narrow : (const void *)&wide, bytes));
    run(&c, NN_FORWARD, -1, -1);
    for (int i = 0; i < nn_tensors(op); i++)
        for (size_t k = 0; op->tensors[i].role == NN_OUTPUT && k < count_at(&c, i); k++)
            found += isnan(p->got[i][k]) ? 1 : 0;
    yp_expect(t, found > 0, "%s: all of its results are numbers", op->name);
    nn_point_destroy(p);
}

YP_TEST(operators, not_a_number, .tags = "stress small",
        .axes = OPERATORS_AXES(operators_shapes_only, "odd"), .devices = "cpu cuda",
        .filter = takes_input, .parallel = true)
{
    check_not_a_number(t, operators_point(t, yp_string(t, "operator"), yp_string(t, "shape")));
}

static bool is_activated(const struct yp_case *t)
{
    return strchr(sizes[yp_int(t, "size")].shape.name, ',') != NULL && has_size(t) &&
           refusal(t, NN_FORWARD) == NULL;
}

/* Nor by a convolution's own activation. */
YP_TEST(operators, not_a_number_activated, .tags = "stress small", .filter = is_activated,
        .axes = YP_AXES(yp_axis_range("size", 0, sizeof sizes / sizeof *sizes - 1, 1),
                        yp_axis_string("precision", "fp32", "bf16", "fp16")),
        .parallel = true)
{
    const struct nn_operator *op = nn_operator(sizes[yp_int(t, "size")].name);
    check_not_a_number(t, operators_point_at(t, op, &sizes[yp_int(t, "size")].shape));
}
