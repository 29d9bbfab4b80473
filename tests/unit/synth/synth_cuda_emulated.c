/* The plugin of synth/'s kernels without a GPU: the same functions, called for each thread of each
 * block in turn. Threads come in orders that find a missing barrier and memory that two have,
 * shared memory is filled with what is no number and is as large as the kernel asks for, to the
 * byte. */
#include "synth/cuda/cuvis_body.h"
#include "synth/cuda/scene_body.h"
#include "synth/cuda/words_body.h"

#include <stdlib.h>
#include <yieldpoint/plugin.h>

static const struct yp_plugin_host *host;

/* The i-th thread of a block: of even blocks the last first, of odd ones all over the place. */
static uint32_t thread_of(uint32_t i, uint32_t block)
{
    return block % 2 == 0 ? SYNTH_CUDA_THREADS - 1 - i : (i * 77 + 33) % SYNTH_CUDA_THREADS;
}

#define EACH_THREAD(t) \
    uint32_t i_ = 0, t = thread_of(0, block); \
    i_ < SYNTH_CUDA_THREADS; \
    t = thread_of(++i_, block)

static void *shared_of(size_t bytes)
{
    void *shared = aligned_alloc(16, (bytes + 15) / 16 * 16);
    if (shared != NULL)
        memset(shared, 0xff, bytes);
    return shared;
}

static enum yp_status scene_block(const struct synth_cuda_job *job, uint32_t block, uint32_t cube)
{
    struct synth_shared *shared = shared_of(synth_shared_bytes(&job->scene));
    struct synth_patch patch = synth_patch(job, block, cube, SYNTH_CUDA_SIDE);
    bool whole = job->scene.group == 1 && job->tile.vectors;
    int materials = job->scene.endmembers == SYNTH_LAST ? 7 : 6;
    if (shared == NULL)
        return YP_OUT_OF_MEMORY;
    for (EACH_THREAD(t))
        synth_begin_patch(job, &patch, shared, t);
    for (EACH_THREAD(t))
        synth_blend_rows(job, &patch, shared, t);
    for (EACH_THREAD(t))
        synth_make_pixels(job, &patch, shared, t, materials);
    for (EACH_THREAD(t))
        synth_make_values(job, &patch, shared, t, materials, whole);
    free(shared);
    return YP_OK;
}

static enum yp_status cuvis_block(const struct synth_cuda_job *job, uint32_t block, uint32_t cube)
{
    struct synth_cuvis_shared *shared = shared_of(sizeof *shared);
    struct synth_patch patch = synth_patch(job, block, cube, SYNTH_CUDA_CUVIS_SIDE);
    bool whole = job->scene.group == 1 && job->tile.vectors;
    if (shared == NULL)
        return YP_OUT_OF_MEMORY;
    for (EACH_THREAD(t))
        synth_cuvis_begin(job, &patch, shared, t);
    for (EACH_THREAD(t))
        synth_cuvis_discs(job, &patch, shared, t);
    for (EACH_THREAD(t))
        synth_cuvis_values(job, &patch, shared, t, whole);
    free(shared);
    return YP_OK;
}

static enum yp_status make_tile(struct yp_device *device, const struct synth_cuda_job *job,
                                size_t cubes)
{
    (void)device;
    enum yp_status status = YP_OK;
    uint64_t blocks = synth_cuda_blocks(job);
    if (blocks == 0)
        return host->set_error(YP_UNSUPPORTED, "a tile is too large for one launch");
    for (uint32_t cube = 0; cube < cubes; cube++)
        for (uint32_t block = 0; block < blocks && status == YP_OK; block++)
            status = job->scene.spectra != NULL ? cuvis_block(job, block, cube)
                                                : scene_block(job, block, cube);
    return status;
}

static enum yp_status make_words(struct yp_device *device, const struct synth_cuda_words *words)
{
    (void)device;
    for (uint64_t i = synth_cuda_word_blocks(words); i-- > 0;) {
        struct synth_four_words four = synth_cuda_block(words, words->kind, words->first / 4 + i);
        synth_cuda_put_words(words, i, &four);
    }
    return YP_OK;
}

/* cuRAND's functions are C++: tests/usage/cuda_code.py runs them. */
static enum yp_status make_by_curand(struct yp_device *device, const struct synth_cuda_words *words)
{
    (void)device;
    (void)words;
    return host->set_error(YP_UNSUPPORTED, "no cuRAND here");
}

static const struct synth_cuda table = {make_words, make_by_curand, make_tile};
YP_PLUGIN(SYNTH_CUDA_PLUGIN, table, host)
