/* What carries the data among ranks: the functions of an engine. communicator.c has checked the
 * arguments, numbers the calls and keeps the first error; with one rank it calls no engine. */
#pragma once

#include "ranks/communicator.h"

enum ypk_kind {
    YPK_BARRIER,
    YPK_ALLOCATE, /* a barrier before it */
    YPK_FREE,
    YPK_BROADCAST,
    YPK_ALL_GATHER,
    YPK_ALL_REDUCE,
    YPK_REDUCE_SCATTER,
    YPK_MESSAGES, /* of devices alone, several at once */
};

/* One collective operation, as all ranks must call it. */
struct ypk_call {
    enum ypk_kind kind;
    uint64_t number; /* of this call, 1 for the communicator's first */
    size_t bytes;    /* of `out`; of an all-gather: of one rank */
    int root;
    enum ypk_type type;
    enum ypk_op op;
    const void *in; /* a barrier has none; a reduce-scatter: size times `bytes` */
    void *out;      /* broadcast and all-reduce: the same memory as `in` */
    bool devices;   /* on their memory (ranks/nccl): no engine's, and numbered by itself */
};

struct ypk_engine {
    const char *name;
    /* Fills in the place. On an error nothing is left. */
    enum yp_status (*join)(void **state, struct ypk_place *place, const char *directory,
                           double seconds);
    void (*leave)(void *state);
    void (*set_limit)(void *state, double seconds);
    enum yp_status (*collective)(void *state, const struct ypk_call *call);
    /* Either half may have 0 bytes and the rank -1: there is none. */
    enum yp_status (*exchange)(void *state, const void *out, size_t out_bytes, int to, void *in,
                               size_t in_bytes, int from);
    /* Both after a call of that kind; NULL: plain memory. allocate() gives NULL on an error. */
    void *(*allocate)(void *state, size_t bytes);
    enum yp_status (*release)(void *state, void *memory);
    void *(*native)(void *state); /* NULL: there is none */
    /* Exchanges in two calls, all or none of these. drop() forgets those under way. */
    enum yp_status (*begin)(void *state, const void *out, size_t out_bytes, int to, void *in,
                            size_t in_bytes, int from);
    enum yp_status (*progress)(void *state);
    enum yp_status (*end)(void *state); /* the oldest one */
    void (*drop)(void *state);
};

extern const struct ypk_engine ypk_socket_engine;

/* Of the library yieldpoint-mpi: NULL where the program is not linked to it. */
extern const struct ypk_engine ypk_mpi_engine __attribute__((weak, visibility("default")));

/* What the watch of communicator.h is told of calls that are no engine's; NULL: it is over. */
void ypk_tell_watch(const struct ypk_call *call);

/* "all-reduce of 64 bytes (call 7)", of devices "(call 7 of the devices)". Static memory of the
 * thread. */
const char *ypk_call_text(const struct ypk_call *call);

/* to[i] = a[i] op b[i], in this order. `to` may be `a` or `b`. */
void ypk_combine(void *to, const void *a, const void *b, size_t count, enum ypk_type type,
                 enum ypk_op op);
