/* Staging: items of the host's copied to a device while the one before is worked on. */
#include "device/staging.h"

#include "base/system/arena.h"

#include <stdio.h>

size_t ypi_staging_slots(enum ypi_staging_mode mode)
{
    return mode == YPI_STAGING_OVERLAPPED ? YPI_STAGING_SLOTS : 1;
}

/* -- memory and streams ---------------------------------------------------------------------- */

static void lay_out(struct ypi_staging *s, struct ypi_arena *arena)
{
    for (size_t i = 0; i < ypi_staging_slots(s->mode) && s->mode != YPI_STAGING_NONE; i++)
        for (size_t a = 0; a < s->arrays; a++)
            s->on_host[i][a] = s->bytes[a] > 0 ? ypi_arena_take(arena, s->bytes[a], 1) : NULL;
}

static struct ypi_staging staging_of(enum ypi_staging_mode mode, const size_t *bytes, size_t arrays)
{
    struct ypi_staging s = {.mode = mode, .arrays = arrays};
    for (size_t a = 0; a < arrays; a++)
        s.bytes[a] = bytes[a];
    return s;
}

size_t ypi_staging_pinned_bytes(enum ypi_staging_mode mode, const size_t *bytes, size_t arrays)
{
    struct ypi_arena arena = {0};
    struct ypi_staging s = staging_of(mode, bytes, arrays);
    lay_out(&s, &arena);
    return arena.used;
}

static enum yp_status open_stream(struct ypi_staging *s)
{
    s->copies = yp_stream_create(s->device);
    s->begun = yp_event_create(s->device);
    bool all = s->copies != NULL && s->begun != NULL;
    for (int i = 0; i < YPI_STAGING_SLOTS; i++) {
        s->copied[i] = yp_event_create(s->device);
        s->used[i] = yp_event_create(s->device);
        all = all && s->copied[i] != NULL && s->used[i] != NULL;
    }
    return all ? YP_OK : yp_last_status();
}

enum yp_status ypi_staging_open(struct ypi_staging *s, struct yp_device *device,
                                enum ypi_staging_mode mode, const size_t *bytes, size_t arrays)
{
    *s = staging_of(mode, bytes, arrays);
    s->device = device;
    if (mode == YPI_STAGING_NONE)
        return YP_OK;
    s->block = yp_device_alloc_pinned(device, ypi_staging_pinned_bytes(mode, bytes, arrays));
    if (s->block == NULL)
        return YP_OUT_OF_MEMORY;
    lay_out(s, &(struct ypi_arena){.base = s->block});
    enum yp_status status = mode == YPI_STAGING_OVERLAPPED ? open_stream(s) : YP_OK;
    if (status != YP_OK)
        ypi_staging_close(s);
    return status;
}

/* The stream first: it waits for the copies that read the block. */
void ypi_staging_close(struct ypi_staging *s)
{
    yp_stream_destroy(s->copies);
    yp_event_destroy(s->begun);
    for (int i = 0; i < YPI_STAGING_SLOTS; i++) {
        yp_event_destroy(s->copied[i]);
        yp_event_destroy(s->used[i]);
    }
    if (s->block != NULL)
        yp_device_free_pinned(s->device, s->block);
    *s = (struct ypi_staging){0};
}

/* -- a run ------------------------------------------------------------------------------------- */

enum yp_status ypi_staging_begin(struct ypi_staging *s)
{
    if (s->mode != YPI_STAGING_OVERLAPPED)
        return YP_OK;
    enum yp_status status = yp_event_record(s->begun, yp_device_stream(s->device));
    return status == YP_OK ? yp_stream_wait(s->copies, s->begun) : status;
}

/* The host's buffers are free when what was in them is copied. */
static enum yp_status offer(const struct ypi_staging *s, size_t slot, struct ypi_staged *arrays)
{
    for (size_t a = 0; a < s->arrays; a++) {
        void *buffer = s->mode == YPI_STAGING_NONE ? s->on_device[slot][a] : s->on_host[slot][a];
        if (s->on_device[slot][a] == NULL)
            buffer = NULL;
        arrays[a] = (struct ypi_staged){buffer, buffer, 0};
    }
    return s->mode == YPI_STAGING_OVERLAPPED ? yp_event_synchronize(s->copied[slot]) : YP_OK;
}

/* The device's memory is free when the work on the item two before is done; the default stream goes
 * on when the item is there. */
static enum yp_status send(const struct ypi_staging *s, size_t slot,
                           const struct ypi_staged *arrays)
{
    enum yp_status status = yp_stream_wait(s->copies, s->used[slot]);
    for (size_t a = 0; a < s->arrays && status == YP_OK; a++)
        if (arrays[a].bytes > 0)
            status =
                yp_stream_copy(s->copies, s->on_device[slot][a], arrays[a].data, arrays[a].bytes);
    if (status == YP_OK)
        status = yp_event_record(s->copied[slot], s->copies);
    if (status == YP_OK)
        status = yp_stream_wait(yp_device_stream(s->device), s->copied[slot]);
    return status;
}

static enum yp_status send_in_turn(const struct ypi_staging *s, const struct ypi_staged *arrays)
{
    enum yp_status status = YP_OK;
    for (size_t a = 0; a < s->arrays && status == YP_OK; a++)
        if (arrays[a].bytes > 0)
            status = yp_device_copy(s->device, s->on_device[0][a], arrays[a].data, arrays[a].bytes);
    return status;
}

/* Whether anything is copied, and from memory of the producer's own. */
static void look_at(const struct ypi_staging *s, const struct ypi_staged *arrays, bool *any,
                    bool *own)
{
    *any = *own = false;
    for (size_t a = 0; a < s->arrays && s->mode != YPI_STAGING_NONE; a++)
        if (arrays[a].bytes > 0) {
            *any = true;
            *own = *own || arrays[a].data != arrays[a].buffer;
        }
}

static enum yp_status bring(const struct ypi_staging *s, size_t slot, struct ypi_staged *arrays)
{
    enum yp_status status =
        s->mode == YPI_STAGING_OVERLAPPED ? send(s, slot, arrays) : send_in_turn(s, arrays);
    for (size_t a = 0; a < s->arrays; a++)
        arrays[a].data = arrays[a].bytes > 0 ? s->on_device[slot][a] : NULL;
    return status;
}

static enum yp_status run_item(struct ypi_staging *s, const struct ypi_staging_run *run,
                               size_t index)
{
    struct ypi_staged arrays[YPI_STAGING_ARRAYS];
    size_t slot = index % ypi_staging_slots(s->mode);
    bool any, own;
    enum yp_status status = offer(s, slot, arrays);
    if (status == YP_OK)
        status = run->produce(run->arg, index, arrays);
    if (status != YP_OK)
        return status;
    look_at(s, arrays, &any, &own);
    if (any)
        status = bring(s, slot, arrays);
    if (status == YP_OK)
        status = run->use(run->arg, index, arrays);
    if (status != YP_OK || s->mode != YPI_STAGING_OVERLAPPED)
        return status;
    status = yp_event_record(s->used[slot], yp_device_stream(s->device));
    return status == YP_OK && own ? yp_event_synchronize(s->copied[slot]) : status;
}

enum yp_status ypi_staging_run(struct ypi_staging *s, const struct ypi_staging_run *run)
{
    enum yp_status status = YP_OK;
    for (size_t i = 0; i < run->items && status == YP_OK && (run->stop == NULL || !*run->stop); i++)
        status = run_item(s, run, i);
    if (status == YP_OK || s->mode != YPI_STAGING_OVERLAPPED)
        return status;
    /* What was launched of it may still read a producer's data. */
    char message[512];
    snprintf(message, sizeof message, "%s", yp_last_error());
    (void)yp_stream_synchronize(s->copies);
    return yp_set_error(status, "%s", message);
}
