/* Every scene of the suites on a GPU: values and truth equal the CPU's in every bit. */
#include "suites/scene_tiles.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_CUBES = 100 };

/* A cube with its truth, on the host. */
struct whole {
    size_t pixels, channels, endmembers;
    float *values, *fill, *abundances;
    uint8_t *labels, *valid;
};

static void *taken(struct yp_case *t, struct yp_device *device, size_t bytes)
{
    void *memory = yp_device_alloc(device, bytes);
    yp_require(t, memory != NULL, "%s", yp_last_error());
    return memory;
}

static struct whole whole_new(struct yp_case *t, struct yp_device *device,
                              const struct synth_spec *spec)
{
    struct whole w = {.pixels = spec->height * spec->width};
    w.channels = spec->channels;
    w.endmembers = spec->endmembers;
    w.values = taken(t, device, w.pixels * w.channels * sizeof *w.values);
    w.fill = taken(t, device, w.pixels * sizeof *w.fill);
    w.labels = taken(t, device, w.pixels);
    w.valid = taken(t, device, w.pixels);
    if (spec->preset == SYNTH_SCENE)
        w.abundances = taken(t, device, w.pixels * w.endmembers * sizeof *w.abundances);
    return w;
}

static void whole_free(struct yp_device *device, const struct whole *w)
{
    yp_device_free(device, w->values);
    yp_device_free(device, w->fill);
    yp_device_free(device, w->labels);
    yp_device_free(device, w->valid);
    yp_device_free(device, w->abundances);
}

static enum yp_status whole_make(const struct synth_scene *scene, uint64_t cube, struct whole *w)
{
    struct synth_truth truth = {w->labels, w->fill, w->abundances, w->valid};
    return synth_scene_tile(scene, cube, 0, w->pixels, w->values, &truth);
}

/* The name of an array that differs between device and host, NULL when none does; the device's are
 * copied to `staging` one by one. */
static const char *differs(struct yp_device *device, const struct whole *gpu,
                           const struct whole *cpu, void *staging)
{
    const struct {
        const char *name;
        const void *theirs, *right;
        size_t bytes;
    } parts[] = {
        {"values", gpu->values, cpu->values, cpu->pixels * cpu->channels * sizeof(float)},
        {"fill", gpu->fill, cpu->fill, cpu->pixels * sizeof(float)},
        {"labels", gpu->labels, cpu->labels, cpu->pixels},
        {"valid", gpu->valid, cpu->valid, cpu->pixels},
        {"abundances", gpu->abundances, cpu->abundances,
         cpu->abundances != NULL ? cpu->pixels * cpu->endmembers * sizeof(float) : 0},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].bytes > 0 &&
            (yp_device_copy(device, staging, parts[i].theirs, parts[i].bytes) != YP_OK ||
             memcmp(staging, parts[i].right, parts[i].bytes) != 0))
            return parts[i].name;
    return NULL;
}

/* As many cubes as scene_tiles_hash() takes, spread as it does: the hash is that of the CPU's
 * cases. */
YP_TEST(synth_cuda, bits, .devices = "cuda", .tags = "stress",
        .cases = YP_CASES(SMALL_CASE, MEDIUM_CASE,
                          yp_case_of("large", .tags = "slow", .set = YP_SET(SCALE_LARGE)),
                          yp_case_of("xl", .tags = "slow", .set = YP_SET(SCALE_XL))),
        .axes = YP_AXES(yp_axis_string("preset", "scene", "cuvis")), .timeout = 1200)
{
    struct scale s = scale_of(t);
    bool cuvis = strcmp(yp_string(t, "preset"), "cuvis") == 0;
    struct synth_spec spec = {.preset = cuvis ? SYNTH_CUVIS : SYNTH_SCENE,
                              .height = s.height,
                              .width = s.width,
                              .channels = s.channels,
                              .seed = yp_seed(t)};
    struct yp_device *gpu = yp_device(t), *cpu = yp_device_cpu();
    struct synth_scene *on_gpu = open_scene(t, gpu, &spec), *on_cpu = open_scene(t, cpu, &spec);
    const struct synth_spec *full = synth_scene_spec(on_cpu);
    struct whole theirs = whole_new(t, gpu, full), right = whole_new(t, cpu, full);
    size_t values = right.pixels * right.channels;
    size_t shares = right.pixels * (right.channels > 7 ? right.channels : 7);
    float *staging = taken(t, cpu, shares * sizeof *staging);
    size_t cubes = s.cubes < MAX_CUBES ? s.cubes : MAX_CUBES;
    uint64_t hash = 0;
    for (size_t i = 0; i < cubes; i++) {
        size_t cube = i * s.cubes / cubes;
        yp_ok(t, whole_make(on_gpu, cube, &theirs));
        yp_ok(t, whole_make(on_cpu, cube, &right));
        const char *part = differs(gpu, &theirs, &right, staging);
        yp_require(t, part == NULL, "cube %zu: %s differ from the CPU's", cube, part);
        hash += yp_hash_f32(cube * values, right.values, values);
    }
    yp_data_hash(t, hash);
    yp_device_free(cpu, staging);
    whole_free(gpu, &theirs);
    whole_free(cpu, &right);
    synth_scene_destroy(on_gpu);
    synth_scene_destroy(on_cpu);
}
