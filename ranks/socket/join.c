/* How the ranks find each other: rank 0 listens and writes where, the others come and say who they
 * are, and each gets the list of all. */
#include "ranks/socket/star.h"

#include "base/system/clock.h"
#include "base/text/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_SECONDS 1.0   /* for an address that may be a stranger's */
#define GRACE_SECONDS 1.0    /* rank 0, which knows more, says first what is wrong */
#define PAUSE_SECONDS 0.0005 /* at first, between looks for the file */
#define PAUSE_SECONDS_MOST 0.02

static void pause_for(double seconds)
{
    _Atomic uint32_t word = 0;
    ypi_kernel_wait(&word, 0, seconds);
}

void ypk_ranks_text(char *out, size_t size, int ranks,
                    bool (*missing)(const void *argument, int rank), const void *argument)
{
    enum { NAMED = 8 };
    int count = 0;
    int last = -1;
    for (int i = 0; i < ranks; i++)
        if (missing(argument, i)) {
            last = i;
            count++;
        }
    size_t used = (size_t)snprintf(out, size, count == 1 ? "rank" : "ranks");
    int named = 0;
    for (int i = 0; i < ranks && used < size; i++) {
        if (!missing(argument, i))
            continue;
        if (count > NAMED && named == NAMED) {
            snprintf(out + used, size - used, " and %d more", count - named);
            return;
        }
        const char *before = named == 0 ? " " : i == last && count <= NAMED ? " and " : ", ";
        const int more = snprintf(out + used, size - used, "%s%d", before, i);
        used += (size_t)(more > 0 ? more : 0);
        named++;
    }
}

static bool not_joined(const void *argument, int rank)
{
    const struct ypk_star *star = argument;
    return rank > 0 && star->peers[rank].fd < 0;
}

/* Where the hub saw the connection come from is where others reach that rank, too. */
static void put_first(struct ypk_endpoint *endpoint, int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
        struct sockaddr_storage all;
    } from = {.all = {.ss_family = AF_UNSPEC}};
    socklen_t length = sizeof from;
    char address[sizeof endpoint->address[0]] = "";
    if (getpeername(fd, &from.any, &length) != 0)
        return;
    if (from.any.sa_family == AF_INET)
        inet_ntop(AF_INET, &from.four.sin_addr, address, sizeof address);
    else if (from.any.sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&from.six.sin6_addr))
        inet_ntop(AF_INET, &from.six.sin6_addr.s6_addr[12], address, sizeof address);
    else if (from.any.sa_family == AF_INET6)
        inet_ntop(AF_INET6, &from.six.sin6_addr, address, sizeof address);
    if (address[0] == '\0')
        return;
    memmove(endpoint->address[1], endpoint->address[0], sizeof address * (YPK_ADDRESSES - 1));
    memcpy(endpoint->address[0], address, sizeof address);
}

/* Tells those who came that it failed, and why. */
static enum yp_status fail_all(struct ypk_star *star, enum yp_status status)
{
    const char *text = yp_last_error();
    const struct ypk_frame frame = {
        .magic = YPK_FRAME_MAGIC, .frame = YPK_FRAME_ERROR, .bytes = strlen(text)};
    const double end = ypi_kernel_now() + GRACE_SECONDS;
    for (int i = 1; i < star->place.size; i++)
        if (star->peers[i].fd >= 0 &&
            ypk_wire_write_all(star->peers[i].fd, &frame, sizeof frame, end) == YPK_WIRE_DONE)
            ypk_wire_write_all(star->peers[i].fd, text, frame.bytes, end);
    return status;
}

static enum yp_status take_rank(struct ypk_star *star, int fd, const struct ypk_hello *hello)
{
    const int size = star->place.size;
    if (hello->size != size || hello->rank < 1 || hello->rank >= size) {
        const int rank = hello->rank;
        close(fd);
        return yp_set_error(YP_IO,
                            "ranks: one process is rank %d of %d and rank 0 is of %d; was each "
                            "started by the same launcher?",
                            rank, hello->size, size);
    }
    struct ypk_peer *peer = &star->peers[hello->rank];
    if (peer->fd >= 0) {
        close(fd);
        return yp_set_error(YP_IO, "ranks: two processes are rank %d of %d", hello->rank, size);
    }
    peer->fd = fd;
    star->nodes[hello->rank] = hello->node;
    star->endpoints[hello->rank] = hello->endpoint;
    put_first(&star->endpoints[hello->rank], fd);
    ypk_wire_write_all(fd, star->meeting.answer, YPK_TOKEN, ypi_kernel_now() + GRACE_SECONDS);
    return YP_OK;
}

static enum yp_status send_list(struct ypk_star *star)
{
    const size_t size = (size_t)star->place.size;
    const double end = ypi_kernel_now() + star->limit;
    const struct ypk_frame frame = {.magic = YPK_FRAME_MAGIC,
                                    .frame = YPK_FRAME_DATA,
                                    .bytes =
                                        size * (sizeof *star->endpoints + sizeof *star->nodes)};
    for (int i = 1; i < star->place.size; i++) {
        const int fd = star->peers[i].fd;
        if (ypk_wire_write_all(fd, &frame, sizeof frame, end) != YPK_WIRE_DONE ||
            ypk_wire_write_all(fd, star->endpoints, size * sizeof *star->endpoints, end) !=
                YPK_WIRE_DONE ||
            ypk_wire_write_all(fd, star->nodes, size * sizeof *star->nodes, end) != YPK_WIRE_DONE)
            return fail_all(star, yp_set_error(YP_IO, "ranks: rank %d of %d closed the connection",
                                               i, star->place.size));
    }
    return YP_OK;
}

static enum yp_status wait_for_ranks(struct ypk_star *star, double end)
{
    for (int joined = 1; joined < star->place.size; joined++) {
        struct ypk_hello hello;
        char who[160];
        char refused[80] = "";
        const int fd = ypk_door_wait(&star->door, star->meeting.token, end, &hello);
        if (fd >= 0) {
            const enum yp_status status = take_rank(star, fd, &hello);
            if (status != YP_OK)
                return fail_all(star, status);
            continue;
        }
        if (star->door.refused > 0)
            snprintf(refused, sizeof refused, "; %d other connections were refused",
                     star->door.refused);
        ypk_ranks_text(who, sizeof who, star->place.size, not_joined, star);
        return fail_all(star, yp_set_error(YP_IO, "ranks: %s of %d did not join within %g s%s", who,
                                           star->place.size, star->limit, refused));
    }
    return send_list(star);
}

static enum yp_status join_as_hub(struct ypk_star *star, const char *directory, double end)
{
    struct ypk_meeting *meeting = &star->meeting;
    if (getrandom(meeting->token, YPK_TOKEN, 0) != YPK_TOKEN ||
        getrandom(meeting->answer, YPK_TOKEN, 0) != YPK_TOKEN)
        return yp_set_error(YP_IO, "ranks: no random numbers: %s", strerror(errno));
    meeting->size = star->place.size;
    meeting->node = star->place.node;
    meeting->endpoint = star->endpoints[0];
    star->nodes[0] = star->place.node;
    enum yp_status status = ypk_meeting_write(meeting, directory);
    if (status != YP_OK)
        return status;
    status = wait_for_ranks(star, end);
    ypk_meeting_remove(directory);
    return status;
}

/* True when rank 0 of the meeting has taken this rank, by one address. */
static bool greet(struct ypk_star *star, double end, int *next)
{
    const struct ypk_meeting *meeting = &star->meeting;
    const bool near =
        star->place.node == meeting->node || star->place.node < 0 || meeting->node < 0;
    struct ypk_hello hello = {.magic = YPK_FRAME_MAGIC,
                              .rank = star->place.rank,
                              .size = star->place.size,
                              .node = star->place.node,
                              .endpoint = star->endpoints[star->place.rank]};
    uint8_t answer[YPK_TOKEN];
    const int fd = ypk_connect(&meeting->endpoint, near, end, next);
    if (fd < 0)
        return false;
    memcpy(hello.token, meeting->token, YPK_TOKEN);
    const double last = ypi_kernel_now() + ANSWER_SECONDS;
    errno = ECONNREFUSED;
    if (ypk_wire_write_all(fd, &hello, sizeof hello, last) == YPK_WIRE_DONE &&
        ypk_wire_read_all(fd, answer, sizeof answer, last) == YPK_WIRE_DONE &&
        memcmp(answer, meeting->answer, sizeof answer) == 0) {
        star->peers[0].fd = fd;
        return true;
    }
    close(fd);
    errno = ECONNREFUSED;
    return false;
}

static enum yp_status take_list(struct ypk_star *star)
{
    const size_t size = (size_t)star->place.size;
    const double end = ypi_kernel_now() + star->limit + GRACE_SECONDS;
    const int fd = star->peers[0].fd;
    struct ypk_frame frame;
    char text[YPK_TEXT_MAX] = "";
    enum ypk_wire state = ypk_wire_read_all(fd, &frame, sizeof frame, end);
    if (state == YPK_WIRE_DONE && frame.frame == YPK_FRAME_ERROR && frame.bytes < sizeof text) {
        ypk_wire_read_all(fd, text, frame.bytes, end);
        return yp_set_error(YP_IO, "%s", text);
    }
    if (state == YPK_WIRE_DONE &&
        frame.bytes == size * (sizeof *star->endpoints + sizeof *star->nodes)) {
        state = ypk_wire_read_all(fd, star->endpoints, size * sizeof *star->endpoints, end);
        if (state == YPK_WIRE_DONE)
            state = ypk_wire_read_all(fd, star->nodes, size * sizeof *star->nodes, end);
        if (state == YPK_WIRE_DONE)
            return YP_OK;
    }
    return yp_set_error(YP_IO,
                        state == YPK_WIRE_LATER ? "ranks: rank 0 of %d says nothing more after %g s"
                                                : "ranks: rank 0 of %d closed the connection",
                        star->place.size, star->limit + GRACE_SECONDS);
}

static enum yp_status join_as_spoke(struct ypk_star *star, const char *directory, double end)
{
    double wait = PAUSE_SECONDS;
    bool met = false;
    int error = 0;
    for (int next = 0; ypi_kernel_now() < end;) {
        struct ypk_meeting meeting;
        if (ypk_meeting_read(&meeting, directory)) {
            met = true;
            star->meeting = meeting;
            if (greet(star, end, &next))
                return take_list(star);
            error = errno;
        }
        pause_for(wait);
        wait = wait * 2 < PAUSE_SECONDS_MOST ? wait * 2 : PAUSE_SECONDS_MOST;
    }
    if (!met)
        return yp_set_error(YP_IO, "ranks: rank 0 of %d did not join within %g s: no %s/%s",
                            star->place.size, star->limit, directory, YPK_RENDEZVOUS);
    return yp_set_error(YP_IO,
                        "ranks: rank %d of %d cannot join rank 0 of %d, which %s/%s names: %s",
                        star->place.rank, star->place.size, star->meeting.size, directory,
                        YPK_RENDEZVOUS, strerror(error));
}

/* The numbers of nodes that no launcher gave: hosts in the order of ranks. */
static void number_nodes(struct ypk_star *star)
{
    const int size = star->place.size;
    bool known = true;
    for (int i = 0; i < size; i++)
        known = known && star->nodes[i] >= 0;
    for (int i = 0, next = 0; i < size && !known; i++) {
        star->nodes[i] = -1;
        for (int j = 0; j < i && star->nodes[i] < 0; j++)
            if (strcmp(star->endpoints[j].host, star->endpoints[i].host) == 0)
                star->nodes[i] = star->nodes[j];
        if (star->nodes[i] < 0)
            star->nodes[i] = next++;
    }
    struct ypk_place *place = &star->place;
    place->node = star->nodes[place->rank];
    place->local_rank = place->local_size = 0;
    for (int i = 0; i < size; i++) {
        place->local_rank += star->nodes[i] == place->node && i < place->rank;
        place->local_size += star->nodes[i] == place->node;
    }
}

enum yp_status ypk_star_join(void **state, struct ypk_place *place, const char *directory,
                             double seconds)
{
    const size_t size = (size_t)place->size;
    const double end = ypi_kernel_now() + seconds;
    struct ypk_star *star = ypi_calloc(1, sizeof *star);
    star->place = *place;
    star->limit = seconds;
    star->endpoints = ypi_calloc(size, sizeof *star->endpoints);
    star->nodes = ypi_calloc(size, sizeof *star->nodes);
    star->peers = ypi_calloc(size, sizeof *star->peers);
    for (size_t i = 0; i < size; i++)
        star->peers[i].fd = star->peers[i].send_fd = star->peers[i].receive_fd = -1;
    enum yp_status status =
        ypk_door_open(&star->door, &star->endpoints[place->rank], place->local_size != place->size);
    if (status == YP_OK)
        status = place->rank == 0 ? join_as_hub(star, directory, end)
                                  : join_as_spoke(star, directory, end);
    if (status != YP_OK) {
        char *why = ypi_strdup(yp_last_error());
        ypk_star_leave(star);
        yp_set_error(status, "%s", why);
        free(why);
        return status;
    }
    number_nodes(star);
    *place = star->place;
    *state = star;
    return YP_OK;
}

void ypk_star_leave(void *state)
{
    struct ypk_star *star = state;
    const struct ypk_frame frame = {.magic = YPK_FRAME_MAGIC, .frame = YPK_FRAME_LEAVE};
    for (int i = 0; i < star->place.size; i++) {
        const struct ypk_peer *peer = &star->peers[i];
        size_t moved;
        if (peer->fd >= 0) {
            ypk_wire_write(peer->fd, &frame, sizeof frame, &moved);
            close(peer->fd);
        }
        if (peer->send_fd >= 0)
            close(peer->send_fd);
        if (peer->receive_fd >= 0)
            close(peer->receive_fd);
    }
    ypk_door_close(&star->door);
    free(star->endpoints);
    free(star->nodes);
    free(star->peers);
    free(star->chunk);
    free(star->flights);
    free(star->waiting);
    free(star);
}
