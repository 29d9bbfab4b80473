/* Streams of items: made ahead by worker threads, in bounded memory, taken in any order.
 *
 * The counterpart of a data loader with `num_workers`. What an item is comes from a callback, so
 * generators and files both feed it: item `index` must be a function of `index` alone (and of what
 * `arg` says for the whole pass). The data are then the same for any number of workers, any depth
 * and any order of taking.
 *
 * A pass is every index of 0 .. items - 1 taken once. Workers make the items that come after the
 * one asked for last, at most `depth` of them that nobody has taken yet. Whoever asks for an item
 * that no worker has begun makes it himself instead of waiting; he waits only for one that a worker
 * is making at that moment. So no order of requests, from however many threads, can lock up, and a
 * consumer that is faster than the workers helps them. Ascending order (in each of several parts
 * too) makes best use of what was made ahead; for a shuffled pass let the callback permute. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yieldpoint/device.h>

#define DATA_LOADER_WORKERS 1024 /* at most */

/* Makes item `index`, such as a tile, a sequence or a graph: sets *count, how many elements
 * (pixels, tokens, ...) it has (0 to options.elements; 0 on entry), and writes data, (count)
 * elements, and labels, (count) bytes, NULL unless they are wanted. Both have the capacity of
 * options.elements. Called once for each index and pass, from workers and from those who take,
 * several at once and in any order. What is not YP_OK, with yp_set_error(), becomes the answer to
 * the thread that takes this index. It must not call the loader. */
typedef enum yp_status data_fill(void *arg, size_t index, void *data, uint8_t *labels,
                                 size_t *count);

struct data_loader_options {
    size_t items;         /* 1 to 2^40 */
    size_t elements;      /* of an item at most, 1 to 2^32 - 1 */
    size_t element_bytes; /* of one, 1 to 2^32; a pixel of C floats has 4 C */
    int workers;          /* threads; 0: none, each item is made by the one who takes it */
    size_t depth;         /* items ahead, 1 to 4096; without workers it means nothing */
    size_t consumers;     /* items taken and not given back at the same time, 1 to 4096 */
    bool labels;          /* whether labels are wanted, a byte for each element */
    /* Worker w is bound to cpus[w % cpu_count]. NULL: to the processors of the process in turn
     * (those that any of its threads may use now), ascending, when there are several workers and
     * several of them; a single worker goes where the system puts it. Read at creation only. */
    const int *cpus;
    size_t cpu_count;
    data_fill *fill;
    void *arg; /* of fill */
};

struct data_loader;

/* The bytes that data_loader_create() takes from the device, exactly; 0 with yp_last_error() set
 * when an option is not allowed. It holds depth + consumers items (consumers without
 * workers), each of data and labels rounded up to 64 bytes and 1 KiB at most for its state, a bit
 * for each item of a pass, 24 bytes for each worker, and 1 KiB at most for the loader itself and
 * for rounding these up to 64 bytes. Nothing else is taken later; stacks of threads are the
 * system's. */
size_t data_loader_bytes(const struct data_loader_options *options);

/* Takes the memory in one block, starts the workers, and these begin with item 0. When the system
 * gives fewer threads than asked for, fewer work: data_loader_workers() says how many. NULL with
 * yp_last_error() set: an option is not allowed, a processor of `cpus` is not to be had, the device
 * is not host memory, out of memory. */
struct data_loader *data_loader_create(struct yp_device *device,
                                       const struct data_loader_options *options);

/* At any time, but while another call is going on; waits until the items that are being made are
 * done. What was taken is gone. NULL is allowed. */
void data_loader_destroy(struct data_loader *loader);

/* An item that was taken. `data`, (count) elements, and `labels`, (count) or NULL, are the
 * loader's; until the item is given back they are the taker's alone, who may change them. */
struct data_item {
    size_t index, count;
    void *data;
    uint8_t *labels;
};

/* Item `index`, to be given back. Any thread may take, several at once. YP_INVALID: there is no
 * such item, it was taken in this pass already, `consumers` items are held. Else what `fill` said,
 * with its message; nothing is held then, and the index counts as taken. */
enum yp_status data_loader_take(struct data_loader *loader, size_t index, struct data_item *item);

/* From any thread; *item is cleared. YP_INVALID when it is not one that is held. */
enum yp_status data_loader_give_back(struct data_loader *loader, struct data_item *item);

/* Begins the next pass, wherever this one stands; what was made ahead is dropped, and what is being
 * made is waited for. No take may be going on. What `fill` reads may be changed before, once all
 * items of the pass have been taken; earlier workers may be reading it. YP_INVALID when an item is
 * held. */
enum yp_status data_loader_rewind(struct data_loader *loader);

int data_loader_workers(const struct data_loader *loader); /* that were started */

/* What happened since creation, over all passes; seconds are summed over threads. */
struct data_loader_statistics {
    uint64_t ready;  /* takes that found their item made, */
    uint64_t waited; /* that waited for the worker making it, */
    uint64_t helped; /* that made it themselves; the three are all takes of items there are */
    uint64_t made;   /* by workers, with those that a rewind dropped */
    double consumer_waiting, consumer_making; /* in takes */
    double worker_making;
    double worker_waiting; /* for capacity, as long as there were items to make */
    size_t max_items;      /* in memory at once */
    int bound;             /* workers on a processor of their own */
};

void data_loader_statistics(struct data_loader *loader, struct data_loader_statistics *out);
