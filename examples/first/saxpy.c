#include <yieldpoint/yieldpoint.h>

static void saxpy(size_t n, float a, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

YP_TEST(blas, saxpy, .tags = "stress small", .axes = YP_AXES(yp_axis_int("mib", 4, 16)),
        .budgets = YP_BUDGETS(yp_min_share("saxpy", 0.35), yp_max_peak(YP_HOST, 40 * YP_MIB)))
{
    size_t n = (size_t)yp_int(t, "mib") * (1 << 20) / sizeof(float);
    float *x = yp_alloc(t, n * sizeof *x), *y = yp_alloc(t, n * sizeof *y);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(i % 1000), y[i] = 1;
    yp_data_hash(t, yp_hash_f32(0, x, n));

    saxpy(n, 2, x, y);
    yp_expect(t, y[n - 1] == 1 + 2 * x[n - 1], "y[n - 1] is %g", (double)y[n - 1]);
    double read = 2.0 * (double)(n * sizeof *x);
    yp_measure (t, "saxpy", .bytes = read, .traffic = YP_READ, .footprint = read, .threads = 1)
        saxpy(n, 1e-6F, x, y);
}
