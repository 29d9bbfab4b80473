/* Messages of one rank to another, by MPI. */
#include "ranks/mpi/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* -- exchanges under way ----------------------------------------------------------------------- */

/* One piece each way; a way without a rank has none. */
static enum yp_status begin(struct ypk_node *node, const void *out, size_t out_bytes, int to,
                            void *in, size_t in_bytes, int from)
{
    if (node->flight_count == node->flight_room) {
        const size_t room = 2 * node->flight_room + 16;
        struct ypk_flight *flights = realloc(node->flights, room * sizeof *flights);
        if (flights == NULL)
            return ypk_break(node, yp_set_error(YP_OUT_OF_MEMORY,
                                                "out of memory: %zu exchanges are under way",
                                                node->flight_count));
        node->flights = flights;
        node->flight_room = room;
    }
    struct ypk_flight *flight = &node->flights[node->flight_count++];
    *flight = (struct ypk_flight){.requests = {MPI_REQUEST_NULL, MPI_REQUEST_NULL},
                                  .to = to,
                                  .from = from,
                                  .in_bytes = in_bytes};
    int code = MPI_SUCCESS;
    if (from >= 0)
        code = MPI_Irecv(in, (int)in_bytes, MPI_BYTE, from, MESSAGE_TAG, node->all,
                         &flight->requests[0]);
    if (to >= 0 && code == MPI_SUCCESS)
        code = MPI_Isend(out, (int)out_bytes, MPI_BYTE, to, MESSAGE_TAG, node->all,
                         &flight->requests[1]);
    return code == MPI_SUCCESS ? YP_OK : ypk_break(node, ypk_mpi_failed("a message", code));
}

/* Its requests are done. */
static enum yp_status check(struct ypk_node *node, struct ypk_flight *flight,
                            const MPI_Status *received)
{
    int count = 0;
    flight->done = true;
    if (flight->from >= 0)
        MPI_Get_count(received, MPI_BYTE, &count);
    if (flight->from < 0 || (size_t)count == flight->in_bytes)
        return YP_OK;
    return ypk_break(node, yp_set_error(YP_IO,
                                        "ranks: a message of rank %d to rank %d has %d bytes; the "
                                        "receiver expects %zu",
                                        flight->from, node->place.rank, count, flight->in_bytes));
}

enum yp_status ypk_node_progress(void *state)
{
    struct ypk_node *node = state;
    enum yp_status status = YP_OK;
    for (size_t i = 0; i < node->flight_count && status == YP_OK; i++) {
        struct ypk_flight *flight = &node->flights[i];
        MPI_Status statuses[2];
        int done = 0;
        if (flight->done)
            continue;
        const int code = MPI_Testall(2, flight->requests, &done, statuses);
        if (code != MPI_SUCCESS)
            status = ypk_break(node, ypk_mpi_failed("a message", code));
        else if (done != 0)
            status = check(node, flight, &statuses[0]);
    }
    return status;
}

enum yp_status ypk_node_begin(void *state, const void *out, size_t out_bytes, int to, void *in,
                              size_t in_bytes, int from)
{
    struct ypk_node *node = state;
    enum yp_status status = YP_OK;
    bool last = false;
    for (size_t at = 0; status == YP_OK && !last; at += PIECE) {
        const bool sends = to >= 0 && (at < out_bytes || at == 0);
        const bool receives = from >= 0 && (at < in_bytes || at == 0);
        const size_t out_left = sends ? out_bytes - at : 0;
        const size_t in_left = receives ? in_bytes - at : 0;
        status =
            begin(node, sends ? (const char *)out + at : NULL, out_left < PIECE ? out_left : PIECE,
                  sends ? to : -1, receives ? (char *)in + at : NULL,
                  in_left < PIECE ? in_left : PIECE, receives ? from : -1);
        last = out_left <= PIECE && in_left <= PIECE;
        if (status == YP_OK)
            node->flights[node->flight_count - 1].last = last;
    }
    return status;
}

static enum yp_status end_oldest(struct ypk_node *node)
{
    struct ypk_flight *flight = node->flights;
    MPI_Status statuses[2];
    if (flight->done)
        return YP_OK;
    const enum yp_status status = ypk_wait_mpi(node, NULL, flight->requests, 2, statuses);
    if (status == YP_OK)
        return check(node, flight, &statuses[0]);
    flight->done = true; /* given up */
    if (node->broken)
        return status;
    return ypk_break(node, node->late ? late(node, flight->to, flight->from) : status);
}

enum yp_status ypk_node_end(void *state)
{
    struct ypk_node *node = state;
    enum yp_status status = YP_OK;
    bool last = false;
    while (status == YP_OK && !last) {
        status = end_oldest(node);
        last = node->flights[0].last;
        memmove(node->flights, node->flights + 1, --node->flight_count * sizeof *node->flights);
    }
    return status;
}

/* MPI may still write where a message is under way that it does not give up. */
void ypk_node_drop(void *state)
{
    struct ypk_node *node = state;
    for (size_t i = 0; i < node->flight_count; i++)
        for (int way = 0; way < 2; way++) {
            MPI_Request *request = &node->flights[i].requests[way];
            if (node->flights[i].done || *request == MPI_REQUEST_NULL)
                continue;
            MPI_Cancel(request);
            MPI_Request_free(request);
        }
    node->flight_count = 0;
}

enum yp_status ypk_node_exchange(void *state, const void *out, size_t out_bytes, int to, void *in,
                                 size_t in_bytes, int from)
{
    const enum yp_status status = ypk_node_begin(state, out, out_bytes, to, in, in_bytes, from);
    return status == YP_OK ? ypk_node_end(state) : status;
}
