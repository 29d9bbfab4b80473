/* What the files of a pipeline on a device share. */
#pragma once

#include "models/rx/device/pipeline.h"

/* What a call gives the kernels, as places in one block of floats. */
struct ypi_rx_numbers {
    size_t base, rest, gain; /* (C) */
    size_t zeros, nans;      /* (C) */
    size_t scalars;          /* scale, bias */
    size_t map, map_offset;  /* W (K, C) and -mu, or W1 (H, C) and b1 */
    size_t product;          /* slices of A, or W2 (C, H) */
    size_t product_offset;   /* b2 */
    size_t back;             /* slices of (A + A^T) / 2, or W2^T (H, C) */
    size_t count;
};

/* Statistics of one image, as one block: fresh ones are copied over them. */
struct ypi_rx_image_sums {
    double *m2, *mean;
    uint64_t *counts;
    float *low, *high;
};

struct ypi_rx_pipeline_device {
    struct ypi_rx_device on; /* tiles, and the jobs of gram, quadratic and loss */
    size_t chunk;
    unsigned range;
    float *scores; /* (tile_pixels), and behind them as many bytes of keep */
    uint8_t *keep;
    struct ypi_rx_numbers at;
    float *numbers, *given; /* there, and on the host */
    struct rxc_gather gather;
    struct rxc_linear map;              /* to what the detector sees, or to hidden values */
    struct rxc_linear product, back;    /* of an autoencoder: from there, and of cotangents */
    struct rxc_dots dots;               /* of it, and by image */
    struct rxc_columns columns, hidden; /* dv and, of the autoencoder, dh */
    struct rxc_cross cross, other;      /* dW; dW2 and dW1 */
    struct rxc_parts column_sums, hidden_sums, cross_sums, other_sums;
    bool fresh;    /* no chunk of the call has been summed yet */
    bool failed;   /* a tile's data have no factor: the pass ends */
    uint64_t kept; /* by image: so far */
    /* RX by image: */
    struct rxc_gram sample;
    struct rxc_merge statistics;
    struct ypi_rx_image_sums none; /* those of no pixel */
    size_t statistics_bytes;
};

static inline bool ypi_rx_maps(const struct rx_pipeline_options *o)
{
    return o->components > 0 || o->detector == RX_AUTOENCODER;
}

/* Behind the map. */
static inline size_t ypi_rx_inner_width(const struct rx_pipeline_options *o)
{
    return o->detector == RX_AUTOENCODER ? o->hidden : ypi_rx_width(o);
}

/* What scores are sums over. */
static inline size_t ypi_rx_outer_width(const struct rx_pipeline_options *o)
{
    return o->detector == RX_AUTOENCODER ? o->channels : ypi_rx_width(o);
}

static inline bool ypi_rx_is_quadratic(const struct rx_pipeline_options *o)
{
    return o->detector == RX_GLOBAL || o->detector == RX_LAD;
}

/* -- pipeline_layout.c: the device's memory, and what each job takes of it --------------------- */

void ypi_rx_device_lay_out(struct ypi_rx_pipeline_device *d, struct ypi_arena *arena,
                           const struct rx_pipeline_options *o);
void ypi_rx_device_connect(struct ypi_rx_pipeline_device *d, const struct rx_pipeline_options *o);

/* -- pipeline_numbers.c: parameters and what is made of them, for a call ----------------------- */

void ypi_rx_count_numbers(const struct rx_pipeline_options *o, struct ypi_rx_numbers *at);
/* Those of the call to the device. */
enum yp_status ypi_rx_device_give(const struct rx_pipeline *p);

/* -- pipeline_chunk.c: what is launched for a chunk of a tile ---------------------------------- */

/* Pixels first .. first + pixels - 1 of the tile. */
typedef enum yp_status ypi_rx_device_chunk_work(struct rx_pipeline *p, struct ypi_rx_lane *lane,
                                                const struct rx_tile *tile, size_t first,
                                                size_t pixels);

enum yp_status ypi_rx_device_over_chunks(struct rx_pipeline *p, struct ypi_rx_lane *lane,
                                         const struct rx_tile *tile,
                                         ypi_rx_device_chunk_work *each);

/* Scores and, of a step, sums of the gradient; of all but RX by image. */
ypi_rx_device_chunk_work ypi_rx_device_chunk;

/* To d->gather.rows, with d->keep; the rows of pixels that do not count are `fill` throughout. */
enum yp_status ypi_rx_device_gather(struct ypi_rx_pipeline_device *d, const struct rx_tile *tile,
                                    size_t first, size_t pixels, float fill);
/* Scores, of products or there already, to the loss's sums and g. */
enum yp_status ypi_rx_device_judge(const struct rx_pipeline *p, const struct rx_tile *tile,
                                   size_t first, size_t pixels);
/* sum g z z^T; `fresh`: of nothing so far. */
enum yp_status ypi_rx_device_add_gram(struct ypi_rx_pipeline_device *d, size_t pixels, bool fresh);

/* -- pipeline_image.c: RX by image ------------------------------------------------------------- */

enum yp_status ypi_rx_device_image(struct rx_pipeline *p, struct ypi_rx_lane *lane,
                                   const struct rx_tile *tile);
