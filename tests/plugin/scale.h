/* The table of the example in include/yieldpoint/plugin.h. */
#pragma once

#include <yieldpoint/device.h>

struct scale_cuda {
    /* x (n) becomes a x, in the device's memory. */
    enum yp_status (*scale)(struct yp_device *device, size_t n, float a, float *x);
};
