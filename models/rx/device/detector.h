/* The detector and its loss on a GPU: the same objects, whose tiles are worked on by the plugin of
 * models/rx/cuda. Sums and the factor are made there; the host has copies of the statistics and of
 * the factor, and all that is said of them is said by it, as ever. */
#pragma once

#include "device/staging.h"
#include "models/rx/cuda/rx_cuda.h"
#include "models/rx/internal.h"

/* The plugin's table, or the one that a test has set (NULL: no more). NULL with yp_last_error()
 * set when there is none. */
const struct rx_cuda *ypi_rx_cuda(void);
void ypi_rx_set_cuda(const struct rx_cuda *cuda);

/* Pixels a block sums: of the size of tiles alone, so that every GPU has the same bits. */
unsigned ypi_rx_range(size_t tile_pixels);

/* A copy of rx.h's objects on the device; it stands in the object's own memory on the host. */
struct ypi_rx_device {
    struct yp_device *device;
    const struct rx_cuda *cuda;
    void *block; /* all of its memory there */
    size_t channels, tile_pixels;
    bool unlabelled; /* the pass that is on needs no labels, though there is memory for them */
    float *values[YPI_STAGING_SLOTS];   /* (tile_pixels, C): what yielders or copies fill */
    uint8_t *labels[YPI_STAGING_SLOTS]; /* (tile_pixels), or NULL */
    struct ypi_staging staging;
    struct rxc_gram gram;
    struct rxc_merge merge;
    struct rxc_quadratic quadratic;
    struct rxc_loss loss;
    struct rxc_factor factor;
    float *centre, *slices, *offset; /* what the kernels read as const */
    bool same;                       /* the sums there are the host's */
};

/* Memory of the device that it takes; `loss`: of a rx_loss. */
size_t ypi_rx_device_bytes(size_t channels, size_t tile_pixels, bool loss, enum rx_tiles tiles);
/* Tiles that the device has memory for. */
size_t ypi_rx_device_slots(enum rx_tiles tiles);

/* What `gram` leaves, as the sums that `merge` takes. */
void ypi_rx_merge_what(struct rxc_merge *merge, const struct rxc_gram *gram);

enum rx_tiles ypi_rx_tiles_of(const struct rx_options *options);

/* Takes it, and sets up the jobs. `on` is in the object's memory. */
enum yp_status ypi_rx_device_open(struct ypi_rx_device *on, struct yp_device *device,
                                  size_t channels, size_t tile_pixels, bool loss,
                                  enum rx_tiles tiles);
void ypi_rx_device_close(struct ypi_rx_device *on);

/* -- tiles.c: passes over a source ------------------------------------------------------------ */

/* Once the device's memory is laid out; ypi_staging_close() takes it back. */
enum yp_status ypi_rx_staging_open(struct ypi_rx_device *on, enum rx_tiles tiles);

/* Works on a tile whose values and labels are on the device: launches it. */
typedef enum yp_status ypi_rx_device_work(void *arg, size_t index, const struct rx_tile *tile);

/* A pass: its source is checked and copies may begin, then tiles come one after the other, until
 * *stop is set (NULL: all of them). `what` names the public function. */
enum yp_status ypi_rx_device_begin(const char *what, struct ypi_rx_device *on,
                                   const struct rx_source *source);
enum yp_status ypi_rx_device_pass(const char *what, struct ypi_rx_device *on,
                                  const struct rx_source *source, ypi_rx_device_work *work,
                                  void *arg, const bool *stop);

enum yp_status ypi_rx_device_check(const char *what, size_t channels, size_t tile_pixels,
                                   const struct rx_options *options);

/* What rx_fit, rx_score and rx_loss_gradient are there. */
enum yp_status ypi_rx_device_fit(struct rx *rx, const struct rx_source *source);
/* The factor, by on->factor's numbers, which are the caller's to set, of the host's statistics; to
 * rx->factor, and `squares` (C). `failed` as there: no factor when it is not 0. Waits for the
 * device. */
enum yp_status ypi_rx_device_factor(struct rx *rx, unsigned *failed, double *squares);
enum yp_status ypi_rx_device_score(struct rx *rx, const struct rx_source *source, float *scores);
enum yp_status ypi_rx_device_gradient(struct ypi_rx_device *on, const struct rx_source *source,
                                      const float *parameters, double *mean, float *gradient);
