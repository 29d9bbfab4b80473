/* The refiner by tile size and batch, in inference and in training: time, memory, and how much of
 * the machine it uses. */
#include "base/random/stream.h"
#include "models/nn/convert.h"
#include "models/refiner/mock.h"
#include "models/train/optimiser.h"

#include <string.h>
#include <yieldpoint/yieldpoint.h>

/* The protocol of the benchmark that these sizes are from. */
enum { WARMUP = 10, SAMPLES = 50, TRAIN_WARMUP = 5, TRAIN_SAMPLES = 20 };

struct work {
    struct mock *mock;
    struct mock_options o;
    size_t parameters;
    float *x, *gradient, *m, *v;
    double *scratch; /* NULL on the CPU */
    struct train_adamw how;
    uint64_t step;
};

static float *bell(struct yp_case *t, uint64_t purpose, size_t count)
{
    float *x = yp_alloc_host(t, count * sizeof *x);
    ypi_random_normals(YPI_LEVEL_AUTO, (struct ypi_stream){yp_seed(t), purpose}, 0, count, x);
    return x;
}

static void send(struct yp_case *t, void *to, const float *from, size_t count)
{
    yp_ok(t, yp_device_copy(yp_device(t), to, from, count * sizeof *from));
}

/* An image of bells in the precision's type. */
static void send_bells(struct yp_case *t, const struct work *w, uint64_t purpose, size_t count,
                       void *to)
{
    const float *x = bell(t, purpose, count);
    if (w->o.precision != NN_BF16) {
        send(t, to, x, count);
        return;
    }
    uint16_t *small = yp_alloc_host(t, count * sizeof *small);
    nn_narrow(x, count, NN_BFLOAT16, small);
    yp_ok(t, yp_device_copy(yp_device(t), to, small, count * sizeof *small));
}

/* By the case's axes; its parameters, folded in inference, and images are on the device. */
static void open_work(struct work *w, struct yp_case *t)
{
    const bool training = strcmp(yp_string(t, "mode"), "train") == 0;
    *w = (struct work){.o = {.device = yp_device(t),
                             .width = MOCK_WIDTH,
                             .batch = (size_t)yp_int(t, "batch"),
                             .tile = (size_t)yp_int(t, "tile"),
                             .pass = training ? NN_MODEL_GRADIENT : NN_MODEL_FORWARD},
                       .how = train_adamw_defaults()};
    nn_precision_from_name(yp_string(t, "precision"), &w->o.precision);
    w->parameters = mock_parameters(MOCK_WIDTH, !training);
    w->mock = mock_create(&w->o);
    yp_got(t, w->mock);
    yp_ok(t, mock_start(w->mock));
    const size_t all = mock_parameters(MOCK_WIDTH, false);
    const size_t input = w->o.batch * w->o.tile * w->o.tile * MOCK_CHANNELS;
    float *start = yp_alloc_host(t, all * sizeof *start);
    float *statistics = yp_alloc_host(t, mock_statistics(MOCK_WIDTH) * sizeof *statistics);
    float *folded = yp_alloc_host(t, w->parameters * sizeof *folded);
    mock_initialise(MOCK_WIDTH, yp_seed(t), start, statistics);
    if (!training)
        mock_fold(MOCK_WIDTH, start, statistics, folded);
    w->x = yp_alloc(t, w->parameters * sizeof *w->x);
    send(t, w->x, training ? start : folded, w->parameters);
    send_bells(t, w, 1, input, mock_input(w->mock));
    if (!training)
        return;
    send_bells(t, w, 2, input / 16, mock_target(w->mock));
    w->gradient = yp_alloc(t, w->parameters * sizeof *w->x);
    w->m = yp_alloc(t, w->parameters * sizeof *w->x);
    w->v = yp_alloc(t, w->parameters * sizeof *w->x);
    memset(start, 0, w->parameters * sizeof *start);
    send(t, w->m, start, w->parameters);
    send(t, w->v, start, w->parameters);
    if (yp_device_memory_kind(yp_device(t)) == YP_DEVICE)
        w->scratch = yp_alloc(t, TRAIN_STEP_SCRATCH * sizeof *w->scratch);
}

static enum yp_status update(struct work *w)
{
    if (w->scratch != NULL)
        return train_adamw_step_on(w->o.device, &w->how, ++w->step, w->parameters, 0, w->scratch,
                                   w->gradient, w->m, w->v, w->x);
    train_adamw_step(&w->how, ++w->step, w->parameters, w->gradient, w->m, w->v, w->x);
    return YP_OK;
}

static enum yp_ceiling arithmetic(const struct work *w)
{
    return w->o.precision == NN_BF16 ? YP_BF16 : YP_FP32;
}

static void infer(struct yp_case *t, struct work *w)
{
    enum yp_status status = YP_OK;
    yp_measure (t, "inference", .items = (double)w->o.batch, .unit = "samples",
                .flops = nn_model_flops(mock_model(w->mock)), .arithmetic = arithmetic(w),
                .warmup = WARMUP, .samples = SAMPLES)
        status = mock_pass(w->mock, w->x, NULL, 0);
    yp_ok(t, status);
}

static void train(struct yp_case *t, struct work *w)
{
    const double moved = 7 * sizeof(float) * (double)w->parameters;
    enum yp_status status = YP_OK;
    yp_measure (t, "step", .items = (double)w->o.batch, .unit = "samples",
                .flops = nn_model_flops(mock_model(w->mock)), .arithmetic = arithmetic(w),
                .bounds = YP_WORK(yp_then(), yp_traffic(YP_COPY, moved, YP_FOOTPRINT_MEMORY)),
                .warmup = TRAIN_WARMUP, .samples = TRAIN_SAMPLES) {
        yp_phase (t, "forward")
            status = mock_pass(w->mock, w->x, NULL, NN_MODEL_COPY);
        yp_phase (t, "backward")
            status =
                status != YP_OK ? status : mock_pass(w->mock, w->x, w->gradient, NN_MODEL_BACK);
        yp_phase (t, "optimiser")
            status = status != YP_OK ? status : update(w);
    }
    yp_ok(t, status);
}

static void mock(struct yp_case *t)
{
    struct work w;
    open_work(&w, t);
    yp_value(t, "model_params", (double)mock_parameters(MOCK_WIDTH, false));
    yp_value(t, "model_size_mb", 4 * (double)mock_parameters(MOCK_WIDTH, false) / YP_MIB);
    if (w.gradient != NULL)
        train(t, &w);
    else
        infer(t, &w);
    mock_destroy(w.mock);
}

#define PRECISIONS yp_axis_string("precision", "fp32", "bf16")

YP_TEST(refiner, mock, .tags = "perf medium", .devices = "cpu cuda",
        .axes = YP_AXES(yp_axis_string("mode", "inference", "train"), yp_axis_int("tile", 256, 384),
                        yp_axis_int("batch", 1, 2), PRECISIONS))
{
    mock(t);
}

YP_TEST(refiner, mock_sweep, .tags = "perf large slow", .timeout = 600, .devices = "cpu cuda",
        .axes = YP_AXES(yp_axis_string("mode", "inference", "train"),
                        yp_axis_int("tile", 256, 384, 512), yp_axis_int("batch", 1, 2, 4, 8),
                        PRECISIONS))
{
    mock(t);
}

/* What other programs are compared with: one small image, and four of the larger tile. */
static bool is_beside(const struct yp_case *t)
{
    return (yp_int(t, "tile") == 256) == (yp_int(t, "batch") == 1);
}

YP_TEST(refiner, mock_beside, .tags = "perf large slow", .timeout = 600, .filter = is_beside,
        .axes = YP_AXES(yp_axis_string("mode", "inference", "train"), yp_axis_int("tile", 256, 384),
                        yp_axis_int("batch", 1, 4), PRECISIONS))
{
    mock(t);
}
