/* The scalar functions in loops that the compiler may vectorise. */
#include "base/random/bulk.h"

static void words(const struct ypi_block_run *run, size_t groups, void *out)
{
    uint32_t *to = out;
    for (size_t b = 0; b < YPI_GROUP_BLOCKS * groups; b++)
        ypi_philox(run->seed, run->counter[0] + (uint32_t)b, run->counter[1], run->counter[2],
                   run->counter[3], to + 4 * b);
}

static void curand(const struct ypi_block_run *run, size_t groups, void *out)
{
    uint32_t *to = out;
    for (size_t b = 0; b < YPI_GROUP_BLOCKS * groups; b++)
        ypi_philox(run->seed, run->counter[0], run->counter[1], run->counter[2] + (uint32_t)b,
                   run->counter[3], to + 4 * b);
}

static void normals(const struct ypi_block_run *run, size_t groups, void *out)
{
    float *to = out;
    for (size_t b = 0; b < YPI_GROUP_BLOCKS * groups; b++) {
        uint32_t w[4];
        ypi_philox(run->seed, run->counter[0] + (uint32_t)b, run->counter[1], run->counter[2],
                   run->counter[3], w);
        ypi_normal_pair(w[0], w[1], to + 4 * b, to + 4 * b + 1);
        ypi_normal_pair(w[2], w[3], to + 4 * b + 2, to + 4 * b + 3);
    }
}

const struct ypi_bulks ypi_bulk_baseline = {words, normals, curand, words, normals, curand};
