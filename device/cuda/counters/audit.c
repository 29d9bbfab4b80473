/* What work really does, counted by the device itself: one range around it, executed once for each
 * pass, since the device has not counters enough for all at once. */
#include "device/cuda/counters/cupti.h"
#include "device/cuda/internal.h"

#include <stdlib.h>
#include <string.h>

/* Passes beyond what was announced before it is believed that there is no end. */
enum { PASSES_MORE = 2 };

static struct {
    const struct ypi_cupti *cupti;
    struct ypi_metrics metrics;
    void *context;
    void *profiler;   /* NULL: not enabled */
    bool used;        /* since it was enabled */
    uint8_t *counted; /* CUPTI's image of them */
    size_t counted_size, passes;
} now;

/* -- opening -------------------------------------------------------------------------------- */

/* CUPTI wants the driver's context, which the runtime has made. */
static enum yp_status find_context(void **out)
{
    typedef int current_context(void **);
    void *symbol = NULL;
    current_context *current = NULL;
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    cudaError_t error = cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &symbol, 4000,
                                                         cudaEnableDefault, &found);
#else
    cudaError_t error =
        cudaGetDriverEntryPoint("cuCtxGetCurrent", &symbol, cudaEnableDefault, &found);
#endif
    if (error != cudaSuccess)
        return ypi_cuda_status(error, "the driver's cuCtxGetCurrent");
    memcpy(&current, &symbol, sizeof current);
    if (found != cudaDriverEntryPointSuccess || current == NULL || current(out) != 0)
        return ypi_cuda_host->set_error(YP_UNSUPPORTED, "CUPTI: the driver tells no context");
    return YP_OK;
}

/* Why the device's configuration has no counters; NULL: it is not that. */
static const char *unsupported(const struct ypi_cupti_supported *s)
{
    const struct {
        int level;
        const char *why;
    } parts[] = {{s->architecture, "the device is older than compute capability 7.0"},
                 {s->sli, "SLI is on"},
                 {s->vgpu, "counting is not enabled for the virtual device (vGPU)"},
                 {s->confidential, "confidential computing is on"},
                 {s->mining, "a mining processor is not counted"},
                 {s->wsl, "not in this WSL"}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].level != YPI_CUPTI_SUPPORTED)
            return parts[i].why;
    return "not in this configuration";
}

static enum yp_status check_supported(void)
{
    struct ypi_cupti_supported p = {.size = YPI_CUPTI_SIZE(ypi_cupti_supported, api)};
    enum yp_status status =
        ypi_cupti_status(now.cupti, now.cupti->supported(&p), "whether the device can be counted");
    if (status != YP_OK || p.all == YPI_CUPTI_SUPPORTED)
        return status;
    return ypi_cuda_host->set_error(YP_UNSUPPORTED, "CUPTI cannot count on this device: %s",
                                    unsupported(&p));
}

/* Counters that only the administrator may read are refused here. */
static enum yp_status get_ready(void)
{
    const struct ypi_cupti *c = now.cupti;
    struct ypi_cupti_chip chip = {.size = YPI_CUPTI_SIZE(ypi_cupti_chip, name)};
    struct ypi_cupti_availability a = {.size = YPI_CUPTI_SIZE(ypi_cupti_availability, image),
                                       .context = now.context};
    enum yp_status status = ypi_cupti_status(c, c->chip(&chip), "the name of the chip");
    if (status == YP_OK)
        status = ypi_cupti_status(c, c->availability(&a), "the counters that there are");
    if (status != YP_OK)
        return status;
    a.image = calloc(1, a.image_size);
    if (a.image == NULL)
        return ypi_cuda_host->set_error(YP_OUT_OF_MEMORY, "out of memory: CUPTI's counters");
    status = ypi_cupti_status(c, c->availability(&a), "the counters that there are");
    if (status == YP_OK)
        status = ypi_metrics_open(&now.metrics, c, chip.name, a.image);
    free(a.image);
    return status;
}

static enum yp_status allocate_counts(void)
{
    const struct ypi_cupti *c = now.cupti;
    struct ypi_cupti_counted_size p = {.size = YPI_CUPTI_SIZE(ypi_cupti_counted_size, bytes),
                                       .profiler = now.profiler,
                                       .metrics = (const char **)(uintptr_t)now.metrics.names,
                                       .count = now.metrics.count,
                                       .ranges_max = 1,
                                       .nodes_max = 1};
    enum yp_status status = ypi_cupti_status(c, c->counted_size(&p), "the size of the counts");
    if (status != YP_OK)
        return status;
    now.counted_size = p.bytes;
    now.counted = calloc(1, p.bytes);
    return now.counted != NULL
               ? YP_OK
               : ypi_cuda_host->set_error(YP_OUT_OF_MEMORY, "out of memory: CUPTI's counts");
}

static enum yp_status enable(void)
{
    struct ypi_cupti_enable p = {.size = YPI_CUPTI_SIZE(ypi_cupti_enable, profiler),
                                 .context = now.context};
    enum yp_status status =
        ypi_cupti_status(now.cupti, now.cupti->enable(&p), "enabling the range profiler");
    now.profiler = status == YP_OK ? p.profiler : NULL;
    now.used = false;
    return status == YP_OK ? allocate_counts() : status;
}

static void disable(void)
{
    struct ypi_cupti_profiler p = {.size = YPI_CUPTI_SIZE(ypi_cupti_profiler, profiler),
                                   .profiler = now.profiler};
    if (now.profiler != NULL)
        (void)now.cupti->disable(&p);
    free(now.counted);
    now.profiler = NULL;
    now.counted = NULL;
}

enum yp_status ypi_cuda_audit_open(struct yp_device *device)
{
    (void)device;
    struct ypi_cupti_initialize p = {.size = YPI_CUPTI_SIZE(ypi_cupti_initialize, none)};
    now.cupti = ypi_cupti_load();
    if (now.cupti == NULL)
        return YP_UNSUPPORTED;
    enum yp_status status = find_context(&now.context);
    if (status == YP_OK)
        status = ypi_cupti_status(now.cupti, now.cupti->initialize(&p), "getting ready");
    if (status == YP_OK)
        status = check_supported();
    if (status == YP_OK)
        status = get_ready();
    if (status == YP_OK)
        status = enable();
    if (status != YP_OK)
        ypi_cuda_audit_close();
    return status;
}

void ypi_cuda_audit_close(void)
{
    disable();
    ypi_metrics_close(&now.metrics);
}

/* -- counting ------------------------------------------------------------------------------- */

/* A profiler is enabled anew for each configuration: CUPTI does not say that it takes two. */
static enum yp_status renew(void)
{
    if (!now.used)
        return YP_OK;
    disable();
    return enable();
}

static enum yp_status empty(void)
{
    const struct ypi_cupti *c = now.cupti;
    struct ypi_cupti_counted_init i = {.size = YPI_CUPTI_SIZE(ypi_cupti_counted_init, counted),
                                       .profiler = now.profiler,
                                       .bytes = now.counted_size,
                                       .counted = now.counted};
    struct ypi_cupti_set s = {.size = YPI_CUPTI_SIZE(ypi_cupti_set, nesting_target),
                              .profiler = now.profiler,
                              .config_size = now.metrics.config_size,
                              .config = now.metrics.config,
                              .counted_size = now.counted_size,
                              .counted = now.counted,
                              .range = YPI_CUPTI_USER_RANGE,
                              .replay = YPI_CUPTI_USER_REPLAY,
                              .ranges_max = 1,
                              .nesting_levels = 1,
                              .nesting_min = 1,
                              .nesting_target = 1};
    now.passes = 0;
    now.used = true;
    memset(now.counted, 0, now.counted_size);
    enum yp_status status = ypi_cupti_status(c, c->counted_init(&i), "room for counts");
    return status == YP_OK ? ypi_cupti_status(c, c->set(&s), "setting what is counted") : status;
}

enum yp_status ypi_cuda_audit_begin(struct yp_device *device, bool first)
{
    const struct ypi_cupti *c = now.cupti;
    struct ypi_cupti_profiler p = {.size = YPI_CUPTI_SIZE(ypi_cupti_profiler, profiler)};
    struct ypi_cupti_push range = {.size = YPI_CUPTI_SIZE(ypi_cupti_push, name), .name = "work"};
    if (now.profiler == NULL)
        return ypi_cuda_host->set_error(YP_INVALID, "nothing was got ready to be counted");
    /* What was launched before is not the work's. */
    enum yp_status status = ypi_cuda_synchronize(device);
    if (status == YP_OK && first)
        status = renew();
    if (status == YP_OK && first)
        status = empty();
    p.profiler = range.profiler = now.profiler;
    if (status == YP_OK)
        status = ypi_cupti_status(c, c->start(&p), "beginning to count");
    return status == YP_OK ? ypi_cupti_status(c, c->push(&range), "beginning a range") : status;
}

enum yp_status ypi_cuda_audit_end(struct yp_device *device, bool *more)
{
    const struct ypi_cupti *c = now.cupti;
    struct ypi_cupti_profiler p = {.size = YPI_CUPTI_SIZE(ypi_cupti_profiler, profiler),
                                   .profiler = now.profiler};
    struct ypi_cupti_stop s = {.size = YPI_CUPTI_SIZE(ypi_cupti_stop, all_passes),
                               .profiler = now.profiler};
    *more = false;
    enum yp_status status = ypi_cuda_synchronize(device);
    if (status == YP_OK)
        status = ypi_cupti_status(c, c->pop(&p), "ending a range");
    if (status == YP_OK)
        status = ypi_cupti_status(c, c->stop(&s), "ending to count");
    if (status != YP_OK)
        return status;
    now.passes++;
    *more = s.all_passes == 0;
    if (*more && now.passes > now.metrics.passes + PASSES_MORE)
        return ypi_cuda_host->set_error(
            YP_DEVICE_FAULT,
            "CUPTI: %zu passes are over, and it wants more than the %zu it announced", now.passes,
            now.metrics.passes);
    return YP_OK;
}

enum yp_status ypi_cuda_audit_read(struct yp_device *device, double out[YPI_AUDITED])
{
    (void)device;
    const struct ypi_cupti *c = now.cupti;
    struct ypi_cupti_decode d = {.size = YPI_CUPTI_SIZE(ypi_cupti_decode, dropped),
                                 .profiler = now.profiler};
    struct ypi_cupti_counted_info i = {.size = YPI_CUPTI_SIZE(ypi_cupti_counted_info, ranges),
                                       .counted = now.counted,
                                       .bytes = now.counted_size};
    enum yp_status status = ypi_cupti_status(c, c->decode(&d), "decoding the counts");
    if (status == YP_OK)
        status = ypi_cupti_status(c, c->counted_info(&i), "what was counted");
    if (status == YP_OK && (d.dropped > 0 || i.ranges != 1))
        return ypi_cuda_host->set_error(YP_DEVICE_FAULT,
                                        "CUPTI: %zu ranges were counted and %zu dropped, not one",
                                        i.ranges, d.dropped);
    return status == YP_OK ? ypi_metrics_read(&now.metrics, now.counted, now.counted_size, out)
                           : status;
}
