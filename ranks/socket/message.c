/* Messages of one rank to another: a connection of their own for each pair and direction, made when
 * it is first used. */
#include "ranks/socket/star.h"

#include "base/system/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOOK_SECONDS 0.001 /* at the door, while there is more to send */

/* A message under way, in one direction. */
struct way {
    struct ypk_frame frame;
    char *data; /* not written to when it is sent */
    size_t bytes, moved;
    int rank; /* -1: there is none */
    int fd;
};

static size_t total(const struct way *way)
{
    return sizeof way->frame + way->bytes;
}

static enum yp_status open_way(struct ypk_star *star, struct way *way)
{
    struct ypk_peer *peer = &star->peers[way->rank];
    struct ypk_hello hello = {
        .magic = YPK_FRAME_MAGIC, .message = 1, .rank = star->place.rank, .size = star->place.size};
    const double end = ypi_kernel_now() + star->limit;
    const bool near = star->nodes[way->rank] == star->place.node;
    int next = 0;
    const int fd = ypk_connect(&star->endpoints[way->rank], near, end, &next);
    memcpy(hello.token, star->meeting.token, YPK_TOKEN);
    if (fd < 0)
        return yp_set_error(YP_IO, "ranks: rank %d of %d takes no messages: %s", way->rank,
                            star->place.size, strerror(errno));
    if (ypk_wire_write_all(fd, &hello, sizeof hello, end) != YPK_WIRE_DONE) {
        close(fd);
        return yp_set_error(YP_IO, "ranks: rank %d of %d closed the connection", way->rank,
                            star->place.size);
    }
    peer->send_fd = fd;
    return YP_OK;
}

/* True once the sender's connection is there. */
static bool look_at_door(struct ypk_star *star, struct way *way, double end)
{
    struct ypk_hello hello;
    const int fd = ypk_door_wait(&star->door, star->meeting.token, end, &hello);
    if (fd >= 0) {
        const bool known = hello.message == 1 && hello.rank >= 0 && hello.rank < star->place.size &&
                           star->peers[hello.rank].receive_fd < 0;
        if (known)
            star->peers[hello.rank].receive_fd = fd;
        else
            close(fd);
    }
    way->fd = star->peers[way->rank].receive_fd;
    return way->fd >= 0;
}

static enum yp_status check_frame(const struct ypk_star *star, const struct way *way)
{
    if (way->frame.magic == YPK_FRAME_MAGIC && way->frame.frame == YPK_FRAME_LEAVE)
        return yp_set_error(YP_IO, "ranks: rank %d of %d has left", way->rank, star->place.size);
    if (way->frame.magic != YPK_FRAME_MAGIC || way->frame.frame != YPK_FRAME_MESSAGE)
        return yp_set_error(YP_IO, "ranks: rank %d of %d sent what is no message", way->rank,
                            star->place.size);
    if (way->frame.bytes != way->bytes)
        return yp_set_error(YP_IO,
                            "ranks: message %llu of rank %d to rank %d has %llu bytes; the "
                            "receiver expects %zu",
                            (unsigned long long)way->frame.number, way->rank, star->place.rank,
                            (unsigned long long)way->frame.bytes, way->bytes);
    return YP_OK;
}

/* Moves what goes now. */
static enum yp_status move(const struct ypk_star *star, struct way *way, bool sends, bool *any)
{
    while (way->moved < total(way)) {
        const bool head = way->moved < sizeof way->frame;
        char *at =
            head ? (char *)&way->frame + way->moved : way->data + (way->moved - sizeof way->frame);
        const size_t size = (head ? sizeof way->frame : total(way)) - way->moved;
        size_t moved;
        const enum ypk_wire state = sends ? ypk_wire_write(way->fd, at, size, &moved)
                                          : ypk_wire_read(way->fd, at, size, &moved);
        way->moved += moved;
        *any = *any || moved > 0;
        if (state == YPK_WIRE_CLOSED)
            return yp_set_error(YP_IO, "ranks: rank %d of %d closed the connection", way->rank,
                                star->place.size);
        if (state == YPK_WIRE_LATER)
            return YP_OK;
        if (!sends && head && way->moved == sizeof way->frame) {
            const enum yp_status status = check_frame(star, way);
            if (status != YP_OK)
                return status;
        }
    }
    return YP_OK;
}

static enum yp_status late(const struct ypk_star *star, const struct way *out, const struct way *in)
{
    char text[2][64] = {"", ""};
    if (out->moved < total(out))
        snprintf(text[0], sizeof text[0], "rank %d took no message", out->rank);
    if (in->moved < total(in))
        snprintf(text[1], sizeof text[1], "rank %d sent no message", in->rank);
    return yp_set_error(YP_IO, "ranks: %s%s%s of rank %d of %d within %g s", text[0],
                        text[0][0] != '\0' && text[1][0] != '\0' ? " and " : "", text[1],
                        star->place.rank, star->place.size, star->limit);
}

static enum yp_status carry(struct ypk_star *star, struct way *out, struct way *in)
{
    double end = ypi_kernel_now() + star->limit;
    while (out->moved < total(out) || in->moved < total(in)) {
        bool any = false;
        enum yp_status status = YP_OK;
        if (out->moved < total(out))
            status = move(star, out, true, &any);
        const bool more = out->moved < total(out);
        if (status == YP_OK && in->moved < total(in)) {
            const double look = ypi_kernel_now() + LOOK_SECONDS;
            if (in->fd >= 0 || look_at_door(star, in, more && look < end ? look : end))
                status = move(star, in, false, &any);
        }
        if (status != YP_OK)
            return status;
        if (any) {
            end = ypi_kernel_now() + star->limit;
            continue;
        }
        if (ypi_kernel_now() >= end)
            return late(star, out, in);
        struct pollfd fds[2] = {{.fd = more ? out->fd : -1, .events = POLLOUT},
                                {.fd = in->moved < total(in) ? in->fd : -1, .events = POLLIN}};
        if (in->fd >= 0 || in->moved == total(in))
            ypk_wire_poll(fds, 2, end);
    }
    return YP_OK;
}

enum yp_status ypk_star_exchange(void *state, const void *out, size_t out_bytes, int to, void *in,
                                 size_t in_bytes, int from)
{
    struct ypk_star *star = state;
    struct way sent = {.rank = to, .fd = -1};
    struct way taken = {.rank = from, .fd = -1};
    sent.moved = taken.moved = sizeof(struct ypk_frame); /* nothing to do */
    if (to >= 0) {
        struct ypk_peer *peer = &star->peers[to];
        sent.data = (char *)out;
        sent.bytes = out_bytes;
        sent.moved = 0;
        sent.frame = (struct ypk_frame){.magic = YPK_FRAME_MAGIC,
                                        .frame = YPK_FRAME_MESSAGE,
                                        .number = ++peer->sent,
                                        .bytes = out_bytes};
        if (peer->send_fd < 0) {
            const enum yp_status status = open_way(star, &sent);
            if (status != YP_OK)
                return status;
        }
        sent.fd = peer->send_fd;
    }
    if (from >= 0) {
        taken.data = in;
        taken.bytes = in_bytes;
        taken.moved = 0;
        taken.fd = star->peers[from].receive_fd;
    }
    return carry(star, &sent, &taken);
}
