/*
 * What kernels of synth/ are told, and how their work is cut.
 *
 * A block of threads makes a square patch of an image, or that part of it which is wanted. A block
 * of Philox is four values, and a thread makes four at once: a quad. Quads begin at multiples of
 * four values of the cube, wherever pixels do, so that where channels are no multiple of 4 one
 * belongs to several pixels. After `group` pixels, 1, 2 or 4, the pattern repeats; a thread always
 * has the same quad of the pattern, and so the same channels: it keeps their rows of the tables in
 * its registers while it goes through the patch.
 *
 * The same text is compiled by nvcc and, for tests, by C compilers.
 */
#ifndef YIELDPOINT_SYNTH_CUDA_WORK_H
#define YIELDPOINT_SYNTH_CUDA_WORK_H

#include "../normal.h"
#include "../scene_internal.h"

#define SYNTH_CUDA_THREADS 256
#define SYNTH_CUDA_SIDE 16 /* of a patch of SYNTH_SCENE: a thread makes a pixel's coefficients */
#define SYNTH_CUDA_CUVIS_SIDE 32 /* its mask is a word a row */
#define SYNTH_CUDA_FIELDS (3 * SYNTH_LANES)

/* Pointers are the device's. What another preset has is 0. */
struct synth_cuda_scene {
    struct synth_keys keys;
    uint32_t height, width, channels, stride;
    uint32_t group, group_bits; /* pixels of a pattern, 2^group_bits */
    uint32_t quads;             /* of a pattern */

    uint32_t endmembers, pitch;
    uint32_t nodes; /* of the lattice on which a patch may lie, on a side */
    uint64_t wide;  /* nodes of a row of the whole lattice */
    bool varies, blank;
    float fill_low, fill_span, half_variability, shade, grain, sharpness;
    uint64_t target, dead;
    struct synth_sensor sensor;
    const float *levels, *slopes, *path;
    const uint32_t *columns;
    const uint8_t *good;

    const float *spectra, *rows, *across;
    float sigma;
    uint64_t discs;
};

/* Pixels first .. first + pixels - 1 of cubes cube, cube + 1, ...; of each wanted array the second
 * cube begins where the first ends. */
struct synth_cuda_tile {
    uint64_t cube, first, pixels;
    float *values;
    struct synth_truth truth;
    bool vectors;            /* quads of values lie at multiples of 16 bytes */
    uint64_t patch_row;      /* the first; they are counted from the image's top */
    uint32_t across, chunks; /* patches in a row, blocks a patch */
};

struct synth_cuda_job {
    struct synth_cuda_scene scene;
    struct synth_cuda_tile tile;
};

enum synth_cuda_kind { SYNTH_CUDA_WORDS, SYNTH_CUDA_NORMALS, SYNTH_CUDA_CURAND };

/* count words or normals from `first` on. */
struct synth_cuda_words {
    struct synth_keys keys;
    uint64_t seed, subsequence, first, count;
    enum synth_cuda_kind kind;
    bool vectors; /* blocks of four lie at multiples of 16 bytes */
    uint32_t *out;
};

/* The plugin "synth-cuda". Functions launch on the device's stream and return. */
#define SYNTH_CUDA_PLUGIN "synth-cuda"

struct synth_cuda {
    enum yp_status (*words)(struct yp_device *device, const struct synth_cuda_words *words);
    /* The same by cuRAND's device functions, to compare with: of WORDS and CURAND. */
    enum yp_status (*by_curand)(struct yp_device *device, const struct synth_cuda_words *words);
    /* Of `cubes` cubes. */
    enum yp_status (*tile)(struct yp_device *device, const struct synth_cuda_job *job,
                           size_t cubes);
};

/* Blocks of threads a cube; 0: more than a launch can have. */
static inline uint64_t synth_cuda_blocks(const struct synth_cuda_job *job, uint64_t side)
{
    const struct synth_cuda_tile *tile = &job->tile;
    uint64_t last = (tile->first + tile->pixels - 1) / job->scene.width / side;
    uint64_t rows = last - tile->patch_row + 1, blocks = 0;
    if (__builtin_mul_overflow(rows * tile->across, tile->chunks, &blocks) || blocks > 0x7fffffffU)
        return 0;
    return blocks;
}

static inline uint64_t synth_cuda_side(const struct synth_cuda_scene *scene)
{
    return scene->spectra != NULL ? SYNTH_CUDA_CUVIS_SIDE : SYNTH_CUDA_SIDE;
}

/* Bytes of a block's shared memory beside what is fixed: nodes, and rows of them for each row. */
static inline size_t synth_cuda_lattice_bytes(const struct synth_cuda_scene *scene)
{
    size_t nodes = scene->nodes;
    return (nodes + SYNTH_CUDA_SIDE) * nodes * SYNTH_CUDA_FIELDS * sizeof(float);
}

#endif
