/* Items worked on in parallel, in any order, and merged one at a time, in the order of their
 * indices: the result has the same bits for every number of workers. */
#pragma once

#include <stddef.h>
#include <yieldpoint/device.h>

/* Where an item is worked on. */
struct ypi_work_item {
    int worker;   /* whose scratch memory is free to use, 0 to workers - 1 */
    int slot;     /* where its result goes, 0 to workers (1 + spare) - 1: the worker's own */
    size_t index; /* of the item */
};

/* Works on one item. What is not YP_OK, with yp_set_error(), ends the pass. */
typedef enum yp_status ypi_pass_work(void *arg, struct ypi_work_item item);
/* Takes over what the slot holds; one call at a time, in the order of items. */
typedef void ypi_pass_merge(void *arg, int slot);

struct ypi_pass {
    size_t first; /* items before this one are others', as of other ranks (data_share_of()) */
    size_t items; /* indices are first .. first + items - 1 */
    int workers;  /* OpenMP threads, 1 and more */
    int spare;    /* slots beyond one a worker, 0 or 1: so many of its items may wait for others */
    ypi_pass_work *work;
    ypi_pass_merge *merge; /* NULL: nothing to merge */
    void *arg;             /* of both */
};

/* On failure the status and the message (yp_last_error()) are those of the first failing item, in
 * the order of indices, and no item from that one on was merged. Items begin in that order; inside
 * one, omp_get_max_threads() is 1. Takes no accounted memory. */
enum yp_status ypi_pass_run(const struct ypi_pass *pass);
