/* Everything but the values of items is under one lock: an item takes a fraction of a millisecond
 * at least, a visit here some hundred nanoseconds. */
#include "models/data/loader_internal.h"

#include "base/system/clock.h"

#include <stdio.h>
#include <string.h>

struct data_loader *data_loader_create(struct yp_device *device,
                                       const struct data_loader_options *options)
{
    if (device == NULL) {
        yp_set_error(YP_INVALID, "data_loader_create: device is NULL: must be a device");
        return NULL;
    }
    if (yp_device_memory_kind(device) != YP_HOST) {
        yp_set_error(YP_UNSUPPORTED,
                     "data_loader_create: device is %s: must be one with host memory",
                     yp_device_name(device));
        return NULL;
    }
    size_t bytes = data_loader_bytes(options);
    struct data_loader *l = bytes > 0 ? yp_device_alloc(device, bytes) : NULL;
    if (l == NULL)
        return NULL;
    *l = (struct data_loader){.device = device,
                              .o = *options,
                              .lock = PTHREAD_MUTEX_INITIALIZER,
                              .space = PTHREAD_COND_INITIALIZER,
                              .made = PTHREAD_COND_INITIALIZER};
    struct ypi_arena arena = {.base = (char *)l};
    ypi_loader_lay_out(l, &arena);
    ypi_loader_begin_pass(l);
    if (ypi_loader_start(l) == YP_OK) {
        l->o.cpus = NULL; /* the caller's, read for the last time */
        return l;
    }
    data_loader_destroy(l);
    return NULL;
}

void data_loader_destroy(struct data_loader *loader)
{
    if (loader == NULL)
        return;
    pthread_mutex_lock(&loader->lock);
    loader->closing = true;
    pthread_cond_broadcast(&loader->space);
    pthread_mutex_unlock(&loader->lock);
    for (int i = 0; i < loader->workers; i++)
        pthread_join(loader->worker[i].thread, NULL);
    pthread_cond_destroy(&loader->space);
    pthread_cond_destroy(&loader->made);
    pthread_mutex_destroy(&loader->lock);
    yp_device_free(loader->device, loader);
}

/* Waits while a worker makes the item. YPI_NO_SLOT: somebody has taken it. */
static size_t wait_for_item(struct data_loader *l, size_t index)
{
    double begin = ypi_now();
    bool waited = false;
    size_t at = ypi_loader_find_slot(l, index);
    /* Looked for again each time: another may take the same one, and the slot go on. */
    while (at != YPI_NO_SLOT && l->slots[at].state == YPI_MAKING) {
        waited = true;
        pthread_cond_wait(&l->made, &l->lock);
        at = ypi_loader_find_slot(l, index);
    }
    if (at == YPI_NO_SLOT || l->slots[at].state != YPI_READY)
        return YPI_NO_SLOT;
    l->slots[at].state = YPI_HELD;
    l->ahead--;
    l->seen.waited += waited;
    l->seen.ready += !waited;
    if (waited)
        l->seen.consumer_waiting += ypi_now() - begin;
    return at;
}

static size_t make_oneself(struct data_loader *l, size_t index)
{
    size_t at = ypi_loader_begin(l, index, YPI_HELD);
    pthread_mutex_unlock(&l->lock);
    double seconds = ypi_loader_make(l, at);
    pthread_mutex_lock(&l->lock);
    l->seen.helped++;
    l->seen.consumer_making += seconds;
    return at;
}

/* With the lock, which it may leave for a while. */
static enum yp_status take_item(struct data_loader *l, size_t index, struct data_item *item)
{
    if (l->held == l->o.consumers)
        return yp_set_error(YP_INVALID,
                            "data_loader_take: item %zu while %zu are held: must be at most "
                            "data_loader_options.consumers, %zu",
                            index, l->held, l->o.consumers);
    l->held++;
    l->cursor = (index + 1) % l->o.items;
    bool begun = ypi_loader_is_begun(l, index);
    size_t at = begun ? wait_for_item(l, index) : make_oneself(l, index);
    if (at == YPI_NO_SLOT) {
        l->held--;
        return yp_set_error(YP_INVALID,
                            "data_loader_take: item %zu was taken in this pass already: must be "
                            "taken once",
                            index);
    }
    if (begun)
        pthread_cond_signal(&l->space);
    struct ypi_loader_slot *s = &l->slots[at];
    if (s->status == YP_OK) {
        *item = (struct data_item){index, s->count, ypi_loader_data_of(l, at),
                                   ypi_loader_labels_of(l, at)};
        return YP_OK;
    }
    l->held--;
    s->state = YPI_EMPTY;
    return yp_set_error(s->status, "%s", s->message);
}

enum yp_status data_loader_take(struct data_loader *loader, size_t index, struct data_item *item)
{
    if (loader == NULL || item == NULL)
        return yp_set_error(YP_INVALID, "data_loader_take: %s is NULL: must not be",
                            loader == NULL ? "loader" : "item");
    *item = (struct data_item){0};
    if (index >= loader->o.items)
        return yp_set_error(YP_INVALID, "data_loader_take: index is %zu: must be 0 to %zu", index,
                            loader->o.items - 1);
    pthread_mutex_lock(&loader->lock);
    enum yp_status status = take_item(loader, index, item);
    pthread_mutex_unlock(&loader->lock);
    return status;
}

enum yp_status data_loader_give_back(struct data_loader *loader, struct data_item *item)
{
    if (loader == NULL || item == NULL)
        return yp_set_error(YP_INVALID, "data_loader_give_back: %s is NULL: must not be",
                            loader == NULL ? "loader" : "item");
    pthread_mutex_lock(&loader->lock);
    size_t at = item->data != NULL ? ypi_loader_find_slot(loader, item->index) : YPI_NO_SLOT;
    bool held = at != YPI_NO_SLOT && loader->slots[at].state == YPI_HELD &&
                item->data == ypi_loader_data_of(loader, at);
    if (held) {
        loader->slots[at].state = YPI_EMPTY;
        loader->held--;
    }
    pthread_mutex_unlock(&loader->lock);
    if (!held)
        return yp_set_error(YP_INVALID,
                            "data_loader_give_back: item %zu at %p: must be one that was taken "
                            "and not given back",
                            item->index, (void *)item->data);
    *item = (struct data_item){0};
    return YP_OK;
}

enum yp_status data_loader_rewind(struct data_loader *loader)
{
    if (loader == NULL)
        return yp_set_error(YP_INVALID, "data_loader_rewind: loader is NULL: must not be");
    pthread_mutex_lock(&loader->lock);
    size_t held = loader->held;
    if (held == 0) {
        loader->rewinding = true;
        while (loader->making > 0)
            pthread_cond_wait(&loader->made, &loader->lock);
        ypi_loader_begin_pass(loader);
        loader->rewinding = false;
        pthread_cond_broadcast(&loader->space);
    }
    pthread_mutex_unlock(&loader->lock);
    if (held > 0)
        return yp_set_error(
            YP_INVALID, "data_loader_rewind: %zu items are held: must be 0, all given back", held);
    return YP_OK;
}

int data_loader_workers(const struct data_loader *loader)
{
    return loader->workers;
}

void data_loader_statistics(struct data_loader *loader, struct data_loader_statistics *out)
{
    pthread_mutex_lock(&loader->lock);
    *out = loader->seen;
    for (int i = 0; i < loader->workers; i++)
        if (loader->worker[i].waits_since > 0)
            out->worker_waiting += ypi_now() - loader->worker[i].waits_since;
    pthread_mutex_unlock(&loader->lock);
}
