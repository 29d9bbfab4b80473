/* The detection loss as an objective of training. */
#include "train_internal.h"

#include <cblas.h>
#include <math.h>

struct slot {
    float *rows, *products; /* (CHUNK, C) */
    float *scores;          /* (CHUNK) */
    uint8_t *keep;          /* (CHUNK) */
    float *logits;          /* (tile_pixels) */
    const uint8_t *labels;  /* of the tile */
    size_t pixels, kept;
    double loss;
};

struct rx_detection {
    struct yp_device *device;
    struct rx_loss *loss;
    size_t channels, tile_pixels;
    int threads;
    struct yp_tensor tensors[RX_LOSS_TENSORS];
    const struct ypi_rx_kernels *kernels;
    float *values;      /* (threads, tile_pixels, C) */
    uint8_t *labels;    /* (threads, tile_pixels) */
    struct slot *slots; /* (threads) */
    /* Of the pass that is on: */
    const float *parameters;
    rx_train_take *take;
    void *take_arg;
    double sum;
    uint64_t kept;
};

static void lay_out(struct rx_detection *d, struct ypi_arena *arena, size_t channels,
                    size_t tile_pixels, int threads)
{
    size_t teams = (size_t)threads;
    size_t chunk = tile_pixels < YPI_RX_CHUNK ? tile_pixels : YPI_RX_CHUNK;
    *d =
        (struct rx_detection){.channels = channels, .tile_pixels = tile_pixels, .threads = threads};
    d->values = ypi_arena_take(arena, teams * tile_pixels, channels * sizeof(float));
    d->labels = ypi_arena_take(arena, teams * tile_pixels, 1);
    d->slots = ypi_arena_take(arena, teams, sizeof *d->slots);
    for (size_t i = 0; i < teams; i++) {
        struct slot slot = {0};
        slot.rows = ypi_arena_take(arena, chunk * channels, sizeof(float));
        slot.products = ypi_arena_take(arena, chunk * channels, sizeof(float));
        slot.scores = ypi_arena_take(arena, chunk, sizeof(float));
        slot.keep = ypi_arena_take(arena, chunk, 1);
        slot.logits = ypi_arena_take(arena, tile_pixels, sizeof(float));
        if (arena->base != NULL)
            d->slots[i] = slot;
    }
}

static size_t own_bytes(size_t channels, size_t tile_pixels, int threads)
{
    struct ypi_arena arena = {0};
    struct rx_detection d;
    ypi_arena_take(&arena, 1, sizeof d);
    lay_out(&d, &arena, channels, tile_pixels, threads);
    return arena.used;
}

size_t rx_detection_bytes(size_t channels, size_t tile_pixels, int threads)
{
    if (ypi_rx_check("rx_detection_bytes", channels, tile_pixels, &threads) != YP_OK)
        return 0;
    return own_bytes(channels, tile_pixels, threads) +
           rx_loss_bytes(channels, tile_pixels, threads);
}

struct rx_detection *rx_detection_create(struct yp_device *device, size_t channels,
                                         size_t tile_pixels, int threads)
{
    if (ypi_rx_check_device("rx_detection_create", device) != YP_OK ||
        ypi_rx_check("rx_detection_create", channels, tile_pixels, &threads) != YP_OK)
        return NULL;
    struct rx_loss *loss = rx_loss_create(device, channels, tile_pixels, threads);
    if (loss == NULL)
        return NULL;
    struct ypi_arena arena = {
        .base = yp_device_alloc(device, own_bytes(channels, tile_pixels, threads))};
    if (arena.base == NULL) {
        rx_loss_destroy(loss);
        return NULL;
    }
    struct rx_detection *d = ypi_arena_take(&arena, 1, sizeof *d);
    lay_out(d, &arena, channels, tile_pixels, threads);
    d->device = device;
    d->loss = loss;
    d->kernels = ypi_rx_kernels();
    rx_loss_tensors(channels, d->tensors);
    return d;
}

void rx_detection_destroy(struct rx_detection *detection)
{
    if (detection == NULL)
        return;
    rx_loss_destroy(detection->loss);
    yp_device_free(detection->device, detection);
}

static enum yp_status lone_gradient(void *arg, const struct rx_source *source,
                                    const float *parameters, double *mean, float *out)
{
    const struct rx_detection *d = arg;
    return rx_loss_gradient(d->loss, source, parameters, mean, out);
}

static enum yp_status gradient(void *arg, const struct rx_source *source, const float *parameters,
                               double *mean, double *weight, float *out)
{
    return ypi_rx_count_pixels(lone_gradient, arg, true, source, parameters, mean, weight, out);
}

/* -- logits --------------------------------------------------------------------------------- */

/* Logits and losses of one chunk: in the form, and summed in the order, of rx_loss_gradient(). */
static void judge_chunk(const struct rx_detection *d, struct slot *slot, size_t first,
                        const struct rx_tile *tile, size_t pixels)
{
    size_t channels = d->channels, row = 0;
    const float *a = d->parameters + channels, *scalars = a + channels * channels;
    const float *values = tile->values + first * channels;
    d->kernels->finite(values, pixels, channels, slot->keep);
    size_t rows =
        d->kernels->centre(values, slot->keep, pixels, channels, d->parameters, slot->rows);
    if (rows > 0) {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, (int)channels,
                    (int)channels, 1, slot->rows, (int)channels, a, (int)channels, 0,
                    slot->products, (int)channels);
        d->kernels->dots(slot->products, slot->rows, rows, channels, slot->scores);
    }
    for (size_t i = 0; i < pixels; i++) {
        if (!slot->keep[i]) {
            slot->logits[first + i] = NAN;
            continue;
        }
        float l = scalars[0] * (slot->scores[row++] - scalars[1]);
        float wrong = tile->labels[first + i] != 0 ? -l : l;
        slot->logits[first + i] = l;
        slot->loss += 10.0 * (double)(fmaxf(wrong, 0) + log1pf(expf(-fabsf(wrong))));
    }
    slot->kept += rows;
}

static void judge_tile(void *arg, int thread, size_t index, const struct rx_tile *tile)
{
    const struct rx_detection *d = arg;
    struct slot *slot = &d->slots[thread];
    (void)index;
    slot->kept = 0;
    slot->loss = 0;
    slot->labels = tile->labels;
    slot->pixels = tile->pixels;
    for (size_t p = 0; p < tile->pixels; p += YPI_RX_CHUNK) {
        size_t left = tile->pixels - p;
        judge_chunk(d, slot, p, tile, left < YPI_RX_CHUNK ? left : YPI_RX_CHUNK);
    }
}

static void merge(void *arg, int thread)
{
    struct rx_detection *d = arg;
    const struct slot *slot = &d->slots[thread];
    d->sum += slot->loss;
    d->kept += slot->kept;
    if (d->take != NULL)
        d->take(d->take_arg, slot->logits, slot->labels, slot->pixels);
}

static enum yp_status evaluate(void *arg, const struct rx_source *source, const float *parameters,
                               double *mean, double *weight, rx_train_take *take, void *take_arg)
{
    struct rx_detection *d = arg;
    d->parameters = parameters;
    d->take = take;
    d->take_arg = take_arg;
    d->sum = 0;
    d->kept = 0;
    enum yp_status status = ypi_rx_run(&(struct ypi_rx_pass){.what = "rx_detection",
                                                             .channels = d->channels,
                                                             .tile_pixels = d->tile_pixels,
                                                             .threads = d->threads,
                                                             .values = d->values,
                                                             .labels = d->labels,
                                                             .work = judge_tile,
                                                             .merge = merge,
                                                             .arg = d},
                                       source);
    if (mean != NULL) {
        *weight = (double)d->kept;
        *mean = d->sum / (double)d->kept;
    }
    return status;
}

struct rx_objective rx_detection_objective(struct rx_detection *detection)
{
    return (struct rx_objective){.parameters = rx_loss_parameters(detection->channels),
                                 .tensors = detection->tensors,
                                 .n_tensors = RX_LOSS_TENSORS,
                                 .gradient = gradient,
                                 .evaluate = evaluate,
                                 .arg = detection};
}
