/* Declared work held against what a device counted. */
#include "harness/vocabulary/audit.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

TestSuite(audit, .timeout = 60);

#define MIB 1048576.0

static void set(struct ypi_measured *m, enum yp_counter counter, double count)
{
    m->counts[counter] = (struct ypi_count){YPI_COUNTED_CUPTI, count};
}

/* 1e9 operations of fp32 on 100 MiB of memory, done as declared, on a device with 50 MiB of cache.
 */
static struct ypi_measured as_declared(void)
{
    struct ypi_measured m = {.flops = 1e9, .bytes = 100 * MIB, .kind = YPI_MEASURED_COUNT};
    m.bounds[YPI_BOUND_ARITHMETIC].ceiling = YP_FP32;
    m.bounds[YPI_BOUND_TRAFFIC].ceiling = YP_COPY;
    m.on_device.cache = 50 * MIB;
    for (int i = YP_GPU_FP64; i <= YP_GPU_CACHE; i++)
        set(&m, (enum yp_counter)i, 0);
    set(&m, YP_GPU_FP32, 1e9);
    set(&m, YP_GPU_READ, 60 * MIB);
    set(&m, YP_GPU_WRITTEN, 40 * MIB);
    set(&m, YP_GPU_CACHE, 100 * MIB);
    return m;
}

static const char *said(const struct ypi_measured *m)
{
    static char out[256];
    out[0] = '\0';
    return ypi_audit_contradicts(m, out, sizeof out) ? out : "";
}

static const char *text(const struct ypi_measured *m)
{
    static char out[256];
    ypi_audit_text(m, out, sizeof out);
    return out;
}

Test(audit, work_as_declared)
{
    struct ypi_measured m = as_declared();
    cr_expect(ypi_audited(&m));
    cr_expect_str_eq(said(&m), "");
    cr_expect_str_eq(text(&m), "1e+09 operations (1.00 of declared), 100.0 MiB of memory (1.00 of "
                               "declared)");
    m.flops = m.bytes = 0;
    cr_expect_str_eq(said(&m), "", "nothing is declared");
    cr_expect_str_eq(text(&m), "1e+09 operations (none declared), 100.0 MiB of memory (none "
                               "declared)");
}

/* .flops and .bytes are one way to say it. */
Test(audit, bounds_are_declared_work_too)
{
    struct ypi_measured m = as_declared();
    m.flops = m.bytes = 0;
    struct ypi_ceiling *b = &m.bounds[YPI_BOUND_MORE];
    b[0] = (struct ypi_ceiling){.ceiling = YP_FP32, .work = 6e8};
    b[1] = (struct ypi_ceiling){.ceiling = YP_INT32, .work = 5e12};
    b[2] = (struct ypi_ceiling){.ceiling = YP_FP64, .work = 4e8, .stage = 1};
    b[3] = (struct ypi_ceiling){.ceiling = YP_READ, .work = 60 * MIB, .footprint = -1};
    b[4] = (struct ypi_ceiling){.ceiling = YP_READ, .work = 900 * MIB, .footprint = 1000};
    b[5] = (struct ypi_ceiling){.ceiling = YP_FILL, .work = 40 * MIB, .footprint = -1, .stage = 1};
    cr_expect_str_eq(text(&m), "1e+09 operations (1.00 of declared), 100.0 MiB of memory (1.00 of "
                               "declared)");
    cr_expect_str_eq(said(&m), "");
    b[2].work = 4e9;
    cr_expect_str_neq(said(&m), "");
}

Test(audit, figures_of_any_size_fit)
{
    struct ypi_measured m = as_declared();
    char out[64];
    m.flops = 1e-9;
    cr_expect_not_null(strstr(text(&m), "1e+09 operations (1e+18 of declared), 100.0 MiB"), "%s",
                       text(&m));
    set(&m, YP_GPU_FP32, 1e300);
    set(&m, YP_GPU_READ, 1e300);
    ypi_audit_text(&m, out, sizeof out);
    cr_expect_lt(strlen(out), sizeof out);
}

Test(audit, other_counters_are_none_of_a_device)
{
    struct ypi_measured m = as_declared();
    for (int i = 0; i < YP_COUNTERS; i++)
        m.counts[i].source = YPI_COUNTED_HARDWARE;
    cr_expect_not(ypi_audited(&m));
    cr_expect(isnan(ypi_audit_operations(&m)) && isnan(ypi_audit_bytes(&m)));
    m.flops = 1e30;
    cr_expect_str_eq(said(&m), "");
    cr_expect_str_eq(text(&m), "nothing that can be compared");
}

Test(audit, operations_of_every_kind_are_summed)
{
    struct ypi_measured m = as_declared();
    for (int i = YP_GPU_FP64; i <= YP_GPU_TENSOR_INT8; i++)
        set(&m, (enum yp_counter)i, pow(10, i - YP_GPU_FP64));
    cr_expect_float_eq(ypi_audit_operations(&m), 111110111, 0.5, "neither integers nor int8: %.0f",
                       ypi_audit_operations(&m));
    m.bounds[YPI_BOUND_ARITHMETIC].ceiling = YP_INT8;
    cr_expect_float_eq(ypi_audit_operations(&m), 1e9, 0.5);
    m.bounds[YPI_BOUND_ARITHMETIC].ceiling = YP_INT32;
    cr_expect_float_eq(ypi_audit_operations(&m), 1e3, 0.5);
    static const enum yp_ceiling kinds[] = {YP_FP64, YP_FP32, YP_BF16, YP_TF32, YP_FP16, YP_FP8};
    static const enum yp_counter own[] = {YP_GPU_FP64,        YP_GPU_FP32,
                                          YP_GPU_TENSOR_BF16, YP_GPU_TENSOR_TF32,
                                          YP_GPU_TENSOR_FP16, YP_GPU_TENSOR_FP8};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct ypi_measured n = m;
        n.bounds[YPI_BOUND_ARITHMETIC].ceiling = kinds[i];
        cr_expect_float_eq(ypi_audit_operations(&n), 111110111, 0.5);
        n.counts[own[i]].source = YPI_NOT_COUNTED;
        cr_expect(isnan(ypi_audit_operations(&n)),
                  "without its own counter nothing is reported: %zu", i);
    }
}

Test(audit, memory_is_judged_beyond_what_the_cache_holds)
{
    struct ypi_measured m = as_declared();
    set(&m, YP_GPU_READ, 10 * MIB);
    set(&m, YP_GPU_WRITTEN, 39 * MIB);
    cr_expect_str_eq(said(&m),
                     "declares 100.0 MiB an iteration, but the device moved only 49.0 MiB "
                     "of memory: the work is less, or comes from a nearer cache than "
                     ".footprint says");
    m.on_device.cache = 52 * MIB;
    cr_expect_str_eq(said(&m), "", "the cache may hold as much");
    set(&m, YP_GPU_READ, 201 * MIB);
    set(&m, YP_GPU_WRITTEN, 0);
    cr_expect_str_eq(said(&m),
                     "declares 100.0 MiB an iteration, but the device moved 201.0 MiB of memory");
    m.footprint = 60 * MIB;
    cr_expect_neq(said(&m)[0], '\0', "a footprint beyond the cache is one of memory");
    m.counts[YP_GPU_WRITTEN].source = YPI_NOT_COUNTED;
    cr_expect_str_eq(said(&m), "", "half of it says nothing");
}

Test(audit, what_fits_into_the_cache_is_the_caches)
{
    struct ypi_measured m = as_declared();
    m.footprint = 20 * MIB;
    set(&m, YP_GPU_READ, 0);
    set(&m, YP_GPU_WRITTEN, 0);
    cr_expect_str_eq(said(&m), "");
    cr_expect_not_null(strstr(text(&m), "100.0 MiB of L2 (1.00 of declared)"));
    set(&m, YP_GPU_CACHE, 40 * MIB);
    cr_expect_not_null(strstr(said(&m), "moved only 40.0 MiB of L2"));
    set(&m, YP_GPU_CACHE, 210 * MIB);
    cr_expect_str_eq(said(&m),
                     "declares 100.0 MiB an iteration, but the device moved 210.0 MiB of L2");
    m.bytes = 1000;
    set(&m, YP_GPU_CACHE, 60000);
    cr_expect_str_eq(said(&m), "", "a trifle");
    m.on_device.cache = 0;
    set(&m, YP_GPU_READ, 60000);
    cr_expect_not_null(strstr(said(&m), "of memory"), "a cache that is not known holds nothing");
}

Test(audit, traffic_over_the_bus_is_not_judged)
{
    struct ypi_measured m = as_declared();
    m.bounds[YPI_BOUND_TRAFFIC].ceiling = YP_UPLOAD;
    m.bytes = 1e15;
    cr_expect_str_eq(said(&m), "");
    cr_expect_str_eq(text(&m), "1e+09 operations (1.00 of declared)");
}

Test(audit, what_a_device_does_not_count_is_named)
{
    char out[128];
    struct ypi_measured m = as_declared();
    cr_expect_not(ypi_audit_missing(&m, out, sizeof out));
    m.counts[YP_GPU_TENSOR_FP8].source = YPI_NOT_COUNTED;
    cr_expect_not(ypi_audit_missing(&m, out, sizeof out), "it need not have such units");
    m.bounds[YPI_BOUND_ARITHMETIC].ceiling = YP_FP8;
    m.counts[YP_GPU_READ].source = YPI_NOT_COUNTED;
    cr_expect(ypi_audit_missing(&m, out, sizeof out));
    cr_expect_str_eq(out, "gpu tensor fp8, gpu bytes read");
    char little[8];
    cr_expect(ypi_audit_missing(&m, little, sizeof little));
    cr_expect_str_eq(little, "gpu ten");
}
