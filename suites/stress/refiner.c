/* The refiner's mock: its layers, its gradient, folded norms, and that it learns. */
#include "base/random/stream.h"
#include "models/nn/convert.h"
#include "models/refiner/plan.h"
#include "models/train/optimiser.h"
#include "suites/operators.h"
#include "suites/score_error.h"

#include <math.h>
#include <omp.h>
#include <string.h>
#include <yieldpoint/yieldpoint.h>

/* -- sizes ------------------------------------------------------------------------------------ */

/* By layer as PyTorch counts them: convolution with bias, and batch norm. */
YP_TEST(refiner, parameters, .tags = "stress small", .parallel = true)
{
    static const size_t by_layer[MOCK_LAYERS] = {12736,  74112,   16768,  147840,  295680,  66304,
                                                 590592, 1181184, 263680, 2360832, 1180416, 295296,
                                                 73920,  32864,   8240,   68};
    size_t sums[MOCK_LAYERS] = {0};
    struct mock_tensor tensor;
    for (size_t i = 0; mock_parameter(MOCK_WIDTH, false, i, &tensor); i++)
        sums[tensor.layer] += tensor.count;
    for (int i = 0; i < MOCK_LAYERS; i++) {
        const enum mock_activation activation = mock_layer(MOCK_WIDTH, i).activation;
        yp_expect(t,
                  activation == (i == 15              ? MOCK_NONE
                                 : i >= 10 && i <= 12 ? MOCK_GELU
                                                      : MOCK_RELU),
                  "layer %d has activation %d", i + 1, (int)activation);
        yp_expect(t, sums[i] == by_layer[i], "layer %d has %zu, not %zu", i + 1, sums[i],
                  by_layer[i]);
    }
    yp_expect(t, mock_parameters(MOCK_WIDTH, false) == 6600532, "%zu",
              mock_parameters(MOCK_WIDTH, false));
    struct mock_options o = {
        .device = yp_device_cpu(), .width = MOCK_WIDTH, .batch = 1, .tile = 256};
    struct mock *mock = mock_create(&o);
    yp_got(t, mock);
    double flops = nn_model_flops(mock_model(mock));
    yp_expect(t, fabs(flops / 7.076e9 - 1) < 0.01, "%g operations forward at 256^2", flops);
    mock_destroy(mock);
}

/* The mock takes as many bytes as its plan says. */
YP_TEST(refiner, planned, .tags = "stress small", .devices = "cpu cuda",
        .axes = YP_AXES(yp_axis_string("mode", "inference", "train")))
{
    const bool train = strcmp(yp_string(t, "mode"), "train") == 0;
    const struct mock_options o = {.device = yp_device(t),
                                   .width = 8,
                                   .batch = 2,
                                   .tile = 48,
                                   .pass = train ? NN_MODEL_GRADIENT : NN_MODEL_FORWARD};
    const size_t vector = mock_parameters(o.width, !train) * sizeof(float);
    const size_t host = yp_device_memory_kind(o.device) == YP_DEVICE ? 1 : 0;
    struct yp_memory before, after;
    struct refiner_plan plan;
    yp_ok(t, mock_plan(&o, train ? REFINER_TRAIN_STEP : REFINER_FORWARD, &plan));
    yp_device_memory(o.device, &before);
    struct mock *mock = mock_create(&o);
    yp_got(t, mock);
    yp_ok(t, mock_start(mock));
    yp_device_memory(o.device, &after);
    mock_destroy(mock);
    const size_t taken = after.allocated - before.allocated + host * plan.host;
    yp_expect(t, taken + (train ? 4 : 1) * vector == plan.total && plan.weights == vector,
              "%zu bytes are taken, planned %zu with weights of %zu", taken, plan.total,
              plan.weights);
}

YP_TEST(refiner, refused, .tags = "stress small", .parallel = true)
{
    static const struct {
        struct mock_options o;
        const char *says;
    } wrong[] = {{{.width = 64, .batch = 1, .tile = 250}, "tile is 250: must be a multiple of 16"},
                 {{.width = 64, .batch = 1, .tile = 0}, "tile is 0: must be a multiple of 16"},
                 {{.width = 64, .batch = 0, .tile = 256}, "batch is 0: must be 1 to 1024"},
                 {{.width = 6, .batch = 1, .tile = 256}, "width is 6: must be a multiple of 4"},
                 {{.width = 64, .batch = 1, .tile = 256, .kind = "tpu"}, "kind is 'tpu'"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct mock_options o = wrong[i].o;
        o.device = yp_device_cpu();
        yp_expect(t, mock_create(&o) == NULL && strstr(yp_last_error(), wrong[i].says) != NULL,
                  "%s", yp_last_error());
    }
}

/* -- passes ----------------------------------------------------------------------------------- */

struct trial {
    struct mock *mock;
    struct mock_options o;
    size_t parameters, input, target; /* elements */
    float *x, *statistics;            /* on the host */
    enum yp_status status;
};

static enum nn_precision precision_of(const struct yp_case *t)
{
    enum nn_precision precision = NN_FP32;
    nn_precision_from_name(yp_string(t, "precision"), &precision);
    return precision;
}

static void trial_open(struct trial *s, struct yp_case *t, const struct mock_options *options)
{
    const bool folded = options->pass == NN_MODEL_FORWARD;
    *s = (struct trial){.mock = mock_create(options), .o = *options};
    yp_got(t, s->mock);
    yp_ok(t, mock_start(s->mock));
    s->parameters = mock_parameters(options->width, folded);
    s->input = options->batch * options->tile * options->tile * MOCK_CHANNELS;
    s->target = s->input / 16;
    s->x = yp_alloc_host(t, mock_parameters(options->width, false) * sizeof *s->x);
    s->statistics = yp_alloc_host(t, mock_statistics(options->width) * sizeof *s->statistics);
    mock_initialise(options->width, yp_seed(t), s->x, s->statistics);
}

/* Bells on the device: images, or what they should become. */
static void draw(struct trial *s, struct yp_case *t, uint64_t purpose, size_t count, void *to)
{
    const bool bf16 = s->o.precision == NN_BF16;
    float *x = yp_alloc_host(t, count * sizeof *x);
    uint16_t *small = yp_alloc_host(t, count * sizeof *small);
    ypi_random_normals(YPI_LEVEL_AUTO, (struct ypi_stream){yp_seed(t), purpose}, 0, count, x);
    nn_narrow(x, count, NN_BFLOAT16, small);
    if (s->o.oracle)
        yp_ok(t, yp_device_copy(s->o.device, to, in_double(t, x, count), count * sizeof(double)));
    else
        yp_ok(t, yp_device_copy(s->o.device, to, bf16 ? (void *)small : x,
                                count * (bf16 ? sizeof *small : sizeof *x)));
}

static void draw_images(struct trial *s, struct yp_case *t)
{
    draw(s, t, 1, s->input, mock_input(s->mock));
    if (mock_target(s->mock) != NULL)
        draw(s, t, 2, s->target, mock_target(s->mock));
}

static void run(struct trial *s, const void *x, void *gradient, void *result, size_t bytes)
{
    enum yp_status status = mock_pass(s->mock, x, gradient, NN_MODEL_COPY);
    if (status == YP_OK)
        status = yp_device_copy(s->o.device, result, mock_result(s->mock), bytes);
    s->status = s->status == YP_OK ? status : s->status;
}

static void losses_of(void *arg, const double *x, double *y)
{
    struct trial *s = arg;
    run(s, x, NULL, y, s->o.batch * sizeof *y);
}

/* Of the mean of the losses: each image's has the same cotangent. */
static void loss_of(void *arg, const double *x, double *y)
{
    const struct trial *s = arg;
    double each[16] = {0};
    losses_of(arg, x, each);
    *y = 0;
    for (size_t i = 0; i < s->o.batch; i++)
        *y += each[i] / (double)s->o.batch;
}

static void gradient_of(void *arg, const double *x, const double *cotangent, double *g)
{
    struct trial *s = arg;
    double each[16] = {0};
    run(s, x, g, each, s->o.batch * sizeof *each);
    for (size_t i = 0; i < s->parameters; i++)
        g[i] *= *cotangent;
}

/* Of every tensor in double, through a network without kinks. */
YP_TEST(refiner, gradient, .tags = "stress small", .parallel = true)
{
    enum { TENSORS = 4 * MOCK_LAYERS };
    static struct mock_tensor named[TENSORS];
    struct yp_tensor tensors[TENSORS];
    struct mock_options o = {.device = yp_device_cpu(),
                             .oracle = true,
                             .smooth = true,
                             .width = 4,
                             .batch = 3,
                             .tile = 32,
                             .pass = NN_MODEL_GRADIENT};
    struct trial s;
    trial_open(&s, t, &o);
    draw_images(&s, t);
    size_t count = 0;
    for (; mock_parameter(o.width, false, count, &named[count]); count++)
        tensors[count] =
            (struct yp_tensor){named[count].name, named[count].offset, named[count].count};
    const struct yp_gradient check = {.name = "loss",
                                      .inputs = s.parameters,
                                      .outputs = 1,
                                      .f = loss_of,
                                      .vjp = gradient_of,
                                      .arg = &s,
                                      .x = in_double(t, s.x, s.parameters),
                                      .tensors = tensors,
                                      .n_tensors = count};
    yp_check_gradient(t, &check);
    yp_ok(t, s.status);
    mock_destroy(s.mock);
}

/* The gradient behind a forward pass of its own has the bits of one pass, and that pass is not made
 * again: shifts of norms, which the gradient does not read, are others by then. */
static void check_apart(struct yp_case *t, const struct trial *s, float *x, const float *right)
{
    const size_t bytes = s->parameters * sizeof *right;
    float *gradient = yp_alloc(t, bytes), *got = yp_alloc_host(t, bytes);
    struct mock_tensor tensor;
    yp_ok(t, mock_pass(s->mock, x, NULL, 0));
    memcpy(got, s->x, bytes);
    for (size_t i = 0; mock_parameter(s->o.width, false, i, &tensor); i++)
        for (size_t k = 0; k < tensor.count && tensor.part == MOCK_SHIFT; k++)
            got[tensor.offset + k] += 1;
    yp_ok(t, yp_device_copy(yp_device(t), x, got, bytes));
    yp_ok(t, mock_pass(s->mock, x, gradient, NN_MODEL_BACK));
    yp_ok(t, yp_device_copy(yp_device(t), got, gradient, bytes));
    yp_expect(t, memcmp(got, right, bytes) == 0, "other bits");
}

/* Each layer at the benchmark's sizes: no further from double than twice what plain loops in float,
 * which are direct convolutions, are. */
YP_TEST(refiner, layers, .tags = "stress medium", .parallel = true,
        .axes = YP_AXES(yp_axis_range("layer", 1, MOCK_LAYERS, 1),
                        yp_axis_string("precision", "fp32")))
{
    const int i = (int)yp_int(t, "layer") - 1;
    const struct nn_shape shape = mock_shape(MOCK_WIDTH, 1, 256, i);
    const bool transposed = mock_layer(MOCK_WIDTH, i).transposed;
    struct nn_point *point =
        operators_point_at(t, transposed ? &nn_transposed_convolution : &nn_convolution, &shape);
    for (int pass = NN_FORWARD; pass <= NN_VJP; pass++) {
        nn_point_plain(point, (enum nn_pass)pass);
        yp_ok(t, nn_point_fast(point, (enum nn_pass)pass));
        yp_ok(t, nn_point_fetch(point, (enum nn_pass)pass));
        for (int k = 0; k < nn_tensors(point->op); k++) {
            struct yp_precision check = nn_point_precision(point, (enum nn_pass)pass, k);
            check.multiple = 2;
            if (nn_point_written(point, (enum nn_pass)pass, k))
                yp_check_precision(t, &check);
        }
    }
    nn_point_destroy(point);
}

/* Twice the error of plain loops, over three seeds: the plain forms of all operators in float,
 * whose results are rounded to the types of the precision's versions. */
static void precision_errors(const struct yp_case *t, struct yp_budgets *out)
{
    const bool bf16 = precision_of(t) == NN_BF16;
    yp_budget_add(out, yp_max_value("loss error", bf16 ? 0.011 : 1.2e-6),
                  yp_max_value("gradient error", bf16 ? 0.18 : 1.5e-5));
}

/* Losses and gradient beside those in double, as a whole. In bf16 without kinks: sums near 0 change
 * their sign, so that ReLU alone would be off by a third. */
YP_TEST(refiner, precision, .tags = "stress small", .parallel = true, .devices = "cpu cuda",
        .axes = YP_AXES(yp_axis_string("precision", "fp32", "bf16")),
        .budgets_of = precision_errors)
{
    struct mock_options o = {.device = yp_device(t),
                             .precision = precision_of(t),
                             .smooth = precision_of(t) == NN_BF16,
                             .width = 16,
                             .batch = 3,
                             .tile = 48,
                             .pass = NN_MODEL_GRADIENT};
    struct trial fast, oracle;
    trial_open(&fast, t, &o);
    draw_images(&fast, t);
    o.oracle = true;
    o.device = yp_device_cpu();
    trial_open(&oracle, t, &o);
    draw_images(&oracle, t);
    const size_t bytes = fast.parameters * sizeof *fast.x;
    float *there = yp_alloc(t, bytes), *gradient = yp_alloc(t, bytes), losses[3] = {0};
    float *got = yp_alloc_host(t, bytes);
    double *right = yp_alloc_host(t, 2 * bytes), each[3] = {0};
    yp_ok(t, yp_device_copy(yp_device(t), there, fast.x, bytes));
    run(&fast, there, gradient, losses, sizeof losses);
    yp_ok(t, yp_device_copy(yp_device(t), got, gradient, bytes));
    run(&oracle, in_double(t, fast.x, fast.parameters), right, each, sizeof each);
    check_apart(t, &fast, there, got);
    yp_ok(t, fast.status);
    yp_ok(t, oracle.status);
    yp_value(t, "loss error", relative_error(t, losses, each, 3));
    yp_value(t, "gradient error", relative_error(t, got, right, fast.parameters));
    mock_destroy(fast.mock);
    mock_destroy(oracle.mock);
}

/* Twice the error of plain loops, as above: of the image beside that in double, and of its squared
 * errors beside those of training in float. */
static void folded_errors(const struct yp_case *t, struct yp_budgets *out)
{
    const bool bf16 = precision_of(t) == NN_BF16;
    yp_budget_add(out, yp_max_value("error", bf16 ? 0.008 : 2e-6),
                  yp_max_value("image error", bf16 ? 0.09 : 8e-6));
}

/* The image of inference, as floats. */
static float *image_of(struct yp_case *t, const struct trial *s)
{
    float *image = yp_alloc_host(t, s->target * sizeof *image);
    uint16_t *small = yp_alloc_host(t, s->target * sizeof *small);
    const bool bf16 = s->o.precision == NN_BF16;
    yp_ok(t, yp_device_copy(s->o.device, bf16 ? (void *)small : image, mock_result(s->mock),
                            s->target * (bf16 ? sizeof *small : sizeof *image)));
    if (bf16)
        nn_widen(small, NN_BFLOAT16, s->target, image);
    return image;
}

/* Inference with folded norms is the training pass again where the running statistics are those of
 * its batch: the same squared errors. */
YP_TEST(refiner, folded, .tags = "stress small", .parallel = true, .devices = "cpu cuda",
        .axes = YP_AXES(yp_axis_string("precision", "fp32", "bf16")), .budgets_of = folded_errors)
{
    struct mock_options o = {
        .device = yp_device(t), .width = 16, .batch = 2, .tile = 64, .pass = NN_MODEL_GRADIENT};
    struct trial training, inference, oracle;
    trial_open(&training, t, &o);
    draw_images(&training, t);
    o.pass = NN_MODEL_FORWARD;
    o.precision = precision_of(t);
    trial_open(&inference, t, &o);
    draw_images(&inference, t);
    o.oracle = true;
    o.device = yp_device_cpu();
    trial_open(&oracle, t, &o);
    draw_images(&oracle, t);

    const size_t bytes = training.parameters * sizeof *training.x;
    float *there = yp_alloc(t, bytes), losses[2] = {0};
    yp_ok(t, yp_device_copy(yp_device(t), there, training.x, bytes));
    float *gradient = yp_alloc(t, bytes);
    run(&training, there, gradient, losses, sizeof losses); /* what it keeps stays to its end */
    memset(training.statistics, 0, mock_statistics(o.width) * sizeof *training.statistics);
    yp_ok(t, mock_update_statistics(training.mock, training.statistics));
    struct mock_tensor tensor;
    for (size_t i = 0; mock_statistic(o.width, i, &tensor); i++) {
        const size_t side = mock_side(o.tile, tensor.layer);
        const double n = (double)(o.batch * side * side);
        const double all = (tensor.part == MOCK_VARIANCE ? (n - 1) / n : 1) / MOCK_MOMENTUM;
        for (size_t k = tensor.offset; k < tensor.offset + tensor.count; k++)
            training.statistics[k] = (float)((double)training.statistics[k] * all);
    }

    float *folded = yp_alloc_host(t, inference.parameters * sizeof *folded);
    double *right_image = yp_alloc_host(t, inference.target * sizeof *right_image);
    float *target = yp_alloc_host(t, inference.target * sizeof *target);
    /* What is prepared of other parameters is made anew with NN_MODEL_COPY. */
    yp_ok(t, mock_pass(inference.mock, there, NULL, NN_MODEL_COPY));
    mock_fold(o.width, training.x, training.statistics, folded);
    yp_ok(t, yp_device_copy(yp_device(t), there, folded, inference.parameters * sizeof *folded));
    yp_ok(t, mock_pass(inference.mock, there, NULL, NN_MODEL_COPY));
    const float *image = image_of(t, &inference);
    run(&oracle, in_double(t, folded, inference.parameters), NULL, right_image,
        inference.target * sizeof *right_image);
    yp_ok(t, yp_device_copy(yp_device(t), target, mock_target(training.mock),
                            inference.target * sizeof *target));
    yp_ok(t, training.status);
    yp_ok(t, oracle.status);
    const size_t half = inference.target / 2;
    double right[2] = {0};
    for (size_t i = 0; i < inference.target; i++) {
        const double off = (double)image[i] - (double)target[i];
        right[i / half] += off * off / (double)half;
    }
    yp_value(t, "error", relative_error(t, losses, right, 2));
    yp_value(t, "image error", relative_error(t, image, right_image, inference.target));
    mock_destroy(training.mock);
    mock_destroy(inference.mock);
    mock_destroy(oracle.mock);
}

/* On images that stay: the loss falls and stays finite, and running statistics come near those of
 * the batch. */
YP_TEST(refiner, learns, .tags = "stress small", .parallel = true,
        .axes = YP_AXES(yp_axis_string("precision", "fp32", "bf16")),
        .budgets = YP_BUDGETS(yp_max_value("share of the first loss", 0.6)))
{
    enum { STEPS = 60 };
    struct mock_options o = {.device = yp_device_cpu(),
                             .precision = precision_of(t),
                             .width = 16,
                             .batch = 2,
                             .tile = 32,
                             .pass = NN_MODEL_GRADIENT};
    struct train_adamw how = train_adamw_defaults();
    omp_set_num_threads(1); /* two would wait for a busy processor far longer than they take */
    how.lr = 3e-3;
    struct trial s;
    trial_open(&s, t, &o);
    draw_images(&s, t);
    const size_t bytes = s.parameters * sizeof *s.x;
    float *gradient = yp_alloc_host(t, bytes);
    float *m = yp_alloc_host(t, bytes), *v = yp_alloc_host(t, bytes), losses[2] = {0};
    memset(m, 0, bytes);
    memset(v, 0, bytes);
    double first = 0, last = 0;
    for (uint64_t step = 1; step <= STEPS; step++) {
        run(&s, s.x, gradient, losses, sizeof losses);
        yp_ok(t, s.status);
        yp_ok(t, mock_update_statistics(s.mock, s.statistics));
        last = ((double)losses[0] + (double)losses[1]) / 2;
        first = step == 1 ? last : first;
        yp_require(t, isfinite(last), "step %d: loss %g", (int)step, last);
        train_adamw_step(&how, step, s.parameters, gradient, m, v, s.x);
    }
    yp_value(t, "share of the first loss", last / first);
    struct mock_tensor tensor;
    for (size_t i = 0; mock_statistic(o.width, i, &tensor); i++)
        for (size_t k = tensor.offset; k < tensor.offset + tensor.count; k++)
            yp_expect(
                t, isfinite(s.statistics[k]) && (tensor.part == MOCK_MEAN || s.statistics[k] > 0),
                "%s[%zu] is %g", tensor.name, k - tensor.offset, (double)s.statistics[k]);
    mock_destroy(s.mock);
}
