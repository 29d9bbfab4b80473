/* Messages of one rank to another: a connection of their own for each pair and direction, made when
 * it is first used. */
#include "ranks/socket/star.h"

#include "base/system/clock.h"
#include "base/text/text.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define GLANCE_SECONDS 1e-5 /* at the door, in passing */
#define LOOK_SECONDS 0.001  /* until the next glance, while there is nothing else to do */

/* Bytes that an offer is made for, and its answers. */
enum { OFFERED_FROM = 64 * 1024, TAKEN = 'T', NOT_TAKEN = 'N' };

static size_t total(const struct ypk_way *way)
{
    return sizeof way->frame + (way->offered ? 0 : way->bytes);
}

static bool is_done(const struct ypk_way *way)
{
    return way->moved == total(way) && !way->asked;
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
    int domain = AF_UNSPEC;
    socklen_t size = sizeof domain;
    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size);
    peer->reads = domain == AF_UNIX ? YPK_MAY_READ : YPK_READS_NOT;
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
    const uint8_t kind = way->frame.frame;
    if (way->frame.magic != YPK_FRAME_MAGIC ||
        (kind != YPK_FRAME_MESSAGE && kind != YPK_FRAME_OFFER))
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

static enum yp_status closed(const struct ypk_star *star, const struct ypk_way *way, bool sends)
{
    return yp_set_error(YP_IO, "ranks: rank %d of %d closed the connection; rank %d %s %zu bytes",
                        way->rank, star->place.size, star->place.rank,
                        sends ? "sends it" : "waits for its message of", way->bytes);
}

/* The sender's memory to this rank's, by the kernel: one copy, without the sender. False: that is
 * not allowed here, as in some containers. */
static bool read_memory(const struct ypk_way *way)
{
    struct ucred sender = {.pid = 0};
    socklen_t size = sizeof sender;
    if (getsockopt(way->fd, SOL_SOCKET, SO_PEERCRED, &sender, &size) != 0 || sender.pid <= 0 ||
        sender.pid != way->frame.root) /* of another PID namespace, or it forked */
        return false;
    for (size_t at = 0; at < way->bytes;) {
        const struct iovec to = {way->data + at, way->bytes - at};
        const struct iovec from = {(char *)(uintptr_t)way->frame.address + at, way->bytes - at};
        const ssize_t moved = process_vm_readv(sender.pid, &to, 1, &from, 1, 0);
        if (moved <= 0)
            return false;
        at += (size_t)moved;
    }
    return true;
}

static enum yp_status take_offer(const struct ypk_star *star, struct ypk_way *way)
{
    const bool taken = read_memory(way);
    const char answer = taken ? TAKEN : NOT_TAKEN;
    if (taken)
        way->moved = total(way);
    return ypk_wire_write_all(way->fd, &answer, 1, ypi_kernel_now() + star->limit) == YPK_WIRE_DONE
               ? YP_OK
               : closed(star, way, false);
}

/* Of an offer. Only the first one that a rank gets may be refused: then its data goes after it. */
static enum yp_status take_answer(struct ypk_star *star, struct ypk_way *way, bool *any)
{
    struct ypk_peer *peer = &star->peers[way->rank];
    char answer;
    size_t moved;
    const enum ypk_wire state = ypk_wire_read(way->fd, &answer, 1, &moved);
    if (state == YPK_WIRE_LATER)
        return YP_OK;
    if (state == YPK_WIRE_CLOSED)
        return closed(star, way, true);
    if (answer != TAKEN && peer->reads == YPK_READS)
        return yp_set_error(YP_IO, "ranks: rank %d of %d cannot read %zu bytes of rank %d any more",
                            way->rank, star->place.size, way->bytes, star->place.rank);
    peer->reads = answer == TAKEN ? YPK_READS : YPK_READS_NOT;
    way->offered = answer == TAKEN;
    way->asked = false;
    *any = true;
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
            return closed(star, way, sends);
        if (state == YPK_WIRE_LATER)
            return YP_OK;
        if (!sends && head && way->moved == sizeof way->frame) {
            enum yp_status status = check_frame(star, way);
            if (status == YP_OK && way->frame.frame == YPK_FRAME_OFFER)
                status = take_offer(star, way);
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
    if (!is_done(out))
        snprintf(text[0], sizeof text[0], "rank %d took no message", out->rank);
    if (!is_done(in))
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

/* Offers are made while earlier ones have no answer, but for the first one. */
static bool makes_offer(const struct ypk_peer *peer, const struct ypk_way *way)
{
    return peer->reads != YPK_READS_NOT && way->bytes >= OFFERED_FROM;
}

static enum yp_status move_out(struct ypk_star *star, struct ypk_way *way, bool *any)
{
    struct ypk_peer *peer = way->rank >= 0 ? &star->peers[way->rank] : NULL;
    enum yp_status status = YP_OK;
    if (peer == NULL || is_done(way))
        return YP_OK;
    if (way->asked && peer->answer_busy != star->looks)
        status = take_answer(star, way, any);
    if (status == YP_OK && way->moved < total(way) && peer->send_busy != star->looks) {
        if (way->moved == 0 && makes_offer(peer, way)) {
            way->offered = true;
            way->frame.frame = YPK_FRAME_OFFER;
            way->frame.root = getpid();
            way->frame.address = (uint64_t)(uintptr_t)way->data;
        }
        status = move(star, way, true, any);
        way->asked = way->offered && way->moved == total(way);
    }
    if (way->moved < total(way) && peer->send_busy != star->looks) {
        peer->send_busy = star->looks; /* later ones wait for it */
        wait_for(star, way, POLLOUT);
    } else if (way->asked && peer->answer_busy != star->looks) {
        peer->answer_busy = star->looks;
        if (peer->reads != YPK_READS)
            peer->send_busy = star->looks;
        wait_for(star, way, POLLIN);
    }
    return status;
}

static enum yp_status move_in(struct ypk_star *star, struct ypk_way *way, bool *any, bool *missing)
{
    struct ypk_peer *peer = way->rank >= 0 ? &star->peers[way->rank] : NULL;
    enum yp_status status = YP_OK;
    if (peer == NULL || is_done(way) || peer->receive_busy == star->looks)
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
        const bool done = is_done(&oldest->out) && is_done(&oldest->in);
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
        star->waiting = ypi_calloc(3 * (size_t)star->place.size, sizeof *star->waiting);
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
    for (size_t i = 0; i < star->flight_count; i++) {
        const struct ypk_way *out = &star->flights[i].out;
        if (out->rank < 0 || !out->asked || star->peers[out->rank].send_fd < 0)
            continue;
        close(out->fd); /* who reads what is no longer there finds that its answer fails */
        star->peers[out->rank].send_fd = -1;
    }
    star->flight_count = 0;
}

enum yp_status ypk_star_exchange(void *state, const void *out, size_t out_bytes, int to, void *in,
                                 size_t in_bytes, int from)
{
    const enum yp_status status = ypk_star_begin(state, out, out_bytes, to, in, in_bytes, from);
    return status == YP_OK ? ypk_star_end(state) : status;
}
