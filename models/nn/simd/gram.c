/* The products of gram.h for the instruction sets of this machine. */
#include "models/nn/simd/gram.h"

#include <math.h>
#include <string.h>
#include <yieldpoint/isa.h>

#include "models/nn/simd/unroll.h"

#define NAME(name) name##_plain
#include "models/nn/simd/vectors_plain.h"

#include "models/nn/simd/gram.inc"

#include "models/nn/simd/vectors_end.h"

#ifdef __x86_64__
#define NAME(name) name##_avx2
#include "models/nn/simd/vectors_avx2.h"

#include "models/nn/simd/gram.inc"

#include "models/nn/simd/vectors_end.h"

#define NAME(name) name##_avx512
#include "models/nn/simd/vectors_avx512.h"

#include "models/nn/simd/gram.inc"

#include "models/nn/simd/vectors_end.h"
#endif

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

const struct ypi_gram_kernels *ypi_gram_kernels_at(int rank)
{
    if (rank == 0)
        return &gram_plain;
#ifdef __x86_64__
    if (rank == 1 && yp_isa() >= YP_ISA_AVX2)
        return &gram_avx2;
    if (rank == 2 && yp_isa() >= YP_ISA_AVX512)
        return &gram_avx512;
#endif
    return NULL;
}

const struct ypi_gram_kernels *ypi_gram_kernels(void)
{
    for (int rank = 2; rank > 0; rank--) {
        const struct ypi_gram_kernels *kernels = ypi_gram_kernels_at(rank);
        if (kernels != NULL)
            return kernels;
    }
    return &gram_plain;
}

/* The pairs of one panel, rotation by rotation; of the last rotation of an even size the second
 * half says the same as the first. */
static void merge_panel(size_t first, size_t size, size_t width, const double *sums,
                        const double *across, const double *apart, double *m2, size_t channels)
{
    for (size_t r = 0; r <= size / 2; r++)
        for (size_t i = 0; i < (2 * r == size ? r : size); i++) {
            size_t j = i + r < size ? i + r : i + r - size;
            size_t row = first + (i < j ? i : j), column = first + (i < j ? j : i);
            m2[row * channels + column] += sums[r * width + i] + across[row] * apart[column];
        }
}

void ypi_gram_merge(const struct ypi_gram_shape *shape, const double *sums, const double *across,
                    const double *apart, double *m2)
{
    size_t channels = shape->channels, width = shape->width, whole = shape->whole * width;
    for (size_t u = 0; u < shape->panels; u++)
        merge_panel(u * width, u < shape->whole ? width : shape->tail, width,
                    sums + u * shape->turns * width, across, apart, m2, channels);
    const double *at = sums + shape->blocks;
    for (size_t i = 0; i < whole; i++) {
        size_t next = (i / width + 1) * width;
        for (size_t j = next; j < whole; j++)
            m2[i * channels + j] += at[j - next] + across[i] * apart[j];
        at += whole - next;
    }
    for (size_t j = whole; j < channels; j++, at += whole)
        for (size_t i = 0; i < whole; i++)
            m2[i * channels + j] += at[i] + across[i] * apart[j];
}
