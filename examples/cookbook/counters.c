/* What an iteration did, beside how long it took: a hash table that is filled anew each time. */
#include <yieldpoint/yieldpoint.h>

#include <stdint.h>
#include <string.h>
#include <time.h>

enum { SLOTS = 4096, KEYS = 2048 };

/* Linear probing. Returns how many slots were taken before the free one. */
static size_t insert(uint32_t *table, uint32_t key)
{
    size_t collisions = 0;
    uint32_t slot = key * 2654435761U % SLOTS;
    for (; table[slot] != 0; slot = (slot + 1) % SLOTS)
        collisions++;
    table[slot] = key;
    return collisions;
}

static size_t fill(uint32_t *table, uint32_t *key)
{
    size_t collisions = 0;
    for (int i = 0; i < KEYS; i++) {
        *key = *key * 1664525U + 1013904223U;
        collisions += insert(table, *key | 1);
    }
    return collisions;
}

YP_TEST(table, collisions, .tags = "perf small",
        .budgets = YP_BUDGETS(yp_max_value("collisions", KEYS), yp_max_cpu_time("fill", 50e-6)))
{
    uint32_t *table = yp_alloc(t, SLOTS * sizeof *table), key = 1;
    yp_measure (t, "fill", .items = KEYS, .unit = "keys") {
        yp_pause(t)
        {
            memset(table, 0, SLOTS * sizeof *table);
        }
        size_t collisions = fill(table, &key);
        yp_average(t, "collisions", (double)collisions);
        yp_rate(t, "probes per second", (double)(KEYS + collisions));
    }
}

static double thread_seconds(void)
{
    struct timespec at;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

YP_TEST(table, own_clock, .tags = "perf small")
{
    uint32_t *table = yp_alloc(t, SLOTS * sizeof *table), key = 1;
    yp_measure (t, "fill", .items = KEYS, .unit = "keys", .manual_time = true) {
        memset(table, 0, SLOTS * sizeof *table);
        double begin = thread_seconds();
        fill(table, &key);
        yp_iteration_time(t, thread_seconds() - begin);
        yp_keep(table);
    }
}
