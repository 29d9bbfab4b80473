/* Pipelines on the emulated device beside the CPU's: scenes, calls and their answers. */
#ifndef UNIT_RX_STAGE_H
#define UNIT_RX_STAGE_H

#include "tests/unit/rx/rx_fixture.h"
#include "tests/unit/rx/rx_gpu.h"

#include "models/rx/device/pipeline.h"
#include "models/rx/train.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#define FRONT .normalise = true, .select = true, .temperature = 0.8, .train_temperature = true

enum { RX, PCA, LAD, IMAGE, AUTOENCODER, SHAPES };

struct shape {
    const char *name;
    struct rx_pipeline_options options;
};
extern const struct shape shapes[SHAPES];

/* A scene that tiles are of, here and there; host.copy: yielders fill the buffer they are given. */
struct stage {
    struct scene host;
    enum rx_tiles tiles;
    size_t empty;  /* a tile without pixels; SIZE_MAX: none */
    float *packed; /* the host's pixels side by side */
    float *values; /* the GPU's, as they lie on the host */
    uint8_t *labels;
    struct yp_device *device;
};

/* Pixels whose channels hang together, one in 8 a target a little apart, `gap` strangers between
 * them. Some are not finite. */
struct stage stage_make(size_t pixels, size_t channels, size_t tile_pixels, size_t gap);

/* What the host's pixels are, to where they are copied from. */
void stage_send(struct stage *g);

void stage_free(struct stage *g);

enum yp_status yield_there(struct stage *g, size_t index, float *values, uint8_t *labels,
                           struct rx_tile *tile);

enum yp_status stage_yield(void *arg, size_t index, float *values, uint8_t *labels,
                           struct rx_tile *tile);

/* With one more tile, which has no pixels. */
struct rx_source stage_source(struct stage *g);

struct rx_pipeline_options options_for(size_t shape, const struct stage *g);

struct rx_pipeline *pipeline_on(struct yp_device *device, size_t shape, const struct stage *g);

/* Where statistics put them, made on the CPU, with a gentler logit; `by`: and some way off, where
 * A is not symmetric. */
float *parameters_for(size_t shape, struct stage *g, double by);

enum call { GRADIENT, SCORE, CALIBRATE, TRAIN, EVALUATE, CALLS };

struct taken {
    float *logits, *labels;
};

void take(void *arg, const float *logits, const uint8_t *labels, size_t pixels);

/* Places of a call's answer: loss and weight, then gradient, or what belongs to pixels. */
enum { NUMBERS = 4 };
size_t span_of(const struct rx_pipeline *p, const struct rx_source *source);

enum yp_status ask(enum call which, struct rx_pipeline *p, const struct rx_source *source,
                   const float *parameters, float *answer);

extern const char *const call_names[CALLS];

bool lies_in(const void *at, const void *from, size_t bytes);

/* No copy goes on that reads what is the yielder's. */
void expect_idle(const struct stage *g);

/* The answers to the first calls, one behind the other. */
float *answers_of(struct rx_pipeline *p, const struct rx_source *source, const float *parameters,
                  size_t calls);

void expect_same(const float *right, const float *got, size_t calls, size_t span,
                 const char *where);

void expect_nothing_left(struct yp_device *device);

/* ||got - wanted|| / ||wanted||, of what is a number in both. */
double off(const float *got, const float *wanted, size_t count);

/* Each tensor of a gradient within `bound`. */
void check_gradient(const struct rx_pipeline *p, const float *got, const float *wanted,
                    double bound, const char *name);

/* Products in plain loops, of which there are many: their kernels have been looked at above. */
void quick_linear(const void *given);

void quick_cross(const void *given);

enum yp_status give_linear(struct yp_device *device, const struct rxc_linear *job);

enum yp_status give_cross(struct yp_device *device, const struct rxc_cross *job);

/* The GPU's table with these. */
const struct rx_cuda *quick_table(void);

/* A source of three tiles, and the right answers to all calls of it. */
struct subject {
    struct stage stage;
    struct rx_source source;
    float *parameters, *right;
    size_t span;
};

void subject_begin(struct subject *s, size_t shape, int tiles);

void subject_end(struct subject *s);

#endif
