/* One pass over a source: tiles in parallel, their results in order. */
#include "models/rx/internal.h"

#include <assert.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define LINE ((size_t)64)

/* The limits on arguments keep every size below 2^60. */
static_assert(SIZE_MAX == UINT64_MAX, "sizes are counted in 64 bits");

enum yp_status ypi_rx_check(const char *what, size_t channels, size_t tile_pixels, int *threads)
{
    if (channels == 0 || channels > RX_MAX_CHANNELS)
        return yp_set_error(YP_INVALID, "%s: channels is %zu, allowed are 1 to %d", what, channels,
                            RX_MAX_CHANNELS);
    if (tile_pixels == 0 || tile_pixels > UINT32_MAX)
        return yp_set_error(YP_INVALID, "%s: tile_pixels is %zu, allowed are 1 to %u", what,
                            tile_pixels, UINT32_MAX);
    if (*threads < 0 || *threads > RX_MAX_THREADS)
        return yp_set_error(YP_INVALID, "%s: threads is %d, allowed are 0 (all) to %d", what,
                            *threads, RX_MAX_THREADS);
    if (*threads == 0)
        *threads = omp_get_max_threads() < RX_MAX_THREADS ? omp_get_max_threads() : RX_MAX_THREADS;
    return YP_OK;
}

enum yp_status ypi_rx_check_device(const char *what, struct yp_device *device)
{
    if (device == NULL)
        return yp_set_error(YP_INVALID, "%s: device is NULL", what);
    if (yp_device_memory_kind(device) != YP_HOST)
        return yp_set_error(YP_UNSUPPORTED, "%s: device is %s, only the CPU is supported", what,
                            yp_device_name(device));
    return YP_OK;
}

enum yp_status ypi_rx_check_source(const struct ypi_rx_pass *pass, const struct rx_source *source)
{
    if (source == NULL || source->yield == NULL)
        return yp_set_error(YP_INVALID, "%s: %s is NULL", pass->what,
                            source == NULL ? "source" : "source->yield");
    if (source->channels != pass->channels)
        return yp_set_error(YP_INVALID, "%s: source->channels is %zu, the object has %zu",
                            pass->what, source->channels, pass->channels);
    if (source->tile_pixels == 0 || source->tile_pixels > pass->tile_pixels)
        return yp_set_error(YP_INVALID, "%s: source->tile_pixels is %zu, allowed are 1 to %zu",
                            pass->what, source->tile_pixels, pass->tile_pixels);
    return YP_OK;
}

enum yp_status ypi_rx_ask(const struct ypi_rx_pass *pass, const struct rx_source *source,
                          struct ypi_rx_seat seat, struct rx_tile *tile)
{
    size_t index = seat.index, room = pass->tile_pixels;
    float *values = pass->values + (size_t)seat.thread * room * pass->channels;
    uint8_t *labels = pass->labels != NULL ? pass->labels + (size_t)seat.slot * room : NULL;
    *tile = (struct rx_tile){values, 0, pass->channels, labels, 0};
    enum yp_status status = source->yield(source->arg, index, values, labels, tile);
    if (status != YP_OK)
        return status;
    if (tile->channels != pass->channels)
        return yp_set_error(YP_INVALID, "%s: tile %zu has %zu channels, the source has %zu",
                            pass->what, index, tile->channels, pass->channels);
    if (tile->stride != 0 && tile->stride < tile->channels)
        return yp_set_error(YP_INVALID,
                            "%s: tile %zu has stride %zu, allowed are 0 and %zu or more",
                            pass->what, index, tile->stride, tile->channels);
    if (tile->pixels > source->tile_pixels)
        return yp_set_error(YP_INVALID, "%s: tile %zu has %zu pixels, allowed are 0 to %zu",
                            pass->what, index, tile->pixels, source->tile_pixels);
    if (tile->values == NULL)
        return yp_set_error(YP_INVALID, "%s: tile %zu has no values", pass->what, index);
    if (pass->labels != NULL && tile->labels == NULL)
        return yp_set_error(YP_INVALID, "%s: tile %zu has no labels", pass->what, index);
    return YP_OK;
}

/* The first failure in the order of tiles. yp_last_error() is a thread's own, so the message has
 * to be carried to the thread that made the pass. */
struct failure {
    atomic_size_t index; /* SIZE_MAX: none */
    enum yp_status status;
    char message[512];
};

static void fail(struct failure *first, size_t index, enum yp_status status)
{
#pragma omp critical(ypi_rx_failure)
    if (index < atomic_load(&first->index)) {
        first->status = status;
        snprintf(first->message, sizeof first->message, "%s", yp_last_error());
        atomic_store(&first->index, index);
    }
}

/*
 * The order of merging. A thread has slots of its own, so that what it sums up stays in its caches,
 * and merges its own tiles only: when it ends one, and when it has no slot left. So it goes on
 * while a tile before its own is not done yet. The tile whose turn it is never waits for a slot:
 * all before it are merged.
 */
enum { SPARE_MOST = 1 };

struct order {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    size_t next; /* the tile whose turn it is */
};

/* A thread's tiles that are done and not merged, from `first` on; slots are taken in turns. */
struct mine {
    int slot, slots; /* the first of its slots */
    int first, count;
    size_t index[1 + SPARE_MOST];
};

/* Merges those whose turn it is; waits for it while there are more than `most`. */
static void merge_mine(struct order *order, const struct ypi_rx_pass *pass,
                       const struct failure *first, struct mine *mine, int most)
{
    pthread_mutex_lock(&order->lock);
    while (mine->count > 0) {
        size_t index = mine->index[mine->first];
        if (order->next != index) {
            if (mine->count <= most)
                break;
            pthread_cond_wait(&order->moved, &order->lock);
            continue;
        }
        pthread_mutex_unlock(&order->lock);
        if (index < atomic_load(&first->index))
            pass->merge(pass->arg, mine->slot + mine->first);
        mine->first = (mine->first + 1) % mine->slots;
        mine->count--;
        pthread_mutex_lock(&order->lock);
        order->next++;
        pthread_cond_broadcast(&order->moved);
    }
    pthread_mutex_unlock(&order->lock);
}

static void run_tile(const struct ypi_rx_pass *pass, const struct rx_source *source,
                     struct failure *first, struct ypi_rx_seat seat)
{
    struct rx_tile tile;
    if (seat.index >= atomic_load(&first->index))
        return;
    enum yp_status status = ypi_rx_ask(pass, source, seat, &tile);
    if (status == YP_OK)
        pass->work(pass->arg, seat, &tile);
    else
        fail(first, seat.index, status);
}

enum yp_status ypi_rx_run(const struct ypi_rx_pass *pass, const struct rx_source *source)
{
    enum yp_status status = ypi_rx_check_source(pass, source);
    if (status != YP_OK)
        return status;
    struct failure first = {.status = YP_OK};
    struct order order = {.next = 0};
    /* Tiles begin in the order of indices, which OpenMP's schedules do not promise: one that nobody
     * has begun would never have its turn while all threads wait for it. */
    atomic_size_t begun;
    atomic_init(&begun, 0);
    atomic_init(&first.index, SIZE_MAX);
    pthread_mutex_init(&order.lock, NULL);
    pthread_cond_init(&order.moved, NULL);

#pragma omp parallel num_threads(pass->threads)
    {
        /* This thread's own setting: OpenBLAS asks for it and then stays in the thread, in a team
         * of one too, where omp_in_parallel() does not tell it to. */
        omp_set_num_threads(1);
        int thread = omp_get_thread_num(), slots = 1 + pass->spare;
        struct mine mine = {.slot = thread * slots, .slots = slots};
        assert(pass->spare <= SPARE_MOST);
        for (size_t index; (index = atomic_fetch_add(&begun, 1)) < source->tiles;) {
            int at = (mine.first + mine.count) % slots;
            run_tile(pass, source, &first, (struct ypi_rx_seat){thread, mine.slot + at, index});
            if (pass->merge == NULL)
                continue;
            mine.index[at] = index;
            mine.count++;
            merge_mine(&order, pass, &first, &mine, pass->spare);
        }
        merge_mine(&order, pass, &first, &mine, 0);
    }
    pthread_cond_destroy(&order.moved);
    pthread_mutex_destroy(&order.lock);
    if (first.status != YP_OK)
        return yp_set_error(first.status, "%s", first.message);
    return YP_OK;
}
