/* Windows: memory of the ranks of a node, by MPI_Win_allocate_shared. */
#include "ranks/mpi/node.h"

#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#define SHARED_MEMORY "/dev/shm"
#define ALIGNMENT ((size_t)64)

/* MPI's libraries take it there, and a process that touches what is not left gets SIGBUS. */
static enum yp_status check_left(const struct ypk_node *node, size_t bytes)
{
    struct statvfs about;
    if (statvfs(SHARED_MEMORY, &about) != 0)
        return YP_OK;
    const double left = (double)about.f_bavail * (double)about.f_frsize;
    const double needed = (double)bytes * node->ranks;
    if (needed <= left)
        return YP_OK;
    return yp_set_error(YP_OUT_OF_MEMORY,
                        "ranks: %d ranks of a node share %.0f bytes, and %s has %.0f left",
                        node->ranks, needed, SHARED_MEMORY, left);
}

enum yp_status ypk_window_make(const struct ypk_node *node, size_t bytes, MPI_Win *win, char **base)
{
    MPI_Info info;
    void *mine = NULL;
    const size_t size = (bytes / ALIGNMENT + 2) * ALIGNMENT;
    int wrong = check_left(node, size) != YP_OK;
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, node->local);
    if (wrong) {
        check_left(node, size);
        return YP_OUT_OF_MEMORY;
    }
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", "true"); /* each segment on pages of its own */
    int code = MPI_Win_allocate_shared((MPI_Aint)size, 1, info, node->local, (void *)&mine, win);
    MPI_Info_free(&info);
    for (int i = 0; i < node->ranks && code == MPI_SUCCESS; i++) {
        MPI_Aint length;
        int unit;
        code = MPI_Win_shared_query(*win, i, &length, &unit, (void *)&base[i]);
        /* MPI aligns it to 8 bytes or so; it lies the same way in the pages of each process. */
        base[i] += (ALIGNMENT - (uintptr_t)base[i] % ALIGNMENT) % ALIGNMENT;
    }
    if (code == MPI_SUCCESS)
        code = MPI_Win_lock_all(MPI_MODE_NOCHECK, *win);
    if (code != MPI_SUCCESS)
        return ypk_mpi_failed("MPI_Win_allocate_shared", code);
    memset(base[node->me], 0, size - ALIGNMENT); /* the first touch is its own rank's */
    MPI_Barrier(node->local);
    return YP_OK;
}

void *ypk_window_allocate(void *state, size_t bytes)
{
    struct ypk_node *node = state;
    uint32_t at = 0;
    while (at < node->window_count && node->windows[at].base != NULL)
        at++;
    if (at == node->window_count) {
        struct ypk_window *more = realloc(node->windows, (at + 1) * sizeof *more);
        if (more == NULL) {
            ypk_break(node, yp_set_error(YP_OUT_OF_MEMORY, "ranks: out of memory"));
            return NULL;
        }
        node->windows = more;
        node->windows[node->window_count++] = (struct ypk_window){.bytes = 0};
    }
    struct ypk_window *window = &node->windows[at];
    char **base = calloc((size_t)node->ranks, sizeof *base);
    if (base == NULL) {
        ypk_break(node, yp_set_error(YP_OUT_OF_MEMORY, "ranks: out of memory"));
        return NULL;
    }
    if (ypk_window_make(node, bytes, &window->win, base) != YP_OK) {
        free(base);
        ypk_break(node, yp_last_status());
        return NULL;
    }
    window->base = base;
    window->bytes = bytes;
    return base[node->me];
}

enum yp_status ypk_window_release(void *state, void *memory)
{
    struct ypk_node *node = state;
    for (uint32_t i = 0; i < node->window_count; i++) {
        struct ypk_window *window = &node->windows[i];
        if (window->base == NULL || window->base[node->me] != memory)
            continue;
        MPI_Win_unlock_all(window->win);
        MPI_Win_free(&window->win);
        free(window->base);
        window->base = NULL;
        return YP_OK;
    }
    return memory == NULL
               ? YP_OK
               : ypk_break(node, yp_set_error(YP_INVALID,
                                              "ypk_free: this memory is not of ypk_allocate()"));
}

uint32_t ypk_window_find(const struct ypk_node *node, const void *memory, size_t bytes,
                         uint64_t *offset)
{
    for (uint32_t i = 0; i < node->window_count; i++) {
        const struct ypk_window *window = &node->windows[i];
        if (window->base == NULL)
            continue;
        const uintptr_t from = (uintptr_t)memory - (uintptr_t)window->base[node->me];
        if (from < window->bytes && bytes <= window->bytes - from) {
            *offset = from;
            return i + 1;
        }
    }
    return 0;
}

char *ypk_window_data(const struct ypk_node *node, int rank)
{
    const struct ypk_word *word = ypk_word_of(node, rank);
    return word->window == 0 ? NULL : node->windows[word->window - 1].base[rank] + word->offset;
}
