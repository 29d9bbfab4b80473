/* Training on a GPU: one thread an element, to the bits of optimiser.c and arrays.c but for the sum
 * of squares, whose order is another one. */
#include "device/cuda/frame.h"
#include "models/train/cuda/train_cuda.h"

#include <yieldpoint/plugin.h>

static const struct yp_plugin_host *host;

#define THREADS 256U
#define BLOCKS 1024U /* at most: threads take several elements beyond */
#define AHEAD 16U    /* values that are read before the first of them is used */

#define EVERY_ELEMENT(i_, count_) \
    YPK_EVERY (t) \
        for (size_t i_ = YPK_INDEX(t); i_ < (count_); i_ += (size_t)YPK_GRID_X * YPK_THREADS)

YPK_KERNEL(zero_kernel, struct train_cuda_zero, job, THREADS)
{
    EVERY_ELEMENT(i, job.words)
    job.values[i] = 0;
}

YPK_KERNEL(sum_kernel, struct train_cuda_sum, job, THREADS)
{
    EVERY_ELEMENT(i, job.count)
    if (job.divide)
        job.gradient[i] = (float)(job.sum[i] / job.weight);
    else
        job.sum[i] += job.weight * (double)job.gradient[i];
}

YPK_KERNEL(scale_kernel, struct train_cuda_scale, job, THREADS)
{
    EVERY_ELEMENT(i, job.count)
    job.values[i] = (float)(job.factor * (double)job.values[i]);
}

/* A block a part: each thread has every THREADS-th element. */
YPK_KERNEL(parts_kernel, struct train_cuda_squares, job, THREADS)
{
    YPK_SHARED_ARRAY(double, sums, THREADS);
    const size_t begin = (size_t)YPK_BLOCK_X * job.part;
    const size_t end = job.count - begin < job.part ? job.count : begin + job.part;
    YPK_EVERY (t) {
        double sum = 0;
        for (size_t first = begin + t; first < end; first += AHEAD * THREADS) {
            float some[AHEAD];
            YPK_UNROLL(16)
            for (unsigned i = 0; i < AHEAD; i++) {
                size_t at = first + i * THREADS;
                some[i] = at < end ? job.values[at] : 0;
            }
            YPK_UNROLL(16)
            for (unsigned i = 0; i < AHEAD; i++)
                sum += (double)some[i] * (double)some[i];
        }
        sums[t] = sum;
    }
    ypk_block_barrier();
    for (unsigned half = THREADS / 2; half > 0; half /= 2) {
        YPK_EACH (t, half)
            sums[t] += sums[t + half];
        ypk_block_barrier();
    }
    YPK_EACH (t, 1U)
        job.parts[YPK_BLOCK_X + t] = sums[0];
}

YPK_KERNEL(squares_kernel, struct train_cuda_squares, job, 1)
{
    double sum = 0;
    const unsigned parts = (unsigned)((job.count + job.part - 1) / job.part);
    YPK_UNROLL(32)
    for (unsigned i = 0; i < parts; i++)
        sum += job.parts[i];
    *job.sum = sum;
    if (job.factor != NULL) {
        double factor = job.max_norm > 0 ? job.max_norm / (sqrt(sum) + 1e-6) : 1;
        *job.factor = factor < 1 ? factor : 1;
    }
}

YPK_KERNEL(adamw_kernel, struct train_cuda_adamw, job, THREADS)
{
    EVERY_ELEMENT(i, job.count)
    {
        float g = job.gradient[i];
        if (job.factor != NULL)
            g = (float)(*job.factor * (double)g);
        float m = ypk_add(job.m[i], ypk_mul(job.gain1, ypk_sub(g, job.m[i])));
        float v = ypk_add(ypk_mul(job.beta2, job.v[i]), ypk_mul(ypk_mul(job.gain2, g), g));
        float scale = ypk_add(ypk_div(ypk_root(v), job.correction), job.eps);
        job.m[i] = m;
        job.v[i] = v;
        job.parameters[i] =
            ypk_sub(ypk_mul(job.keep, job.parameters[i]), ypk_mul(job.step, ypk_div(m, scale)));
    }
}

YPK_KERNEL(sgd_kernel, struct train_cuda_sgd, job, THREADS)
{
    EVERY_ELEMENT(i, job.count)
    {
        float g = ypk_add(job.gradient[i], ypk_mul(job.decay, job.parameters[i])), way = g;
        if (job.b != NULL) {
            float b = ypk_add(ypk_mul(job.keep, job.b[i]), ypk_mul(job.gain, g));
            job.b[i] = b;
            way = job.nesterov ? ypk_add(g, ypk_mul(job.ahead, b)) : b;
        }
        job.parameters[i] = ypk_sub(job.parameters[i], ypk_mul(job.step, way));
    }
}

YPK_KERNEL(average_kernel, struct train_cuda_average, job, THREADS)
{
    EVERY_ELEMENT(i, job.count)
    {
        float from = job.parameters[i], to = job.average[i];
        job.average[i] = job.part < 1 ? ypk_add(to, ypk_mul(job.part, ypk_sub(from, to))) : from;
    }
}

/* -- launches --------------------------------------------------------------------------------- */

static unsigned blocks_for(size_t count)
{
    return count < (size_t)BLOCKS * THREADS ? ypk_blocks(count, THREADS) : BLOCKS;
}

#define LAUNCH(kernel_, count_, what_) \
    do { \
        if ((count_) == 0) \
            return YP_OK; \
        YPK_LAUNCH(kernel_, ypk_grid(blocks_for(count_), 1), THREADS, 0, ypk_stream(host, device), \
                   *job); \
        return ypk_launched(host, what_); \
    } while (0)

static enum yp_status zero(struct yp_device *device, const struct train_cuda_zero *job)
{
    LAUNCH(zero_kernel, job->words, "zero");
}

static enum yp_status sum(struct yp_device *device, const struct train_cuda_sum *job)
{
    LAUNCH(sum_kernel, job->count, "sum");
}

static enum yp_status scale(struct yp_device *device, const struct train_cuda_scale *job)
{
    LAUNCH(scale_kernel, job->count, "scale");
}

static enum yp_status squares(struct yp_device *device, const struct train_cuda_squares *job)
{
    ypk_stream_type stream = ypk_stream(host, device);
    YPK_LAUNCH(parts_kernel, ypk_grid(ypk_blocks(job->count, job->part), 1), THREADS, 0, stream,
               *job);
    if (job->sum != NULL)
        YPK_LAUNCH(squares_kernel, ypk_grid(1, 1), 1, 0, stream, *job);
    return ypk_launched(host, "squares");
}

static enum yp_status adamw(struct yp_device *device, const struct train_cuda_adamw *job)
{
    LAUNCH(adamw_kernel, job->count, "adamw");
}

static enum yp_status sgd(struct yp_device *device, const struct train_cuda_sgd *job)
{
    LAUNCH(sgd_kernel, job->count, "sgd");
}

static enum yp_status average(struct yp_device *device, const struct train_cuda_average *job)
{
    LAUNCH(average_kernel, job->count, "average");
}

static const struct train_cuda table = {zero, sum, scale, squares, adamw, sgd, average};
YP_PLUGIN(TRAIN_CUDA_PLUGIN, table, host)
