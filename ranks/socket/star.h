/* The state of a rank: a connection to rank 0, or, on rank 0, one to each of the others. */
#pragma once

#include "ranks/engine.h"
#include "ranks/socket/rendezvous.h"

struct pollfd;

/* What has come of another rank's call. */
struct ypk_peer {
    int fd; /* -1: this rank itself, or it has gone */
    struct ypk_reader reader;
    bool arrived;   /* in this call */
    size_t have;    /* bytes of its part */
    bool told;      /* that this rank has arrived, too */
    int send_fd;    /* messages to that rank; -1: none yet */
    int receive_fd; /* messages from it */
    uint64_t sent, received;
    uint64_t send_busy, receive_busy, answer_busy; /* in that look at what is under way */
    enum ypk_reads { YPK_READS_NOT, YPK_MAY_READ, YPK_READS } reads; /* this rank's memory */
};

/* A message under way, in one direction. */
struct ypk_way {
    struct ypk_frame frame;
    char *data; /* not written to when it is sent */
    size_t bytes, moved;
    int rank; /* -1: there is none */
    int fd;
    bool offered; /* of one that is sent: an offer, */
    bool asked;   /* which has no answer */
};

/* An exchange under way. */
struct ypk_flight {
    struct ypk_way out, in;
};

struct ypk_star {
    struct ypk_place place;
    double limit; /* seconds */
    struct ypk_meeting meeting;
    struct ypk_door door;
    struct ypk_endpoint *endpoints; /* of all ranks */
    int *nodes;                     /* of all ranks; -1: not known */
    struct ypk_peer *peers;         /* of all ranks; others than rank 0 have peers[0] alone */
    char *chunk;                    /* rank 0: YPK_CHUNK bytes of each rank */
    struct ypk_flight *flights;     /* exchanges under way, the oldest first */
    size_t flight_count, flight_room;
    uint64_t looks;         /* at them */
    struct pollfd *waiting; /* (3 size): connections that were full or empty in the last look */
    size_t waiting_count;
};

/* Bytes of a rank that rank 0 combines at once. */
#define YPK_CHUNK ((size_t)256 * 1024)

enum yp_status ypk_star_join(void **state, struct ypk_place *place, const char *directory,
                             double seconds);
void ypk_star_leave(void *state);

/* For rank 0 and for the others. */
enum yp_status ypk_hub_collective(struct ypk_star *star, const struct ypk_call *call);
enum yp_status ypk_spoke_collective(struct ypk_star *star, const struct ypk_call *call);

enum yp_status ypk_star_exchange(void *state, const void *out, size_t out_bytes, int to, void *in,
                                 size_t in_bytes, int from);
enum yp_status ypk_star_begin(void *state, const void *out, size_t out_bytes, int to, void *in,
                              size_t in_bytes, int from);
enum yp_status ypk_star_progress(void *state);
enum yp_status ypk_star_end(void *state);
void ypk_star_drop(void *state);

/* "rank 2" or "ranks 1, 3 and 5": those of `size` of which missing() says so. */
void ypk_ranks_text(char *out, size_t size, int ranks,
                    bool (*missing)(const void *argument, int rank), const void *argument);
