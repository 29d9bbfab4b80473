#include "base/system/arena.h"

#define LINE ((size_t)64)

ypi_arena_separate *ypi_arena_separated;

static void *part_of(const struct ypi_arena *arena, size_t bytes)
{
    void *separate = NULL;
    if (arena->base == NULL)
        return NULL;
    if (ypi_arena_separated != NULL && bytes > 0 && !arena->overflow && !arena->together)
        separate = ypi_arena_separated(arena->base, arena->used, bytes);
    return separate != NULL ? separate : arena->base + arena->used;
}

void *ypi_arena_take(struct ypi_arena *arena, size_t count, size_t size)
{
    size_t bytes = 0;
    size_t whole = 0;
    arena->overflow = arena->overflow || __builtin_mul_overflow(count, size, &bytes) ||
                      __builtin_add_overflow(bytes, LINE - 1, &whole);
    void *part = part_of(arena, bytes);
    arena->overflow =
        arena->overflow || __builtin_add_overflow(arena->used, whole / LINE * LINE, &arena->used);
    return part;
}
