/* What the tests of pipelines share. With RX_NODES_ON_GPU pipelines are those of the emulated
 * device, to which the host's tiles are copied; all else is the same. */
#ifndef UNIT_RX_NODES_H
#define UNIT_RX_NODES_H

#include "tests/unit/rx/rx_fixture.h"

#include "models/metrics/metrics.h"
#include "models/rx/pipeline/internal.h"
#include "models/rx/train.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#ifdef RX_NODES_ON_GPU
#include "tests/unit/rx/rx_gpu.h"
#define TILES RX_TILES_OVERLAPPED
#define PIPELINE_BYTES pipeline_host_bytes
static inline size_t pipeline_host_bytes(const struct rx_pipeline_options *o)
{
    return rx_pipeline_host_bytes(o) + rx_pipeline_pinned_bytes(o);
}
static inline struct yp_device *device_of_pipelines(void)
{
    return gpu_open();
}
#else
#define TILES RX_TILES_RESIDENT
#define PIPELINE_BYTES rx_pipeline_bytes
static inline struct yp_device *device_of_pipelines(void)
{
    return yp_device_cpu();
}
#endif

/* Pixels around a sloping spectrum of level 3 whose covariance has eigenvalues from 1 down to
 * 1 / condition, turned by a reflection; one in `rarity` is a target, `far` sigma along the
 * quietest direction. Between the pixels are strangers, `gap` floats of them. */
struct scene scene_with(size_t pixels, size_t channels, double condition, size_t gap,
                        uint64_t rarity, double far);

struct scene scene_make(size_t pixels, size_t channels, double condition, size_t gap);

struct shape {
    const char *name;
    struct rx_pipeline_options options;
};

#ifdef RX_NODES_ON_GPU /* which has neither MinMax by sample nor a residual */
#define SHAPES ((size_t)19)
#else
#define SHAPES ((size_t)23)
#endif
extern const struct shape shapes[SHAPES];

struct rx_pipeline_options options_for(const struct shape *shape, const struct scene *s,
                                       int threads);

struct rx_pipeline *pipeline_for(const struct rx_pipeline_options *options);

float *fit(struct rx_pipeline *p, struct scene *s, int threads);

/* A gentle logit, so that no pixel drowns in its sigmoid. */
void settle(const struct rx_pipeline *p, float *parameters);

/* ||got - oracle|| / ||oracle|| */
double off(const float *got, const double *oracle, size_t n);

void scores_of(struct rx_pipeline *p, struct scene *s, const float *parameters, float *scores);

#endif
