/* Prints a hash of what synth makes at each instruction level, and those that are known. */
#include "base/random/stream.h"
#include "synth/plays/csv.h"
#include "synth/scene/purpose.h"
#include "synth/scene/scene.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT 100003
#define CUBE 3

/* The same from gcc 12 and clang 14 at -O0, -O1, -O2, -O3 and at every instruction level. A change
 * here means that every stored result with a data hash is of other data: change it knowingly. */
#define NORMALS_HASH UINT64_C(0xa256aef5425b0fad)
#define MIXING_HASH UINT64_C(0x78fd5f989d632f51)
#define CUVIS_HASH UINT64_C(0x98bd70ff34d7f3ab)

/* FNV-1a over bytes. */
static uint64_t hash_bytes(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *byte = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    return hash;
}

#define HASH_START UINT64_C(0xcbf29ce484222325)

static int failed(void)
{
    fprintf(stderr, "%s\n", yp_last_error());
    return 1;
}

/* Values, labels and fill of one cube, by tiles and by bands. The sizes leave every loop a rest. */
static int print_scene(const char *name, struct synth_spec spec, enum ypi_level level)
{
    enum { HEIGHT = 67, WIDTH = 71, CHANNELS = 13, PIXELS = HEIGHT * WIDTH };
    static float values[PIXELS * CHANNELS], fill[PIXELS], band[PIXELS];
    static uint8_t labels[PIXELS];
    spec.height = HEIGHT;
    spec.width = WIDTH;
    spec.channels = CHANNELS;
    spec.seed = 0x0123456789abcdef;
    spec.level = level;
    struct synth_scene *scene = synth_scene_create(yp_device_cpu(), &spec);
    const struct synth_truth truth = {.labels = labels, .fill = fill};
    if (scene == NULL || synth_scene_tile(scene, CUBE, 0, PIXELS, values, &truth) != YP_OK)
        return failed();
    uint64_t hash = hash_bytes(HASH_START, values, sizeof values);
    hash = hash_bytes(hash, labels, sizeof labels);
    printf("%s %d 0x%016" PRIx64 "\n", name, level, hash_bytes(hash, fill, sizeof fill));
    hash = HASH_START;
    for (size_t c = 0; c < CHANNELS; c++) {
        if (synth_scene_band(scene, CUBE, c, 0, PIXELS, band) != YP_OK)
            return failed();
        hash = hash_bytes(hash, band, sizeof band);
    }
    printf("%s-bands %d 0x%016" PRIx64 "\n", name, level, hash);
    synth_scene_destroy(scene);
    return 0;
}

static void print_streams(enum ypi_level level)
{
    static float normals[COUNT];
    static uint32_t words[COUNT];
    struct ypi_stream stream = synth_stream(11, 3, SYNTH_NOISE);
    ypi_random_normals(level, stream, 0, COUNT, normals);
    printf("normals %d 0x%016" PRIx64 "\n", level, hash_bytes(HASH_START, normals, sizeof normals));
    ypi_random_words(level, stream, 5, COUNT, words);
    printf("words %d 0x%016" PRIx64 "\n", level, hash_bytes(HASH_START, words, sizeof words));
    ypi_random_words_curand(level, 11, 7, COUNT, words);
    printf("curand %d 0x%016" PRIx64 "\n", level, hash_bytes(HASH_START, words, sizeof words));
}

/* The rows of plays hold all of their values. */
static int print_plays(void)
{
    enum { PLAYS = 20, PLAYERS = 26, FRAMES = 70 };
    static char rows[PLAYERS * FRAMES * SYNTH_PLAY_ROW];
    static struct synth_play play;
    static const struct synth_plays spec = {
        .seed = 0x0123456789abcdef, .players = PLAYERS, .frames = FRAMES, .missing = 0.2};
    uint64_t hash = HASH_START;
    for (uint64_t i = 0; i < PLAYS; i++) {
        if (synth_play_make(&spec, 1, i, &play) != YP_OK)
            return failed();
        hash = hash_bytes(hash, rows, synth_play_rows(&play, rows));
        hash = hash_bytes(hash, rows, synth_play_summary(&play, rows));
    }
    printf("plays 1 0x%016" PRIx64 "\n", hash);
    return 0;
}

int main(void)
{
    static const struct synth_spec scene = {.target_fraction = 0.01};
    static const struct synth_spec cuvis = {.preset = SYNTH_CUVIS};
    static const struct synth_spec optics = {
        .target_fraction = 0.01, .psf_px = 1.5, .smile_nm = 2, .keystone_px = 1.3};
    static const struct synth_spec ground = {
        .target_shape = SYNTH_MIXED, .target_px = 6.5, .target_fraction = 0.04, .grain_px = 5};
    printf("normals golden 0x%016" PRIx64 "\n", NORMALS_HASH);
    printf("scene golden 0x%016" PRIx64 "\n", MIXING_HASH);
    printf("cuvis golden 0x%016" PRIx64 "\n", CUVIS_HASH);
    for (int level = YPI_LEVEL_BASELINE; level < YPI_LEVELS; level++) {
        if (!ypi_level_runs((enum ypi_level)level))
            continue;
        print_streams((enum ypi_level)level);
        if (print_scene("scene", scene, (enum ypi_level)level) != 0 ||
            print_scene("optics", optics, (enum ypi_level)level) != 0 ||
            print_scene("cuvis", cuvis, (enum ypi_level)level) != 0 ||
            print_scene("ground", ground, (enum ypi_level)level) != 0)
            return 1;
    }
    return print_plays() == 0 && fflush(stdout) == 0 ? 0 : 1;
}
