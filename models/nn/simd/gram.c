/* The products of gram.h for the instruction sets of this machine. */
#include "models/nn/simd/gram.h"

#include "base/simd/simd.h"

#include <math.h>
#include <string.h>

#include "models/nn/simd/unroll.h"

#define V_SOURCE "models/nn/simd/gram.inc"
#include "base/simd/vector_sets.h"

struct ypi_gram_shape ypi_gram_shape(size_t channels, size_t width)
{
    struct ypi_gram_shape s = {.channels = channels, .width = width};
    s.whole = channels / width;
    s.tail = channels % width;
    s.panels = s.whole + (s.tail > 0);
    s.turns = width / 2 + 1;
    s.blocks = s.panels * s.turns * width;
    s.rest = s.blocks + (s.whole > 0 ? s.whole * (s.whole - 1) / 2 * width * width : 0);
    s.total = s.rest + s.tail * s.whole * width;
    return s;
}

static const struct ypi_simd_version versions[] = {YPI_SIMD_TABLE(gram)};
YPI_SIMD_CHOICE(struct ypi_gram_kernels, ypi_gram_kernels)

/* The pairs of one panel, rotation by rotation; of the last rotation of an even size the second
 * bf16 says the same as the first. */
static void merge_panel(size_t first, size_t size, size_t width, const double *sums,
                        const double *left, const double *right, double *m2, size_t channels)
{
    for (size_t r = 0; r <= size / 2; r++)
        for (size_t i = 0; i < (2 * r == size ? r : size); i++) {
            size_t j = i + r < size ? i + r : i + r - size;
            size_t row = first + (i < j ? i : j), column = first + (i < j ? j : i);
            m2[row * channels + column] += sums[r * width + i] + left[row] * right[column];
        }
}

void ypi_gram_merge(const struct ypi_gram_shape *shape, const double *sums, const double *left,
                    const double *right, double *m2)
{
    size_t channels = shape->channels, width = shape->width, whole = shape->whole * width;
    for (size_t u = 0; u < shape->panels; u++)
        merge_panel(u * width, u < shape->whole ? width : shape->tail, width,
                    sums + u * shape->turns * width, left, right, m2, channels);
    const double *at = sums + shape->blocks;
    for (size_t i = 0; i < whole; i++) {
        size_t next = (i / width + 1) * width;
        for (size_t j = next; j < whole; j++)
            m2[i * channels + j] += at[j - next] + left[i] * right[j];
        at += whole - next;
    }
    for (size_t j = whole; j < channels; j++, at += whole)
        for (size_t i = 0; i < whole; i++)
            m2[i * channels + j] += at[i] + left[i] * right[j];
}
