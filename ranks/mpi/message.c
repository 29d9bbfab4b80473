/* Messages of one rank to another, by MPI. */
#include "ranks/mpi/node.h"

#include <stdio.h>

#define PIECE ((size_t)1 << 30) /* bytes of a call of MPI, which counts in int */
enum { MESSAGE_TAG = 0x5951 };

/* Which way it was that took too long is known to MPI alone. */
static enum yp_status late(const struct ypk_node *node, int to, int from)
{
    char text[2][64] = {"", ""};
    if (to >= 0)
        snprintf(text[0], sizeof text[0], "rank %d took no message", to);
    if (from >= 0)
        snprintf(text[1], sizeof text[1], "rank %d sent no message", from);
    return yp_set_error(YP_IO, "ranks: %s%s%s of rank %d of %d within %g s", text[0],
                        to >= 0 && from >= 0 ? " or " : "", text[1], node->place.rank,
                        node->place.size, node->limit);
}

/* One piece each way; a way without a rank has none. */
static enum yp_status exchange(struct ypk_node *node, const void *out, size_t out_bytes, int to,
                               void *in, size_t in_bytes, int from)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[2];
    int count = 0;
    int code = MPI_SUCCESS;
    if (from >= 0)
        code = MPI_Irecv(in, (int)in_bytes, MPI_BYTE, from, MESSAGE_TAG, node->all, &requests[0]);
    if (to >= 0 && code == MPI_SUCCESS)
        code = MPI_Isend(out, (int)out_bytes, MPI_BYTE, to, MESSAGE_TAG, node->all, &requests[1]);
    if (code != MPI_SUCCESS)
        return ypk_break(node, ypk_mpi_failed("a message", code));
    enum yp_status status = ypk_wait_mpi(node, NULL, requests, 2, statuses);
    if (status == YP_OK && from >= 0)
        MPI_Get_count(&statuses[0], MPI_BYTE, &count);
    if (status == YP_OK && from >= 0 && (size_t)count != in_bytes)
        status = yp_set_error(YP_IO,
                              "ranks: a message of rank %d to rank %d has %d bytes; the receiver "
                              "expects %zu",
                              from, node->place.rank, count, in_bytes);
    if (status == YP_OK || node->broken)
        return status;
    return ypk_break(node, node->late ? late(node, to, from) : status);
}

enum yp_status ypk_node_exchange(void *state, const void *out, size_t out_bytes, int to, void *in,
                                 size_t in_bytes, int from)
{
    struct ypk_node *node = state;
    enum yp_status status = YP_OK;
    bool first = true;
    for (size_t at = 0; status == YP_OK; at += PIECE, first = false) {
        const bool sends = to >= 0 && (at < out_bytes || first);
        const bool receives = from >= 0 && (at < in_bytes || first);
        const size_t out_left = sends ? out_bytes - at : 0;
        const size_t in_left = receives ? in_bytes - at : 0;
        if (!sends && !receives)
            break;
        status = exchange(node, sends ? (const char *)out + at : NULL,
                          out_left < PIECE ? out_left : PIECE, sends ? to : -1,
                          receives ? (char *)in + at : NULL, in_left < PIECE ? in_left : PIECE,
                          receives ? from : -1);
    }
    return status;
}
