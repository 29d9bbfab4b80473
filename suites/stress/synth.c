/* The generator as the data grow: correct words, steady rate, predicted memory. */
#include "base/random/stream.h"
#include "suites/scene_work.h"

#include <Random123/philox.h>
#include <string.h>

/* Philox4x32-10 as Random123, its authors' library, computes it. */
static void random123(uint64_t seed, uint64_t subsequence, uint64_t block, uint32_t out[4])
{
    philox4x32_ctr_t counter = {{(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)subsequence,
                                 (uint32_t)(subsequence >> 32)}};
    philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    philox4x32_ctr_t words = philox4x32_R(10, counter, key);
    memcpy(out, words.v, sizeof words.v);
}

/* The known answer that Random123 publishes for the digits of pi, and then as many words as a
 * scale has values, against Random123 itself. */
YP_TEST(synth, words, .tags = "stress", .cases = YP_CASES(SMALL_CASE, MEDIUM_CASE), .timeout = 120,
        .parallel = true)
{
    static const uint32_t pi[4] = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
    philox4x32_ctr_t counter = {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}};
    philox4x32_key_t key = {{0xa4093822, 0x299f31d0}};
    philox4x32_ctr_t known = philox4x32_R(10, counter, key);
    yp_expect(t, memcmp(known.v, pi, sizeof pi) == 0, "Random123 is not Philox4x32-10 here");

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
            random123(stream.seed, stream.subsequence, first + i, right);
            wrong += memcmp(right, words + 4 * i, sizeof right) != 0;
        }
    }
    yp_expect(t, wrong == 0, "%llu of %llu blocks differ from Random123's",
              (unsigned long long)wrong, (unsigned long long)blocks);
}

YP_TEST(synth, scene, .tags = "stress", .cases = YP_CASES(SMALL_CASE, MEDIUM_CASE), .timeout = 120,
        .budgets = YP_BUDGETS(yp_budget_file("budgets.ini")))
{
    enum { TILE_PIXELS = 4096 };
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
