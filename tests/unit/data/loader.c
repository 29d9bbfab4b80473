/* models/data/loader.h: each tile once and the same for any workers, bounds, order, failures,
 * binding. Linked with --wrap=pthread_create, so that the system can run out of threads. */
#include "models/data/loader.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NONE SIZE_MAX

/* -- threads that are not to be had ---------------------------------------------------------- */

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

/* -- a source of tiles ----------------------------------------------------------------------- */

enum { TILES = 150, PIXELS = 7, CHANNELS = 3 };

struct source {
    size_t tiles;
    unsigned epoch;
    bool labels;
    bool naps;            /* tiles take different times */
    size_t fails, floods; /* index of a tile that fails, that has too many pixels; NONE */
    atomic_bool shut;     /* tile 0 is not finished */
    atomic_size_t alive, max_alive;
    atomic_size_t begun, finished;
    _Atomic uint8_t times[TILES]; /* how often each was made */
};

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void nap(long microseconds)
{
    nanosleep(&(struct timespec){.tv_nsec = microseconds * 1000}, NULL);
}

static void raise_to(atomic_size_t *max, size_t now)
{
    size_t seen = atomic_load(max);
    while (now > seen && !atomic_compare_exchange_weak(max, &seen, now)) {
    }
}

static size_t pixels_of(size_t index)
{
    return index % 5 == 4 ? index % PIXELS : PIXELS; /* some are short, some are empty */
}

static enum yp_status fill(void *arg, size_t index, void *data, uint8_t *labels, size_t *pixels)
{
    struct source *s = arg;
    float *values = data;
    raise_to(&s->max_alive, atomic_fetch_add(&s->alive, 1) + 1);
    atomic_fetch_add(&s->begun, 1);
    atomic_fetch_add(&s->times[index], 1);
    while (index == 0 && atomic_load(&s->shut))
        nap(200);
    if (s->naps)
        nap((long)(mix(index + s->epoch) % 200));
    size_t count = pixels_of(index);
    for (size_t i = 0; i < count * CHANNELS; i++)
        values[i] = (float)(mix((index + 1) * 1000 + i + 77 * (uint64_t)s->epoch) >> 40);
    cr_expect_eq(labels != NULL, s->labels);
    for (size_t i = 0; i < count && labels != NULL; i++)
        labels[i] = (uint8_t)mix(index * 100 + i);
    *pixels = index == s->floods ? PIXELS + 1 : count;
    atomic_fetch_add(&s->finished, 1);
    if (index != s->fails && index != s->floods)
        return YP_OK;
    atomic_fetch_sub(&s->alive, 1);
    return index == s->floods ? YP_OK : yp_set_error(YP_IO, "tile %zu is torn", index);
}

static struct source source_make(void)
{
    return (struct source){.tiles = TILES, .fails = NONE, .floods = NONE};
}

static struct data_loader_options options_of(struct source *s, int workers, size_t depth,
                                             size_t consumers)
{
    return (struct data_loader_options){.items = s->tiles,
                                        .elements = PIXELS,
                                        .element_bytes = CHANNELS * sizeof(float),
                                        .workers = workers,
                                        .depth = depth,
                                        .consumers = consumers,
                                        .labels = s->labels,
                                        .fill = fill,
                                        .arg = s};
}

static struct data_loader *open_loader(struct source *s, int workers, size_t depth,
                                       size_t consumers)
{
    struct data_loader_options o = options_of(s, workers, depth, consumers);
    struct data_loader *loader = data_loader_create(yp_device_cpu(), &o);
    cr_assert_not_null(loader, "%s", yp_last_error());
    return loader;
}

static uint64_t hash_of(const struct data_item *tile)
{
    uint64_t sum = mix(tile->index + 1) + tile->count;
    for (size_t i = 0; i < tile->count * CHANNELS; i++)
        sum += mix(tile->index * 100000 + i) * (uint64_t)((const float *)tile->data)[i];
    for (size_t i = 0; i < tile->count && tile->labels != NULL; i++)
        sum += mix(tile->index * 300000 + i) * tile->labels[i];
    return sum;
}

/* What a pass must give, from the callback alone. */
static uint64_t expected(struct source *s)
{
    float values[PIXELS * CHANNELS];
    uint8_t labels[PIXELS];
    uint64_t sum = 0;
    bool naps = s->naps;
    s->naps = false;
    for (size_t i = 0; i < s->tiles; i++) {
        struct data_item tile = {i, 0, values, s->labels ? labels : NULL};
        cr_assert_eq(fill(s, i, values, tile.labels, &tile.count), YP_OK);
        sum += hash_of(&tile);
        atomic_store(&s->times[i], 0);
    }
    s->naps = naps;
    atomic_store(&s->begun, 0);
    atomic_store(&s->finished, 0);
    atomic_store(&s->alive, 0);
    atomic_store(&s->max_alive, 0);
    return sum;
}

/* -- consumers ------------------------------------------------------------------------------- */

enum order { UP, DOWN, SHUFFLED, PARTS, ORDERS };

struct consumption {
    struct data_loader *loader;
    struct source *source;
    const size_t *order;
    size_t consumers;
    bool parts; /* each has a stretch of the order, else whoever is free takes the next */
    atomic_size_t next, number;
    _Atomic uint64_t sum;
    atomic_int failed;
};

static void consume_one(struct consumption *c, size_t index)
{
    struct data_item tile;
    enum yp_status status = data_loader_take(c->loader, index, &tile);
    if (status != YP_OK) {
        atomic_fetch_add(&c->failed, 1);
        return;
    }
    cr_expect_eq(tile.index, index);
    cr_expect_eq(tile.count, pixels_of(index));
    uint64_t hash = hash_of(&tile);
    if (c->source->naps)
        nap((long)(mix(index) % 100));
    cr_expect_eq(hash_of(&tile), hash, "a tile changed while it was held");
    memset(tile.data, 0xa5, tile.count * CHANNELS * sizeof(float));
    atomic_fetch_add(&c->sum, hash);
    atomic_fetch_sub(&c->source->alive, 1);
    cr_expect_eq(data_loader_give_back(c->loader, &tile), YP_OK);
    cr_expect_null(tile.data);
}

static void *consume(void *arg)
{
    struct consumption *c = arg;
    size_t tiles = c->source->tiles;
    size_t number = atomic_fetch_add(&c->number, 1);
    size_t i = number * tiles / c->consumers;
    size_t end = (number + 1) * tiles / c->consumers;
    while (c->parts ? i < end : (i = atomic_fetch_add(&c->next, 1)) < tiles) {
        consume_one(c, c->order[i]);
        i++;
    }
    return NULL;
}

static void make_order(enum order kind, size_t count, size_t *order)
{
    for (size_t i = 0; i < count; i++)
        order[i] = kind == DOWN ? count - 1 - i : i;
    for (size_t i = count; kind == SHUFFLED && i > 1; i--) {
        size_t k = mix(i) % i;
        size_t kept = order[i - 1];
        order[i - 1] = order[k];
        order[k] = kept;
    }
}

/* One pass by so many threads; returns the sum of hashes. */
static uint64_t pass(struct data_loader *loader, struct source *s, size_t consumers,
                     enum order kind)
{
    size_t order[TILES];
    pthread_t threads[16];
    make_order(kind, s->tiles, order);
    struct consumption c = {.loader = loader,
                            .source = s,
                            .order = order,
                            .consumers = consumers,
                            .parts = kind == PARTS};
    for (size_t i = 0; i < consumers; i++)
        cr_assert_eq(__real_pthread_create(&threads[i], NULL, consume, &c), 0);
    for (size_t i = 0; i < consumers; i++)
        pthread_join(threads[i], NULL);
    cr_expect_eq(atomic_load(&c.failed), 0);
    return atomic_load(&c.sum);
}

static void expect_once_each(struct source *s)
{
    for (size_t i = 0; i < s->tiles; i++) {
        cr_expect_eq(atomic_load(&s->times[i]), 1, "tile %zu was made %d times", i,
                     atomic_load(&s->times[i]));
        atomic_store(&s->times[i], 0);
    }
}

static uint64_t in_use(void)
{
    struct yp_memory memory;
    yp_device_memory(yp_device_cpu(), &memory);
    return memory.allocated;
}

/* Until `count` tiles are finished, or seconds have gone by. */
static bool wait_for(atomic_size_t *counter, size_t count)
{
    for (int i = 0; i < 20000 && atomic_load(counter) < count; i++)
        nap(500);
    return atomic_load(counter) >= count;
}

/* -- the same data, in bounds ---------------------------------------------------------------- */

static void check_passes(struct source *s, int workers, size_t depth, size_t consumers)
{
    struct data_loader *loader = open_loader(s, workers, depth, consumers);
    cr_expect_eq(data_loader_workers(loader), workers);
    size_t limit = (workers > 0 ? depth : 0) + consumers;
    for (int kind = 0; kind < ORDERS; kind++) {
        if (kind > 0) { /* all was taken, so nobody reads the epoch */
            s->epoch = (unsigned)kind;
            cr_assert_eq(data_loader_rewind(loader), YP_OK, "%s", yp_last_error());
        }
        struct source twin = source_make();
        twin.labels = s->labels;
        twin.epoch = s->epoch;
        cr_expect_eq(pass(loader, s, consumers, (enum order)kind), expected(&twin),
                     "%d workers, depth %zu, %zu consumers, order %d", workers, depth, consumers,
                     kind);
    }
    struct data_loader_statistics seen;
    data_loader_statistics(loader, &seen);
    cr_expect_eq(seen.ready + seen.waited + seen.helped, (uint64_t)ORDERS * TILES);
    cr_expect_leq(seen.max_items, limit);
    cr_expect_geq(seen.max_items, 1);
    if (workers == 0)
        cr_expect(seen.helped == (uint64_t)ORDERS * TILES && seen.made == 0);
    data_loader_destroy(loader);
}

Test(loader, same_data_for_any_workers_depth_consumers_and_order, .timeout = 120)
{
    static const size_t depths[] = {1, 3, 16};
    static const size_t consumers[] = {1, 2, 5};
    for (int naps = 0; naps < 2; naps++)
        for (int workers = 0; workers <= 4; workers++)
            for (size_t d = 0; d < (workers > 0 ? 3U : 1U); d++)
                for (size_t c = 0; c < 3; c++) {
                    struct source s = source_make();
                    s.labels = workers % 2 == 0;
                    s.naps = naps != 0 && c == 1;
                    check_passes(&s, workers, depths[d], consumers[c]);
                }
    cr_expect_eq(in_use(), 0);
}

Test(loader, each_tile_is_made_once_a_pass_within_its_bounds, .timeout = 60)
{
    for (int kind = 0; kind < ORDERS; kind++) {
        struct source s = source_make();
        s.naps = true;
        struct data_loader *loader = open_loader(&s, 3, 4, 2);
        pass(loader, &s, 2, (enum order)kind);
        expect_once_each(&s);
        cr_expect_eq(atomic_load(&s.alive), 0);
        cr_expect_leq(atomic_load(&s.max_alive), 4 + 2, "order %d: %zu tiles were alive", kind,
                      atomic_load(&s.max_alive));
        cr_expect_geq(atomic_load(&s.max_alive), 3);
        data_loader_destroy(loader);
    }
}

Test(loader, workers_go_ahead_and_stop_at_the_depth, .timeout = 60)
{
    struct source s = source_make();
    struct data_loader *loader = open_loader(&s, 2, 5, 1);
    cr_assert(wait_for(&s.finished, 5), "nothing is made ahead");
    nap(20000);
    cr_expect_eq(atomic_load(&s.begun), 5, "%zu tiles ahead", atomic_load(&s.begun));
    struct data_item tile;
    cr_assert_eq(data_loader_take(loader, 0, &tile), YP_OK);
    cr_assert(wait_for(&s.finished, 6));
    nap(20000);
    cr_expect_eq(atomic_load(&s.begun), 6);
    struct data_loader_statistics seen;
    data_loader_statistics(loader, &seen);
    cr_expect(seen.ready == 1 && seen.waited == 0 && seen.helped == 0);
    cr_expect_eq(seen.made, 6);
    cr_expect_eq(seen.max_items, 6);
    cr_expect_gt(seen.worker_waiting, 0.02, "%g", seen.worker_waiting);
    cr_expect_lt(seen.consumer_waiting, 0.02);
    data_loader_destroy(loader);
}

/* The window is full of tiles that nobody has taken: a tile beyond it is made by who asks. */
Test(loader, a_request_beyond_the_window_is_answered, .timeout = 60)
{
    struct source s = source_make();
    struct data_loader *loader = open_loader(&s, 2, 3, 2);
    cr_assert(wait_for(&s.finished, 3));
    nap(5000);
    struct data_item last;
    struct data_item middle;
    cr_assert_eq(data_loader_take(loader, TILES - 1, &last), YP_OK);
    cr_assert_eq(data_loader_take(loader, TILES / 2, &middle), YP_OK);
    struct data_loader_statistics seen;
    data_loader_statistics(loader, &seen);
    cr_expect_eq(seen.helped, 2);
    cr_expect_eq(seen.max_items, 5);
    cr_expect_eq(data_loader_give_back(loader, &middle), YP_OK);
    /* The workers go on behind what was asked for last. */
    cr_assert_eq(data_loader_take(loader, 1, &middle), YP_OK);
    cr_assert(wait_for(&s.finished, 6));
    cr_expect_eq(atomic_load(&s.times[3]), 1);
    data_loader_destroy(loader);
}

Test(loader, workers_follow_the_requests, .timeout = 60)
{
    struct source s = source_make();
    atomic_store(&s.shut, true);
    struct data_loader *loader = open_loader(&s, 1, 2, 1);
    cr_assert(wait_for(&s.begun, 1)); /* the worker is busy with tile 0 */
    struct data_item tile;
    cr_assert_eq(data_loader_take(loader, TILES - 2, &tile), YP_OK);
    cr_assert_eq(data_loader_give_back(loader, &tile), YP_OK);
    atomic_store(&s.shut, false);
    cr_assert(wait_for(&s.finished, 3));
    cr_expect_eq(atomic_load(&s.times[TILES - 1]), 1, "it goes on where it was asked last");
    /* There is nothing behind the last one: from the beginning. */
    cr_assert_eq(data_loader_take(loader, TILES - 1, &tile), YP_OK);
    cr_assert_eq(data_loader_give_back(loader, &tile), YP_OK);
    cr_assert(wait_for(&s.finished, 4));
    cr_expect_eq(atomic_load(&s.times[1]), 1);
    data_loader_destroy(loader);
}

static void *take_zero(void *arg)
{
    struct data_item tile;
    cr_expect_eq(data_loader_take(arg, 0, &tile), YP_OK);
    cr_expect_eq(data_loader_give_back(arg, &tile), YP_OK);
    return NULL;
}

Test(loader, waits_only_for_a_tile_in_the_making, .timeout = 60)
{
    struct source s = source_make();
    atomic_store(&s.shut, true);
    struct data_loader *loader = open_loader(&s, 1, 2, 2);
    cr_assert(wait_for(&s.begun, 1));
    pthread_t thread;
    cr_assert_eq(__real_pthread_create(&thread, NULL, take_zero, loader), 0);
    nap(30000);
    atomic_store(&s.shut, false);
    pthread_join(thread, NULL);
    struct data_loader_statistics seen;
    data_loader_statistics(loader, &seen);
    cr_expect(seen.waited == 1 && seen.ready == 0 && seen.helped == 0);
    cr_expect_gt(seen.consumer_waiting, 0.005, "%g", seen.consumer_waiting);
    data_loader_destroy(loader);
}

/* -- the end of a pass, and before it ---------------------------------------------------------- */

Test(loader, rewinds_anywhere_and_drops_what_was_ahead, .timeout = 60)
{
    struct source s = source_make();
    s.naps = true;
    struct data_loader *loader = open_loader(&s, 3, 8, 2);
    for (unsigned round = 0; round < 30; round++) {
        struct data_item tile;
        for (size_t i = 0; i < round % 7; i++) {
            cr_assert_eq(data_loader_take(loader, i * 3, &tile), YP_OK);
            if (i == 0)
                cr_expect_eq(data_loader_rewind(loader), YP_INVALID);
            cr_assert_eq(data_loader_give_back(loader, &tile), YP_OK);
        }
        cr_assert_eq(data_loader_rewind(loader), YP_OK);
    }
    struct source twin = source_make();
    cr_expect_eq(pass(loader, &s, 2, UP), expected(&twin));
    data_loader_destroy(loader);
}

Test(loader, closes_while_workers_are_busy_and_tiles_are_held, .timeout = 60)
{
    for (int round = 0; round < 60; round++) {
        struct source s = source_make();
        s.naps = true;
        struct data_loader *loader = open_loader(&s, 1 + round % 4, 1 + (size_t)round % 5, 2);
        struct data_item tile;
        if (round % 3 == 0)
            cr_assert_eq(data_loader_take(loader, 2, &tile), YP_OK);
        if (round % 2 == 0)
            nap(round * 10);
        data_loader_destroy(loader);
        cr_expect_eq(atomic_load(&s.begun), atomic_load(&s.finished));
        cr_expect_eq(in_use(), 0);
    }
}

/* -- failures --------------------------------------------------------------------------------- */

static void check_failure(int workers, size_t index, bool floods, bool ahead)
{
    struct source s = source_make();
    s.fails = floods ? NONE : index;
    s.floods = floods ? index : NONE;
    struct data_loader *loader = open_loader(&s, workers, 4, 1);
    if (ahead)
        cr_assert(wait_for(&s.finished, 4));
    for (size_t i = 0; i < TILES; i++) {
        struct data_item tile;
        yp_set_error(YP_OK, "stale");
        enum yp_status status = data_loader_take(loader, i, &tile);
        if (i != index) {
            cr_assert_eq(status, YP_OK);
            cr_assert_eq(data_loader_give_back(loader, &tile), YP_OK);
            continue;
        }
        cr_expect_eq(status, floods ? YP_INVALID : YP_IO);
        cr_expect_not_null(strstr(yp_last_error(), floods ? "8 elements" : "is torn"), "%s",
                           yp_last_error());
        cr_expect_null(tile.data);
        cr_expect_eq(data_loader_take(loader, i, &tile), YP_INVALID, "it counts as taken");
    }
    s.fails = s.floods = NONE;
    cr_assert_eq(data_loader_rewind(loader), YP_OK, "%s", yp_last_error());
    struct source twin = source_make();
    cr_expect_eq(pass(loader, &s, 1, UP), expected(&twin));
    data_loader_destroy(loader);
}

Test(loader, a_failure_comes_to_who_takes_that_tile, .timeout = 60)
{
    for (int floods = 0; floods < 2; floods++) {
        check_failure(0, 3, floods != 0, false);
        check_failure(2, 3, floods != 0, true);
        check_failure(2, 100, floods != 0, false);
        check_failure(1, 0, floods != 0, true);
        check_failure(3, TILES - 1, floods != 0, false);
    }
}

Test(loader, refuses_what_is_not_allowed)
{
    struct source s = source_make();
    struct data_item tile;
    struct data_item other;
    for (int workers = 0; workers < 2; workers++) {
        struct data_loader *loader = open_loader(&s, workers, 2, 1);
        cr_expect_eq(data_loader_take(loader, TILES, &tile), YP_INVALID);
        cr_expect_not_null(strstr(yp_last_error(), "0 to 149"), "%s", yp_last_error());
        cr_expect_eq(data_loader_take(NULL, 0, &tile), YP_INVALID);
        cr_expect_eq(data_loader_take(loader, 0, NULL), YP_INVALID);
        cr_expect_eq(data_loader_rewind(NULL), YP_INVALID);
        cr_expect_eq(data_loader_give_back(loader, NULL), YP_INVALID);
        cr_expect_eq(data_loader_give_back(NULL, &tile), YP_INVALID);
        cr_assert_eq(data_loader_take(loader, 0, &tile), YP_OK);
        cr_expect_eq(data_loader_take(loader, 1, &other), YP_INVALID);
        cr_expect_not_null(strstr(yp_last_error(), "consumers, 1"), "%s", yp_last_error());
        struct data_item copy = tile;
        struct data_item wrong = tile;
        wrong.data = (char *)wrong.data + 4;
        cr_expect_eq(data_loader_give_back(loader, &wrong), YP_INVALID);
        wrong = tile;
        wrong.index = 1;
        cr_expect_eq(data_loader_give_back(loader, &wrong), YP_INVALID);
        cr_expect_eq(data_loader_give_back(loader, &tile), YP_OK);
        cr_expect_eq(data_loader_give_back(loader, &tile), YP_INVALID);
        cr_expect_eq(data_loader_give_back(loader, &copy), YP_INVALID);
        cr_expect_eq(data_loader_take(loader, 0, &tile), YP_INVALID);
        cr_expect_not_null(strstr(yp_last_error(), "taken in this pass already"), "%s",
                           yp_last_error());
        cr_assert_eq(data_loader_take(loader, 1, &tile), YP_OK, "a refusal holds nothing");
        cr_expect_eq(data_loader_give_back(loader, &tile), YP_OK);
        data_loader_destroy(loader);
    }
    data_loader_destroy(NULL);
}

static void expect_refused(struct data_loader_options o, const char *word)
{
    uint64_t before = in_use();
    yp_set_error(YP_OK, "stale");
    cr_expect_eq(data_loader_bytes(&o), 0, "%s", word);
    cr_expect_not_null(strstr(yp_last_error(), word), "'%s' lacks '%s'", yp_last_error(), word);
    cr_expect_null(data_loader_create(yp_device_cpu(), &o));
    cr_expect_eq(in_use(), before);
}

Test(loader, names_the_option_that_is_wrong)
{
    struct source s = source_make();
    const struct data_loader_options good = options_of(&s, 1, 2, 1);
    static const int bad_cpus[] = {0, -1};
    struct data_loader_options o;
    cr_expect_eq(data_loader_bytes(NULL), 0);
    cr_expect_null(data_loader_create(NULL, &good));
    expect_refused((o = good, o.fill = NULL, o), ".fill is NULL");
    expect_refused((o = good, o.items = 0, o), ".items is 0");
    expect_refused((o = good, o.items = SIZE_MAX, o), ".items is");
    expect_refused((o = good, o.elements = 0, o), ".elements is 0");
    expect_refused((o = good, o.elements = (size_t)UINT32_MAX + 1, o), ".elements is");
    expect_refused((o = good, o.element_bytes = 0, o), ".element_bytes is 0");
    expect_refused((o = good, o.workers = -1, o), ".workers is -1");
    expect_refused((o = good, o.workers = DATA_LOADER_WORKERS + 1, o), ".workers is 1025");
    expect_refused((o = good, o.depth = 0, o), ".depth is 0");
    expect_refused((o = good, o.depth = 4097, o), ".depth is 4097");
    expect_refused((o = good, o.consumers = 0, o), ".consumers is 0");
    expect_refused((o = good, o.cpus = bad_cpus, o), "cpu_count is 0");
    expect_refused((o = good, o.cpu_count = 2, o), "cpus is NULL");
    expect_refused((o = good, o.cpus = bad_cpus, o.cpu_count = 2, o), "cpus[1] is -1");
    expect_refused((o = good, o.elements = UINT32_MAX, o.element_bytes = (size_t)1 << 32, o),
                   "must fit a size_t");
}

Test(loader, takes_one_block_of_the_size_that_was_told)
{
    struct source s = source_make();
    for (int workers = 0; workers < 3; workers++)
        for (int labels = 0; labels < 2; labels++) {
            s.labels = labels != 0;
            struct yp_memory before;
            struct yp_memory after;
            yp_device_memory(yp_device_cpu(), &before);
            struct data_loader_options o = options_of(&s, workers, 9, 2);
            size_t bytes = data_loader_bytes(&o);
            struct data_loader *loader = data_loader_create(yp_device_cpu(), &o);
            yp_device_memory(yp_device_cpu(), &after);
            cr_expect_eq(after.allocated - before.allocated, bytes);
            cr_expect_eq(after.allocations - before.allocations, 1);
            size_t slots = (workers > 0 ? 9U : 0U) + 2;
            size_t data = slots * (128 + (s.labels ? 64 : 0)); /* of 7 x 3 floats, 7 labels */
            cr_expect(bytes >= data && bytes <= data + slots * 1024 + 1024, "%zu bytes", bytes);
            pass(loader, &s, 2, UP);
            data_loader_destroy(loader);
            yp_device_memory(yp_device_cpu(), &after);
            cr_expect_eq(after.allocated, before.allocated);
            cr_expect_eq(after.allocations - before.allocations, 1);
        }
}

Test(loader, has_room_for_no_tile_more)
{
    struct source s = source_make();
    for (int workers = 0; workers < 2; workers++) {
        struct data_loader_options o = options_of(&s, workers, 5, 3);
        o.elements = 100000;
        double tiles = (double)data_loader_bytes(&o) / (100000.0 * CHANNELS * sizeof(float));
        cr_expect(tiles >= (workers > 0 ? 8 : 3) && tiles < (workers > 0 ? 8.1 : 3.1), "%g", tiles);
    }
}

Test(loader, out_of_memory_is_an_answer)
{
    struct source s = source_make();
    struct data_loader_options o = options_of(&s, 2, 4, 1);
    yp_device_fail_allocation(yp_device_cpu(), 1);
    cr_expect_null(data_loader_create(yp_device_cpu(), &o));
    cr_expect_not_null(strstr(yp_last_error(), "out of memory"));
    yp_device_set_limit(yp_device_cpu(), data_loader_bytes(&o) - 1);
    cr_expect_null(data_loader_create(yp_device_cpu(), &o));
    yp_device_set_limit(yp_device_cpu(), data_loader_bytes(&o));
    data_loader_destroy(open_loader(&s, 2, 4, 1));
    yp_device_set_limit(yp_device_cpu(), 0);
    cr_expect_eq(in_use(), 0);
}

Test(loader, works_with_fewer_threads_than_asked_for, .timeout = 60)
{
    struct source twin = source_make();
    uint64_t sum = expected(&twin);
    for (int there = 0; there < 3; there++) {
        struct source s = source_make();
        atomic_store(&threads_left, there);
        struct data_loader *loader = open_loader(&s, 4, 3, 2);
        atomic_store(&threads_left, INT32_MAX);
        cr_expect_eq(data_loader_workers(loader), there);
        cr_expect_eq(pass(loader, &s, 2, PARTS), sum);
        struct data_loader_statistics seen;
        data_loader_statistics(loader, &seen);
        cr_expect_eq(seen.made + seen.helped, TILES);
        if (there == 0)
            cr_expect_eq(seen.made, 0);
        data_loader_destroy(loader);
    }
    cr_expect_eq(in_use(), 0);
}

/* -- where workers run ------------------------------------------------------------------------ */

struct places {
    pthread_mutex_t lock;
    pid_t threads[8];
    int bound[8]; /* the only processor it may use; -1: there are more */
    int count;
    atomic_size_t begun;
    size_t workers;
};

/* Each worker stays in its first tile until all have come. */
static enum yp_status note_place(void *arg, size_t index, void *data, uint8_t *labels,
                                 size_t *pixels)
{
    (void)index, (void)data, (void)labels, (void)pixels;
    struct places *p = arg;
    cpu_set_t cpus;
    cr_expect_eq(sched_getaffinity(0, sizeof cpus, &cpus), 0);
    pthread_mutex_lock(&p->lock);
    int at = p->count < 8 ? p->count++ : 7;
    p->bound[at] = -1;
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&cpus) == 1; cpu++)
        if (CPU_ISSET((size_t)cpu, &cpus))
            p->bound[at] = cpu;
    pthread_mutex_unlock(&p->lock);
    atomic_fetch_add(&p->begun, 1);
    cr_expect(wait_for(&p->begun, p->workers));
    return YP_OK;
}

static struct places places_of(int workers, const int *cpus, size_t cpu_count)
{
    struct places p = {.lock = PTHREAD_MUTEX_INITIALIZER, .workers = (size_t)workers};
    struct data_loader_options o = {.items = (size_t)workers,
                                    .elements = 1,
                                    .element_bytes = sizeof(float),
                                    .workers = workers,
                                    .depth = (size_t)workers,
                                    .consumers = 1,
                                    .cpus = cpus,
                                    .cpu_count = cpu_count,
                                    .fill = note_place,
                                    .arg = &p};
    struct data_loader *loader = data_loader_create(yp_device_cpu(), &o);
    cr_assert_not_null(loader, "%s", yp_last_error());
    cr_assert(wait_for(&p.begun, (size_t)workers));
    struct data_loader_statistics seen;
    data_loader_statistics(loader, &seen);
    data_loader_destroy(loader);
    p.count = seen.bound;
    return p;
}

static int allowed(int *out)
{
    cpu_set_t cpus;
    int count = 0;
    cr_assert_eq(sched_getaffinity(0, sizeof cpus, &cpus), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET((size_t)cpu, &cpus))
            out[count++] = cpu;
    return count;
}

Test(loader, a_single_worker_is_not_bound, .timeout = 60)
{
    int cpus[CPU_SETSIZE];
    int count = allowed(cpus);
    struct places p = places_of(1, NULL, 0);
    cr_expect_eq(p.count, 0);
    if (count > 1)
        cr_expect_eq(p.bound[0], -1);
}

Test(loader, workers_are_bound_to_the_processors_of_the_list, .timeout = 60)
{
    int cpus[CPU_SETSIZE];
    int count = allowed(cpus);
    int last = cpus[count - 1];
    struct places p = places_of(3, &last, 1);
    cr_expect_eq(p.count, 3);
    for (int i = 0; i < 3; i++)
        cr_expect_eq(p.bound[i], last);
    p = places_of(1, &last, 1);
    cr_expect_eq(p.bound[0], last, "a list binds a single worker too");
}

Test(loader, several_workers_share_the_processors_of_the_process_evenly, .timeout = 60)
{
    int cpus[CPU_SETSIZE];
    int count = allowed(cpus);
    struct places p = places_of(4, NULL, 0);
    cr_expect_eq(p.count, count > 1 ? 4 : 0);
    int known = 0;
    for (int k = 0; k < count && count > 1; k++) {
        int here = 0;
        for (int i = 0; i < 4; i++)
            here += p.bound[i] == cpus[k];
        cr_expect_leq(here, (4 + count - 1) / count, "%d workers on processor %d", here, cpus[k]);
        known += here;
    }
    cr_expect_eq(known, count > 1 ? 4 : 0, "a worker is outside of the process's processors");
}

Test(loader, refuses_a_processor_that_is_not_there, .timeout = 60)
{
    struct source s = source_make();
    struct data_loader_options o = options_of(&s, 2, 2, 1);
    int cpus[CPU_SETSIZE];
    allowed(cpus);
    cpus[1] = 4095;
    o.cpus = cpus;
    o.cpu_count = 2;
    cr_expect_null(data_loader_create(yp_device_cpu(), &o));
    cr_expect_not_null(strstr(yp_last_error(), "cpus[1] is 4095"), "%s", yp_last_error());
    cr_expect_eq(in_use(), 0);
}
