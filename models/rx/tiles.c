/* One pass over a source: tiles in parallel, their results in order. */
#include "internal.h"

#include <assert.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define LINE ((size_t)64)

/* The limits on arguments keep every size below 2^60. */
static_assert(SIZE_MAX == UINT64_MAX, "sizes are counted in 64 bits");

void *ypi_arena_take(struct ypi_arena *arena, size_t count, size_t size)
{
    void *part = arena->base != NULL ? arena->base + arena->used : NULL;
    arena->used += (count * size + LINE - 1) / LINE * LINE;
    return part;
}

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

static enum yp_status check_source(const struct ypi_rx_pass *pass, const struct rx_source *source)
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

/* Asks for a tile and checks what came. */
static enum yp_status yield(const struct ypi_rx_pass *pass, const struct rx_source *source,
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
 * The order of merging. A tile's slot is its index modulo the number of slots, and no tile begins
 * before the one that had its slot is merged. Who ends the tile whose turn it is merges it and all
 * that were waiting for it, while the others go on: only who is a whole round ahead waits.
 */
struct order {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    size_t slots, next; /* the tile whose turn it is */
    bool merging;
    bool done[2 * RX_MAX_THREADS];
};

static void wait_for_slot(struct order *order, size_t index)
{
    pthread_mutex_lock(&order->lock);
    while (index >= order->next + order->slots)
        pthread_cond_wait(&order->moved, &order->lock);
    pthread_mutex_unlock(&order->lock);
}

static void merge_in_order(struct order *order, const struct ypi_rx_pass *pass,
                           struct failure *first, size_t index)
{
    pthread_mutex_lock(&order->lock);
    order->done[index % order->slots] = true;
    bool mine = !order->merging;
    while (mine && order->done[order->next % order->slots]) {
        size_t slot = order->next % order->slots;
        order->merging = true;
        pthread_mutex_unlock(&order->lock);
        if (order->next < atomic_load(&first->index))
            pass->merge(pass->arg, (int)slot);
        pthread_mutex_lock(&order->lock);
        order->merging = order->done[slot] = false;
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
    enum yp_status status = yield(pass, source, seat, &tile);
    if (status == YP_OK)
        pass->work(pass->arg, seat, &tile);
    else
        fail(first, seat.index, status);
}

enum yp_status ypi_rx_run(const struct ypi_rx_pass *pass, const struct rx_source *source)
{
    enum yp_status status = check_source(pass, source);
    if (status != YP_OK)
        return status;
    struct failure first = {.status = YP_OK};
    struct order order = {.slots = (size_t)(pass->threads + pass->spare)};
    atomic_init(&first.index, SIZE_MAX);
    pthread_mutex_init(&order.lock, NULL);
    pthread_cond_init(&order.moved, NULL);

#pragma omp parallel num_threads(pass->threads)
    {
        /* This thread's own setting: OpenBLAS asks for it and then stays in the thread, in a team
         * of one too, where omp_in_parallel() does not tell it to. */
        omp_set_num_threads(1);
#pragma omp for schedule(dynamic, 1)
        for (size_t index = 0; index < source->tiles; index++) {
            int thread = omp_get_thread_num();
            if (pass->merge == NULL) {
                run_tile(pass, source, &first, (struct ypi_rx_seat){thread, thread, index});
                continue;
            }
            wait_for_slot(&order, index);
            run_tile(pass, source, &first,
                     (struct ypi_rx_seat){thread, (int)(index % order.slots), index});
            merge_in_order(&order, pass, &first, index);
        }
    }
    pthread_cond_destroy(&order.moved);
    pthread_mutex_destroy(&order.lock);
    if (first.status != YP_OK)
        return yp_set_error(first.status, "%s", first.message);
    return YP_OK;
}
