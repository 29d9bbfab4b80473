/* What works in host memory alone refuses other devices with one message. */
#pragma once

#include <stddef.h>
#include <yieldpoint/device.h>

/* YP_INVALID for NULL, YP_UNSUPPORTED where memory is not the host's; `what` names the function. */
static inline enum yp_status ypi_check_host(const char *what, struct yp_device *device)
{
    if (device == NULL)
        return yp_set_error(YP_INVALID, "%s: device is NULL", what);
    if (yp_device_memory_kind(device) != YP_HOST)
        return yp_set_error(YP_UNSUPPORTED, "%s: device is %s, only the CPU is supported", what,
                            yp_device_name(device));
    return YP_OK;
}
