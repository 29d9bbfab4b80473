/* Ranks of several nodes: MPI carries the data, and each rank combines it in the order of ranks. */
#include "ranks/mpi/node.h"

#include <stdlib.h>
#include <string.h>

#define PIECE ((size_t)1 << 30)    /* bytes of a call of MPI, which counts in int */
#define CHUNK ((size_t)128 * 1024) /* bytes of each rank that are combined at once */

static enum yp_status started(struct ypk_node *node, const struct ypk_call *call, const char *what,
                              int code, MPI_Request *request)
{
    if (code != MPI_SUCCESS)
        return ypk_break(node, ypk_mpi_failed(what, code));
    return ypk_wait_mpi(node, call, request, 1, NULL);
}

static enum yp_status broadcast(struct ypk_node *node, const struct ypk_call *call, char *data,
                                size_t bytes, int root)
{
    enum yp_status status = YP_OK;
    for (size_t at = 0; at < bytes && status == YP_OK; at += PIECE) {
        MPI_Request request;
        const size_t size = bytes - at < PIECE ? bytes - at : PIECE;
        const int code = MPI_Ibcast(data + at, (int)size, MPI_BYTE, root, node->all, &request);
        status = started(node, call, "MPI_Ibcast", code, &request);
    }
    return status;
}

static enum yp_status all_gather(struct ypk_node *node, const struct ypk_call *call)
{
    char *all = call->out;
    char *mine = all + (size_t)node->place.rank * call->bytes;
    if (mine != call->in && call->bytes > 0)
        memcpy(mine, call->in, call->bytes);
    if (call->bytes <= PIECE) {
        MPI_Request request;
        const int code = MPI_Iallgather(MPI_IN_PLACE, 0, MPI_BYTE, all, (int)call->bytes, MPI_BYTE,
                                        node->all, &request);
        return started(node, call, "MPI_Iallgather", code, &request);
    }
    enum yp_status status = YP_OK;
    for (int i = 0; i < node->place.size && status == YP_OK; i++)
        status = broadcast(node, call, all + (size_t)i * call->bytes, call->bytes, i);
    return status;
}

/* Combines [begin, end) of the data of `in` that has `total` bytes. */
static enum yp_status reduce(struct ypk_node *node, const struct ypk_call *call, size_t total,
                             size_t begin, size_t end)
{
    const char *in = call->in;
    char *out = call->out;
    const size_t element = ypk_type_size(call->type);
    char *chunks = malloc((size_t)node->place.size * CHUNK);
    enum yp_status status =
        chunks != NULL ? YP_OK
                       : ypk_break(node, yp_set_error(YP_OUT_OF_MEMORY, "ranks: out of memory"));
    for (size_t at = 0; at < total && status == YP_OK; at += CHUNK) {
        const size_t bytes = total - at < CHUNK ? total - at : CHUNK;
        MPI_Request request;
        const int code = MPI_Iallgather(in + at, (int)bytes, MPI_BYTE, chunks, (int)bytes, MPI_BYTE,
                                        node->all, &request);
        status = started(node, call, "MPI_Iallgather", code, &request);
        const size_t from = at > begin ? at : begin;
        const size_t to = at + bytes < end ? at + bytes : end;
        if (status != YP_OK || from >= to)
            continue;
        char *result = out + (from - begin);
        const char *part = chunks + (from - at);
        ypk_combine(result, part, part + bytes, (to - from) / element, call->type, call->op);
        for (int i = 2; i < node->place.size; i++)
            ypk_combine(result, result, part + (size_t)i * bytes, (to - from) / element, call->type,
                        call->op);
    }
    if (status == YP_OK) /* else MPI may still write there */
        free(chunks);
    return status;
}

enum yp_status ypk_over_nodes(struct ypk_node *node, const struct ypk_call *call)
{
    const size_t size = (size_t)node->place.size;
    const size_t begin = (size_t)node->place.rank * call->bytes;
    if (call->kind == YPK_BROADCAST)
        return broadcast(node, call, call->out, call->bytes, call->root);
    if (call->kind == YPK_ALL_GATHER)
        return all_gather(node, call);
    if (call->kind == YPK_ALL_REDUCE)
        return reduce(node, call, call->bytes, 0, call->bytes);
    return reduce(node, call, size * call->bytes, begin, begin + call->bytes);
}
