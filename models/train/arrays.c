/* Work on arrays of parameters where they lie: loops on the CPU, the plugin's kernels on a GPU. */
#include "models/train/cuda/train_cuda.h"
#include "models/train/internal.h"

#include "models/nn/operators/sum_squares.h"

#include <assert.h>
#include <string.h>
#include <yieldpoint/plugin.h>

const struct train_cuda *ypi_train_cuda(void)
{
    return yp_plugin_table(TRAIN_CUDA_PLUGIN, sizeof(struct train_cuda));
}

enum yp_status ypi_train_zero(const struct ypi_train_arrays *a, void *values, size_t bytes)
{
    if (a->cuda != NULL)
        return a->cuda->zero(a->device, &(struct train_cuda_zero){bytes / 4, values});
    memset(values, 0, bytes);
    return YP_OK;
}

enum yp_status ypi_train_copy(const struct ypi_train_arrays *a, void *to, const void *from,
                              size_t bytes)
{
    if (a->cuda != NULL)
        return yp_device_copy(a->device, to, from, bytes);
    memcpy(to, from, bytes);
    return YP_OK;
}

enum yp_status ypi_train_add(const struct ypi_train_arrays *a, double weight)
{
    if (a->cuda != NULL)
        return a->cuda->sum(a->device,
                            &(struct train_cuda_sum){a->count, false, weight, a->gradient, a->sum});
    for (size_t i = 0; i < a->count; i++)
        a->sum[i] += weight * (double)a->gradient[i];
    return YP_OK;
}

enum yp_status ypi_train_divide(const struct ypi_train_arrays *a, double weight)
{
    if (a->cuda != NULL)
        return a->cuda->sum(a->device,
                            &(struct train_cuda_sum){a->count, true, weight, a->gradient, a->sum});
    for (size_t i = 0; i < a->count; i++)
        a->gradient[i] = (float)(a->sum[i] / weight);
    return YP_OK;
}

enum yp_status ypi_train_scale(const struct ypi_train_arrays *a, size_t first, size_t count,
                               double factor)
{
    if (a->cuda != NULL)
        return a->cuda->scale(a->device,
                              &(struct train_cuda_scale){count, factor, a->gradient + first});
    train_scale_gradient(count, factor, a->gradient + first);
    return YP_OK;
}

/* One sum a tensor stands behind the parts; all come back in one copy. */
static enum yp_status device_squares(const struct ypi_train_arrays *a,
                                     const struct train_objective *objective,
                                     const struct train_set *frozen, double sums[TRAIN_TENSORS])
{
    enum yp_status status = YP_OK;
    double *there = a->scratch + TRAIN_CUDA_PARTS;
    for (size_t t = 0; status == YP_OK && t < objective->n_tensors; t++) {
        const struct yp_tensor *tensor = &objective->tensors[t];
        const struct train_cuda_squares job = {.count = tensor->count,
                                               .part = nn_squared_part(tensor->count),
                                               .values = a->gradient + tensor->offset,
                                               .parts = a->scratch,
                                               .sum = there + t};
        if (!train_set_has(frozen, t))
            status = a->cuda->squares(a->device, &job);
    }
    return status == YP_OK
               ? yp_device_copy(a->device, sums, there, objective->n_tensors * sizeof *sums)
               : status;
}

enum yp_status ypi_train_squares(const struct ypi_train_arrays *a,
                                 const struct train_objective *objective,
                                 const struct train_set *frozen, double *sum)
{
    double sums[TRAIN_TENSORS];
    if (a->cuda != NULL) {
        enum yp_status status = device_squares(a, objective, frozen, sums);
        if (status != YP_OK)
            return status;
    }
    *sum = 0;
    for (size_t t = 0; t < objective->n_tensors; t++) {
        const struct yp_tensor *tensor = &objective->tensors[t];
        if (!train_set_has(frozen, t))
            *sum += a->cuda != NULL
                        ? sums[t]
                        : train_sum_squares(tensor->count, a->gradient + tensor->offset);
    }
    return YP_OK;
}

enum yp_status ypi_train_average(const struct ypi_train_arrays *a, size_t first, size_t count,
                                 double d)
{
    const float part = (float)(1 - d), *from = a->parameters + first;
    float *to = a->average + first;
    if (a->cuda != NULL)
        return a->cuda->average(a->device, &(struct train_cuda_average){count, part, from, to});
    for (size_t i = 0; i < count; i++)
        to[i] = part < 1 ? to[i] + part * (from[i] - to[i]) : from[i];
    return YP_OK;
}

/* -- optimisers ------------------------------------------------------------------------------- */

size_t ypi_train_states(const struct train_config *config)
{
    if (config->optimiser == TRAIN_ADAMW)
        return 2;
    return config->sgd.momentum > 0 ? 1 : 0;
}

static struct train_cuda_adamw adamw_job(const struct nn_shape *shape)
{
    const struct nn_adamw_shared s = nn_adamw_shared(shape->setting);
    return (struct train_cuda_adamw){.count = shape->size[0],
                                     .keep = s.keep,
                                     .gain1 = s.gain1,
                                     .beta2 = s.beta2,
                                     .gain2 = s.gain2,
                                     .correction = s.correction,
                                     .eps = s.eps,
                                     .step = s.step};
}

static enum yp_status adamw_step(const struct ypi_train_arrays *a, const struct train_adamw *how,
                                 double factor, uint64_t t, const struct yp_tensor *tensor)
{
    size_t at = tensor->offset;
    const struct nn_shape shape = ypi_adamw_shape(how, t, factor, tensor->count);
    if (a->cuda == NULL) {
        ypi_adamw_step(shape, a->gradient + at, a->state[0] + at, a->state[1] + at,
                       a->parameters + at);
        return YP_OK;
    }
    struct train_cuda_adamw job = adamw_job(&shape);
    job.gradient = a->gradient + at;
    job.m = a->state[0] + at;
    job.v = a->state[1] + at;
    job.parameters = a->parameters + at;
    enum yp_status status =
        factor < 1 ? ypi_train_scale(a, at, tensor->count, factor) : (enum yp_status)YP_OK;
    return status == YP_OK ? a->cuda->adamw(a->device, &job) : status;
}

static enum yp_status sgd_step(const struct ypi_train_arrays *a, const struct train_sgd *how,
                               double factor, uint64_t t, const struct yp_tensor *tensor)
{
    size_t at = tensor->offset;
    enum yp_status status =
        factor < 1 ? ypi_train_scale(a, at, tensor->count, factor) : (enum yp_status)YP_OK;
    if (status != YP_OK)
        return status;
    float *b = a->state[0] != NULL ? a->state[0] + at : NULL;
    const struct ypi_sgd_factors f = ypi_sgd_factors(how, t);
    const struct train_cuda_sgd job = {.count = tensor->count,
                                       .decay = (float)f.decay,
                                       .keep = (float)f.keep,
                                       .gain = (float)f.gain,
                                       .ahead = (float)f.ahead,
                                       .step = (float)f.step,
                                       .nesterov = how->nesterov,
                                       .gradient = a->gradient + at,
                                       .b = b,
                                       .parameters = a->parameters + at};
    if (a->cuda != NULL)
        return a->cuda->sgd(a->device, &job);
    train_sgd_step(how, t, tensor->count, a->gradient + at, b, a->parameters + at);
    return YP_OK;
}

enum yp_status ypi_train_step(const struct ypi_train_arrays *a, const struct train_config *config,
                              double lr, bool decay, double factor, uint64_t t,
                              const struct yp_tensor *tensor)
{
    struct train_adamw adamw = config->adamw;
    struct train_sgd sgd = config->sgd;
    adamw.lr = sgd.lr = lr;
    if (!decay)
        adamw.weight_decay = sgd.weight_decay = 0;
    return config->optimiser == TRAIN_ADAMW ? adamw_step(a, &adamw, factor, t, tensor)
                                            : sgd_step(a, &sgd, factor, t, tensor);
}

const float *ypi_train_for_host(const struct ypi_train_arrays *a, const float *values)
{
    if (a->cuda == NULL)
        return values;
    return yp_device_copy(a->device, a->host, values, a->count * sizeof *values) == YP_OK ? a->host
                                                                                          : NULL;
}

static_assert(YPI_TRAIN_SCRATCH == TRAIN_CUDA_PARTS + TRAIN_TENSORS, "parts, then tensors");
static_assert(TRAIN_STEP_SCRATCH == TRAIN_CUDA_PARTS + 2,
              "the sum and the factor behind the parts");

enum yp_status train_adamw_step_on(struct yp_device *device, const struct train_adamw *how,
                                   uint64_t t, size_t count, double max_norm, double *scratch,
                                   const float *gradient, float *m, float *v, float *parameters)
{
    const void *const needed[] = {device, how, scratch, gradient, m, v, parameters};
    static const char *const names[] = {"device", "how", "scratch",   "gradient",
                                        "m",      "v",   "parameters"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (needed[i] == NULL)
            return yp_set_error(YP_INVALID, "train_adamw_step_on: %s is NULL", names[i]);
    if (yp_device_memory_kind(device) != YP_DEVICE)
        return yp_set_error(YP_UNSUPPORTED, "train_adamw_step_on: device is %s, it takes a GPU",
                            yp_device_name(device));
    if (t == 0)
        return yp_set_error(YP_INVALID, "train_adamw_step_on: t is 0, steps count from 1");
    const struct train_cuda *cuda = ypi_train_cuda();
    if (cuda == NULL)
        return YP_UNSUPPORTED;
    double *sum = scratch + TRAIN_CUDA_PARTS, *factor = sum + 1;
    const struct nn_shape shape = ypi_adamw_shape(how, t, 1, count);
    struct train_cuda_adamw job = adamw_job(&shape);
    job.gradient = gradient;
    job.factor = max_norm > 0 ? factor : NULL;
    job.m = m;
    job.v = v;
    job.parameters = parameters;
    enum yp_status status = YP_OK;
    if (max_norm > 0)
        status = cuda->squares(device,
                               &(struct train_cuda_squares){count, nn_squared_part(count), gradient,
                                                            scratch, sum, max_norm, factor});
    return status == YP_OK ? cuda->adamw(device, &job) : status;
}
