/* The vision transformer as a model to be measured. */
#include "models/refiner/command/real.h"

#include "base/system/clock.h"
#include "base/text/figures.h"
#include "models/refiner/command/vectors.h"

#include <stdio.h>

struct state {
    struct ypi_refiner_work work;
    struct vit *vit;
    struct ypi_refiner_training training;
    double encoder, head; /* seconds of all forward passes */
};

struct vit_options ypi_refiner_real_options(const struct ypi_refiner_work *work)
{
    struct vit_options o = work->real;
    o.device = work->device;
    o.kind = work->kind;
    o.precision = work->precision;
    o.batch = work->batch;
    o.tile = work->tile;
    o.pass = work->train ? NN_MODEL_GRADIENT : NN_MODEL_FORWARD;
    return o;
}

struct state_tensor ypi_refiner_real_output(const struct ypi_refiner_work *work)
{
    return refiner_images("output", work->batch, work->real.head_width, work->tile, work->tile);
}

/* What is frozen is in 8 bits with a scale for each output, or in the precision. */
static size_t bytes_of(const struct vit_options *o)
{
    const size_t frozen = o->precision == NN_BF16 ? sizeof(uint16_t) : sizeof(float);
    struct vit_tensor t;
    size_t bytes = 0;
    for (size_t i = 0; vit_tensor(o, i, &t); i++)
        if (t.part != VIT_POSITIONS)
            bytes += t.int8 ? t.count + t.shape[0] * sizeof(float)
                            : t.count * (t.trained ? sizeof(float) : frozen);
    return bytes;
}

/* open_real() draws weights, and takes vectors for them, before it draws images: what it has at
 * most beyond the plan. */
static size_t start_of(const struct vit_options *o, const struct refiner_plan *plan)
{
    const size_t pixels = o->batch * o->tile * o->tile, vector = plan->weights;
    const size_t vectors = vector + plan->gradients + plan->optimiser;
    const size_t image = pixels * o->channels * sizeof(double);
    const size_t target = pixels * o->head_width * sizeof(double);
    size_t most = 0, start = o->pass == NN_MODEL_GRADIENT && target > image ? target : image;
    struct vit_tensor t;
    for (size_t i = 0; vit_tensor(o, i, &t); i++)
        most = t.count > most ? t.count : most;
    const size_t drawing = vector + 2 * most * sizeof(double);
    start = vector > start ? vector : start;
    return sizeof(struct state) + (drawing > vectors + start ? drawing - vectors : start);
}

static enum yp_status plan(const struct ypi_refiner_work *work, struct ypi_refiner_plan *out)
{
    const struct vit_options o = ypi_refiner_real_options(work);
    const enum yp_status status =
        vit_plan(&o, work->train ? REFINER_TRAIN_STEP : REFINER_FORWARD, &out->of);
    if (status != YP_OK)
        return status;
    out->bytes = bytes_of(&o);
    out->start = start_of(&o, &out->of);
    out->parameters = vit_elements(&o, VIT_PROJECTION) + vit_elements(&o, VIT_ENCODER) +
                      vit_elements(&o, VIT_LORA) + vit_elements(&o, VIT_HEAD);
    return YP_OK;
}

static void close_real(void *model)
{
    struct state *s = model;
    vit_destroy(s->vit);
    ypi_refiner_training_close(&s->training);
    yp_device_free(yp_device_cpu(), s);
}

static enum yp_status put_weights(struct state *s, const struct vit_options *o)
{
    const size_t count = vit_elements(o, VIT_PARTS);
    float *start = yp_device_alloc(yp_device_cpu(), count * sizeof *start);
    enum yp_status status =
        start != NULL ? vit_initialise(s->vit, s->work.seed, start) : yp_last_status();
    if (status == YP_OK)
        status =
            ypi_refiner_training_open(&s->training, s->work.device, count, start, s->work.train);
    yp_device_free(yp_device_cpu(), start);
    return status;
}

static enum yp_status put_images(struct state *s, const struct vit_options *o)
{
    const size_t pixels = o->batch * o->tile * o->tile;
    double *image = ypi_refiner_bell(s->work.seed, 1, pixels * o->channels);
    enum yp_status status = image != NULL ? vit_set_input(s->vit, image) : yp_last_status();
    yp_device_free(yp_device_cpu(), image);
    if (status != YP_OK || !s->work.train)
        return status;
    double *target = ypi_refiner_bell(s->work.seed, 2, pixels * o->head_width);
    status = target != NULL ? vit_set_target(s->vit, target) : yp_last_status();
    yp_device_free(yp_device_cpu(), target);
    return status;
}

static void *open_real(const struct ypi_refiner_work *work)
{
    const struct vit_options o = ypi_refiner_real_options(work);
    struct state *s = yp_device_alloc(yp_device_cpu(), sizeof *s);
    if (s == NULL)
        return NULL;
    *s = (struct state){.work = *work, .vit = vit_create(&o), .training = {.device = work->device}};
    if (s->vit != NULL && vit_start(s->vit) == YP_OK && put_weights(s, &o) == YP_OK &&
        put_images(s, &o) == YP_OK)
        return s;
    close_real(s);
    return NULL;
}

/* Seconds of a half; the device is done. */
static enum yp_status timed(struct state *s,
                            enum yp_status (*half)(struct vit *, const void *, unsigned),
                            double *seconds)
{
    const double begun = ypi_now();
    enum yp_status status = half(s->vit, s->training.x, s->work.train ? NN_MODEL_COPY : 0);
    if (status == YP_OK)
        status = yp_device_synchronize(s->work.device);
    *seconds += ypi_now() - begun;
    return status;
}

static enum yp_status forward(void *model)
{
    struct state *s = model;
    const enum yp_status status = timed(s, vit_encode, &s->encoder);
    return status == YP_OK ? timed(s, vit_refine, &s->head) : status;
}

static enum yp_status backward(void *model)
{
    struct state *s = model;
    return vit_pass(s->vit, s->training.x, s->training.gradient, NN_MODEL_BACK);
}

static enum yp_status update(void *model)
{
    struct state *s = model;
    return ypi_refiner_training_update(&s->training);
}

static bool note(void *model, char *out, size_t bytes)
{
    const struct state *s = model;
    if (!vit_fell_back(s->vit))
        return false;
    snprintf(out, bytes,
             "the device has no memory for the head: it ran on the CPU, %.0f %% of a forward pass",
             100 * s->head / (s->encoder + s->head));
    return true;
}

const struct ypi_refiner_model ypi_refiner_real = {.name = "real",
                                                   .output = ypi_refiner_real_output,
                                                   .pass = ypi_refiner_real_pass,
                                                   .plan = plan,
                                                   .open = open_real,
                                                   .close = close_real,
                                                   .forward = forward,
                                                   .backward = backward,
                                                   .update = update,
                                                   .note = note};
