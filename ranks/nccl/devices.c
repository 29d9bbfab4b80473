#include "ranks/nccl/devices.h"

#include "base/heap/heap.h"
#include "base/text/text.h"
#include "device/backend.h"
#include "ranks/engine.h"
#include "ranks/nccl/nccl_plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yieldpoint/plugin.h>

enum {
    TEXT = 512,
    NAME = 64,
    SEVERAL_RANKS = 23000, /* the version since which a device may be that of several */
};
#define ROLL_CALL_SECONDS 5 /* in which those that are there answer */
#define SHARING "NCCL_MULTI_RANK_GPU_ENABLE"

struct ypk_devices {
    struct ypk_communicator *all;
    struct yp_device *device;
    const struct ypk_nccl_table *nccl; /* NULL: one rank */
    struct ypk_nccl *own;
    char engine[NAME];
    char *shared; /* NULL: no device is */
    uint64_t calls;
    struct ypk_call last;
    enum yp_status broken; /* YP_OK: they are not */
    char *why;
};

/* -- joining ------------------------------------------------------------------------------------
 */

/* What a rank says of itself before it joins, and of how that went. */
struct introduction {
    int64_t status;
    int64_t version;
    int64_t node;
    char device[NAME];     /* its place on the bus; "": not known */
    char text[TEXT];       /* of the status */
    struct ypk_nccl_id id; /* rank 0's */
};

static enum yp_status note(struct introduction *mine, enum yp_status status)
{
    mine->status = status;
    if (status != YP_OK)
        snprintf(mine->text, sizeof mine->text, "%s", yp_last_error());
    return status;
}

/* The first that has failed; of those that waited for others in vain only where none else has. */
static const struct introduction *failed_of(const struct introduction *others, int size)
{
    const struct introduction *failed = NULL;
    for (int rank = 0; rank < size; rank++) {
        if (others[rank].status == YP_OK)
            continue;
        if (others[rank].status != YP_IO)
            return &others[rank];
        failed = failed == NULL ? &others[rank] : failed;
    }
    return failed;
}

static enum yp_status all_agree(struct ypk_communicator *all, struct introduction *others,
                                const struct introduction *mine)
{
    const enum yp_status status = ypk_all_gather(all, mine, sizeof *mine, others);
    const struct introduction *failed = status == YP_OK ? failed_of(others, ypk_size(all)) : NULL;
    return failed == NULL ? status
                          : yp_set_error((enum yp_status)failed->status, "rank %d: %s",
                                         (int)(failed - others), failed->text);
}

static struct introduction introduce(struct ypk_devices *d)
{
    struct introduction mine = {.node = ypk_place_of(d->all).node};
    const struct ypi_backend *backend = d->device->backend;
    int version = 0;
    d->nccl = yp_plugin_table(YPK_NCCL_PLUGIN, sizeof *d->nccl);
    enum yp_status status = d->nccl != NULL ? d->nccl->load(&version) : yp_last_status();
    if (status == YP_OK && d->nccl != NULL && ypk_rank(d->all) == 0)
        status = d->nccl->make_id(&mine.id);
    (void)note(&mine, status);
    mine.version = version;
    if (backend->place != NULL)
        snprintf(mine.device, sizeof mine.device, "%s", backend->place(d->device));
    return mine;
}

static void version_text(int64_t version, char out[NAME])
{
    snprintf(out, NAME, "NCCL %lld.%lld.%lld", (long long)version / 10000,
             (long long)version / 100 % 100, (long long)version % 100);
}

static enum yp_status check_versions(const struct ypk_devices *d, const struct introduction *others)
{
    char theirs[NAME];
    for (int rank = 1; rank < ypk_size(d->all); rank++)
        if (others[rank].version != others[0].version) {
            version_text(others[rank].version, theirs);
            return yp_set_error(YP_UNSUPPORTED, "rank %d has %s and rank 0 %s", rank, theirs,
                                d->engine);
        }
    return YP_OK;
}

/* "ranks 0 and 2 share X of node 0", of the first two; NULL: none do. */
static char *shared_of(const struct introduction *others, int size)
{
    for (int a = 0; a < size; a++)
        for (int b = a + 1; b < size && others[a].device[0] != '\0'; b++)
            if (others[a].node == others[b].node && strcmp(others[a].device, others[b].device) == 0)
                return ypi_format("ranks %d and %d share %s of node %lld", a, b, others[a].device,
                                  (long long)others[a].node);
    return NULL;
}

static enum yp_status check_sharing(struct ypk_devices *d, const struct introduction *others)
{
    const char *wanted = getenv(SHARING);
    d->shared = shared_of(others, ypk_size(d->all));
    if (d->shared == NULL)
        return YP_OK;
    if (others[0].version < SEVERAL_RANKS)
        return yp_set_error(YP_UNSUPPORTED,
                            "%s, and %s has one rank a device: 2.30 and later can have several",
                            d->shared, d->engine);
    if (wanted != NULL && strcmp(wanted, "0") == 0)
        return yp_set_error(YP_UNSUPPORTED, "%s, and " SHARING " is 0", d->shared);
    setenv(SHARING, "1", 1);
    return YP_OK;
}

static enum yp_status join(struct ypk_devices *d, struct introduction *others)
{
    const double limit = ypk_limit(d->all);
    struct introduction mine = introduce(d);
    enum yp_status status = all_agree(d->all, others, &mine);
    if (status != YP_OK)
        return status;
    version_text(others[0].version, d->engine);
    status = check_versions(d, others); /* as all ranks find it */
    if (status == YP_OK)
        status = note(&mine, check_sharing(d, others));
    const struct ypk_nccl_id id = others[0].id;
    if (status == YP_OK)
        status = d->nccl->open(&d->own, d->device, &id, ypk_rank(d->all), ypk_size(d->all), limit);
    (void)note(&mine, status);
    /* One that has failed at once waits for those that wait for it. */
    ypk_set_limit(d->all, 2 * limit + ROLL_CALL_SECONDS);
    status = all_agree(d->all, others, &mine);
    ypk_set_limit(d->all, limit);
    return status;
}

enum yp_status ypk_devices_join(struct ypk_devices **out, struct ypk_communicator *all,
                                struct yp_device *device)
{
    YPI_HEAP_OWN;
    *out = NULL;
    if (yp_device_memory_kind(device) != YP_DEVICE)
        return yp_set_error(YP_INVALID, "ypk_devices_join: %s is no device of the ranks' own",
                            yp_device_name(device));
    struct ypk_devices *d = ypi_calloc(1, sizeof *d);
    d->all = all;
    d->device = device;
    snprintf(d->engine, sizeof d->engine, "none");
    enum yp_status status = YP_OK;
    if (ypk_size(all) > 1) {
        struct introduction *others = ypi_calloc((size_t)ypk_size(all), sizeof *others);
        status = join(d, others);
        free(others);
    }
    if (status == YP_OK) {
        *out = d;
        return YP_OK;
    }
    if (d->own != NULL)
        d->nccl->abort(d->own);
    ypk_devices_leave(d);
    return status;
}

void ypk_devices_leave(struct ypk_devices *d)
{
    YPI_HEAP_OWN;
    if (d == NULL)
        return;
    if (d->own != NULL && d->broken == YP_OK)
        (void)ypk_devices_wait(d);
    if (d->own != NULL)
        d->nccl->close(d->own);
    free(d->shared);
    free(d->why);
    free(d);
}

const char *ypk_devices_engine(const struct ypk_devices *d)
{
    return d->engine;
}

const char *ypk_devices_shared(const struct ypk_devices *d)
{
    return d->shared;
}

/* -- calls --------------------------------------------------------------------------------------
 */

/* Which ranks are not there any more: those that do not come to a barrier. An error that this rank
 * alone can have says nothing of others. */
static void call_roll(struct ypk_devices *d, enum yp_status status)
{
    if (status != YP_IO)
        return;
    char *why = ypi_strdup(yp_last_error());
    const double limit = ypk_limit(d->all);
    ypk_set_limit(d->all, limit < ROLL_CALL_SECONDS ? limit : ROLL_CALL_SECONDS);
    if (ypk_barrier(d->all) != YP_OK) {
        char *missing = ypi_strdup(yp_last_error());
        yp_set_error(status, "%s; %s", why, missing);
        free(missing);
    } else {
        yp_set_error(status, "%s; all ranks are there", why);
    }
    ypk_set_limit(d->all, limit);
    free(why);
}

/* The end of a call: what was under way after an error never ends by itself. */
static enum yp_status done(struct ypk_devices *d, enum yp_status status)
{
    ypk_tell_watch(NULL);
    if (status == YP_OK)
        return YP_OK;
    char *first = ypi_strdup(yp_last_error());
    d->nccl->abort(d->own);
    yp_set_error(status, "%s", first);
    free(first);
    call_roll(d, status);
    d->broken = status;
    d->why = ypi_strdup(yp_last_error());
    return status;
}

/* The beginning; not YP_OK: they are broken. */
static enum yp_status enter(struct ypk_devices *d, struct ypk_call call)
{
    if (d->broken != YP_OK)
        return yp_set_error(d->broken, "%s", d->why);
    call.number = ++d->calls;
    call.devices = true;
    d->last = call;
    d->nccl->set_limit(d->own, ypk_limit(d->all));
    ypk_tell_watch(&call);
    return YP_OK;
}

static enum yp_status no_rank(const struct ypk_devices *d, const char *what, int rank)
{
    return yp_set_error(YP_INVALID, "%s rank %d: the ranks are 0 to %d", what, rank,
                        ypk_size(d->all) - 1);
}

/* On the device; `to` may be `from`. */
static enum yp_status copy(const struct ypk_devices *d, void *to, const void *from, size_t bytes)
{
    return to == from || bytes == 0 ? (enum yp_status)YP_OK
                                    : yp_stream_copy(yp_device_stream(d->device), to, from, bytes);
}

enum yp_status ypk_devices_broadcast(struct ypk_devices *d, void *data, size_t bytes, int root)
{
    YPI_HEAP_OWN;
    if (root < 0 || root >= ypk_size(d->all))
        return no_rank(d, "broadcast from", root);
    if (d->own == NULL || bytes == 0)
        return YP_OK;
    const enum yp_status status =
        enter(d, (struct ypk_call){.kind = YPK_BROADCAST, .bytes = bytes, .root = root});
    return status == YP_OK ? done(d, d->nccl->broadcast(d->own, data, bytes, root)) : status;
}

enum yp_status ypk_devices_all_gather(struct ypk_devices *d, const void *mine, size_t bytes,
                                      void *all)
{
    YPI_HEAP_OWN;
    if (d->own == NULL)
        return copy(d, all, mine, bytes);
    if (bytes == 0)
        return YP_OK;
    const enum yp_status status =
        enter(d, (struct ypk_call){.kind = YPK_ALL_GATHER, .bytes = bytes});
    return status == YP_OK ? done(d, d->nccl->all_gather(d->own, mine, bytes, all)) : status;
}

enum yp_status ypk_devices_all_reduce(struct ypk_devices *d, void *data, size_t count,
                                      enum ypk_type type, enum ypk_op op)
{
    YPI_HEAP_OWN;
    if (d->own == NULL || count == 0)
        return YP_OK;
    const enum yp_status status = enter(d, (struct ypk_call){.kind = YPK_ALL_REDUCE,
                                                             .bytes = count * ypk_type_size(type),
                                                             .type = type,
                                                             .op = op});
    return status == YP_OK ? done(d, d->nccl->all_reduce(d->own, data, count, (int)type, (int)op))
                           : status;
}

enum yp_status ypk_devices_reduce_scatter(struct ypk_devices *d, const void *data, size_t count,
                                          void *mine, enum ypk_type type, enum ypk_op op)
{
    YPI_HEAP_OWN;
    const size_t bytes = count * ypk_type_size(type);
    if (d->own == NULL)
        return copy(d, mine, data, bytes);
    if (count == 0)
        return YP_OK;
    const enum yp_status status = enter(
        d, (struct ypk_call){.kind = YPK_REDUCE_SCATTER, .bytes = bytes, .type = type, .op = op});
    return status == YP_OK
               ? done(d, d->nccl->reduce_scatter(d->own, data, count, mine, (int)type, (int)op))
               : status;
}

enum yp_status ypk_devices_barrier(struct ypk_devices *d)
{
    YPI_HEAP_OWN;
    if (d->own == NULL)
        return YP_OK;
    const enum yp_status status = enter(d, (struct ypk_call){.kind = YPK_BARRIER});
    return status == YP_OK ? done(d, d->nccl->barrier(d->own)) : status;
}

enum yp_status ypk_devices_wait(struct ypk_devices *d)
{
    YPI_HEAP_OWN;
    if (d->own == NULL)
        return yp_stream_synchronize(yp_device_stream(d->device));
    if (d->broken != YP_OK)
        return yp_set_error(d->broken, "%s", d->why);
    d->nccl->set_limit(d->own, ypk_limit(d->all));
    ypk_tell_watch(&d->last);
    return done(d, d->nccl->wait(d->own));
}

/* -- messages ------------------------------------------------------------------------------------
 */

enum yp_status ypk_devices_begin(struct ypk_devices *d)
{
    YPI_HEAP_OWN;
    if (d->own == NULL)
        return YP_OK;
    const enum yp_status status = enter(d, (struct ypk_call){.kind = YPK_MESSAGES});
    return status == YP_OK ? done(d, d->nccl->begin(d->own)) : status;
}

static bool is_other(const struct ypk_devices *d, int rank)
{
    return rank >= 0 && rank < ypk_size(d->all) && rank != ypk_rank(d->all);
}

enum yp_status ypk_devices_send(struct ypk_devices *d, const void *data, size_t bytes, int to)
{
    if (!is_other(d, to))
        return no_rank(d, "message of this rank to", to);
    if (d->broken != YP_OK)
        return yp_set_error(d->broken, "%s", d->why);
    d->last.bytes += bytes;
    return bytes > 0 ? done(d, d->nccl->send(d->own, data, bytes, to)) : (enum yp_status)YP_OK;
}

enum yp_status ypk_devices_receive(struct ypk_devices *d, void *data, size_t bytes, int from)
{
    if (!is_other(d, from))
        return no_rank(d, "message to this rank from", from);
    if (d->broken != YP_OK)
        return yp_set_error(d->broken, "%s", d->why);
    return bytes > 0 ? done(d, d->nccl->receive(d->own, data, bytes, from)) : (enum yp_status)YP_OK;
}

enum yp_status ypk_devices_end(struct ypk_devices *d)
{
    YPI_HEAP_OWN;
    if (d->own == NULL)
        return YP_OK;
    if (d->broken != YP_OK)
        return yp_set_error(d->broken, "%s", d->why);
    ypk_tell_watch(&d->last);
    return done(d, d->nccl->end(d->own));
}

/* -- in the order of ranks ------------------------------------------------------------------------
 */

/* A rank's part of an array: all but the last ones have `each` bytes. */
struct parts {
    size_t each, whole;
};

static size_t first_of(const struct parts *p, int rank)
{
    const size_t at = p->each * (size_t)rank;
    return at < p->whole ? at : p->whole;
}

static size_t bytes_of(const struct parts *p, int rank)
{
    return first_of(p, rank + 1) - first_of(p, rank);
}

/* Each rank's part of the others' arrays goes to its place in `scratch`. */
static enum yp_status gather_parts(struct ypk_devices *d, const char *data, const struct parts *p,
                                   char *scratch)
{
    const int size = ypk_size(d->all), rank = ypk_rank(d->all);
    enum yp_status status =
        copy(d, scratch + p->each * (size_t)rank, data + first_of(p, rank), bytes_of(p, rank));
    if (status == YP_OK)
        status = ypk_devices_begin(d);
    for (int k = 1; k < size && status == YP_OK; k++) {
        const int to = (rank + k) % size, from = (rank + size - k) % size;
        status = ypk_devices_send(d, data + first_of(p, to), bytes_of(p, to), to);
        if (status == YP_OK)
            status =
                ypk_devices_receive(d, scratch + p->each * (size_t)from, bytes_of(p, rank), from);
    }
    return status == YP_OK ? ypk_devices_end(d) : status;
}

/* Each rank's part to all others. */
static enum yp_status spread_parts(struct ypk_devices *d, char *data, const struct parts *p)
{
    const int size = ypk_size(d->all), rank = ypk_rank(d->all);
    enum yp_status status = ypk_devices_begin(d);
    for (int k = 1; k < size && status == YP_OK; k++) {
        const int to = (rank + k) % size, from = (rank + size - k) % size;
        status = ypk_devices_send(d, data + first_of(p, rank), bytes_of(p, rank), to);
        if (status == YP_OK)
            status = ypk_devices_receive(d, data + first_of(p, from), bytes_of(p, from), from);
    }
    return status == YP_OK ? ypk_devices_end(d) : status;
}

static enum yp_status combine(struct ypk_devices *d, size_t count, size_t each, enum ypk_type type,
                              enum ypk_op op, const void *scratch, void *to)
{
    const struct ypk_nccl_combine job = {.count = count,
                                         .stride = each,
                                         .parts = (unsigned)ypk_size(d->all),
                                         .type = (int)type,
                                         .op = (int)op,
                                         .from = scratch,
                                         .to = to};
    return d->nccl->combine(d->device, &job);
}

size_t ypk_devices_scratch(const struct ypk_devices *d, size_t count)
{
    const size_t size = (size_t)ypk_size(d->all);
    return size > 1 ? (count + size - 1) / size * size : 0;
}

enum yp_status ypk_devices_all_reduce_in_order(struct ypk_devices *d, void *data, size_t count,
                                               enum ypk_type type, enum ypk_op op, void *scratch)
{
    YPI_HEAP_OWN;
    const size_t size = (size_t)ypk_size(d->all), bytes = ypk_type_size(type);
    const size_t each = (count + size - 1) / size;
    const struct parts p = {each * bytes, count * bytes};
    const int rank = ypk_rank(d->all);
    if (d->own == NULL || count == 0)
        return YP_OK;
    enum yp_status status = gather_parts(d, data, &p, scratch);
    if (status == YP_OK)
        status = combine(d, bytes_of(&p, rank) / bytes, each, type, op, scratch,
                         (char *)data + first_of(&p, rank));
    return status == YP_OK ? spread_parts(d, data, &p) : status;
}

enum yp_status ypk_devices_reduce_scatter_in_order(struct ypk_devices *d, const void *data,
                                                   size_t count, void *mine, enum ypk_type type,
                                                   enum ypk_op op, void *scratch)
{
    YPI_HEAP_OWN;
    const size_t bytes = ypk_type_size(type);
    const struct parts p = {count * bytes, count * bytes * (size_t)ypk_size(d->all)};
    if (d->own == NULL)
        return copy(d, mine, data, p.whole);
    if (count == 0)
        return YP_OK;
    enum yp_status status = gather_parts(d, data, &p, scratch);
    return status == YP_OK ? combine(d, count, count, type, op, scratch, mine) : status;
}
