/* Where a rank listens, and who comes there: a UNIX socket for the ranks of its node, a port of
 * TCP for others. */
#pragma once

#include "ranks/socket/wire.h"

#define YPK_TOKEN 32
#define YPK_ADDRESSES 8

/* Sent as it is between the ranks. */
struct ypk_endpoint {
    char host[96]; /* where the UNIX socket can be reached: the boot and the network namespace */
    char unix_name[48];              /* in the abstract name space: leaves no file */
    int32_t port;                    /* 0: no TCP */
    char address[YPK_ADDRESSES][48]; /* numeric, IPv4 or IPv6; the best first; "" ends them */
};

/* What a rank says first on each connection it makes. */
struct ypk_hello {
    uint32_t magic;
    uint8_t token[YPK_TOKEN]; /* without it a connection is refused */
    int32_t message;          /* 0: joins rank 0; 1: carries messages to another rank */
    int32_t rank, size, node;
    struct ypk_endpoint endpoint; /* of the sender */
};

/* Listening sockets and the connections that have not said all yet. */
struct ypk_door {
    int unix_fd, tcp_fd; /* -1: none */
    int refused;         /* connections without the token */
    struct ypk_guest {
        int fd;
        size_t have;
        struct ypk_hello hello;
    } guests[32];
    int guest_count;
};

/* Listens, by TCP too when `tcp`; fills in `endpoint`. YP_IO. */
enum yp_status ypk_door_open(struct ypk_door *door, struct ypk_endpoint *endpoint, bool tcp);

void ypk_door_close(struct ypk_door *door);

/* Waits until `end` for a connection that says hello with this token; -1: none came. The caller
 * owns the descriptor. */
int ypk_door_wait(struct ypk_door *door, const uint8_t token[YPK_TOKEN], double end,
                  struct ypk_hello *hello);

/* Connects to one of the endpoint's addresses; `near`: by the UNIX socket where the host is ours.
 * -1 with errno set when it cannot until `end`. *next, 0 at first, is the address to begin with and
 * then the one after that which was taken. The caller owns the descriptor. */
int ypk_connect(const struct ypk_endpoint *to, bool near, double end, int *next);
