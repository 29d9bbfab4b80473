/* Checks of a body: predicted memory against accounted memory, and each allocation refused. */
#include "base/text/text.h"
#include "harness/body/child.h"

#include <stdlib.h>
#include <string.h>
#include <yieldpoint/memory.h>

static struct ypi_memory_mark mark_now(struct yp_case *t)
{
    struct yp_memory host, device = {0};
    yp_device_memory(yp_device_cpu(), &host);
    if (yp_device(t) != yp_device_cpu())
        yp_device_memory(yp_device(t), &device);
    return (struct ypi_memory_mark){.host = host.allocated,
                                    .device = device.allocated,
                                    .requests = host.allocations + device.allocations,
                                    .open = true};
}

struct ypi_memory_mark ypi_memory_begin(struct yp_case *t, const char *file, int line,
                                        const char *what, struct yp_memory_options predicted)
{
    struct ypi_memory_mark mark = mark_now(t);
    mark.file = file;
    mark.line = line;
    mark.what = what;
    mark.predicted_host = predicted.host;
    mark.predicted_device = predicted.device;
    mark.host_at_most = predicted.host_at_most;
    return mark;
}

struct ypi_memory_mark ypi_requests_begin(struct yp_case *t, const char *file, int line,
                                          const char *what)
{
    struct ypi_memory_mark mark =
        ypi_memory_begin(t, file, line, what, (struct yp_memory_options){0});
    mark.no_requests = true;
    return mark;
}

static void expect_bytes(struct yp_case *t, const struct ypi_memory_mark *mark, const char *of,
                         long long taken, uint64_t predicted, bool at_most)
{
    if (at_most ? taken > (long long)predicted : taken != (long long)predicted)
        ypi_child_fail(t, YPI_CAUSE_EXPECTATION, mark->file, mark->line,
                       "%s takes %lld bytes of the %s, where %s%llu are predicted", mark->what,
                       taken, of, at_most ? "at most " : "", (unsigned long long)predicted);
}

void ypi_memory_end(struct yp_case *t, struct ypi_memory_mark *mark)
{
    struct ypi_memory_mark now = mark_now(t);
    mark->open = false;
    if (mark->no_requests) {
        if (now.requests != mark->requests)
            ypi_child_fail(t, YPI_CAUSE_EXPECTATION, mark->file, mark->line,
                           "%s took memory %llu time%s, where none was to be taken", mark->what,
                           (unsigned long long)(now.requests - mark->requests),
                           now.requests - mark->requests == 1 ? "" : "s");
        return;
    }
    expect_bytes(t, mark, "host", (long long)(now.host - mark->host), mark->predicted_host,
                 mark->host_at_most);
    expect_bytes(t, mark, "device", (long long)(now.device - mark->device), mark->predicted_device,
                 false);
}

/* -- refusals ----------------------------------------------------------------------------- */

struct refusing {
    struct yp_case *t;
    struct ypi_memory_mark before; /* and the place that failures name */
    struct yp_device *device;
    yp_attempt *body;
    void *arg;
};

/* Runs the body with request `nth` refused, 0: none, and looks at what it left behind. */
static enum yp_status attempt(struct refusing *r, uint64_t nth, bool *refused)
{
    struct yp_memory before, after;
    yp_device_memory(r->device, &before);
    yp_device_fail_allocation(r->device, nth);
    enum yp_status status = r->body(r->t, r->arg);
    yp_device_fail_allocation(r->device, 0);
    yp_device_memory(r->device, &after);
    *refused = after.refused != before.refused;
    struct ypi_memory_mark now = mark_now(r->t);
    long long host = (long long)(now.host - r->before.host);
    long long device = (long long)(now.device - r->before.device);
    if (host != 0 || device != 0)
        ypi_child_fail(r->t, YPI_CAUSE_EXPECTATION, r->before.file, r->before.line,
                       "%s with request %llu to the %s refused: %lld bytes of the host and %lld of "
                       "the device are left",
                       r->before.what, (unsigned long long)nth, yp_device_name(r->device), host,
                       device);
    r->before.host = now.host; /* what was left is reported once */
    r->before.device = now.device;
    return status;
}

/* `behind` is the refusal before this run, 0: there was none yet. */
static void expect_right(struct refusing *r, uint64_t behind, enum yp_status status)
{
    if (status == YP_OK)
        return;
    char *when = behind > 0 ? ypi_format(", behind the refusal of request %llu to the %s",
                                         (unsigned long long)behind, yp_device_name(r->device))
                            : ypi_strdup("");
    ypi_child_fail(r->t, YPI_CAUSE_EXPECTATION, r->before.file, r->before.line,
                   "%s with nothing refused%s: status %d, '%s'", r->before.what, when, (int)status,
                   yp_last_error());
    free(when);
}

static void expect_refusal(struct refusing *r, uint64_t nth, enum yp_status status)
{
    if (status == YP_OUT_OF_MEMORY && strstr(yp_last_error(), "out of memory") != NULL)
        return;
    ypi_child_fail(r->t, YPI_CAUSE_EXPECTATION, r->before.file, r->before.line,
                   "%s with request %llu to the %s refused: status %d, '%s', where it must be out "
                   "of memory",
                   r->before.what, (unsigned long long)nth, yp_device_name(r->device), (int)status,
                   status != YP_OK ? yp_last_error() : "");
}

int ypi_refuse_each(struct yp_case *t, const char *file, int line, const char *name,
                    struct yp_device *device, yp_attempt *body, void *arg)
{
    enum { MAX_RUNS = 10000 };
    struct refusing r = {.t = t, .device = device, .body = body, .arg = arg};
    bool refused = false;
    r.before = mark_now(t);
    r.before.file = file;
    r.before.line = line;
    r.before.what = name;
    expect_right(&r, 0, attempt(&r, 0, &refused));
    for (int nth = 1; nth <= MAX_RUNS; nth++) {
        enum yp_status status = attempt(&r, (uint64_t)nth, &refused);
        if (!refused) {
            expect_right(&r, (uint64_t)nth - 1, status);
            return nth - 1;
        }
        expect_refusal(&r, (uint64_t)nth, status);
        expect_right(&r, (uint64_t)nth, attempt(&r, 0, &refused));
    }
    ypi_child_fail(t, YPI_CAUSE_EXPECTATION, file, line, "%s: more than %d requests to the %s",
                   name, MAX_RUNS, yp_device_name(device));
    return MAX_RUNS;
}
