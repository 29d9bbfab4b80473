/* Passes over tiles: made ahead by a loader, taken in any order and again, and those that fail. */
#include "suites/loaded_tiles.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { CHANNELS = 10, TILE = 700, DEPTH = 3, PASSES = 3 };

static const struct scale scale = {.cubes = 5, .height = 64, .width = 64, .channels = CHANNELS};

/* Whatever workers make ahead, in every pass over it: the bits of tiles that are made when they are
 * asked for, labels too. */
YP_TEST(tiles, loaded, .tags = "stress small", .timeout = 120,
        .axes = YP_AXES(yp_axis_int("workers", 1, 3)))
{
    struct scene_tiles tiles;
    struct loaded_tiles loaded;
    double right[CHANNELS * CHANNELS], got[CHANNELS * CHANNELS];
    scene_tiles_open(&tiles, t, &scale, TILE);
    struct rx *rx = open_rx(t, CHANNELS, TILE, 2);
    yp_ok(t, rx_fit(rx, &tiles.source));
    yp_ok(t, rx_covariance(rx, right));
    loaded_tiles_open(&loaded, t, &tiles, (int)yp_int(t, "workers"), DEPTH);
    for (int pass = 0; pass < 2 * PASSES; pass++) {
        if (pass == PASSES) { /* in memory that another one has left, in the midst of a pass */
            struct rx_tile taken = {0};
            yp_ok(t, loaded.source.yield(loaded.source.arg, 0, NULL, NULL, &taken));
            loaded_tiles_close(&loaded);
            loaded_tiles_open(&loaded, t, &tiles, (int)yp_int(t, "workers"), DEPTH);
        }
        rx_reset(rx);
        yp_ok(t, rx_fit(rx, &loaded.source));
        yp_ok(t, rx_covariance(rx, got));
        yp_expect(t, memcmp(got, right, sizeof got) == 0, "pass %d has another covariance", pass);
        loaded_tiles_rewind(&loaded);
    }
    float *values = yp_alloc_host(t, TILE * CHANNELS * sizeof *values);
    uint8_t *labels = yp_alloc_host(t, TILE);
    for (size_t i = 0; i < tiles.source.tiles; i++) {
        struct rx_tile made = {.values = values, .labels = labels}, taken = {0};
        yp_ok(t, tiles.source.yield(tiles.source.arg, i, values, labels, &made));
        yp_ok(t, loaded.source.yield(loaded.source.arg, i, NULL, NULL, &taken));
        yp_require(t,
                   taken.pixels == made.pixels &&
                       memcmp(taken.values, values, made.pixels * CHANNELS * sizeof *values) == 0 &&
                       memcmp(taken.labels, labels, made.pixels) == 0,
                   "tile %zu is another one", i);
    }
    yp_data_hash(t, scene_tiles_hash(&tiles, t));
    rx_destroy(rx);
    loaded_tiles_close(&loaded);
    scene_tiles_close(&tiles);
}

struct failing {
    struct rx_source source;
    size_t at;
};

static enum yp_status yield_or_fail(void *arg, size_t index, float *values, uint8_t *labels,
                                    struct rx_tile *tile)
{
    const struct failing *f = arg;
    if (index >= f->at)
        return yp_set_error(YP_IO, "tile %zu cannot be read", index);
    return f->source.yield(f->source.arg, index, values, labels, tile);
}

/* The first tile that cannot be had ends a pass and is named; what was added up before is not taken
 * for a whole. */
YP_TEST(tiles, failing, .tags = "stress small", .timeout = 120,
        .axes = YP_AXES(yp_axis_int("threads", 1, 2)), .devices = "cpu cuda")
{
    struct scene_tiles tiles;
    double right[CHANNELS * CHANNELS], got[CHANNELS * CHANNELS];
    scene_tiles_open(&tiles, t, &scale, TILE);
    struct rx *rx = open_rx(t, CHANNELS, TILE, (int)yp_int(t, "threads"));
    yp_ok(t, rx_fit(rx, &tiles.source));
    yp_ok(t, rx_covariance(rx, right));
    for (size_t at = 0; at < tiles.source.tiles; at += 7) {
        struct failing f = {tiles.source, at};
        struct rx_source source = tiles.source;
        char message[64];
        source.yield = yield_or_fail;
        source.arg = &f;
        rx_reset(rx);
        enum yp_status status = rx_fit(rx, &source);
        snprintf(message, sizeof message, "tile %zu cannot be read", at);
        yp_expect(t, status == YP_IO && strstr(yp_last_error(), message) != NULL,
                  "tile %zu fails: status %d, %s", at, (int)status, yp_last_error());
        yp_expect(t, at == 0 || rx_finish(rx, RX_EPS) == YP_INVALID, "half a fit is finished");
    }
    rx_reset(rx);
    yp_ok(t, rx_fit(rx, &tiles.source));
    yp_ok(t, rx_covariance(rx, got));
    yp_expect(t, memcmp(got, right, sizeof got) == 0, "what failed is left in the covariance");
    if (runs_on_gpu(t)) { /* the statistics are as they were */
        struct failing f = {tiles.source, 3};
        struct rx_source source = tiles.source;
        source.yield = yield_or_fail;
        source.arg = &f;
        yp_ok(t, rx_finish(rx, RX_EPS));
        double before = rx_score_error(rx);
        yp_expect(t, rx_fit(rx, &source) == YP_IO, "a tile that fails");
        yp_ok(t, rx_finish(rx, RX_EPS));
        yp_expect(t, rx_score_error(rx) == before, "what failed is left in the factor");
    }
    rx_destroy(rx);
    scene_tiles_close(&tiles);
}

/* -- the loader by itself ------------------------------------------------------------------- */

enum { ITEMS = 150, NUMBERS = 21, CONSUMERS = 2 };

struct maker {
    size_t fails;            /* ITEMS: none */
    atomic_bool shut;        /* item 0 is not finished */
    atomic_int times[ITEMS]; /* that each was made */
};

static void sleep_for(long microseconds)
{
    nanosleep(&(struct timespec){.tv_nsec = microseconds * 1000}, NULL);
}

static size_t count_of(size_t index)
{
    return index % 5 == 4 ? 0 : NUMBERS - index % 3;
}

static enum yp_status make(void *arg, size_t index, void *data, uint8_t *labels, size_t *count)
{
    struct maker *m = arg;
    atomic_fetch_add(&m->times[index], 1);
    *count = count_of(index);
    for (size_t i = 0; i < *count; i++) {
        ((float *)data)[i] = (float)(index * NUMBERS + i);
        labels[i] = (uint8_t)(index + i);
    }
    do
        sleep_for((long)(index * 7 % 4 * 20));
    while (index == 0 && atomic_load(&m->shut));
    return index == m->fails ? yp_set_error(YP_IO, "item %zu is torn", index) : YP_OK;
}

/* Whether item `index` is what was made, or the failure that it came to. */
static bool take_right(struct data_loader *loader, const struct maker *m, size_t index)
{
    struct data_item item;
    enum yp_status status = data_loader_take(loader, index, &item);
    if (index == m->fails)
        return status == YP_IO && strstr(yp_last_error(), "is torn") != NULL && item.data == NULL;
    bool right = status == YP_OK && item.index == index && item.count == count_of(index);
    for (size_t i = 0; right && i < item.count; i++)
        right = ((float *)item.data)[i] == (float)(index * NUMBERS + i) &&
                item.labels[i] == (uint8_t)(index + i);
    if (right)
        memset(item.data, 0xa5, item.count * sizeof(float)); /* the taker may */
    return data_loader_give_back(loader, &item) == YP_OK && right;
}

static bool wait_until_made(struct data_loader *loader, uint64_t count)
{
    struct data_loader_statistics seen = {0};
    for (int i = 0; i < 10000 && seen.made < count; i++) {
        sleep_for(500);
        data_loader_statistics(loader, &seen);
    }
    sleep_for(2000); /* more would be made by now */
    data_loader_statistics(loader, &seen);
    return seen.made == count;
}

/* Workers fill their depth and no more, and go on behind the item that was asked for last. */
static void check_ahead(struct yp_case *t, struct data_loader *loader, struct maker *m,
                        size_t depth)
{
    for (int i = 0; i < 10000 && atomic_load(&m->times[0]) == 0; i++)
        sleep_for(500);
    yp_expect(t, take_right(loader, m, ITEMS - 2), "an item that no worker has begun");
    atomic_store(&m->shut, false);
    yp_expect(t, wait_until_made(loader, depth), "workers are not %zu items ahead", depth);
    if (depth > 1 && data_loader_workers(loader) == 1)
        yp_expect(t, atomic_load(&m->times[ITEMS - 1]) == 1, "it is not behind the last request");
    yp_expect(t, take_right(loader, m, 0) && wait_until_made(loader, depth + 1),
              "an item that was made ahead makes no room");
}

/* Items are taken once a pass, by two threads, upwards, downwards and mixed; one fails in the first
 * pass, and a rewind drops the rest of one. */
YP_TEST(tiles, taken, .tags = "stress small", .timeout = 120,
        .axes = YP_AXES(yp_axis_int("workers", 0, 1, 4), yp_axis_int("depth", 1, 3, 16)))
{
    static const size_t steps[] = {1, ITEMS - 1, 77}; /* through the items, modulo their number */
    struct maker m = {.fails = ITEMS, .shut = yp_int(t, "workers") > 0};
    size_t depth = (size_t)yp_int(t, "depth"), wrong = 0;
    struct data_loader_options options = {.items = ITEMS,
                                          .elements = NUMBERS,
                                          .element_bytes = sizeof(float),
                                          .workers = (int)yp_int(t, "workers"),
                                          .depth = depth,
                                          .consumers = CONSUMERS,
                                          .labels = true,
                                          .fill = make,
                                          .arg = &m};
    struct data_loader *loader = data_loader_create(yp_device_cpu(), &options);
    yp_got(t, loader);
    if (options.workers > 0)
        check_ahead(t, loader, &m, depth);
    for (size_t round = 0; round < 30; round++) { /* while workers make items */
        yp_ok(t, data_loader_rewind(loader));
        for (size_t i = 0; i < (round < 29 ? round % 7 : ITEMS); i++)
            wrong += !take_right(loader, &m, i);
    }
    yp_ok(t, data_loader_rewind(loader));
    data_loader_destroy(loader);
    for (int order = 0; order < 3; order++) {
        struct data_loader_statistics seen;
        memset(&m, 0, sizeof m);
        m.fails = order == 0 ? 3 : ITEMS;
        yp_got(t, loader = data_loader_create(yp_device_cpu(), &options));
        for (int pass = 0; pass < 2; pass++) {
#pragma omp parallel for num_threads(CONSUMERS) reduction(+ : wrong)
            for (size_t i = 0; i < ITEMS; i++)
                wrong += !take_right(loader, &m, (i * steps[order] + (order > 0)) % ITEMS);
            for (size_t i = 0; i < ITEMS; i++)
                wrong += atomic_exchange(&m.times[i], 0) != 1;
            m.fails = ITEMS;
            yp_ok(t, data_loader_rewind(loader));
        }
        data_loader_statistics(loader, &seen);
        yp_expect(t, wrong == 0, "order %d: %zu items are wrong or were not made once", order,
                  wrong);
        yp_expect(t,
                  seen.ready + seen.waited + seen.helped == 2 * ITEMS &&
                      seen.max_items <= (options.workers > 0 ? depth : 0) + CONSUMERS,
                  "order %d: %llu takes, %zu items at once", order,
                  (unsigned long long)(seen.ready + seen.waited + seen.helped), seen.max_items);
        data_loader_destroy(loader);
    }
}
