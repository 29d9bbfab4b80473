/*
 * The devices of processes that work together: collective operations and messages on their memory,
 * by NCCL, whose library is loaded when the first ones join. One device a rank.
 *
 * An operation is launched on the device's default stream and returns: it comes after the work that
 * the stream was given before, and what the stream is given later comes after it.
 * ypk_devices_wait() makes the host wait. It is called before the host waits for the stream in any
 * other way: where a rank is missing, that would never end.
 *
 * All ranks call the same operations in the same order with the same sizes, as those of their
 * communicator (ranks/communicator.h). No call waits for another rank longer than the
 * communicator's limit. After an error they are broken: what was under way is ended, and every
 * later call returns that error again. YP_IO where another rank is gone or has not come, with the
 * ranks that are missing in yp_last_error(), YP_DEVICE_FAULT where the device failed.
 *
 * With one rank all calls work, and need no NCCL.
 *
 * NCCL's sums are in an order of its own, which depends on sizes, ranks and how the devices are
 * connected, so their last bits do. Those `_in_order` are the sums of ypk_all_reduce() and
 * ypk_reduce_scatter(): in the order of ranks, the same bits each time. They send as much and need
 * memory for the parts of all ranks.
 */
#pragma once

#include "ranks/communicator.h"

struct ypk_devices;

/* Collective, on `device` of this process, which is no other rank's. YP_UNSUPPORTED, the same on
 * all ranks and with the rank that says so: there is no plugin or no NCCL, it is older than 2.14,
 * it is not the same version on all ranks, or ranks share a device and it is older than 2.30. NCCL
 * then lets several ranks have one device where NCCL_MULTI_RANK_GPU_ENABLE is not 0: what they
 * compute is right, and their times say nothing. The caller ends it by ypk_devices_leave() before
 * ypk_leave(). */
enum yp_status ypk_devices_join(struct ypk_devices **out, struct ypk_communicator *all,
                                struct yp_device *device);

/* Waits for the operations, unless they are broken; NULL does nothing. */
void ypk_devices_leave(struct ypk_devices *d);

/* "NCCL 2.30.3", "none" (one rank). The object's. */
const char *ypk_devices_engine(const struct ypk_devices *d);
/* "ranks 0 and 2 share 0000:17:00.0 of node 0"; NULL: each has a device of its own. The object's.
 */
const char *ypk_devices_shared(const struct ypk_devices *d);

/* Work that a stream is given after it begins when all ranks' streams have come to it. */
enum yp_status ypk_devices_barrier(struct ypk_devices *d);
enum yp_status ypk_devices_broadcast(struct ypk_devices *d, void *data, size_t bytes, int root);
/* `all` is size * bytes; `mine` may be the rank's own place in it. */
enum yp_status ypk_devices_all_gather(struct ypk_devices *d, const void *mine, size_t bytes,
                                      void *all);
enum yp_status ypk_devices_all_reduce(struct ypk_devices *d, void *data, size_t count,
                                      enum ypk_type type, enum ypk_op op);
/* `data` has size * count elements; `mine` has `count`, and may be the rank's own place in it. */
enum yp_status ypk_devices_reduce_scatter(struct ypk_devices *d, const void *data, size_t count,
                                          void *mine, enum ypk_type type, enum ypk_op op);

/* Elements of `scratch`, memory of the device, for `count` elements of `data`. */
size_t ypk_devices_scratch(const struct ypk_devices *d, size_t count);
enum yp_status ypk_devices_all_reduce_in_order(struct ypk_devices *d, void *data, size_t count,
                                               enum ypk_type type, enum ypk_op op, void *scratch);
/* Of `scratch`: what size * count elements need. `mine` does not lie in `data`. */
enum yp_status ypk_devices_reduce_scatter_in_order(struct ypk_devices *d, const void *data,
                                                   size_t count, void *mine, enum ypk_type type,
                                                   enum ypk_op op, void *scratch);

/* Messages between begin and end are under way at once. Those of a pair arrive in order; 0 bytes
 * are no message. A rank sends nothing to itself. */
enum yp_status ypk_devices_begin(struct ypk_devices *d);
enum yp_status ypk_devices_send(struct ypk_devices *d, const void *data, size_t bytes, int to);
enum yp_status ypk_devices_receive(struct ypk_devices *d, void *data, size_t bytes, int from);
enum yp_status ypk_devices_end(struct ypk_devices *d);

/* Until all that the default stream was given is done, on this rank. */
enum yp_status ypk_devices_wait(struct ypk_devices *d);
