/* RX on a GPU: the kernels and their launches. */
#include "models/rx/cuda/factor.h"
#include "models/rx/cuda/merge.h"
#include "models/rx/cuda/rows.h"

#include <yieldpoint/plugin.h>

static const struct yp_plugin_host *host;

struct products_job {
    struct rxc_gram gram;
    unsigned multiprocessors;
};

/* As many registers as `blocks` of `threads` threads have beside each other. */
#define PRODUCTS_KERNEL(name_, weighted_, threads_, blocks_) \
    YPK_KERNEL(name_, struct products_job, job, threads_, blocks_) \
    { \
        YPK_DYNAMIC(float, shared); \
        YPK_PRIVATE(struct rxc_multiplier, own, threads_); \
        rxc_products(&job.gram, YPK_BLOCK_X, \
                     threads_ == 128 ? YPK_BLOCK_X / job.multiprocessors : 0, YPK_THREADS, \
                     rxc_row_of(threads_), weighted_, shared, own); \
    }
PRODUCTS_KERNEL(products_128, false, 128, 4)
PRODUCTS_KERNEL(products_384, false, 384, 1)
PRODUCTS_KERNEL(products_512, false, 512, 1)
PRODUCTS_KERNEL(weighted_128, true, 128, 3)
PRODUCTS_KERNEL(weighted_384, true, 384, 1)
PRODUCTS_KERNEL(weighted_512, true, 512, 1)

#define QUADRATIC_KERNEL(name_, outcome_, blocks_) \
    YPK_KERNEL(name_, struct rxc_quadratic, job, RXC_QUADRATIC_THREADS, blocks_) \
    { \
        YPK_DYNAMIC(float, shared); \
        YPK_PRIVATE(struct rxc_lane, own, 32); \
        rxc_quadratics(&job, YPK_BLOCK_X, outcome_, shared, own); \
    }
QUADRATIC_KERNEL(quadratic_scores, RXC_SCORES, 2)
QUADRATIC_KERNEL(quadratic_loss, RXC_LOSS, 2)
QUADRATIC_KERNEL(quadratic_products, RXC_PRODUCTS, 3)

YPK_KERNEL(channels_kernel, struct rxc_merge, job, RXC_MERGE_THREADS)
{
    YPK_SHARED(struct rxc_merge_shared, shared);
    YPK_PRIVATE(double, mean, RXC_MERGE_THREADS);
    rxc_merge_channels(&job, YPK_BLOCK_X, &shared, mean);
}

/* The block after the last entries counts. */
YPK_KERNEL(entries_kernel, struct rxc_merge, job, RXC_MERGE_THREADS)
{
    YPK_SHARED(struct rxc_merge_shared, shared);
    if (YPK_BLOCK_X < rxc_entry_blocks(job.channels))
        rxc_merge_entries(&job, YPK_BLOCK_X, &shared);
    else
        rxc_merge_counts(&job, &shared);
}

#define SINGLE_THREADS 256U /* of a block whose threads have nothing in common */

struct fold_job {
    unsigned channels;
    const float *a;
    float *slices;
};

YPK_KERNEL(fold_kernel, struct fold_job, job, SINGLE_THREADS)
{
    YPK_EVERY (t) {
        unsigned i = (unsigned)YPK_INDEX(t), row, k;
        if (i < rxc_slices(job.channels)) {
            rxc_entry(i, &row, &k);
            job.slices[i] = rxc_folded(job.channels, job.a, row, k);
        }
    }
}

YPK_KERNEL(add_loss_kernel, struct rxc_loss, job, RXC_LOSS_THREADS)
{
    YPK_SHARED_ARRAY(double, shared, RXC_LOSS_THREADS);
    rxc_add_loss(&job, shared);
}

YPK_KERNEL(gradient_kernel, struct rxc_loss, job, SINGLE_THREADS)
{
    YPK_EVERY (t)
        if (YPK_INDEX(t) < (size_t)job.channels * (job.channels + 1) + 2)
            rxc_write_gradient(&job, YPK_INDEX(t));
}

YPK_KERNEL(factor_kernel, struct rxc_factor, job, RXC_FACTOR_THREADS)
{
    YPK_SHARED(struct rxc_factor_shared, shared);
    YPK_PRIVATE(double, sum, RXC_FACTOR_THREADS);
    rxc_factorise(&job, &shared, sum);
}

YPK_KERNEL(gather_kernel, struct rxc_gather, job, RXC_ROW_THREADS)
{
    YPK_SHARED_ARRAY(unsigned, invalid, RXC_GATHERED);
    rxc_gather_rows(&job, YPK_BLOCK_X, invalid);
}

YPK_KERNEL(linear_kernel, struct rxc_linear, job, RXC_ROW_THREADS)
{
    unsigned wides = (job.outputs + RXC_WIDE - 1) / RXC_WIDE; /* neighbours read the same rows */
    YPK_SHARED(struct rxc_linear_shared, shared);
    YPK_PRIVATE(struct rxc_linear_own, own, RXC_ROW_THREADS);
    rxc_linear_rows(&job, YPK_BLOCK_X / wides, YPK_BLOCK_X % wides, &shared, own);
}

YPK_KERNEL(dots_kernel, struct rxc_dots, job, RXC_ROW_THREADS)
{
    YPK_SHARED(struct rxc_dots_shared, shared);
    rxc_dots_rows(&job, YPK_BLOCK_X, &shared);
}

YPK_KERNEL(columns_kernel, struct rxc_columns, job, RXC_ROW_THREADS)
{
    YPK_SHARED(struct rxc_columns_shared, shared);
    rxc_columns_rows(&job, YPK_BLOCK_X, YPK_BLOCK_Y, &shared);
}

YPK_KERNEL(cross_kernel, struct rxc_cross, job, RXC_ROW_THREADS)
{
    YPK_SHARED(struct rxc_cross_shared, shared);
    YPK_PRIVATE(struct rxc_cross_own, own, RXC_ROW_THREADS);
    rxc_cross_rows(&job, YPK_BLOCK_X, YPK_BLOCK_Y, &shared, own);
}

YPK_KERNEL(parts_kernel, struct rxc_parts, job, SINGLE_THREADS)
{
    YPK_EVERY (t)
        if (YPK_INDEX(t) < job.count)
            rxc_add_parts(&job, YPK_INDEX(t));
}

/* -- launches ------------------------------------------------------------------------------- */

static enum yp_status check(unsigned channels, const char *what)
{
    if (channels == 0 || channels > RXC_CHANNELS)
        return host->set_error(YP_INVALID, "%s: channels is %u, allowed are 1 to %u", what,
                               channels, RXC_CHANNELS);
    return YP_OK;
}

YPK_KERNEL_TYPE(products_kernel, struct products_job);

static products_kernel *products_kernel_of(bool weighted, unsigned threads)
{
    static products_kernel *const kernels[2][3] = {{products_128, products_384, products_512},
                                                   {weighted_128, weighted_384, weighted_512}};
    return kernels[weighted][threads <= 128 ? 0 : threads <= 384 ? 1 : 2];
}

static enum yp_status gram(struct yp_device *device, const struct rxc_gram *job)
{
    enum yp_status status = check(job->channels, "gram");
    unsigned threads = rxc_product_threads(job->channels);
    size_t bytes = rxc_product_shared(job->channels);
    if (status != YP_OK || job->pixels == 0)
        return status;
    const struct products_job all = {*job, ypk_multiprocessors()};
    products_kernel *kernel = products_kernel_of(job->weights != NULL, threads);
    status = ypk_allow_shared(host, kernel, bytes, "gram");
    if (status == YP_OK)
        status = ypk_prefer_shared(host, kernel, "gram");
    if (status != YP_OK)
        return status;
    YPK_LAUNCH(kernel, ypk_grid(ypk_blocks(job->pixels, job->range), 1), threads, bytes,
               ypk_stream(host, device), all);
    return ypk_launched(host, "gram");
}

static enum yp_status merge(struct yp_device *device, const struct rxc_merge *job)
{
    enum yp_status status = check(job->channels, "merge");
    if (status != YP_OK || job->blocks == 0)
        return status;
    unsigned entries = rxc_entry_blocks(job->channels) + (job->weighted ? 0 : 1);
    ypk_stream_type stream = ypk_stream(host, device);
    YPK_LAUNCH(channels_kernel, ypk_grid(ypk_blocks(job->channels, RXC_MERGE_COLUMNS), 1),
               RXC_MERGE_THREADS, 0, stream, *job);
    YPK_LAUNCH(entries_kernel, ypk_grid(entries, 1), RXC_MERGE_THREADS, 0, stream, *job);
    return ypk_launched(host, "merge");
}

YPK_KERNEL_TYPE(quadratic_kernel, struct rxc_quadratic);

static enum yp_status quadratic(struct yp_device *device, const struct rxc_quadratic *job)
{
    static quadratic_kernel *const kernels[] = {quadratic_scores, quadratic_loss,
                                                quadratic_products}; /* by enum rxc_outcome */
    enum yp_status status = check(job->channels, "quadratic");
    size_t bytes = rxc_quadratic_shared(job->channels);
    if (status != YP_OK || job->places == 0)
        return status;
    quadratic_kernel *kernel = kernels[rxc_outcome_of(job)];
    status = ypk_allow_shared(host, kernel, bytes, "quadratic");
    if (status == YP_OK)
        status = ypk_prefer_shared(host, kernel, "quadratic");
    if (status != YP_OK)
        return status;
    YPK_LAUNCH(kernel, ypk_grid(rxc_pixel_blocks(job->places), 1), RXC_QUADRATIC_THREADS, bytes,
               ypk_stream(host, device), *job);
    return ypk_launched(host, "quadratic");
}

static enum yp_status fold(struct yp_device *device, unsigned channels, const float *a,
                           float *slices)
{
    enum yp_status status = check(channels, "fold");
    if (status != YP_OK)
        return status;
    const struct fold_job job = {channels, a, slices};
    YPK_LAUNCH(fold_kernel, ypk_grid(ypk_blocks(rxc_slices(channels), SINGLE_THREADS), 1),
               SINGLE_THREADS, 0, ypk_stream(host, device), job);
    return ypk_launched(host, "fold");
}

static enum yp_status add_loss(struct yp_device *device, const struct rxc_loss *job)
{
    YPK_LAUNCH(add_loss_kernel, ypk_grid(1, 1), RXC_LOSS_THREADS, 0, ypk_stream(host, device),
               *job);
    return ypk_launched(host, "add_loss");
}

static enum yp_status gradient(struct yp_device *device, const struct rxc_loss *job)
{
    size_t count = (size_t)job->channels * (job->channels + 1) + 2;
    YPK_LAUNCH(gradient_kernel, ypk_grid(ypk_blocks(count, SINGLE_THREADS), 1), SINGLE_THREADS, 0,
               ypk_stream(host, device), *job);
    return ypk_launched(host, "gradient");
}

static enum yp_status factor(struct yp_device *device, const struct rxc_factor *job)
{
    enum yp_status status = check(job->channels, "factor");
    if (status != YP_OK)
        return status;
    YPK_LAUNCH(factor_kernel, ypk_grid(1, 1), RXC_FACTOR_THREADS, 0, ypk_stream(host, device),
               *job);
    return ypk_launched(host, "factor");
}

static enum yp_status gather(struct yp_device *device, const struct rxc_gather *job)
{
    if (job->pixels == 0)
        return YP_OK;
    YPK_LAUNCH(gather_kernel, ypk_grid(ypk_blocks(job->pixels, RXC_GATHERED), 1), RXC_ROW_THREADS,
               0, ypk_stream(host, device), *job);
    return ypk_launched(host, "gather");
}

static enum yp_status linear(struct yp_device *device, const struct rxc_linear *job)
{
    unsigned blocks = rxc_pixel_blocks(job->pixels) * ypk_blocks(job->outputs, RXC_WIDE);
    if (job->pixels == 0)
        return YP_OK;
    YPK_LAUNCH(linear_kernel, ypk_grid(blocks, 1), RXC_ROW_THREADS, 0, ypk_stream(host, device),
               *job);
    return ypk_launched(host, "linear");
}

static enum yp_status dots(struct yp_device *device, const struct rxc_dots *job)
{
    if (job->pixels == 0)
        return YP_OK;
    YPK_LAUNCH(dots_kernel, ypk_grid(rxc_pixel_blocks(job->pixels), 1), RXC_ROW_THREADS, 0,
               ypk_stream(host, device), *job);
    return ypk_launched(host, "dots");
}

static enum yp_status columns(struct yp_device *device, const struct rxc_columns *job)
{
    if (job->pixels == 0)
        return YP_OK;
    YPK_LAUNCH(columns_kernel,
               ypk_grid(rxc_ranges(job->pixels, job->range), ypk_blocks(job->width, RXC_COLUMNS)),
               RXC_ROW_THREADS, 0, ypk_stream(host, device), *job);
    return ypk_launched(host, "columns");
}

static enum yp_status cross(struct yp_device *device, const struct rxc_cross *job)
{
    unsigned squares = ypk_blocks(job->rows, RXC_WIDE) * ypk_blocks(job->columns, RXC_WIDE);
    if (job->pixels == 0)
        return YP_OK;
    YPK_LAUNCH(cross_kernel, ypk_grid(rxc_ranges(job->pixels, job->range), squares),
               RXC_ROW_THREADS, 0, ypk_stream(host, device), *job);
    return ypk_launched(host, "cross");
}

static enum yp_status parts(struct yp_device *device, const struct rxc_parts *job)
{
    if (job->count == 0)
        return YP_OK;
    YPK_LAUNCH(parts_kernel, ypk_grid(ypk_blocks(job->count, SINGLE_THREADS), 1), SINGLE_THREADS, 0,
               ypk_stream(host, device), *job);
    return ypk_launched(host, "parts");
}

static const struct rx_cuda table = {gram,   merge,  quadratic, fold,    add_loss, gradient, factor,
                                     gather, linear, dots,      columns, cross,    parts};
YP_PLUGIN(RXC_PLUGIN, table, host)
