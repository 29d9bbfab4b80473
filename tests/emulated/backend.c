/* The emulated device as one of the framework's. */
#include "tests/emulated/device.h"

#include <stdlib.h>

struct stream {
    struct yp_stream base;
    int number;
};

struct event {
    struct yp_event base;
    int stream; /* where it was recorded last */
    size_t at;  /* work of that stream that is done by then; 0: never recorded */
};

static struct stream streams[EMULATED_STREAMS];

static int number_of(const struct yp_stream *stream)
{
    return ((const struct stream *)stream)->number;
}

static const char *name(const struct yp_device *device)
{
    (void)device;
    return "emulated:0";
}

static const char *place(const struct yp_device *device)
{
    (void)device;
    return emulated.place != NULL ? emulated.place : "";
}

/* -- memory ---------------------------------------------------------------------------------- */

static void *allocate(struct yp_device *device, size_t bytes)
{
    (void)device;
    void *block = emulated_take(bytes);
    if (block == NULL)
        (void)yp_set_error(YP_OUT_OF_MEMORY, "out of memory: %zu bytes of emulated:0", bytes);
    return block;
}

static size_t deallocate(struct yp_device *device, void *block)
{
    (void)device;
    return emulated_give(block);
}

enum { LINE = 64 }; /* what page-locked memory begins with: its size */

static void *allocate_pinned(struct yp_device *device, size_t bytes)
{
    (void)device;
    size_t *block = malloc(bytes + LINE);
    if (block == NULL)
        abort();
    memset(block, emulated.kernels.garbage, bytes + LINE);
    *block = bytes;
    emulated.pinned += bytes;
    return (char *)block + LINE;
}

static size_t deallocate_pinned(struct yp_device *device, void *pinned)
{
    (void)device;
    size_t *block = (size_t *)(void *)((char *)pinned - LINE), bytes = *block;
    free(block);
    emulated.pinned -= bytes;
    return bytes;
}

static void memory(const struct yp_device *device, struct yp_memory *out)
{
    (void)device;
    (void)out;
}

static void reset_peak(struct yp_device *device)
{
    (void)device; /* the framework counts what is allocated */
}

/* -- streams ---------------------------------------------------------------------------------- */

static struct yp_stream *stream(struct yp_device *device)
{
    streams[0].base.device = device;
    return &streams[0].base;
}

static void *native_stream(const struct yp_stream *s)
{
    return &emulated.streams[number_of(s)].native;
}

static struct yp_stream *stream_create(struct yp_device *device)
{
    int i = emulated_stream_open();
    if (i < 0)
        abort();
    streams[i] = (struct stream){{device}, i};
    return &streams[i].base;
}

static void stream_destroy(struct yp_stream *s)
{
    emulated_stream_close(number_of(s));
}

static enum yp_status stream_wait(struct yp_stream *s, struct yp_event *event)
{
    const struct event *e = (const struct event *)event;
    if (e->at > 0)
        emulated_wait(number_of(s), e->stream, e->at);
    return YP_OK;
}

static enum yp_status stream_copy(struct yp_stream *s, void *to, const void *from, size_t bytes)
{
    emulated_copy(number_of(s), to, from, bytes);
    return YP_OK;
}

static enum yp_status stream_synchronize(struct yp_stream *s)
{
    emulated_run(number_of(s), emulated.streams[number_of(s)].given);
    return YP_OK;
}

static enum yp_status synchronize(struct yp_device *device)
{
    (void)device;
    emulated_run_all();
    return YP_OK;
}

static enum yp_status copy(struct yp_device *device, void *to, const void *from, size_t bytes)
{
    if (emulated.copies_fail)
        return yp_set_error(YP_DEVICE_FAULT, "the emulated device was told to fail");
    emulated_copy(0, to, from, bytes);
    return stream_synchronize(stream(device));
}

/* -- events ----------------------------------------------------------------------------------- */

static struct yp_event *event_create(struct yp_device *device)
{
    struct event *e = calloc(1, sizeof *e);
    if (e == NULL)
        abort();
    e->base.device = device;
    emulated.events++;
    return &e->base;
}

static void event_destroy(struct yp_event *event)
{
    free(event);
    emulated.events--;
}

/* An event is the work before it: nothing of its own. */
static enum yp_status event_record(struct yp_event *event, struct yp_stream *s)
{
    struct event *e = (struct event *)event;
    e->stream = number_of(s);
    e->at = emulated.streams[e->stream].given;
    return YP_OK;
}

static enum yp_status event_synchronize(struct yp_event *event)
{
    const struct event *e = (const struct event *)event;
    emulated_run(e->stream, e->at);
    return YP_OK;
}

const struct ypi_backend emulated_backend = {.kind = YP_DEVICE,
                                             .name = name,
                                             .allocate = allocate,
                                             .deallocate = deallocate,
                                             .allocate_pinned = allocate_pinned,
                                             .deallocate_pinned = deallocate_pinned,
                                             .memory = memory,
                                             .reset_peak = reset_peak,
                                             .stream = stream,
                                             .native_stream = native_stream,
                                             .stream_create = stream_create,
                                             .stream_destroy = stream_destroy,
                                             .stream_wait = stream_wait,
                                             .stream_copy = stream_copy,
                                             .stream_synchronize = stream_synchronize,
                                             .synchronize = synchronize,
                                             .event_create = event_create,
                                             .event_destroy = event_destroy,
                                             .event_record = event_record,
                                             .event_synchronize = event_synchronize,
                                             .copy = copy,
                                             .place = place};

struct yp_device *emulated_device(void)
{
    static struct yp_device device = {.backend = &emulated_backend};
    return &device;
}
