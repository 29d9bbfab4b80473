#include "base/random/stream.h"

#include "base/random/bulk.h"

#include <unistd.h>

/* The order of blocks: of a stream, or cuRAND's legacy order. */
struct source {
    uint64_t seed, subsequence;
    bool curand;
};

/* The number of subsequences that cuRAND takes blocks from in turn. */
#define CURAND_SUBSEQUENCES 65536u

#define LINE 64 /* bytes; non-temporal stores are aligned to it */

/* Half of the largest cache as the C library reports it; 16 MiB where it does not. Threads that
 * find it at the same time store the same number. */
size_t ypi_nontemporal_bytes(void)
{
    static _Atomic size_t bytes;
    size_t known = bytes;
    if (known == 0) {
        long size = sysconf(_SC_LEVEL3_CACHE_SIZE);
        known = size > 0 ? (size_t)size / 2 : (size_t)16 << 20;
        bytes = known;
    }
    return known;
}

/* The run that begins at a block; returns how many blocks it may have. */
static uint64_t run_at(const struct source *source, uint64_t block, struct ypi_block_run *run)
{
    uint64_t subsequence = source->subsequence, left = (UINT64_C(1) << 32) - (uint32_t)block;
    if (source->curand) {
        subsequence = block % CURAND_SUBSEQUENCES;
        left = CURAND_SUBSEQUENCES - subsequence;
        block /= CURAND_SUBSEQUENCES;
    }
    *run = (struct ypi_block_run){source->seed,
                                  {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)subsequence,
                                   (uint32_t)(subsequence >> 32)}};
    return left;
}

/* One block by the scalar functions, for the end of a run that is shorter than a group. */
static void one_block(const struct ypi_block_run *run, bool normals, uint32_t words[4])
{
    float z[4];
    ypi_philox(run->seed, run->counter[0], run->counter[1], run->counter[2], run->counter[3],
               words);
    if (!normals)
        return;
    ypi_normal_pair(words[0], words[1], &z[0], &z[1]);
    ypi_normal_pair(words[2], words[3], &z[2], &z[3]);
    memcpy(words, z, sizeof z);
}

static const struct ypi_bulks *bulks_of(enum ypi_level level)
{
    static const struct ypi_simd_version versions[] = {YPI_SIMD_TABLE(ypi_bulk)};
    return ypi_level_kernels(versions, ypi_level_resolve(level));
}

/* Words or normals, and the functions that make them. */
struct generator {
    bool normals;
    ypi_bulk *cached, *nontemporal;
};

/* A group from `block` on, or one block where the run ends before; returns how many words. */
static size_t make_group(const struct source *source, const struct generator *generator,
                         uint64_t block, uint32_t words[YPI_GROUP_WORDS])
{
    struct ypi_block_run run;
    if (run_at(source, block, &run) < YPI_GROUP_BLOCKS) {
        one_block(&run, generator->normals, words);
        return 4;
    }
    generator->cached(&run, 1, words);
    return YPI_GROUP_WORDS;
}

/* The groups from `block` on that lie in one run and in `count` words; returns how many words. */
static size_t make_groups(const struct source *source, const struct generator *generator,
                          uint64_t block, size_t count, bool nontemporal, uint32_t *out)
{
    struct ypi_block_run run;
    uint64_t groups = run_at(source, block, &run) / YPI_GROUP_BLOCKS;
    if (groups > count / YPI_GROUP_WORDS)
        groups = count / YPI_GROUP_WORDS;
    if (groups > 0)
        (nontemporal ? generator->nontemporal : generator->cached)(&run, (size_t)groups, out);
    return (size_t)groups * YPI_GROUP_WORDS;
}

/* Whole groups are written to `out` directly, the remainders at either end by way of `some`. */
static void make(const struct source *source, const struct generator *generator, uint64_t first,
                 size_t count, uint32_t *out)
{
    uint64_t block = first / 4;
    size_t skip = first % 4;
    bool nontemporal = count >= ypi_nontemporal_bytes() / sizeof *out;
    while (count > 0) {
        size_t to_line = -(uintptr_t)out % LINE / sizeof *out;
        bool aligned = (uintptr_t)out % LINE == 0;
        size_t made = 0;
        if (skip == 0 && (aligned || !nontemporal || to_line % 4 != 0))
            made = make_groups(source, generator, block, count, nontemporal && aligned, out);
        if (made == 0) {
            uint32_t some[YPI_GROUP_WORDS] __attribute__((aligned(64)));
            made = make_group(source, generator, block, some) - skip;
            if (nontemporal && skip == 0 && to_line > 0 && to_line % 4 == 0 && made > to_line)
                made = to_line;
            made = made < count ? made : count;
            memcpy(out, some + skip, made * sizeof *out);
        }
        block += (skip + made) / 4;
        skip = (skip + made) % 4;
        out += made;
        count -= made;
    }
}

void ypi_random_words(enum ypi_level level, struct ypi_stream stream, uint64_t first, size_t count,
                      uint32_t *out)
{
    const struct ypi_bulks *bulks = bulks_of(level);
    struct source source = {stream.seed, stream.subsequence, false};
    struct generator generator = {false, bulks->words, bulks->words_nontemporal};
    make(&source, &generator, first, count, out);
}

void ypi_random_normals(enum ypi_level level, struct ypi_stream stream, uint64_t first,
                        size_t count, float *out)
{
    const struct ypi_bulks *bulks = bulks_of(level);
    struct source source = {stream.seed, stream.subsequence, false};
    struct generator generator = {true, bulks->normals, bulks->normals_nontemporal};
    make(&source, &generator, first, count, (uint32_t *)out);
}

void ypi_random_words_curand(enum ypi_level level, uint64_t seed, uint64_t first, size_t count,
                             uint32_t *out)
{
    const struct ypi_bulks *bulks = bulks_of(level);
    struct source source = {seed, 0, true};
    struct generator generator = {false, bulks->curand, bulks->curand_nontemporal};
    make(&source, &generator, first, count, out);
}
