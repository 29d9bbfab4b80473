/* Batches in parts that a model takes at once. */
#include "models/train/parts.h"

#include "models/nn/model/model.h"

enum yp_status train_parts_gradient(void *arg, struct train_items items, const float *parameters,
                                    double scale, double *mean, double *weight, float *gradient)
{
    const struct train_parts *parts = arg;
    enum yp_status status = YP_OK;
    unsigned flags = NN_MODEL_COPY;
    double sum = 0;
    *weight = parts->weigh != NULL ? parts->weigh(parts->arg, items) : (double)items.count;
    *mean = 0;
    if (!(*weight > 0))
        return YP_OK;
    for (size_t at = 0, count = 0; at < items.count && status == YP_OK; at += count) {
        const struct train_items rest = {items.index + at, items.count - at};
        status = parts->read(parts->arg, rest, &count);
        const bool tells = parts->ready != NULL && gradient != NULL && at + count == items.count;
        if (tells)
            parts->tell(parts->arg, parts->ready, parts->ready_arg);
        if (status == YP_OK)
            status = parts->pass(parts->arg, parameters, gradient, scale / *weight, flags, &sum);
        if (tells)
            parts->tell(parts->arg, NULL, NULL);
        flags = NN_MODEL_ADD;
    }
    *mean = sum / *weight;
    return status;
}

/* Parts before the last one add to a gradient that is not final. */
void train_parts_tell(void *arg, train_ready *ready, void *ready_arg)
{
    struct train_parts *parts = arg;
    parts->ready = parts->tell != NULL ? ready : NULL;
    parts->ready_arg = ready_arg;
}

enum yp_status train_parts_evaluate(void *arg, struct train_items items, const float *parameters,
                                    double *mean, double *weight, double *metrics)
{
    const struct train_parts *parts = arg;
    if (metrics != NULL && parts->begin != NULL)
        parts->begin(parts->arg);
    enum yp_status status = train_parts_gradient(arg, items, parameters, 1, mean, weight, NULL);
    if (status == YP_OK && metrics != NULL && parts->measure != NULL)
        parts->measure(parts->arg, *mean, metrics);
    return status;
}
