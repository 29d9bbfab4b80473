/* CUDA C++20, and a kernel on the case's device. */
#include "tests/lang/suites/shared.hpp"

#include <cuda_runtime.h>

static __global__ void triad(int n, const float *x, const float *y, float *z)
{
    int i = int(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n)
        z[i] = x[i] + 2 * y[i];
}

static void triad_on_host(int n, const float *x, const float *y, float *z)
{
    for (int i = 0; i < n; i++)
        z[i] = x[i] + 2 * y[i];
}

YP_TEST(lang, triad, .devices = "cpu cuda", .timeout = 60)
{
    yp_expect(t, yp_option(word) == NULL, "it was not given");
    const int n = 1 << 16;
    float *x = static_cast<float *>(yp_alloc(t, 3 * n * sizeof *x));
    float *y = x + n;
    float *z = y + n;
    float first = 0;
    if (yp_device_memory_kind(yp_device(t)) == YP_HOST) {
        for (int i = 0; i < n; i++)
            x[i] = 1, y[i] = 2;
        yp_measure (t, "triad", .bytes = 12.0 * n, .footprint = 12.0 * n, .samples = 3)
            triad_on_host(n, x, y, z);
        first = z[0];
    } else {
        cudaStream_t stream =
            static_cast<cudaStream_t>(yp_stream_native(yp_device_stream(yp_device(t))));
        cudaMemsetAsync(x, 0, 3 * n * sizeof *x, stream);
        yp_measure (t, "triad", .bytes = 12.0 * n, .footprint = 12.0 * n, .samples = 3)
            triad<<<n / 256, 256, 0, stream>>>(n, x, y, z);
        yp_expect(t, cudaGetLastError() == cudaSuccess, "the kernel could not be launched");
        yp_ok(t, yp_device_copy(yp_device(t), &first, z, sizeof first));
        first += 5;
    }
    yp_expect(t, first == 5, "z[0] is %g", double(first));
}

YP_TEST(lang, fails, .parallel = true)
{
    yp_fail(t, "in %s", yp_device_of(t));
}
