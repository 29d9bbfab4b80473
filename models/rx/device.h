/*
 * The detector and its loss on a GPU: the same objects, whose tiles are worked on by the plugin of
 * models/rx/cuda. Statistics, the factor and all that is said of them are on the host, as ever.
 */
#ifndef YPI_RX_DEVICE_H
#define YPI_RX_DEVICE_H

#include "cuda/rx_cuda.h"
#include "internal.h"
#include "optimiser.h"

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
    size_t tile_pixels;
    float *values;   /* (tile_pixels, C): room for yielders */
    uint8_t *labels; /* (tile_pixels), or NULL */
    struct rxc_gram gram;
    struct rxc_merge merge;
    struct rxc_quadratic quadratic;
    struct rxc_loss loss;
    float *centre, *slices, *offset; /* what the kernels read as const */
    float *staged;                   /* on the host: (slices), then (C, rounded up) */
};

/* Memory of the device that it takes; `loss`: of a rx_loss. */
size_t ypi_rx_device_bytes(size_t channels, size_t tile_pixels, bool loss);

/* What the elements of one step share: of optimiser.c. */
struct ypi_adamw_factors {
    double keep, gain1, beta2, gain2, correction, eps, step;
};
struct ypi_adamw_factors ypi_rx_adamw_factors(const struct rx_adamw *how, uint64_t t);

/* Takes it, and sets up the jobs. `on` is in the object's memory. */
enum yp_status ypi_rx_device_open(struct ypi_rx_device *on, struct yp_device *device,
                                  size_t channels, size_t tile_pixels, bool loss);
void ypi_rx_device_close(struct ypi_rx_device *on);

enum yp_status ypi_rx_device_check(const char *what, size_t channels, size_t tile_pixels,
                                   const struct rx_options *options);

/* What rx_fit, rx_score and rx_loss_gradient are there, and what rx_finish has to add. */
enum yp_status ypi_rx_device_fit(struct rx *rx, const struct rx_source *source);
enum yp_status ypi_rx_device_finish(struct rx *rx);
enum yp_status ypi_rx_device_score(struct rx *rx, const struct rx_source *source, float *scores);
enum yp_status ypi_rx_device_gradient(struct ypi_rx_device *on, const struct rx_source *source,
                                      const float *parameters, double *mean, float *gradient);

#endif
