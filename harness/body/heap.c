/* What a case's own functions request of malloc and the like, where its test has .heap. */
#include "base/heap/heap.h"

#include "device/backend.h"
#include "harness/body/stack.h"
#include "harness/body/state.h"

#include <stdio.h>
#include <string.h>

void ypi_child_open_heap(struct yp_case *t)
{
    /* The stream's own buffer would be the body's, and stay. */
    static char output[BUFSIZ];
    struct ypi_child *child = t->child;
    if (!t->test->heap || &ypi_heap == NULL)
        return;
    if (ypi_heap.sanitizer() != NULL) {
        char note[128];
        snprintf(note, sizeof note, "the heap is not counted: it is %s's", ypi_heap.sanitizer());
        ypi_child_send(t, YPI_MESSAGE_NOTE, note, strlen(note) + 1, NULL, 0);
        return;
    }
    const char *problem = ypi_heap.problem();
    if (problem != NULL) {
        ypi_child_fail(t, YPI_CAUSE_USAGE, NULL, 0, "the heap cannot be counted: %s", problem);
        return;
    }
    setvbuf(stdout, output, _IOLBF, sizeof output);
    ypi_heap.begin(child->job->fail_allocation != 0 ? ypi_refuse_of_all : NULL,
                   child->job->watched_allocation, ypi_stack_of_allocation);
    *ypi_heap.inside() = 1;
    child->heap = true;
    ypi_heap.set(YPI_HEAP_ON);
}

void ypi_child_heap_is(const struct yp_case *t, bool own)
{
    if (t->child->heap)
        *ypi_heap.inside() = own ? 0 : 1;
}

void ypi_child_heap_pauses(const struct yp_case *t, bool pauses)
{
    if (t->child->heap)
        ypi_heap.set(pauses ? YPI_HEAP_PAUSED : YPI_HEAP_ON);
}

void ypi_child_close_heap(const struct yp_case *t, struct ypi_memory *out)
{
    struct ypi_heap_counts c;
    if (!t->child->heap)
        return;
    ypi_heap.set(YPI_HEAP_OFF);
    ypi_heap.read(&c);
    if (c.lost > 0) {
        static const char note[] = "the heap is not judged: the system gave no memory to note all "
                                   "its blocks in";
        ypi_child_send(t, YPI_MESSAGE_NOTE, note, sizeof note, NULL, 0);
    }
    out->has_heap = c.lost == 0;
    out->heap = (struct yp_memory){.allocated = c.live,
                                   .allocated_peak = c.peak,
                                   .reserved = c.live,
                                   .reserved_peak = c.peak,
                                   .total = c.total,
                                   .allocations = c.allocations,
                                   .frees = c.frees,
                                   .refused = c.refused};
    out->heap_leaked_bytes = c.leaked_bytes;
    out->heap_leaked_blocks = c.leaked_blocks;
    out->heap_leak_number = c.leak_number;
    out->heap_leak_bytes = c.leak_bytes;
}
