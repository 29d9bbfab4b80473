/* Data in windows: each rank reads the others' where it is. */
#include "ranks/mpi/node.h"

#include <stdint.h>
#include <string.h>

/* Bytes that are combined at once: they stay in the first-level cache. */
#define BLOCK ((size_t)8 * 1024)

/* Broadcasts need the root's, others all. */
bool ypk_shared(const struct ypk_node *node, const struct ypk_call *call)
{
    if (call->kind == YPK_BROADCAST)
        return ypk_window_data(node, call->root) != NULL;
    for (int i = 0; i < node->ranks; i++)
        if (ypk_window_data(node, i) == NULL)
            return false;
    return true;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The part of each rank, which begins at a cache line: none writes into another's. */
static size_t part_begin(const struct ypk_node *node, size_t bytes, int rank)
{
    return rank == node->ranks ? bytes : bytes / 64 * (size_t)rank / (size_t)node->ranks * 64;
}

/* This rank combines its part of all and writes it to all. */
static void all_reduce(const struct ypk_node *node, const struct ypk_call *call)
{
    _Alignas(64) char block[BLOCK];
    const size_t element = ypk_type_size(call->type);
    const size_t end = part_begin(node, call->bytes, node->me + 1);
    char *first = ypk_window_data(node, 0);
    char *second = ypk_window_data(node, 1);
    for (size_t at = part_begin(node, call->bytes, node->me); at < end; at += BLOCK) {
        const size_t bytes = least(BLOCK, end - at);
        const size_t count = bytes / element;
        char *to = node->ranks == 2 ? first + at : block;
        ypk_combine(to, first + at, second + at, count, call->type, call->op);
        for (int i = 2; i < node->ranks; i++)
            ypk_combine(to, to, ypk_window_data(node, i) + at, count, call->type, call->op);
        for (int i = node->ranks == 2; i < node->ranks; i++)
            memcpy(ypk_window_data(node, i) + at, to, bytes);
    }
}

static void reduce_scatter(const struct ypk_node *node, const struct ypk_call *call)
{
    const size_t element = ypk_type_size(call->type);
    const size_t begin = (size_t)node->place.rank * call->bytes;
    for (size_t at = 0; at < call->bytes; at += BLOCK) {
        const size_t count = least(BLOCK, call->bytes - at) / element;
        char *to = (char *)call->out + at;
        ypk_combine(to, ypk_window_data(node, 0) + begin + at,
                    ypk_window_data(node, 1) + begin + at, count, call->type, call->op);
        for (int i = 2; i < node->ranks; i++)
            ypk_combine(to, to, ypk_window_data(node, i) + begin + at, count, call->type, call->op);
    }
}

enum yp_status ypk_without_copy(struct ypk_node *node, const struct ypk_call *call)
{
    switch (call->kind) {
    case YPK_BROADCAST:
        if (call->root != node->place.rank)
            memcpy(call->out, ypk_window_data(node, call->root), call->bytes);
        break;
    case YPK_ALL_GATHER:
        for (int i = 0; i < node->ranks; i++) {
            char *to = (char *)call->out + (size_t)i * call->bytes;
            if (to != call->in)
                memcpy(to, ypk_window_data(node, i), call->bytes);
        }
        break;
    case YPK_ALL_REDUCE:
        all_reduce(node, call);
        break;
    case YPK_REDUCE_SCATTER:
        reduce_scatter(node, call);
        break;
    case YPK_BARRIER:
    case YPK_ALLOCATE:
    case YPK_FREE:
    case YPK_MESSAGES: /* never an engine's */
        break;
    }
    return ypk_meet(node, call); /* all have read what is this rank's */
}
