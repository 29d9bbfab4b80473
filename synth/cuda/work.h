/* Arguments of the kernels of synth/, and how their work is divided.
 *
 * A block of threads computes a patch of an image, or the part of it that is wanted. A Philox block
 * gives four values, and a thread computes four values together: a quad. Quads begin at multiples
 * of four values of the cube, independently of where pixels begin, so where channels are no
 * multiple of 4 some quads belong to several pixels. The pattern of quads repeats after `group`
 * pixels (1, 2 or 4), which form a unit. A thread always has the same quad of the pattern, and so
 * the same channels, whose rows of the tables it keeps in registers while it goes through the
 * patch. Quads of several pixels cost more; they go to the last threads, so that few warps pay.
 *
 * The same text is compiled by nvcc and, for tests, by C compilers. */
#pragma once

#include "base/random/normal.h"
#include "synth/scene/internal.h"

#define SYNTH_CUDA_THREADS 256
/* Columns and rows of a patch of SYNTH_SCENE: enough pixels to pay for loading the tables into
 * registers; fewer rows where the lattice is so dense that shared memory would be short. */
#define SYNTH_CUDA_SIDE 16
#define SYNTH_CUDA_ROWS 32
#define SYNTH_CUDA_DENSE_ROWS 16
#define SYNTH_CUDA_DENSE 2 /* the largest lattice pitch that counts as dense */
/* Columns and rows of a patch of SYNTH_CUVIS: its mask has a 32-bit word per row. */
#define SYNTH_CUDA_CUVIS_SIDE 32
#define SYNTH_CUDA_FIELDS (3 * SYNTH_LANES)

/* A divisor that is used often: synth_divided() takes 5 instructions, a division 20. */
struct synth_divisor {
    uint32_t by, part; /* floor((2^32 - 1) / by) */
};

static inline struct synth_divisor synth_divisor(uint32_t by)
{
    struct synth_divisor d = {by, UINT32_MAX / by};
    return d;
}

/* floor(n / d). part / 2^32 is at most 2^-32 below 1 / by, so the guess is right or 1 too small. */
YPI_INLINE uint32_t synth_divided(uint32_t n, struct synth_divisor d)
{
    uint32_t guess = (uint32_t)(ypi_wide(n, d.part) >> 32);
    return guess + (n - guess * d.by >= d.by);
}

/* A scene as kernels see it, pointers to the device's memory. Fields of the other preset are 0. */
struct synth_cuda_scene {
    struct ypi_philox_keys keys;
    uint32_t height, width, channels, stride;
    uint32_t group, group_bits;       /* pixels of a unit, 2^group_bits */
    uint32_t quads;                   /* of a unit */
    uint32_t unit_quads;              /* quads of a unit that one block computes */
    uint32_t units_at_once;           /* units that the block's threads compute together */
    uint32_t border_quads;            /* those of unit_quads that belong to several pixels */
    struct synth_divisor inner_quads; /* unit_quads - border_quads; at least 1 */
    struct synth_divisor row_units;   /* units of a row of a patch */
    uint32_t step_rows, step_units;   /* units_at_once / row_units, units_at_once % row_units */

    uint32_t endmembers;
    struct synth_divisor pitch;
    uint32_t patch_rows;
    struct synth_divisor lattice_columns; /* most nodes in a row of the lattice under a patch */
    uint32_t lattice_rows;                /* most rows of the lattice under a patch */
    uint32_t lattice_width;               /* nodes in a row of the whole lattice */
    struct synth_divisor grain_pitch;     /* by 1: grain is white */
    uint32_t grain_width;                 /* nodes in a row of the lattice of grain */
    bool varies, blank;
    float fill_low, fill_span, half_variability, shade, grain, sharpness;
    uint64_t target, dead;
    struct synth_shapes shapes;
    struct synth_divisor cell; /* the side of one; at least 1 */
    uint32_t cells_width;      /* cells in a row of them */
    struct synth_sensor sensor;
    const float *levels, *slopes, *path;
    bool striped;
    const uint32_t *columns; /* of the sensor, column_stride words each; not striped: readable */
    uint32_t column_stride;
    const uint8_t *good;

    const float *spectra, *row_gain, *column_gain;
    float sigma;
    uint64_t discs;
};

/* Pixels first .. first + pixels - 1 of cubes cube, cube + 1, ...; in each array a cube begins
 * where the one before it ends. */
struct synth_cuda_tile {
    uint64_t cube, first, pixels;
    float *values;
    struct synth_truth truth;
    bool wants_truth;                 /* any array of the truth is wanted */
    bool aligned;                     /* quads of values lie at multiples of 16 bytes */
    uint64_t patch_row;               /* the first row of patches, counted from the image's top */
    struct synth_divisor row_patches; /* patches in a row of the image */
    struct synth_divisor chunks;      /* blocks that share a patch, each with part of the quads */
};

struct synth_cuda_job {
    struct synth_cuda_scene scene;
    struct synth_cuda_tile tile;
};

enum synth_cuda_kind { SYNTH_CUDA_WORDS, SYNTH_CUDA_NORMALS, SYNTH_CUDA_CURAND };

/* `count` words or normals from number `first` on. */
struct synth_cuda_words {
    struct ypi_philox_keys keys;
    uint64_t seed, subsequence, first, count;
    enum synth_cuda_kind kind;
    bool aligned; /* blocks of four lie at multiples of 16 bytes */
    uint32_t *out;
};

/* The plugin "synth-cuda". Its functions launch on the device's stream and return. */
#define SYNTH_CUDA_PLUGIN "synth-cuda"

struct synth_cuda {
    enum yp_status (*words)(struct yp_device *device, const struct synth_cuda_words *words);
    /* The same by cuRAND's device functions, for comparison; kinds WORDS and CURAND. */
    enum yp_status (*by_curand)(struct yp_device *device, const struct synth_cuda_words *words);
    /* The tile of `cubes` cubes. */
    enum yp_status (*tile)(struct yp_device *device, const struct synth_cuda_job *job,
                           size_t cubes);
};

/* Thread blocks for one cube; 0: more than a launch can have. */
static inline uint64_t synth_cuda_blocks(const struct synth_cuda_job *job)
{
    const struct synth_cuda_tile *tile = &job->tile;
    uint64_t last = (tile->first + tile->pixels - 1) / job->scene.width / job->scene.patch_rows;
    uint64_t rows = last - tile->patch_row + 1, blocks = 0;
    if (__builtin_mul_overflow(rows * tile->row_patches.by, tile->chunks.by, &blocks) ||
        blocks > 0x7fffffffU)
        return 0;
    return blocks;
}
