/*
 * Copies data from the host to a device, item by item: an item is copied while the device works on
 * the one before. An item is up to YPI_STAGING_ARRAYS arrays of bytes, which only the caller
 * interprets.
 *
 *     ypi_staging_open(&s, device, YPI_STAGING_OVERLAPPED, bytes, 2);  takes host memory
 *     s.on_device[slot][array] = ...;                                  device memory of the caller
 *     ypi_staging_begin(&s);
 *     ypi_staging_run(&s, &(struct ypi_staging_run){items, produce, use, arg});
 *     ypi_staging_close(&s);
 */
#pragma once

#include <yieldpoint/device.h>

enum ypi_staging_mode {
    YPI_STAGING_NONE, /* producers write to the device's memory themselves: nothing is copied */
    YPI_STAGING_OVERLAPPED, /* on a stream of its own, from and to one of two slots in turns */
    YPI_STAGING_SEQUENTIAL  /* first copied, then used, one item after the other */
};

enum { YPI_STAGING_SLOTS = 2, YPI_STAGING_ARRAYS = 4 };

/* One array of the item at hand. */
struct ypi_staged {
    /* Where a producer may write up to the array's bytes: page-locked memory of the host, with
     * YPI_STAGING_NONE the device's; NULL where there is none (on_device is NULL, or the array has
     * no bytes). */
    void *buffer;
    /* What the item is: begins as `buffer`; a producer may point it to memory of its own, which
     * need stay as it is until it is asked for the next item only. To users: on the device. */
    const void *data;
    size_t bytes; /* the producer's to set, begins as 0: nothing of this array is copied */
};

/* Item `index` as arrays; called by the caller's thread, for one index after the other. */
typedef enum yp_status ypi_staging_produce(void *arg, size_t index, struct ypi_staged *arrays);
/* Launches the work on an item on the device's default stream. */
typedef enum yp_status ypi_staging_use(void *arg, size_t index, const struct ypi_staged *arrays);

struct ypi_staging_run {
    size_t items;
    ypi_staging_produce *produce;
    ypi_staging_use *use;
    void *arg;
    const bool *stop; /* NULL, or whether the item at hand is the last */
};

struct ypi_staging {
    struct yp_device *device;
    enum ypi_staging_mode mode;
    size_t arrays, bytes[YPI_STAGING_ARRAYS]; /* of each array at most */
    /* The caller's, of `bytes` each, to be set before the first run; NULL: no such array. */
    void *on_device[YPI_STAGING_SLOTS][YPI_STAGING_ARRAYS];
    void *on_host[YPI_STAGING_SLOTS][YPI_STAGING_ARRAYS]; /* page-locked, in `block` */
    void *block;
    struct yp_stream *copies; /* with YPI_STAGING_OVERLAPPED, as the rest */
    struct yp_event *begun;   /* of the run, on the default stream */
    struct yp_event *copied[YPI_STAGING_SLOTS],
        *used[YPI_STAGING_SLOTS]; /* the last item of the slot */
};

/* How many items need memory on the device at the same time. */
size_t ypi_staging_slots(enum ypi_staging_mode mode);

/* Page-locked memory that ypi_staging_open() takes with the same arguments. */
size_t ypi_staging_pinned_bytes(enum ypi_staging_mode mode, const size_t *bytes, size_t arrays);

/* `bytes` has `arrays` sizes, 0 for an array that is not there. `device` is no CPU unless nothing
 * is copied. On failure nothing is held. */
enum yp_status ypi_staging_open(struct ypi_staging *s, struct yp_device *device,
                                enum ypi_staging_mode mode, const size_t *bytes, size_t arrays);
/* Waits for copies. Allowed on zeros. */
void ypi_staging_close(struct ypi_staging *s);

/* Copies of the next run wait for the work that the default stream has so far: they belong to what
 * is measured, and earlier work may still read the slots. */
enum yp_status ypi_staging_begin(struct ypi_staging *s);

/* Runs all items. The first error of a function or of the device ends the run and is returned, with
 * its message; no copy is going on then. */
enum yp_status ypi_staging_run(struct ypi_staging *s, const struct ypi_staging_run *run);
