/* Processes that plan and measure. The command's own process computes nothing: what a library
 * starts or keeps for its work would be in every process that is forked later. */
#include "models/nn/gemm/gemm.h"
#include "models/refiner/command/internal.h"

#include "base/system/clock.h"
#include "device/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

struct worker {
    const struct ypi_refiner_request *r;
    size_t first, past; /* its configurations */
    int fd;
    double told; /* when it last said how far it is */
};

static void send_message(int fd, const struct ypi_refiner_message *message)
{
    if (write(fd, message, sizeof *message) != (ssize_t)sizeof *message)
        _exit(EXIT_FAILURE); /* nobody is there to take it */
}

/* -- their work -------------------------------------------------------------------------------- */

static void plan(struct worker *w)
{
    for (size_t i = w->first; i < w->past; i++) {
        const struct ypi_refiner_work work = ypi_refiner_work(w->r, i);
        struct ypi_refiner_message message = {.kind = YPI_REFINER_PLAN};
        message.status = w->r->model->plan(&work, &message.plan);
        if (message.status != YP_OK)
            snprintf(message.result.error, sizeof message.result.error, "%s", yp_last_error());
        send_message(w->fd, &message);
    }
}

static void tell(void *arg, size_t iterations)
{
    struct worker *w = arg;
    const double now = ypi_now();
    if (now - w->told < YPI_REFINER_TELL)
        return;
    w->told = now;
    send_message(w->fd, &(struct ypi_refiner_message){.kind = YPI_REFINER_PROGRESS,
                                                      .iterations = iterations});
}

static void measure(struct worker *w)
{
    struct yp_device *device = NULL;
    const enum yp_status status = ypi_device_open(w->r->work.kind, &device);
    if (status == YP_OK && w->r->limit > 0)
        yp_device_set_limit(device, w->r->limit);
    if (w->r->one_process)
        (void)nn_gemm_settle(); /* without memory for it the buffers grow with the sizes */
    for (size_t i = w->first; i < w->past; i++) {
        struct ypi_refiner_message message = {.kind = YPI_REFINER_RESULT};
        struct ypi_refiner_work work = ypi_refiner_work(w->r, i);
        work.device = device;
        if (status == YP_OK)
            ypi_refiner_measure(w->r, &work, tell, w, &message.result);
        else
            snprintf(message.result.error, sizeof message.result.error, "%s", yp_last_error());
        send_message(w->fd, &message);
    }
}

/* -- their beginning --------------------------------------------------------------------------- */

static pid_t start(struct worker *w, void (*work)(struct worker *w), int *output)
{
    const pid_t parent = getpid();
    int ends[2] = {-1, -1};
    fflush(NULL);
    const pid_t pid = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
    if (pid == 0) {
        signal(SIGINT, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        w->fd = ends[1];
        if (getppid() == parent)
            work(w);
        _exit(getppid() == parent ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    if (pid < 0)
        yp_set_error(YP_IO, "a process cannot be started: %s", strerror(errno));
    if (pid < 0 && ends[0] >= 0)
        close(ends[0]);
    if (ends[1] >= 0)
        close(ends[1]);
    *output = ends[0];
    return pid;
}

pid_t ypi_refiner_start_plans(const struct ypi_refiner_request *request, int *output)
{
    struct worker w = {.r = request, .past = ypi_refiner_count(request)};
    return start(&w, plan, output);
}

pid_t ypi_refiner_start(const struct ypi_refiner_request *request, size_t first, size_t past,
                        int *output)
{
    struct worker w = {.r = request, .first = first, .past = past};
    return start(&w, measure, output);
}
