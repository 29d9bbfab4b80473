/* Arrays of one kernel on the emulated device, and how far its results may be off. */
#ifndef UNIT_RX_ARRAYS_H
#define UNIT_RX_ARRAYS_H

#include "tests/unit/rx/rx_fixture.h"
#include "tests/unit/rx/rx_gpu.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

/* A copy of it on the GPU; of NULL garbage. */
void *there(const void *from, size_t bytes);

void fetch(void *to, const void *from, size_t bytes);

/* Gives all of them back. */
void all_back(void);

/* Around the sizes of blocks and of what they read at once. */
extern const unsigned sizes[13];

float *normals(size_t count, uint64_t *state);

/* What `roundings` to float do to a sum of that size at most. */
double within(double roundings, double size);

/* The largest part of what was allowed so far; NaN is too much. */
void note(double *worst, double off, double allowed);

struct dots {
    size_t pixels;
    unsigned width;
    bool given, own, judged; /* products, or scores; the loss is the score, or the labels' */
    float factor, target, scalars[2], *a, *b, *scores, *g;
    uint8_t *keep, *labels;
    double *sums;
    unsigned *kept;
};

struct dots dots_make(size_t pixels, unsigned width, size_t how);

void dots_free(struct dots *d);

/* What a pixel adds to its block's sums, and what each may be off by: from the score that came. */
void dots_pixel(const struct dots *d, size_t p, double sums[3], double allowed[3], double *worst);

/* What blocks have made of the scores that came: sums, counts and g. */
void check_judged(const struct dots *d, double *worst);

#endif
