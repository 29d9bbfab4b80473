/*
 * Memory of code that calls malloc: what the functions of this folder count, and what the framework
 * asks of them.
 *
 * The functions are a library of their own, yieldpoint-heap. A program that is linked to it calls
 * them for malloc, free and all the others. Each one forwards to the next definition: the C
 * library's, or that of another allocator. Without the library `ypi_heap` is absent.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum ypi_heap_state {
    YPI_HEAP_OFF,    /* calls are passed on, nothing else */
    YPI_HEAP_PAUSED, /* frees of counted blocks are noted; new blocks are not counted */
    YPI_HEAP_ON,
};

/* Bytes are those that were requested, whatever the allocator took for them. A realloc counts as an
 * allocation of the new size and as a free. A request that fails counts as nothing else. */
struct ypi_heap_counts {
    uint64_t allocations, frees, total;
    uint64_t live, peak;                  /* bytes */
    uint64_t refused;                     /* on purpose */
    uint64_t leaked_bytes, leaked_blocks; /* of `live`, without blocks of the dynamic linker */
    /* The leaked block that was allocated first; 0: none. A number has the thread in its upper 24
     * bits, in the order of first allocations, and the thread's count in the lower 40. */
    uint64_t leak_number, leak_bytes;
    uint64_t lost; /* blocks that found no room in the table: the figures are too low */
};

struct ypi_heap {
    /* The sanitizer that has the heap of this process, under which nothing is counted; NULL: none.
     */
    const char *(*sanitizer)(void);
    /* Why calls do not come here; NULL: they do. Forgets what was counted. */
    const char *(*problem)(void);
    /* Forgets all blocks and begins to count at 0, PAUSED. refuse() is asked at each request that
     * counts and refuses it by true; NULL: none is refused. At the allocation that has the number
     * `watched`, seen() is called with the address to which the request returns; 0: never. */
    void (*begin)(int (*refuse)(void), uint64_t watched, void (*seen)(uintptr_t caller));
    void (*set)(enum ypi_heap_state state);
    /* Where the calling thread notes how many functions of the framework it is in; above 0 none of
     * its allocations count. */
    int *(*inside)(void);
    void (*read)(struct ypi_heap_counts *out);
};

extern const struct ypi_heap ypi_heap __attribute__((weak, visibility("default")));

static inline int *ypi_heap_enter(void)
{
    int *inside = &ypi_heap != NULL ? ypi_heap.inside() : NULL;
    if (inside != NULL)
        ++*inside;
    return inside;
}

static inline void ypi_heap_leave(int *const *inside)
{
    if (*inside != NULL)
        --**inside;
}

/* To the end of the block, allocations of this thread are the framework's own. */
#define YPI_HEAP_OWN \
    __attribute__((unused, cleanup(ypi_heap_leave))) int *const ypi_heap_own = ypi_heap_enter()
