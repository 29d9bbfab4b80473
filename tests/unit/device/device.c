/* The CPU as a device: accounting, limits, alignment, misuse, events. */
#include <unistd.h>
#include <yieldpoint/device.h>

#include "device/registry.h"
#include "tests/unit/harness/sanitizer.h"
#include "tests/unit/status.h"

#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

TestSuite(device, .timeout = 60);

/* AddressSanitizer would end the process for a request that no system can meet. */
SANITIZER_OPTIONS("allocator_may_return_null=1")

static void *take(size_t bytes)
{
    void *block = yp_device_alloc(yp_device_cpu(), bytes);
    cr_assert_not_null(block, "%zu bytes: %s", bytes, yp_last_error());
    return block;
}

static void give_back(void *block)
{
    yp_device_free(yp_device_cpu(), block);
}

Test(device, begins_with_nothing)
{
    struct yp_memory m = memory();
    struct yp_memory nothing = {.capacity = m.capacity};
    cr_expect_eq(memcmp(&m, &nothing, sizeof m), 0);
    cr_expect_eq(m.capacity, (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
    cr_expect_str_eq(yp_device_name(yp_device_cpu()), "cpu");
    cr_expect_eq(yp_device_memory_kind(yp_device_cpu()), YP_HOST);
    cr_expect_eq(yp_device_cpu(), yp_device_cpu());
}

Test(device, every_figure_after_every_step)
{
    void *a = take(1000);
    struct yp_memory m = memory();
    cr_expect(m.allocated == 1000 && m.allocated_peak == 1000 && m.total == 1000);
    cr_expect(m.allocations == 1 && m.frees == 0 && m.refused == 0);
    cr_expect(m.reserved >= 1000 + 64 && m.reserved < 1000 + 192 && m.reserved_peak == m.reserved);
    void *b = take(1);
    m = memory();
    cr_expect(m.allocated == 1001 && m.allocated_peak == 1001 && m.allocations == 2);
    give_back(a);
    m = memory();
    cr_expect(m.allocated == 1 && m.allocated_peak == 1001 && m.total == 1001 && m.frees == 1);
    cr_expect(m.reserved < m.reserved_peak && m.reserved >= 65);
    yp_device_reset_peak(yp_device_cpu());
    m = memory();
    cr_expect(m.allocated_peak == 1 && m.reserved_peak == m.reserved);
    void *c = take(500);
    cr_expect_eq(memory().allocated_peak, 501);
    give_back(b);
    give_back(c);
    m = memory();
    cr_expect(m.allocated == 0 && m.reserved == 0 && m.allocations == 3 && m.frees == 3);
    cr_expect_eq(m.total, 1501);
}

Test(device, blocks_are_aligned_whole_and_apart)
{
    enum { BLOCKS = 300 };
    unsigned char *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = take((size_t)i + 1);
        cr_expect_eq((uintptr_t)blocks[i] % 64, 0);
        memset(blocks[i], i & 255, (size_t)i + 1);
    }
    for (int i = 0; i < BLOCKS; i++)
        for (int k = 0; k <= i; k++)
            cr_assert_eq(blocks[i][k], i & 255);
    cr_expect_eq(memory().allocated, BLOCKS * (BLOCKS + 1) / 2);
    cr_expect_geq(memory().reserved, memory().allocated + 64 * BLOCKS);
    for (int i = 0; i < BLOCKS; i++)
        give_back(blocks[i]);
    cr_expect(memory().allocated == 0 && memory().reserved == 0);
}

Test(device, sizes_that_cannot_be)
{
    static const size_t sizes[] = {0, SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 64, SIZE_MAX - 127};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        cr_expect_null(yp_device_alloc(yp_device_cpu(), sizes[i]), "%zu", sizes[i]);
        char wanted[32];
        snprintf(wanted, sizeof wanted, "bytes is %zu:", sizes[i]);
        cr_expect_eq(strncmp(yp_last_error(), wanted, strlen(wanted)), 0, "%s", yp_last_error());
    }
    static const size_t huge[] = {SIZE_MAX - 128, SIZE_MAX / 2, SIZE_MAX / 4};
    for (size_t i = 0; i < sizeof huge / sizeof huge[0]; i++) {
        cr_expect_null(yp_device_alloc(yp_device_cpu(), huge[i]), "%zu", huge[i]);
        cr_expect_not_null(strstr(yp_last_error(), "out of memory: the system refused"), "%s",
                           yp_last_error());
    }
    struct yp_memory m = memory();
    cr_expect(m.allocated == 0 && m.reserved == 0 && m.total == 0 && m.allocations == 0);
    cr_expect_eq(m.refused, sizeof huge / sizeof huge[0]);
}

Test(device, the_limit_is_exact)
{
    struct yp_device *cpu = yp_device_cpu();
    void *before = take(100);
    yp_device_set_limit(cpu, 1000);
    cr_expect_null(yp_device_alloc(cpu, 901), "a byte too many");
    cr_expect_str_eq(yp_last_error(), "out of memory: 901 bytes asked of the cpu, 100 of the limit "
                                      "of 1000 bytes in use");
    void *rest = take(900);
    cr_expect_null(yp_device_alloc(cpu, 1));
    cr_expect_null(yp_device_alloc(cpu, SIZE_MAX - 128), "and no sum overflows");
    cr_expect_not_null(strstr(yp_last_error(), "of the limit of 1000 bytes"), "%s",
                       yp_last_error());
    struct yp_memory m = memory();
    cr_expect(m.allocated == 1000 && m.refused == 3 && m.limit == 1000 && m.allocations == 2);
    cr_expect_eq(m.allocated_peak, 1000);
    give_back(before);
    void *again = take(100);
    /* A limit below what is in use refuses everything and takes nothing away. */
    yp_device_set_limit(cpu, 10);
    cr_expect_null(yp_device_alloc(cpu, 1));
    give_back(rest);
    cr_expect_null(yp_device_alloc(cpu, 1));
    give_back(again);
    void *ten = take(10);
    yp_device_set_limit(cpu, 0);
    void *more = take(100000);
    give_back(ten);
    give_back(more);
    cr_expect_eq(memory().allocated, 0);
}

Test(device, null_is_freed_without_a_word)
{
    give_back(NULL);
    cr_expect_eq(memory().frees, 0);
}

/* -- misuse -------------------------------------------------------------------------------- */

/* Small, in the middle, and so large that the memory goes back to the system at once. */
#define FREED_TWICE(name, bytes) \
    Test(device, freed_twice_##name, .signal = SIGABRT) \
    { \
        void *block = take(bytes); \
        give_back(block); \
        give_back(block); \
    }
FREED_TWICE(small, 1)
FREED_TWICE(middle, 100000)
FREED_TWICE(large, 100 << 20)

Test(device, freed_twice_with_others_between, .signal = SIGABRT)
{
    void *blocks[16];
    for (int i = 0; i < 16; i++)
        blocks[i] = take(5000);
    for (int i = 0; i < 16; i++)
        give_back(blocks[i]);
    give_back(blocks[3]);
}

Test(device, freed_though_not_its_own, .signal = SIGABRT)
{
    static char bytes[256];
    give_back(bytes + 128);
}

/* Unseen by AddressSanitizer, which would end the program here. */
__attribute__((no_sanitize("address"))) static void clear_unseen(volatile char *bytes, int count)
{
    for (int i = 0; i < count; i++)
        bytes[i] = 0;
}

Test(device, freed_after_a_write_in_front_of_it, .signal = SIGABRT)
{
    char *block = take(100);
    clear_unseen(block - 64, 64);
    give_back(block);
}

Test(device, memory_may_come_back_and_be_freed_again)
{
    static const size_t sizes[] = {1, 5000, 10 << 20};
    for (int i = 0; i < 3000; i++)
        give_back(take(sizes[i % 3]));
    cr_expect_eq(memory().frees, 3000);
}

/* -- threads ------------------------------------------------------------------------------- */

enum { THREADS = 8, ROUNDS = 20000, HELD = 16 };

static void *allocate_and_free(void *argument)
{
    uint32_t state = (uint32_t)(uintptr_t)argument * 2654435761u + 1;
    void *held[HELD] = {NULL};
    for (int i = 0; i < ROUNDS; i++) {
        state = state * 1664525u + 1013904223u;
        int at = (int)(state >> 28);
        give_back(held[at]);
        held[at] = yp_device_alloc(yp_device_cpu(), 1 + (state >> 16 & 1023));
    }
    for (int i = 0; i < HELD; i++)
        give_back(held[i]);
    return NULL;
}

static void run_threads(void *(*function)(void *), void *results[THREADS])
{
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, function, (void *)(i + 1)), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], &results[i]);
}

Test(device, adds_up_under_threads)
{
    void *none[THREADS];
    run_threads(allocate_and_free, none);
    struct yp_memory m = memory();
    cr_expect(m.allocated == 0 && m.reserved == 0 && m.refused == 0);
    cr_expect_eq(m.allocations, THREADS * ROUNDS);
    cr_expect_eq(m.frees, THREADS * ROUNDS);
    cr_expect_leq(m.allocated_peak, THREADS * (HELD + 1) * 1024);
    cr_expect_gt(m.allocated_peak, 1024);
    cr_expect_geq(m.reserved_peak, m.allocated_peak);
}

/* Each takes and keeps what it can get: together never a byte more than allowed. */
static void *take_all(void *argument)
{
    (void)argument;
    void **first = NULL;
    void **block = NULL;
    while ((block = yp_device_alloc(yp_device_cpu(), 8)) != NULL) {
        *block = first;
        first = block;
    }
    return first;
}

Test(device, the_limit_is_exact_under_threads)
{
    yp_device_set_limit(yp_device_cpu(), 8 * 50001 + 7);
    void *blocks[THREADS];
    run_threads(take_all, blocks);
    struct yp_memory m = memory();
    cr_expect(m.allocated == 8 * 50001 && m.allocations == 50001 && m.refused == THREADS);
    cr_expect_eq(m.allocated_peak, m.allocated);
    for (int i = 0; i < THREADS; i++)
        for (void **block = blocks[i], **next = NULL; block != NULL; block = next) {
            next = *block;
            give_back(block);
        }
    cr_expect_eq(memory().allocated, 0);
}

static void *fail_and_look(void *argument)
{
    uintptr_t number = (uintptr_t)argument;
    char wanted[64];
    snprintf(wanted, sizeof wanted, "number %d", (int)number);
    bool same = true;
    for (int i = 0; i < 10000; i++) {
        yp_set_error(YP_INVALID, "number %d", (int)number);
        same = same && strcmp(yp_last_error(), wanted) == 0;
    }
    return same ? NULL : argument;
}

Test(device, errors_are_each_thread_s_own)
{
    void *wrong[THREADS];
    cr_expect_eq(yp_set_error(YP_IO, "of the %s thread", "first"), YP_IO);
    run_threads(fail_and_look, wrong);
    for (int i = 0; i < THREADS; i++)
        cr_expect_null(wrong[i]);
    cr_expect_str_eq(yp_last_error(), "of the first thread");
}

/* -- streams and events -------------------------------------------------------------------- */

Test(device, events_measure_time)
{
    struct yp_device *cpu = yp_device_cpu();
    struct yp_event *begin = yp_event_create(cpu);
    struct yp_event *end = yp_event_create(cpu);
    cr_assert(begin != NULL && end != NULL);
    cr_expect(isnan(yp_event_seconds(begin, end)), "neither was recorded");
    cr_expect_eq(yp_event_record(begin, yp_device_stream(cpu)), YP_OK);
    cr_expect(isnan(yp_event_seconds(begin, end)), "the end was not");
    cr_expect(isnan(yp_event_seconds(end, begin)), "the begin was not");
    struct timespec wait = {.tv_nsec = 20000000};
    nanosleep(&wait, NULL);
    cr_expect_eq(yp_event_record(end, yp_device_stream(cpu)), YP_OK);
    cr_expect_eq(yp_device_synchronize(cpu), YP_OK);
    double seconds = yp_event_seconds(begin, end);
    cr_expect(seconds >= 0.02 && seconds < 20, "%g", seconds);
    cr_expect_eq(yp_event_seconds(end, begin), -seconds);
    cr_expect_eq(yp_event_seconds(end, end), 0);
    yp_event_destroy(begin);
    yp_event_destroy(end);
    yp_event_destroy(NULL);
}

/* -- which there are ----------------------------------------------------------------------- */

/* On the CPU there is nothing to wait for. */
Test(device, streams_of_one_s_own)
{
    struct yp_device *cpu = yp_device_cpu();
    struct yp_stream *one = yp_stream_create(cpu), *other = yp_stream_create(cpu);
    struct yp_event *event = yp_event_create(cpu);
    cr_assert(one != NULL && other != NULL && one != other && one != yp_device_stream(cpu));
    int from[3] = {1, 2, 3}, to[3] = {0};
    cr_expect_eq(yp_stream_wait(one, event), YP_OK);
    cr_expect_eq(yp_event_synchronize(event), YP_OK);
    cr_expect_eq(yp_event_record(event, other), YP_OK);
    cr_expect_eq(yp_stream_wait(one, event), YP_OK);
    cr_expect_eq(yp_stream_copy(one, to, from, sizeof to), YP_OK);
    cr_expect_arr_eq(to, from, sizeof to);
    cr_expect_eq(yp_event_synchronize(event), YP_OK);
    cr_expect_eq(yp_stream_synchronize(one), YP_OK);
    cr_expect_null(yp_stream_native(one));
    cr_expect_eq(yp_stream_copy(one, NULL, from, 4), YP_INVALID);
    cr_expect_str_eq(yp_last_error(), "to is NULL: 4 bytes are to be copied");
    cr_expect_eq(yp_stream_copy(one, to, NULL, 4), YP_INVALID);
    cr_expect_str_eq(yp_last_error(), "from is NULL: 4 bytes are to be copied");
    cr_expect_eq(yp_stream_copy(one, NULL, NULL, 0), YP_OK);
    yp_event_destroy(event);
    yp_stream_destroy(one);
    yp_stream_destroy(other);
    yp_stream_destroy(NULL);
}

Test(device, the_default_stream_is_the_device_s, .signal = SIGABRT)
{
    yp_stream_destroy(yp_device_stream(yp_device_cpu()));
}

Test(device, pinned_memory_of_the_cpu_is_memory)
{
    struct yp_device *cpu = yp_device_cpu();
    char *block = yp_device_alloc_pinned(cpu, 1000);
    cr_assert_not_null(block);
    memset(block, 1, 1000);
    struct yp_memory m = memory();
    cr_expect(m.allocated == 1000 && m.allocations == 1 && m.reserved >= 1064);
    yp_device_fail_allocation(cpu, 1);
    cr_expect_null(yp_device_alloc_pinned(cpu, 10));
    cr_expect_not_null(strstr(yp_last_error(), "out of memory"));
    cr_expect_null(yp_device_alloc_pinned(cpu, 0));
    yp_device_set_limit(cpu, 1500);
    cr_expect_null(yp_device_alloc_pinned(cpu, 501));
    yp_device_set_limit(cpu, 0);
    yp_device_free_pinned(cpu, block);
    yp_device_free_pinned(cpu, NULL);
    m = memory();
    cr_expect(m.allocated == 0 && m.reserved == 0 && m.frees == 1 && m.refused == 2);
}

Test(device, the_cpu_is_never_absent)
{
    cr_expect_null(ypi_device_absent("cpu"));
    cr_expect_null(ypi_device_absent(""));
    struct yp_device *device = NULL;
    cr_expect_eq(ypi_device_open("cpu", &device), YP_OK);
    cr_expect_eq(device, yp_device_cpu());
    cr_expect_eq(ypi_device_open("", &device), YP_OK);
    cr_expect_eq(device, yp_device_cpu());
}
