/* Cases of several ranks with a GPU each: without NCCL, or where it has no several ranks for one
 * GPU, they are skipped with the reason. */
#pragma once

#include "ranks/nccl/devices.h"

#include <yieldpoint/ranks.h>
#include <yieldpoint/yieldpoint.h>

static inline struct ypk_devices *nccl_join(struct yp_case *t)
{
    struct ypk_devices *devices = NULL;
    const enum yp_status status =
        ypk_devices_join(&devices, yp_ranks_communicator(t), yp_device(t));
    if (status == YP_UNSUPPORTED)
        yp_skip(t, "%s", yp_last_error());
    yp_ok(t, status);
    return devices;
}
