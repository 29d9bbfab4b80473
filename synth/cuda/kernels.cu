/* The kernels of synth/ and the plugin that launches them. */
#include <cuda_runtime.h>

/* A struct and a function that share a name are no accident in C. */
#pragma GCC diagnostic ignored "-Wshadow"

#include "synth/cuda/curand_words.h"
#include "synth/cuda/cuvis_body.h"
#include "synth/cuda/scene_body.h"
#include "synth/cuda/words_body.h"

#include <yieldpoint/plugin.h>

#define THREADS SYNTH_CUDA_THREADS

static const struct yp_plugin_host *host;

/* -- words ---------------------------------------------------------------------------------- */

template <enum synth_cuda_kind KIND>
static __global__ void __launch_bounds__(THREADS)
    words_kernel(const __grid_constant__ struct synth_cuda_words words)
{
    uint64_t blocks = synth_cuda_word_blocks(&words), step = (uint64_t)gridDim.x * THREADS;
    for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < blocks; i += step) {
        struct synth_four_words four = synth_cuda_block(&words, KIND, words.first / 4 + i);
        synth_cuda_put_words(&words, i, &four);
    }
}

/* A few blocks of words a thread, so that what is made once pays. */
static unsigned grid_of(const struct synth_cuda_words *words)
{
    enum { BLOCKS_A_THREAD = 8 };
    uint64_t a_block = (uint64_t)THREADS * BLOCKS_A_THREAD;
    uint64_t blocks = (synth_cuda_word_blocks(words) + a_block - 1) / a_block;
    return blocks < 0x7fffffffU ? (unsigned)blocks : 0x7fffffffU;
}

static enum yp_status make_words(struct yp_device *device, const struct synth_cuda_words *words)
{
    cudaStream_t stream = yp_plugin_stream(host, device);
    if (words->kind == SYNTH_CUDA_NORMALS)
        words_kernel<SYNTH_CUDA_NORMALS><<<grid_of(words), THREADS, 0, stream>>>(*words);
    else if (words->kind == SYNTH_CUDA_CURAND)
        words_kernel<SYNTH_CUDA_CURAND><<<grid_of(words), THREADS, 0, stream>>>(*words);
    else
        words_kernel<SYNTH_CUDA_WORDS><<<grid_of(words), THREADS, 0, stream>>>(*words);
    return yp_plugin_launched(host, "words");
}

static __global__ void __launch_bounds__(THREADS)
    curand_kernel(const __grid_constant__ struct synth_cuda_words words)
{
    uint64_t blocks = synth_cuda_word_blocks(&words), step = (uint64_t)gridDim.x * THREADS;
    for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < blocks; i += step) {
        struct synth_four_words four;
        synth_curand_block(&words, words.first / 4 + i, four.w);
        synth_cuda_put_words(&words, i, &four);
    }
}

static enum yp_status make_by_curand(struct yp_device *device, const struct synth_cuda_words *words)
{
    curand_kernel<<<grid_of(words), THREADS, 0, yp_plugin_stream(host, device)>>>(*words);
    return yp_plugin_launched(host, "words by cuRAND");
}

/* -- scenes --------------------------------------------------------------------------------- */

extern __shared__ __align__(16) unsigned char shared_room[];

/* Blocks of a multiprocessor: two have all of its registers. Before sm_90 the largest kernel needs
 * a few more than half of them. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define RESIDENT(materials, whole) ((materials) == 7 && !(whole) ? 1 : 2)
#else
#define RESIDENT(materials, whole) 2
#endif

template <int MATERIALS, bool WHOLE>
static __global__ void __launch_bounds__(THREADS, RESIDENT(MATERIALS, WHOLE))
    scene_kernel(const __grid_constant__ struct synth_cuda_job job)
{
    /* Where that begins is asked of a slow register: once. */
    uint32_t room = (uint32_t)__cvta_generic_to_shared(shared_room);
    SYNTH_KEPT(room);
    struct synth_shared *shared = (struct synth_shared *)__cvta_shared_to_generic(room);
    struct synth_patch patch = synth_patch(&job, blockIdx.x, blockIdx.y, SYNTH_CUDA_SIDE);
    synth_begin_patch(&job, &patch, shared, threadIdx.x);
    __syncthreads();
    synth_blend_rows(&job, &patch, shared, threadIdx.x);
    __syncthreads();
    synth_make_pixels(&job, &patch, shared, threadIdx.x, MATERIALS);
    __syncthreads();
    synth_make_values(&job, &patch, shared, threadIdx.x, MATERIALS, WHOLE);
}

template <bool WHOLE>
static __global__ void __launch_bounds__(THREADS, 4)
    cuvis_kernel(const __grid_constant__ struct synth_cuda_job job)
{
    __shared__ struct synth_cuvis_shared shared;
    struct synth_patch patch = synth_patch(&job, blockIdx.x, blockIdx.y, SYNTH_CUDA_CUVIS_SIDE);
    synth_cuvis_begin(&job, &patch, &shared, threadIdx.x);
    __syncthreads();
    synth_cuvis_discs(&job, &patch, &shared, threadIdx.x);
    __syncthreads();
    synth_cuvis_values(&job, &patch, &shared, threadIdx.x, WHOLE);
}

typedef void scene_function(const struct synth_cuda_job);

static scene_function *kernel_of(const struct synth_cuda_job *job)
{
    const struct synth_cuda_scene *scene = &job->scene;
    bool whole = scene->group == 1 && job->tile.vectors;
    if (scene->spectra != NULL)
        return whole ? cuvis_kernel<true> : cuvis_kernel<false>;
    if (scene->endmembers == SYNTH_LAST)
        return whole ? scene_kernel<7, true> : scene_kernel<7, false>;
    return whole ? scene_kernel<6, true> : scene_kernel<6, false>;
}

/* At most as many cubes as a grid may be high. */
static enum yp_status make_cubes(cudaStream_t stream, const struct synth_cuda_job *job,
                                 unsigned cubes)
{
    enum { WITHOUT_ASKING = 48 << 10 };
    scene_function *kernel = kernel_of(job);
    bool cuvis = job->scene.spectra != NULL;
    size_t bytes = cuvis ? 0 : synth_shared_bytes(&job->scene);
    uint64_t blocks = synth_cuda_blocks(job);
    if (blocks == 0)
        return host->set_error(YP_UNSUPPORTED,
                               "a tile of %llu pixels of %u channels is too large for one launch",
                               (unsigned long long)job->tile.pixels, job->scene.channels);
    cudaError_t error = cudaSuccess;
    if (bytes > WITHOUT_ASKING)
        error = cudaFuncSetAttribute((const void *)kernel,
                                     cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (error != cudaSuccess)
        return yp_plugin_status(host, error, "shared memory of a scene");
    kernel<<<dim3((unsigned)blocks, cubes), THREADS, bytes, stream>>>(*job);
    return yp_plugin_launched(host, "scene");
}

/* On to what comes after `cubes` cubes. */
static void step_over(struct synth_cuda_job *job, size_t cubes)
{
    struct synth_cuda_tile *t = &job->tile;
    size_t pixels = cubes * t->pixels;
    t->cube += cubes;
    t->values += pixels * job->scene.channels;
    t->truth.labels += t->truth.labels != NULL ? pixels : 0;
    t->truth.fill += t->truth.fill != NULL ? pixels : 0;
    t->truth.valid += t->truth.valid != NULL ? pixels : 0;
    t->truth.abundances += t->truth.abundances != NULL ? pixels * job->scene.endmembers : 0;
}

static enum yp_status make_tile(struct yp_device *device, const struct synth_cuda_job *job,
                                size_t cubes)
{
    const size_t most = 32768; /* a multiple of 4: where vectors lie does not change */
    cudaStream_t stream = yp_plugin_stream(host, device);
    struct synth_cuda_job next = *job;
    enum yp_status status = YP_OK;
    while (cubes > 0 && status == YP_OK) {
        size_t now = cubes < most ? cubes : most;
        status = make_cubes(stream, &next, (unsigned)now);
        step_over(&next, now);
        cubes -= now;
    }
    return status;
}

static const struct synth_cuda table = {make_words, make_by_curand, make_tile};
YP_PLUGIN(SYNTH_CUDA_PLUGIN, table, host)
