#include "device.h"

#include <string.h>

const char *ypi_device_absent(const char *name)
{
    return strncmp(name, "cuda", 4) == 0 ? "no CUDA device: this build has no CUDA backend" : NULL;
}

struct yp_device *ypi_device_open(const char *name)
{
    return ypi_device_absent(name) == NULL ? yp_device_cpu() : NULL;
}
