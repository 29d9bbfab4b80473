/* Staging on the emulated device: whenever copies and kernels are done that no wait holds back,
 * each item is used as it was produced. */
#include "device/staging.h"
#include "tests/emulated/device.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS = 7, CAPACITY = 300, EMPTY = 3, ARRAYS = 2 };

enum manner { FILLS, POINTS, REUSES, MIXES, MANNERS };

static struct {
    struct yp_device *device;
    struct ypi_staging staging;
    enum manner manner;
    uint8_t data[ITEMS][CAPACITY];
    uint8_t one[CAPACITY];                  /* memory for one item after the other */
    uint64_t *hash;                         /* on the device: of all items in their order */
    size_t fail_produce, fail_use, stop_at; /* an item; 0: none */
    size_t used;
    bool stop;
} s;

static size_t bytes_of(size_t index)
{
    return index == EMPTY ? 0 : CAPACITY - 13 * index;
}

static uint64_t hashed(uint64_t hash, const uint8_t *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ data[i]) * UINT64_C(0x100000001b3);
    return hash;
}

struct job {
    const uint8_t *data;
    size_t bytes;
    uint64_t *hash;
};

static void hash_kernel(const void *given)
{
    const struct job *job = given;
    *job->hash = hashed(*job->hash, job->data, job->bytes);
}

static enum yp_status produce(void *arg, size_t index, struct ypi_staged *arrays)
{
    enum manner manner = s.manner == MIXES ? (enum manner)(index % MIXES) : s.manner;
    cr_expect_eq(arg, &s);
    if (s.fail_produce > 0 && index == s.fail_produce)
        return yp_set_error(YP_IO, "item %zu cannot be read", index);
    cr_expect_eq(emulated_has(arrays[0].buffer, CAPACITY), s.staging.mode == YPI_STAGING_NONE);
    cr_expect_null(arrays[1].buffer, "an array that is not there");
    cr_expect_eq(arrays[0].data, arrays[0].buffer);
    cr_expect_eq(arrays[0].bytes, 0);
    arrays[0].bytes = bytes_of(index);
    if (s.staging.mode == YPI_STAGING_NONE)
        return yp_device_copy(s.device, arrays[0].buffer, s.data[index], bytes_of(index));
    if (manner == FILLS) {
        memcpy(arrays[0].buffer, s.data[index], bytes_of(index));
    } else if (manner == POINTS) {
        arrays[0].data = s.data[index];
    } else {
        memcpy(s.one, s.data[index], CAPACITY);
        arrays[0].data = s.one;
    }
    return YP_OK;
}

static enum yp_status use(void *arg, size_t index, const struct ypi_staged *arrays)
{
    struct job job = {arrays[0].data, arrays[0].bytes, s.hash};
    (void)arg;
    cr_expect_eq(index, s.used++);
    cr_expect_eq(job.bytes, bytes_of(index));
    if (s.fail_use > 0 && index == s.fail_use)
        return yp_set_error(YP_DEVICE_FAULT, "no more kernels");
    cr_expect(job.bytes == 0 || emulated_has(job.data, job.bytes));
    emulated_call(0, hash_kernel, &job, sizeof job);
    s.stop = s.stop_at > 0 && index == s.stop_at;
    return YP_OK;
}

static const size_t sizes[ARRAYS] = {CAPACITY, 0};

static void open_staging(enum ypi_staging_mode mode)
{
    cr_assert_eq(ypi_staging_open(&s.staging, s.device, mode, sizes, ARRAYS), YP_OK, "%s",
                 yp_last_error());
    for (size_t i = 0; i < ypi_staging_slots(mode); i++)
        s.staging.on_device[i][0] = yp_device_alloc(s.device, CAPACITY);
}

static void close_staging(void)
{
    for (size_t i = 0; i < YPI_STAGING_SLOTS; i++)
        yp_device_free(s.device, s.staging.on_device[i][0]);
    ypi_staging_close(&s.staging);
}

static enum yp_status run(void)
{
    s.used = 0;
    s.stop = false;
    enum yp_status status = ypi_staging_begin(&s.staging);
    const struct ypi_staging_run all = {ITEMS, produce, use, &s, &s.stop};
    return status == YP_OK ? ypi_staging_run(&s.staging, &all) : status;
}

static void expect_hash(size_t items, int runs, const char *where)
{
    uint64_t right = 0, got = 1;
    for (int r = 0; r < runs; r++)
        for (size_t i = 0; i < items; i++)
            right = hashed(right, s.data[i], bytes_of(i));
    cr_assert_eq(yp_device_copy(s.device, &got, s.hash, sizeof got), YP_OK);
    cr_expect_eq(got, right, "%s", where);
    right = 0;
    cr_assert_eq(yp_device_copy(s.device, s.hash, &right, sizeof right), YP_OK);
}

static void expect_no_copies(void)
{
    for (int i = 1; i < EMULATED_STREAMS; i++)
        cr_expect_eq(emulated.streams[i].done, emulated.streams[i].given, "copies go on");
}

static void set_up(void)
{
    const uint64_t none = 0;
    s.device = emulated_device();
    s.hash = yp_device_alloc(s.device, sizeof none);
    cr_assert_eq(yp_device_copy(s.device, s.hash, &none, sizeof none), YP_OK);
    for (size_t i = 0; i < sizeof s.data; i++)
        s.data[i / CAPACITY][i % CAPACITY] = (uint8_t)(i * 31 + i / 256 + 1);
}

static void expect_nothing_left(void)
{
    struct yp_memory now;
    yp_device_memory(s.device, &now);
    cr_expect_eq(now.allocated, 0);
    cr_expect_eq(emulated.pinned, 0);
    cr_expect_eq(emulated.events, 0);
    for (int i = 1; i < EMULATED_STREAMS; i++)
        cr_expect_not(emulated.streams[i].open);
}

TestSuite(staging, .init = set_up, .timeout = 60);

Test(staging, each_item_is_used_as_it_was_produced)
{
    for (int order = EMULATED_AT_ONCE; order < EMULATED_ORDERS; order++)
        for (int mode = YPI_STAGING_NONE; mode <= YPI_STAGING_SEQUENTIAL; mode++)
            for (int manner = FILLS; manner < MANNERS; manner++) {
                char where[64];
                snprintf(where, sizeof where, "order %d, mode %d, manner %d", order, mode, manner);
                emulated.order = (enum emulated_order)order;
                s.manner = (enum manner)manner;
                open_staging((enum ypi_staging_mode)mode);
                cr_assert_eq(run(), YP_OK, "%s: %s", where, yp_last_error());
                cr_assert_eq(run(), YP_OK, "%s: %s", where, yp_last_error());
                emulated_run(0, emulated.streams[0].given);
                expect_no_copies(); /* they would be found beside a measurement */
                expect_hash(ITEMS, 2, where);
                close_staging();
            }
    yp_device_free(s.device, s.hash);
    expect_nothing_left();
}

Test(staging, producers_data_may_go_when_the_run_returns)
{
    static uint8_t before[ITEMS][CAPACITY];
    emulated.order = EMULATED_LATE;
    s.manner = POINTS;
    open_staging(YPI_STAGING_OVERLAPPED);
    cr_assert_eq(run(), YP_OK);
    memcpy(before, s.data, sizeof before);
    memset(s.data, 0, sizeof s.data);
    emulated_run_all();
    memcpy(s.data, before, sizeof before);
    expect_hash(ITEMS, 1, "data that changed");
    close_staging();
}

/* Work that is measured begins when what is before it ends; so do the copies that belong to it. */
Test(staging, copies_begin_with_the_run)
{
    struct job before = {s.data[0], 0, s.hash};
    emulated.order = EMULATED_EARLY;
    open_staging(YPI_STAGING_OVERLAPPED);
    emulated_call(0, hash_kernel, &before, sizeof before);
    size_t given = emulated.streams[0].given;
    cr_assert_eq(ypi_staging_begin(&s.staging), YP_OK);
    cr_expect_eq(emulated.streams[1].done, 0);
    s.stop_at = 1;
    const struct ypi_staging_run all = {ITEMS, produce, use, &s, &s.stop};
    cr_assert_eq(ypi_staging_run(&s.staging, &all), YP_OK);
    cr_expect_eq(emulated.streams[1].done, 0, "copied before the work before it");
    emulated_run(0, given);
    emulated_call(0, hash_kernel, &before, sizeof before); /* whatever may be done now is */
    cr_expect_gt(emulated.streams[1].done, 0, "copied as soon as it may");
    emulated_run_all();
    close_staging();
}

Test(staging, a_run_ends_where_it_is_stopped)
{
    for (int mode = YPI_STAGING_NONE; mode <= YPI_STAGING_SEQUENTIAL; mode++) {
        open_staging((enum ypi_staging_mode)mode);
        s.stop_at = 2;
        cr_assert_eq(run(), YP_OK);
        cr_expect_eq(s.used, 3);
        expect_hash(3, 1, "stopped");
        close_staging();
    }
}

Test(staging, what_fails_ends_the_run_and_no_copy_goes_on)
{
    for (int order = EMULATED_LATE; order <= EMULATED_EARLY; order++)
        for (size_t at = 1; at < 2 * ITEMS; at++) {
            char wanted[64];
            bool kernel = at >= ITEMS;
            if (at == ITEMS)
                continue;
            emulated.order = (enum emulated_order)order;
            s.manner = POINTS;
            s.fail_produce = kernel ? 0 : at;
            s.fail_use = kernel ? at - ITEMS : 0;
            snprintf(wanted, sizeof wanted, kernel ? "no more kernels" : "item %zu cannot be read",
                     at);
            open_staging(YPI_STAGING_OVERLAPPED);
            cr_expect_eq(run(), kernel ? YP_DEVICE_FAULT : YP_IO);
            cr_expect_str_eq(yp_last_error(), wanted);
            expect_no_copies();
            const uint64_t none = 0;
            cr_assert_eq(yp_device_copy(s.device, s.hash, &none, sizeof none), YP_OK);
            s.fail_produce = s.fail_use = 0;
            cr_expect_eq(run(), YP_OK);
            expect_hash(ITEMS, 1, "the run after it");
            close_staging();
        }
}

Test(staging, memory_is_what_was_predicted_and_a_refusal_leaves_nothing)
{
    const size_t bytes[] = {1000, 0, 64, 1};
    for (int mode = YPI_STAGING_NONE; mode <= YPI_STAGING_SEQUENTIAL; mode++) {
        size_t slots =
            mode == YPI_STAGING_NONE ? 0 : ypi_staging_slots((enum ypi_staging_mode)mode);
        size_t pinned = ypi_staging_pinned_bytes((enum ypi_staging_mode)mode, bytes, 4);
        cr_expect_eq(pinned, slots * (1024 + 64 + 64));
        cr_assert_eq(ypi_staging_open(&s.staging, s.device, (enum ypi_staging_mode)mode, bytes, 4),
                     YP_OK);
        cr_expect_eq(emulated.pinned, pinned);
        cr_expect_eq(emulated.streams[1].open, mode == YPI_STAGING_OVERLAPPED);
        ypi_staging_close(&s.staging);
        cr_expect_eq(emulated.pinned, 0);
    }
    yp_device_free(s.device, s.hash);
    yp_device_fail_allocation(yp_device_cpu(), 1);
    cr_expect_eq(ypi_staging_open(&s.staging, s.device, YPI_STAGING_OVERLAPPED, bytes, 4),
                 YP_OUT_OF_MEMORY);
    yp_device_fail_allocation(yp_device_cpu(), 0);
    expect_nothing_left();
    ypi_staging_close(&(struct ypi_staging){0});
}
