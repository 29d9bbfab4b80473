/* Heapsort of scores: in place, so that the memory it takes is the memory that was accounted (qsort
 * takes what it likes). */
#include "internal.h"

static void sift(float *heap, size_t root, size_t n)
{
    float moved = heap[root];
    for (size_t child = 2 * root + 1; child < n; child = 2 * root + 1) {
        if (child + 1 < n && heap[child + 1] > heap[child])
            child++;
        if (!(heap[child] > moved))
            break;
        heap[root] = heap[child];
        root = child;
    }
    heap[root] = moved;
}

void ypi_rx_sort(float *values, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sift(values, i, n);
    for (size_t end = n; end-- > 1;) {
        float last = values[end];
        values[end] = values[0];
        values[0] = last;
        sift(values, 0, end);
    }
}
