/* Cases of both devices, good and bad, to be run on a device that is made up. */
#include "base/system/arena.h"

#include <yieldpoint/yieldpoint.h>

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool on_device(struct yp_case *t)
{
    return yp_device_memory_kind(yp_device(t)) == YP_DEVICE;
}

/* A function of the plugin that is loaded already, to `function`. */
static void find(struct yp_case *t, const char *name, void *function)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/libyieldpoint-cuda.so", getenv("YIELDPOINT_PLUGINS"));
    void *plugin = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    yp_require(t, plugin != NULL, "%s", dlerror());
    void *symbol = dlsym(plugin, name);
    yp_require(t, symbol != NULL, "%s", dlerror());
    memcpy(function, &symbol, sizeof symbol);
    dlclose(plugin);
}

/* Work of the made-up device. */
static void call(struct yp_case *t, const char *name, void *stream, double seconds)
{
    void (*function)(void *, double) = NULL;
    if (!on_device(t))
        return;
    find(t, name, &function);
    function(stream, seconds);
}

static void work(struct yp_case *t, void *stream, double seconds)
{
    call(t, "fake_work", stream, seconds);
}

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
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
    yp_got(t, host);
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

/* In several pieces; the wrong one is in the second. */
YP_TEST(fake, compares, .devices = "cpu cuda", .axes = YP_AXES(yp_axis_int("wrong", -1, 70001)))
{
    enum { N = 100000 };
    float *host = yp_alloc_host(t, N * sizeof *host);
    float *x = yp_alloc(t, N * sizeof *x);
    for (int i = 0; i < N; i++)
        host[i] = (float)i;
    yp_ok(t, yp_device_copy(yp_device(t), x, host, N * sizeof *x));
    if (yp_int(t, "wrong") >= 0)
        host[yp_int(t, "wrong")] += 1;
    yp_expect_close(t, "x", .got = x, .got_on = yp_device(t), .want = host, .count = N,
                    .number = YP_NUMBER_FLOAT32);
}

YP_RELATION(fake, same_data,
            .relation = yp_same_hash("device.c::doubles[n=100-cuda]",
                                     "device.c::doubles[n=100-cpu]"));

YP_TEST(fake, measured, .devices = "cuda",
        .budgets = YP_BUDGETS(yp_min_share("work", 0.5), yp_max_latency("work", 3e-3)))
{
    yp_measure (t, "work", .bytes = 100e6, .footprint = YP_FOOTPRINT_MEMORY, .max_seconds = 0.3)
        work(t, own_stream(t), 1e-3); /* what the made-up device can do at most */
    yp_measure (t, "tensor", .flops = 1e9, .arithmetic = YP_FP8, .cold = true, .samples = 5)
        work(t, own_stream(t), 1e-3);
}

/* Kernels are loaded by the first body. */
YP_TEST(fake, first_is_cold, .devices = "cuda", .budgets = YP_BUDGETS(yp_max_latency("work", 1e-3)))
{
    bool loaded = false;
    yp_measure (t, "work", .max_seconds = 0.1) {
        work(t, own_stream(t), loaded ? 20e-6 : 80e-3);
        loaded = true;
    }
}

/* Its launches cannot be ahead of it. */
YP_TEST(fake, waits_for_itself, .devices = "cuda")
{
    yp_measure (t, "work", .samples = 5) {
        work(t, own_stream(t), 1e-3);
        yp_ok(t, yp_device_synchronize(yp_device(t)));
    }
}

YP_TEST(fake, cold_and_clean, .devices = "cuda")
{
    int dirty = 0;
    bool (*cache_is_dirty)(void) = NULL;
    find(t, "fake_cache_is_dirty", &cache_is_dirty);
    yp_measure (t, "work", .cold = true, .samples = 3) {
        dirty += cache_is_dirty();
        work(t, own_stream(t), 1e-3);
    }
    yp_expect(t, dirty == 0, "lines to be written back before %d of the bodies", dirty);
}

static void count(void *number)
{
    ++*(int *)number;
}

/* How often a body and a reset run, and what the work is said to be. */
YP_TEST(fake, audited, .devices = "cpu cuda",
        .budgets = YP_BUDGETS(yp_max_latency("work", 1e-9),
                              yp_max_count("work", YP_GPU_FP32, 4.5e9)))
{
    bool cuda = strcmp(yp_device_of(t), "cpu") != 0;
    int bodies = 0, resets = 0;
    yp_measure (t, "work", .flops = 2e9, .bytes = 64e6, .graph = true) {
        bodies++;
        work(t, own_stream(t), 1e-4);
    }
    yp_value(t, "bodies", bodies);
    yp_measure (t, "cached", .bytes = 1e6, .footprint = 1e5, .traffic = YP_READ, .cold = true,
                .reset = count, .arg = &resets)
        work(t, own_stream(t), 1e-4);
    yp_value(t, "resets", resets);
    yp_measure (t, "integers", .flops = 1e6, .arithmetic = YP_INT32)
        work(t, own_stream(t), 1e-4);
    yp_measure (t, "fp8", .flops = 1e6, .arithmetic = cuda ? YP_FP8 : YP_FP32)
        work(t, own_stream(t), 1e-4);
    yp_measure (t, "upload", .bytes = 1e9, .traffic = cuda ? YP_UPLOAD : YP_COPY)
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

YP_TEST(fake, freed_in_a_graph, .devices = "cuda")
{
    bool first = true;
    void *block = yp_device_alloc(yp_device(t), 100);
    yp_measure (t, "work", .graph = true, .samples = 3) {
        work(t, own_stream(t), 1e-3);
        if (!first) {
            yp_device_free(yp_device(t), block);
            block = NULL;
        }
        first = false;
    }
}

YP_TEST(fake, taken_in_a_graph, .devices = "cuda")
{
    void *block = NULL;
    bool first = true;
    yp_measure (t, "work", .graph = true, .samples = 3) {
        work(t, own_stream(t), 1e-3);
        if (!first)
            yp_got(t, block = yp_device_alloc(yp_device(t), 100));
        first = false;
    }
}

/* Neither the default stream nor another is waited for, and nobody gets the memory before them. */
YP_TEST(fake, freed_behind_work, .devices = "cuda")
{
    struct yp_stream *other = yp_stream_create(yp_device(t));
    const double seconds[][2] = {{50e-3, 0}, {0, 50e-3}};
    for (int i = 0; i < 2; i++) {
        void *block = yp_device_alloc(yp_device(t), 100);
        double begin = now();
        work(t, own_stream(t), seconds[i][0]);
        work(t, yp_stream_native(other), seconds[i][1]);
        yp_device_free(yp_device(t), block);
        double freed = now() - begin;
        block = yp_device_alloc(yp_device(t), 100);
        double taken = now() - begin;
        yp_expect(t, freed < 30e-3 && taken >= 49e-3, "freed after %g s, taken after %g s", freed,
                  taken);
        yp_device_free(yp_device(t), block);
    }
    yp_stream_destroy(other);
}

/* By events, of launched work as of a graph. */
YP_TEST(fake, phases, .devices = "cuda", .axes = YP_AXES(yp_axis_int("graph", 0, 1)))
{
    yp_measure (t, "work", .graph = yp_int(t, "graph") > 0, .max_seconds = 0.2) {
        yp_phase (t, "short")
            work(t, own_stream(t), 1e-3);
        yp_phase (t, "long")
            work(t, own_stream(t), 3e-3);
    }
}

/* More than are kept at once, and more in a graph than can be. */
YP_TEST(fake, many_phases, .devices = "cuda", .axes = YP_AXES(yp_axis_int("graph", 0, 1)))
{
    yp_measure (t, "work", .graph = yp_int(t, "graph") > 0, .samples = 3)
        for (int i = 0; i < 5000; i++) /* 4096 at once */
            yp_phase (t, "each")
                work(t, own_stream(t), 1e-6);
}

/* The body asks what it calls. */
YP_TEST(fake, fails_in_a_graph, .devices = "cuda")
{
    yp_measure (t, "work", .graph = true, .max_seconds = 0.2) {
        work(t, own_stream(t), 1e-3);
        yp_ok(t, yp_device_synchronize(yp_device(t)));
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
                .footprint = c == YP_FILL ? 1000 : YP_FOOTPRINT_MEMORY, .samples = 3)
        work(t, own_stream(t), 1e-3);
}

/* So long that a machine which is busy for a while still finds it going on. */
YP_TEST(fake, elsewhere, .devices = "cuda")
{
    yp_measure (t, "stray", .max_seconds = 0.2)
        call(t, "fake_work_elsewhere", own_stream(t), 0.2);
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
    yp_expect(t, m.capacity == 1 << 30, "it has %llu", (unsigned long long)m.capacity);
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

/* Processes beside this one that have the plugin loaded. */
static int holders(void)
{
    char plugin[4096];
    glob_t found;
    int count = 0;
    snprintf(plugin, sizeof plugin, "%s/libyieldpoint-cuda.so", getenv("YIELDPOINT_PLUGINS"));
    if (glob("/proc/[0-9]*/maps", 0, NULL, &found) != 0)
        return 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char line[4096];
        bool has = false;
        FILE *maps =
            atoi(found.gl_pathv[i] + 6) != getpid() ? fopen(found.gl_pathv[i], "re") : NULL;
        while (maps != NULL && !has && fgets(line, sizeof line, maps) != NULL)
            has = strstr(line, plugin) != NULL;
        count += has;
        if (maps != NULL)
            fclose(maps);
    }
    globfree(&found);
    return count;
}

/* An arena's parts: one allocation each where that is asked for, and given back with the block. */
YP_TEST(fake, parts, .devices = "cpu cuda")
{
    struct ypi_arena arena = {.base = yp_device_alloc(yp_device(t), 1000)};
    yp_got(t, arena.base);
    char *first = ypi_arena_take(&arena, 100, 1), *second = ypi_arena_take(&arena, 2, 4);
    bool separate = getenv("YIELDPOINT_SEPARATE_ARRAYS") != NULL && on_device(t);
    yp_expect(t, (second - first != 128) == separate && (first != arena.base) == separate,
              "parts at %p and %p of %p", (void *)first, (void *)second, (void *)arena.base);
    arena.together = true;
    char *third = ypi_arena_take(&arena, 1, 1);
    yp_expect(t, third == arena.base + 192 && ypi_arena_take(&arena, 1, 1) == third + 64,
              "what is copied at once is together");
    struct ypi_arena again = {.base = arena.base};
    yp_expect(t, ypi_arena_take(&again, 100, 1) == first, "it is laid out as before");
    struct yp_memory m;
    yp_device_memory(yp_device(t), &m);
    yp_expect(t, m.allocated == 1000 && arena.used == 320, "%llu bytes, %zu used",
              (unsigned long long)m.allocated, arena.used);
    yp_device_free(yp_device(t), arena.base);
}

YP_TEST(fake, is_held, .devices = "cuda")
{
    yp_value(t, "holders", holders());
}

YP_COMMAND(fake, command, .devices = "cuda",
           .command = "echo visible $CUDA_VISIBLE_DEVICES device $YIELDPOINT_DEVICE");

/* -- streams of one's own ---------------------------------------------------------------------- */

enum { COUNT = 100000 };

/* Two buffers, filled beside the work of the default stream; true when the data came. */
static bool copies_beside(struct yp_case *t, struct yp_stream *copies, float *pinned, float *there,
                          struct yp_event *event)
{
    struct yp_stream *work_stream = yp_device_stream(yp_device(t));
    float back[2] = {0};
    for (int i = 0; i < COUNT; i++)
        pinned[i] = (float)i;
    yp_ok(t, yp_event_record(event, work_stream));
    yp_ok(t, yp_stream_wait(copies, event));
    yp_ok(t, yp_stream_copy(copies, there, pinned, COUNT * sizeof *pinned));
    yp_ok(t, yp_event_record(event, copies));
    yp_ok(t, yp_stream_wait(work_stream, event));
    yp_ok(t, yp_event_synchronize(event));
    yp_ok(t, yp_device_copy(yp_device(t), back, there + COUNT - 2, sizeof back));
    return back[1] == COUNT - 1;
}

YP_TEST(fake, streams, .devices = "cpu cuda",
        .budgets = YP_BUDGETS(yp_for_device("cpu"), yp_max_peak(YP_HOST, 2 * COUNT * sizeof(float)),
                              yp_for_device("cuda"), yp_max_peak(YP_HOST, COUNT * sizeof(float))))
{
    struct yp_device *device = yp_device(t);
    struct yp_memory before, after;
    yp_device_memory(yp_device_cpu(), &before);
    float *pinned = yp_device_alloc_pinned(device, COUNT * sizeof *pinned);
    yp_device_memory(yp_device_cpu(), &after);
    yp_require(t, pinned != NULL, "%s", yp_last_error());
    yp_expect(t,
              after.allocated - before.allocated == COUNT * sizeof *pinned &&
                  after.reserved - before.reserved >= COUNT * sizeof *pinned,
              "it is the host's: %llu", (unsigned long long)after.allocated);
    struct yp_stream *copies = yp_stream_create(device);
    struct yp_event *event = yp_event_create(device);
    yp_require(t, copies != NULL && event != NULL, "%s", yp_last_error());
    yp_expect(t, copies != yp_device_stream(device), "a stream of its own");
    yp_expect(t, (yp_stream_native(copies) != NULL) == on_device(t), "what CUDA calls it");
    yp_ok(t, yp_stream_wait(copies, event)); /* never recorded */
    yp_ok(t, yp_event_synchronize(event));
    float *there = yp_device_alloc(device, COUNT * sizeof *there);
    yp_require(t, there != NULL, "%s", yp_last_error());
    yp_expect(t, copies_beside(t, copies, pinned, there, event), "the data did not come");
    yp_expect(t, yp_stream_copy(copies, NULL, pinned, 4) == YP_INVALID, "to is NULL");
    yp_expect(t, yp_stream_copy(copies, NULL, NULL, 0) == YP_OK, "nothing is copied");
    if (on_device(t)) {
        struct yp_event *other = yp_event_create(yp_device_cpu());
        yp_expect(t, yp_stream_wait(copies, other) == YP_INVALID, "an event of the CPU");
        yp_expect(t, yp_event_record(other, copies) == YP_INVALID, "an event of the CPU");
        yp_event_destroy(other);
        /* What is on it is waited for. */
        double begin = now();
        work(t, yp_stream_native(copies), 5e-3);
        yp_stream_destroy(copies);
        yp_expect(t, now() - begin >= 5e-3, "after %g s", now() - begin);
    } else {
        yp_stream_destroy(copies);
    }
    yp_stream_destroy(NULL);
    yp_device_free_pinned(device, NULL);
    yp_device_free(device, there);
    yp_event_destroy(event);
    yp_device_set_limit(yp_device_cpu(), 100);
    yp_expect(t,
              yp_device_alloc_pinned(device, COUNT) == NULL &&
                  strstr(yp_last_error(), "out of memory") != NULL,
              "the host's limit is its own");
    yp_device_set_limit(yp_device_cpu(), 0);
    yp_device_free_pinned(device, pinned);
    for (int i = 0; i < 200; i++) { /* none is left */
        struct yp_stream *again = yp_stream_create(device);
        yp_require(t, again != NULL, "stream %d: %s", i, yp_last_error());
        yp_stream_destroy(again);
    }
}

/* Work on another stream that the measured one waits for is part of it; `join`: whether it does.
 * Else it takes as long as that of "elsewhere", for the same reason. */
static void overlapped(struct yp_case *t, bool join)
{
    struct yp_stream *other = yp_stream_create(yp_device(t)), *own = yp_device_stream(yp_device(t));
    struct yp_event *event = yp_event_create(yp_device(t));
    yp_measure (t, "work", .max_seconds = 0.2) {
        (void)yp_event_record(event, own);
        (void)yp_stream_wait(other, event);
        work(t, yp_stream_native(other), join ? 2e-3 : 0.2);
        work(t, yp_stream_native(own), 1e-3);
        (void)yp_event_record(event, other);
        if (join)
            (void)yp_stream_wait(own, event);
    }
    yp_event_destroy(event);
    yp_stream_destroy(other);
}

YP_TEST(fake, joined, .devices = "cuda", .budgets = YP_BUDGETS(yp_max_latency("work", 2.8e-3)))
{
    overlapped(t, true);
}

YP_TEST(fake, stray, .devices = "cuda")
{
    overlapped(t, false);
}

YP_TEST(fake, pinned_leaks, .devices = "cuda")
{
    yp_expect(t, yp_device_alloc_pinned(yp_device(t), 1000) != NULL, "%s", yp_last_error());
}

/* The driver has no more: nothing is counted but the refusal. */
YP_TEST(fake, pinned_too_much, .devices = "cuda")
{
    struct yp_memory m;
    yp_expect(t,
              yp_device_alloc_pinned(yp_device(t), (size_t)2 << 30) == NULL &&
                  strstr(yp_last_error(), "out of memory: page-locked memory") != NULL,
              "%s", yp_last_error());
    yp_device_memory(yp_device_cpu(), &m);
    yp_expect(t, m.allocated == 0 && m.reserved == 0 && m.refused == 1, "%llu bytes",
              (unsigned long long)m.allocated);
}

YP_TEST(fake, too_many_streams, .devices = "cuda")
{
    enum { CAPACITY = 100 };
    struct yp_stream *streams[CAPACITY];
    int made = 0;
    while (made < CAPACITY && (streams[made] = yp_stream_create(yp_device(t))) != NULL)
        made++;
    yp_expect(t, made < CAPACITY && strstr(yp_last_error(), "out of memory: a stream") != NULL,
              "%d: %s", made, yp_last_error());
    while (made > 0)
        yp_stream_destroy(streams[--made]);
}

YP_TEST(fake, pinned_freed_twice, .devices = "cuda")
{
    void *block = yp_device_alloc_pinned(yp_device(t), 10);
    yp_device_free_pinned(yp_device(t), block);
    yp_device_free_pinned(yp_device(t), block);
}

YP_TEST(fake, pinned_is_no_device_memory, .devices = "cuda")
{
    yp_device_free(yp_device(t), yp_device_alloc_pinned(yp_device(t), 10));
}

YP_TEST(fake, default_stream_destroyed, .devices = "cpu cuda")
{
    yp_stream_destroy(yp_device_stream(yp_device(t)));
}
