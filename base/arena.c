#include "base/arena.h"

#define LINE ((size_t)64)

void *ypi_arena_take(struct ypi_arena *arena, size_t count, size_t size)
{
    void *part = arena->base != NULL ? arena->base + arena->used : NULL;
    size_t bytes = 0;
    arena->overflow = arena->overflow || __builtin_mul_overflow(count, size, &bytes) ||
                      __builtin_add_overflow(bytes, LINE - 1, &bytes) ||
                      __builtin_add_overflow(arena->used, bytes / LINE * LINE, &arena->used);
    return part;
}
