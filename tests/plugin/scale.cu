#include "tests/plugin/scale.h"

#include <yieldpoint/plugin.h>

static const struct yp_plugin_host *host;

static __global__ void scale_kernel(size_t n, float a, float *x)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] *= a;
}

static enum yp_status scale(struct yp_device *device, size_t n, float a, float *x)
{
    unsigned blocks = (unsigned)((n + 255) / 256);
    scale_kernel<<<blocks, 256, 0, yp_plugin_stream(host, device)>>>(n, a, x);
    return yp_plugin_launched(host, "scale");
}

static const struct scale_cuda table = {scale};

YP_PLUGIN("scale-cuda", table, host)
