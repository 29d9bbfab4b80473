/* The generator as the data grow: correct words and normals, steady rate, predicted memory. */
#include "base/random/bulk.h"
#include "base/random/stream.h"
#include "suites/scene_work.h"
#include "synth/scene/device_stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Philox4x32-10 by its definition: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as
 * 1, 2, 3", SC11. */
static void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t k[2] = {key[0], key[1]}, x[4] = {counter[0], counter[1], counter[2], counter[3]};
    for (int round = 0; round < 10; round++) {
        uint64_t a = UINT64_C(0xd2511f53) * x[0], b = UINT64_C(0xcd9e8d57) * x[2];
        x[0] = (uint32_t)(b >> 32) ^ x[1] ^ k[0];
        x[2] = (uint32_t)(a >> 32) ^ x[3] ^ k[1];
        x[1] = (uint32_t)b;
        x[3] = (uint32_t)a;
        k[0] += 0x9e3779b9;
        k[1] += 0xbb67ae85;
    }
    memcpy(out, x, sizeof x);
}

/* A block of a stream; in cuRAND's order 65536 subsequences have one each, then the next each. */
static void block_of(struct ypi_stream s, bool curand, uint64_t block, uint32_t out[4])
{
    uint64_t subsequence = curand ? block % 65536 : s.subsequence;
    block = curand ? block / 65536 : block;
    const uint32_t key[] = {(uint32_t)s.seed, (uint32_t)(s.seed >> 32)};
    philox((const uint32_t[]){(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)subsequence,
                              (uint32_t)(subsequence >> 32)},
           key, out);
}

/* Random123 1.14.0, tests/kat_vectors, the lines "philox4x32 10". */
static const struct {
    uint32_t counter[4], key[2], words[4];
} published[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

/* cuRAND 10.4.0: its host generator of Philox4_32_10, seed 20260118, in the legacy order. */
static const struct {
    uint64_t first;
    uint32_t words[4];
} curands[] = {
    {0, {0x1f6dd16a, 0x35fca574, 0x4db81111, 0x00dd5abc}},
    {262143, {0x06959ba2, 0x5539ef03, 0xc27537cc, 0x43135d5a}},
    {17179869182, {0xdf02d82b, 0x4430f5fd, 0x566d811c, 0xe140b09a}},
    {1250000000003, {0xd2bf57e4, 0x13ff3fa5, 0x01d813e6, 0xb79bdf22}},
};

/* The published answers, and then as many words as a scale has values. */
YP_TEST(synth, words, .tags = "stress", .cases = YP_CASES(SMALL_CASE, MEDIUM_CASE), .timeout = 120,
        .parallel = true)
{
    uint32_t known[4];
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        philox(published[i].counter, published[i].key, known);
        yp_expect(t, memcmp(known, published[i].words, sizeof known) == 0,
                  "this is not Philox4x32-10: published answer %zu", i);
    }
    for (size_t i = 0; i < sizeof curands / sizeof *curands; i++) {
        ypi_random_words_curand(YPI_LEVEL_AUTO, 20260118, curands[i].first, 4, known);
        yp_expect(t, memcmp(known, curands[i].words, sizeof known) == 0,
                  "cuRAND has other words from %llu on", (unsigned long long)curands[i].first);
    }

    enum { BLOCKS = 4096 };
    struct scale s = scale_of(t);
    uint32_t *words = yp_alloc(t, BLOCKS * 4 * sizeof *words);
    uint64_t blocks = (uint64_t)(scale_values(&s) / 4);
    uint64_t wrong = 0;
    for (uint64_t first = 0; first < blocks; first += BLOCKS) {
        struct ypi_stream stream = {.seed = yp_seed(t), .subsequence = first % 7};
        ypi_random_words(YPI_LEVEL_AUTO, stream, 4 * first, BLOCKS * 4, words);
        for (uint64_t i = 0; i < BLOCKS; i++) {
            uint32_t right[4];
            block_of(stream, false, first + i, right);
            wrong += memcmp(right, words + 4 * i, sizeof right) != 0;
        }
    }
    yp_expect(t, wrong == 0, "%llu of %llu blocks are not Philox4x32-10's",
              (unsigned long long)wrong, (unsigned long long)blocks);
}

/* -- ranges ----------------------------------------------------------------------------------- */

enum kind { WORDS, NORMALS, CURAND };

static enum kind kind_of(struct yp_case *t)
{
    const char *name = yp_string(t, "kind");
    return strcmp(name, "words") == 0 ? WORDS : strcmp(name, "normals") == 0 ? NORMALS : CURAND;
}

/* In memory of the case's device; the level is one of the CPU. */
static void make(struct yp_case *t, enum ypi_level level, struct ypi_stream stream, uint64_t first,
                 size_t count, void *out)
{
    struct yp_device *device = yp_device(t);
    enum kind kind = kind_of(t);
    if (level != YPI_LEVEL_AUTO && kind == WORDS)
        ypi_random_words(level, stream, first, count, out);
    else if (level != YPI_LEVEL_AUTO && kind == NORMALS)
        ypi_random_normals(level, stream, first, count, out);
    else if (level != YPI_LEVEL_AUTO)
        ypi_random_words_curand(level, stream.seed, first, count, out);
    else if (kind == WORDS)
        yp_ok(t, synth_device_words(device, stream, first, count, out));
    else if (kind == NORMALS)
        yp_ok(t, synth_device_normals(device, stream, first, count, out));
    else
        yp_ok(t, synth_device_words_curand(device, stream.seed, first, count, out));
}

/* The pair of normals by the formula of base/random/normal.h in double, within the bounds that it
 * derives. Quarter turns are taken off exactly and log1p() is used near 1, since the relative error
 * is asked about where these factors are next to 0. */
static void expect_pair(struct yp_case *t, uint32_t x, uint32_t y, const float is[2])
{
    double u = ((double)x + 0.5) * 0x1p-32, radius = sqrt(-2 * (u > 0.5 ? log1p(u - 1) : log(u)));
    double turns = ((double)y + 0.5) * 0x1p-32, quarters = round(4 * turns);
    double angle = 2 * acos(-1.0) * (turns - quarters / 4), s = sin(angle), c = cos(angle);
    const double sines[] = {s, c, -s, -c, s};
    for (int i = 0; i < 2; i++) {
        double want = radius * sines[((int)quarters + i) % 4];
        yp_require(t, fabs((double)is[i] - want) <= 4e-6 && fabs((double)is[i] / want - 1) <= 1e-6,
                   "words %08x %08x: %.9g is not %.9g", x, y, (double)is[i], want);
    }
}

/* Words at which the code of a normal branches, and their neighbours. */
static void expect_seams(struct yp_case *t)
{
    static const uint32_t seams[] = {0,          0x20000000, 0x3fffffff, 0x5a827999, 0x60000000,
                                     0x80000000, 0xa0000000, 0xb5000000, 0xb504f333, 0xc0000000,
                                     0xe0000000, 0x00ffffff, 0xffffff00, 0x007fffff};
    enum { ALL = 5 * sizeof seams / sizeof *seams };
    for (uint32_t i = 0; i < ALL * ALL; i++) {
        uint32_t x = seams[i % ALL / 5] + i % 5 - 2, y = seams[i / ALL / 5] + i / ALL % 5 - 2;
        float pair[2];
        ypi_normal_pair(x, y, &pair[0], &pair[1]);
        expect_pair(t, x, y, pair);
    }
}

/* Numbers first .. first + count - 1 of a stream, in whole blocks. */
static void right_of(struct yp_case *t, struct ypi_stream stream, uint64_t first, size_t count,
                     uint32_t *out)
{
    enum kind kind = kind_of(t);
    for (size_t i = 0; i < count + first % 4; i += 4) {
        uint32_t *words = out + i, own[4];
        block_of(stream, kind == CURAND, first / 4 + i / 4, own);
        memcpy(words, own, sizeof own);
        for (size_t k = 0; kind == NORMALS && k < 4; k += 2) {
            float pair[2];
            ypi_normal_pair(own[k], own[k + 1], &pair[0], &pair[1]);
            expect_pair(t, own[k], own[k + 1], pair);
            memcpy(words + k, pair, sizeof pair);
        }
    }
}

/* From anywhere, over every carry of a counter's words, to memory of every alignment, by every
 * instruction set and a GPU: the words of the definition, and nothing before or behind them. */
YP_TEST(synth, ranges, .tags = "stress small", .timeout = 120, .parallel = true,
        .devices = "cpu cuda",
        .axes = YP_AXES(yp_axis_string("kind", "words", "normals", "curand")))
{
    static const uint64_t firsts[] = {
        0, 1, 2, 3, 262143, 1000003, (UINT64_C(1) << 34) - 9, (UINT64_C(1) << 61) + 5};
    static const size_t counts[] = {1, 2, 5, 31, 127, 129, 4099, 65537};
    enum { MOST = 65537, AROUND = 4 };
    uint32_t *right = yp_alloc_host(t, (MOST + 8) * sizeof *right);
    uint32_t *host = yp_alloc_host(t, (MOST + 3 * AROUND) * sizeof *host);
    uint32_t *out = yp_alloc(t, (MOST + 3 * AROUND) * sizeof *out);
    if (kind_of(t) == NORMALS)
        expect_seams(t);
    for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            struct ypi_stream stream = {UINT64_C(0xfedcba9876543210) + f, 0x1fffffffe + c};
            size_t count = counts[c], shift = AROUND + f % 3;
            right_of(t, stream, firsts[f], count, right);
            for (enum ypi_level level = 0; level < (runs_on_gpu(t) ? 1 : YPI_LEVELS); level++) {
                if (!ypi_level_runs(level))
                    continue;
                memset(host, 0xa5, (count + 3 * AROUND) * sizeof *host);
                size_t bytes = (count + 3 * AROUND) * sizeof *host;
                yp_ok(t, yp_device_copy(yp_device(t), out, host, bytes));
                make(t, level, stream, firsts[f], count, out + shift);
                yp_ok(t, yp_device_copy(yp_device(t), host, out, bytes));
                yp_require(t,
                           memcmp(host + shift, right + firsts[f] % 4, 4 * count) == 0 &&
                               host[shift - 1] == 0xa5a5a5a5 && host[shift + count] == 0xa5a5a5a5,
                           "level %d: %zu from %llu on are others", level, count,
                           (unsigned long long)firsts[f]);
            }
        }
}

/* Ranges so long that they are written by non-temporal stores, at every alignment, are what short
 * ones are. */
YP_TEST(synth, long_ranges, .tags = "stress small", .timeout = 120, .parallel = true,
        .axes = YP_AXES(yp_axis_string("kind", "words", "normals", "curand")))
{
    enum { PIECE = 4099, AROUND = 16 };
    static const size_t starts[] = {AROUND, AROUND + 3, AROUND + 4, AROUND + 12};
    size_t count = ypi_nontemporal_bytes() / sizeof(uint32_t) + 1001;
    uint32_t *whole = yp_alloc(t, (count + 4 * AROUND) * sizeof *whole), piece[PIECE];
    struct ypi_stream stream = {yp_seed(t) + 1, 9};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        uint64_t first = i == 2 ? (UINT64_C(1) << 34) - 501 : 3 * (i % 2);
        uint32_t *out = whole + starts[i];
        out[-1] = out[count] = 0x55555555;
        make(t, YPI_LEVEL_AUTO, stream, first, count, out);
        for (size_t at = 0, n; at < count; at += n) {
            n = count - at < PIECE ? count - at : PIECE;
            make(t, YPI_LEVEL_AUTO, stream, first + at, n, piece);
            yp_require(t, memcmp(piece, out + at, n * sizeof *piece) == 0,
                       "start %zu: others behind %zu", i, at);
        }
        yp_expect(t, out[-1] == 0x55555555 && out[count] == 0x55555555, "written beyond the range");
    }
}

enum { TILE_PIXELS = 4096 };

/* A scene and one tile. */
static void scene_memory(const struct yp_case *c, struct yp_budgets *out)
{
    struct scale s = {.height = (size_t)yp_int(c, "side"),
                      .width = (size_t)yp_int(c, "side"),
                      .channels = (size_t)yp_int(c, "channels")};
    struct synth_spec spec = scale_spec(&s, 0);
    yp_budget_add(out, yp_max_peak(YP_HOST, synth_scene_bytes(&spec) +
                                                TILE_PIXELS * s.channels * sizeof(float)));
}

YP_TEST(synth, scene, .tags = "stress", .cases = YP_CASES(SMALL_CASE, MEDIUM_CASE), .timeout = 120,
        .budgets_of = scene_memory)
{
    struct scale s = scale_of(t);
    struct scene_tiles tiles;
    scene_tiles_open(&tiles, t, &s, TILE_PIXELS);
    float *values = yp_alloc(t, TILE_PIXELS * s.channels * sizeof *values);
    enum yp_status status = YP_OK;
    size_t cube = 0;
    double count = (double)(TILE_PIXELS * s.channels);
    yp_measure (t, "scene", .items = count, .unit = "values", .bytes = 4 * count,
                .traffic = YP_FILL, .footprint = 4 * count,
                .bounds = YP_WORK(SCENE_WORK((double)TILE_PIXELS, count)), .threads = 1) {
        status = synth_scene_tile(tiles.scene, cube++ % s.cubes, 0, TILE_PIXELS, values, NULL);
        yp_keep(values);
    }
    yp_ok(t, status);
    yp_ok(t, synth_scene_tile(tiles.scene, 0, 0, TILE_PIXELS, values, NULL));
    yp_data_hash(t, yp_hash_f32(0, values, TILE_PIXELS * s.channels));
    scene_tiles_close(&tiles);
}
