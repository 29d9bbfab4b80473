/* The blocks that are counted, by address. */
#pragma once

#include "base/heap/heap.h"

#include <stdbool.h>

struct ypi_heap_block {
    uintptr_t address; /* 0: the place is free */
    uint64_t bytes : 63;
    uint64_t linker : 1; /* taken by the dynamic linker for itself */
    uint64_t number;     /* see struct ypi_heap_counts */
};

/* So that a child of fork() finds no lock that another thread holds. Once; false: no memory. */
bool ypi_heap_table_watch_forks(void);

/* Forgets all blocks and figures. */
void ypi_heap_table_begin(void);

/* Notes a block, which counts as an allocation if `counts`. */
void ypi_heap_table_add(const struct ypi_heap_block *block, bool counts);

/* Takes a block out, as the caller is about to free it, which counts as a free if `counts`. False:
 * it is none of ours. */
bool ypi_heap_table_take(uintptr_t address, bool counts, struct ypi_heap_block *out);

/* Puts back what was taken out, since it was not freed; `counted` as it was then. */
void ypi_heap_table_restore(const struct ypi_heap_block *block, bool counted);

/* All but what is refused. */
void ypi_heap_table_read(struct ypi_heap_counts *out);
