/* One configuration: its times, and its memory. */
#include "models/refiner/command/internal.h"

#include "base/numbers/stats.h"
#include "base/system/clock.h"
#include "base/system/process.h"
#include "base/text/text.h"
#include "models/nn/gemm/gemm.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

enum { FORWARD, BACKWARD, UPDATE, PARTS };

/* Adds the seconds of each part. */
static enum yp_status step(const struct ypi_refiner_model *model, void *state,
                           const struct ypi_refiner_work *work, double seconds[PARTS])
{
    enum yp_status (*const parts[PARTS])(void *) = {model->forward, model->backward, model->update};
    double before = ypi_now();
    for (int i = 0; i < (work->train ? PARTS : 1); i++) {
        enum yp_status status = parts[i](state);
        if (status == YP_OK)
            status = yp_device_synchronize(work->device);
        if (status != YP_OK)
            return status;
        const double now = ypi_now();
        seconds[i] += now - before;
        before = now;
    }
    return YP_OK;
}

struct iterations {
    const struct ypi_refiner_request *request;
    const struct ypi_refiner_work *work;
    void *state;
    void (*tell)(void *arg, size_t iterations);
    void *arg;
};

static enum yp_status iterate(const struct iterations *it, double *times,
                              struct ypi_refiner_result *out)
{
    const size_t warmup = it->request->warmup, all = warmup + it->request->iterations;
    double parts[PARTS] = {0};
    for (size_t i = 0; i < all; i++) {
        double seconds[PARTS] = {0};
        enum yp_status status = step(it->request->model, it->state, it->work, seconds);
        if (status != YP_OK)
            return status;
        for (int k = 0; k < PARTS && i >= warmup; k++) {
            times[i - warmup] += seconds[k];
            parts[k] += seconds[k];
        }
        it->tell(it->arg, i + 1);
    }
    const struct ypi_estimate e = ypi_estimate(times, it->request->iterations);
    out->mean = e.mean;
    out->sd = e.sd;
    out->forward = parts[FORWARD] / (double)it->request->iterations;
    out->backward = parts[BACKWARD] / (double)it->request->iterations;
    return YP_OK;
}

static enum yp_status measure(const struct iterations *it, struct ypi_refiner_result *out)
{
    struct yp_memory memory;
    double *times = ypi_calloc(it->request->iterations, sizeof *times);
    enum yp_status status = iterate(it, times, out);
    free(times);
    yp_device_memory(it->work->device, &memory);
    out->allocated = memory.allocated;
    out->reserved = memory.reserved;
    out->peak = memory.allocated_peak;
    return status;
}

/* What the process holds: memory of the host that is not a file's, and of an accelerator. */
static uint64_t held(const struct yp_device *device)
{
    struct ypi_process_memory own = {0};
    struct yp_memory memory = {0};
    (void)ypi_self_memory(&own);
    if (yp_device_memory_kind(device) == YP_DEVICE)
        yp_device_memory(device, &memory);
    return own.own + memory.allocated;
}

void ypi_refiner_measure(const struct ypi_refiner_request *request,
                         const struct ypi_refiner_work *work,
                         void (*tell)(void *arg, size_t iterations), void *arg,
                         struct ypi_refiner_result *out)
{
    *out = (struct ypi_refiner_result){.began = ypi_wall_clock()};
    void *state = request->model->open(work);
    yp_device_reset_peak(work->device);
    enum yp_status status = state != NULL ? YP_OK : yp_last_status();
    const struct iterations it = {request, work, state, tell, arg};
    if (status == YP_OK)
        status = measure(&it, out);
    if (status != YP_OK)
        snprintf(out->error, sizeof out->error, "%s",
                 status == YP_OUT_OF_MEMORY ? YPI_REFINER_OOM : yp_last_error());
    if (state != NULL && request->model->note != NULL && status == YP_OK)
        (void)request->model->note(state, out->note, sizeof out->note);
    if (state != NULL)
        request->model->close(state);
    nn_gemm_forget();
    malloc_trim(0); /* freed memory goes back to the system before the next configuration */
    out->left = held(work->device);
}
