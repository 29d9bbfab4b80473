/* Mean and covariance of the same data: in C, and by the programs that one would compare it with.
 */
#include <yieldpoint/yieldpoint.h>

#define AXES YP_AXES(yp_axis_int("pixels", 100000), yp_axis_int("channels", 10, 50))
/* Uniform numbers in [0, 1) have the variance 1/12. */
#define BUDGETS YP_BUDGETS(yp_min_value("variance", 0.082), yp_max_value("variance", 0.085))

YP_COMMAND(peers, numpy_mean_cov, .tags = "perf", .axes = AXES, .budgets = BUDGETS,
           .command = "python3 peers/numpy_mean_cov.py {pixels} {channels} {seed}");

YP_COMMAND(peers, torch_mean_cov, .tags = "perf", .axes = AXES, .budgets = BUDGETS,
           .command = "python3 peers/torch_mean_cov.py {pixels} {channels} {seed}");

/* SplitMix64 (Steele, Lea, Flood 2014): any program can make the same words. */
static uint64_t word(uint64_t seed, uint64_t index)
{
    uint64_t z = seed + (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* x is (n, c), mean (c), cov (c, c). */
static void mean_cov(size_t n, size_t c, const float *x, double *mean, double *cov)
{
    for (size_t k = 0; k < c; k++)
        mean[k] = 0;
    for (size_t k = 0; k < c * c; k++)
        cov[k] = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < c; k++)
            mean[k] += (double)x[i * c + k] / (double)n;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < c; k++)
            for (size_t l = 0; l <= k; l++)
                cov[k * c + l] +=
                    ((double)x[i * c + k] - mean[k]) * ((double)x[i * c + l] - mean[l]);
    for (size_t k = 0; k < c; k++)
        for (size_t l = 0; l <= k; l++)
            cov[l * c + k] = cov[k * c + l] /= (double)(n - 1);
}

YP_TEST(peers, plain_mean_cov, .tags = "perf", .axes = AXES, .budgets = BUDGETS)
{
    size_t n = (size_t)yp_int(t, "pixels"), c = (size_t)yp_int(t, "channels");
    float *x = yp_alloc(t, n * c * sizeof *x);
    double *mean = yp_alloc(t, c * sizeof *mean), *cov = yp_alloc(t, c * c * sizeof *cov);
    uint64_t hash = 0;
    for (size_t i = 0; i < n * c; i++) {
        uint64_t w = word(yp_seed(t), i);
        hash += w;
        x[i] = (float)(w >> 40) / 16777216.0F;
    }
    yp_data_hash(t, hash);
    yp_measure (t, "mean and covariance", .items = (double)n, .unit = "pixels",
                .flops = (double)(n * c * (c + 1)), .bytes = (double)(n * c * sizeof *x),
                .traffic = YP_READ, .footprint = (double)(n * c * sizeof *x)) {
        mean_cov(n, c, x, mean, cov);
        yp_keep(cov);
    }
    double variance = 0;
    for (size_t k = 0; k < c; k++)
        variance += cov[k * c + k] / (double)c;
    yp_value(t, "variance", variance);
}
