/* One rank of those that work together by NCCL. No call blocks: each waits as long as the limit
 * says and not longer. */
#include "ranks/communicator.h"
#include "ranks/nccl/library.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const struct yp_plugin_host *ypk_nccl_host;

struct ypk_nccl {
    const struct ypk_nccl_library *library;
    struct yp_device *device;
    ypk_nccl_comm comm;
    double limit;           /* seconds */
    volatile unsigned *now; /* page-locked: the last mark that the stream came to */
    unsigned marks;
    struct yp_event *event; /* is recorded to see whether the device works at all */
    void *word;             /* of the device, for barriers */
    const char *doing;      /* the operation that was begun last */
    bool in_group;
};

/* What a wait looks at: NCCL's state now and then, since each look is a call. */
#define LOOK_SECONDS 1e-3
#define DEVICE_LOOK_SECONDS 0.1
#define SPIN_SECONDS 1e-4 /* after which it sleeps between looks */
enum { SLEEP_NANOSECONDS = 20000, WORD = 64 /* bytes */ };

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void rest(double since)
{
    static const struct timespec period = {.tv_nsec = SLEEP_NANOSECONDS};
    if (since < SPIN_SECONDS)
        sched_yield();
    else
        nanosleep(&period, NULL);
}

/* -- what results mean ------------------------------------------------------------------------ */

static enum yp_status status_of(int result)
{
    switch (result) {
    case YPK_NCCL_SUCCESS:
    case YPK_NCCL_IN_PROGRESS:
        return YP_OK;
    case YPK_NCCL_INVALID_ARGUMENT:
    case YPK_NCCL_INVALID_USAGE:
        return YP_INVALID;
    case YPK_NCCL_SYSTEM_ERROR:
    case YPK_NCCL_REMOTE_ERROR:
        return YP_IO;
    default:
        return YP_DEVICE_FAULT;
    }
}

static enum yp_status check(const struct ypk_nccl *n, const char *what, int result)
{
    const enum yp_status status = status_of(result);
    const char *more = NULL;
    if (status == YP_OK)
        return YP_OK;
    if (n->library->last_error != NULL)
        more = n->library->last_error(n->comm);
    const bool has_more = more != NULL && more[0] != '\0';
    return ypk_nccl_host->set_error(status, "NCCL: %s: %s%s%s", what,
                                    n->library->error_string(result), has_more ? ": " : "",
                                    has_more ? more : "");
}

/* -- waits ------------------------------------------------------------------------------------ */

/* NCCL's own threads do what a call began; until then there may be no other call. */
static enum yp_status settle(const struct ypk_nccl *n, const char *what, int result)
{
    const double begun = seconds_now();
    enum yp_status status = check(n, what, result);
    int state = result;
    while (status == YP_OK && state == YPK_NCCL_IN_PROGRESS) {
        const double since = seconds_now() - begun;
        if (since > n->limit)
            return ypk_nccl_host->set_error(YP_IO, "NCCL: %s has not begun after %g s", what,
                                            n->limit);
        rest(since);
        status = check(n, what, n->library->async_error(n->comm, &state));
        if (status == YP_OK)
            status = check(n, what, state);
    }
    return status;
}

/* An error of NCCL's, or a device that has failed: an event cannot be recorded then. */
static enum yp_status look(const struct ypk_nccl *n, bool at_device)
{
    int state = YPK_NCCL_SUCCESS;
    enum yp_status status = check(n, n->doing, n->library->async_error(n->comm, &state));
    if (status == YP_OK)
        status = check(n, n->doing, state);
    return status == YP_OK && at_device
               ? ypk_nccl_host->event_record(n->event, ypk_nccl_host->default_stream(n->device))
               : status;
}

static enum yp_status wait_for_stream(struct ypk_nccl *n)
{
    const struct ypk_nccl_mark mark = {n->now, ++n->marks};
    const double begun = seconds_now();
    double looked = begun, looked_at_device = begun;
    enum yp_status status = ypk_nccl_set_mark(n->device, &mark);
    while (status == YP_OK && *n->now != n->marks) {
        const double now = seconds_now();
        if (now - begun > n->limit)
            return ypk_nccl_host->set_error(YP_IO, "NCCL: the work up to %s is not done after %g s",
                                            n->doing, n->limit);
        if (now - looked > LOOK_SECONDS) {
            const bool at_device = now - looked_at_device > DEVICE_LOOK_SECONDS;
            status = look(n, at_device);
            looked = now;
            looked_at_device = at_device ? now : looked_at_device;
        }
        rest(now - begun);
    }
    return status == YP_OK ? look(n, false) : status;
}

/* -- joining and leaving ------------------------------------------------------------------------
 */

static enum yp_status load(int *version)
{
    const struct ypk_nccl_library *library = ypk_nccl_functions();
    *version = library != NULL ? library->version : 0;
    return library != NULL ? YP_OK : YP_UNSUPPORTED;
}

static enum yp_status make_id(struct ypk_nccl_id *out)
{
    const struct ypk_nccl none = {.library = ypk_nccl_functions()};
    return none.library != NULL ? check(&none, "an id", none.library->unique_id(out))
                                : YP_UNSUPPORTED;
}

static void abort_all(struct ypk_nccl *n)
{
    if (n->in_group)
        (void)n->library->group_end();
    n->in_group = false;
    if (n->comm != NULL)
        (void)n->library->abort(n->comm);
    n->comm = NULL;
}

static void release(struct ypk_nccl *n)
{
    if (n->event != NULL)
        ypk_nccl_host->event_destroy(n->event);
    if (n->word != NULL)
        ypk_nccl_host->free(n->device, n->word);
    if (n->now != NULL)
        ypk_nccl_host->free_pinned(n->device, (void *)(uintptr_t)n->now);
    free(n);
}

/* Operations are done before it is destroyed; a rank that does not come any more does not hold this
 * one up. */
static void close_all(struct ypk_nccl *n)
{
    if (n == NULL)
        return;
    n->doing = "leaving";
    if (n->comm != NULL && settle(n, n->doing, n->library->finalize(n->comm)) != YP_OK)
        abort_all(n);
    if (n->comm != NULL)
        (void)n->library->destroy(n->comm);
    release(n);
}

static enum yp_status open_all(struct ypk_nccl **out, struct yp_device *device,
                               const struct ypk_nccl_id *id, int rank, int size, double seconds)
{
    struct ypk_nccl_config config = {sizeof config, YPK_NCCL_MAGIC, YPK_NCCL_LEAST, 0};
    struct ypk_nccl *n = calloc(1, sizeof *n);
    *out = NULL;
    if (n == NULL)
        return ypk_nccl_host->set_error(YP_OUT_OF_MEMORY, "NCCL: out of memory");
    n->library = ypk_nccl_functions();
    n->device = device;
    n->limit = seconds;
    n->doing = "joining the other ranks";
    enum yp_status status = n->library != NULL ? YP_OK : YP_UNSUPPORTED;
    if (status == YP_OK) {
        n->now = ypk_nccl_host->alloc_pinned(device, WORD);
        n->event = ypk_nccl_host->event_create(device);
        n->word = ypk_nccl_host->alloc(device, WORD);
        if (n->now == NULL || n->event == NULL || n->word == NULL)
            status = YP_OUT_OF_MEMORY; /* the error is set */
    }
    if (status == YP_OK) {
        *n->now = 0;
        status = settle(n, n->doing, n->library->init(&n->comm, size, *id, rank, &config));
    }
    if (status == YP_OK) {
        *out = n;
        return YP_OK;
    }
    abort_all(n);
    release(n);
    return status;
}

static void set_limit(struct ypk_nccl *n, double seconds)
{
    n->limit = seconds;
}

/* -- operations ---------------------------------------------------------------------------------
 */

static void *stream_of(const struct ypk_nccl *n)
{
    return ypk_nccl_host->stream(n->device);
}

static int type_of(int type)
{
    return type == YPK_FLOAT    ? YPK_NCCL_FLOAT32
           : type == YPK_DOUBLE ? YPK_NCCL_FLOAT64
                                : YPK_NCCL_INT64;
}

static int op_of(int op)
{
    return op == YPK_SUM ? YPK_NCCL_SUM : op == YPK_MAX ? YPK_NCCL_MAX : YPK_NCCL_MIN;
}

static enum yp_status barrier(struct ypk_nccl *n)
{
    n->doing = "barrier";
    return settle(n, n->doing,
                  n->library->all_reduce(n->word, n->word, 1, YPK_NCCL_INT64, YPK_NCCL_MAX, n->comm,
                                         stream_of(n)));
}

static enum yp_status broadcast(struct ypk_nccl *n, void *data, size_t bytes, int root)
{
    n->doing = "broadcast";
    return settle(
        n, n->doing,
        n->library->broadcast(data, data, bytes, YPK_NCCL_INT8, root, n->comm, stream_of(n)));
}

static enum yp_status all_gather(struct ypk_nccl *n, const void *mine, size_t bytes, void *all)
{
    n->doing = "all-gather";
    return settle(n, n->doing,
                  n->library->all_gather(mine, all, bytes, YPK_NCCL_INT8, n->comm, stream_of(n)));
}

static enum yp_status all_reduce(struct ypk_nccl *n, void *data, size_t count, int type, int op)
{
    n->doing = "all-reduce";
    return settle(
        n, n->doing,
        n->library->all_reduce(data, data, count, type_of(type), op_of(op), n->comm, stream_of(n)));
}

static enum yp_status reduce_scatter(struct ypk_nccl *n, const void *data, size_t count, void *mine,
                                     int type, int op)
{
    n->doing = "reduce-scatter";
    return settle(n, n->doing,
                  n->library->reduce_scatter(data, mine, count, type_of(type), op_of(op), n->comm,
                                             stream_of(n)));
}

static enum yp_status begin(struct ypk_nccl *n)
{
    n->doing = "messages";
    const enum yp_status status = check(n, n->doing, n->library->group_start());
    n->in_group = status == YP_OK;
    return status;
}

static enum yp_status send_to(struct ypk_nccl *n, const void *data, size_t bytes, int to)
{
    return check(n, n->doing,
                 n->library->send(data, bytes, YPK_NCCL_INT8, to, n->comm, stream_of(n)));
}

static enum yp_status receive_from(struct ypk_nccl *n, void *data, size_t bytes, int from)
{
    return check(n, n->doing,
                 n->library->receive(data, bytes, YPK_NCCL_INT8, from, n->comm, stream_of(n)));
}

static enum yp_status end(struct ypk_nccl *n)
{
    n->in_group = false;
    return settle(n, n->doing, n->library->group_end());
}

static const struct ypk_nccl_table table = {
    .load = load,
    .make_id = make_id,
    .open = open_all,
    .set_limit = set_limit,
    .abort = abort_all,
    .close = close_all,
    .barrier = barrier,
    .broadcast = broadcast,
    .all_gather = all_gather,
    .all_reduce = all_reduce,
    .reduce_scatter = reduce_scatter,
    .begin = begin,
    .send = send_to,
    .receive = receive_from,
    .end = end,
    .combine = ypk_nccl_combine_parts,
    .wait = wait_for_stream,
};

YP_PLUGIN(YPK_NCCL_PLUGIN, table, ypk_nccl_host)
