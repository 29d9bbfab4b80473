/* Collective operations: which way each takes. */
#include "ranks/mpi/node.h"

#include <string.h>

/* What this rank gives, in bytes. */
static size_t given(const struct ypk_node *node, const struct ypk_call *call)
{
    if (call->kind <= YPK_FREE)
        return 0;
    return call->kind == YPK_REDUCE_SCATTER ? call->bytes * (size_t)node->place.size : call->bytes;
}

static void combine_words(const struct ypk_node *node, const struct ypk_call *call, size_t at)
{
    const size_t count = call->bytes / ypk_type_size(call->type);
    if (call->bytes > 0)
        memcpy(call->out, ypk_word_of(node, 0)->data + at, call->bytes);
    for (int i = 1; i < node->ranks; i++)
        ypk_combine(call->out, call->out, ypk_word_of(node, i)->data + at, count, call->type,
                    call->op);
}

/* Data that came with the words of the exchange. */
static void take_words(const struct ypk_node *node, const struct ypk_call *call)
{
    switch (call->kind) {
    case YPK_BROADCAST:
        if (call->root != node->place.rank && call->bytes > 0)
            memcpy(call->out, ypk_word_of(node, call->root)->data, call->bytes);
        break;
    case YPK_ALL_GATHER:
        for (int i = 0; i < node->ranks && call->bytes > 0; i++)
            memcpy((char *)call->out + (size_t)i * call->bytes, ypk_word_of(node, i)->data,
                   call->bytes);
        break;
    case YPK_ALL_REDUCE:
        combine_words(node, call, 0);
        break;
    case YPK_REDUCE_SCATTER:
        combine_words(node, call, (size_t)node->place.rank * call->bytes);
        break;
    case YPK_BARRIER:
    case YPK_ALLOCATE:
    case YPK_FREE:
    case YPK_MESSAGES: /* never an engine's */
        break;
    }
}

enum yp_status ypk_node_collective(void *state, const struct ypk_call *call)
{
    struct ypk_node *node = state;
    const size_t bytes = given(node, call);
    const bool small = bytes <= YPK_SMALL && node->nodes == 1;
    const bool silent = call->kind == YPK_BROADCAST && call->root != node->place.rank;
    const enum yp_status status = ypk_arrive(node, call, call->in, small && !silent ? bytes : 0,
                                             small ? NULL : call->in, bytes);
    if (status != YP_OK)
        return status;
    if (small)
        take_words(node, call);
    else if (node->nodes > 1)
        return call->kind <= YPK_FREE ? YP_OK : ypk_over_nodes(node, call);
    else
        return ypk_shared(node, call) ? ypk_without_copy(node, call) : ypk_staged(node, call);
    return YP_OK;
}
