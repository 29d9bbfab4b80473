/* The part of a rank other than 0 in a collective operation: it sends its call and its data to rank
 * 0 and takes the result, both at once. */
#include "ranks/socket/star.h"

#include "base/system/clock.h"

#include <poll.h>
#include <string.h>

#define GRACE_SECONDS 1.0 /* rank 0, which knows more, says first who is missing */

struct spoke {
    struct ypk_star *star;
    const struct ypk_call *call;
    struct ypk_frame frame; /* of the call */
    const char *out;        /* data after it */
    size_t out_bytes, sent; /* `sent` counts the frame, too */
    char *in;
    size_t in_bytes, taken;
    size_t expected; /* bytes of the data frame that is being taken */
    bool heard, done;
};

static void sizes(struct spoke *spoke)
{
    const struct ypk_call *call = spoke->call;
    const size_t ranks = (size_t)spoke->star->place.size;
    const bool root = call->kind == YPK_BROADCAST && call->root == spoke->star->place.rank;
    spoke->out = call->in;
    spoke->in = call->out;
    spoke->out_bytes = spoke->in_bytes = call->bytes;
    if (call->kind <= YPK_FREE)
        spoke->out_bytes = spoke->in_bytes = 0;
    else if (call->kind == YPK_BROADCAST)
        *(root ? &spoke->in_bytes : &spoke->out_bytes) = 0;
    else if (call->kind == YPK_ALL_GATHER)
        spoke->in_bytes = ranks * call->bytes;
    else if (call->kind == YPK_REDUCE_SCATTER)
        spoke->out_bytes = ranks * call->bytes;
}

static enum yp_status lost(const struct spoke *spoke, const char *how)
{
    return yp_set_error(YP_IO, "ranks: rank 0 of %d %s; rank %d is in %s", spoke->star->place.size,
                        how, spoke->star->place.rank, ypk_call_text(spoke->call));
}

/* As much as goes. False: the connection is closed, and what rank 0 said before may be there. */
static bool give(struct spoke *spoke)
{
    const size_t total = sizeof spoke->frame + spoke->out_bytes;
    while (spoke->sent < total) {
        const bool head = spoke->sent < sizeof spoke->frame;
        const char *from = head ? (const char *)&spoke->frame + spoke->sent
                                : spoke->out + (spoke->sent - sizeof spoke->frame);
        size_t moved;
        const enum ypk_wire state =
            ypk_wire_write(spoke->star->peers[0].fd, from,
                           (head ? sizeof spoke->frame : total) - spoke->sent, &moved);
        spoke->sent += moved;
        if (state != YPK_WIRE_DONE)
            return state == YPK_WIRE_LATER;
    }
    return true;
}

static enum yp_status take_error(struct spoke *spoke, size_t length)
{
    char text[YPK_TEXT_MAX] = "";
    if (length < sizeof text)
        ypk_wire_read_all(spoke->star->peers[0].fd, text, length, ypi_kernel_now() + GRACE_SECONDS);
    return yp_set_error(YP_IO, "%s", text);
}

/* The next frame's header has come. */
static enum yp_status take_frame(struct spoke *spoke)
{
    const struct ypk_frame *frame = &spoke->star->peers[0].reader.frame;
    spoke->star->peers[0].reader.have = 0;
    switch (frame->frame) {
    case YPK_FRAME_HERE:
        return YP_OK;
    case YPK_FRAME_DONE:
        spoke->done = true;
        return spoke->taken == spoke->in_bytes ? YP_OK : lost(spoke, "gave too little");
    case YPK_FRAME_DATA:
        if (frame->bytes > spoke->in_bytes - spoke->taken)
            return lost(spoke, "gave too much");
        spoke->expected = frame->bytes;
        return YP_OK;
    case YPK_FRAME_ERROR:
        return take_error(spoke, frame->bytes);
    case YPK_FRAME_LEAVE:
        return lost(spoke, "has left");
    default:
        return lost(spoke, "sent what is no answer");
    }
}

/* As much as is there; *any: something was. */
static enum yp_status take(struct spoke *spoke, bool *any)
{
    struct ypk_peer *hub = &spoke->star->peers[0];
    while (!spoke->done) {
        size_t moved = 0;
        const enum ypk_wire state =
            spoke->expected > 0
                ? ypk_wire_read(hub->fd, spoke->in + spoke->taken, spoke->expected, &moved)
                : ypk_wire_header(hub->fd, &hub->reader);
        if (state == YPK_WIRE_LATER)
            return YP_OK;
        if (state == YPK_WIRE_CLOSED)
            return lost(spoke, "closed the connection");
        *any = spoke->heard = true;
        if (spoke->expected > 0) {
            spoke->taken += moved;
            spoke->expected -= moved;
            continue;
        }
        const enum yp_status status = take_frame(spoke);
        if (status != YP_OK)
            return status;
    }
    return YP_OK;
}

enum yp_status ypk_spoke_collective(struct ypk_star *star, const struct ypk_call *call)
{
    struct spoke spoke = {.star = star,
                          .call = call,
                          .frame = {.magic = YPK_FRAME_MAGIC,
                                    .frame = YPK_FRAME_CALL,
                                    .kind = (uint8_t)call->kind,
                                    .type = (uint8_t)call->type,
                                    .op = (uint8_t)call->op,
                                    .root = call->root,
                                    .number = call->number,
                                    .bytes = call->bytes}};
    double end = ypi_kernel_now() + star->limit;
    bool open = true;
    sizes(&spoke);
    while (!spoke.done) {
        bool any = false;
        const size_t before = spoke.sent;
        open = open && give(&spoke);
        const enum yp_status status = take(&spoke, &any);
        if (status != YP_OK)
            return status;
        if (any || spoke.sent != before) {
            end = ypi_kernel_now() + star->limit + (spoke.heard ? GRACE_SECONDS : 0);
            if (any)
                continue;
        }
        const bool more = open && spoke.sent < sizeof spoke.frame + spoke.out_bytes;
        struct pollfd p = {.fd = star->peers[0].fd,
                           .events = (short)(POLLIN | (more ? POLLOUT : 0))};
        if (ypk_wire_poll(&p, 1, end) == 0 && ypi_kernel_now() >= end)
            return spoke.heard
                       ? lost(&spoke, "says nothing more")
                       : yp_set_error(YP_IO, "ranks: rank 0 of %d did not arrive in %s within %g s",
                                      star->place.size, ypk_call_text(call), star->limit);
    }
    return YP_OK;
}
