/* The least work of random numbers and scenes, for the bounds of a measurement. Operations are
 * those of YP_INT32 and YP_FP32: an addition, a multiplication or what takes as long. */
#pragma once

#include "suites/scene_tiles.h"

/* A word of Philox4x32-10, a quarter of a block of 10 rounds of two products. A product of 32 bits
 * by 32 is one multiplication that gives both halves, the exclusive or of three words one
 * operation. Neighbouring blocks differ in one word of their counters, so the first products are
 * one addition, and three of the others the same for all: 17 products, 19 exclusive ors, one
 * addition (base/random/bulk_kernel.h does no more). Round keys are the same for all blocks. */
#define WORD_INTEGERS (37 / 4.0)

/* A normal beyond its word, half of a pair (base/random/normal.h), a fused operation as two. The
 * radius takes 23: a polynomial of 16, 2 more fused, 2 others and the root; the rest 18: the angle
 * and its square 3, its sine 7, its cosine 6, the two products. Conversions and selections, which
 * are of neither ceiling, are left out. */
#define NORMAL_FLOPS (41 / 2.0)

#define WORDS_WORK(count_) yp_work(YP_INT32, WORD_INTEGERS *(count_))
#define NORMALS_WORK(count_) WORDS_WORK(count_), yp_work(YP_FP32, NORMAL_FLOPS *(count_))

/* The default scene (synth/scene/mixing_formulas.inc), of 6 endmembers. A value: its normal; 6
 * levels and 6 slopes, fused; variance, root and noise 5; the column's gain and offset 3, rounding
 * 2: 34 operations, and 2 of integers that take the gain and the offset apart. */
#define SCENE_VALUE_FLOPS (NORMAL_FLOPS + 34)
#define SCENE_VALUE_INTEGERS (WORD_INTEGERS + 2)
/* A pixel: 19 fields of 5 operations, abundances of 156 with 6 exponentials of 22, their shade and
 * variation 58, and the normal of its grain; two words for targets and one for the grain. */
#define SCENE_PIXEL_FLOPS (NORMAL_FLOPS + 309)
#define SCENE_PIXEL_INTEGERS (3 * WORD_INTEGERS)

/* Entries of YP_WORK: so many pixels and values of it, in doubles. */
#define SCENE_WORK(pixels_, values_) \
    yp_work(YP_INT32, SCENE_PIXEL_INTEGERS *(pixels_) + SCENE_VALUE_INTEGERS * (values_)), \
        yp_work(YP_FP32, SCENE_PIXEL_FLOPS *(pixels_) + SCENE_VALUE_FLOPS * (values_))
#define SCALE_WORK(scale_) SCENE_WORK(scale_pixels(scale_), scale_values(scale_))

/* A scale generated and fitted, tile by tile: first the one, then the other, by the same units,
 * whichever thread does it. A value is in C + 1 products and sums of the covariance's triangle. */
#define FIT_WORK(scale_) \
    YP_WORK(SCALE_WORK(scale_), yp_then(), \
            yp_work(YP_FP32, scale_values(scale_) * (double)((scale_)->channels + 1)))
