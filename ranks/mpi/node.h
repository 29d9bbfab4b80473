/*
 * The state of a rank, and the memory that the ranks of a node share: a window of MPI-3, in which
 * each rank has a segment with its flags and its slots.
 *
 * A rank writes its own segment alone and reads those of others; flags are counters that only grow.
 * Each call begins with an exchange: every rank writes what it calls, with a few bytes of data, and
 * its count, and waits for the counts of the others.
 */
#pragma once

#include "ranks/engine.h"

#include <mpi.h>
#include <stdatomic.h>

#define YPK_SMALL ((size_t)4096)     /* bytes of data that an exchange carries */
#define YPK_SLOT ((size_t)64 * 1024) /* bytes that are staged at once */
#define YPK_SLOTS 8                  /* a power of 2 */
#define YPK_TEXT 512

/* What a rank calls, the same on all. */
struct ypk_said {
    uint64_t number, bytes;
    int32_t root;
    uint8_t kind, type, op, unused;
};

/* What a rank says in one exchange; the next but one uses the same memory. */
struct ypk_word {
    _Alignas(64) _Atomic uint64_t count; /* of the exchange; written last */
    struct ypk_said said;
    /* Where its data is: an allocation, 0: private memory, and the place in it. */
    uint32_t window;
    uint32_t unused;
    uint64_t offset;
    unsigned char data[YPK_SMALL];
};

struct ypk_flag {
    _Alignas(64) _Atomic uint64_t value;
};

struct ypk_segment {
    struct ypk_word words[2];
    struct ypk_flag staged, reduced, taken; /* chunks, of all calls together */
    struct ypk_flag state;                  /* of enum ypk_state */
    struct ypk_flag verdict;                /* of the node's first rank: calls that may go on */
    char text[YPK_TEXT];                    /* why it is broken; before `state` */
    int64_t process;                        /* its number, and where that is valid */
    uint64_t process_space;
    _Alignas(64) char slots[YPK_SLOTS][YPK_SLOT];
};

/* What the first rank of a node tells that of the first node, and what it hears. */
struct ypk_verdict {
    struct ypk_said said;
    int32_t rank;
    int32_t wrong;
    char text[YPK_TEXT];
};

enum ypk_state { YPK_WORKS, YPK_LEAVES, YPK_BROKEN };

/* Memory of ypk_allocate(). */
struct ypk_window {
    MPI_Win win;
    size_t bytes;
    char **base; /* of each rank of the node; NULL: the entry is free */
};

/* An exchange under way, or a piece of one. */
struct ypk_flight {
    MPI_Request requests[2]; /* of the message to this rank, and of its own */
    int to, from;            /* -1: there is none */
    size_t in_bytes;
    bool last; /* of its pieces */
    bool done;
};

struct ypk_node {
    struct ypk_place place;
    double limit;
    bool initialised; /* MPI was, by this engine */
    bool broken;
    bool late;         /* because a rank did not come in time */
    bool busy;         /* ranks share processors: those that wait give theirs away at once */
    MPI_Comm all;      /* the engine's own */
    MPI_Comm users;    /* another, for ypk_native() */
    MPI_Comm local;    /* of the node */
    MPI_Comm leaders;  /* the first rank of each node; MPI_COMM_NULL on others */
    int nodes, ranks;  /* of the node */
    int me;            /* in it */
    int *world;        /* the rank of each */
    int *leader_ranks; /* on the first rank of a node: that of each node */
    MPI_Win win;
    struct ypk_segment **segments; /* of each rank of the node */
    uint64_t exchanges, chunks, verdicts;
    struct ypk_verdict told, heard; /* the first rank of a node */
    struct ypk_window *windows;
    uint32_t window_count;
    struct ypk_flight *flights; /* the oldest first */
    size_t flight_count, flight_room;
};

/* exchange.c */

/* Waits until test(argument) is true. YP_IO with a message when that takes longer than the limit,
 * which names the ranks of the node of which late(argument, rank of the node) is true; NULL: ranks
 * of another node. Without `call` that is not yet the end of the communicator. */
enum yp_status ypk_wait(struct ypk_node *node, const struct ypk_call *call,
                        bool (*test)(struct ypk_node *node, const void *argument),
                        bool (*late)(struct ypk_node *node, int rank, const void *argument),
                        const void *argument);

/* Until the counters at `offset` of all segments are `value` or more. */
enum yp_status ypk_wait_flags(struct ypk_node *node, const struct ypk_call *call, size_t offset,
                              uint64_t value);

/* The exchange at the beginning of a call, which all nodes take part in, with `bytes` of `data`,
 * YPK_SMALL at most. It tells, too, where the `shared_bytes` at `shared` are; NULL: nowhere. */
enum yp_status ypk_arrive(struct ypk_node *node, const struct ypk_call *call, const void *data,
                          size_t bytes, const void *shared, size_t shared_bytes);

/* Another one, of the node alone and without data: all have come so far. */
enum yp_status ypk_meet(struct ypk_node *node, const struct ypk_call *call);

/* What rank `rank` of the node said in the last exchange. */
const struct ypk_word *ypk_word_of(const struct ypk_node *node, int rank);

/* Waits for requests of MPI, which are given up when that takes too long or on an error of MPI. */
enum yp_status ypk_wait_mpi(struct ypk_node *node, const struct ypk_call *call,
                            MPI_Request *requests, int count, MPI_Status *statuses);

/* Notes that the communicator is broken, for the node's other ranks, too; returns `status`. */
enum yp_status ypk_break(struct ypk_node *node, enum yp_status status);

/* Sets the message of an error of MPI. */
enum yp_status ypk_mpi_failed(const char *what, int code);

/* window.c */
void *ypk_window_allocate(void *state, size_t bytes);
enum yp_status ypk_window_release(void *state, void *memory);

/* The number of the window that holds `bytes` at `memory`, and where; 0: none. */
uint32_t ypk_window_find(const struct ypk_node *node, const void *memory, size_t bytes,
                         uint64_t *offset);

/* The data that rank `rank` of the node told in the last exchange; NULL: it is private. */
char *ypk_window_data(const struct ypk_node *node, int rank);

/* A window of `bytes` for each rank of the node: `base` has room for each. */
enum yp_status ypk_window_make(const struct ypk_node *node, size_t bytes, MPI_Win *win,
                               char **base);

/* staged.c: private data of one node, by the slots; the ranks have arrived. */
enum yp_status ypk_staged(struct ypk_node *node, const struct ypk_call *call);

/* shared.c: the data is in windows. */
bool ypk_shared(const struct ypk_node *node, const struct ypk_call *call);
enum yp_status ypk_without_copy(struct ypk_node *node, const struct ypk_call *call);

/* nodes.c: of several nodes. */
enum yp_status ypk_over_nodes(struct ypk_node *node, const struct ypk_call *call);

/* collective.c, message.c */
enum yp_status ypk_node_collective(void *state, const struct ypk_call *call);
enum yp_status ypk_node_exchange(void *state, const void *out, size_t out_bytes, int to, void *in,
                                 size_t in_bytes, int from);
enum yp_status ypk_node_begin(void *state, const void *out, size_t out_bytes, int to, void *in,
                              size_t in_bytes, int from);
enum yp_status ypk_node_progress(void *state);
enum yp_status ypk_node_end(void *state);
void ypk_node_drop(void *state);
