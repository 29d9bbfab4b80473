/* Launches of kernels that the CPU runs: to the stream they are for. */
#include "device/cuda/frame.h"

#include <stdio.h>
#include <stdlib.h>

struct ypk_where ypk_where;
static bool refused;

/* What a GPU would not launch. */
static bool is_launchable(const struct ypk_work *w)
{
    return w->grid.x <= 0x7fffffffU && w->grid.y <= 65535 && w->threads > 0 && w->threads <= 1024 &&
           w->shared <= YPK_SHARED_MAX;
}

void ypk_launch(ypk_stream_type stream, void (*kernel)(const void *job), struct ypk_grid grid,
                unsigned threads, size_t shared, const void *job, size_t bytes)
{
    static struct ypk_work work;
    if (grid.x == 0 || grid.y == 0)
        return;
    work.run = ypk_run;
    work.kernel = kernel;
    work.grid = grid;
    work.threads = threads;
    work.shared = shared;
    memcpy(work.job, job, bytes);
    if (!is_launchable(&work))
        refused = true;
    else
        stream->launch(stream, &work);
}

enum yp_status ypk_launched(const struct yp_plugin_host *host, const char *what)
{
    if (!refused)
        return YP_OK;
    refused = false;
    return host->set_error(YP_UNSUPPORTED, "%s: no GPU has blocks or grids of that size", what);
}

void ypk_fill(void *memory, size_t bytes)
{
    memset(memory, ypk_where.work->settings->garbage, bytes);
}
