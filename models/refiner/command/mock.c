/* The mock as a model to be measured. */
#include "models/refiner/command/mock.h"

#include "base/random/stream.h"
#include "models/nn/convert.h"
#include "models/refiner/command/vectors.h"

#include <string.h>

struct state {
    struct ypi_refiner_work work;
    struct mock *mock;
    struct ypi_refiner_training training;
    float *statistics; /* on the host */
};

struct mock_options ypi_refiner_mock_options(const struct ypi_refiner_work *work)
{
    return (struct mock_options){.device = work->device,
                                 .kind = work->kind,
                                 .precision = work->precision,
                                 .width = work->width,
                                 .batch = work->batch,
                                 .tile = work->tile,
                                 .pass = work->train ? NN_MODEL_GRADIENT : NN_MODEL_FORWARD};
}

struct state_tensor ypi_refiner_mock_output(const struct ypi_refiner_work *work)
{
    return refiner_images("output", work->batch, MOCK_CHANNELS, work->tile / 4, work->tile / 4);
}

static enum yp_status plan(const struct ypi_refiner_work *work, struct ypi_refiner_plan *out)
{
    const struct mock_options options = ypi_refiner_mock_options(work);
    out->parameters = mock_parameters(work->width, false);
    out->bytes = out->parameters * sizeof(float);
    return mock_plan(&options, work->train ? REFINER_TRAIN_STEP : REFINER_FORWARD, &out->of);
}

static void close_mock(void *model)
{
    struct state *s = model;
    mock_destroy(s->mock);
    ypi_refiner_training_close(&s->training);
    yp_device_free(yp_device_cpu(), s->statistics);
    yp_device_free(yp_device_cpu(), s);
}

/* -- weights ----------------------------------------------------------------------------------- */

/* Values to start from; in inference folded, with those they are made of given back. */
static float *make_weights(struct state *s)
{
    struct yp_device *cpu = yp_device_cpu();
    const size_t width = s->work.width;
    float *start = yp_device_alloc(cpu, mock_parameters(width, false) * sizeof *start);
    s->statistics = yp_device_alloc(cpu, mock_statistics(width) * sizeof *s->statistics);
    float *folded = start != NULL && s->statistics != NULL && !s->work.train
                        ? yp_device_alloc(cpu, mock_parameters(width, true) * sizeof *folded)
                        : NULL;
    if (start != NULL && s->statistics != NULL)
        mock_initialise(width, s->work.seed, start, s->statistics);
    if (folded != NULL)
        mock_fold(width, start, s->statistics, folded);
    if (s->work.train && s->statistics != NULL)
        return start;
    yp_device_free(cpu, start);
    return folded;
}

static enum yp_status put_weights(struct state *s)
{
    const bool train = s->work.train;
    float *values = make_weights(s);
    enum yp_status status =
        values != NULL
            ? ypi_refiner_training_open(&s->training, s->work.device,
                                        mock_parameters(s->work.width, !train), values, train)
            : yp_last_status();
    yp_device_free(yp_device_cpu(), values);
    return status;
}

/* -- images ------------------------------------------------------------------------------------ */

/* Normal values, a part at a time. */
static enum yp_status draw(const struct state *s, uint64_t purpose, size_t count, void *to)
{
    enum { PART = 4096 };
    float values[PART];
    uint16_t narrow[PART];
    const bool bf16 = s->work.precision == NN_BF16;
    const size_t element = bf16 ? sizeof *narrow : sizeof *values;
    enum yp_status status = YP_OK;
    for (size_t at = 0; at < count && status == YP_OK; at += PART) {
        const size_t some = count - at < PART ? count - at : PART;
        ypi_random_normals(YPI_LEVEL_AUTO, (struct ypi_stream){s->work.seed, purpose}, at, some,
                           values);
        if (bf16)
            nn_narrow(values, some, NN_BFLOAT16, narrow);
        status = yp_device_copy(s->work.device, (char *)to + at * element,
                                bf16 ? (const void *)narrow : values, some * element);
    }
    return status;
}

static enum yp_status make_images(const struct state *s)
{
    const size_t input = s->work.batch * s->work.tile * s->work.tile * MOCK_CHANNELS;
    enum yp_status status = mock_start(s->mock);
    if (status == YP_OK)
        status = draw(s, 1, input, mock_input(s->mock));
    return status == YP_OK && s->work.train ? draw(s, 2, input / 16, mock_target(s->mock)) : status;
}

/* -- the model --------------------------------------------------------------------------------- */

/* Weights come first: what they take for a while is given back before the arena is taken. */
static void *open_mock(const struct ypi_refiner_work *work)
{
    const struct mock_options options = ypi_refiner_mock_options(work);
    struct state *s = yp_device_alloc(yp_device_cpu(), sizeof *s);
    if (s == NULL)
        return NULL;
    *s = (struct state){
        .work = *work, .mock = mock_create(&options), .training = {.device = work->device}};
    if (s->mock != NULL && put_weights(s) == YP_OK && make_images(s) == YP_OK)
        return s;
    close_mock(s);
    return NULL;
}

static enum yp_status forward(void *model)
{
    struct state *s = model;
    if (!s->work.train)
        return mock_pass(s->mock, s->training.x, NULL, 0);
    enum yp_status status = mock_pass(s->mock, s->training.x, NULL, NN_MODEL_COPY);
    return status == YP_OK ? mock_update_statistics(s->mock, s->statistics) : status;
}

static enum yp_status backward(void *model)
{
    struct state *s = model;
    return mock_pass(s->mock, s->training.x, s->training.gradient, NN_MODEL_BACK);
}

static enum yp_status update(void *model)
{
    struct state *s = model;
    return ypi_refiner_training_update(&s->training);
}

const struct ypi_refiner_model ypi_refiner_mock = {.name = "mock",
                                                   .channels = MOCK_CHANNELS,
                                                   .output = ypi_refiner_mock_output,
                                                   .pass = ypi_refiner_mock_pass,
                                                   .plan = plan,
                                                   .open = open_mock,
                                                   .close = close_mock,
                                                   .forward = forward,
                                                   .backward = backward,
                                                   .update = update};
