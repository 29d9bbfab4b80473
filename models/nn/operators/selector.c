/* Soft selection of channels: y (n, c) = x (n, c) k s, s = softmax(logits / T) over channels, of
 * logits (c) and T, one number. dlogits = (p - s sum p) / T with p_c = k s_c sum over rows of dy x,
 * dT = -sum dlogits logits / T. */
#ifndef REAL
#define NN_FILE "models/nn/operators/selector.c"
enum { X, LOGITS, TEMPERATURE, Y };
enum { N, C };
#include "models/nn/fast.h"
#include "models/nn/plain.h"

NN_LOOPS values_loops(const float *x, const float *weight, size_t rows, size_t c, float *restrict y)
{
    for (size_t i = 0; i < rows; i++, x += c, y += c)
        for (size_t k = 0; k < c; k++)
            y[k] = x[k] * weight[k];
}
NN_KERNEL(values, (const float *x, const float *weight, size_t rows, size_t c, float *y),
          (x, weight, rows, c, y))

/* sums (c): of dy x over the rows. */
NN_LOOPS sums_loops(const float *x, const float *dy, size_t rows, size_t c, double *restrict sums)
{
    for (size_t k = 0; k < c; k++)
        sums[k] = 0;
    for (size_t i = 0; i < rows; i++, x += c, dy += c)
        for (size_t k = 0; k < c; k++)
            sums[k] += (double)dy[k] * (double)x[k];
}
NN_KERNEL(sums, (const float *x, const float *dy, size_t rows, size_t c, double *sums),
          (x, dy, rows, c, sums))

/* s (c) in double, k s (c) in float, and sums of chunks (chunks, c) in double. */
static size_t work(const struct nn_shape *shape)
{
    size_t n = shape->size[N], c = shape->size[C];
    return nn_chunks(n, nn_rows(c, NN_CHUNK)) * c * sizeof(double) +
           c * (sizeof(double) + sizeof(float));
}

static void share_out(const struct nn_call *call, double *share, float *weight)
{
    size_t c = call->shape->size[C];
    const float *logits = call->value[LOGITS];
    double t = (double)*(float *)call->value[TEMPERATURE], top = -INFINITY, sum = 0;
    for (size_t k = 0; k < c; k++)
        top = (double)logits[k] > top ? (double)logits[k] : top;
    for (size_t k = 0; k < c; k++)
        sum += share[k] = exp(((double)logits[k] - top) / t);
    for (size_t k = 0; k < c; k++)
        weight[k] = (float)(call->shape->setting[0] * (share[k] /= sum));
}

/* y = x k s, and so are dx and dy. */
static void weigh(const struct nn_call *call, const float *x, const float *weight, float *y)
{
    size_t n = call->shape->size[N], c = call->shape->size[C], rows = nn_rows(c, NN_CHUNK);
    values_kernel *kernel = best_values();
    NN_PARALLEL_FOR(n > NN_FEW * rows, at, n, rows,
                    kernel(x + at * c, weight, nn_least(rows, n - at), c, y + at * c));
}

static enum yp_status forward(const struct nn_call *call)
{
    double *share = call->work;
    float *weight = (float *)(share + call->shape->size[C]);
    share_out(call, share, weight);
    weigh(call, call->value[X], weight, call->value[Y]);
    return YP_OK;
}

static void logits_vjp(const struct nn_call *call, const double *share, const double *sums)
{
    size_t c = call->shape->size[C];
    const float *logits = call->value[LOGITS];
    float *dlogits = call->gradient[LOGITS], *dt = call->gradient[TEMPERATURE];
    double t = (double)*(float *)call->value[TEMPERATURE], k = call->shape->setting[0];
    double all = 0, moved = 0;
    for (size_t i = 0; i < c; i++)
        all += k * share[i] * sums[i];
    for (size_t i = 0; i < c; i++) {
        double d = share[i] * (k * sums[i] - all) / t;
        moved -= d * (double)logits[i] / t;
        if (dlogits != NULL)
            dlogits[i] = (float)d;
    }
    if (dt != NULL)
        *dt = (float)moved;
}

static enum yp_status vjp(const struct nn_call *call)
{
    size_t n = call->shape->size[N], c = call->shape->size[C];
    size_t rows = nn_rows(c, NN_CHUNK), chunks = nn_chunks(n, rows);
    const float *x = call->value[X], *dy = call->gradient[Y];
    double *sums = call->work, *share = sums + chunks * c;
    float *weight = (float *)(share + c);
    share_out(call, share, weight);
    if (call->gradient[X] != NULL)
        weigh(call, dy, weight, call->gradient[X]);
    sums_kernel *kernel = best_sums();
    NN_PARALLEL_FOR(
        n > NN_FEW * rows, at, n, rows,
        kernel(x + at * c, dy + at * c, nn_least(rows, n - at), c, sums + at / rows * c));
    nn_merge(sums, chunks, c);
    logits_vjp(call, share, sums);
    return YP_OK;
}

static double flops(const struct nn_shape *shape, enum nn_pass pass)
{
    double n = (double)shape->size[N], c = (double)shape->size[C];
    return pass == NN_VJP ? n * c * 3 + (NN_FUNCTION + 8) * c : n * c + (NN_FUNCTION + 4) * c;
}

const struct nn_operator nn_selector = {
    .name = "selector",
    .dims = "nc",
    .settings = {"k"},
    .tensors = {{"x", "nc", .role = NN_INPUT},
                {"logits", "c", .role = NN_PARAMETER},
                {"temperature", "", .role = NN_PARAMETER,
                 .domain = {NN_UNIFORM, .low = 0.5, .high = 1.5}},
                {"y", "nc", .role = NN_OUTPUT}},
    .shapes = {{"one", .size = {1, 1}, .setting = {1}},
               {"odd", .size = {5, 7}, .setting = {4}},
               {"small", .size = {64, 100}, .setting = {10}},
               {"medium", .size = {16384, 200}, .setting = {20}}},
    NN_PLAIN,
    .flops = flops,
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp, .work = work}},
};

#else
/* s of one channel. */
static REAL NAME(share)(const REAL *logits, REAL temperature, size_t channels, size_t c)
{
    REAL top = logits[0], sum = 0;
    for (size_t i = 1; i < channels; i++)
        top = logits[i] > top ? logits[i] : top;
    for (size_t i = 0; i < channels; i++)
        sum += exp((logits[i] - top) / temperature);
    return exp((logits[c] - top) / temperature) / sum;
}

static void NAME(forward)(const struct nn_call *call)
{
    size_t n = call->shape->size[N], channels = call->shape->size[C];
    const REAL *x = call->value[X], *t = call->value[TEMPERATURE];
    REAL *y = call->value[Y], k = (REAL)call->shape->setting[0];
    for (size_t c = 0; c < channels; c++) {
        REAL weight = k * NAME(share)(call->value[LOGITS], *t, channels, c);
        for (size_t i = c; i < n * channels; i += channels)
            y[i] = x[i] * weight;
    }
}

static void NAME(vjp)(const struct nn_call *call)
{
    size_t n = call->shape->size[N], channels = call->shape->size[C];
    const REAL *x = call->value[X], *logits = call->value[LOGITS], *t = call->value[TEMPERATURE];
    const REAL *dy = call->gradient[Y];
    REAL *dx = call->gradient[X], *dlogits = call->gradient[LOGITS];
    REAL *dt = call->gradient[TEMPERATURE], k = (REAL)call->shape->setting[0], all = 0;
    for (size_t c = 0; c < channels; c++) {
        REAL share = NAME(share)(logits, *t, channels, c);
        dlogits[c] = 0; /* p */
        for (size_t i = c; i < n * channels; i += channels) {
            dlogits[c] += k * dy[i] * x[i] * share;
            dx[i] = dy[i] * k * share;
        }
        all += dlogits[c];
    }
    *dt = 0;
    for (size_t c = 0; c < channels; c++) {
        dlogits[c] = (dlogits[c] - NAME(share)(logits, *t, channels, c) * all) / *t;
        *dt -= dlogits[c] * logits[c] / *t;
    }
}
#endif
