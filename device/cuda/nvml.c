/* What the device itself says of its clocks, heat, power and memory: NVML, which comes with the
 * driver. Loaded by name and declared here, since CUDA's toolkit need not have its header; the
 * functions and structures are those of "NVML API Reference Guide" (NVIDIA). */
#include "device/cuda/internal.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLOCK_SM = 1, TEMPERATURE_GPU = 0, SUCCESS = 0, PROCESSES_MAX = 64 };

typedef void *nvml_device;

struct nvml_memory {
    unsigned long long total, available, used;
};
struct nvml_utilisation {
    unsigned gpu, memory; /* percent */
};
struct nvml_process {
    unsigned pid;
    unsigned long long used; /* bytes */
    unsigned instance, compute_instance;
};

struct ypi_nvml {
    nvml_device device;
    double clock_max;
    int (*clock)(nvml_device, int, unsigned *);
    int (*reasons)(nvml_device, unsigned long long *);
    int (*temperature)(nvml_device, int, unsigned *);
    int (*power)(nvml_device, unsigned *);
    int (*utilisation)(nvml_device, struct nvml_utilisation *);
    int (*memory)(nvml_device, struct nvml_memory *);
    int (*processes)(nvml_device, unsigned *, struct nvml_process *);
    int (*driver)(char *, unsigned);
    int (*limit)(nvml_device, unsigned *);
};

/* Into a pointer to a function, which C converts from no other. */
static bool find(void *library, const char *symbol, void *function)
{
    void *found = dlsym(library, symbol);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

static void find_all(void *library, struct ypi_nvml *n)
{
    (void)find(library, "nvmlDeviceGetClockInfo", &n->clock);
    /* Its name since the driver 535, and the one before. */
    (void)(find(library, "nvmlDeviceGetCurrentClocksEventReasons", &n->reasons) ||
           find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", &n->reasons));
    (void)find(library, "nvmlDeviceGetTemperature", &n->temperature);
    (void)find(library, "nvmlDeviceGetPowerUsage", &n->power);
    (void)find(library, "nvmlDeviceGetUtilizationRates", &n->utilisation);
    (void)find(library, "nvmlDeviceGetMemoryInfo", &n->memory);
    (void)find(library, "nvmlDeviceGetComputeRunningProcesses_v3", &n->processes);
    (void)find(library, "nvmlSystemGetDriverVersion", &n->driver);
    (void)find(library, "nvmlDeviceGetEnforcedPowerLimit", &n->limit);
}

static bool attach(void *library, struct ypi_nvml *n, const char *pci)
{
    int (*init)(void) = NULL;
    int (*by_pci)(const char *, nvml_device *) = NULL;
    int (*max_clock)(nvml_device, int, unsigned *) = NULL;
    unsigned megahertz = 0;
    if (!find(library, "nvmlInit_v2", &init) ||
        !find(library, "nvmlDeviceGetHandleByPciBusId_v2", &by_pci) || init() != SUCCESS ||
        by_pci(pci, &n->device) != SUCCESS)
        return false;
    find_all(library, n);
    n->clock_max = NAN;
    if (find(library, "nvmlDeviceGetMaxClockInfo", &max_clock) &&
        max_clock(n->device, CLOCK_SM, &megahertz) == SUCCESS)
        n->clock_max = 1e6 * megahertz;
    return true;
}

struct ypi_nvml *ypi_nvml_open(const char *pci)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    struct ypi_nvml *n = library != NULL ? calloc(1, sizeof *n) : NULL;
    if (n != NULL && attach(library, n, pci))
        return n;
    free(n);
    if (library != NULL)
        dlclose(library);
    return NULL;
}

bool ypi_cuda_condition(struct yp_device *device, struct ypi_condition *out)
{
    const struct ypi_nvml *n = ypi_cuda(device)->nvml;
    unsigned value = 0;
    unsigned long long bits = 0;
    struct nvml_utilisation utilisation = {0};
    struct nvml_memory memory = {0};
    if (n == NULL)
        return false;
    *out = (struct ypi_condition){.at = ypi_cuda_now(),
                                  .clock = NAN,
                                  .clock_max = n->clock_max,
                                  .temperature = NAN,
                                  .power = NAN,
                                  .utilisation = NAN,
                                  .used = NAN};
    if (n->clock != NULL && n->clock(n->device, CLOCK_SM, &value) == SUCCESS)
        out->clock = 1e6 * value;
    if (n->reasons != NULL && n->reasons(n->device, &bits) == SUCCESS)
        out->throttled = bits;
    if (n->temperature != NULL && n->temperature(n->device, TEMPERATURE_GPU, &value) == SUCCESS)
        out->temperature = value;
    if (n->power != NULL && n->power(n->device, &value) == SUCCESS)
        out->power = 1e-3 * value;
    if (n->utilisation != NULL && n->utilisation(n->device, &utilisation) == SUCCESS)
        out->utilisation = 0.01 * utilisation.gpu;
    if (n->memory != NULL && n->memory(n->device, &memory) == SUCCESS)
        out->used = (double)memory.used;
    return true;
}

/* In a container the driver may number processes otherwise: one alone can only be this one. */
uint64_t ypi_nvml_own_bytes(struct ypi_nvml *n)
{
    struct nvml_process all[PROCESSES_MAX];
    unsigned count = PROCESSES_MAX;
    if (n->processes == NULL || n->processes(n->device, &count, all) != SUCCESS)
        return 0;
    const struct nvml_process *own = count == 1 ? all : NULL;
    for (unsigned i = 0; i < count && i < PROCESSES_MAX; i++)
        if (all[i].pid == (unsigned)getpid())
            own = &all[i];
    /* All bits set: the driver does not know. */
    return own != NULL && own->used != ~0ULL ? own->used : 0;
}

void ypi_nvml_facts(struct ypi_nvml *n, ypi_cuda_fact *report, void *arg)
{
    char text[96] = "";
    unsigned milliwatts = 0;
    if (n->driver != NULL && n->driver(text, (unsigned)sizeof text) == SUCCESS)
        report(arg, "gpu.driver", text);
    if (!isnan(n->clock_max)) {
        snprintf(text, sizeof text, "%.0f MHz", n->clock_max * 1e-6);
        report(arg, "gpu.clock.most", text);
    }
    if (n->limit != NULL && n->limit(n->device, &milliwatts) == SUCCESS) {
        snprintf(text, sizeof text, "%.0f W", 1e-3 * milliwatts);
        report(arg, "gpu.power.limit", text);
    }
}
