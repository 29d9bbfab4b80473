/* What the tests of models/rx set up alike: numbers, pixels in memory as a source. */
#pragma once

#include "models/rx/rx.h"
#include "tests/unit/status.h"
#include <stdlib.h>

/* -- numbers ------------------------------------------------------------------------------- */

uint64_t words(uint64_t *state); /* splitmix64 */
double normal(uint64_t *state);

/* A multiple of 2^-24 in [0, 1), as the reference scripts in Python make it. */
double script_uniform(uint64_t *state);

/* -- pixels in memory ---------------------------------------------------------------------- */

struct scene {
    float *values;   /* (pixels, stride) */
    uint8_t *labels; /* (pixels) or NULL */
    size_t pixels, channels, tile_pixels;
    size_t stride; /* 0: channels */
    bool copy;     /* yield by filling the model's memory */
    bool unlabelled;
    size_t fail_from; /* tiles from here on fail; 0: none */
    size_t extra;     /* pixels too many a tile */
};

void *block(size_t count, size_t size); /* zeroed, free() gives it back */
void scene_free(struct scene *s);
rx_yield scene_yield;                        /* with a struct scene */
struct rx_source source_of(struct scene *s); /* refers to it */
struct rx_tile tile_of(const struct scene *s);
struct rx *detector_for(const struct scene *s, int threads);
