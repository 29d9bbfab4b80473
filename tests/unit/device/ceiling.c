/* Probes of ceilings: what a kernel claims to do is what it does, and levels are those of the
 * kernel's files. How fast anything is is not asked. */
#include "device/ceiling/ceiling.h"
#include "base/system/file.h"
#include "device/ceiling/kernels.h"
#include "device/cpu/levels.h"
#include "tests/unit/harness/folder.h"

#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(ceiling, .timeout = 120);

/* -- kernels ------------------------------------------------------------------------------- */

static bool is_traffic(const struct ypi_kernel *k)
{
    return k->ceiling == YP_READ || k->ceiling == YP_COPY || k->ceiling == YP_FILL;
}

static bool runs_here(const struct ypi_kernel *k)
{
    return k->isa <= yp_isa() && (k->runs == NULL || k->runs());
}

static const char *name_of(const struct ypi_kernel *k)
{
    static char name[64];
    snprintf(name, sizeof name, "%s %s%s", yp_ceiling_name(k->ceiling), yp_isa_name(k->isa),
             k->streaming ? " streaming" : "");
    return name;
}

/* One lane's value after so many steps, in plain C. */
static double lane_after(enum yp_ceiling ceiling, size_t steps)
{
    volatile float single = 1;
    double value = 1;
    uint32_t whole = 1;
    for (size_t i = 0; i < steps; i++) {
        single = (float)((double)single * (double)0.999F + 0.5);
        value = value * 0.999 + 0.5;
        whole = whole * 3 + 1;
    }
    if (ceiling == YP_INT32)
        return (double)whole;
    return ceiling == YP_FP64 ? value : (double)single;
}

/* The sum over all lanes tells how many there are, and so how many operations were done: two a
 * lane and step, or, where products are summed up, two for every product of the value 3. */
static double operations_of(const struct ypi_kernel *k, const struct ypi_kernel_work *w)
{
    bool of_products = k->ceiling == YP_INT8 || (k->ceiling == YP_BF16 && k->runs != NULL) ||
                       (k->ceiling == YP_BF16 && k->isa == YP_ISA_AMX);
    if (of_products)
        return 2 * w->total / 3;
    enum yp_ceiling as = k->ceiling == YP_BF16 ? YP_FP32 : k->ceiling;
    return 2 * (double)w->steps * w->total / lane_after(as, w->steps);
}

Test(ceiling, arithmetic_does_what_it_claims)
{
    static const size_t steps[] = {1, 2, 17, 300};
    size_t count = 0;
    const struct ypi_kernel *all = ypi_kernels(&count);
    for (size_t i = 0; i < count; i++)
        for (size_t s = 0; s < 4 && !is_traffic(&all[i]) && runs_here(&all[i]); s++) {
            struct ypi_kernel_work work = {.steps = steps[s], .total = NAN};
            all[i].run(&work);
            double claimed = all[i].amount * (double)steps[s];
            cr_expect_float_eq(operations_of(&all[i], &work) / claimed, 1, 1e-5,
                               "%s, %zu steps: claims %g, did %g", name_of(&all[i]), steps[s],
                               claimed, operations_of(&all[i], &work));
        }
}

enum { BYTES = 3 * 4096, PASSES = 3 };
_Alignas(64) static unsigned char from[BYTES + 64];
_Alignas(64) static unsigned char to[BYTES + 64];

static void expect_read(const struct ypi_kernel *k, struct ypi_kernel_work *w)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < BYTES; i += 8) {
        uint64_t word;
        memcpy(&word, from + i, 8);
        sum += word;
    }
    k->run(w);
    cr_expect_eq(w->sum, PASSES * sum, "%s", name_of(k));
    cr_expect_eq(k->amount, 1);
}

static void expect_written(const struct ypi_kernel *k, struct ypi_kernel_work *w)
{
    memset(to, 0xee, sizeof to);
    k->run(w);
    for (size_t i = 0; i < BYTES; i++) {
        unsigned char wanted = k->ceiling == YP_COPY ? from[i] : YPI_KERNEL_FILL;
        cr_assert_eq(to[i], wanted, "%s: byte %zu", name_of(k), i);
    }
    for (size_t i = BYTES; i < sizeof to; i++)
        cr_assert_eq(to[i], 0xee, "%s: byte %zu behind the end", name_of(k), i);
    cr_expect_eq(k->amount, k->ceiling == YP_COPY ? 2 : 1);
}

Test(ceiling, traffic_touches_every_byte_in_every_pass)
{
    size_t count = 0;
    const struct ypi_kernel *all = ypi_kernels(&count);
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)(i * 167 + i / 256);
    for (size_t i = 0; i < count; i++) {
        struct ypi_kernel_work work = {
            .from = (char *)from, .to = (char *)to, .bytes = BYTES, .passes = PASSES};
        if (!is_traffic(&all[i]) || !runs_here(&all[i]))
            continue;
        if (all[i].ceiling == YP_READ)
            expect_read(&all[i], &work);
        else
            expect_written(&all[i], &work);
    }
}

Test(ceiling, the_best_kernel_is_no_wider_than_allowed)
{
    for (int c = YP_READ; c < (int)YPI_CPU_CEILINGS; c++)
        for (int isa = 0; isa <= (int)yp_isa(); isa++) {
            const struct ypi_kernel *k =
                ypi_kernel_best((enum yp_ceiling)c, (enum yp_isa)isa, false);
            cr_assert_not_null(k);
            cr_expect(k->ceiling == (enum yp_ceiling)c && k->isa <= (enum yp_isa)isa);
            cr_expect(!k->streaming && runs_here(k));
            /* int8 and bf16 have no kernel of their own on every processor. */
            if (c != YP_INT8 && c != YP_BF16)
                cr_expect_eq((int)k->isa, isa < YP_ISA_AVX512 ? isa : YP_ISA_AVX512, "%s",
                             name_of(k));
        }
    cr_expect_null(ypi_kernel_best(YP_READ, YP_ISA_AMX, true));
    cr_expect_null(ypi_kernel_best(YP_FP32, YP_ISA_AMX, true));
}

Test(ceiling, names)
{
    cr_expect_str_eq(yp_ceiling_name(YP_NO_CEILING), "none");
    cr_expect_str_eq(yp_ceiling_name(YP_COPY), "copy");
    cr_expect_str_eq(yp_ceiling_name(YP_INT32), "int32");
    cr_expect_str_eq(yp_ceiling_name(YP_LAUNCH), "launch");
    cr_expect_str_eq(yp_ceiling_name(YP_CEILINGS), "?");
}

/* -- levels -------------------------------------------------------------------------------- */

static void put(const char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(const char *text, const char *format, ...)
{
    char path[256];
    va_list arguments;
    int length = snprintf(path, sizeof path, "%s/", directory);
    va_start(arguments, format);
    vsnprintf(path + length, sizeof path - (size_t)length, format, arguments);
    va_end(arguments);
    cr_assert_eq(ypi_make_parents(path), YP_OK);
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f, "%s", path);
    fprintf(f, "%s\n", text);
    fclose(f);
}

static void put_cache(int cpu, int index, const char *type, const char *level, const char *size,
                      const char *shared)
{
    put(type, "cpu%d/cache/index%d/type", cpu, index);
    put(level, "cpu%d/cache/index%d/level", cpu, index);
    put(size, "cpu%d/cache/index%d/size", cpu, index);
    if (shared != NULL)
        put(shared, "cpu%d/cache/index%d/shared_cpu_list", cpu, index);
}

Test(ceiling, caches_are_read_from_the_files, .init = make_directory, .fini = remove_directory)
{
    struct ypi_caches c;
    put_cache(5, 0, "Data", "1", "48K", "5,69");
    put_cache(5, 1, "Instruction", "1", "32K", "5,69");
    put_cache(5, 2, "Unified", "2", "2048K", NULL);
    put_cache(5, 3, "Unified", "3", "105M", "3-6,67-70");
    ypi_caches_read(directory, 5, &c);
    cr_expect(c.size[0] == 48 << 10 && c.owner[0] == 5);
    cr_expect(c.size[1] == 2 << 20 && c.owner[1] == 5);
    cr_expect(c.size[2] == 105 << 20 && c.owner[2] == 3);
    cr_expect_eq(c.size[3], 0);
}

/* Where the files are missing the C library is asked; it need not know either. */
Test(ceiling, without_files_the_library_is_asked, .init = make_directory, .fini = remove_directory)
{
    struct ypi_caches c;
    ypi_caches_read(directory, 1, &c);
    long first = sysconf(_SC_LEVEL1_DCACHE_SIZE);
    cr_expect_eq(c.size[0], first > 0 ? (size_t)first : 0);
    cr_expect(c.owner[0] == 1 && c.owner[2] == 0);
}

Test(ceiling, cores_before_their_second_threads, .init = make_directory, .fini = remove_directory)
{
    static const char *const siblings[] = {"0-1", "0-1", "2,4", "3", "2,4"};
    int order[YPI_PROCESSORS_MAX];
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    for (int cpu = 0; cpu < 5; cpu++) {
        put(siblings[cpu], "cpu%d/topology/thread_siblings_list", cpu);
        CPU_SET((size_t)cpu, &allowed);
    }
    CPU_SET(9, &allowed); /* about which nothing is known */
    cr_assert_eq(ypi_cores_first(directory, &allowed, order), 6);
    static const int wanted[] = {0, 2, 3, 9, 1, 4};
    for (int i = 0; i < 6; i++)
        cr_expect_eq(order[i], wanted[i], "place %d: %d", i, order[i]);
}

/* Four processors: L1 of their own, an L2 for each two, an L3 for all. */
static void make_caches(struct ypi_caches caches[4])
{
    for (int cpu = 0; cpu < 4; cpu++)
        caches[cpu] = (struct ypi_caches){.size = {32 << 10, 1 << 20, 16 << 20, 0},
                                          .owner = {cpu, cpu / 2 * 2, 0, 0}};
}

static void expect_level(const struct ypi_level *l, const char *name, size_t size, size_t total,
                         size_t working)
{
    cr_expect_str_eq(l->name, name);
    cr_expect_eq(l->size, size, "%s: size %zu", name, l->size);
    cr_expect_eq(l->total, total, "%s: total %zu", name, l->total);
    cr_expect_eq(l->working, working, "%s: working %zu", name, l->working);
}

Test(ceiling, shared_caches_count_once)
{
    struct ypi_caches caches[4];
    struct ypi_level out[YPI_LEVELS_MAX];
    make_caches(caches);
    cr_assert_eq(ypi_levels_from(caches, 1, out, YPI_LEVELS_MAX), 4);
    expect_level(&out[0], "L1", 32 << 10, 32 << 10, 16 << 10);
    expect_level(&out[1], "L2", 1 << 20, 1 << 20, 512 << 10);
    expect_level(&out[2], "L3", 16 << 20, 16 << 20, 8 << 20);
    expect_level(&out[3], "memory", 0, 64 << 20, 64 << 20);
    cr_assert_eq(ypi_levels_from(caches, 4, out, YPI_LEVELS_MAX), 4);
    expect_level(&out[0], "L1", 32 << 10, 128 << 10, 16 << 10);
    expect_level(&out[1], "L2", 1 << 20, 2 << 20, 256 << 10);
    expect_level(&out[2], "L3", 16 << 20, 16 << 20, 2 << 20);
    expect_level(&out[3], "memory", 0, 64 << 20, 16 << 20);
}

/* A third level that gives a processor no more than its second is no level of its own. */
Test(ceiling, levels_that_add_nothing_are_left_out)
{
    struct ypi_caches caches[4];
    struct ypi_level out[YPI_LEVELS_MAX];
    make_caches(caches);
    for (int cpu = 0; cpu < 4; cpu++)
        caches[cpu].size[2] = 2 << 20;
    cr_assert_eq(ypi_levels_from(caches, 4, out, YPI_LEVELS_MAX), 3);
    cr_expect_str_eq(out[1].name, "L2");
    expect_level(&out[2], "memory", 0, 8 << 20, 2 << 20);
    /* One that is little more: halfway between. */
    for (int cpu = 0; cpu < 4; cpu++)
        caches[cpu].size[2] = 3 << 20;
    cr_assert_eq(ypi_levels_from(caches, 4, out, YPI_LEVELS_MAX), 4);
    expect_level(&out[2], "L3", 3 << 20, 3 << 20, (512 << 10) + (128 << 10));
}

Test(ceiling, nothing_known_is_memory)
{
    struct ypi_caches nothing[2] = {0};
    struct ypi_level out[YPI_LEVELS_MAX];
    cr_assert_eq(ypi_levels_from(nothing, 2, out, YPI_LEVELS_MAX), 1);
    expect_level(&out[0], "memory", 0, 256 << 20, 128 << 20);
    cr_assert_eq(ypi_levels_from(nothing, 0, out, YPI_LEVELS_MAX), 1);
    expect_level(&out[0], "memory", 0, 256 << 20, 256 << 20);
}

Test(ceiling, few_places_take_the_nearest_and_memory)
{
    struct ypi_caches caches[4];
    struct ypi_level out[YPI_LEVELS_MAX] = {0};
    make_caches(caches);
    cr_assert_eq(ypi_levels_from(caches, 4, out, 2), 2);
    cr_expect_str_eq(out[0].name, "L1");
    cr_expect_str_eq(out[1].name, "memory");
    cr_assert_eq(ypi_levels_from(caches, 4, out, 1), 1);
    cr_expect_str_eq(out[0].name, "memory");
    cr_expect_eq(ypi_levels(1, out, 0), 0);
}

Test(ceiling, a_footprint_is_of_the_nearest_level_that_holds_it)
{
    struct ypi_level levels[YPI_LEVELS_MAX];
    int count = ypi_levels(0, levels, YPI_LEVELS_MAX);
    cr_assert_geq(count, 1);
    cr_expect_str_eq(levels[count - 1].name, "memory");
    cr_expect_str_eq(ypi_level_of(0, 0).name, "memory");
    cr_expect_str_eq(ypi_level_of(1e18, 0).name, "memory");
    cr_expect_str_eq(ypi_level_of(1, 0).name, levels[0].name);
    for (int i = 0; i + 1 < count; i++) {
        double total = (double)levels[i].total;
        cr_expect_str_eq(ypi_level_of(total, 0).name, levels[i].name);
        cr_expect_str_neq(ypi_level_of(total + 1, 0).name, levels[i].name);
    }
}

static void *bind_and_count(void *argument)
{
    cpu_set_t one;
    struct ypi_probe *p;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    (void)ypi_own_processors(argument);
    p = ypi_probe_open(YP_FP32, NULL, 0, YP_ISA_BASELINE);
    ypi_probe_close(p);
    return p;
}

/* The first one who asks may be bound already, as a case's thread is. */
Test(ceiling, a_bound_thread_does_not_take_the_others_away)
{
    cpu_set_t allowed;
    pthread_t thread;
    void *opened = NULL;
    int count = 0;
    cr_assert_eq(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    cr_assert_eq(pthread_create(&thread, NULL, bind_and_count, &count), 0);
    pthread_join(thread, &opened);
    cr_expect_not_null(opened);
    cr_expect_eq(count, CPU_COUNT(&allowed));
}

/* -- probes -------------------------------------------------------------------------------- */

static const struct ypi_level tiny = {.name = "L1", .size = 8192, .total = 8192, .working = 8192};

Test(ceiling, every_probe_tells_a_rate)
{
    for (int c = YP_READ; c < (int)YPI_CPU_CEILINGS; c++)
        for (int threads = 0; threads < 2; threads++) {
            struct ypi_probe *p = ypi_probe_open((enum yp_ceiling)c, &tiny, threads, yp_isa());
            cr_assert_not_null(p, "%s", yp_last_error());
            for (int i = 0; i < 3; i++) {
                double rate = ypi_probe_run(p, i * 0.001);
                cr_expect(isfinite(rate) && rate > 0, "%s: %g", yp_ceiling_name(c), rate);
            }
            ypi_probe_close(p);
        }
    ypi_probe_close(NULL);
}

Test(ceiling, bytes_are_those_of_its_buffers)
{
    struct ypi_probe *p = ypi_probe_open(YP_READ, &tiny, 1, YP_ISA_BASELINE);
    cr_expect_eq(ypi_probe_bytes(p), 8192);
    ypi_probe_close(p);
    p = ypi_probe_open(YP_COPY, &tiny, 1, YP_ISA_BASELINE);
    cr_expect_eq(ypi_probe_bytes(p), 8192, "both together: %zu", ypi_probe_bytes(p));
    ypi_probe_close(p);
    p = ypi_probe_open(YP_FP64, NULL, 1, YP_ISA_BASELINE);
    cr_expect_eq(ypi_probe_bytes(p), 0);
    ypi_probe_close(p);
}

static void expect_refused(int ceiling, const struct ypi_level *level, int threads, int isa,
                           const char *what)
{
    yp_set_error(YP_OK, "%s", "");
    cr_expect_null(ypi_probe_open((enum yp_ceiling)ceiling, level, threads, (enum yp_isa)isa));
    cr_expect_not_null(strstr(yp_last_error(), what), "%s", yp_last_error());
}

Test(ceiling, wrong_arguments_are_refused)
{
    expect_refused(YP_NO_CEILING, &tiny, 1, 0, "ceiling is 0");
    expect_refused(YP_CEILINGS, &tiny, 1, 0, "ceiling is 21");
    expect_refused(YP_FP8, &tiny, 1, 0, "ceiling is fp8: processors have none");
    expect_refused(YP_COPY, NULL, 1, 0, "level is NULL");
    expect_refused(YP_FP32, NULL, -1, 0, "threads is -1");
    expect_refused(YP_FP32, NULL, 1, YP_ISAS, "isa is 4");
}

Test(ceiling, no_memory_is_told)
{
    struct ypi_level huge = {.name = "memory", .working = (size_t)1 << 60};
    expect_refused(YP_FILL, &huge, 1, 0, "out of memory");
    expect_refused(YP_COPY, &huge, 0, 0, "out of memory");
}

Test(ceiling, caches_are_emptied_by_more_than_they_hold)
{
    struct ypi_level levels[YPI_LEVELS_MAX];
    int count = ypi_levels(0, levels, YPI_LEVELS_MAX);
    size_t bytes = ypi_cache_flush_bytes();
    for (int i = 0; i + 1 < count; i++)
        cr_expect_geq(bytes, 2 * levels[i].total);
    unsigned char *scratch = calloc(1, bytes);
    cr_assert_not_null(scratch);
    ypi_cache_flush(scratch);
    for (size_t i = 0; i < bytes; i += 64) {
        size_t touched = 0;
        for (size_t k = 0; k < 64; k++)
            touched += scratch[i + k] != 0;
        cr_assert_gt(touched, 0, "line at %zu", i);
    }
    free(scratch);
}
