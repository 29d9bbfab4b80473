/* What the files of models/rx share. */
#pragma once

#include "base/numbers/sort.h"
#include "base/numbers/splitmix.h"
#include "base/system/arena.h"
#include "device/host.h"
#include "models/data/pass.h"
#include "models/nn/simd/pixels.h"
#include "models/rx/rx.h"

#include <float.h>
#include <math.h>

/* Pixels that are centred and multiplied at once: small enough to stay in a core's cache, and as
 * far as a float sum may run before it is added to a double, whatever the size of a tile. */
#define YPI_RX_CHUNK ((size_t)512)
/* Scoring takes no more pixels at once than this, nor more channels at once to fill a vector. */
#define YPI_RX_BLOCK ((size_t)48)
#define YPI_RX_LANES ((size_t)16)

/* Checks what the create and bytes functions share and replaces threads = 0. `what` names the
 * function in the message. */
enum yp_status ypi_rx_check(const char *what, size_t channels, size_t tile_pixels, int *threads);

/* All channels of a pixel. */
static inline bool ypi_rx_is_finite(const float *x, size_t channels)
{
    for (size_t c = 0; c < channels; c++)
        if (!isfinite(x[c]))
            return false;
    return true;
}

/* r of MinMax: max - min, in whatever unit the data are. Where 1 / r would be no float, as of data
 * that are all one value, it is a constant. */
#define YPI_RX_FLAT 1e-6
static inline bool ypi_rx_is_flat(double min, double max)
{
    return !(max - min >= (double)FLT_MIN);
}

static inline double ypi_rx_extent(double min, double max)
{
    return ypi_rx_is_flat(min, max) ? YPI_RX_FLAT : max - min;
}

/* The slope of a pixel's loss ln(1 + e^l), or of a target's ln(1 + e^-l), by its logit l. Below
 * 2^-80 it is 0: such a pixel adds nothing to a sum of floats, and what it was multiplied by would
 * be subnormal, which takes an Intel processor a hundred times as long. */
static inline float ypi_rx_slope(bool target, float l)
{
    float slope = target ? -1 / (1 + expf(l)) : 1 / (1 + expf(-l));
    return fabsf(slope) < 0x1p-80F ? 0 : slope;
}

/* -- a pass over the tiles ----------------------------------------------------------------- */

/* Works on one tile; in parallel, in any order. */
typedef void ypi_rx_work(void *arg, struct ypi_work_item item, const struct rx_tile *tile);

struct ypi_rx_pass {
    const char *what; /* the public function, for messages */
    size_t channels, tile_pixels;
    int threads;
    int spare; /* slots beyond one a thread, 0 or 1: so many of its tiles may wait for others */
    bool part; /* only `count` tiles from `first` on */
    size_t first, count;
    float *values;   /* (threads, tile_pixels, channels): for yielders to write to */
    uint8_t *labels; /* (threads (1 + spare), tile_pixels), or NULL: no labels needed */
    ypi_rx_work *work;
    ypi_pass_merge *merge; /* NULL: nothing to merge */
    void *arg;
};

/* Floats from one pixel of a tile to the next. */
static inline size_t ypi_rx_stride(const struct rx_tile *tile)
{
    return tile->stride != 0 ? tile->stride : tile->channels;
}

/* Checks a source against the pass's what, channels and tile_pixels. */
enum yp_status ypi_rx_check_source(const struct ypi_rx_pass *pass, const struct rx_source *source);
/* Asks for the item's tile and checks what was yielded. */
enum yp_status ypi_rx_ask(const struct ypi_rx_pass *pass, const struct rx_source *source,
                          struct ypi_work_item item, struct rx_tile *tile);

/* On failure the message of the first failing tile, in the order of indices, is the caller's
 * yp_last_error(), and no tile from that one on was merged. */
enum yp_status ypi_rx_run(const struct ypi_rx_pass *pass, const struct rx_source *source);
/* `count` of its tiles, from `first` on. */
enum yp_status ypi_rx_run_part(const struct ypi_rx_pass *pass, const struct rx_source *source,
                               size_t first, size_t count);

/* -- the detector -------------------------------------------------------------------------- */

/* The sums, bounds and counts of a tile. P are the channels, rounded up to YPI_RX_LANES; zeros fill
 * the difference. */
struct ypi_rx_accumulator {
    double *products;  /* as struct ypi_gram_shape says: around `mean` */
    double *mean;      /* (P) */
    float *low, *high; /* (P) */
    size_t kept, skipped;
};

/* The same of many tiles. */
struct ypi_rx_merged {
    uint64_t pixels, skipped;
    double *mean; /* (C) */
    double *m2;   /* (C, C), upper triangle; packed: its rows without what is below the diagonal */
    float *low, *high; /* (C) */
    bool packed;
};

/* What a thread needs to work on a tile, chunk by chunk. */
struct ypi_rx_scratch {
    float *split;              /* of precisions that split: as split.h says */
    float *panels;             /* (max(CHUNK, BLOCK), P): pixels packed, or transposed */
    double *rest, *difference; /* (P): the mean of a chunk - that of the tile; weighed */
    float *centre, *fine;      /* (P): what is subtracted from a chunk, as the sum of two floats */
    /* A chunk's, one behind the other in `moments` bytes. */
    double *sum;      /* (P) */
    float *min, *max; /* (P) */
    float *turned;    /* products of panels with themselves, as gram.h says, or NULL */
    size_t moments;
    double *before; /* the same, before the part that is being packed */
    uint8_t *keep;  /* (CHUNK) */
};

struct ypi_rx_device;

struct rx {
    struct yp_device *device; /* of the object's memory on the host */
    struct ypi_rx_device *on; /* the device that works on tiles, or NULL: the CPU */
    size_t channels, tile_pixels;
    int threads;
    bool failed;                   /* the last fit did not end */
    bool finished;                 /* factor and whiten belong to a rx_finish */
    struct ypi_rx_merged all;      /* that was fitted */
    struct ypi_rx_merged *block;   /* of tiles that are being merged; NULL on a GPU */
    double *weighted, *difference; /* (C): of means, in merging; with and without its weight */
    /* Of rx_finish, which a later fit leaves alone: */
    double *factor;                 /* (C, C): column k of L from its diagonal on in row k */
    double *location;               /* (C): the mean */
    float *whiten;                  /* (C, C): row k is column k of L^-1 */
    float *centre;                  /* (C): the mean, rounded */
    float *offset;                  /* (C): L^-1 (mean - centre) */
    double score_error;             /* as rx_score_error() says */
    float *values;                  /* (threads, tile_pixels, C) */
    struct ypi_rx_scratch *scratch; /* (threads) */
    struct ypi_rx_accumulator *accumulators; /* (2 threads) */
    const struct ypi_pixel_kernels *kernels;
    enum rx_precision precision;
    const struct ypi_gram_kernels *gram;
    bool few;                              /* channels for ypi_gram_kernels.few, in float */
    const struct ypi_split_kernels *split; /* NULL: this precision splits nothing */
    const struct ypi_triangle_kernels *triangle;
};
