/* models/data/loader.h: options and calls that are refused, memory, threads and their processors.
 * Linked with --wrap=pthread_create, so that the system can run out of threads.
 * suites/stress/formulas/tiles.c has what is taken. */
#include "models/data/loader.h"
#include "tests/unit/status.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

static atomic_int threads_left = INT32_MAX;

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*routine)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*routine)(void *), void *arg);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*routine)(void *), void *arg)
{
    if (atomic_fetch_sub(&threads_left, 1) <= 0)
        return EAGAIN;
    return __real_pthread_create(thread, attributes, routine, arg);
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* -- a source of items: the processors of the threads that made them ------------------------- */

enum { ITEMS = 150, ELEMENTS = 7, BYTES = 12 };

struct places {
    int bound[ITEMS]; /* the only processor of that item's maker; -1: there are more */
    atomic_int begun;
    int wait_for; /* items that begin before one ends */
    size_t floods;
};

static enum yp_status fill(void *arg, size_t index, void *data, uint8_t *labels, size_t *count)
{
    (void)data, (void)labels;
    struct places *p = arg;
    cpu_set_t cpus;
    cr_assert_eq(sched_getaffinity(0, sizeof cpus, &cpus), 0);
    p->bound[index] = -1;
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&cpus) == 1; cpu++)
        if (CPU_ISSET((size_t)cpu, &cpus))
            p->bound[index] = cpu;
    atomic_fetch_add(&p->begun, 1);
    for (int i = 0; i < 20000 && atomic_load(&p->begun) < p->wait_for; i++)
        nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    *count = index == p->floods ? ELEMENTS + 1 : ELEMENTS;
    return YP_OK;
}

static struct data_loader_options options_of(struct places *p, int workers, size_t depth,
                                             size_t consumers)
{
    *p = (struct places){.floods = ITEMS};
    return (struct data_loader_options){.items = ITEMS,
                                        .elements = ELEMENTS,
                                        .element_bytes = BYTES,
                                        .workers = workers,
                                        .depth = depth,
                                        .consumers = consumers,
                                        .fill = fill,
                                        .arg = p};
}

static struct data_loader *opened(const struct data_loader_options *o)
{
    struct data_loader *loader = data_loader_create(yp_device_cpu(), o);
    cr_assert_not_null(loader, "%s", yp_last_error());
    return loader;
}

/* -- what is refused ------------------------------------------------------------------------- */

Test(loader, refuses_what_is_not_allowed)
{
    for (int workers = 0; workers < 2; workers++) {
        struct places p;
        struct data_loader_options o = options_of(&p, workers, 2, 1);
        struct data_loader *loader = opened(&o);
        struct data_item item, other, wrong;
        FAILS(data_loader_take(loader, ITEMS, &item), YP_INVALID, "0 to 149");
        FAILS(data_loader_take(NULL, 0, &item), YP_INVALID, "loader is NULL");
        FAILS(data_loader_take(loader, 0, NULL), YP_INVALID, "item is NULL");
        FAILS(data_loader_rewind(NULL), YP_INVALID, "loader is NULL");
        FAILS(data_loader_give_back(loader, NULL), YP_INVALID, "item is NULL");
        FAILS(data_loader_give_back(NULL, &item), YP_INVALID, "loader is NULL");
        cr_assert_eq(data_loader_take(loader, 0, &item), YP_OK);
        FAILS(data_loader_take(loader, 1, &other), YP_INVALID, "consumers, 1");
        FAILS(data_loader_rewind(loader), YP_INVALID, "1 items are held");
        wrong = item, wrong.data = (char *)wrong.data + 4;
        FAILS(data_loader_give_back(loader, &wrong), YP_INVALID, "must be one that was taken");
        wrong = item, wrong.index = 1;
        FAILS(data_loader_give_back(loader, &wrong), YP_INVALID, "must be one that was taken");
        wrong = item;
        cr_expect_eq(data_loader_give_back(loader, &item), YP_OK);
        FAILS(data_loader_give_back(loader, &item), YP_INVALID, "must be one that was taken");
        FAILS(data_loader_give_back(loader, &wrong), YP_INVALID, "must be one that was taken");
        FAILS(data_loader_take(loader, 0, &item), YP_INVALID, "taken in this pass already");
        p.floods = 20;
        FAILS(data_loader_take(loader, 20, &item), YP_INVALID,
              "item 20 8 elements: must be 0 to 7");
        cr_expect_eq(data_loader_take(loader, 1, &item), YP_OK, "a refusal holds nothing");
        data_loader_destroy(loader);
    }
    data_loader_destroy(NULL);
}

static void expect_wrong(const struct data_loader_options *o, const char *words)
{
    cr_expect_eq(data_loader_bytes(o), 0, "%s", words);
    cr_expect_not_null(strstr(yp_last_error(), words), "'%s'", yp_last_error());
    cr_expect_null(data_loader_create(yp_device_cpu(), o));
}

Test(loader, names_the_option_that_is_wrong)
{
    static const int bad_cpus[] = {0, -1}, absent[] = {4095};
    struct places p;
    const struct data_loader_options good = options_of(&p, 1, 2, 1);
    struct data_loader_options o = good;
#define WRONG(change, words) (o = good, change, expect_wrong(&o, words))
    WRONG(o.fill = NULL, ".fill is NULL");
    WRONG(o.items = 0, ".items is 0");
    WRONG(o.items = SIZE_MAX, ".items is");
    WRONG(o.elements = 0, ".elements is 0");
    WRONG(o.elements = (size_t)UINT32_MAX + 1, ".elements is");
    WRONG(o.element_bytes = 0, ".element_bytes is 0");
    WRONG(o.workers = -1, ".workers is -1");
    WRONG(o.workers = DATA_LOADER_WORKERS + 1, ".workers is 1025");
    WRONG(o.depth = 0, ".depth is 0");
    WRONG(o.depth = 4097, ".depth is 4097");
    WRONG(o.consumers = 0, ".consumers is 0");
    WRONG(o.cpus = bad_cpus, "cpu_count is 0");
    WRONG(o.cpu_count = 2, "cpus is NULL");
    WRONG((o.cpus = bad_cpus, o.cpu_count = 2), "cpus[1] is -1");
    WRONG((o.elements = UINT32_MAX, o.element_bytes = (size_t)1 << 32), "must fit a size_t");
    cr_expect_eq(data_loader_bytes(NULL), 0);
    cr_expect_null(data_loader_create(NULL, &good));
    o = good, o.cpus = absent, o.cpu_count = 1;
    cr_expect_null(data_loader_create(yp_device_cpu(), &o));
    cr_expect_not_null(strstr(yp_last_error(), "cpus[0] is 4095"), "%s", yp_last_error());
    cr_expect_eq(memory().allocated, 0);
}

/* -- memory ----------------------------------------------------------------------------------- */

Test(loader, takes_one_block_of_the_size_that_was_told)
{
    for (int workers = 0; workers < 3; workers++)
        for (int labels = 0; labels < 2; labels++) {
            struct places p;
            struct data_loader_options o = options_of(&p, workers, 9, 2);
            o.labels = labels != 0;
            struct yp_memory before = memory();
            struct data_loader *loader = opened(&o);
            cr_expect_eq(memory().allocated, data_loader_bytes(&o));
            cr_expect_eq(memory().allocations - before.allocations, 1);
            size_t slots = (workers > 0 ? 9U : 0U) + 2;
            size_t data = slots * (128 + (labels != 0 ? 64 : 0)); /* of 7 x 12 bytes, 7 labels */
            cr_expect(data_loader_bytes(&o) >= data &&
                          data_loader_bytes(&o) <= data + slots * 1024 + 1024,
                      "%zu bytes", data_loader_bytes(&o));
            data_loader_destroy(loader);
            yp_device_fail_allocation(yp_device_cpu(), 1);
            cr_expect_null(data_loader_create(yp_device_cpu(), &o));
            cr_expect_not_null(strstr(yp_last_error(), "out of memory"));
            cr_expect_eq(memory().allocated, 0);
        }
}

/* -- threads ---------------------------------------------------------------------------------- */

Test(loader, works_with_fewer_threads_than_asked_for, .timeout = 60)
{
    for (int there = 0; there < 3; there++) {
        struct places p;
        struct data_loader_options o = options_of(&p, 4, 3, 1);
        atomic_store(&threads_left, there);
        struct data_loader *loader = opened(&o);
        atomic_store(&threads_left, INT32_MAX);
        cr_expect_eq(data_loader_workers(loader), there);
        for (size_t i = 0; i < ITEMS; i++) {
            struct data_item item;
            cr_assert_eq(data_loader_take(loader, i, &item), YP_OK);
            cr_assert_eq(data_loader_give_back(loader, &item), YP_OK);
        }
        data_loader_destroy(loader);
    }
}

/* Each worker stays in its first item until all have come. Returns how many are bound. */
static int places_of(struct places *p, int workers, const int *cpus, size_t cpu_count)
{
    struct data_loader_options o = options_of(p, workers, (size_t)workers, 1);
    struct data_loader_statistics seen;
    o.items = (size_t)workers;
    o.cpus = cpus;
    o.cpu_count = cpu_count;
    p->wait_for = workers;
    struct data_loader *loader = opened(&o);
    for (int i = 0; i < 20000 && atomic_load(&p->begun) < workers; i++)
        nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    cr_assert_eq(atomic_load(&p->begun), workers);
    data_loader_statistics(loader, &seen);
    data_loader_destroy(loader);
    return seen.bound;
}

Test(loader, workers_are_bound_to_processors, .timeout = 60)
{
    int cpus[CPU_SETSIZE], count = 0, known = 0;
    cpu_set_t allowed;
    struct places p;
    cr_assert_eq(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET((size_t)cpu, &allowed))
            cpus[count++] = cpu;
    int last = cpus[count - 1];
    cr_expect_eq(places_of(&p, 1, NULL, 0), 0, "a single worker");
    cr_expect(count == 1 || p.bound[0] == -1);
    cr_expect_eq(places_of(&p, 1, &last, 1), 1, "a list binds it too");
    cr_expect_eq(p.bound[0], last);
    cr_expect_eq(places_of(&p, 3, &last, 1), 3);
    cr_expect(p.bound[0] == last && p.bound[1] == last && p.bound[2] == last);
    cr_expect_eq(places_of(&p, 4, NULL, 0), count > 1 ? 4 : 0);
    for (int k = 0; k < count && count > 1; k++) {
        int here = 0;
        for (int i = 0; i < 4; i++)
            here += p.bound[i] == cpus[k];
        cr_expect_leq(here, (4 + count - 1) / count, "%d workers on processor %d", here, cpus[k]);
        known += here;
    }
    cr_expect_eq(known, count > 1 ? 4 : 0, "a worker is outside of the process's processors");
}
