/* Words, normals and scenes on a GPU: at the speed of its memory, with the CPU's bits. */
#include "suites/scene_work.h"
#include "synth/scene/device_stream.h"
#include "synth/scene/scene.h"

#include <stdlib.h>
#include <string.h>

enum kind { WORDS, NORMALS, CURAND };

static const struct ypi_stream stream = {8, 16};

static enum yp_status make(struct yp_device *device, enum kind kind, uint64_t first, size_t count,
                           uint32_t *out)
{
    if (kind == NORMALS)
        return synth_device_normals(device, stream, first, count, (float *)(void *)out);
    if (kind == CURAND)
        return synth_device_words_curand(device, stream.seed, first, count, out);
    return synth_device_words(device, stream, first, count, out);
}

/* `theirs` is memory of the case's device. */
static void expect_same(struct yp_case *t, const char *what, uint32_t *theirs,
                        const uint32_t *right, size_t count)
{
    uint32_t *copy = malloc(count * sizeof *copy);
    yp_require(t, copy != NULL, "out of memory: %zu words", count);
    enum yp_status status = yp_device_copy(yp_device(t), copy, theirs, count * sizeof *copy);
    size_t at = 0;
    while (status == YP_OK && at < count && copy[at] == right[at])
        at++;
    if (status == YP_OK && at < count)
        yp_expect(t, false, "%s: number %zu is %08x, on the CPU %08x", what, at, copy[at],
                  right[at]);
    free(copy);
    yp_ok(t, status);
}

/* Ranges with a remainder at either end and a carry in the counter's words. */
static void expect_bits(struct yp_case *t, enum kind kind, uint32_t *out)
{
    static const uint64_t places[] = {0, 3, 262143, (UINT64_C(1) << 34) - 100001,
                                      (UINT64_C(1) << 61) + 5};
    enum { COUNT = 1000003 };
    uint32_t *right = malloc(COUNT * sizeof *right);
    yp_require(t, right != NULL, "out of memory: %d words", COUNT);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        yp_ok(t, make(yp_device(t), kind, places[i], COUNT, out));
        yp_ok(t, make(yp_device_cpu(), kind, places[i], COUNT, right));
        expect_same(t, "ours", out, right, COUNT);
        if (kind == NORMALS)
            continue;
        yp_ok(t, synth_device_words_by_curand(yp_device(t), stream, kind == CURAND, places[i],
                                              COUNT, out));
        expect_same(t, "cuRAND's", out, right, COUNT);
    }
    yp_data_hash(t, yp_hash_f32(0, (const float *)(const void *)right, 1024));
    free(right);
}

static void fill(struct yp_case *t, enum kind kind)
{
    size_t bytes = (size_t)yp_int(t, "mib") << 20, count = bytes / sizeof(uint32_t);
    uint32_t *out = yp_alloc(t, bytes);
    uint64_t first = 0;
    enum yp_status status = YP_OK;
    expect_bits(t, kind, out);
    double normals = kind == NORMALS ? (double)count : 0;
    yp_measure (t, "make", .items = (double)count, .unit = "values", .bytes = (double)bytes,
                .traffic = YP_FILL, .footprint = YP_FOOTPRINT_MEMORY,
                .bounds =
                    YP_WORK(WORDS_WORK((double)count), yp_work(YP_FP32, NORMAL_FLOPS * normals))) {
        status = make(yp_device(t), kind, first, count, out);
        first += count;
    }
    yp_ok(t, status);
}

#define MIB YP_AXES(yp_axis_int("mib", 2048))

YP_TEST(synth_cuda, words, .devices = "cuda", .tags = "perf small", .axes = MIB, .timeout = 120,
        .budgets = YP_BUDGETS(yp_min_share("make", 0.8)))
{
    fill(t, WORDS);
}

YP_TEST(synth_cuda, curand, .devices = "cuda", .tags = "perf small", .axes = MIB, .timeout = 120,
        .budgets = YP_BUDGETS(yp_min_share("make", 0.8)))
{
    fill(t, CURAND);
}

YP_TEST(synth_cuda, normals, .devices = "cuda", .tags = "perf small", .axes = MIB, .timeout = 120,
        .budgets = YP_BUDGETS(yp_min_share("make", 0.4)))
{
    fill(t, NORMALS);
}

/* Whole cubes; where channels are no multiple of 4, quads of values belong to several pixels. */
YP_TEST(synth_cuda, scene, .devices = "cuda", .tags = "perf small",
        .axes = YP_AXES(yp_axis_int("channels", 50, 100, 200),
                        yp_axis_string("preset", "scene", "cuvis")),
        .timeout = 120, .budgets = YP_BUDGETS(yp_min_share("make", 0.14)))
{
    enum { CUBES = 8, SIDE = 512, PIXELS = SIDE * SIDE };
    struct synth_spec spec = {.height = SIDE, .width = SIDE, .seed = yp_seed(t)};
    spec.channels = (size_t)yp_int(t, "channels");
    spec.preset = strcmp(yp_string(t, "preset"), "cuvis") == 0 ? SYNTH_CUVIS : SYNTH_SCENE;
    size_t of_cube = PIXELS * spec.channels, count = CUBES * of_cube;
    float *values = yp_alloc(t, count * sizeof *values);
    struct synth_scene *scene = open_scene(t, yp_device(t), &spec);
    enum yp_status status = YP_OK;
    uint64_t cube = 0;
    yp_measure (t, "make", .items = (double)count, .unit = "values",
                .bytes = (double)(count * sizeof *values), .traffic = YP_FILL,
                .footprint = YP_FOOTPRINT_MEMORY) {
        status = synth_scene_cubes(scene, cube, CUBES, 0, PIXELS, values, NULL);
        cube += CUBES;
    }
    synth_scene_destroy(scene);
    yp_ok(t, status);
}
