/* A case that is the same on both devices, with its kernel in a plugin. */
#include "tests/plugin/scale.h"

#include <yieldpoint/plugin.h>
#include <yieldpoint/yieldpoint.h>

static enum yp_status scale(struct yp_device *device, size_t n, float a, float *x)
{
    if (yp_device_memory_kind(device) == YP_DEVICE) {
        const struct scale_cuda *cuda = yp_plugin_table("scale-cuda", sizeof *cuda);
        return cuda != NULL ? cuda->scale(device, n, a, x) : YP_UNSUPPORTED;
    }
    for (size_t i = 0; i < n; i++)
        x[i] *= a;
    return YP_OK;
}

YP_TEST(plugin, scales, .devices = "cpu cuda", .axes = YP_AXES(yp_axis_int("n", 1000, 1 << 24)),
        .budgets = YP_BUDGETS(yp_min_share("scale", 0.05)))
{
    size_t n = (size_t)yp_int(t, "n");
    float *x = yp_alloc(t, n * sizeof *x);
    float *host = yp_device_alloc(yp_device_cpu(), n * sizeof *host);
    yp_require(t, host != NULL, "%s", yp_last_error());
    for (size_t i = 0; i < n; i++)
        host[i] = (float)(i % 100);
    yp_ok(t, yp_device_copy(yp_device(t), x, host, n * sizeof *x));
    yp_ok(t, scale(yp_device(t), n, 3, x));
    yp_ok(t, yp_device_copy(yp_device(t), host, x, n * sizeof *x));
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++)
        wrong += host[i] != (float)(3 * (i % 100));
    yp_expect(t, wrong == 0, "%zu of %zu are wrong", wrong, n);
    yp_data_hash(t, yp_hash_f32(0, host, n));
    yp_device_free(yp_device_cpu(), host);
    yp_measure (t, "scale", .bytes = 8.0 * (double)n, .footprint = 4.0 * (double)n, .threads = 1) {
        yp_ok(t, scale(yp_device(t), n, -1, x));
        yp_keep(x);
    }
}

YP_RELATION(plugin, same,
            .relation = yp_same_hash("scale.c::scales[n=1000-cuda]",
                                     "scale.c::scales[n=1000-cpu]"));
