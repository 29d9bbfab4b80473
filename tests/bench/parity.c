/*
 * What parity.py compares with its peers, done again and timed: reads arrays, writes arrays.
 *
 * usage: parity WORK THREADS TIMES OUT IN [ARGUMENTS]
 *     rx       CUBE                mean (C), covariance (C, C) as doubles, then scores
 *     filter   CUBE TARGET         matched filter of one target, floats as a .npy of (1, C)
 *     ace      CUBE TARGET         squared, as Spectral Python's ace()
 *     local    CUBE INNER OUTER    scores
 *     mnf      CUBE                eigenvalues (C), noise covariance (C, C) as doubles, then all
 *                                  components of all pixels
 *     auc      SCORES LABELS N     one double, of N raw floats and N raw bytes
 *     normals  N SEED              N floats
 *
 * rx, filter and ace with -double behind: their statistics are summed in double (RX_FP64).
 *
 * A CUBE is what `yieldpoint synth` writes. All files are read first, then the work is done once
 * to warm up and TIMES more, each time with objects of its own; prints the seconds of each, a line
 * each. OUT is raw, in the order above, floats where nothing is said.
 */
#include "base/random/stream.h"
#include "base/system/clock.h"
#include "models/metrics/metrics.h"
#include "models/rx/methods/local.h"
#include "models/rx/methods/matched.h"
#include "models/rx/methods/mnf.h"
#include "synth/cube/cube.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WRONG = 4, OUTS = 3, FIXED = 5 /* arguments of every work, and the name */ };

struct work {
    struct rx_image image;
    struct rx_image_tiles tiles;
    float *target; /* (channels) */
    float *scores; /* (n), as labels */
    uint8_t *labels;
    size_t pixels, n;
    int threads;
    enum rx_precision precision;
    char **arguments;
    /* What is written, one behind the other. */
    void *out[OUTS];
    size_t bytes[OUTS];
};

static void need(bool holds)
{
    if (holds)
        return;
    fprintf(stderr, "parity: %s\n", yp_last_error());
    exit(WRONG);
}

static void *take(struct work *w, int place, size_t count, size_t size)
{
    if (w->out[place] == NULL)
        w->out[place] = calloc(count, size);
    if (w->out[place] == NULL)
        exit(WRONG);
    w->bytes[place] = count * size;
    return w->out[place];
}

static float *read_cube(const char *path, size_t *height, size_t *width, size_t *channels)
{
    struct synth_cube_file *file = synth_cube_open(yp_device_cpu(), path, SYNTH_AS_STORED);
    need(file != NULL);
    const struct synth_cube_info *info = synth_cube_info(file);
    size_t pixels = info->height * info->width;
    float *values = calloc(pixels * info->channels, sizeof *values);
    if (values == NULL)
        exit(WRONG);
    *height = info->height;
    *width = info->width;
    *channels = info->channels;
    need(synth_cube_read(file, 0, 0, pixels, values) == YP_OK);
    synth_cube_close(file);
    return values;
}

static void *read_raw(const char *path, size_t bytes)
{
    void *values = malloc(bytes);
    FILE *file = fopen(path, "rb");
    if (values == NULL || file == NULL || fread(values, 1, bytes, file) != bytes) {
        fprintf(stderr, "parity: %s has no %zu bytes\n", path, bytes);
        exit(WRONG);
    }
    fclose(file);
    return values;
}

/* -- the works ------------------------------------------------------------------------------- */

static void open_cube(struct work *w)
{
    struct rx_image *image = &w->image;
    image->values = read_cube(w->arguments[0], &image->height, &image->width, &image->channels);
    w->pixels = image->height * image->width;
    need(rx_image_pixels(image, &w->tiles) == YP_OK);
}

static void open_target(struct work *w)
{
    size_t one, other, channels;
    open_cube(w);
    w->target = read_cube(w->arguments[1], &one, &other, &channels);
    if (channels == w->image.channels)
        return;
    fprintf(stderr, "parity: the target has %zu channels, the cube %zu\n", channels,
            w->image.channels);
    exit(WRONG);
}

static void open_scores(struct work *w)
{
    w->n = strtoul(w->arguments[2], NULL, 10);
    w->scores = read_raw(w->arguments[0], w->n * sizeof *w->scores);
    w->labels = read_raw(w->arguments[1], w->n);
}

static struct rx *fitted(struct work *w)
{
    struct rx_source *source = &w->tiles.source;
    struct rx *rx = rx_create_with(yp_device_cpu(), w->image.channels, source->tile_pixels,
                                   w->threads, &(struct rx_options){.precision = w->precision});
    need(rx != NULL && rx_fit(rx, source) == YP_OK);
    return rx;
}

/* Places a source's tiles have. */
static size_t places(const struct work *w)
{
    return w->tiles.source.tiles * w->tiles.source.tile_pixels;
}

static void global(struct work *w)
{
    size_t c = w->image.channels;
    double *mean = take(w, 0, c, sizeof *mean), *covariance = take(w, 1, c * c, sizeof *covariance);
    float *scores = take(w, 2, places(w), sizeof *scores);
    struct rx *rx = fitted(w);
    need(rx_finish(rx, 0) == YP_OK && rx_score(rx, &w->tiles.source, scores) == YP_OK);
    memcpy(mean, rx_mean(rx), c * sizeof *mean);
    need(rx_covariance(rx, covariance) == YP_OK);
    rx_destroy(rx);
}

static void match(struct work *w, enum rx_match how)
{
    float *scores = take(w, 0, places(w), sizeof *scores);
    struct rx *rx = fitted(w);
    need(rx_finish(rx, 0) == YP_OK);
    struct rx_matched *m = rx_matched_create(yp_device_cpu(), rx, w->target, 1,
                                             w->tiles.source.tile_pixels, w->threads);
    need(m != NULL && rx_matched_score(m, &w->tiles.source, how, scores) == YP_OK);
    rx_matched_destroy(m);
    rx_destroy(rx);
}

static void filter(struct work *w)
{
    match(w, RX_MATCHED_FILTER);
}

static void ace(struct work *w)
{
    match(w, RX_ACE);
}

static void local(struct work *w)
{
    float *scores = take(w, 0, w->pixels, sizeof *scores);
    struct rx_local_options options = {.inner = strtoul(w->arguments[1], NULL, 10),
                                       .outer = strtoul(w->arguments[2], NULL, 10),
                                       .threads = w->threads};
    need(rx_local(yp_device_cpu(), &w->image, &options, scores, NULL) == YP_OK);
}

static void mnf(struct work *w)
{
    size_t c = w->image.channels;
    double *values = take(w, 0, c, sizeof *values), *noise = take(w, 1, c * c, sizeof *noise);
    float *components = take(w, 2, places(w) * c, sizeof *components);
    struct rx *rx = fitted(w);
    need(rx_noise(yp_device_cpu(), &w->image, RX_LOWER_RIGHT, w->threads, noise) == YP_OK);
    struct rx_mnf *m =
        rx_mnf_create(yp_device_cpu(), rx, noise, NULL, w->tiles.source.tile_pixels, w->threads);
    need(m != NULL && rx_mnf_forward(m, &w->tiles.source, c, components) == YP_OK);
    memcpy(values, rx_mnf_eigenvalues(m), c * sizeof *values);
    rx_mnf_destroy(m);
    rx_destroy(rx);
}

static void auc(struct work *w)
{
    need(metrics_auc(yp_device_cpu(), w->scores, w->labels, w->n, take(w, 0, 1, sizeof(double)),
                     NULL) == YP_OK);
}

static void normals(struct work *w)
{
    size_t n = strtoul(w->arguments[0], NULL, 10);
    struct ypi_stream stream = {strtoul(w->arguments[1], NULL, 10), 0};
    ypi_random_normals(YPI_LEVEL_AUTO, stream, 0, n, take(w, 0, n, sizeof(float)));
}

static const struct {
    const char *name;
    int arguments;
    void (*open)(struct work *);
    void (*run)(struct work *);
    enum rx_precision precision;
} works[] = {
    {"rx", 1, open_cube, global, RX_FP32},       {"rx-double", 1, open_cube, global, RX_FP64},
    {"filter", 2, open_target, filter, RX_FP32}, {"filter-double", 2, open_target, filter, RX_FP64},
    {"ace", 2, open_target, ace, RX_FP32},       {"ace-double", 2, open_target, ace, RX_FP64},
    {"local", 3, open_cube, local, RX_FP32},     {"mnf", 1, open_cube, mnf, RX_FP32},
    {"auc", 3, open_scores, auc, RX_FP32},       {"normals", 2, NULL, normals, RX_FP32},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > FIXED && i < sizeof works / sizeof *works; i++) {
        if (strcmp(argv[1], works[i].name) != 0 || argc != FIXED + works[i].arguments)
            continue;
        struct work w = {
            .threads = atoi(argv[2]), .precision = works[i].precision, .arguments = argv + FIXED};
        if (works[i].open != NULL)
            works[i].open(&w);
        works[i].run(&w);
        for (int times = atoi(argv[3]); times > 0; times--) {
            double start = ypi_now();
            works[i].run(&w);
            printf("%.9g\n", ypi_now() - start);
        }
        FILE *file = fopen(argv[4], "wb");
        for (int k = 0; k < OUTS && file != NULL; k++)
            fwrite(w.out[k], 1, w.bytes[k], file);
        return file != NULL && fclose(file) == 0 ? 0 : WRONG;
    }
    fputs("usage: parity WORK THREADS TIMES OUT IN [ARGUMENTS]; see parity.c\n", stderr);
    return WRONG;
}
