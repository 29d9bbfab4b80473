#include "synth/random/stream.h"

#include "synth/random/bulk.h"

#include <unistd.h>

/* Where blocks come from: a stream, or cuRAND's legacy order. */
struct source {
    uint64_t seed, subsequence;
    bool curand;
};

/* cuRAND deals blocks out to so many subsequences in turn. */
#define CURAND_SUBSEQUENCES 65536u

#define LINE 64 /* bytes: what stores past the caches are aligned to */

/* Half of the largest cache, as the C library knows it; 16 MiB where it does not. Whoever finds it
 * first writes it down: the same for all. */
size_t ypi_past_caches(void)
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

/* The run that begins at a block; returns how many blocks it has at most. */
static uint64_t run_at(const struct source *source, uint64_t block, struct synth_run *run)
{
    uint64_t subsequence = source->subsequence, left = (UINT64_C(1) << 32) - (uint32_t)block;
    if (source->curand) {
        subsequence = block % CURAND_SUBSEQUENCES;
        left = CURAND_SUBSEQUENCES - subsequence;
        block /= CURAND_SUBSEQUENCES;
    }
    *run = (struct synth_run){source->seed,
                              {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)subsequence,
                               (uint32_t)(subsequence >> 32)}};
    return left;
}

/* One block by the plain functions: where a run ends and no eight is left of it. */
static void one_block(const struct synth_run *run, bool normals, uint32_t words[4])
{
    float z[4];
    synth_philox(run->seed, run->counter[0], run->counter[1], run->counter[2], run->counter[3],
                 words);
    if (!normals)
        return;
    synth_normal_pair(words[0], words[1], &z[0], &z[1]);
    synth_normal_pair(words[2], words[3], &z[2], &z[3]);
    memcpy(words, z, sizeof z);
}

static const struct synth_bulks *bulks_of(enum synth_level level)
{
    static const struct ypi_simd_version versions[] = {YPI_SIMD_TABLE(ypi_bulk)};
    return ypi_synth_kernels(versions, synth_level_resolve(level));
}

/* What is made, and by what: 32-bit words or floats. */
struct maker {
    bool normals;
    synth_bulk *near, *past;
};

/* Eight blocks from `block` on, or one where a run is about to end; returns how many words. */
static size_t make_some(const struct source *source, const struct maker *maker, uint64_t block,
                        uint32_t words[SYNTH_EIGHT_WORDS])
{
    struct synth_run run;
    if (run_at(source, block, &run) < SYNTH_EIGHT) {
        one_block(&run, maker->normals, words);
        return 4;
    }
    maker->near(&run, 1, words);
    return SYNTH_EIGHT_WORDS;
}

/* All the eights that lie in one run; returns how many words. */
static size_t make_eights(const struct source *source, const struct maker *maker, uint64_t block,
                          size_t count, bool past, uint32_t *out)
{
    struct synth_run run;
    uint64_t eights = run_at(source, block, &run) / SYNTH_EIGHT;
    if (eights > count / SYNTH_EIGHT_WORDS)
        eights = count / SYNTH_EIGHT_WORDS;
    if (eights > 0)
        (past ? maker->past : maker->near)(&run, (size_t)eights, out);
    return (size_t)eights * SYNTH_EIGHT_WORDS;
}

/* Whole eights go straight to `out`; what is left over at either end goes through `some`. */
static void make(const struct source *source, const struct maker *maker, uint64_t first,
                 size_t count, uint32_t *out)
{
    uint64_t block = first / 4;
    size_t skip = first % 4;
    bool past = count >= ypi_past_caches() / sizeof *out;
    while (count > 0) {
        size_t to_line = -(uintptr_t)out % LINE / sizeof *out;
        bool aligned = (uintptr_t)out % LINE == 0;
        size_t made = 0;
        if (skip == 0 && (aligned || !past || to_line % 4 != 0))
            made = make_eights(source, maker, block, count, past && aligned, out);
        if (made == 0) {
            uint32_t some[SYNTH_EIGHT_WORDS] __attribute__((aligned(64)));
            made = make_some(source, maker, block, some) - skip;
            if (past && skip == 0 && to_line > 0 && to_line % 4 == 0 && made > to_line)
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

void synth_words(enum synth_level level, struct synth_stream stream, uint64_t first, size_t count,
                 uint32_t *out)
{
    const struct synth_bulks *bulks = bulks_of(level);
    struct source source = {stream.seed, stream.subsequence, false};
    struct maker maker = {false, bulks->words, bulks->words_past};
    make(&source, &maker, first, count, out);
}

void synth_normals(enum synth_level level, struct synth_stream stream, uint64_t first, size_t count,
                   float *out)
{
    const struct synth_bulks *bulks = bulks_of(level);
    struct source source = {stream.seed, stream.subsequence, false};
    struct maker maker = {true, bulks->normals, bulks->normals_past};
    make(&source, &maker, first, count, (uint32_t *)out);
}

void synth_words_curand(enum synth_level level, uint64_t seed, uint64_t first, size_t count,
                        uint32_t *out)
{
    const struct synth_bulks *bulks = bulks_of(level);
    struct source source = {seed, 0, true};
    struct maker maker = {false, bulks->curand, bulks->curand_past};
    make(&source, &maker, first, count, out);
}
