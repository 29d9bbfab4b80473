/*
 * What kernels of synth/ are told, and how their work is cut.
 *
 * A block of threads makes a patch of an image, or that part of it which is wanted. A block of
 * Philox is four values, and a thread makes four at once: a quad. Quads begin at multiples of four
 * values of the cube, wherever pixels do, so that where channels are no multiple of 4 some belong
 * to several pixels. After `group` pixels, 1, 2 or 4, the pattern repeats; a thread always has the
 * same quad of the pattern, and so the same channels: it keeps their rows of the tables in its
 * registers while it goes through the patch. Quads of several pixels are the last threads': what
 * they cost more, few warps do.
 *
 * The same text is compiled by nvcc and, for tests, by C compilers.
 */
#ifndef YIELDPOINT_SYNTH_CUDA_WORK_H
#define YIELDPOINT_SYNTH_CUDA_WORK_H

#include "synth/random/normal.h"
#include "synth/scene/internal.h"

#define SYNTH_CUDA_THREADS 256
/* Pixels of a row of a patch of SYNTH_SCENE, and its rows: as many as registers' tables should be
 * worth, fewer where the lattice is so dense that shared memory would be short. */
#define SYNTH_CUDA_SIDE 16
#define SYNTH_CUDA_TALL 32
#define SYNTH_CUDA_DENSE_TALL 16
#define SYNTH_CUDA_DENSE 2       /* the largest pitch that is */
#define SYNTH_CUDA_CUVIS_SIDE 32 /* its mask is a word a row; as many rows */
#define SYNTH_CUDA_FIELDS (3 * SYNTH_LANES)

/* A number to divide by often: dividing takes 20 instructions, this 5. */
struct synth_divisor {
    uint32_t by, part; /* floor((2^32 - 1) / by) */
};

static inline struct synth_divisor synth_divisor(uint32_t by)
{
    struct synth_divisor d = {by, UINT32_MAX / by};
    return d;
}

/* floor(n / d). part / 2^32 is below 1 / by, by at most 1 / 2^32: the guess is right or 1 short. */
SYNTH_INLINE uint32_t synth_divided(uint32_t n, struct synth_divisor d)
{
    uint32_t guess = (uint32_t)(synth_wide(n, d.part) >> 32);
    return guess + (n - guess * d.by >= d.by);
}

/* Pointers are the device's. What another preset has is 0. */
struct synth_cuda_scene {
    struct synth_keys keys;
    uint32_t height, width, channels, stride;
    uint32_t group, group_bits; /* pixels of a pattern, 2^group_bits */
    uint32_t quads;             /* of a pattern */
    uint32_t own, at_once;      /* quads of a unit that a block makes, units at once */
    uint32_t borders;           /* of these quads are of several pixels, and have a place */
    struct synth_divisor plain; /* own - borders; at least 1 */
    struct synth_divisor most;  /* units of a patch's row */
    uint32_t down, along;       /* at_once / most, at_once % most */

    uint32_t endmembers;
    struct synth_divisor pitch;
    uint32_t tall;              /* rows of a patch */
    struct synth_divisor nodes; /* of a row of the lattice on which a patch may lie */
    uint32_t deep;              /* rows of it */
    uint32_t wide;              /* nodes of a row of the whole lattice */
    bool varies, blank;
    float fill_low, fill_span, half_variability, shade, grain, sharpness;
    uint64_t target, dead;
    struct synth_sensor sensor;
    const float *levels, *slopes, *path;
    bool striped;
    const uint32_t *columns; /* of the sensor, column_stride words each; not striped: anything */
    uint32_t column_stride;
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
    bool tells;                          /* any of the truth is wanted */
    bool vectors;                        /* quads of values lie at multiples of 16 bytes */
    uint64_t patch_row;                  /* the first; they are counted from the image's top */
    struct synth_divisor across, chunks; /* patches in a row, blocks a patch */
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
static inline uint64_t synth_cuda_blocks(const struct synth_cuda_job *job)
{
    const struct synth_cuda_tile *tile = &job->tile;
    uint64_t last = (tile->first + tile->pixels - 1) / job->scene.width / job->scene.tall;
    uint64_t rows = last - tile->patch_row + 1, blocks = 0;
    if (__builtin_mul_overflow(rows * tile->across.by, tile->chunks.by, &blocks) ||
        blocks > 0x7fffffffU)
        return 0;
    return blocks;
}

#endif
