/* The machine's accelerators: which there are, why none, and their ceilings. Each is measured by a
 * process of its own, so that this one never loads a driver and survives a crash or hang. */
#include "machine/machine.h"

#include "base/text/text.h"
#include "device/backend.h"
#include "device/ceiling/ceiling.h"
#include "device/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROBE_SECONDS 0.03
enum { RUNS = 7, TIMEOUT_SECONDS = 300 };

/* -- which there are ----------------------------------------------------------------------- */

/* Whether the reason means that the number is beyond the last device. */
static bool is_no_more(const char *reason)
{
    return strstr(reason, "the driver finds none") != NULL ||
           strstr(reason, "which has no") != NULL;
}

int ypi_devices_find(struct ypi_machine_device out[YPI_MACHINE_DEVICES])
{
    int count = 0;
    for (int i = 0; i < YPI_MACHINE_DEVICES; i++) {
        struct ypi_machine_device *d = &out[count];
        *d = (struct ypi_machine_device){0};
        snprintf(d->name, sizeof d->name, "cuda:%d", i);
        d->absent = ypi_device_absent(d->name);
        bool same = count > 0 && d->absent != NULL && out[count - 1].absent != NULL &&
                    strcmp(d->absent, out[count - 1].absent) == 0;
        if (i > 0 && d->absent != NULL && (same || is_no_more(d->absent)))
            break;
        count++;
        if (d->absent != NULL && is_no_more(d->absent))
            break;
    }
    return count;
}

char *ypi_device_key(const char *machine, const struct ypi_machine_device *d)
{
    const char *model = ypi_device_fact(d->name, "gpu.name");
    const char *place = ypi_device_fact(d->name, "gpu.pci");
    return ypi_format("%s/%s/%s", machine, model != NULL ? model : d->name,
                      place != NULL ? place : "");
}

/* -- measuring, in a process of its own ------------------------------------------------------ */

static bool send_figure(int fd, struct ypi_figure figure, const double *runs, size_t count)
{
    struct ypi_figures one = {0};
    ypi_figures_add_runs(&one, &figure, runs, count);
    bool sent = write(fd, one.list, sizeof *one.list) == (ssize_t)sizeof *one.list;
    free(one.list);
    return sent;
}

/* A ceiling that the device has no unit for gives no figure; one that failed gives NaN. Returns
 * false when the pipe fails. */
static bool measure_probe(int fd, struct yp_device *device, enum yp_ceiling ceiling,
                          double footprint)
{
    double runs[RUNS];
    size_t count = 0;
    struct ypi_figure figure = {.measured = 0};
    struct ypi_device_probe *probe = device->backend->probe_open(device, ceiling, footprint);
    if (probe == NULL && yp_last_status() == YP_UNSUPPORTED)
        return true;
    const char *level = probe != NULL ? device->backend->probe_level(probe) : "";
    snprintf(figure.name, sizeof figure.name, "%s", yp_ceiling_name(ceiling));
    snprintf(figure.level, sizeof figure.level, "%.7s", level);
    bool bytes = ypi_is_traffic(ceiling);
    snprintf(figure.unit, sizeof figure.unit, "%s", bytes ? "B/s" : "op/s");
    while (probe != NULL && count < RUNS) {
        double rate = device->backend->probe_run(probe, PROBE_SECONDS);
        if (!(rate > 0))
            break;
        runs[count++] = rate;
    }
    device->backend->probe_close(probe);
    return send_figure(fd, figure, runs, count);
}

static void measure_all(const char *name, int fd) __attribute__((noreturn));

static void measure_all(const char *name, int fd)
{
    struct yp_device *device = NULL;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGALRM, SIG_DFL);
    alarm(TIMEOUT_SECONDS);
    if (ypi_device_open(name, &device) != YP_OK) {
        fprintf(stderr, "\nwarning: %s: %s\n", name, yp_last_error());
        _exit(1);
    }
    bool ok = true;
    for (int c = YP_NO_CEILING + 1; c <= YP_LAUNCH && ok; c++) {
        bool cached = ypi_is_memory_traffic((enum yp_ceiling)c);
        ok = (!cached || measure_probe(fd, device, (enum yp_ceiling)c, 1)) &&
             measure_probe(fd, device, (enum yp_ceiling)c, 0);
    }
    _exit(ok && yp_device_synchronize(device) == YP_OK ? 0 : 1);
}

static void take_figures(struct ypi_figures *out, int fd)
{
    struct ypi_figure figure;
    size_t have = 0;
    ssize_t got = 0;
    while ((got = read(fd, (char *)&figure + have, sizeof figure - have)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            break;
        have += (size_t)got;
        if (have < sizeof figure)
            continue;
        ypi_figures_add(out, &figure);
        have = 0;
    }
}

void ypi_device_calibrate(struct ypi_machine_device *d)
{
    int ends[2];
    int status = 0;
    ypi_calibrate_progress("measuring %s", d->name);
    fflush(NULL);
    pid_t pid = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
    if (pid < 0) {
        fprintf(stderr, "warning: %s: cannot be measured: %s\n", d->name, strerror(errno));
        return;
    }
    if (pid == 0)
        measure_all(d->name, ends[1]);
    close(ends[1]);
    take_figures(&d->figures, ends[0]);
    close(ends[0]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    ypi_calibrate_progress("%s", "");
    if (WIFSIGNALED(status))
        fprintf(stderr, "warning: %s: the process that measured it was ended: %s\n", d->name,
                strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) != 0)
        fprintf(stderr, "warning: %s: it was not measured to the end\n", d->name);
}
