#include "ranks/communicator.h"

#include "base/heap/heap.h"
#include "base/text/text.h"
#include "ranks/engine.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

/* An exchange under way: the ranks, -1 where there is none. */
struct pair {
    int to, from;
};

struct ypk_communicator {
    const struct ypk_engine *engine; /* NULL: one rank */
    void *state;
    struct ypk_place place;
    uint64_t calls;
    double limit;          /* seconds */
    enum yp_status broken; /* YP_OK: it is not */
    char *why;
    struct pair *begun; /* exchanges under way, the oldest first */
    size_t begun_count, begun_room;
};

enum yp_status ypk_join(struct ypk_communicator **out, const struct ypk_place *place,
                        const char *directory, double seconds)
{
    YPI_HEAP_OWN;
    *out = NULL;
    if (ypk_place_check(place) != YP_OK)
        return yp_last_status();
    if (!(seconds > 0))
        return yp_set_error(YP_INVALID, "ypk_join: a limit of %g s: must be above 0", seconds);
    struct ypk_communicator *c = ypi_calloc(1, sizeof *c);
    c->place = *place;
    if (place->size == 1) {
        c->place.local_rank = c->place.node = 0;
        c->place.local_size = 1;
        *out = c;
        return YP_OK;
    }
    c->engine = &ypk_mpi_engine != NULL ? &ypk_mpi_engine : &ypk_socket_engine;
    const enum yp_status status = c->engine->join(&c->state, &c->place, directory, seconds);
    if (status != YP_OK) {
        free(c);
        return status;
    }
    c->limit = seconds;
    *out = c;
    return YP_OK;
}

void ypk_leave(struct ypk_communicator *c)
{
    YPI_HEAP_OWN;
    if (c == NULL)
        return;
    if (c->engine != NULL)
        c->engine->leave(c->state);
    free(c->why);
    free(c->begun);
    free(c);
}

int ypk_rank(const struct ypk_communicator *c)
{
    return c == NULL ? 0 : c->place.rank;
}

int ypk_size(const struct ypk_communicator *c)
{
    return c == NULL ? 1 : c->place.size;
}

struct ypk_place ypk_place_of(const struct ypk_communicator *c)
{
    return c == NULL ? (struct ypk_place){.size = 1, .local_size = 1} : c->place;
}

static bool alone(const struct ypk_communicator *c)
{
    return c == NULL || c->engine == NULL;
}

const char *ypk_engine_of(const struct ypk_communicator *c)
{
    return alone(c) ? "none" : c->engine->name;
}

void *ypk_native(const struct ypk_communicator *c)
{
    return alone(c) || c->engine->native == NULL ? NULL : c->engine->native(c->state);
}

void ypk_set_limit(struct ypk_communicator *c, double seconds)
{
    if (alone(c) || !(seconds > 0))
        return;
    c->limit = seconds;
    c->engine->set_limit(c->state, seconds);
}

double ypk_limit(const struct ypk_communicator *c)
{
    return c == NULL ? 0 : c->limit;
}

/* Keeps the first error; gives it again later. */
static enum yp_status keep(struct ypk_communicator *c, enum yp_status status)
{
    if (status != YP_OK && c->broken == YP_OK) {
        c->broken = status;
        c->why = ypi_strdup(yp_last_error());
        if (c->engine->drop != NULL)
            c->engine->drop(c->state);
        c->begun_count = 0;
    }
    return status;
}

static enum yp_status broken(const struct ypk_communicator *c)
{
    return c->broken == YP_OK ? YP_OK : yp_set_error(c->broken, "%s", c->why);
}

static ypk_watch *watch; /* of this process */

void ypk_set_watch(ypk_watch *wanted)
{
    watch = wanted;
}

void ypk_tell_watch(const struct ypk_call *call)
{
    if (watch != NULL)
        watch(call, -1, -1);
}

static enum yp_status collective(struct ypk_communicator *c, struct ypk_call call)
{
    if (broken(c) != YP_OK)
        return c->broken;
    YPI_HEAP_OWN;
    call.number = ++c->calls;
    if (watch != NULL)
        watch(&call, -1, -1);
    const enum yp_status status = c->engine->collective(c->state, &call);
    if (watch != NULL)
        watch(NULL, -1, -1);
    return keep(c, status);
}

static enum yp_status exchange(struct ypk_communicator *c, const void *out, size_t out_bytes,
                               int to, void *in, size_t in_bytes, int from)
{
    if (broken(c) != YP_OK)
        return c->broken;
    if (c->begun_count > 0)
        return yp_set_error(YP_INVALID, "a message while %zu exchanges are under way",
                            c->begun_count);
    YPI_HEAP_OWN;
    if (watch != NULL)
        watch(NULL, to, from);
    const enum yp_status status =
        c->engine->exchange(c->state, out, out_bytes, to, in, in_bytes, from);
    if (watch != NULL)
        watch(NULL, -1, -1);
    return keep(c, status);
}

enum yp_status ypk_barrier(struct ypk_communicator *c)
{
    return alone(c) ? YP_OK : collective(c, (struct ypk_call){.kind = YPK_BARRIER});
}

static enum yp_status no_rank(const struct ypk_communicator *c, const char *what, int rank)
{
    return yp_set_error(YP_INVALID, "%s rank %d: the ranks are 0 to %d", what, rank,
                        ypk_size(c) - 1);
}

enum yp_status ypk_broadcast(struct ypk_communicator *c, void *data, size_t bytes, int root)
{
    if (root < 0 || root >= ypk_size(c))
        return no_rank(c, "broadcast from", root);
    return alone(c) ? YP_OK
                    : collective(c, (struct ypk_call){.kind = YPK_BROADCAST,
                                                      .bytes = bytes,
                                                      .root = root,
                                                      .in = data,
                                                      .out = data});
}

enum yp_status ypk_all_gather(struct ypk_communicator *c, const void *mine, size_t bytes, void *all)
{
    if (alone(c)) {
        if (mine != all && bytes > 0)
            memcpy(all, mine, bytes);
        return YP_OK;
    }
    return collective(
        c, (struct ypk_call){.kind = YPK_ALL_GATHER, .bytes = bytes, .in = mine, .out = all});
}

enum yp_status ypk_all_reduce(struct ypk_communicator *c, void *data, size_t count,
                              enum ypk_type type, enum ypk_op op)
{
    return alone(c) ? YP_OK
                    : collective(c, (struct ypk_call){.kind = YPK_ALL_REDUCE,
                                                      .bytes = count * ypk_type_size(type),
                                                      .type = type,
                                                      .op = op,
                                                      .in = data,
                                                      .out = data});
}

enum yp_status ypk_reduce_scatter(struct ypk_communicator *c, const void *data, size_t count,
                                  void *mine, enum ypk_type type, enum ypk_op op)
{
    const size_t bytes = count * ypk_type_size(type);
    if (alone(c)) {
        if (bytes > 0)
            memcpy(mine, data, bytes);
        return YP_OK;
    }
    return collective(c, (struct ypk_call){.kind = YPK_REDUCE_SCATTER,
                                           .bytes = bytes,
                                           .type = type,
                                           .op = op,
                                           .in = data,
                                           .out = mine});
}

enum yp_status ypk_exchange(struct ypk_communicator *c, const void *out, size_t out_bytes, int to,
                            void *in, size_t in_bytes, int from)
{
    if (to < 0 || to >= ypk_size(c) || to == ypk_rank(c))
        return no_rank(c, "message of this rank to", to);
    if (from < 0 || from >= ypk_size(c) || from == ypk_rank(c))
        return no_rank(c, "message to this rank from", from);
    return exchange(c, out, out_bytes, to, in, in_bytes, from);
}

enum yp_status ypk_send(struct ypk_communicator *c, const void *data, size_t bytes, int to)
{
    if (to < 0 || to >= ypk_size(c) || to == ypk_rank(c))
        return no_rank(c, "message of this rank to", to);
    return exchange(c, data, bytes, to, NULL, 0, -1);
}

enum yp_status ypk_receive(struct ypk_communicator *c, void *data, size_t bytes, int from)
{
    if (from < 0 || from >= ypk_size(c) || from == ypk_rank(c))
        return no_rank(c, "message to this rank from", from);
    return exchange(c, NULL, 0, -1, data, bytes, from);
}

static void note_begun(struct ypk_communicator *c, int to, int from)
{
    if (c->begun_count == c->begun_room) {
        c->begun_room = 2 * c->begun_room + 16;
        c->begun = ypi_realloc(c->begun, c->begun_room, sizeof *c->begun);
    }
    c->begun[c->begun_count++] = (struct pair){to, from};
}

enum yp_status ypk_begin_exchange(struct ypk_communicator *c, const void *out, size_t out_bytes,
                                  int to, void *in, size_t in_bytes, int from)
{
    if (to < -1 || to >= ypk_size(c) || to == ypk_rank(c))
        return no_rank(c, "message of this rank to", to);
    if (from < -1 || from >= ypk_size(c) || from == ypk_rank(c))
        return no_rank(c, "message to this rank from", from);
    if (alone(c))
        return YP_OK;
    if (broken(c) != YP_OK)
        return c->broken;
    YPI_HEAP_OWN;
    const enum yp_status status =
        c->engine->begin != NULL
            ? c->engine->begin(c->state, out, out_bytes, to, in, in_bytes, from)
            : c->engine->exchange(c->state, out, out_bytes, to, in, in_bytes, from);
    if (status == YP_OK)
        note_begun(c, to, from);
    return keep(c, status);
}

enum yp_status ypk_progress(struct ypk_communicator *c)
{
    if (alone(c))
        return YP_OK;
    if (broken(c) != YP_OK)
        return c->broken;
    if (c->begun_count == 0 || c->engine->progress == NULL)
        return YP_OK;
    YPI_HEAP_OWN;
    return keep(c, c->engine->progress(c->state));
}

enum yp_status ypk_end_exchange(struct ypk_communicator *c)
{
    if (alone(c))
        return YP_OK;
    if (broken(c) != YP_OK)
        return c->broken;
    if (c->begun_count == 0)
        return yp_set_error(YP_INVALID, "no exchange is under way");
    YPI_HEAP_OWN;
    const struct pair oldest = c->begun[0];
    if (watch != NULL)
        watch(NULL, oldest.to, oldest.from);
    const enum yp_status status = c->engine->end != NULL ? c->engine->end(c->state) : YP_OK;
    if (watch != NULL)
        watch(NULL, -1, -1);
    if (status == YP_OK)
        memmove(c->begun, c->begun + 1, --c->begun_count * sizeof *c->begun);
    return keep(c, status);
}

void *ypk_allocate(struct ypk_communicator *c, size_t bytes)
{
    YPI_HEAP_OWN;
    if (!alone(c) &&
        collective(c, (struct ypk_call){.kind = YPK_ALLOCATE, .bytes = bytes}) != YP_OK)
        return NULL;
    if (!alone(c) && c->engine->allocate != NULL) {
        void *memory = c->engine->allocate(c->state, bytes);
        if (memory == NULL)
            keep(c, yp_last_status());
        return memory;
    }
    const size_t size = (bytes / ALIGNMENT + 1) * ALIGNMENT;
    void *memory = size < bytes ? NULL : aligned_alloc(ALIGNMENT, size);
    if (memory == NULL) {
        yp_set_error(YP_OUT_OF_MEMORY, "out of memory: %zu bytes for the ranks' data", bytes);
        return NULL;
    }
    return memset(memory, 0, size);
}

enum yp_status ypk_free(struct ypk_communicator *c, void *memory)
{
    YPI_HEAP_OWN;
    enum yp_status status = YP_OK;
    if (!alone(c))
        status = collective(c, (struct ypk_call){.kind = YPK_FREE});
    if (alone(c) || c->engine->release == NULL)
        free(memory);
    else if (status == YP_OK)
        status = keep(c, c->engine->release(c->state, memory));
    return status;
}
