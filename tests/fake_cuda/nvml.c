/* A library of the driver's that knows one device: what device/cuda/nvml.c asks, answered after a
 * pattern. FAKE_NVML holds words: "slow" is a device that is held back by its power, "hot" by its
 * heat, "capped" one at its power cap whose clock is hardly lower for it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))
enum { SUCCESS = 0, NOT_FOUND = 6 };

struct memory {
    unsigned long long total, available, used;
};
struct utilisation {
    unsigned gpu, memory;
};
struct process {
    unsigned pid;
    unsigned long long used;
    unsigned instance, compute_instance;
};

int nvmlInit_v2(void);
int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **device);
int nvmlDeviceGetMaxClockInfo(void *device, int clock, unsigned *megahertz);
int nvmlDeviceGetClockInfo(void *device, int clock, unsigned *megahertz);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons);
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *degrees);
int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts);
int nvmlDeviceGetUtilizationRates(void *device, struct utilisation *out);
int nvmlDeviceGetMemoryInfo(void *device, struct memory *out);
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, struct process *out);
int nvmlSystemGetDriverVersion(char *out, unsigned size);

static int one;

static int is(const char *word)
{
    const char *words = getenv("FAKE_NVML");
    return words != NULL && strstr(words, word) != NULL;
}

PUBLIC int nvmlInit_v2(void)
{
    return SUCCESS;
}

PUBLIC int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **device)
{
    *device = &one;
    return strcmp(id, "0000:00:00.0") == 0 ? SUCCESS : NOT_FOUND;
}

PUBLIC int nvmlDeviceGetMaxClockInfo(void *device, int clock, unsigned *megahertz)
{
    *megahertz = 1980;
    return device == &one && clock == 1 ? SUCCESS : NOT_FOUND;
}

PUBLIC int nvmlDeviceGetClockInfo(void *device, int clock, unsigned *megahertz)
{
    *megahertz = is("slow") ? 1200 : 1755;
    return device == &one && clock == 1 ? SUCCESS : NOT_FOUND;
}

PUBLIC int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
    *reasons = is("slow") || is("capped") ? 0x4 : is("hot") ? 0x20 : 0x1;
    return device == &one ? SUCCESS : NOT_FOUND;
}

PUBLIC int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *degrees)
{
    *degrees = 61;
    return device == &one && sensor == 0 ? SUCCESS : NOT_FOUND;
}

PUBLIC int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
    *milliwatts = 345678;
    return device == &one ? SUCCESS : NOT_FOUND;
}

PUBLIC int nvmlDeviceGetUtilizationRates(void *device, struct utilisation *out)
{
    *out = (struct utilisation){.gpu = 87, .memory = 5};
    return device == &one ? SUCCESS : NOT_FOUND;
}

PUBLIC int nvmlDeviceGetMemoryInfo(void *device, struct memory *out)
{
    *out = (struct memory){.total = 100, .available = 58, .used = 42};
    return device == &one ? SUCCESS : NOT_FOUND;
}

PUBLIC int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count,
                                                   struct process *out)
{
    *count = 2;
    out[0] = (struct process){.pid = 1, .used = 7};
    out[1] = (struct process){.pid = (unsigned)getpid(), .used = 123456789};
    return device == &one ? SUCCESS : NOT_FOUND;
}

PUBLIC int nvmlSystemGetDriverVersion(char *out, unsigned size)
{
    strncpy(out, "599.1", size);
    return SUCCESS;
}
