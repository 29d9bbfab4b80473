/*
 * Streams of tiles: made ahead by worker threads, in bounded memory, taken in any order.
 *
 * The counterpart of a data loader with `num_workers`. What a tile is comes from a callback, so
 * scenes and files both feed it: tile `index` must be a function of `index` alone (and of what
 * `arg` says for the whole pass). The data are then the same for any number of workers, any depth
 * and any order of taking.
 *
 * A pass is every index of 0 .. tiles - 1 taken once. Workers make the tiles that come after the
 * one asked for last, at most `depth` of them that nobody has taken yet. Whoever asks for a tile
 * that no worker has begun makes it himself instead of waiting; he waits only for one that a worker
 * is making at that moment. So no order of requests, from however many threads, can lock up, and a
 * consumer that is faster than the workers helps them. Ascending order (in each of several parts
 * too) makes best use of what was made ahead; for a shuffled pass let the callback permute.
 */
#ifndef YIELDPOINT_SYNTH_LOADER_H
#define YIELDPOINT_SYNTH_LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yieldpoint/device.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SYNTH_LOADER_WORKERS 1024 /* the most */

/*
 * Makes tile `index`: sets *pixels (0 to tile_pixels; 0 on entry) and writes values, (pixels,
 * channels), and labels, (pixels), NULL unless they are wanted. Both are room for tile_pixels.
 * Called once for each index and pass, from workers and from those who take, several at once and in
 * any order. What is not YP_OK, with yp_set_error(), becomes the answer to whoever takes this
 * index. It must not call the loader.
 */
typedef enum yp_status synth_fill(void *arg, size_t index, float *values, uint8_t *labels,
                                  size_t *pixels);

struct synth_loader_options {
    size_t tiles;       /* 1 to 2^40 */
    size_t tile_pixels; /* the most of a tile, 1 to 2^32 - 1 */
    size_t channels;    /* 1 to 2^30 */
    int workers;        /* threads; 0: none, each tile is made by the one who takes it */
    size_t depth;       /* tiles ahead, 1 to 4096; without workers it means nothing */
    size_t consumers;   /* tiles taken and not given back at the same time, 1 to 4096 */
    bool labels;        /* whether labels are wanted */
    /* Worker w is bound to cpus[w % cpu_count]. NULL: to the processors of the process in turn
     * (those that any of its threads may use now), ascending, when there are several workers and
     * several of them; a single worker goes where the system puts it. Read at creation only. */
    const int *cpus;
    size_t cpu_count;
    synth_fill *fill;
    void *arg; /* of fill */
};

struct synth_loader;

/* The bytes that synth_loader_create() takes from the device, exactly; 0 with yp_last_error() set
 * when an option is not allowed. It is room for depth + consumers tiles (consumers without
 * workers), each of values and labels rounded up to 64 bytes and 1 KiB at most for its state, a bit
 * for each tile of a pass, 24 bytes for each worker, and 1 KiB at most for the loader itself and
 * for rounding these up to 64 bytes. Nothing else is taken later; stacks of threads are the
 * system's. */
size_t synth_loader_bytes(const struct synth_loader_options *options);

/* Takes the memory in one block, starts the workers, and these begin with tile 0. When the system
 * gives fewer threads than asked for, fewer work: synth_loader_workers() says how many. NULL with
 * yp_last_error() set: an option is not allowed, a processor of `cpus` is not to be had, the device
 * is not host memory, out of memory. */
struct synth_loader *synth_loader_create(struct yp_device *device,
                                         const struct synth_loader_options *options);

/* At any time, but while another call is going on; waits until the tiles that are being made are
 * done. What was taken is gone. NULL is allowed. */
void synth_loader_destroy(struct synth_loader *loader);

/* A tile that was taken. `values`, (pixels, channels), and `labels`, (pixels) or NULL, are the
 * loader's; until the tile is given back they are the taker's alone, who may change them. */
struct synth_tile {
    size_t index, pixels;
    float *values;
    uint8_t *labels;
};

/* Tile `index`, to be given back. Any thread may take, several at once. YP_INVALID: there is no
 * such tile, it was taken in this pass already, `consumers` tiles are held. Else what `fill` said,
 * with its message; nothing is held then, and the index counts as taken. */
enum yp_status synth_loader_take(struct synth_loader *loader, size_t index,
                                 struct synth_tile *tile);

/* From any thread; *tile is cleared. YP_INVALID when it is not one that is held. */
enum yp_status synth_loader_give_back(struct synth_loader *loader, struct synth_tile *tile);

/* Begins the next pass, wherever this one stands; what was made ahead is dropped, and what is being
 * made is waited for. No take may be going on. What `fill` reads may be changed before, once all
 * tiles of the pass have been taken; earlier workers may be reading it. YP_INVALID when a tile is
 * held. */
enum yp_status synth_loader_rewind(struct synth_loader *loader);

int synth_loader_workers(const struct synth_loader *loader); /* that were started */

/* What happened since creation, over all passes; seconds are summed over threads. */
struct synth_loader_statistics {
    uint64_t ready;  /* takes that found their tile made, */
    uint64_t waited; /* that waited for the worker making it, */
    uint64_t helped; /* that made it themselves; the three are all takes of tiles there are */
    uint64_t made;   /* by workers, with those that a rewind dropped */
    double consumer_waiting, consumer_making; /* in takes */
    double worker_making;
    double worker_waiting; /* for room, as long as there were tiles to make */
    size_t most_tiles;     /* in memory at once */
    int bound;             /* workers on a processor of their own */
};

void synth_loader_statistics(struct synth_loader *loader, struct synth_loader_statistics *out);

#ifdef __cplusplus
}
#endif

#endif
