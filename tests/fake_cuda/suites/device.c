/* Cases of both devices, good and bad, to be run on a device that is made up. */
#include <yieldpoint/yieldpoint.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool on_device(struct yp_case *t)
{
    return yp_device_memory_kind(yp_device(t)) == YP_DEVICE;
}

/* Work of the made-up device: a function of the plugin that is loaded already. */
static void call(struct yp_case *t, const char *function, void *stream, double seconds)
{
    char path[4096];
    void (*fake_work)(void *, double) = NULL;
    if (!on_device(t))
        return;
    snprintf(path, sizeof path, "%s/libyieldpoint-cuda.so", getenv("YIELDPOINT_PLUGINS"));
    void *plugin = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    yp_require(t, plugin != NULL, "%s", dlerror());
    void *symbol = dlsym(plugin, function);
    memcpy(&fake_work, &symbol, sizeof symbol);
    fake_work(stream, seconds);
    dlclose(plugin);
}

static void work(struct yp_case *t, void *stream, double seconds)
{
    call(t, "fake_work", stream, seconds);
}

static void *own_stream(struct yp_case *t)
{
    return yp_stream_native(yp_device_stream(yp_device(t)));
}

YP_TEST(fake, doubles, .devices = "cpu cuda", .axes = YP_AXES(yp_axis_int("n", 100, 100000)),
        .budgets = YP_BUDGETS(yp_max_peak(YP_DEVICE, 3 * YP_MIB), yp_max_peak(YP_HOST, YP_MIB),
                              yp_max_allocations(YP_DEVICE, 2)))
{
    size_t n = (size_t)yp_int(t, "n");
    float *host = yp_device_alloc(yp_device_cpu(), n * sizeof *host);
    yp_ok(t, host != NULL ? YP_OK : YP_OUT_OF_MEMORY);
    float *x = yp_device_alloc(yp_device(t), n * sizeof *x);
    if (x == NULL) {
        yp_device_free(yp_device_cpu(), host);
        yp_ok(t, YP_OUT_OF_MEMORY);
    }
    for (size_t i = 0; i < n; i++)
        host[i] = (float)i;
    yp_data_hash(t, yp_hash_f32(0, host, n));
    enum yp_status status = yp_device_copy(yp_device(t), x, host, n * sizeof *x);
    memset(host, 0, n * sizeof *host);
    if (status == YP_OK)
        status = yp_device_copy(yp_device(t), host, x, n * sizeof *x);
    yp_expect(t, status != YP_OK || host[n - 1] == (float)(n - 1), "the last one is %g",
              (double)host[n - 1]);
    yp_device_free(yp_device(t), x);
    yp_device_free(yp_device_cpu(), host);
    yp_ok(t, status);
}

YP_RELATION(fake, same_data,
            .relation = yp_same_hash("device.c::doubles[n=100-cuda]",
                                     "device.c::doubles[n=100-cpu]"));

YP_TEST(fake, measured, .devices = "cuda",
        .budgets = YP_BUDGETS(yp_min_share("work", 0.5), yp_max_latency("work", 3e-3)))
{
    yp_measure (t, "work", .bytes = 100e6, .max_seconds = 0.3)
        work(t, own_stream(t), 1e-3); /* what the made-up device can do at most */
    yp_measure (t, "tensor", .flops = 1e9, .arithmetic = YP_FP8, .cold = true, .samples = 5)
        work(t, own_stream(t), 1e-3);
}

/* How often a body runs, and what it says it does. */
YP_TEST(fake, audited, .devices = "cpu cuda",
        .budgets = YP_BUDGETS(yp_max_latency("work", 1e-9),
                              yp_max_count("work", YP_GPU_FP32, 4.5e9)))
{
    int bodies = 0;
    yp_measure (t, "work", .flops = 2e9, .bytes = 64e6, .graph = true) {
        bodies++;
        work(t, own_stream(t), 1e-4);
    }
    yp_value(t, "bodies", bodies);
    yp_measure (t, "cached", .bytes = 1e6, .footprint = 1e5, .traffic = YP_READ, .cold = true)
        work(t, own_stream(t), 1e-4);
    yp_measure (t, "integers", .flops = 1e6, .arithmetic = YP_INT32)
        work(t, own_stream(t), 1e-4);
    yp_measure (t, "fp8", .flops = 1e6, .arithmetic = YP_FP8)
        work(t, own_stream(t), 1e-4);
    yp_measure (t, "upload", .bytes = 1e9, .traffic = YP_UPLOAD)
        work(t, own_stream(t), 1e-4);
}

YP_TEST(fake, audited_left, .devices = "cuda")
{
    int bodies = 0;
    yp_measure (t, "left", .flops = 1e6)
        if (++bodies == 2)
            break;
    yp_measure (t, "after", .flops = 1e6)
        work(t, own_stream(t), 1e-4);
    yp_value(t, "bodies", bodies);
}

YP_TEST(fake, replayed, .devices = "cpu cuda")
{
    int bodies = 0;
    yp_measure (t, "work", .graph = true, .max_samples = 50, .max_seconds = 0.2) {
        bodies++;
        work(t, own_stream(t), 1e-3);
    }
    yp_value(t, "bodies", bodies);
}

YP_TEST(fake, waits_in_a_graph, .devices = "cuda")
{
    yp_measure (t, "work", .graph = true, .max_seconds = 0.2) {
        float x = 0;
        float *block = yp_data(t);
        work(t, own_stream(t), 1e-3);
        (void)yp_device_copy(yp_device(t), &x, block != NULL ? block : &x, sizeof x);
    }
}

YP_TEST(fake, ceilings, .devices = "cuda",
        .axes = YP_AXES(yp_axis_int("ceiling", YP_READ, YP_FILL, YP_FP64, YP_FP32, YP_BF16, YP_INT8,
                                    YP_INT32, YP_TF32, YP_FP16, YP_UPLOAD, YP_DOWNLOAD,
                                    YP_UPLOAD_PAGEABLE, YP_DOWNLOAD_PAGEABLE, YP_LAUNCH)),
        .budgets = YP_BUDGETS(yp_min_share("work", 1e-9)))
{
    enum yp_ceiling c = (enum yp_ceiling)yp_int(t, "ceiling");
    bool traffic = c <= YP_FILL || (c >= YP_UPLOAD && c <= YP_DOWNLOAD_PAGEABLE);
    yp_measure (t, "work", .flops = traffic ? 0 : 1e6, .bytes = traffic ? 1e6 : 0,
                .arithmetic = traffic ? YP_FP32 : c, .traffic = traffic ? c : YP_COPY,
                .footprint = c == YP_FILL ? 1000 : 0, .samples = 3)
        work(t, own_stream(t), 1e-3);
}

YP_TEST(fake, elsewhere, .devices = "cuda")
{
    yp_measure (t, "stray", .max_seconds = 0.2)
        call(t, "fake_work_elsewhere", own_stream(t), 2e-3);
}

YP_TEST(fake, leaks, .devices = "cuda")
{
    yp_expect(t, yp_device_alloc(yp_device(t), 1000) != NULL, "%s", yp_last_error());
}

YP_TEST(fake, may_leak, .devices = "cuda", .budgets = YP_BUDGETS(yp_max_leak(YP_DEVICE, 1000)))
{
    yp_expect(t, yp_device_alloc(yp_device(t), 1000) != NULL, "%s", yp_last_error());
}

YP_TEST(fake, too_much, .devices = "cuda")
{
    yp_alloc(t, (size_t)64 << 30);
}

YP_TEST(fake, too_little, .devices = "cuda")
{
    yp_alloc(t, 1);
}

YP_TEST(fake, one_gib_at_a_time, .devices = "cuda",
        .budgets = YP_BUDGETS(yp_max_peak(YP_DEVICE, 800 * YP_MIB)))
{
    for (int i = 0; i < 3; i++) {
        void *block = yp_device_alloc(yp_device(t), (size_t)(700 + i) << 20);
        yp_require(t, block != NULL, "%s", yp_last_error());
        yp_device_free(yp_device(t), block);
    }
    struct yp_memory m;
    yp_device_memory(yp_device(t), &m);
    yp_value(t, "reserved", (double)m.reserved_peak);
}

YP_TEST(fake, freed_twice, .devices = "cuda")
{
    void *block = yp_device_alloc(yp_device(t), 1000);
    yp_device_free(yp_device(t), block);
    yp_device_free(yp_device(t), block);
}

YP_TEST(fake, many_blocks, .devices = "cuda")
{
    enum { BLOCKS = 1500 };
    void *blocks[BLOCKS];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < BLOCKS; i++)
            blocks[i] = yp_device_alloc(yp_device(t), (size_t)i + 1);
        for (int i = 0; i < BLOCKS; i++)
            yp_device_free(yp_device(t), blocks[(i * 7) % BLOCKS]);
    }
    struct yp_memory m;
    yp_device_memory(yp_device(t), &m);
    yp_expect(t, m.allocated == 0 && m.allocations == 2 * BLOCKS && m.frees == 2 * BLOCKS,
              "%llu left", (unsigned long long)m.allocated);
    yp_expect(t, m.allocated_peak == BLOCKS * (BLOCKS + 1) / 2, "%llu",
              (unsigned long long)m.allocated_peak);
}

YP_TEST(fake, asks, .devices = "cuda", .parallel = true)
{
    printf("device %s visible %s name %s\n", yp_device_of(t), getenv("CUDA_VISIBLE_DEVICES"),
           yp_device_name(yp_device(t)));
}

YP_COMMAND(fake, command, .devices = "cuda",
           .command = "echo visible $CUDA_VISIBLE_DEVICES device $YIELDPOINT_DEVICE");
