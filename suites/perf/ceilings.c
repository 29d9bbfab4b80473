/* Plain C and OpenBLAS against this machine's ceilings: can user code reach a share of 1? */
#include <yieldpoint/yieldpoint.h>

#include <cblas.h>
#include <stddef.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Beyond every cache, by the size that memory is probed with. */
#define MIB yp_axis_int("mib", 512)
#define BYTES ((size_t)yp_int(t, "mib") << 20)

static float *filled(struct yp_case *t, size_t count)
{
    float *x = yp_alloc(t, count * sizeof *x);
    for (size_t i = 0; i < count; i++)
        x[i] = (float)(i % 1000) + 1;
    return x;
}

static void copy(float *restrict to, const float *restrict from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = from[i] * 2;
}

static void fill(float *to, float value, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = value;
}

/* Past the caches, as the ceiling is measured: before an ordinary store, a line is read. */
static void fill_memory(float *to, float value, size_t count)
{
#ifdef __SSE2__
    enum { LANES = 4 };
    const __m128 values = _mm_set1_ps(value);
    size_t whole = count - count % LANES;
    for (size_t i = 0; i < whole; i += LANES)
        _mm_stream_ps(to + i, values);
    _mm_sfence();
    fill(to + whole, value, count - whole);
#else
    fill(to, value, count);
#endif
}

static float sum(const float *from, size_t count)
{
    enum { LANES = 64 };
    float lanes[LANES] = {0};
    float total = 0;
    for (size_t i = 0; i + LANES <= count; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            lanes[k] += from[i + k];
    for (size_t k = 0; k < LANES; k++)
        total += lanes[k];
    return total;
}

YP_TEST(ceilings, copy, .tags = "perf small", .axes = YP_AXES(MIB),
        .budgets = YP_BUDGETS(yp_min_share("copy", 0.4)))
{
    size_t count = BYTES / 2 / sizeof(float);
    float *from = filled(t, count), *to = filled(t, count);
    yp_measure (t, "copy", .bytes = (double)BYTES, .traffic = YP_COPY,
                .footprint = YP_FOOTPRINT_MEMORY, .threads = 1) {
        copy(to, from, count);
        yp_keep(to);
    }
    yp_expect(t, to[count - 1] == 2 * from[count - 1], "the last one is %g", (double)to[count - 1]);
}

YP_TEST(ceilings, fill, .tags = "perf small", .axes = YP_AXES(MIB),
        .budgets = YP_BUDGETS(yp_min_share("fill", 0.6)))
{
    size_t count = BYTES / sizeof(float);
    float *to = filled(t, count);
    yp_measure (t, "fill", .bytes = (double)BYTES, .traffic = YP_FILL,
                .footprint = YP_FOOTPRINT_MEMORY, .threads = 1) {
        fill_memory(to, 3, count);
        yp_keep(to);
    }
    yp_expect(t, to[count - 1] == 3, "the last one is %g", (double)to[count - 1]);
}

YP_TEST(ceilings, read, .tags = "perf small", .axes = YP_AXES(MIB),
        .budgets = YP_BUDGETS(yp_min_share("read", 0.35)))
{
    size_t count = BYTES / sizeof(float);
    float *from = filled(t, count), total = 0;
    yp_measure (t, "read", .bytes = (double)BYTES, .traffic = YP_READ,
                .footprint = YP_FOOTPRINT_MEMORY, .threads = 1) {
        total = sum(from, count);
        yp_keep(total);
    }
    yp_expect(t, total > 0, "the sum is %g", (double)total);
}

/* All elements of A are 1 and of B are 2: those of C are 2 n. */
YP_TEST(ceilings, gemm, .tags = "perf small", .axes = YP_AXES(yp_axis_int("n", 1024, 2048)),
        .budgets = YP_BUDGETS(yp_min_share("gemm", 0.3)))
{
    int n = (int)yp_int(t, "n");
    size_t count = (size_t)n * (size_t)n;
    float *a = yp_alloc(t, count * sizeof *a), *b = yp_alloc(t, count * sizeof *b);
    float *c = yp_alloc(t, count * sizeof *c);
    fill(a, 1, count);
    fill(b, 2, count);
    fill(c, 0, count);
    yp_measure (t, "gemm", .flops = 2.0 * n * n * n, .bytes = 4.0 * sizeof *c * (double)count,
                .footprint = 3.0 * sizeof *c * (double)count)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, c, n);
    yp_expect(t, c[count - 1] == 2 * (float)n, "the last one is %g", (double)c[count - 1]);
}
