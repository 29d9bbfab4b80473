/* A model's own functions as an objective of training. */
#include "train_internal.h"

#include <stdatomic.h>
#include <string.h>

/* -- finite pixels on their way to the model ------------------------------------------------ */

struct counter {
    const struct rx_source *source;
    const struct ypi_rx_kernels *kernels;
    bool labelled;
    atomic_size_t tiles; /* that came and are usable */
    atomic_size_t kept;
};

static enum yp_status count(void *arg, size_t index, float *values, uint8_t *labels,
                            struct rx_tile *tile)
{
    struct counter *counter = arg;
    uint8_t keep[YPI_RX_CHUNK];
    const struct rx_source *source = counter->source;
    enum yp_status status = source->yield(source->arg, index, values, labels, tile);
    bool usable = status == YP_OK && tile->channels == source->channels && tile->values != NULL &&
                  (tile->labels != NULL || !counter->labelled) &&
                  tile->pixels <= source->tile_pixels;
    if (!usable)
        return status; /* the model's pass has the words for it */
    size_t kept = 0;
    for (size_t p = 0; p < tile->pixels; p += YPI_RX_CHUNK) {
        size_t left = tile->pixels - p;
        kept += counter->kernels->finite(tile->values + p * tile->channels,
                                         left < YPI_RX_CHUNK ? left : YPI_RX_CHUNK, tile->channels,
                                         keep);
    }
    atomic_fetch_add(&counter->kept, kept);
    atomic_fetch_add(&counter->tiles, 1);
    return YP_OK;
}

enum yp_status ypi_rx_count_pixels(rx_model_gradient *model, void *arg, bool labelled,
                                   const struct rx_source *source, const float *parameters,
                                   double *mean, double *weight, float *gradient)
{
    struct counter counter = {.source = source, .kernels = ypi_rx_kernels(), .labelled = labelled};
    struct rx_source counted = *source;
    counted.yield = count;
    counted.arg = &counter;
    enum yp_status status = model(arg, &counted, parameters, mean, gradient);
    *weight = (double)atomic_load(&counter.kept);
    bool only_empty = status == YP_INVALID && atomic_load(&counter.kept) == 0 &&
                      atomic_load(&counter.tiles) == source->tiles;
    return only_empty ? YP_OK : status;
}

/* -- windows of logits ---------------------------------------------------------------------- */

struct rx_adapter {
    struct yp_device *device;
    struct rx_model model;
    size_t window;
    float *logits;   /* (window, tile_pixels) */
    uint8_t *labels; /* (window, tile_pixels) */
    size_t *pixels;  /* (window) */
    /* Of the pass that is on: */
    const struct rx_source *source;
    size_t first; /* tile of the window */
};

static void lay_out(struct rx_adapter *adapter, struct ypi_arena *arena,
                    const struct rx_model *model, size_t window)
{
    *adapter = (struct rx_adapter){.model = *model, .window = window};
    if (model->logits == NULL)
        return;
    adapter->logits = ypi_arena_take(arena, window * model->tile_pixels, sizeof(float));
    adapter->labels = ypi_arena_take(arena, window * model->tile_pixels, 1);
    adapter->pixels = ypi_arena_take(arena, window, sizeof *adapter->pixels);
}

static enum yp_status check(const char *what, const struct rx_model *model, size_t window)
{
    int threads = 1;
    if (model == NULL || model->gradient == NULL)
        return yp_set_error(YP_INVALID, "%s: %s is NULL", what,
                            model == NULL ? "model" : "model->gradient");
    if (window == 0 || window > UINT32_MAX)
        return yp_set_error(YP_INVALID, "%s: window is %zu, allowed are 1 to %u", what, window,
                            UINT32_MAX);
    return ypi_rx_check(what, model->channels, model->tile_pixels, &threads);
}

size_t rx_adapter_bytes(const struct rx_model *model, size_t window)
{
    struct ypi_arena arena = {0};
    struct rx_adapter adapter;
    if (check("rx_adapter_bytes", model, window) != YP_OK)
        return 0;
    ypi_arena_take(&arena, 1, sizeof adapter);
    lay_out(&adapter, &arena, model, window);
    return arena.used;
}

struct rx_adapter *rx_adapter_create(struct yp_device *device, const struct rx_model *model,
                                     size_t window)
{
    if (ypi_rx_check_device("rx_adapter_create", device) != YP_OK ||
        check("rx_adapter_create", model, window) != YP_OK)
        return NULL;
    struct ypi_arena arena = {.base = yp_device_alloc(device, rx_adapter_bytes(model, window))};
    if (arena.base == NULL)
        return NULL;
    struct rx_adapter *adapter = ypi_arena_take(&arena, 1, sizeof *adapter);
    lay_out(adapter, &arena, model, window);
    adapter->device = device;
    return adapter;
}

void rx_adapter_destroy(struct rx_adapter *adapter)
{
    if (adapter != NULL)
        yp_device_free(adapter->device, adapter);
}

static enum yp_status gradient(void *arg, const struct rx_source *source, const float *parameters,
                               double *mean, double *weight, float *out)
{
    const struct rx_model *model = &((struct rx_adapter *)arg)->model;
    return ypi_rx_count_pixels(model->gradient, model->arg, !model->unlabelled, source, parameters,
                               mean, weight, out);
}

/* A tile of the window, whose labels are kept whether the model wants them or not. */
static enum yp_status keep_labels(void *arg, size_t index, float *values, uint8_t *labels,
                                  struct rx_tile *tile)
{
    struct rx_adapter *adapter = arg;
    const struct rx_source *source = adapter->source;
    uint8_t *kept = adapter->labels + index * adapter->model.tile_pixels;
    tile->labels = kept;
    enum yp_status status = source->yield(source->arg, adapter->first + index, values, kept, tile);
    if (status != YP_OK)
        return status;
    if (tile->pixels > source->tile_pixels)
        return yp_set_error(YP_INVALID, "rx_adapter: tile %zu has %zu pixels, allowed are 0 to %zu",
                            adapter->first + index, tile->pixels, source->tile_pixels);
    if (tile->labels == NULL)
        return yp_set_error(YP_INVALID, "rx_adapter: tile %zu has no labels",
                            adapter->first + index);
    if (tile->labels != kept)
        memcpy(kept, tile->labels, tile->pixels);
    adapter->pixels[index] = tile->pixels;
    tile->labels = labels != NULL ? kept : NULL;
    return YP_OK;
}

static enum yp_status take_logits(struct rx_adapter *adapter, const struct rx_source *source,
                                  const float *parameters, rx_train_take *take, void *take_arg)
{
    const struct rx_model *model = &adapter->model;
    if (source->tile_pixels > model->tile_pixels)
        return yp_set_error(YP_INVALID,
                            "rx_adapter: source->tile_pixels is %zu, allowed are 1 to %zu",
                            source->tile_pixels, model->tile_pixels);
    adapter->source = source;
    for (size_t first = 0; first < source->tiles; first += adapter->window) {
        size_t left = source->tiles - first;
        struct rx_source part = *source;
        part.tiles = left < adapter->window ? left : adapter->window;
        part.yield = keep_labels;
        part.arg = adapter;
        adapter->first = first;
        enum yp_status status = model->logits(model->arg, &part, parameters, adapter->logits);
        if (status != YP_OK)
            return status;
        for (size_t t = 0; t < part.tiles; t++)
            take(take_arg, adapter->logits + t * source->tile_pixels,
                 adapter->labels + t * model->tile_pixels, adapter->pixels[t]);
    }
    return YP_OK;
}

static enum yp_status evaluate(void *arg, const struct rx_source *source, const float *parameters,
                               double *mean, double *weight, rx_train_take *take, void *take_arg)
{
    struct rx_adapter *adapter = arg;
    enum yp_status status = YP_OK;
    if (mean != NULL)
        status = gradient(adapter, source, parameters, mean, weight, NULL);
    if (status == YP_OK && take != NULL)
        status = take_logits(adapter, source, parameters, take, take_arg);
    return status;
}

struct rx_objective rx_adapter_objective(struct rx_adapter *adapter)
{
    const struct rx_model *model = &adapter->model;
    return (struct rx_objective){.parameters = model->parameters,
                                 .tensors = model->tensors,
                                 .n_tensors = model->n_tensors,
                                 .gradient = gradient,
                                 .evaluate = evaluate,
                                 .no_logits = model->logits == NULL,
                                 .arg = adapter};
}
