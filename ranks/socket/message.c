/* Messages of one rank to another: a connection of their own for each pair and direction, made when
 * it is first used. */
#include "ranks/socket/star.h"

#include "base/system/clock.h"
#include "base/text/text.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define GLANCE_SECONDS 1e-5 /* at the door, in passing */
#define LOOK_SECONDS 0.001  /* until the next glance, while there is nothing else to do */

static size_t total(const struct ypk_way *way)
{
    return sizeof way->frame + way->bytes;
}

static enum yp_status open_way(struct ypk_star *star, struct ypk_way *way)
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
static bool look_at_door(struct ypk_star *star, struct ypk_way *way, double end)
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

static enum yp_status check_frame(const struct ypk_star *star, const struct ypk_way *way)
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
static enum yp_status move(const struct ypk_star *star, struct ypk_way *way, bool sends, bool *any)
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
            return yp_set_error(YP_IO,
                                "ranks: rank %d of %d closed the connection; rank %d %s %zu bytes",
                                way->rank, star->place.size, star->place.rank,
                                sends ? "sends it" : "waits for its message of", way->bytes);
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

static enum yp_status late(const struct ypk_star *star, const struct ypk_way *out,
                           const struct ypk_way *in)
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

/* -- exchanges under way ----------------------------------------------------------------------- */

static void wait_for(struct ypk_star *star, const struct ypk_way *way, short events)
{
    star->waiting[star->waiting_count++] = (struct pollfd){.fd = way->fd, .events = events};
}

static enum yp_status move_out(struct ypk_star *star, struct ypk_way *way, bool *any)
{
    struct ypk_peer *peer = way->rank >= 0 ? &star->peers[way->rank] : NULL;
    if (peer == NULL || way->moved == total(way) || peer->send_busy == star->looks)
        return YP_OK;
    const enum yp_status status = move(star, way, true, any);
    if (way->moved < total(way)) { /* later ones wait for it */
        peer->send_busy = star->looks;
        wait_for(star, way, POLLOUT);
    }
    return status;
}

static enum yp_status move_in(struct ypk_star *star, struct ypk_way *way, bool *any, bool *missing)
{
    struct ypk_peer *peer = way->rank >= 0 ? &star->peers[way->rank] : NULL;
    enum yp_status status = YP_OK;
    if (peer == NULL || way->moved == total(way) || peer->receive_busy == star->looks)
        return YP_OK;
    way->fd = peer->receive_fd;
    if (way->fd >= 0 || look_at_door(star, way, ypi_kernel_now() + GLANCE_SECONDS))
        status = move(star, way, false, any);
    if (way->moved == total(way))
        return status;
    peer->receive_busy = star->looks;
    if (way->fd >= 0)
        wait_for(star, way, POLLIN);
    else
        *missing = true;
    return status;
}

/* Moves what goes now of all that is under way, the oldest of each pair and direction first.
 * *missing: a sender's connection is not there yet. */
static enum yp_status move_all(struct ypk_star *star, bool *any, bool *missing)
{
    enum yp_status status = YP_OK;
    star->looks++;
    star->waiting_count = 0;
    for (size_t i = 0; i < star->flight_count && status == YP_OK; i++) {
        status = move_out(star, &star->flights[i].out, any);
        if (status == YP_OK)
            status = move_in(star, &star->flights[i].in, any, missing);
    }
    return status;
}

/* Until the oldest one is done. */
static enum yp_status carry(struct ypk_star *star)
{
    const struct ypk_flight *oldest = star->flights;
    double end = ypi_kernel_now() + star->limit;
    for (;;) {
        bool any = false, missing = false;
        const enum yp_status status = move_all(star, &any, &missing);
        const bool done =
            oldest->out.moved == total(&oldest->out) && oldest->in.moved == total(&oldest->in);
        const double now = ypi_kernel_now();
        if (status != YP_OK || done)
            return status;
        if (any) {
            end = now + star->limit;
            continue;
        }
        if (now >= end)
            return late(star, &oldest->out, &oldest->in);
        const double look = now + LOOK_SECONDS;
        ypk_wire_poll(star->waiting, star->waiting_count, missing && look < end ? look : end);
    }
}

static struct ypk_flight *add_flight(struct ypk_star *star)
{
    if (star->flight_count == star->flight_room) {
        star->flight_room = 2 * star->flight_room + 16;
        star->flights = ypi_realloc(star->flights, star->flight_room, sizeof *star->flights);
    }
    if (star->waiting == NULL)
        star->waiting = ypi_calloc(2 * (size_t)star->place.size, sizeof *star->waiting);
    struct ypk_flight *flight = &star->flights[star->flight_count++];
    *flight = (struct ypk_flight){.out = {.rank = -1, .fd = -1}, .in = {.rank = -1, .fd = -1}};
    flight->out.moved = flight->in.moved = sizeof(struct ypk_frame); /* nothing to do */
    return flight;
}

enum yp_status ypk_star_progress(void *state)
{
    bool any = false, missing = false;
    return move_all(state, &any, &missing);
}

enum yp_status ypk_star_begin(void *state, const void *out, size_t out_bytes, int to, void *in,
                              size_t in_bytes, int from)
{
    struct ypk_star *star = state;
    struct ypk_flight *flight = add_flight(star);
    if (to >= 0) {
        struct ypk_peer *peer = &star->peers[to];
        flight->out = (struct ypk_way){.rank = to, .data = (char *)out, .bytes = out_bytes};
        flight->out.frame = (struct ypk_frame){.magic = YPK_FRAME_MAGIC,
                                               .frame = YPK_FRAME_MESSAGE,
                                               .number = ++peer->sent,
                                               .bytes = out_bytes};
        if (peer->send_fd < 0) {
            const enum yp_status status = open_way(star, &flight->out);
            if (status != YP_OK)
                return status;
        }
        flight->out.fd = peer->send_fd;
    }
    if (from >= 0)
        flight->in = (struct ypk_way){
            .rank = from, .data = in, .bytes = in_bytes, .fd = star->peers[from].receive_fd};
    return ypk_star_progress(star);
}

enum yp_status ypk_star_end(void *state)
{
    struct ypk_star *star = state;
    const enum yp_status status = carry(star);
    if (status == YP_OK)
        memmove(star->flights, star->flights + 1, --star->flight_count * sizeof *star->flights);
    return status;
}

void ypk_star_drop(void *state)
{
    struct ypk_star *star = state;
    star->flight_count = 0;
}

enum yp_status ypk_star_exchange(void *state, const void *out, size_t out_bytes, int to, void *in,
                                 size_t in_bytes, int from)
{
    const enum yp_status status = ypk_star_begin(state, out, out_bytes, to, in, in_bytes, from);
    return status == YP_OK ? ypk_star_end(state) : status;
}
