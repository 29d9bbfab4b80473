/* The mean detection loss of a stream of tiles and its gradient, by matrix products in float. */
#include "models/rx/device/detector.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

/* Sums over the pixels of a tile; g and d as in rx.h, without the cotangent 1 / pixels. */
struct slot {
    float *gram;            /* (C, C): sum g x x^T */
    double *moment;         /* (C): sum g x */
    double loss, d, d_away; /* sums of the loss, of d and of d (s - bias) */
    size_t kept;
    float *rows, *products; /* (CHUNK, C) */
    float *scores, *g;      /* (CHUNK) */
    uint8_t *keep, *labels; /* (CHUNK) */
};

struct rx_loss {
    struct yp_device *device;
    struct ypi_rx_device *on; /* NULL: the CPU */
    size_t channels, tile_pixels;
    int threads;
    float *values;   /* (threads, tile_pixels, C) */
    uint8_t *labels; /* (threads, tile_pixels) */
    double *gram;    /* (C, C), like all below: the slots' sums over tiles */
    double *moment;  /* (C) */
    double loss, d, d_away;
    uint64_t kept;
    const float *parameters; /* of the pass that is on */
    struct slot *slots;      /* (threads) */
    const struct ypi_pixel_kernels *kernels;
};

size_t rx_loss_parameters(size_t channels)
{
    return channels + channels * channels + 2;
}

void rx_loss_tensors(size_t channels, struct yp_tensor tensors[RX_LOSS_TENSORS])
{
    size_t end = channels + channels * channels;
    tensors[0] = (struct yp_tensor){"mu", 0, channels};
    tensors[1] = (struct yp_tensor){"A", channels, channels * channels};
    tensors[2] = (struct yp_tensor){"scale", end, 1};
    tensors[3] = (struct yp_tensor){"bias", end + 1, 1};
}

static void lay_out_slot(struct slot *slot, struct ypi_arena *arena, size_t channels, size_t chunk)
{
    slot->gram = ypi_arena_take(arena, channels * channels, sizeof(float));
    slot->moment = ypi_arena_take(arena, channels, sizeof(double));
    slot->rows = ypi_arena_take(arena, chunk * channels, sizeof(float));
    slot->products = ypi_arena_take(arena, chunk * channels, sizeof(float));
    slot->scores = ypi_arena_take(arena, chunk, sizeof(float));
    slot->g = ypi_arena_take(arena, chunk, sizeof(float));
    slot->keep = ypi_arena_take(arena, chunk, 1);
    slot->labels = ypi_arena_take(arena, chunk, 1);
}

static void lay_out(struct rx_loss *loss, struct ypi_arena *arena, size_t channels,
                    size_t tile_pixels, int threads)
{
    size_t teams = (size_t)threads;
    size_t chunk = tile_pixels < YPI_RX_CHUNK ? tile_pixels : YPI_RX_CHUNK;
    *loss = (struct rx_loss){.channels = channels, .tile_pixels = tile_pixels, .threads = threads};
    loss->values = ypi_arena_take(arena, teams * tile_pixels, channels * sizeof(float));
    loss->labels = ypi_arena_take(arena, teams * tile_pixels, 1);
    loss->gram = ypi_arena_take(arena, channels * channels, sizeof(double));
    loss->moment = ypi_arena_take(arena, channels, sizeof(double));
    loss->slots = ypi_arena_take(arena, teams, sizeof *loss->slots);
    for (size_t i = 0; i < teams; i++) {
        struct slot slot = {0};
        lay_out_slot(&slot, arena, channels, chunk);
        if (arena->base != NULL)
            loss->slots[i] = slot;
    }
}

size_t rx_loss_bytes(size_t channels, size_t tile_pixels, int threads)
{
    struct ypi_arena arena = {0};
    struct rx_loss loss;
    if (ypi_rx_check("rx_loss_bytes", channels, tile_pixels, &threads) != YP_OK)
        return 0;
    ypi_arena_take(&arena, 1, sizeof loss);
    lay_out(&loss, &arena, channels, tile_pixels, threads);
    return arena.used;
}

size_t rx_loss_device_bytes(size_t channels, size_t tile_pixels, const struct rx_options *options)
{
    if (ypi_rx_device_check("rx_loss_device_bytes", channels, tile_pixels, options) != YP_OK)
        return 0;
    return ypi_rx_device_bytes(channels, tile_pixels, true, ypi_rx_tiles_of(options));
}

static struct rx_loss *create_on(struct yp_device *device, size_t channels, size_t tile_pixels,
                                 const struct rx_options *options)
{
    struct placed {
        struct rx_loss loss;
        struct ypi_rx_device on;
    };
    if (ypi_rx_device_check("rx_loss_create", channels, tile_pixels, options) != YP_OK)
        return NULL;
    struct placed *placed = yp_device_alloc(yp_device_cpu(), sizeof *placed);
    if (placed == NULL)
        return NULL;
    *placed = (struct placed){.loss = {.device = yp_device_cpu(),
                                       .channels = channels,
                                       .tile_pixels = tile_pixels,
                                       .on = &placed->on}};
    if (ypi_rx_device_open(&placed->on, device, channels, tile_pixels, true,
                           ypi_rx_tiles_of(options)) == YP_OK)
        return &placed->loss;
    yp_device_free(yp_device_cpu(), placed);
    return NULL;
}

static enum yp_status check_options(const struct rx_options *options)
{
    if (options == NULL ||
        (options->precision == RX_FP32 && (unsigned)options->tiles <= RX_TILES_SEQUENTIAL))
        return YP_OK;
    return yp_set_error(YP_INVALID,
                        "rx_loss_create: options->precision is %d and tiles %d, allowed are %d, "
                        "and 0 to %d",
                        (int)options->precision, (int)options->tiles, (int)RX_FP32,
                        (int)RX_TILES_SEQUENTIAL);
}

struct rx_loss *rx_loss_create(struct yp_device *device, size_t channels, size_t tile_pixels,
                               int threads)
{
    return rx_loss_create_with(device, channels, tile_pixels, threads, NULL);
}

struct rx_loss *rx_loss_create_with(struct yp_device *device, size_t channels, size_t tile_pixels,
                                    int threads, const struct rx_options *options)
{
    if (device != NULL && yp_device_memory_kind(device) == YP_DEVICE)
        return create_on(device, channels, tile_pixels, options);
    if (ypi_check_host("rx_loss_create", device) != YP_OK ||
        ypi_rx_check("rx_loss_create", channels, tile_pixels, &threads) != YP_OK ||
        check_options(options) != YP_OK)
        return NULL;
    struct ypi_arena arena = {
        .base = yp_device_alloc(device, rx_loss_bytes(channels, tile_pixels, threads))};
    if (arena.base == NULL)
        return NULL;
    struct rx_loss *loss = ypi_arena_take(&arena, 1, sizeof *loss);
    lay_out(loss, &arena, channels, tile_pixels, threads);
    loss->device = device;
    loss->kernels = ypi_pixel_kernels();
    return loss;
}

void rx_loss_destroy(struct rx_loss *loss)
{
    if (loss == NULL)
        return;
    if (loss->on != NULL)
        ypi_rx_device_close(loss->on);
    yp_device_free(loss->device, loss);
}

/* From scores to g = dloss/ds, and the sums that hang on the pixel alone. */
static void judge(struct slot *slot, size_t rows, float scale, float bias)
{
    for (size_t r = 0; r < rows; r++) {
        float away = slot->scores[r] - bias, l = scale * away;
        float wrong = slot->labels[r] != 0 ? -l : l; /* loss = 10 ln(1 + e^wrong) */
        float d = 10 * ypi_rx_slope(slot->labels[r] != 0, l);
        slot->g[r] = d * scale;
        slot->loss += 10.0 * (double)(fmaxf(wrong, 0) + log1pf(expf(-fabsf(wrong))));
        slot->d += (double)d;
        slot->d_away += (double)d * (double)away;
    }
}

/* Rows of one chunk, centred: s = x^T A x, then what they add to the gradient. */
static void add_chunk(const struct rx_loss *loss, struct slot *slot, size_t rows)
{
    size_t channels = loss->channels;
    const float *a = loss->parameters + channels, *scalars = a + channels * channels;
    int c = (int)channels, n = (int)rows;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, c, c, 1, slot->rows, c, a, c, 0,
                slot->products, c);
    loss->kernels->dots(slot->products, slot->rows, rows, channels, slot->scores);
    judge(slot, rows, scalars[0], scalars[1]);
    loss->kernels->scale(slot->rows, slot->g, rows, channels, slot->products, slot->moment);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, c, c, n, 1, slot->products, c, slot->rows,
                c, 1, slot->gram, c);
}

static void add_tile(void *arg, struct ypi_work_item item, const struct rx_tile *tile)
{
    const struct rx_loss *loss = arg;
    struct slot *slot = &loss->slots[item.slot];
    size_t channels = loss->channels, stride = ypi_rx_stride(tile);
    memset(slot->gram, 0, channels * channels * sizeof *slot->gram);
    memset(slot->moment, 0, channels * sizeof *slot->moment);
    slot->loss = slot->d = slot->d_away = 0;
    slot->kept = 0;
    for (size_t p = 0; p < tile->pixels; p += YPI_RX_CHUNK) {
        size_t pixels = tile->pixels - p < YPI_RX_CHUNK ? tile->pixels - p : YPI_RX_CHUNK;
        size_t rows = ypi_centre_finite(loss->kernels, tile->values + p * stride, stride, pixels,
                                        channels, loss->parameters, slot->keep, slot->rows);
        for (size_t i = 0, row = 0; i < pixels; i++)
            if (slot->keep[i])
                slot->labels[row++] = tile->labels[p + i];
        if (rows > 0)
            add_chunk(loss, slot, rows);
        slot->kept += rows;
    }
}

static void merge(void *arg, int place)
{
    struct rx_loss *loss = arg;
    const struct slot *slot = &loss->slots[place];
    for (size_t i = 0; i < loss->channels * loss->channels; i++)
        loss->gram[i] += (double)slot->gram[i];
    for (size_t i = 0; i < loss->channels; i++)
        loss->moment[i] += slot->moment[i];
    loss->loss += slot->loss;
    loss->d += slot->d;
    loss->d_away += slot->d_away;
    loss->kept += slot->kept;
}

static void write_gradient(const struct rx_loss *loss, float *gradient)
{
    size_t channels = loss->channels, end = channels + channels * channels;
    const float *a = loss->parameters + channels;
    double n = (double)loss->kept, scale = (double)loss->parameters[end];
    for (size_t i = 0; i < channels; i++) {
        double sum = 0;
        for (size_t j = 0; j < channels; j++)
            sum += ((double)a[i * channels + j] + (double)a[j * channels + i]) * loss->moment[j];
        gradient[i] = (float)(-sum / n);
    }
    for (size_t i = 0; i < channels * channels; i++)
        gradient[channels + i] = (float)(loss->gram[i] / n);
    gradient[end] = (float)(loss->d_away / n);
    gradient[end + 1] = (float)(-scale * loss->d / n);
}

enum yp_status rx_loss_gradient(struct rx_loss *loss, const struct rx_source *source,
                                const float *parameters, double *mean, float *gradient)
{
    if (loss == NULL || parameters == NULL || mean == NULL || gradient == NULL)
        return yp_set_error(YP_INVALID, "rx_loss_gradient: %s is NULL",
                            loss == NULL         ? "loss"
                            : parameters == NULL ? "parameters"
                            : mean == NULL       ? "mean"
                                                 : "gradient");
    if (loss->on != NULL)
        return ypi_rx_device_gradient(loss->on, source, parameters, mean, gradient);
    memset(loss->gram, 0, loss->channels * loss->channels * sizeof *loss->gram);
    memset(loss->moment, 0, loss->channels * sizeof *loss->moment);
    loss->loss = loss->d = loss->d_away = 0;
    loss->kept = 0;
    loss->parameters = parameters;
    enum yp_status status = ypi_rx_run(&(struct ypi_rx_pass){.what = "rx_loss_gradient",
                                                             .channels = loss->channels,
                                                             .tile_pixels = loss->tile_pixels,
                                                             .threads = loss->threads,
                                                             .values = loss->values,
                                                             .labels = loss->labels,
                                                             .work = add_tile,
                                                             .merge = merge,
                                                             .arg = loss},
                                       source);
    if (status != YP_OK)
        return status;
    if (loss->kept == 0)
        return yp_set_error(YP_INVALID, "rx_loss_gradient: the source has no finite pixel");
    *mean = loss->loss / (double)loss->kept;
    write_gradient(loss, gradient);
    return YP_OK;
}
