/* What the ground has by option (scene/mixing_ground.inc): grain that is a field. A pixel computes
 * it for itself, since it is off by default and then costs no shared memory. */
#pragma once

#include "synth/cuda/patch.h"
#include "synth/scene/mixing_window.h"

/* Normal `number` of a subsequence. */
YPI_INLINE float synth_normal(const struct synth_cuda_scene *s, uint64_t subsequence,
                              uint64_t number)
{
    struct synth_four four = synth_four_normals(&s->keys, subsequence, number / 4);
    float low = number & 1 ? four.v[1] : four.v[0], high = number & 1 ? four.v[3] : four.v[2];
    return number & 2 ? high : low;
}

/* The grain of a pixel from the nine nodes around it; grain_pitch is 2 or more. */
YPI_INLINE float synth_grain_field(const struct synth_cuda_scene *s, uint64_t cube, uint32_t row,
                                   uint32_t column)
{
    uint32_t y = synth_divided(row, s->grain_pitch), x = synth_divided(column, s->grain_pitch);
    float pitch = (float)s->grain_pitch.by, down[3], right[3], sum[3] = {0.0f, 0.0f, 0.0f};
    mixing_window((int32_t)(row - y * s->grain_pitch.by), pitch, down);
    mixing_window((int32_t)(column - x * s->grain_pitch.by), pitch, right);
    /* From the last row up, as blended() sums; the first product is rounded alone. */
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
    for (uint32_t i = 3; i-- > 0;) {
        uint64_t first = ypi_wide(y + i, s->grain_width) + x;
        float weight = i == 0 ? down[0] : i == 1 ? down[1] : down[2];
        YPI_UNROLL
        for (uint32_t k = 0; k < 3; k++) {
            float z = synth_normal(s, cube * SYNTH_PURPOSES + SYNTH_GRAINS, first + k);
            sum[k] = i == 2 ? weight * z : YPI_FMA(weight, z, sum[k]);
        }
    }
    return YPI_FMA(right[0], sum[0], YPI_FMA(right[1], sum[1], right[2] * sum[2]));
}

/* The four words of a block of the cells' stream. */
YPI_INLINE void synth_cell_words(const struct synth_cuda_scene *s, uint64_t cube, uint64_t block,
                                 uint32_t words[4])
{
    uint64_t subsequence = cube * SYNTH_PURPOSES + SYNTH_CELLS;
    ypi_philox_keyed(&s->keys, (uint32_t)block, (uint32_t)(block >> 32), (uint32_t)subsequence,
                     (uint32_t)(subsequence >> 32), words);
}

/* Fill of a pixel, and the word that tells which target it has, where targets have shapes. */
YPI_INLINE float synth_shape_fill(const struct synth_cuda_scene *s, uint64_t cube, uint32_t row,
                                  uint32_t column, uint32_t *kind)
{
    uint32_t words[SYNTH_CELL_WORDS];
    synth_cell_words(s, cube, 0, words);
    row += synth_cells_before(words[SYNTH_CELL_ROW], s->cell.by);
    column += synth_cells_before(words[SYNTH_CELL_COLUMN], s->cell.by);
    uint32_t y = synth_divided(row, s->cell), x = synth_divided(column, s->cell);
    uint64_t block = 1 + 2 * (ypi_wide(y, s->cells_width) + x);
    synth_cell_words(s, cube, block, words);
    *kind = words[SYNTH_CELL_KIND];
    if (words[SYNTH_CELL_TARGET] >= s->shapes.chance)
        return 0.0f;
    synth_cell_words(s, cube, block + 1, words + 4);
    struct synth_target target = synth_target(&s->shapes, words);
    float level = YPI_FMA(s->fill_span, ypi_uniform(words[SYNTH_CELL_FILL]), s->fill_low);
    return level *
           synth_covered(&s->shapes, &target, row - y * s->cell.by, column - x * s->cell.by);
}
