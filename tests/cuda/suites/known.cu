/* Kernels of which it is known what they do: work that counters must find (--audit), and defects
 * that compute-sanitizer must see. A defect is planted by --set defect=NAME alone. */
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <string.h>
#include <yieldpoint/yieldpoint.h>

static const int THREADS = 256, TURNS = 128; /* so many that conversions at the ends do not count */

static __global__ void fp32_work(int turns, float a, float *x)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    float v = x[i];
    for (int k = 0; k < turns; k++)
        v = __fmaf_rn(v, a, a);
    x[i] = v;
}

static __global__ void fp64_work(int turns, double a, float *x)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    double v = (double)x[i];
    for (int k = 0; k < turns; k++)
        v = __fma_rn(v, a, a);
    x[i] = (float)v;
}

static __global__ void fp16_work(int turns, float a, float *x)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    __half2 v = __float2half2_rn(x[i]), b = __float2half2_rn(a);
    for (int k = 0; k < turns; k++)
        v = __hfma2(v, b, b);
    x[i] = __low2float(v) + __high2float(v);
}

static cudaStream_t stream_of(struct yp_case *t)
{
    return static_cast<cudaStream_t>(yp_stream_native(yp_device_stream(yp_device(t))));
}

/* 256 MiB read and written: more than any second-level cache holds. */
YP_TEST(known, work, .axes = YP_AXES(yp_axis_string("arithmetic", "fp32", "fp64", "fp16")),
        .devices = "cuda", .timeout = 120)
{
    const size_t n = (size_t)1 << 26;
    const unsigned blocks = (unsigned)(n / THREADS);
    const char *which = yp_string(t, "arithmetic");
    float *x = static_cast<float *>(yp_alloc(t, n * sizeof *x));
    cudaMemsetAsync(x, 0, n * sizeof *x, stream_of(t));
    const double fused = 2.0 * TURNS * (double)n, moved = 2.0 * n * sizeof *x;
    if (strcmp(which, "fp32") == 0)
        yp_measure (t, "work", .flops = fused, .bytes = moved, .footprint = moved / 2)
            fp32_work<<<blocks, THREADS, 0, stream_of(t)>>>(TURNS, 0.5F, x);
    else if (strcmp(which, "fp64") == 0)
        yp_measure (t, "work", .flops = fused, .bytes = moved, .arithmetic = YP_FP64,
                    .footprint = moved / 2)
            fp64_work<<<blocks, THREADS, 0, stream_of(t)>>>(TURNS, 0.5, x);
    else
        yp_measure (t, "work", .flops = 2 * fused, .bytes = moved, .footprint = moved / 2,
                    .threads = 1)
            fp16_work<<<blocks, THREADS, 0, stream_of(t)>>>(TURNS, 0.5F, x);
    yp_expect(t, cudaGetLastError() == cudaSuccess, "the kernel could not be launched");
}

/* -- launches ------------------------------------------------------------------------------ */

static __global__ void count_one(unsigned *x)
{
    x[0]++;
}

/* The device's own count of what was launched, and of the bodies that did. */
static unsigned counted(struct yp_case *t, const unsigned *x)
{
    unsigned count = 0;
    yp_ok(t, yp_device_copy(yp_device(t), &count, x, sizeof count));
    return count;
}

/* More than a device queues (1,024): the stream must not be held for ever. */
YP_TEST(known, launches, .devices = "cuda", .timeout = 120)
{
    const unsigned LAUNCHES = 2000;
    unsigned *x = static_cast<unsigned *>(yp_alloc(t, sizeof *x)), bodies = 0;
    cudaMemsetAsync(x, 0, sizeof *x, stream_of(t));
    yp_measure (t, "launches", .items = (double)LAUNCHES, .unit = "launches") {
        for (unsigned i = 0; i < LAUNCHES; i++)
            count_one<<<1, 1, 0, stream_of(t)>>>(x);
        bodies++;
    }
    yp_expect(t, cudaGetLastError() == cudaSuccess, "a kernel could not be launched");
    yp_expect(t, counted(t, x) == LAUNCHES * bodies, "%u launches of %u bodies ran", counted(t, x),
              bodies);
}

/* Replayed as a graph, with the times of its phases, and beside it as it is launched. */
YP_TEST(known, graph, .devices = "cuda", .timeout = 120)
{
    const unsigned LAUNCHES = 50;
    unsigned *x = static_cast<unsigned *>(yp_alloc(t, 2 * sizeof *x)), bodies = 0;
    cudaMemsetAsync(x, 0, 2 * sizeof *x, stream_of(t));
    yp_measure (t, "graph", .graph = true, .samples = 100) {
        yp_phase (t, "half")
            for (unsigned i = 0; i < LAUNCHES / 2; i++)
                count_one<<<1, 1, 0, stream_of(t)>>>(x);
        yp_phase (t, "other half")
            for (unsigned i = 0; i < LAUNCHES / 2; i++)
                count_one<<<1, 1, 0, stream_of(t)>>>(x);
        bodies++;
    }
    yp_expect(t, cudaGetLastError() == cudaSuccess, "a kernel could not be launched");
    const unsigned count = counted(t, x);
    /* A body that was captured did not run itself. */
    yp_expect(t, count % LAUNCHES == 0 && count >= LAUNCHES * (bodies - 1),
              "%u launches of %u bodies ran", count, bodies);
    yp_value(t, "replays", (double)count / LAUNCHES - (bodies - 1));
    yp_measure (t, "launched", .samples = 100)
        for (unsigned i = 0; i < LAUNCHES; i++)
            count_one<<<1, 1, 0, stream_of(t)>>>(x + 1);
}

/* -- defects ------------------------------------------------------------------------------- */

static __global__ void beyond_the_end(int n, float *x)
{
    x[threadIdx.x + (unsigned)n - 1] = 1;
}

/* The other half of the block is in other warps, which nothing waits for. */
static __global__ void shared_race(float *x)
{
    __shared__ float s[256];
    s[threadIdx.x] = (float)threadIdx.x;
    x[threadIdx.x] = s[255 - threadIdx.x];
}

static __global__ void divergent_barrier(float *x)
{
    if (threadIdx.x % 2 == 0)
        __syncthreads();
    x[threadIdx.x] = 1;
}

static __global__ void reads_what_nobody_wrote(const float *x, float *y)
{
    y[threadIdx.x] = x[threadIdx.x] + 1;
}

YP_TEST(known, defect, .axes = YP_AXES(yp_axis_string("defect", "none")), .devices = "cuda",
        .timeout = 120)
{
    const char *which = yp_string(t, "defect");
    float *x = static_cast<float *>(yp_alloc(t, THREADS * sizeof *x));
    float *y = static_cast<float *>(yp_alloc(t, THREADS * sizeof *y));
    cudaStream_t stream = stream_of(t);
    if (strcmp(which, "memcheck") == 0)
        beyond_the_end<<<1, 2, 0, stream>>>(THREADS, x);
    else if (strcmp(which, "racecheck") == 0)
        shared_race<<<1, THREADS, 0, stream>>>(x);
    else if (strcmp(which, "synccheck") == 0)
        divergent_barrier<<<1, THREADS, 0, stream>>>(x);
    else if (strcmp(which, "initcheck") == 0)
        reads_what_nobody_wrote<<<1, THREADS, 0, stream>>>(x, y);
    else
        yp_require(t, strcmp(which, "none") == 0, "no defect '%s'", which);
    yp_expect(t, cudaGetLastError() == cudaSuccess, "the kernel could not be launched");
    yp_ok(t, yp_device_synchronize(yp_device(t)));
}
