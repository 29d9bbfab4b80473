/* Which devices there are, and the one that a case runs on. */
#pragma once

#include <yieldpoint/device.h>

/* NULL when a case may run on `name` ("cpu", "cuda", "cuda:N"), else the reason why not. A process
 * of its own asks the driver, once a name: this one never loads it. Where the device is there that
 * process keeps it open until this one ends. The reason stays. */
const char *ypi_device_absent(const char *name);

/* Passes on the facts ("gpu.name", ...) of the first device that reported any. Both texts stay. */
void ypi_device_facts(void (*tell)(void *arg, const char *key, const char *value), void *arg);

/* One of them, of a device that was asked about and is there; NULL: it did not say. */
const char *ypi_device_fact(const char *name, const char *wanted);

/* Opens the device for this process, which may not open another accelerator after it. "" is the
 * CPU. YP_UNSUPPORTED when it is absent or another's, YP_OUT_OF_MEMORY when it is full,
 * YP_DEVICE_FAULT when it does not work. */
enum yp_status ypi_device_open(const char *name, struct yp_device **out);

/* Seconds that opening the accelerator took, its plugin and context with it; NaN: none is open. */
double ypi_device_opening(void);

/* Keeps this process on the processors near the accelerator that is open, where there are such and
 * others. `root`: "" is this machine. */
void ypi_device_bind_near(const char *root);

/* For a process that does not open it, but starts others that do: they see no other. */
enum yp_status ypi_device_confine(const char *name);
/* How many of that kind a process of this environment sees: by the variable that restricts it, else
 * by the kernel's nodes; 1 where neither says, and of the CPU's. */
int ypi_devices_seen(const char *name);
/* Which device a rank of several uses, by its number among those of its node: device (N +
 * local_rank) modulo the devices that this process sees, where the case names device N. `out` is
 * the name of one; of the CPU's the same name. */
void ypi_device_of_rank(const char *name, int local_rank, char out[16]);
