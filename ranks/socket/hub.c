/* Rank 0's part in a collective operation: it takes the calls of all, checks that they are the same
 * one, combines the data and gives each rank its result. */
#include "ranks/socket/star.h"

#include "base/system/clock.h"
#include "base/text/text.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TELL_SECONDS 0.02 /* for so long nobody asks whether rank 0 has arrived, too */
#define ERROR_SECONDS 0.2 /* for a rank that does not take the text of an error */

struct hub {
    struct ypk_star *star;
    const struct ypk_call *call;
    struct pollfd *polled; /* of each rank */
};

/* Tells all, and returns `status` with the message that is set. */
static enum yp_status fail(const struct hub *hub, enum yp_status status)
{
    char *text = ypi_strdup(yp_last_error());
    const struct ypk_frame frame = {
        .magic = YPK_FRAME_MAGIC, .frame = YPK_FRAME_ERROR, .bytes = strlen(text)};
    for (int i = 1; i < hub->star->place.size; i++) {
        const int fd = hub->star->peers[i].fd;
        const double end = ypi_kernel_now() + ERROR_SECONDS;
        if (fd >= 0 && ypk_wire_write_all(fd, &frame, sizeof frame, end) == YPK_WIRE_DONE)
            ypk_wire_write_all(fd, text, frame.bytes, end);
    }
    yp_set_error(status, "%s", text);
    free(text);
    return status;
}

static enum yp_status gone(const struct hub *hub, int rank, const char *how)
{
    return fail(hub, yp_set_error(YP_IO, "ranks: rank %d of %d %s; rank 0 is in %s", rank,
                                  hub->star->place.size, how, ypk_call_text(hub->call)));
}

static bool not_arrived(const void *argument, int rank)
{
    const struct ypk_star *star = argument;
    return rank > 0 && !star->peers[rank].arrived;
}

static bool part_missing(const void *argument, int rank)
{
    const struct hub *hub = argument;
    return rank > 0 && hub->polled[rank].fd >= 0;
}

static enum yp_status check_call(const struct hub *hub, int rank, const struct ypk_frame *frame)
{
    const struct ypk_call *call = hub->call;
    if (frame->frame == YPK_FRAME_LEAVE)
        return gone(hub, rank, "has left");
    if (frame->frame != YPK_FRAME_CALL || frame->kind > YPK_REDUCE_SCATTER ||
        frame->type > YPK_INT64 || frame->op > YPK_MIN)
        return gone(hub, rank, "sent what is no call");
    if (frame->kind == call->kind && frame->number == call->number && frame->bytes == call->bytes &&
        frame->root == call->root && frame->type == call->type && frame->op == call->op)
        return YP_OK;
    const struct ypk_call other = {.kind = frame->kind,
                                   .number = frame->number,
                                   .bytes = frame->bytes,
                                   .root = frame->root,
                                   .type = frame->type,
                                   .op = frame->op};
    char what[160];
    snprintf(what, sizeof what, "is in %s", ypk_call_text(&other));
    return gone(hub, rank, what);
}

/* Those that wait hear that this rank is here, so that they wait for the others, too. */
static void tell_those_here(const struct hub *hub)
{
    const struct ypk_frame frame = {.magic = YPK_FRAME_MAGIC, .frame = YPK_FRAME_HERE};
    for (int i = 1; i < hub->star->place.size; i++) {
        struct ypk_peer *peer = &hub->star->peers[i];
        if (peer->arrived && !peer->told)
            ypk_wire_write_all(peer->fd, &frame, sizeof frame, ypi_kernel_now() + ERROR_SECONDS);
        peer->told = peer->told || peer->arrived;
    }
}

/* The calls of all ranks. */
static enum yp_status take_calls(const struct hub *hub)
{
    struct ypk_star *star = hub->star;
    const int size = star->place.size;
    const double begin = ypi_kernel_now();
    const double end = begin + star->limit;
    int missing = size - 1;
    for (int i = 1; i < size; i++)
        star->peers[i].arrived = star->peers[i].told = false;
    for (bool first = true;; first = false) {
        for (int i = 1; i < size; i++) {
            struct ypk_peer *peer = &star->peers[i];
            struct pollfd *polled = &hub->polled[i];
            if (peer->arrived && (polled->revents & (POLLHUP | POLLERR | POLLRDHUP)) != 0)
                return gone(hub, i, "closed the connection");
            if (peer->arrived || (!first && polled->revents == 0))
                continue;
            const enum ypk_wire state = ypk_wire_header(peer->fd, &peer->reader);
            if (state == YPK_WIRE_CLOSED)
                return gone(hub, i, "closed the connection");
            if (state == YPK_WIRE_LATER)
                continue;
            peer->reader.have = 0;
            const enum yp_status status = check_call(hub, i, &peer->reader.frame);
            if (status != YP_OK)
                return status;
            peer->arrived = true;
            missing--;
        }
        if (missing == 0)
            return YP_OK;
        const double now = ypi_kernel_now();
        if (now >= end) {
            char who[160];
            ypk_ranks_text(who, sizeof who, size, not_arrived, star);
            return fail(hub, yp_set_error(YP_IO, "ranks: %s of %d did not arrive in %s within %g s",
                                          who, size, ypk_call_text(hub->call), star->limit));
        }
        if (now >= begin + TELL_SECONDS)
            tell_those_here(hub);
        for (int i = 1; i < size; i++)
            hub->polled[i] = (struct pollfd){.fd = star->peers[i].fd,
                                             .events = star->peers[i].arrived ? POLLRDHUP : POLLIN};
        const double tell = begin + TELL_SECONDS;
        ypk_wire_poll(hub->polled + 1, (size_t)size - 1, now < tell && tell < end ? tell : end);
    }
}

/* `bytes` of each rank but 0, or of rank `only`, to `to` + rank * stride. */
static enum yp_status take_data(const struct hub *hub, int only, char *to, size_t stride,
                                size_t bytes)
{
    struct ypk_star *star = hub->star;
    const int size = star->place.size;
    int missing = 0;
    double end = ypi_kernel_now() + star->limit;
    for (int i = 1; i < size; i++) {
        const bool wanted = bytes > 0 && (only < 0 || only == i);
        star->peers[i].have = 0;
        hub->polled[i] = (struct pollfd){.fd = wanted ? star->peers[i].fd : -1, .events = POLLIN};
        missing += wanted;
    }
    while (missing > 0) {
        bool any = false;
        for (int i = 1; i < size; i++) {
            struct ypk_peer *peer = &star->peers[i];
            size_t moved;
            if (hub->polled[i].fd < 0)
                continue;
            if (ypk_wire_read(peer->fd, to + (size_t)i * stride + peer->have, bytes - peer->have,
                              &moved) == YPK_WIRE_CLOSED)
                return gone(hub, i, "closed the connection");
            peer->have += moved;
            any = any || moved > 0;
            if (peer->have == bytes) {
                hub->polled[i].fd = -1;
                missing--;
            }
        }
        if (missing == 0)
            break;
        if (any)
            end = ypi_kernel_now() + star->limit;
        else if (ypk_wire_poll(hub->polled + 1, (size_t)size - 1, end) == 0 &&
                 ypi_kernel_now() >= end) {
            char who[160];
            ypk_ranks_text(who, sizeof who, size, part_missing, hub);
            return fail(hub, yp_set_error(YP_IO, "ranks: %s of %d sent no more data of %s in %g s",
                                          who, size, ypk_call_text(hub->call), star->limit));
        }
    }
    return YP_OK;
}

/* To each rank but 0 and `except`, or to rank `only`. */
static enum yp_status give_data(const struct hub *hub, int only, int except, const void *data,
                                size_t bytes)
{
    const struct ypk_frame frame = {
        .magic = YPK_FRAME_MAGIC, .frame = YPK_FRAME_DATA, .bytes = bytes};
    if (bytes == 0)
        return YP_OK;
    for (int i = 1; i < hub->star->place.size; i++) {
        const double end = ypi_kernel_now() + hub->star->limit;
        const int fd = hub->star->peers[i].fd;
        if (i == except || (only >= 0 && only != i))
            continue;
        enum ypk_wire state = ypk_wire_write_all(fd, &frame, sizeof frame, end);
        if (state == YPK_WIRE_DONE)
            state = ypk_wire_write_all(fd, data, bytes, end);
        if (state != YPK_WIRE_DONE)
            return gone(hub, i,
                        state == YPK_WIRE_CLOSED ? "closed the connection" : "takes no more data");
    }
    return YP_OK;
}

static enum yp_status give_done(const struct hub *hub)
{
    const struct ypk_frame frame = {
        .magic = YPK_FRAME_MAGIC, .frame = YPK_FRAME_DONE, .number = hub->call->number};
    for (int i = 1; i < hub->star->place.size; i++)
        if (ypk_wire_write_all(hub->star->peers[i].fd, &frame, sizeof frame,
                               ypi_kernel_now() + hub->star->limit) != YPK_WIRE_DONE)
            return gone(hub, i, "closed the connection");
    return YP_OK;
}

static enum yp_status all_gather(const struct hub *hub)
{
    const struct ypk_call *call = hub->call;
    const size_t size = (size_t)hub->star->place.size;
    if (call->out != call->in && call->bytes > 0)
        memcpy(call->out, call->in, call->bytes);
    enum yp_status status = take_data(hub, -1, call->out, call->bytes, call->bytes);
    if (status == YP_OK)
        status = give_data(hub, -1, -1, call->out, size * call->bytes);
    return status;
}

static enum yp_status broadcast(const struct hub *hub)
{
    const struct ypk_call *call = hub->call;
    char *data = call->out;
    for (size_t at = 0; at < call->bytes; at += YPK_CHUNK) {
        const size_t bytes = call->bytes - at < YPK_CHUNK ? call->bytes - at : YPK_CHUNK;
        enum yp_status status = YP_OK;
        if (call->root > 0)
            status = take_data(hub, call->root, data + at, 0, bytes);
        if (status == YP_OK)
            status = give_data(hub, -1, call->root, data + at, bytes);
        if (status != YP_OK)
            return status;
    }
    return YP_OK;
}

/* Combines `total` bytes of all; `in` is rank 0's part of it. To rank `only` or to all. */
static enum yp_status reduce(const struct hub *hub, const char *in, char *out, size_t total,
                             int only)
{
    const struct ypk_call *call = hub->call;
    struct ypk_star *star = hub->star;
    for (size_t at = 0; at < total; at += YPK_CHUNK) {
        const size_t bytes = total - at < YPK_CHUNK ? total - at : YPK_CHUNK;
        enum yp_status status = take_data(hub, -1, star->chunk, YPK_CHUNK, bytes);
        if (status != YP_OK)
            return status;
        memcpy(star->chunk, in + at, bytes);
        for (int i = 1; i < star->place.size; i++)
            ypk_combine(star->chunk, star->chunk, star->chunk + (size_t)i * YPK_CHUNK,
                        bytes / ypk_type_size(call->type), call->type, call->op);
        if (only <= 0)
            memcpy(out + at, star->chunk, bytes);
        if (only != 0)
            status = give_data(hub, only, -1, star->chunk, bytes);
        if (status != YP_OK)
            return status;
    }
    return YP_OK;
}

static enum yp_status combine(const struct hub *hub)
{
    const struct ypk_call *call = hub->call;
    struct ypk_star *star = hub->star;
    if (star->chunk == NULL)
        star->chunk = ypi_calloc((size_t)star->place.size, YPK_CHUNK);
    if (call->kind == YPK_ALL_REDUCE)
        return reduce(hub, call->in, call->out, call->bytes, -1);
    for (int i = 0; i < star->place.size; i++) {
        const enum yp_status status = reduce(hub, (const char *)call->in + (size_t)i * call->bytes,
                                             call->out, call->bytes, i);
        if (status != YP_OK)
            return status;
    }
    return YP_OK;
}

enum yp_status ypk_hub_collective(struct ypk_star *star, const struct ypk_call *call)
{
    const struct hub hub = {.star = star,
                            .call = call,
                            .polled = ypi_calloc((size_t)star->place.size, sizeof *hub.polled)};
    enum yp_status status = take_calls(&hub);
    if (status == YP_OK && call->kind == YPK_BROADCAST)
        status = broadcast(&hub);
    else if (status == YP_OK && call->kind == YPK_ALL_GATHER)
        status = all_gather(&hub);
    else if (status == YP_OK && call->kind >= YPK_ALL_REDUCE)
        status = combine(&hub);
    if (status == YP_OK)
        status = give_done(&hub);
    free(hub.polled);
    return status;
}
