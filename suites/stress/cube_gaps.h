/* What a user's cube has no data in: bands, and pixels. They are left out, counted and told. */
#pragma once

#include "synth/cube/cube.h"

#include <yieldpoint/yieldpoint.h>

/* A pixel has no data where every band of it is no finite number or, in a file that declares no
 * data ignore value that its type can hold, stored as 0. */
struct cube_gaps {
    const struct synth_cube_file *file; /* which stays open */
    const struct synth_cube_info *info; /* of it */
    uint64_t pixels, blank, zero;       /* of all: those without data, and of them those of zeros */
    uint64_t *finite;                   /* (channels): of pixels with data */
    float *first, *low, *high;          /* (channels): of their values */
    uint8_t *out;                       /* (channels): why it is left out, as below; 0: it is not */
    float constant;                     /* what bands that are left out become */
};
enum { CUBE_BAD = 1, CUBE_ASKED, CUBE_BLANK };

/* Leaves out bands whose bbl is 0 and those of --leave-out. The case owns the memory. */
void cube_gaps_open(struct cube_gaps *gaps, struct yp_case *t, const struct synth_cube_file *file);

/* Counts (pixels, channels) of values that were read with SYNTH_SCALED. */
void cube_gaps_count(struct cube_gaps *gaps, const float *values, size_t pixels);

/* After all pixels: leaves out bands that are finite in less than half of the pixels with data. A
 * cube of which nothing is left ends the case. Prints what is left out, and records it as values.
 */
void cube_gaps_judge(struct cube_gaps *gaps, struct yp_case *t);

/* How many bands are left and are not constant. */
size_t cube_gaps_varying(const struct cube_gaps *gaps);

/* Whether anything is left out. */
bool cube_gaps_any(const struct cube_gaps *gaps);

/* Makes bands that are left out constant, which a detector masks and statistics do not count, and
 * pixels without data NaN in all bands. From any thread. */
void cube_gaps_clear(const struct cube_gaps *gaps, float *values, size_t pixels);
