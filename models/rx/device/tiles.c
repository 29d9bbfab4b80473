/* How tiles come to a GPU: made there by their yielder, or copied from the host while the tile
 * before is worked on. */
#include "models/rx/device/detector.h"

#include <stdio.h>
#include <string.h>

size_t ypi_rx_rooms(enum rx_tiles tiles)
{
    return tiles == RX_TILES_COPIED ? YPI_RX_ROOMS : 1;
}

enum rx_tiles ypi_rx_tiles_of(const struct rx_options *options)
{
    return options != NULL ? options->tiles : RX_TILES_THERE;
}

/* -- rooms ---------------------------------------------------------------------------------------
 */

static void lay_out(struct ypi_rx_coming *c, struct ypi_arena *arena, size_t channels,
                    size_t tile_pixels, bool loss)
{
    for (size_t i = 0; i < ypi_rx_rooms(c->how) && c->how != RX_TILES_THERE; i++) {
        c->room[i] = ypi_arena_take(arena, tile_pixels * channels, sizeof(float));
        c->room_labels[i] = loss ? ypi_arena_take(arena, tile_pixels, 1) : NULL;
    }
}

size_t ypi_rx_pinned_bytes(size_t channels, size_t tile_pixels, bool loss, enum rx_tiles tiles)
{
    struct ypi_arena arena = {0};
    struct ypi_rx_coming c = {.how = tiles};
    lay_out(&c, &arena, channels, tile_pixels, loss);
    return arena.used;
}

static enum yp_status open_stream(struct ypi_rx_coming *c, struct yp_device *device)
{
    c->copies = yp_stream_create(device);
    c->begun = yp_event_create(device);
    bool all = c->copies != NULL && c->begun != NULL;
    for (int i = 0; i < YPI_RX_ROOMS; i++) {
        c->copied[i] = yp_event_create(device);
        c->used[i] = yp_event_create(device);
        all = all && c->copied[i] != NULL && c->used[i] != NULL;
    }
    return all ? YP_OK : yp_last_status();
}

enum yp_status ypi_rx_coming_open(struct ypi_rx_device *on, size_t channels, bool loss,
                                  enum rx_tiles tiles)
{
    struct ypi_rx_coming *c = &on->coming;
    c->how = tiles;
    if (tiles == RX_TILES_THERE)
        return YP_OK;
    c->block = yp_device_alloc_pinned(on->device,
                                      ypi_rx_pinned_bytes(channels, on->tile_pixels, loss, tiles));
    if (c->block == NULL)
        return YP_OUT_OF_MEMORY;
    lay_out(c, &(struct ypi_arena){.base = c->block}, channels, on->tile_pixels, loss);
    enum yp_status status = tiles == RX_TILES_COPIED ? open_stream(c, on->device) : YP_OK;
    if (status != YP_OK)
        ypi_rx_coming_close(on);
    return status;
}

/* The stream first: it waits for the copies that read the rooms. */
void ypi_rx_coming_close(struct ypi_rx_device *on)
{
    struct ypi_rx_coming *c = &on->coming;
    yp_stream_destroy(c->copies);
    yp_event_destroy(c->begun);
    for (int i = 0; i < YPI_RX_ROOMS; i++) {
        yp_event_destroy(c->copied[i]);
        yp_event_destroy(c->used[i]);
    }
    yp_device_free_pinned(on->device, c->block);
    *c = (struct ypi_rx_coming){0};
}

/* -- a pass --------------------------------------------------------------------------------------
 */

/* Copies begin behind what the default stream has been given before: they are a part of what is
 * measured, and the work before may still read the device's rooms. */
enum yp_status ypi_rx_pass_begin(const char *what, struct ypi_rx_device *on,
                                 const struct rx_source *source)
{
    struct ypi_rx_coming *c = &on->coming;
    enum yp_status status = ypi_rx_check_source(
        &(struct ypi_rx_pass){
            .what = what, .channels = on->channels, .tile_pixels = on->tile_pixels},
        source);
    if (status != YP_OK || c->how != RX_TILES_COPIED)
        return status;
    status = yp_event_record(c->begun, yp_device_stream(on->device));
    return status == YP_OK ? yp_stream_wait(c->copies, c->begun) : status;
}

/* Pixels side by side, in the room where they are not. */
static void pack(struct rx_tile *tile, float *room)
{
    size_t stride = ypi_rx_stride(tile);
    for (size_t p = 0; stride != tile->channels && p < tile->pixels; p++)
        memmove(room + p * tile->channels, tile->values + p * stride,
                tile->channels * sizeof *room);
    if (stride != tile->channels)
        tile->values = room;
    tile->stride = 0;
}

static bool wants_labels(const struct ypi_rx_device *on)
{
    return on->labels[0] != NULL && !on->unlabelled;
}

/* The device's room is free when the work on the tile two before is done; the default stream goes
 * on when the tile is there. */
static enum yp_status send(struct ypi_rx_device *on, size_t slot, const struct rx_tile *tile)
{
    struct ypi_rx_coming *c = &on->coming;
    size_t bytes = tile->pixels * tile->channels * sizeof(float);
    bool labels = wants_labels(on);
    enum yp_status status = yp_stream_wait(c->copies, c->used[slot]);
    if (status == YP_OK)
        status = yp_stream_copy(c->copies, on->values[slot], tile->values, bytes);
    if (status == YP_OK && labels)
        status = yp_stream_copy(c->copies, on->labels[slot], tile->labels, tile->pixels);
    if (status == YP_OK)
        status = yp_event_record(c->copied[slot], c->copies);
    if (status == YP_OK)
        status = yp_stream_wait(yp_device_stream(on->device), c->copied[slot]);
    return status;
}

static enum yp_status send_in_turn(struct ypi_rx_device *on, const struct rx_tile *tile)
{
    enum yp_status status = yp_device_copy(on->device, on->values[0], tile->values,
                                           tile->pixels * tile->channels * sizeof(float));
    if (status == YP_OK && wants_labels(on))
        status = yp_device_copy(on->device, on->labels[0], tile->labels, tile->pixels);
    return status;
}

/* What the tile becomes on the device. */
static enum yp_status bring(struct ypi_rx_device *on, size_t slot, struct rx_tile *tile)
{
    struct ypi_rx_coming *c = &on->coming;
    pack(tile, c->room[slot]);
    c->foreign =
        tile->values != c->room[slot] || (wants_labels(on) && tile->labels != c->room_labels[slot]);
    enum yp_status status =
        c->how == RX_TILES_COPIED ? send(on, slot, tile) : send_in_turn(on, tile);
    tile->values = on->values[slot];
    tile->labels = wants_labels(on) ? on->labels[slot] : NULL;
    return status;
}

enum yp_status ypi_rx_tile_ask(const char *what, struct ypi_rx_device *on,
                               const struct rx_source *source, size_t index, struct rx_tile *tile)
{
    struct ypi_rx_coming *c = &on->coming;
    size_t slot = index % ypi_rx_rooms(c->how);
    bool here = c->how != RX_TILES_THERE;
    /* The host's room is free when what was in it is copied. */
    enum yp_status status =
        c->how == RX_TILES_COPIED ? yp_event_synchronize(c->copied[slot]) : YP_OK;
    if (status != YP_OK)
        return status;
    const struct ypi_rx_pass pass = {.what = what,
                                     .channels = on->channels,
                                     .tile_pixels = on->tile_pixels,
                                     .threads = 1,
                                     .values = here ? c->room[slot] : on->values[0],
                                     .labels = !wants_labels(on) ? NULL
                                               : here            ? c->room_labels[slot]
                                                                 : on->labels[0]};
    status = ypi_rx_ask(&pass, source, (struct ypi_work_item){.index = index}, tile);
    return status == YP_OK && here && tile->pixels > 0 ? bring(on, slot, tile) : status;
}

enum yp_status ypi_rx_tile_leave(struct ypi_rx_device *on, size_t index)
{
    struct ypi_rx_coming *c = &on->coming;
    size_t slot = index % ypi_rx_rooms(c->how);
    if (c->how != RX_TILES_COPIED)
        return YP_OK;
    enum yp_status status = yp_event_record(c->used[slot], yp_device_stream(on->device));
    return status == YP_OK && c->foreign ? yp_event_synchronize(c->copied[slot]) : status;
}

/* What was launched of a pass that failed may still read the yielder's data. */
enum yp_status ypi_rx_pass_end(struct ypi_rx_device *on, enum yp_status status)
{
    char told[512];
    if (status == YP_OK || on->coming.how != RX_TILES_COPIED)
        return status;
    snprintf(told, sizeof told, "%s", yp_last_error()); /* what went wrong first */
    (void)yp_stream_synchronize(on->coming.copies);
    return yp_set_error(status, "%s", told);
}
