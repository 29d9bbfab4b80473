/* The operations of the detector as measurements. Each has one name and declares the same useful
 * work wherever it is measured: "scene", "statistics", "score", "gradient step", "pipeline
 * step". */
#pragma once

#include "models/rx/pipeline/nodes.h"
#include "suites/scene_tiles.h"

#define PERF_TILE_PIXELS 4096

/* How an operation goes over a source, whose tiles are all whole. */
struct rx_work {
    const struct rx_source *source;
    int threads;                /* 0: as many as the case may use */
    enum yp_ceiling arithmetic; /* the ceiling of operations; 0: YP_FP32 */
    bool pixels;                /* rates in pixels */
    bool cold;                  /* caches are emptied before each iteration */
    /* Declares bytes alone, against the ceiling of copying: for few channels and more data than
     * caches hold. */
    bool copying;
};

/* The default scene, generated and kept; `cubes` of side x side pixels. */
void perf_keep(struct kept_tiles *kept, struct yp_case *t, const struct scale *scale,
               size_t tile_pixels);
struct scale perf_image(size_t channels); /* 256 x 256 */

double perf_pixels(const struct rx_source *source);

/* A detector, or the case ends; one that is fitted and has its factor. */
struct rx *perf_rx(struct yp_case *t, const struct rx_work *work, enum rx_precision precision);
struct rx *perf_fitted(struct yp_case *t, const struct rx_work *work);

/* `count` tiles of PERF_TILE_PIXELS of the default scene, each of another cube, always into the
 * same buffer. */
void measure_scene(struct yp_case *t, size_t channels, int count, int threads);

/* A measurement of an operation; returns what it made last in the case's device's memory, or NULL.
 */
typedef const float *perf_measurement(struct yp_case *t, struct rx *rx, const struct rx_work *work);

/* Useful operations: C (C + 1) a pixel, a triangle with its diagonal, products and sums. */
perf_measurement measure_statistics;

/* C^2 a pixel: what the triangular product needs. The detector has its factor; returns the scores,
 * as rx_score() places them. */
perf_measurement measure_score;

/* 4 C^2 a pixel. From where training begins with this finished detector; reports the mean loss and
 * returns the gradient, rx_loss_parameters() floats. */
perf_measurement measure_gradient_step;

/* 4 C^2 a pixel: the same of a whole pipeline, with MinMax and channel selector before RX, from
 * where its statistics put it. */
perf_measurement measure_pipeline_step;

/* Floors of these operations on the CPU, by the axis "channels": for .budgets_of. */
void perf_statistics_floor(const struct yp_case *c, struct yp_budgets *out);
void perf_score_floor(const struct yp_case *c, struct yp_budgets *out);
void perf_gradient_floor(const struct yp_case *c, struct yp_budgets *out);
void perf_pipeline_floor(const struct yp_case *c, struct yp_budgets *out);

/* One of them by a finished detector of these tiles. */
void perf_measure(struct yp_case *t, const struct rx_work *work, perf_measurement *operation);

/* The same with the default scene at this scale; the source is set here. */
void perf_scene(struct yp_case *t, struct scale scale, size_t tile_pixels, struct rx_work how,
                perf_measurement *operation);
