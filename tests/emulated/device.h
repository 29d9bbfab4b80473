/*
 * The emulated device: memory, streams, events and copies of a GPU that is not there, whose kernels
 * the CPU runs (in_turn.c, linked with each plugin). backend.c makes a device of the framework of
 * it, tests/fake_cuda a runtime of CUDA's.
 *
 * Its memory cannot be touched but by kernels and copies: whoever else reads or writes it dies. New
 * memory, shared memory and page-locked memory are full of garbage.
 *
 * Work is done at once or, as `order` says, when it is waited for: what is on other streams than
 * the default one as late as that allows or as early. With EMULATED_KERNELS_FIRST the default one
 * does not wait for who waits for it, but other streams do.
 *
 * One thread at a time; what a test does wrong ends the process with a message.
 */
#pragma once

#include "device/backend.h"
#include "device/cuda/frame.h"

enum emulated_order {
    EMULATED_AT_ONCE,
    EMULATED_LATE,
    EMULATED_EARLY,
    EMULATED_KERNELS_FIRST,
    EMULATED_ORDERS
};

/* Bytes of garbage: a float of 8e37, or NaN. */
enum { EMULATED_LARGE = 0x7e, EMULATED_NAN = 0xff };

enum { EMULATED_STREAMS = 64, EMULATED_QUEUE = 1 << 12, EMULATED_PAGE = 4096 };

/* A launch, a copy, or a wait for another stream. */
struct emulated_work {
    enum { EMULATED_LAUNCH, EMULATED_COPY, EMULATED_WAIT } kind;
    struct ypk_work launch;
    void *to;
    const void *from;
    size_t bytes;
    int stream; /* waits for `at` pieces of it */
    size_t at;
};

struct emulated_stream {
    struct ypk_native_stream native;
    bool open;
    struct emulated_work *queue; /* EMULATED_QUEUE, in turn */
    size_t given, done;          /* pieces of work, ever */
};

struct emulated_block {
    char *at;
    size_t bytes;
    size_t reachable; /* by kernels: whole pages */
    bool pooled;      /* its user's to set */
};

/* The device, and what a test may set and look at. */
struct emulated {
    enum emulated_order order;
    bool unprotected;  /* memory of blocks that are taken from now on is anybody's */
    const char *place; /* on the bus; NULL: not known */
    bool copies_fail;  /* yp_device_copy() comes to YP_DEVICE_FAULT */
    struct ypk_settings kernels;
    struct emulated_stream streams[EMULATED_STREAMS]; /* the first is the default one */
    int events;                                       /* that are open */
    size_t pinned;                                    /* bytes that are page-locked */
    unsigned blocks; /* of kernels with dynamic shared memory, ever */
};
extern struct emulated emulated;

/* -- memory ---------------------------------------------------------------------------------- */

void *emulated_take(size_t bytes); /* NULL: out of memory */
/* Whatever stream still uses it is done then. Returns the bytes that were asked for. */
size_t emulated_give(void *block);
/* Whether `bytes` from there on are the device's. */
bool emulated_has(const void *from, size_t bytes);
struct emulated_block *emulated_block(const void *at); /* that begins there; NULL: none */
/* From now on whoever writes or reads it may, or dies. */
void emulated_reach(bool can);

/* -- streams: by number ------------------------------------------------------------------------ */

int emulated_stream_open(void); /* of those that are not the default one; -1: there are too many */
/* Once its work is done. */
void emulated_stream_close(int stream);
int emulated_stream_number(const struct ypk_native_stream *stream);
/* Its work up to piece `to`, with what it waits for. */
void emulated_run(int stream, size_t to);
void emulated_run_all(void);
void emulated_copy(int stream, void *to, const void *from, size_t bytes);
void emulated_wait(int stream, int other, size_t at);
/* A function of the host's as a kernel: with a copy of the job, when its turn comes. */
void emulated_call(int stream, void (*function)(const void *job), const void *job, size_t bytes);

/* -- as a device ------------------------------------------------------------------------------- */

extern const struct ypi_backend emulated_backend;
struct yp_device *emulated_device(void); /* "emulated:0", one for the process */
