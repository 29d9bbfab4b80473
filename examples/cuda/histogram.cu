// A histogram by atomic additions, on the case's device: every value is counted once.
#include <cstddef>
#include <vector>
#include <yieldpoint/yieldpoint.h>

namespace
{

constexpr unsigned BINS = 256;

// count (BINS) += how often each value stands in data (n).
__global__ void count_values(std::size_t n, const unsigned char *data, unsigned *count)
{
    __shared__ unsigned own[BINS];
    for (unsigned b = threadIdx.x; b < BINS; b += blockDim.x)
        own[b] = 0;
    __syncthreads();
    const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step)
        atomicAdd(&own[data[i]], 1U);
    __syncthreads();
    for (unsigned b = threadIdx.x; b < BINS; b += blockDim.x)
        atomicAdd(&count[b], own[b]);
}

} // namespace

YP_TEST(histogram, counts, .tags = "stress", .cases = YP_CASES(yp_case_of("small")),
        .axes = YP_AXES(yp_axis_int("mib", 1, 64)), .devices = "cuda",
        .budgets = YP_BUDGETS(yp_min_share("count", 0.1)))
{
    const std::size_t n = static_cast<std::size_t>(yp_int(t, "mib")) << 20;
    std::vector<unsigned char> values(n);
    for (std::size_t i = 0; i < n; i++)
        values[i] = static_cast<unsigned char>((i * 2654435761U) >> 13U);
    auto *data = static_cast<unsigned char *>(yp_alloc(t, n));
    auto *count = static_cast<unsigned *>(yp_alloc(t, BINS * sizeof(unsigned)));
    auto *stream = static_cast<cudaStream_t>(yp_stream_native(yp_device_stream(yp_device(t))));
    yp_ok(t, yp_device_copy(yp_device(t), data, values.data(), n));

    std::vector<unsigned> got(BINS), wanted(BINS);
    yp_ok(t, yp_device_copy(yp_device(t), count, got.data(), BINS * sizeof(unsigned)));
    count_values<<<256, 256, 0, stream>>>(n, data, count);
    yp_expect(t, cudaGetLastError() == cudaSuccess, "the launch was refused");
    yp_ok(t, yp_device_copy(yp_device(t), got.data(), count, BINS * sizeof(unsigned)));
    for (const auto value : values)
        wanted[value]++;
    yp_expect(t, got == wanted, "values were counted wrong");

    yp_measure (t, "count", .bytes = static_cast<double>(n), .traffic = YP_READ,
                .footprint = static_cast<double>(n))
        count_values<<<256, 256, 0, stream>>>(n, data, count);
}
