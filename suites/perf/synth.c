/* Random words and normals, bound by arithmetic or by the memory they are written to; plays. */
#include "base/random/stream.h"
#include "suites/scene_work.h"
#include "synth/plays/csv.h"
#include "synth/scene/purpose.h"

#include <omp.h>

/* Beyond every cache; half of a common second-level cache, for each thread. */
#define MEMORY ((size_t)yp_int(t, "mib") << 20)
#define NEAR ((size_t)512 << 10)

enum kind { WORDS, NORMALS, CURAND };

static void make(enum kind kind, uint64_t first, size_t count, uint32_t *out)
{
    struct ypi_stream stream = synth_stream(8, 1, SYNTH_NOISE);
    if (kind == WORDS)
        ypi_random_words(YPI_LEVEL_AUTO, stream, first, count, out);
    else if (kind == NORMALS)
        ypi_random_normals(YPI_LEVEL_AUTO, stream, first, count, (float *)out);
    else
        ypi_random_words_curand(YPI_LEVEL_AUTO, stream.seed, first, count, out);
}

/* Each thread has a part of the buffer; values are those of one stream, whatever their number. */
static void fill(struct yp_case *t, enum kind kind, size_t bytes, bool near)
{
    int threads = (int)yp_int(t, "threads");
    size_t count = bytes / sizeof(uint32_t), part = count / (size_t)threads;
    uint32_t *out = yp_alloc(t, bytes);
    uint64_t first = 0;
    make(kind, 0, count, out);
    double footprint = near ? (double)bytes : YP_FOOTPRINT_MEMORY;
    double normals = kind == NORMALS ? (double)count : 0;
    yp_measure (t, "make", .items = (double)count, .unit = "values", .bytes = (double)bytes,
                .traffic = YP_FILL, .footprint = footprint,
                .bounds =
                    YP_WORK(WORDS_WORK((double)count), yp_work(YP_FP32, NORMAL_FLOPS * normals)),
                .threads = threads) {
#pragma omp parallel num_threads(threads)
        {
            size_t from = (size_t)omp_get_thread_num() * part;
            make(kind, first + from, part, out + from);
        }
        first += count;
        yp_keep(out);
    }
    make(kind, 0, 1024, out);
    yp_data_hash(t, yp_hash_f32(0, (const float *)(const void *)out, 1024));
}

#define THREADS yp_axis_int("threads", 1, 2)
#define TO_MEMORY YP_AXES(THREADS, yp_axis_int("mib", 512))

/* One thread alone does not fill the memory: it has 0.24 by AVX2 and 0.43 to 0.7 by AVX-512, two
 * have 0.46 to 0.9. */
static void memory_floor(const struct yp_case *c, struct yp_budgets *out)
{
    yp_budget_add(out, yp_min_share("make", yp_int(c, "threads") > 1 ? 0.3 : 0.15));
}

YP_TEST(synth, words, .tags = "perf small", .axes = TO_MEMORY, .budgets_of = memory_floor)
{
    fill(t, WORDS, MEMORY, false);
}

YP_TEST(synth, curand, .tags = "perf small", .axes = TO_MEMORY, .budgets_of = memory_floor)
{
    fill(t, CURAND, MEMORY, false);
}

/* No floor for normals: by SSE2, in plain loops, their share is 0.04, by vectors 0.2 to 0.5. */
YP_TEST(synth, normals, .tags = "perf small", .axes = TO_MEMORY)
{
    fill(t, NORMALS, MEMORY, false);
}

YP_TEST(synth, words_near, .tags = "perf small", .axes = YP_AXES(THREADS),
        .budgets = YP_BUDGETS(yp_min_share("make", 0.14)))
{
    fill(t, WORDS, NEAR * (size_t)yp_int(t, "threads"), true);
}

YP_TEST(synth, normals_near, .tags = "perf small", .axes = YP_AXES(THREADS))
{
    fill(t, NORMALS, NEAR * (size_t)yp_int(t, "threads"), true);
}

/* ---- plays ---- */

/* Plays of 22 players as arrays, and as rows of a file in a near cache. No floor: neither
 * arithmetic nor memory bounds them, so a rate is one of this machine, which baselines hold. */
YP_TEST(synth, plays, .tags = "perf small")
{
    enum { PLAYS = 16, FRAMES = 50, PLAYERS = 22 };
    const struct synth_plays spec = {.seed = 8, .frames = FRAMES};
    struct synth_play *play = yp_alloc_host(t, sizeof *play);
    char *rows = yp_alloc_host(t, (size_t)FRAMES * PLAYERS * SYNTH_PLAY_ROW);
    enum yp_status status = YP_OK;
    yp_measure (t, "make", .items = PLAYS * FRAMES * PLAYERS, .unit = "rows", .threads = 1)
        for (uint64_t i = 0; i < PLAYS && status == YP_OK; i++) {
            status = synth_play_make(&spec, 1, i, play);
            yp_keep(play);
        }
    yp_ok(t, status);
    size_t bytes = synth_play_rows(play, rows);
    yp_measure (t, "rows", .items = FRAMES * PLAYERS, .unit = "rows", .bytes = (double)bytes,
                .threads = 1) {
        synth_play_rows(play, rows);
        yp_keep(rows);
    }
    yp_data_hash(t, yp_hash_f32(0, play->x, (size_t)FRAMES * PLAYERS));
}
