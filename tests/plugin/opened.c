/* A plugin that is opened and closed with the device, and uses all that its host gives it. */
#include "tests/plugin/opened.h"

#include <stdlib.h>
#include <string.h>
#include <yieldpoint/plugin.h>

static const struct yp_plugin_host *host;
static int opened, closed;
static struct yp_device *of;
static float *workspace;

static enum yp_status open_it(struct yp_device *device)
{
    if (getenv("OPENED_REFUSES") != NULL)
        return host->set_error(YP_OUT_OF_MEMORY, "no handle");
    opened++;
    of = device;
    workspace = host->alloc(device, 4 * sizeof *workspace);
    return workspace != NULL ? YP_OK : YP_OUT_OF_MEMORY;
}

static void close_it(struct yp_device *device)
{
    closed++;
    host->free(device, workspace);
    of = NULL;
}

static enum yp_status carry(const float from[4], float to[4])
{
    struct yp_stream *copies = host->stream_create(of);
    struct yp_event *begin = host->event_create(of), *end = host->event_create(of);
    float *pinned = host->alloc_pinned(of, 4 * sizeof *pinned);
    if (copies == NULL || begin == NULL || end == NULL || pinned == NULL)
        return YP_OUT_OF_MEMORY;
    memcpy(pinned, from, 4 * sizeof *pinned);
    enum yp_status status = host->event_record(begin, host->default_stream(of));
    status = status == YP_OK ? host->stream_wait(copies, begin) : status;
    status =
        status == YP_OK ? host->stream_copy(copies, workspace, pinned, 4 * sizeof *pinned) : status;
    status = status == YP_OK ? host->event_record(end, copies) : status;
    status = status == YP_OK ? host->event_synchronize(end) : status;
    status = status == YP_OK ? host->stream_synchronize(copies) : status;
    status = status == YP_OK ? host->copy(of, to, workspace, 4 * sizeof *to) : status;
    status = status == YP_OK ? host->synchronize(of) : status;
    if (status == YP_OK && !(host->event_seconds(begin, end) >= 0))
        status = host->set_error(YP_DEVICE_FAULT, "no time passed");
    if (host->stream_native(copies) != host->stream(of) && host->memory_kind(of) == YP_HOST)
        status = host->set_error(YP_DEVICE_FAULT, "the CPU has no native streams");
    host->free_pinned(of, pinned);
    host->event_destroy(begin);
    host->event_destroy(end);
    host->stream_destroy(copies);
    return status;
}

static const struct opened table = {&opened, &closed, carry};

YP_PLUGIN_OPENED("opened", table, host, open_it, close_it)
