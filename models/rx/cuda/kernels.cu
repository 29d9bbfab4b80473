/* RX on a GPU: kernels around the work of block.h's kind, and their launches. */
#include "models/rx/cuda/factor.h"
#include "models/rx/cuda/merge.h"
#include "models/rx/cuda/rows.h"

#include <cuda_runtime.h>
#include <yieldpoint/plugin.h>

static const struct yp_plugin_host *host;

/* As many registers as `blocks` of `most` threads have beside each other. */
template <bool weighted, int most, int blocks>
static __global__ void __launch_bounds__(most, blocks)
    products_kernel(struct rxc_gram job, unsigned multiprocessors)
{
    extern __shared__ float4 shared[];
    struct rxc_multiplier own[RXC_HELD(most)];
    rxc_products(&job, blockIdx.x, most == 128 ? blockIdx.x / multiprocessors : 0, blockDim.x,
                 rxc_row_of(most), weighted, reinterpret_cast<float *>(shared), own);
}

template <enum rxc_outcome outcome>
static __global__ void __launch_bounds__(RXC_QUADRATIC_THREADS, outcome == RXC_PRODUCTS ? 3 : 2)
    quadratic_kernel(struct rxc_quadratic job)
{
    extern __shared__ float4 shared[];
    struct rxc_lane own[RXC_HELD(32)];
    rxc_quadratics(&job, blockIdx.x, outcome, reinterpret_cast<float *>(shared), own);
}

static __global__ void __launch_bounds__(RXC_MERGE_THREADS) channels_kernel(struct rxc_merge job)
{
    __shared__ struct rxc_merge_room room;
    double mean[RXC_HELD(RXC_MERGE_THREADS)];
    rxc_merge_channels(&job, blockIdx.x, &room, mean);
}

/* The block after the last entries counts. */
static __global__ void __launch_bounds__(RXC_MERGE_THREADS) entries_kernel(struct rxc_merge job)
{
    __shared__ struct rxc_merge_room room;
    if (blockIdx.x < rxc_entry_blocks(job.channels))
        rxc_merge_entries(&job, blockIdx.x, &room);
    else
        rxc_merge_counts(&job, &room);
}

static __global__ void fold_kernel(unsigned channels, const float *a, float *slices)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, row, k;
    if (i >= rxc_slices(channels))
        return;
    rxc_entry(i, &row, &k);
    slices[i] = rxc_folded(channels, a, row, k);
}

static __global__ void __launch_bounds__(RXC_LOSS_THREADS) add_loss_kernel(struct rxc_loss job)
{
    __shared__ double shared[RXC_LOSS_THREADS];
    rxc_add_loss(&job, shared);
}

static __global__ void gradient_kernel(struct rxc_loss job)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at < (size_t)job.channels * (job.channels + 1) + 2)
        rxc_write_gradient(&job, at);
}

static __global__ void norm_kernel(size_t count, const float *values, double *parts)
{
    unsigned part = blockIdx.x * blockDim.x + threadIdx.x;
    parts[part] = rxc_norm_part(count, values, part);
}

static __global__ void clip_kernel(const double *parts, double most, double *factor)
{
    *factor = rxc_clip(parts, most);
}

static __global__ void adamw_kernel(struct rxc_adamw job)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < job.count; i += step)
        rxc_adamw_element(&job, i);
}

static __global__ void __launch_bounds__(RXC_FACTOR_THREADS) factor_kernel(struct rxc_factor job)
{
    __shared__ struct rxc_factor_room room;
    double sum[RXC_HELD(RXC_FACTOR_THREADS)];
    rxc_factorise(&job, &room, sum);
}

static __global__ void __launch_bounds__(RXC_ROW_THREADS) gather_kernel(struct rxc_gather job)
{
    __shared__ unsigned odd[RXC_GATHERED];
    rxc_gather_rows(&job, blockIdx.x, odd);
}

static __global__ void __launch_bounds__(RXC_ROW_THREADS) linear_kernel(struct rxc_linear job)
{
    unsigned wides = (job.outputs + RXC_WIDE - 1) / RXC_WIDE; /* neighbours read the same rows */
    __shared__ __align__(16) struct rxc_linear_room room;
    struct rxc_linear_own own[RXC_HELD(RXC_ROW_THREADS)];
    rxc_linear_rows(&job, blockIdx.x / wides, blockIdx.x % wides, &room, own);
}

static __global__ void __launch_bounds__(RXC_ROW_THREADS) dots_kernel(struct rxc_dots job)
{
    __shared__ struct rxc_dots_room room;
    rxc_dots_rows(&job, blockIdx.x, &room);
}

static __global__ void __launch_bounds__(RXC_ROW_THREADS) columns_kernel(struct rxc_columns job)
{
    __shared__ struct rxc_columns_room room;
    rxc_columns_rows(&job, blockIdx.x, blockIdx.y, &room);
}

static __global__ void __launch_bounds__(RXC_ROW_THREADS) cross_kernel(struct rxc_cross job)
{
    __shared__ __align__(16) struct rxc_cross_room room;
    struct rxc_cross_own own[RXC_HELD(RXC_ROW_THREADS)];
    rxc_cross_rows(&job, blockIdx.x, blockIdx.y, &room, own);
}

static __global__ void parts_kernel(struct rxc_parts job)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at < job.count)
        rxc_add_parts(&job, at);
}

/* -- launches ------------------------------------------------------------------------------- */

static enum yp_status check(unsigned channels, const char *what)
{
    if (channels == 0 || channels > RXC_CHANNELS)
        return host->set_error(YP_INVALID, "%s: channels is %u, allowed are 1 to %u", what,
                               channels, RXC_CHANNELS);
    return YP_OK;
}

/* More shared memory than every kernel may have is asked for, and as much of the multiprocessor's
 * for it as there is, so that several blocks find room. Once is enough, but a context can be
 * another one by now. */
template <typename function>
static enum yp_status allow(function kernel, size_t bytes, const char *what)
{
    cudaError_t error =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (error == cudaSuccess)
        error = cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                     cudaSharedmemCarveoutMaxShared);
    return yp_plugin_status(host, error, what);
}

static unsigned blocks_for(size_t count, size_t each)
{
    return (unsigned)((count + each - 1) / each);
}

typedef void (*rxc_products_kernel)(struct rxc_gram, unsigned);

/* Asked for once: a process has one device. */
static unsigned multiprocessors(void)
{
    static int count;
    if (count <= 0 &&
        cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0) != cudaSuccess)
        (void)cudaGetLastError();
    return count > 0 ? (unsigned)count : 1;
}

template <bool weighted> static rxc_products_kernel products_kernel_of(unsigned threads)
{
    if (threads <= 128)
        return products_kernel < weighted, 128, weighted ? 3 : 4 > ;
    if (threads <= 384)
        return products_kernel<weighted, 384, 1>;
    return products_kernel<weighted, 512, 1>;
}

static enum yp_status gram(struct yp_device *device, const struct rxc_gram *job)
{
    enum yp_status status = check(job->channels, "gram");
    unsigned threads = rxc_product_threads(job->channels);
    size_t bytes = rxc_product_shared(job->channels);
    if (status != YP_OK || job->pixels == 0)
        return status;
    rxc_products_kernel kernel = job->weights != NULL ? products_kernel_of<true>(threads)
                                                      : products_kernel_of<false>(threads);
    status = allow(kernel, bytes, "gram");
    if (status != YP_OK)
        return status;
    kernel<<<blocks_for(job->pixels, job->range), threads, bytes, yp_plugin_stream(host, device)>>>(
        *job, multiprocessors());
    return yp_plugin_launched(host, "gram");
}

static enum yp_status merge(struct yp_device *device, const struct rxc_merge *job)
{
    enum yp_status status = check(job->channels, "merge");
    if (status != YP_OK || job->blocks == 0)
        return status;
    unsigned entries = rxc_entry_blocks(job->channels) + (job->weighted ? 0 : 1);
    cudaStream_t stream = yp_plugin_stream(host, device);
    channels_kernel<<<blocks_for(job->channels, RXC_ABREAST), RXC_MERGE_THREADS, 0, stream>>>(*job);
    entries_kernel<<<entries, RXC_MERGE_THREADS, 0, stream>>>(*job);
    return yp_plugin_launched(host, "merge");
}

typedef void (*rxc_quadratic_kernel)(struct rxc_quadratic);

static enum yp_status quadratic(struct yp_device *device, const struct rxc_quadratic *job)
{
    static const rxc_quadratic_kernel kernels[] = {
        quadratic_kernel<RXC_SCORES>, quadratic_kernel<RXC_LOSS>, quadratic_kernel<RXC_PRODUCTS>};
    enum yp_status status = check(job->channels, "quadratic");
    size_t bytes = rxc_quadratic_shared(job->channels);
    if (status != YP_OK || job->room == 0)
        return status;
    rxc_quadratic_kernel kernel = kernels[rxc_outcome_of(job)];
    status = allow(kernel, bytes, "quadratic");
    if (status != YP_OK)
        return status;
    kernel<<<rxc_pixel_blocks(job->room), RXC_QUADRATIC_THREADS, bytes,
             yp_plugin_stream(host, device)>>>(*job);
    return yp_plugin_launched(host, "quadratic");
}

static enum yp_status fold(struct yp_device *device, unsigned channels, const float *a,
                           float *slices)
{
    enum yp_status status = check(channels, "fold");
    if (status != YP_OK)
        return status;
    fold_kernel<<<blocks_for(rxc_slices(channels), 256), 256, 0, yp_plugin_stream(host, device)>>>(
        channels, a, slices);
    return yp_plugin_launched(host, "fold");
}

static enum yp_status add_loss(struct yp_device *device, const struct rxc_loss *job)
{
    add_loss_kernel<<<1, RXC_LOSS_THREADS, 0, yp_plugin_stream(host, device)>>>(*job);
    return yp_plugin_launched(host, "add_loss");
}

static enum yp_status gradient(struct yp_device *device, const struct rxc_loss *job)
{
    size_t count = (size_t)job->channels * (job->channels + 1) + 2;
    gradient_kernel<<<blocks_for(count, 256), 256, 0, yp_plugin_stream(host, device)>>>(*job);
    return yp_plugin_launched(host, "gradient");
}

static enum yp_status clip(struct yp_device *device, size_t count, const float *values, double most,
                           double *parts, double *factor)
{
    cudaStream_t stream = yp_plugin_stream(host, device);
    norm_kernel<<<RXC_NORM_PARTS / 32, 32, 0, stream>>>(count, values, parts);
    clip_kernel<<<1, 1, 0, stream>>>(parts, most, factor);
    return yp_plugin_launched(host, "clip");
}

static enum yp_status adamw(struct yp_device *device, const struct rxc_adamw *job)
{
    unsigned wanted = blocks_for(job->count, 256), blocks = wanted > 1024 ? 1024 : wanted;
    if (job->count == 0)
        return YP_OK;
    adamw_kernel<<<blocks, 256, 0, yp_plugin_stream(host, device)>>>(*job);
    return yp_plugin_launched(host, "adamw");
}

static enum yp_status factor(struct yp_device *device, const struct rxc_factor *job)
{
    enum yp_status status = check(job->channels, "factor");
    if (status != YP_OK)
        return status;
    factor_kernel<<<1, RXC_FACTOR_THREADS, 0, yp_plugin_stream(host, device)>>>(*job);
    return yp_plugin_launched(host, "factor");
}

static enum yp_status gather(struct yp_device *device, const struct rxc_gather *job)
{
    if (job->pixels == 0)
        return YP_OK;
    gather_kernel<<<blocks_for(job->pixels, RXC_GATHERED), RXC_ROW_THREADS, 0,
                    yp_plugin_stream(host, device)>>>(*job);
    return yp_plugin_launched(host, "gather");
}

static enum yp_status linear(struct yp_device *device, const struct rxc_linear *job)
{
    unsigned blocks = rxc_pixel_blocks(job->pixels) * blocks_for(job->outputs, RXC_WIDE);
    if (job->pixels == 0)
        return YP_OK;
    linear_kernel<<<blocks, RXC_ROW_THREADS, 0, yp_plugin_stream(host, device)>>>(*job);
    return yp_plugin_launched(host, "linear");
}

static enum yp_status dots(struct yp_device *device, const struct rxc_dots *job)
{
    if (job->pixels == 0)
        return YP_OK;
    dots_kernel<<<rxc_pixel_blocks(job->pixels), RXC_ROW_THREADS, 0,
                  yp_plugin_stream(host, device)>>>(*job);
    return yp_plugin_launched(host, "dots");
}

static enum yp_status columns(struct yp_device *device, const struct rxc_columns *job)
{
    dim3 grid(rxc_ranges(job->pixels, job->range), blocks_for(job->width, RXC_COLUMNS));
    if (job->pixels == 0)
        return YP_OK;
    columns_kernel<<<grid, RXC_ROW_THREADS, 0, yp_plugin_stream(host, device)>>>(*job);
    return yp_plugin_launched(host, "columns");
}

static enum yp_status cross(struct yp_device *device, const struct rxc_cross *job)
{
    dim3 grid(rxc_ranges(job->pixels, job->range),
              blocks_for(job->rows, RXC_WIDE) * blocks_for(job->columns, RXC_WIDE));
    if (job->pixels == 0)
        return YP_OK;
    cross_kernel<<<grid, RXC_ROW_THREADS, 0, yp_plugin_stream(host, device)>>>(*job);
    return yp_plugin_launched(host, "cross");
}

static enum yp_status parts(struct yp_device *device, const struct rxc_parts *job)
{
    if (job->count == 0)
        return YP_OK;
    parts_kernel<<<blocks_for(job->count, 256), 256, 0, yp_plugin_stream(host, device)>>>(*job);
    return yp_plugin_launched(host, "parts");
}

static const struct rx_cuda table = {gram,     merge, quadratic, fold,   add_loss,
                                     gradient, clip,  adamw,     factor, gather,
                                     linear,   dots,  columns,   cross,  parts};
YP_PLUGIN(RXC_PLUGIN, table, host)
