/*
 * Processes that work together: barriers, collective operations and messages among the ranks of a
 * job.
 *
 * All ranks call the same collective operations in the same order with the same sizes. If they do
 * not, the call fails, and yp_last_error() names the ranks and their operations. A call waits for
 * another rank as long as ypk_join() or ypk_set_limit() allows, not longer. After an error a
 * communicator is broken: every later call returns that error again. NULL is a communicator of one
 * rank, with which all calls work. A communicator is for one thread at a time.
 *
 * Errors beside YP_INVALID for arguments: YP_IO when a rank is missing, ended or out of order, with
 * its number in yp_last_error().
 */
#pragma once

#include "ranks/place.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yieldpoint/device.h>

struct ypk_communicator;

enum ypk_type { YPK_FLOAT, YPK_DOUBLE, YPK_INT64 };
enum ypk_op { YPK_SUM, YPK_MAX, YPK_MIN };

/* Bytes of one element. */
size_t ypk_type_size(enum ypk_type type);

/* Joins the other ranks of `place`. `directory` exists and is the same for all ranks and for
 * nothing else; a file in it tells the ranks where to meet, and it is empty again afterwards. Waits
 * at most `seconds` for the others, which is the time limit of later calls, too. A program that is
 * linked to yieldpoint-mpi uses MPI, which it starts where nobody has, and no directory; other
 * programs use sockets. YP_INVALID when MPI's world is another than `place` says: then the launcher
 * is another MPI's. With a size of 1 no other process and no directory is needed. The caller ends
 * it by ypk_leave(). */
enum yp_status ypk_join(struct ypk_communicator **out, const struct ypk_place *place,
                        const char *directory, double seconds);

/* Does not wait for the others, unless MPI does; NULL does nothing. */
void ypk_leave(struct ypk_communicator *c);

int ypk_rank(const struct ypk_communicator *c);
int ypk_size(const struct ypk_communicator *c);

/* With local rank, local size and node filled in. */
struct ypk_place ypk_place_of(const struct ypk_communicator *c);

/* "none" (one rank), "socket" or "mpi". */
const char *ypk_engine_of(const struct ypk_communicator *c);

/* What is behind it: of "mpi" a pointer to an MPI_Comm that is the communicator's own, valid until
 * ypk_leave(); of others NULL. */
void *ypk_native(const struct ypk_communicator *c);

/* Seconds that later calls wait for another rank. */
void ypk_set_limit(struct ypk_communicator *c, double seconds);
/* The limit; of one rank and of NULL 0. */
double ypk_limit(const struct ypk_communicator *c);

enum yp_status ypk_barrier(struct ypk_communicator *c);

/* `bytes` of `data` from rank `root` to all. */
enum yp_status ypk_broadcast(struct ypk_communicator *c, void *data, size_t bytes, int root);

/* `all` is size * bytes: what each rank gave, in the order of ranks. `mine` may be the rank's own
 * place in it. */
enum yp_status ypk_all_gather(struct ypk_communicator *c, const void *mine, size_t bytes,
                              void *all);

/* data[i] = the ranks' data[i], combined in the order of ranks: the same bits each time, on every
 * rank and with every engine. A maximum or minimum with a NaN is not defined. */
enum yp_status ypk_all_reduce(struct ypk_communicator *c, void *data, size_t count,
                              enum ypk_type type, enum ypk_op op);

/* `data` has size * count elements, as `mine` count: the part of the combined data that begins at
 * rank * count. `data` is not changed, and `mine` may not lie in it. */
enum yp_status ypk_reduce_scatter(struct ypk_communicator *c, const void *data, size_t count,
                                  void *mine, enum ypk_type type, enum ypk_op op);

/* A message to one rank, which calls ypk_receive() with the same size. Messages of a pair arrive in
 * order. ypk_send() may wait until the other rank receives. A rank sends nothing to itself. */
enum yp_status ypk_send(struct ypk_communicator *c, const void *data, size_t bytes, int to);
enum yp_status ypk_receive(struct ypk_communicator *c, void *data, size_t bytes, int from);

/* Both at once, so that ranks that exchange do not wait for each other: sends `out` to rank `to`
 * and receives `in` from rank `from`. */
enum yp_status ypk_exchange(struct ypk_communicator *c, const void *out, size_t out_bytes, int to,
                            void *in, size_t in_bytes, int from);

/* The same in two calls, between which the rank computes. Begins both messages and does not wait;
 * `to` or `from` -1: there is none of that direction. Any number may be under way: the messages of
 * a pair arrive in the order in which they were begun. `out` and `in` belong to the communicator
 * until ypk_end_exchange(), which ends the oldest one, and waits for it. Messages move in these
 * calls and in ypk_progress(), which moves what goes without waiting; how far is the engine's, and
 * an engine that cannot begin one does it all at once. Collective operations may come between,
 * other messages may not (YP_INVALID). After an error none is under way. */
enum yp_status ypk_begin_exchange(struct ypk_communicator *c, const void *out, size_t out_bytes,
                                  int to, void *in, size_t in_bytes, int from);
enum yp_status ypk_progress(struct ypk_communicator *c);
enum yp_status ypk_end_exchange(struct ypk_communicator *c);

/* Memory, zero and aligned to 64 bytes at least, in which collective operations among the ranks of
 * a node need no copy. Collective, with the same size on every rank, as ypk_free() is; NULL with
 * yp_last_error() set. It belongs to the caller and is freed before ypk_leave(). */
void *ypk_allocate(struct ypk_communicator *c, size_t bytes);
enum yp_status ypk_free(struct ypk_communicator *c, void *memory);

struct ypk_call; /* engine.h */
/* Is called by the thread that enters an operation, and again when it is over: `call` of a
 * collective one; of messages `to` and `from` the ranks, -1 where there is none; over: NULL, -1 and
 * -1. */
typedef void ypk_watch(const struct ypk_call *call, int to, int from);
/* For all communicators of this process; NULL: none. */
void ypk_set_watch(ypk_watch *wanted);
