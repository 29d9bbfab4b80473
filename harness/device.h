/* Which devices this process can run on. */
#ifndef YPI_DEVICE_H
#define YPI_DEVICE_H

#include <yieldpoint/device.h>

/* NULL when a case may run on `name` ("cpu", "cuda", "cuda:N"), else the reason why not. */
const char *ypi_device_absent(const char *name);

/* The device itself; NULL when it is absent. "" is the CPU. */
struct yp_device *ypi_device_open(const char *name);

#endif
