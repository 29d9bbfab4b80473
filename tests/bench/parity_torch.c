/*
 * Pipelines of models/rx and AdamW for parity.py, which computes the same by PyTorch.
 *
 * usage: parity-torch PIPELINE THREADS TIMES OUT CUBE LABELS
 *        parity-torch adamw - - OUT PARAMETERS GRADIENTS COUNT STEPS
 *
 * A pipeline (the names are in the table below) is fitted to the CUBE, of rows that are tiles of
 * about 4096 pixels, with one label a pixel as raw bytes; each parameter is then moved by up to
 * 2^-10 of its size, for a point that is no optimum. Prints one line each for
 *     tensor NAME OFFSET COUNT
 *     option NAME VALUE       what the formulas need
 *     seconds S               of loss and gradient, TIMES times after one to warm up
 * and writes, raw: the parameters as floats; the loss as a double and the gradient as floats, as
 * rx_pipeline_gradient() makes them; the same two as doubles by the plain loops in double, where
 * the cube is one tile.
 *
 * adamw makes STEPS steps with the defaults from raw floats (COUNT) and (STEPS, COUNT), and writes
 * the parameters after the last.
 */
#include "base/system/clock.h"
#include "models/rx/methods/image.h"
#include "models/rx/pipeline/nodes.h"
#include "models/train/optimiser.h"
#include "synth/cube/cube.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WRONG = 4 };

/* An option that the formulas need is printed for all; what is 0 is left out of them. */
static const struct {
    const char *name;
    struct rx_pipeline_options options;
} pipelines[] = {
    {"rx", {.eps = 1e-3, .scale = 0.05F}},
    {"minmax-rx", {.normalise = true, .eps = 1e-3, .scale = 0.05F, .positive_weight = 7}},
    {"selector-rx",
     {.normalise = true,
      .select = true,
      .keep = 7,
      .temperature = 0.75,
      .train_temperature = true,
      .entropy = 0.3,
      .diversity = 0.2,
      .eps = 1e-3,
      .scale = 0.05F}},
    {"pca-rx",
     {.normalise = true, .components = 5, .orthogonality = 0.1, .eps = 1e-3, .scale = 0.05F}},
    {"whitened-pca-rx",
     {.normalise = true,
      .select = true,
      .components = 5,
      .whiten = true,
      .orthogonality = 0.1,
      .eps = 1e-3,
      .scale = 0.05F}},
    {"residual-pca-rx",
     {.normalise = true,
      .select = true,
      .components = 4,
      .whiten = true,
      .residual = true,
      .orthogonality = 0.1,
      .eps = 1e-3,
      .scale = 0.01F}},
    {"image-rx", {.detector = RX_IMAGE, .normalise = true, .eps = 1e-3, .scale = 0.05F}},
    {"lad", {.detector = RX_LAD, .normalise = true, .scale = 0.05F}},
    {"autoencoder", {.detector = RX_AUTOENCODER, .normalise = true, .hidden = 5}},
};

static void need(bool holds)
{
    if (holds)
        return;
    fprintf(stderr, "parity-torch: %s\n", yp_last_error());
    exit(WRONG);
}

static void *take(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL)
        exit(WRONG);
    return memory;
}

static void *read_raw(const char *path, size_t bytes)
{
    void *values = take(bytes, 1);
    FILE *file = fopen(path, "rb");
    if (file == NULL || fread(values, 1, bytes, file) != bytes) {
        fprintf(stderr, "parity-torch: %s has no %zu bytes\n", path, bytes);
        exit(WRONG);
    }
    fclose(file);
    return values;
}

static FILE *start(const char *path)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        fprintf(stderr, "parity-torch: %s cannot be written\n", path);
        exit(WRONG);
    }
    return file;
}

/* -- data ------------------------------------------------------------------------------------- */

/* An image's tiles with their labels. */
struct labelled {
    struct rx_image_tiles tiles;
    uint8_t *labels;
};

static enum yp_status yield(void *arg, size_t index, float *values, uint8_t *labels,
                            struct rx_tile *tile)
{
    struct labelled *data = arg;
    const struct rx_source *source = &data->tiles.source;
    enum yp_status status = source->yield(source->arg, index, values, labels, tile);
    tile->labels = data->labels + index * source->tile_pixels;
    return status;
}

static void open_data(struct labelled *data, const char *cube, const char *labels)
{
    struct synth_cube_file *file = synth_cube_open(yp_device_cpu(), cube, SYNTH_AS_STORED);
    need(file != NULL);
    const struct synth_cube_info *info = synth_cube_info(file);
    size_t pixels = info->height * info->width;
    float *values = take(pixels * info->channels, sizeof *values);
    need(synth_cube_read(file, 0, 0, pixels, values) == YP_OK);
    const struct rx_image image = {values, info->height, info->width, info->channels};
    need(rx_image_pixels(&image, &data->tiles) == YP_OK);
    data->labels = read_raw(labels, pixels);
    synth_cube_close(file);
}

/* -- a pipeline ---------------------------------------------------------------------------------
 */

static void move(float *parameters, size_t count)
{
    uint32_t state = 1;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525U + 1013904223U;
        parameters[i] *= 1 + ((float)(state >> 8) * 0x1p-23F - 1) * 0x1p-10F;
    }
}

static void describe(const struct rx_pipeline *pipeline, const struct rx_pipeline_options *o)
{
    struct yp_tensor tensors[RX_PIPELINE_TENSORS];
    size_t n = rx_pipeline_tensors(pipeline, tensors);
    for (size_t i = 0; i < n; i++)
        printf("tensor %s %zu %zu\n", tensors[i].name, tensors[i].offset, tensors[i].count);
    const struct {
        const char *name;
        double value;
    } options[] = {{"detector", o->detector},
                   {"keep", o->keep > 0 ? o->keep : (double)o->channels},
                   {"temperature", o->temperature > 0 ? o->temperature : 1},
                   {"entropy", o->entropy},
                   {"diversity", o->diversity},
                   {"orthogonality", o->orthogonality},
                   {"whiten", o->whiten},
                   {"eps", o->eps},
                   {"positive_weight", o->positive_weight > 0 ? o->positive_weight : 1}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        printf("option %s %.17g\n", options[i].name, options[i].value);
}

/* Loss and gradient by the plain loops in double, of a cube that is one tile. */
static void write_plain(FILE *file, const struct rx_pipeline_options *options,
                        struct labelled *data, const float *parameters, size_t count)
{
    size_t channels = options->channels, pixels = data->tiles.height * data->tiles.width;
    const struct rx_tile tile = {data->tiles.image.values, pixels, channels, data->labels, 0};
    struct rx_plain *plain = rx_plain_create(yp_device_cpu(), options, &tile);
    need(plain != NULL);
    size_t outputs = rx_plain_outputs(plain);
    double *x = take(count, sizeof *x), *gradient = take(count, sizeof *gradient), loss = 0;
    double *losses = take(outputs, sizeof *losses), *weight = take(outputs, sizeof *weight);
    for (size_t i = 0; i < count; i++)
        x[i] = (double)parameters[i];
    for (size_t i = 0; i < outputs; i++) /* the mean over pixels, then the other terms */
        weight[i] = i < pixels ? 1 / (double)pixels : 1;
    rx_plain_losses(plain, x, losses);
    rx_plain_vjp(plain, x, weight, gradient);
    for (size_t i = 0; i < outputs; i++)
        loss += weight[i] * losses[i];
    fwrite(&loss, sizeof loss, 1, file);
    fwrite(gradient, sizeof *gradient, count, file);
    rx_plain_destroy(plain);
    free(x), free(gradient), free(losses), free(weight);
}

static void run(struct rx_pipeline_options options, int threads, int times, char **argv)
{
    struct labelled data;
    open_data(&data, argv[1], argv[2]);
    struct rx_source source = data.tiles.source;
    source.yield = yield;
    source.arg = &data;
    options.channels = source.channels;
    options.tile_pixels = source.tile_pixels;
    options.threads = threads;

    struct rx_pipeline *pipeline = rx_pipeline_create(yp_device_cpu(), &options);
    struct rx *rx = rx_create(yp_device_cpu(), source.channels, source.tile_pixels, threads);
    need(pipeline != NULL && rx != NULL);
    size_t count = rx_pipeline_parameters(pipeline);
    float *parameters = take(count, sizeof *parameters), *gradient = take(count, sizeof *gradient);
    need(rx_pipeline_fit(pipeline, rx, &source, parameters, NULL) == YP_OK);
    move(parameters, count);
    describe(pipeline, &options);

    double loss = 0;
    need(rx_pipeline_gradient(pipeline, &source, parameters, &loss, gradient) == YP_OK);
    for (; times > 0; times--) {
        double began = ypi_now();
        need(rx_pipeline_gradient(pipeline, &source, parameters, &loss, gradient) == YP_OK);
        printf("seconds %.9g\n", ypi_now() - began);
    }
    FILE *file = start(argv[0]);
    fwrite(parameters, sizeof *parameters, count, file);
    fwrite(&loss, sizeof loss, 1, file);
    fwrite(gradient, sizeof *gradient, count, file);
    if (source.tiles == 1)
        write_plain(file, &options, &data, parameters, count);
    if (fclose(file) != 0)
        exit(WRONG);
}

static void adamw(char **argv)
{
    size_t count = strtoul(argv[3], NULL, 10), steps = strtoul(argv[4], NULL, 10);
    float *p = read_raw(argv[1], count * sizeof *p), *g = read_raw(argv[2], steps * count * 4);
    float *m = take(count, sizeof *m), *v = take(count, sizeof *v);
    const struct train_adamw how = train_adamw_defaults();
    for (size_t t = 1; t <= steps; t++)
        train_adamw_step(&how, t, count, g + (t - 1) * count, m, v, p);
    FILE *file = start(argv[0]);
    fwrite(p, sizeof *p, count, file);
    if (fclose(file) != 0)
        exit(WRONG);
}

int main(int argc, char **argv)
{
    if (argc == 9 && strcmp(argv[1], "adamw") == 0) {
        adamw(argv + 4);
        return 0;
    }
    for (size_t i = 0; argc == 7 && i < sizeof pipelines / sizeof *pipelines; i++)
        if (strcmp(argv[1], pipelines[i].name) == 0) {
            run(pipelines[i].options, atoi(argv[2]), atoi(argv[3]), argv + 4);
            return 0;
        }
    fputs("usage: parity-torch PIPELINE THREADS TIMES OUT CUBE LABELS; see parity_torch.c\n",
          stderr);
    return WRONG;
}
