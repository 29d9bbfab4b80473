/* The plugin that has NCCL: what it gives the program, for one rank of several. */
#pragma once

#include <stdbool.h>
#include <yieldpoint/device.h>

#ifdef __cplusplus
extern "C" {
#endif

#define YPK_NCCL_PLUGIN "nccl"

/* What all ranks need to find each other: made by one, given to all. */
struct ypk_nccl_id {
    char bytes[128];
};

struct ypk_nccl; /* a rank of them */

/* to[i] = the parts' elements i, combined in the order of parts; types and operations as ypk_type
 * and ypk_op number them. `to` may be one of the parts. All is the device's memory. */
struct ypk_nccl_combine {
    size_t count, stride; /* elements: of a part, from a part's first to the next one's */
    unsigned parts;       /* 1 and more */
    int type, op;
    const void *from;
    void *to;
};

/* What a call comes to: YP_IO where another rank or the way to it is gone, or did not answer within
 * the limit; YP_DEVICE_FAULT where the device is; YP_INVALID where NCCL does not take the call.
 * Operations are launched on the device's default stream and return. */
struct ypk_nccl_table {
    /* Loads the library; its version is 22809 for 2.28.9. YP_UNSUPPORTED: there is none, or it is
     * too old. */
    enum yp_status (*load)(int *version);
    enum yp_status (*make_id)(struct ypk_nccl_id *out);
    /* All ranks at once, each waits for the others no longer than that. */
    enum yp_status (*open)(struct ypk_nccl **out, struct yp_device *device,
                           const struct ypk_nccl_id *id, int rank, int size, double seconds);
    void (*set_limit)(struct ypk_nccl *n, double seconds);
    /* Ends what is under way, and waits for no other rank. After it there is close() alone. */
    void (*abort)(struct ypk_nccl *n);
    void (*close)(struct ypk_nccl *n);
    enum yp_status (*barrier)(struct ypk_nccl *n); /* of the streams */
    enum yp_status (*broadcast)(struct ypk_nccl *n, void *data, size_t bytes, int root);
    enum yp_status (*all_gather)(struct ypk_nccl *n, const void *mine, size_t bytes, void *all);
    enum yp_status (*all_reduce)(struct ypk_nccl *n, void *data, size_t count, int type, int op);
    enum yp_status (*reduce_scatter)(struct ypk_nccl *n, const void *data, size_t count, void *mine,
                                     int type, int op);
    /* Messages between begin() and end() are under way at once. */
    enum yp_status (*begin)(struct ypk_nccl *n);
    enum yp_status (*send)(struct ypk_nccl *n, const void *data, size_t bytes, int to);
    enum yp_status (*receive)(struct ypk_nccl *n, void *data, size_t bytes, int from);
    enum yp_status (*end)(struct ypk_nccl *n);
    enum yp_status (*combine)(struct yp_device *device, const struct ypk_nccl_combine *job);
    /* The host waits until all that the default stream was given is done. */
    enum yp_status (*wait)(struct ypk_nccl *n);
};

#ifdef __cplusplus
}
#endif
