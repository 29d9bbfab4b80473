/* Targets of several pixels (scene.h): which target a pixel has and how much of it is covered. One
 * text for all instruction sets and CUDA.
 *
 * A cube is divided into square cells, whose corner is drawn for each cube. A cell holds at most
 * one target, which lies wholly in it and leaves its last row and column free: targets neither
 * overlap nor touch, and a pixel looks at one cell. Centres are uniform over a square of a whole
 * number of pixels, so with the cells' corner they are uniform over the cube: every point of it is
 * covered with the same probability. */
#pragma once

#include "base/random/normal.h"
#include "synth/scene/scene.h"

/* What cells are like; all 0 where targets are single pixels. */
struct synth_shapes {
    uint64_t chance;     /* a word below it makes a target; <= 2^32 */
    float reach;         /* from a centre to the farthest point of a target */
    float half;          /* radius, or half the longer side */
    uint16_t shape;      /* enum synth_shape */
    uint16_t cell, play; /* side of a cell and of the square of centres, in pixels */
};

/* Words of a cell: two blocks of Philox. The first four words of the stream are the cube's. */
enum {
    SYNTH_CELL_ROW = 0,
    SYNTH_CELL_COLUMN = 1,

    SYNTH_CELL_TARGET = 0,
    SYNTH_CELL_Y = 1,
    SYNTH_CELL_X = 2,
    SYNTH_CELL_KIND = 3,
    SYNTH_CELL_FILL = 4,
    SYNTH_CELL_TURN = 5,
    SYNTH_CELL_SHAPE = 6,
    SYNTH_CELL_WORDS = 8,
};
#define SYNTH_CELLS_BEGIN 4 /* the first word of cell 0 */

/* Cells in a row of cells, wherever their corner is. */
YPI_INLINE uint64_t synth_cells_wide(uint64_t width, uint32_t cell)
{
    return (width + cell - 2) / cell + 1;
}

/* A length below `bound`, uniform, by which cells begin before the cube. */
YPI_INLINE uint32_t synth_cells_before(uint32_t word, uint32_t bound)
{
    return (uint32_t)(ypi_wide(word, bound) >> 32);
}

/* A target of several pixels: its centre in its cell, and the direction of its longer side; a disc
 * has none. */
struct synth_target {
    float y, x, half, cosine, sine;
    bool disc;
};

/* cos and sin of an angle uniform over half a turn, of -45 to 135 degrees; neither is ever 0. */
YPI_INLINE void synth_direction(uint32_t word, float *cosine, float *sine)
{
    float s, c;
    ypi_within_quarter(word, &s, &c);
    bool quarter = (word & 0x40000000u) != 0;
    *cosine = quarter ? -s : c;
    *sine = quarter ? c : s;
}

YPI_INLINE struct synth_target synth_target(const struct synth_shapes *shapes,
                                            const uint32_t words[SYNTH_CELL_WORDS])
{
    struct synth_target target;
    float play = (float)shapes->play;
    target.y = YPI_FMA(play, ypi_uniform(words[SYNTH_CELL_Y]), shapes->reach);
    target.x = YPI_FMA(play, ypi_uniform(words[SYNTH_CELL_X]), shapes->reach);
    target.half = shapes->half;
    target.disc = shapes->shape == SYNTH_DISC ||
                  (shapes->shape == SYNTH_MIXED && (words[SYNTH_CELL_SHAPE] & 1) != 0);
    synth_direction(words[SYNTH_CELL_TURN], &target.cosine, &target.sine);
    return target;
}

/* Where a line at height y above the centre is in the target: from *low to *high, seen from the
 * centre; *low is not below *high where it is not. */
YPI_INLINE void synth_target_line(const struct synth_target *t, float y, float *low, float *high)
{
    if (t->disc) {
        float square = t->half * t->half - y * y;
        *high = YPI_SQRT(YPI_MAX(square, 0.0f));
        *low = -*high;
        return;
    }
    /* Between two pairs of parallel sides; sine and cosine are at least 1e-10. */
    float a = t->half, b = t->half / SYNTH_ASPECT;
    float along = y * t->sine, across = y * t->cosine;
    float first = (-a - along) / t->cosine, second = (a - along) / t->cosine;
    float third = (across - b) / t->sine, fourth = (across + b) / t->sine;
    float low1 = YPI_MIN(first, second), low2 = YPI_MIN(third, fourth);
    float high1 = YPI_MAX(first, second), high2 = YPI_MAX(third, fourth);
    *low = YPI_MAX(low1, low2);
    *high = YPI_MIN(high1, high2);
}

/* The part of a pixel of the cell that the target covers, 0 to 1. Along a row it is exact; it is
 * summed over SYNTH_LINES lines in the middle of as many parts of the pixel's height. */
YPI_INLINE float synth_covered(const struct synth_shapes *shapes, const struct synth_target *t,
                               uint32_t row, uint32_t column)
{
    float y = (float)row - t->y, left = (float)column - t->x, right = left + 1.0f, sum = 0.0f;
    float reach = shapes->reach;
    if (y >= reach || y + 1.0f <= -reach || left >= reach || right <= -reach)
        return 0.0f;
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
    for (int i = 0; i < SYNTH_LINES; i++) {
        float low, high;
        synth_target_line(t, y + ((float)i + 0.5f) * (1.0f / SYNTH_LINES), &low, &high);
        low = YPI_MAX(low, left);
        high = YPI_MIN(high, right);
        float length = high - low;
        sum = sum + (length > 0.0f ? length : 0.0f);
    }
    return YPI_MIN(sum * (1.0f / SYNTH_LINES), 1.0f);
}
