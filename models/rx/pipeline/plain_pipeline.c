/* The pipeline in plain loops: the plain nodes in a chain. */
#include "models/rx/pipeline/internal.h"
#include "models/rx/pipeline/plain_nodes.h"

#include <math.h>
#include <string.h>

#define MOST_NODES 6

struct rx_plain {
    struct yp_device *device;
    struct rx_pipeline_options options;
    struct ypi_rx_places places;
    struct rx_tile tile;
    uint8_t *keep, *labels; /* of all pixels; of the finite ones */
    size_t rows;            /* finite pixels */
    struct rx_node nodes[MOST_NODES];
    int count;                 /* nodes */
    int scored;                /* nodes up to the score */
    size_t at[MOST_NODES + 1]; /* input and outputs in values and cotangents */
    size_t from[MOST_NODES];   /* first parameter of a node */
    size_t taken[MOST_NODES];  /* how many there are in the pipeline's vector */
    struct rx_node penalty;
    double *values, *cotangents, *p, *dp, *work;
};

#define REAL double
#define NAME(name) name##_f64
#define WIDE true
#include "models/rx/pipeline/plain_pipeline.inc"
#undef REAL
#undef NAME
#undef WIDE

#define REAL float
#define NAME(name) name##_f32
#define WIDE false
#include "models/rx/pipeline/plain_pipeline.inc"

/* Appends a node whose parameters begin at `from`. */
static void append(struct rx_plain *plain, struct rx_node node, size_t from)
{
    int i = plain->count++;
    node.pixels = plain->rows;
    plain->nodes[i] = node;
    plain->from[i] = from != YPI_RX_NOWHERE ? from : 0;
    plain->taken[i] = from != YPI_RX_NOWHERE ? rx_node_parameters(&node) : 0;
    plain->at[i + 1] = plain->at[i] + rx_node_inputs(&node);
}

static void build(struct rx_plain *plain)
{
    const struct rx_pipeline_options *o = &plain->options;
    const struct ypi_rx_places *at = &plain->places;
    const enum rx_node_kind detectors[] = {[RX_GLOBAL] = RX_NODE_QUADRATIC,
                                           [RX_LAD] = RX_NODE_QUADRATIC,
                                           [RX_IMAGE] = RX_NODE_IMAGE,
                                           [RX_AUTOENCODER] = RX_NODE_AUTOENCODER};
    size_t c = o->channels;
    if (o->normalise)
        append(plain, (struct rx_node){.kind = RX_NODE_MINMAX, .channels = c}, at->min);
    if (o->select) {
        append(plain, (struct rx_node){.kind = RX_NODE_SELECTOR, .channels = c, .keep = o->keep},
               at->logits);
        plain->taken[plain->count - 1] -= !o->train_temperature;
    }
    if (o->components > 0)
        append(plain, (struct rx_node){.kind = RX_NODE_PCA, .channels = c, .width = o->components},
               at->mean);
    append(plain,
           (struct rx_node){.kind = detectors[o->detector],
                            .channels = ypi_rx_width(o),
                            .width = o->hidden,
                            .eps = o->eps},
           o->detector == RX_AUTOENCODER ? at->w1 : at->mu);
    plain->scored = plain->count;
    if (ypi_rx_trains(o)) {
        append(plain, (struct rx_node){.kind = RX_NODE_LOGIT, .channels = 1}, at->scale);
        append(plain, (struct rx_node){.kind = RX_NODE_LOSS, .channels = 1}, YPI_RX_NOWHERE);
    }
    plain->penalty =
        (struct rx_node){.kind = RX_NODE_ORTHOGONAL, .channels = c, .width = o->components};
}

/* All but `rows` is known; values are counted for all pixels. */
static void lay_out(struct rx_plain *plain, struct ypi_arena *arena)
{
    plain->count = 0;
    plain->rows = plain->tile.pixels;
    build(plain);
    size_t values = plain->at[plain->count] + plain->rows, work = 0;
    for (int i = 0; i < plain->count; i++)
        work = work > rx_node_work(&plain->nodes[i]) ? work : rx_node_work(&plain->nodes[i]);
    plain->keep = ypi_arena_take(arena, plain->tile.pixels, 1);
    plain->labels = ypi_arena_take(arena, plain->tile.pixels, 1);
    plain->values = ypi_arena_take(arena, values, sizeof(double));
    plain->cotangents = ypi_arena_take(arena, values, sizeof(double));
    plain->p = ypi_arena_take(arena, plain->places.count + 1, sizeof(double));
    plain->dp = ypi_arena_take(arena, plain->places.count + 1, sizeof(double));
    plain->work = ypi_arena_take(arena, work, sizeof(double));
}

static enum yp_status check(const char *what, const struct rx_pipeline_options *options,
                            const struct rx_tile *tile, struct rx_plain *plain)
{
    *plain = (struct rx_plain){0};
    enum yp_status status = ypi_rx_pipeline_check(what, options, &plain->options);
    if (status != YP_OK)
        return status;
    if (tile == NULL || tile->values == NULL)
        return yp_set_error(YP_INVALID, "%s: %s is NULL", what,
                            tile == NULL ? "tile" : "tile->values");
    if (tile->channels != options->channels)
        return yp_set_error(YP_INVALID, "%s: the tile has %zu channels, the options %zu", what,
                            tile->channels, options->channels);
    if (tile->stride != 0 && tile->stride < tile->channels)
        return yp_set_error(YP_INVALID,
                            "%s: the tile has stride %zu, allowed are 0 and %zu or more", what,
                            tile->stride, tile->channels);
    if (tile->pixels > options->tile_pixels)
        return yp_set_error(YP_INVALID, "%s: the tile has %zu pixels, allowed are 0 to %zu", what,
                            tile->pixels, options->tile_pixels);
    if (tile->labels == NULL && ypi_rx_trains(options))
        return yp_set_error(YP_INVALID, "%s: the tile has no labels", what);
    plain->tile = *tile;
    ypi_rx_places(&plain->options, &plain->places);
    return YP_OK;
}

size_t rx_plain_bytes(const struct rx_pipeline_options *options, const struct rx_tile *tile)
{
    struct rx_plain plain;
    struct ypi_arena arena = {0};
    if (check("rx_plain_bytes", options, tile, &plain) != YP_OK)
        return 0;
    ypi_arena_take(&arena, 1, sizeof plain);
    lay_out(&plain, &arena);
    return arena.used;
}

/* Which pixels are finite, and what depends on how many there are. */
static void take_pixels(struct rx_plain *plain)
{
    const struct rx_tile *tile = &plain->tile;
    size_t rows = 0;
    for (size_t i = 0; i < tile->pixels; i++) {
        plain->keep[i] = 1;
        for (size_t c = 0; c < tile->channels; c++)
            if (!isfinite(tile->values[i * ypi_rx_stride(tile) + c]))
                plain->keep[i] = 0;
        if (plain->keep[i] && tile->labels != NULL)
            plain->labels[rows] = tile->labels[i];
        rows += plain->keep[i];
    }
    plain->rows = rows;
    plain->count = 0;
    build(plain);
    for (int i = 0; i < plain->count; i++) {
        plain->nodes[i].work = plain->work;
        plain->nodes[i].labels = plain->labels;
    }
}

struct rx_plain *rx_plain_create(struct yp_device *device,
                                 const struct rx_pipeline_options *options,
                                 const struct rx_tile *tile)
{
    struct rx_plain checked;
    if (ypi_check_host("rx_plain_create", device) != YP_OK ||
        check("rx_plain_create", options, tile, &checked) != YP_OK)
        return NULL;
    struct ypi_arena arena = {.base = yp_device_alloc(device, rx_plain_bytes(options, tile))};
    if (arena.base == NULL)
        return NULL;
    struct rx_plain *plain = ypi_arena_take(&arena, 1, sizeof *plain);
    *plain = checked;
    plain->device = device;
    lay_out(plain, &arena);
    take_pixels(plain);
    return plain;
}

void rx_plain_destroy(struct rx_plain *plain)
{
    if (plain != NULL)
        yp_device_free(plain->device, plain);
}

size_t rx_plain_outputs(const struct rx_plain *plain)
{
    return plain->tile.pixels + (plain->options.components > 0);
}

void rx_plain_losses(void *plain, const double *x, double *losses)
{
    losses_f64(plain, x, losses);
}

void rx_plain_losses_f32(struct rx_plain *plain, const float *x, float *losses)
{
    losses_f32(plain, x, losses);
}

void rx_plain_vjp(void *plain, const double *x, const double *cotangent, double *gradient)
{
    chain_vjp_f64(plain, x, cotangent, gradient);
}

void rx_plain_vjp_f32(struct rx_plain *plain, const float *x, const float *cotangent,
                      float *gradient)
{
    chain_vjp_f32(plain, x, cotangent, gradient);
}

void rx_plain_scores(struct rx_plain *plain, const double *x, double *scores)
{
    score_f64(plain, x, scores);
}

void rx_plain_scores_f32(struct rx_plain *plain, const float *x, float *scores)
{
    score_f32(plain, x, scores);
}
