/* The kernels of synth/ and the plugin that launches them. */
#include "device/cuda/frame.h"

/* Structs and functions share names here, which C allows. */
#pragma GCC diagnostic ignored "-Wshadow"

#ifdef __CUDACC__
#include "synth/cuda/curand_words.h"
#endif
#include "synth/cuda/cuvis_body.h"
#include "synth/cuda/scene_body.h"
#include "synth/cuda/words_body.h"

#include <yieldpoint/plugin.h>

#define THREADS SYNTH_CUDA_THREADS

static const struct yp_plugin_host *host;

/* -- words ---------------------------------------------------------------------------------- */

#define WORDS_KERNEL(name_, kind_) \
    YPK_KERNEL_CONSTANT(name_, struct synth_cuda_words, words, THREADS) \
    { \
        uint64_t blocks = synth_cuda_word_blocks(&words), step = (uint64_t)YPK_GRID_X * THREADS; \
        YPK_EVERY (t) { \
            for (uint64_t i = (uint64_t)YPK_BLOCK_X * THREADS + t; i < blocks; i += step) { \
                struct synth_four_words four = \
                    synth_cuda_block(&words, kind_, words.first / 4 + i); \
                synth_cuda_store_words(&words, i, &four); \
            } \
        } \
    }
WORDS_KERNEL(words_plain, SYNTH_CUDA_WORDS)
WORDS_KERNEL(words_normals, SYNTH_CUDA_NORMALS)
WORDS_KERNEL(words_as_curand, SYNTH_CUDA_CURAND)

/* Several Philox blocks for each thread, so that its set-up pays. */
static unsigned grid_of(const struct synth_cuda_words *words)
{
    enum { BLOCKS_A_THREAD = 8 };
    uint64_t a_block = (uint64_t)THREADS * BLOCKS_A_THREAD;
    uint64_t blocks = (synth_cuda_word_blocks(words) + a_block - 1) / a_block;
    return blocks < 0x7fffffffU ? (unsigned)blocks : 0x7fffffffU;
}

YPK_KERNEL_TYPE(words_function, struct synth_cuda_words);

static enum yp_status make_words(struct yp_device *device, const struct synth_cuda_words *words)
{
    words_function *kernel = words->kind == SYNTH_CUDA_NORMALS  ? words_normals
                             : words->kind == SYNTH_CUDA_CURAND ? words_as_curand
                                                                : words_plain;
    YPK_LAUNCH(kernel, ypk_grid(grid_of(words), 1), THREADS, 0, ypk_stream(host, device), *words);
    return ypk_launched(host, "words");
}

#ifdef __CUDACC__

YPK_KERNEL_CONSTANT(curand_kernel, struct synth_cuda_words, words, THREADS)
{
    uint64_t blocks = synth_cuda_word_blocks(&words), step = (uint64_t)YPK_GRID_X * THREADS;
    YPK_EVERY (t) {
        for (uint64_t i = (uint64_t)YPK_BLOCK_X * THREADS + t; i < blocks; i += step) {
            struct synth_four_words four;
            synth_curand_block(&words, words.first / 4 + i, four.w);
            synth_cuda_store_words(&words, i, &four);
        }
    }
}

static enum yp_status make_by_curand(struct yp_device *device, const struct synth_cuda_words *words)
{
    YPK_LAUNCH(curand_kernel, ypk_grid(grid_of(words), 1), THREADS, 0, ypk_stream(host, device),
               *words);
    return ypk_launched(host, "words by cuRAND");
}

#else

/* cuRAND's functions are C++; tests/usage/cuda_code.py runs them. */
static enum yp_status make_by_curand(struct yp_device *device, const struct synth_cuda_words *words)
{
    (void)device;
    (void)words;
    return host->set_error(YP_UNSUPPORTED, "no cuRAND here");
}

#endif

/* -- scenes --------------------------------------------------------------------------------- */

/* The address of shared memory is read from a slow register: only once. */
YPK_FUNCTION struct synth_shared *kept(struct synth_shared *shared)
{
#ifdef __CUDACC__
    uint32_t at = (uint32_t)__cvta_generic_to_shared(shared);
    SYNTH_KEPT(at);
    return (struct synth_shared *)__cvta_shared_to_generic(at);
#else
    return shared;
#endif
}

/* Resident blocks a multiprocessor: two use all of its registers. Before sm_90 the largest kernel
 * needs slightly more than half of them. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define RESIDENT(materials, whole) ((materials) == 7 && !(whole) ? 1 : 2)
#else
#define RESIDENT(materials, whole) 2
#endif

#define SCENE_KERNEL(name_, materials_, whole_) \
    YPK_KERNEL_CONSTANT(name_, struct synth_cuda_job, job, THREADS, RESIDENT(materials_, whole_)) \
    { \
        YPK_DYNAMIC(struct synth_shared, memory); \
        struct synth_shared *shared = kept(memory); \
        struct synth_patch patch = synth_patch(&job, YPK_BLOCK_X, YPK_BLOCK_Y, SYNTH_CUDA_SIDE); \
        YPK_EVERY (t) \
            synth_begin_patch(&job, &patch, shared, t); \
        ypk_block_barrier(); \
        YPK_EVERY (t) \
            synth_blend_rows(&job, &patch, shared, t); \
        ypk_block_barrier(); \
        YPK_EVERY (t) \
            synth_make_pixels(&job, &patch, shared, t, materials_); \
        ypk_block_barrier(); \
        YPK_EVERY (t) \
            synth_make_values(&job, &patch, shared, t, materials_, whole_); \
    }
SCENE_KERNEL(scene_6, 6, false)
SCENE_KERNEL(scene_6_whole, 6, true)
SCENE_KERNEL(scene_7, 7, false)
SCENE_KERNEL(scene_7_whole, 7, true)

#define CUVIS_KERNEL(name_, whole_) \
    YPK_KERNEL_CONSTANT(name_, struct synth_cuda_job, job, THREADS, 4) \
    { \
        YPK_SHARED(struct synth_cuvis_shared, shared); \
        struct synth_patch patch = \
            synth_patch(&job, YPK_BLOCK_X, YPK_BLOCK_Y, SYNTH_CUDA_CUVIS_SIDE); \
        YPK_EVERY (t) \
            synth_cuvis_begin(&job, &patch, &shared, t); \
        ypk_block_barrier(); \
        YPK_EVERY (t) \
            synth_cuvis_discs(&job, &patch, &shared, t); \
        ypk_block_barrier(); \
        YPK_EVERY (t) \
            synth_cuvis_values(&job, &patch, &shared, t, whole_); \
    }
CUVIS_KERNEL(cuvis, false)
CUVIS_KERNEL(cuvis_whole, true)

YPK_KERNEL_TYPE(scene_function, struct synth_cuda_job);

static scene_function *kernel_of(const struct synth_cuda_job *job)
{
    const struct synth_cuda_scene *scene = &job->scene;
    bool whole = scene->group == 1 && job->tile.aligned;
    if (scene->spectra != NULL)
        return whole ? cuvis_whole : cuvis;
    if (scene->endmembers == SYNTH_LAST)
        return whole ? scene_7_whole : scene_7;
    return whole ? scene_6_whole : scene_6;
}

/* One launch; `cubes` is at most the limit of a grid's second dimension. */
static enum yp_status make_cubes(ypk_stream_type stream, const struct synth_cuda_job *job,
                                 unsigned cubes)
{
    enum { DEFAULT_SHARED_BYTES = 48 << 10 };
    scene_function *kernel = kernel_of(job);
    bool cuvis = job->scene.spectra != NULL;
    size_t bytes = cuvis ? 0 : synth_shared_bytes(&job->scene);
    uint64_t blocks = synth_cuda_blocks(job);
    if (blocks == 0)
        return host->set_error(YP_UNSUPPORTED,
                               "a tile of %llu pixels of %u channels is too large for one launch",
                               (unsigned long long)job->tile.pixels, job->scene.channels);
    enum yp_status status = bytes > DEFAULT_SHARED_BYTES
                                ? ypk_allow_shared(host, kernel, bytes, "shared memory of a scene")
                                : YP_OK;
    if (status != YP_OK)
        return status;
    YPK_LAUNCH(kernel, ypk_grid((unsigned)blocks, cubes), THREADS, bytes, stream, *job);
    return ypk_launched(host, "scene");
}

/* Advances the job by `cubes` cubes. */
static void skip_cubes(struct synth_cuda_job *job, size_t cubes)
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
    const size_t limit = 32768; /* a multiple of 4: the alignment of values stays */
    ypk_stream_type stream = ypk_stream(host, device);
    struct synth_cuda_job next = *job;
    enum yp_status status = YP_OK;
    while (cubes > 0 && status == YP_OK) {
        size_t now = cubes < limit ? cubes : limit;
        status = make_cubes(stream, &next, (unsigned)now);
        skip_cubes(&next, now);
        cubes -= now;
    }
    return status;
}

static const struct synth_cuda table = {make_words, make_by_curand, make_tile};
YP_PLUGIN(SYNTH_CUDA_PLUGIN, table, host)
