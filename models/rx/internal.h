/* What the files of models/rx share. */
#ifndef YPI_RX_INTERNAL_H
#define YPI_RX_INTERNAL_H

#include "base/arena.h"
#include "base/sort.h"
#include "base/splitmix.h"
#include "models/rx/rx.h"

/* Pixels that are centred and multiplied at once: small enough to stay in a core's cache, and as
 * far as a float sum may run before it is added to a double, whatever the size of a tile. */
#define YPI_RX_CHUNK ((size_t)512)
/* Scoring takes no more pixels at once than this, nor more channels at once to fill a vector. */
#define YPI_RX_BLOCK ((size_t)48)
#define YPI_RX_LANES ((size_t)16)

/* Checks what the create and bytes functions share and replaces threads = 0. `what` names the
 * function in the message. */
enum yp_status ypi_rx_check(const char *what, size_t channels, size_t tile_pixels, int *threads);
enum yp_status ypi_rx_check_device(const char *what, struct yp_device *device);

/* -- a pass over the tiles ----------------------------------------------------------------- */

/* Where a tile is worked on. */
struct ypi_rx_seat {
    int thread; /* whose memory is free to use, 0 to threads - 1 */
    int slot; /* where what is to be merged goes, 0 to threads (1 + spare) - 1: the thread's own */
    size_t index; /* of the tile */
};

/* Works on one tile; in parallel, in any order. */
typedef void ypi_rx_work(void *arg, struct ypi_rx_seat seat, const struct rx_tile *tile);
/* Takes over what the slot holds; one at a time, in the order of tiles. */
typedef void ypi_rx_merge(void *arg, int slot);

struct ypi_rx_pass {
    const char *what; /* the public function, for messages */
    size_t channels, tile_pixels;
    int threads;
    int spare;     /* slots beyond one a thread, 0 or 1: so many of its tiles may wait for others */
    float *values; /* (threads, tile_pixels, channels): room for yielders */
    uint8_t *labels; /* (threads (1 + spare), tile_pixels), or NULL: no labels needed */
    ypi_rx_work *work;
    ypi_rx_merge *merge; /* NULL: nothing to merge */
    void *arg;
};

/* Floats from one pixel of a tile to the next. */
static inline size_t ypi_rx_stride(const struct rx_tile *tile)
{
    return tile->stride != 0 ? tile->stride : tile->channels;
}

/* Checks a source against the pass's what, channels and tile_pixels. */
enum yp_status ypi_rx_check_source(const struct ypi_rx_pass *pass, const struct rx_source *source);
/* Asks for the seat's tile and checks what came. */
enum yp_status ypi_rx_ask(const struct ypi_rx_pass *pass, const struct rx_source *source,
                          struct ypi_rx_seat seat, struct rx_tile *tile);

/* On failure the message of the first failing tile, in the order of indices, is the caller's
 * yp_last_error(), and no tile from that one on was merged. */
enum yp_status ypi_rx_run(const struct ypi_rx_pass *pass, const struct rx_source *source);

/* -- loops over pixels, for the instruction sets of this machine --------------------------- */

struct ypi_rx_kernels {
    const char *name;
    /* keep[p] = all channels of pixel p are finite; returns how many are. */
    size_t (*finite)(const float *x, size_t pixels, size_t channels, uint8_t *keep);
    /* The same of pixels `stride` floats apart, and adds kept ones to sum, low and high, all
     * (channels). */
    size_t (*moments)(const float *x, size_t stride, size_t pixels, size_t channels, double *sum,
                      float *low, float *high, uint8_t *keep);
    /* out = x - centre for kept pixels, without gaps (keep NULL: all); returns its rows. */
    size_t (*centre)(const float *x, const uint8_t *keep, size_t pixels, size_t channels,
                     const float *centre, float *out);
    /* out[r] = sum over c of a[r][c] b[r][c] */
    void (*dots)(const float *a, const float *b, size_t rows, size_t channels, float *out);
    /* out[r][c] = g[r] x[r][c]; sum[c] += out[r][c] */
    void (*scale)(const float *x, const float *g, size_t rows, size_t channels, float *out,
                  double *sum);
    /* out = (x - base) gain + rest for finite pixels, without gaps; keep[p] says which; rows. */
    size_t (*gather)(const float *x, size_t stride, size_t pixels, size_t channels,
                     const float *base, const float *gain, const float *rest, float *out,
                     uint8_t *keep);
    /* sum[c] += sum over rows of a[r][c]; product[c] += of a[r][c] b[r][c], when not NULL */
    void (*columns)(const float *a, const float *b, size_t rows, size_t channels, double *sum,
                    double *product);
    /* out[r][c] = factor g[r] x[r][c]; out may be x */
    void (*weigh)(const float *x, const float *g, float factor, size_t rows, size_t channels,
                  float *out);
};

/* centre() after finite(), for pixels `stride` floats apart. */
size_t ypi_rx_centre_finite(const struct ypi_rx_kernels *kernels, const float *x, size_t stride,
                            size_t pixels, size_t channels, const float *middle, uint8_t *keep,
                            float *out);

/* The fastest set this processor has, or the one of that rank: 0 is plain C. NULL when there is
 * no such rank or the processor lacks it. */
const struct ypi_rx_kernels *ypi_rx_kernels(void);
const struct ypi_rx_kernels *ypi_rx_kernels_at(int rank);

/* -- the detector -------------------------------------------------------------------------- */

/* What there is to say of a tile. P are the channels, rounded up to YPI_RX_LANES; zeros fill the
 * difference. */
struct ypi_rx_tally {
    double *products;  /* as struct ypi_gram_shape says: around `mean` */
    double *mean;      /* (P) */
    float *low, *high; /* (P) */
    size_t kept, skipped;
};

/* What a thread needs to work on a tile, chunk by chunk. */
struct ypi_rx_scratch {
    float *split;              /* of precisions that split: as split.h says */
    float *panels;             /* (max(CHUNK, BLOCK), P): pixels packed, or transposed */
    double *rest, *difference; /* (P): the mean of a chunk - that of the tile; weighed */
    float *centre, *fine;      /* (P): what is subtracted from a chunk, as the sum of two floats */
    /* A chunk's, one behind the other in `moments` bytes. */
    double *sum;         /* (P) */
    float *least, *most; /* (P) */
    float *turned;       /* products of panels with themselves, as gram.h says, or NULL */
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
    bool failed;   /* the last fit did not end */
    bool finished; /* factor and whiten belong to a rx_finish */
    uint64_t pixels, skipped;
    double *mean;           /* (C) */
    double *m2;             /* (C, C), upper triangle */
    float *low, *high;      /* (C) */
    double *across, *apart; /* (C): of merging */
    /* Of rx_finish, which a later fit leaves alone: */
    double *factor;                 /* (C, C): column k of L from its diagonal on in row k */
    double *location;               /* (C): the mean */
    float *whiten;                  /* (C, C): row k is column k of L^-1 */
    float *centre;                  /* (C): the mean, rounded */
    float *offset;                  /* (C): L^-1 (mean - centre) */
    float *values;                  /* (threads, tile_pixels, C) */
    struct ypi_rx_scratch *scratch; /* (threads) */
    struct ypi_rx_tally *tiles;     /* (2 threads) */
    const struct ypi_rx_kernels *kernels;
    enum rx_precision precision;
    const struct ypi_gram_kernels *gram;
    bool few;                              /* channels for ypi_gram_kernels.few, in float */
    const struct ypi_split_kernels *split; /* NULL: this precision splits nothing */
    const struct ypi_triangle_kernels *triangle;
};

#endif
