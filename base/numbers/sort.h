/* Heapsort: in place, so that the memory it takes is the memory that was accounted (qsort takes
 * what it likes). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ascending, without NaN. */
void ypi_sort_f32(float *values, size_t count);

/* Whether item `a` comes before item `b`; never of an item and itself. */
typedef bool ypi_before(const void *arg, uint32_t a, uint32_t b);
/* Items in the order of `before`, a strict total order: whatever order they came in, the same comes
 * out. */
void ypi_sort_items(uint32_t *items, size_t count, ypi_before *before, const void *arg);
