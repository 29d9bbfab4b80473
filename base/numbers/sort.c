#include "base/numbers/sort.h"

/* Of floats too, by their bits. */
typedef uint32_t __attribute__((may_alias)) item;

static inline __attribute__((always_inline)) void sift(item *heap, size_t root, size_t n,
                                                       ypi_before *before, const void *arg)
{
    item moved = heap[root];
    for (size_t child = 2 * root + 1; child < n; child = 2 * root + 1) {
        if (child + 1 < n && before(arg, heap[child], heap[child + 1]))
            child++;
        if (!before(arg, moved, heap[child]))
            break;
        heap[root] = heap[child];
        root = child;
    }
    heap[root] = moved;
}

static inline __attribute__((always_inline)) void sort(item *items, size_t n, ypi_before *before,
                                                       const void *arg)
{
    for (size_t i = n / 2; i-- > 0;)
        sift(items, i, n, before, arg);
    for (size_t end = n; end-- > 1;) {
        item last = items[end];
        items[end] = items[0];
        items[0] = last;
        sift(items, 0, end, before, arg);
    }
}

void ypi_sort_items(uint32_t *items, size_t count, ypi_before *before, const void *arg)
{
    sort(items, count, before, arg);
}

static inline bool is_less(const void *arg, uint32_t a, uint32_t b)
{
    (void)arg;
    return a < b;
}

void ypi_sort_f32(float *values, size_t count)
{
    const uint32_t sign = UINT32_C(1) << 31;
    item *bits = (item *)values;
    /* The larger number is the larger integer then, whatever the signs. */
    for (size_t i = 0; i < count; i++)
        bits[i] = (bits[i] & sign) != 0 ? ~bits[i] : bits[i] | sign;
    sort(bits, count, is_less, NULL);
    for (size_t i = 0; i < count; i++)
        bits[i] = (bits[i] & sign) != 0 ? bits[i] & ~sign : ~bits[i];
}
