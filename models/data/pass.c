/* One pass over items: in parallel, their results in order. */
#include "models/data/pass.h"

#include <assert.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

/* The first failure in the order of items. yp_last_error() is a thread's own, so the message has
 * to be carried to the thread that made the pass. */
struct failure {
    atomic_size_t index; /* SIZE_MAX: none */
    enum yp_status status;
    char message[512];
};

static void fail(struct failure *first, size_t index, enum yp_status status)
{
#pragma omp critical(ypi_pass_failure)
    if (index < atomic_load(&first->index)) {
        first->status = status;
        snprintf(first->message, sizeof first->message, "%s", yp_last_error());
        atomic_store(&first->index, index);
    }
}

/* The order of merging. A worker has slots of its own, so that what it sums up stays in its caches,
 * and merges its own items only: when it ends one, and when it has no slot left. So it goes on
 * while an item before its own is not done yet. The item whose turn it is never waits for a slot:
 * all before it are merged. */
enum { SPARE_MAX = 1 };

struct order {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    size_t next; /* the item whose turn it is */
};

/* A worker's items that are done and not merged, from `first` on; slots are taken in turns. */
struct mine {
    int slot, slots; /* the first of its slots */
    int first, count;
    size_t index[1 + SPARE_MAX];
};

/* Merges those whose turn it is; waits for it while there are more than `limit`. */
static void merge_mine(struct order *order, const struct ypi_pass *pass,
                       const struct failure *first, struct mine *mine, int limit)
{
    pthread_mutex_lock(&order->lock);
    while (mine->count > 0) {
        size_t index = mine->index[mine->first];
        if (order->next != index) {
            if (mine->count <= limit)
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

static void run_item(const struct ypi_pass *pass, struct failure *first, struct ypi_work_item item)
{
    if (item.index >= atomic_load(&first->index))
        return;
    enum yp_status status = pass->work(pass->arg, item);
    if (status != YP_OK)
        fail(first, item.index, status);
}

enum yp_status ypi_pass_run(const struct ypi_pass *pass)
{
    const size_t end = pass->first + pass->items;
    struct failure first = {.status = YP_OK};
    struct order order = {.next = pass->first};
    /* Items begin in the order of indices, which OpenMP's schedules do not promise: one that nobody
     * has begun would never have its turn while all workers wait for it. */
    atomic_size_t begun;
    atomic_init(&begun, pass->first);
    atomic_init(&first.index, SIZE_MAX);
    pthread_mutex_init(&order.lock, NULL);
    pthread_cond_init(&order.moved, NULL);

#pragma omp parallel num_threads(pass->workers)
    {
        /* This thread's own setting: OpenBLAS asks for it and then stays in the thread, in a team
         * of one too, where omp_in_parallel() does not tell it to. */
        omp_set_num_threads(1);
        int worker = omp_get_thread_num(), slots = 1 + pass->spare;
        struct mine mine = {.slot = worker * slots, .slots = slots};
        assert(pass->spare <= SPARE_MAX);
        for (size_t index; (index = atomic_fetch_add(&begun, 1)) < end;) {
            int at = (mine.first + mine.count) % slots;
            run_item(pass, &first, (struct ypi_work_item){worker, mine.slot + at, index});
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
