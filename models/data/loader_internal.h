/* What the parts of the loader share; not for users of loader.h. */
#pragma once

#include "base/system/arena.h"
#include "models/data/loader.h"

#include <pthread.h>

#define YPI_LOADER_CPUS 4096
#define YPI_NO_SLOT SIZE_MAX

/* YPI_MAKING: by a worker, YPI_READY: made by one. Both are ahead, there are at most `depth` of
 * them. YPI_HELD: a consumer's, from the moment he begins to make it or finds it. */
enum ypi_loader_state { YPI_EMPTY, YPI_MAKING, YPI_READY, YPI_HELD };

struct ypi_loader_slot {
    enum ypi_loader_state state;
    size_t index;
    /* Of the thread that makes it, then of the one that takes it. */
    size_t count;
    enum yp_status status;
    char message[512];
};

struct ypi_loader_worker {
    struct data_loader *loader;
    pthread_t thread;
    double waits_since; /* for space; 0: does not */
};

struct data_loader {
    struct yp_device *device;
    struct data_loader_options o;
    size_t slot_count, depth;
    struct ypi_loader_slot *slots;
    struct ypi_loader_worker *worker;
    uint64_t *begun; /* a bit for each item of this pass, 1 also for places behind the last */
    void *data;      /* slot s at s * data_stride */
    uint8_t *labels;
    size_t data_stride, labels_stride;
    int workers;

    pthread_mutex_t lock;
    pthread_cond_t space; /* for workers: something may be made */
    pthread_cond_t made;  /* for others: a worker has finished an item */
    size_t begun_count;
    size_t cursor;              /* workers go on from here */
    size_t ahead, making, held; /* slots; `held` counts takes that wait too */
    bool rewinding, closing;
    struct data_loader_statistics seen;
};

/* ---- memory ---- */

/* Sets the loader's places; the limits of the options keep one item below 2^64 bytes. */
void ypi_loader_lay_out(struct data_loader *l, struct ypi_arena *arena);

/* ---- items: with the lock but for ypi_loader_make() ---- */

/* Nothing is begun, and all slots are empty. */
void ypi_loader_begin_pass(struct data_loader *l);

static inline bool ypi_loader_is_begun(const struct data_loader *l, size_t index)
{
    return (l->begun[index / 64] >> (index % 64) & 1) != 0;
}

/* The first item from the cursor on, and then from 0, that nobody has begun. There is one. */
size_t ypi_loader_next(const struct data_loader *l);

/* The slot that holds the item, or YPI_NO_SLOT. */
size_t ypi_loader_find_slot(const struct data_loader *l, size_t index);

static inline void *ypi_loader_data_of(const struct data_loader *l, size_t slot)
{
    return (char *)l->data + slot * l->data_stride;
}

static inline uint8_t *ypi_loader_labels_of(const struct data_loader *l, size_t slot)
{
    return l->labels != NULL ? l->labels + slot * l->labels_stride : NULL;
}

/* An empty slot for this item. There always is one: ahead < depth, or held <= consumers. */
size_t ypi_loader_begin(struct data_loader *l, size_t index, enum ypi_loader_state state);

/* Without the lock: the slot is this thread's. yp_last_error() is a thread's own, so the message
 * waits in the slot. Returns the seconds it took. */
double ypi_loader_make(struct data_loader *l, size_t at);

void ypi_loader_stop_clock(struct ypi_loader_worker *w); /* of a worker's waiting */

/* ---- workers ---- */

/* As many as the system gives. YP_INVALID when it is a processor of the list that fails. */
enum yp_status ypi_loader_start(struct data_loader *l);
