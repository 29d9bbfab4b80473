/* A model that has nothing of RX: linear regression on numbered rows, in plain loops. */
#ifndef TRAIN_ITEMS_H
#define TRAIN_ITEMS_H

#include "models/train/trainer.h"
#include "tests/unit/rx/rx_fixture.h"

#include <math.h>

enum { WIDTH = 5, ROWS = 40 };

struct rows {
    struct yp_device *device; /* of parameters and gradient; NULL: the host */
    bool half;                /* gradients pass through 16 bits: large ones become infinite */
    size_t calls;
};

/* A row's input, its target and how much it counts. */
static inline double row_of(uint32_t row, double x[WIDTH], double *target)
{
    uint64_t state = 900 + row;
    *target = 0.5;
    for (size_t i = 0; i < WIDTH; i++) {
        x[i] = script_uniform(&state) * 2 - 1;
        *target += x[i] * ((double)i - 1.5);
    }
    *target += 0.1 * script_uniform(&state);
    return 1 + row % 3;
}

static inline float through_half(double value)
{
    return fabs(value) > 65504 ? (value > 0 ? INFINITY : -INFINITY) : (float)value;
}

/* Loss, weight and gradient of weights and bias, summed over rows. */
static inline void rows_add(struct train_items items, const double *p, double *loss, double *weight,
                            double gradient[WIDTH + 1])
{
    for (size_t n = 0; n < items.count; n++) {
        double x[WIDTH], target, w = row_of(items.index[n], x, &target), off = p[WIDTH] - target;
        for (size_t i = 0; i < WIDTH; i++)
            off += p[i] * x[i];
        *loss += w * off * off / 2;
        *weight += w;
        for (size_t i = 0; i < WIDTH; i++)
            gradient[i] += w * off * x[i];
        gradient[WIDTH] += w * off;
    }
}

static inline enum yp_status rows_at(const struct rows *rows, const float *from, double *p)
{
    float host[WIDTH + 1];
    if (rows->device == NULL)
        memcpy(host, from, sizeof host);
    else if (yp_device_copy(rows->device, host, from, sizeof host) != YP_OK)
        return yp_last_status();
    for (size_t i = 0; i <= WIDTH; i++)
        p[i] = (double)host[i];
    return YP_OK;
}

static inline enum yp_status rows_gradient(void *arg, struct train_items items,
                                           const float *parameters, double scale, double *mean,
                                           double *weight, float *gradient)
{
    struct rows *rows = arg;
    double p[WIDTH + 1], sum[WIDTH + 1] = {0}, loss = 0;
    float host[WIDTH + 1];
    rows->calls++;
    enum yp_status status = rows_at(rows, parameters, p);
    *weight = 0;
    rows_add(items, p, &loss, weight, sum);
    *mean = loss / *weight;
    for (size_t i = 0; i <= WIDTH; i++)
        host[i] = rows->half ? through_half(scale * (double)(float)(sum[i] / *weight))
                             : (float)scale * (float)(sum[i] / *weight);
    if (rows->device == NULL)
        memcpy(gradient, host, sizeof host);
    else if (status == YP_OK)
        status = yp_device_copy(rows->device, gradient, host, sizeof host);
    return status;
}

enum { ROW_METRICS = 2 };
static const char *const row_metrics[ROW_METRICS] = {"rms", "rows"};

static inline enum yp_status rows_evaluate(void *arg, struct train_items items,
                                           const float *parameters, double *mean, double *weight,
                                           double *metrics)
{
    double p[WIDTH + 1], sum[WIDTH + 1] = {0}, loss = 0;
    enum yp_status status = rows_at(arg, parameters, p);
    *weight = 0;
    rows_add(items, p, &loss, weight, sum);
    *mean = loss / *weight;
    if (metrics != NULL) {
        metrics[0] = sqrt(2 * *mean);
        metrics[1] = (double)items.count;
    }
    return status;
}

static const struct yp_tensor row_tensors[] = {{"w", 0, WIDTH}, {"b", WIDTH, 1}};
static const struct train_setting row_settings[] = {{"width", WIDTH}};

static inline struct train_objective rows_objective(struct rows *rows)
{
    return (struct train_objective){.parameters = WIDTH + 1,
                                    .items = ROWS,
                                    .tensors = row_tensors,
                                    .n_tensors = 2,
                                    .metrics = row_metrics,
                                    .n_metrics = ROW_METRICS,
                                    .settings = row_settings,
                                    .n_settings = 1,
                                    .gradient = rows_gradient,
                                    .evaluate = rows_evaluate,
                                    .any_device = true,
                                    .arg = rows};
}

static inline struct train_config rows_config(void)
{
    struct train_config config = train_defaults();
    config.seed = 5;
    config.epochs = 5;
    config.batch = 4;
    config.accumulate = 2;
    config.optimiser = TRAIN_SGD;
    config.sgd.momentum = 0.8;
    config.sgd.weight_decay = 0.01;
    config.schedule = TRAIN_COSINE;
    config.cosine = (struct train_cosine){.warmup = 4, .steps = 18, .min_lr = 1e-3};
    config.no_decay.word[0] = 2;
    return config;
}

static const float row_start[WIDTH + 1] = {1, -2, 0.5F, 0, 3, -1};

static inline struct train *rows_begin(struct yp_device *device, struct rows *rows,
                                       const struct train_config *config)
{
    struct train_objective objective = rows_objective(rows);
    struct train *train = train_create(device, &objective, config);
    cr_assert_not_null(train, "%s", yp_last_error());
    OK(train_begin(train, row_start));
    return train;
}

#endif
