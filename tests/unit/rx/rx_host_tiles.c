/* Tiles of the host's on a GPU, without one: whenever copies and kernels are done that no wait
 * holds back, the results have the bits of tiles that were there. */
#include "tests/unit/rx/rx_gpu.h"

#include <math.h>
#include <stdio.h>

enum { CHANNELS = 12, TILE = 700, TILES = 7, LAST = 123, EMPTY = 3 };
enum { PIXELS = TILES * TILE, PARAMETERS = CHANNELS * (CHANNELS + 1) + 2 };

/* How a yielder of the host hands over its data. */
enum manner {
    FILLS,   /* into the buffer */
    POINTS,  /* to all of the data */
    STRIDES, /* to data with other channels between */
    REUSES,  /* one piece of memory for one tile after the other */
    NAMES,   /* into the buffer, but for labels, of which it has one piece of memory */
    MIXES,   /* now this, now that */
    MANNERS
};

struct scene {
    enum manner manner;
    float *values, *wide; /* (PIXELS, CHANNELS); with 5 more channels a pixel */
    uint8_t *labels;
    float *one; /* of REUSES */
    uint8_t *one_labels;
    float *there; /* the GPU's, of tiles that are there */
    uint8_t *labels_there;
    size_t fail_at; /* tile; 0: none */
    size_t copied;  /* work of the first own stream that was done when tile 1 was asked for */
};

static struct scene s;

static void *block(size_t count, size_t size)
{
    void *p = calloc(count, size);
    cr_assert_not_null(p);
    return p;
}

static void scene_open(void)
{
    uint64_t state = 7;
    s.values = block((size_t)PIXELS * CHANNELS, sizeof *s.values);
    s.wide = block((size_t)PIXELS * (CHANNELS + 5), sizeof *s.wide);
    s.labels = block(PIXELS, 1);
    s.one = block((size_t)TILE * CHANNELS, sizeof *s.one);
    s.one_labels = block(TILE, 1);
    for (size_t i = 0; i < (size_t)PIXELS * CHANNELS; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        s.values[i] = (float)(state >> 40) * 0x1p-24F + (float)(i % CHANNELS) * 3;
        s.wide[i / CHANNELS * (CHANNELS + 5) + i % CHANNELS] = s.values[i];
    }
    for (size_t i = 0; i < PIXELS; i++)
        s.labels[i] = i % 11 == 0;
    s.values[5 * CHANNELS] = s.wide[5 * (CHANNELS + 5)] = NAN;
}

static void scene_close(void)
{
    free(s.values);
    free(s.wide);
    free(s.labels);
    free(s.one);
    free(s.one_labels);
}

TestSuite(host_tiles, .init = scene_open, .fini = scene_close, .timeout = 120);

static size_t pixels_of(size_t index)
{
    return index == EMPTY ? 0 : index == TILES - 1 ? LAST : TILE;
}

static void fill(size_t index, float *values, uint8_t *labels)
{
    memcpy(values, s.values + index * TILE * CHANNELS,
           pixels_of(index) * CHANNELS * sizeof *values);
    if (labels != NULL)
        memcpy(labels, s.labels + index * TILE, pixels_of(index));
}

static enum yp_status yield(void *arg, size_t index, float *values, uint8_t *labels,
                            struct rx_tile *tile)
{
    (void)arg;
    enum manner manner = s.manner == MIXES ? (enum manner)(index * 3 % MIXES) : s.manner;
    if (s.fail_at > 0 && index == s.fail_at)
        return yp_set_error(YP_IO, "tile %zu cannot be read", index);
    cr_expect_not(emulated_has(values, 4), "the buffer is the host's");
    if (index == 1)
        s.copied = emulated.streams[1].done;
    tile->pixels = pixels_of(index);
    switch (manner) {
    case FILLS:
        fill(index, values, labels);
        return YP_OK;
    case NAMES:
        memset(s.one_labels, 1, TILE);
        fill(index, values, s.one_labels);
        tile->labels = s.one_labels;
        return YP_OK;
    case POINTS:
        tile->values = s.values + index * TILE * CHANNELS;
        break;
    case STRIDES:
        tile->values = s.wide + index * TILE * (CHANNELS + 5);
        tile->stride = CHANNELS + 5;
        break;
    default:
        memset(s.one, 0x7f, (size_t)TILE * CHANNELS * sizeof *s.one);
        memset(s.one_labels, 1, TILE);
        fill(index, s.one, s.one_labels);
        tile->values = s.one;
        tile->labels = s.one_labels;
        return YP_OK;
    }
    tile->labels = s.labels + index * TILE;
    return YP_OK;
}

static enum yp_status yield_there(void *arg, size_t index, float *values, uint8_t *labels,
                                  struct rx_tile *tile)
{
    (void)arg;
    (void)values;
    (void)labels;
    tile->values = s.there + index * TILE * CHANNELS;
    tile->labels = s.labels_there + index * TILE;
    tile->pixels = pixels_of(index);
    return YP_OK;
}

static struct rx_source source_of(rx_yield *by)
{
    return (struct rx_source){CHANNELS, TILE, TILES, by, NULL};
}

/* -- results ------------------------------------------------------------------------------------
 */

struct results {
    double covariance[CHANNELS * CHANNELS], mean;
    float scores[PIXELS], gradient[PARAMETERS];
};

static void *sent(struct yp_device *gpu, const void *from, size_t bytes)
{
    void *to = yp_device_alloc(gpu, bytes);
    cr_assert_not_null(to);
    cr_assert_eq(yp_device_copy(gpu, to, from, bytes), YP_OK);
    return to;
}

/* Work that no wait of the default stream is for: it would be found beside a measurement. */
static void expect_joined(void)
{
    emulated_run(0, emulated.streams[0].given);
    for (int i = 1; i < EMULATED_STREAMS; i++)
        cr_expect_eq(emulated.streams[i].done, emulated.streams[i].given, "stream %d goes on", i);
}

static void detect(struct yp_device *gpu, enum rx_tiles tiles, const struct rx_source *source,
                   struct results *r)
{
    const struct rx_options options = {.tiles = tiles};
    struct rx *rx = rx_create_with(gpu, CHANNELS, TILE, 0, &options);
    cr_assert_not_null(rx, "%s", yp_last_error());
    cr_assert_eq(rx_fit(rx, source), YP_OK, "%s", yp_last_error());
    cr_assert_eq(rx_fit(rx, source), YP_OK, "%s", yp_last_error());
    cr_assert_eq(rx_covariance(rx, r->covariance), YP_OK);
    cr_assert_eq(rx_finish(rx, 0), YP_OK, "%s", yp_last_error());
    float *scores = yp_device_alloc(gpu, sizeof r->scores);
    cr_assert_eq(rx_score(rx, source, scores), YP_OK, "%s", yp_last_error());
    expect_joined();
    cr_assert_eq(yp_device_copy(gpu, r->scores, scores, sizeof r->scores), YP_OK);
    yp_device_free(gpu, scores);
    rx_destroy(rx);
}

static void differentiate(struct yp_device *gpu, enum rx_tiles tiles,
                          const struct rx_source *source, struct results *r)
{
    float start[PARAMETERS] = {0};
    for (int i = 0; i < CHANNELS; i++)
        start[i] = (float)(3 * i) + 0.5F, start[CHANNELS + i * CHANNELS + i] = 12;
    start[PARAMETERS - 2] = 0.1F;
    start[PARAMETERS - 1] = CHANNELS;
    const struct rx_options options = {.tiles = tiles};
    struct rx_loss *loss = rx_loss_create_with(gpu, CHANNELS, TILE, 0, &options);
    cr_assert_not_null(loss, "%s", yp_last_error());
    float *parameters = sent(gpu, start, sizeof start), *to = sent(gpu, start, sizeof start);
    for (int again = 0; again < 2; again++)
        cr_assert_eq(rx_loss_gradient(loss, source, parameters, &r->mean, to), YP_OK, "%s",
                     yp_last_error());
    expect_joined();
    cr_assert_eq(yp_device_copy(gpu, r->gradient, to, sizeof r->gradient), YP_OK);
    yp_device_free(gpu, parameters);
    yp_device_free(gpu, to);
    rx_loss_destroy(loss);
}

static void results_there(struct yp_device *gpu, struct results *r)
{
    struct rx_source source = source_of(yield_there);
    emulated.order = EMULATED_AT_ONCE;
    s.there = sent(gpu, s.values, (size_t)PIXELS * CHANNELS * sizeof *s.values);
    s.labels_there = sent(gpu, s.labels, PIXELS);
    detect(gpu, RX_TILES_RESIDENT, &source, r);
    differentiate(gpu, RX_TILES_RESIDENT, &source, r);
    yp_device_free(gpu, s.there);
    yp_device_free(gpu, s.labels_there);
}

static void expect_same(const struct results *a, const struct results *b, const char *where)
{
    cr_expect_eq(memcmp(a->covariance, b->covariance, sizeof a->covariance), 0, "%s: covariance",
                 where);
    cr_expect_eq(memcmp(&a->mean, &b->mean, sizeof a->mean), 0, "%s: loss", where);
    cr_expect_eq(memcmp(a->gradient, b->gradient, sizeof a->gradient), 0, "%s: gradient", where);
    for (size_t i = 0; i < PIXELS; i++)
        cr_assert(memcmp(&a->scores[i], &b->scores[i], sizeof(float)) == 0 ||
                      (isnan(a->scores[i]) && isnan(b->scores[i])),
                  "%s: score %zu", where, i);
}

Test(host_tiles, bits_are_those_of_tiles_that_are_there)
{
    static struct results right, got;
    struct yp_device *gpu = gpu_open();
    results_there(gpu, &right);
    for (int order = EMULATED_AT_ONCE; order < EMULATED_ORDERS; order++)
        for (int manner = FILLS; manner < MANNERS; manner++)
            for (int tiles = RX_TILES_OVERLAPPED; tiles <= RX_TILES_SEQUENTIAL; tiles++) {
                char where[64];
                struct rx_source source = source_of(yield);
                snprintf(where, sizeof where, "order %d, manner %d, tiles %d", order, manner,
                         tiles);
                memset(&got, 0, sizeof got);
                emulated.order = (int)order;
                s.manner = (enum manner)manner;
                detect(gpu, (enum rx_tiles)tiles, &source, &got);
                differentiate(gpu, (enum rx_tiles)tiles, &source, &got);
                expect_same(&right, &got, where);
            }
    cr_expect_eq(emulated.events, 0);
    cr_expect_eq(emulated.pinned, 0);
}

/* Nothing reads what the yielder had, once a call is over. */
Test(host_tiles, data_may_go_when_the_call_returns)
{
    static struct results right, got;
    struct yp_device *gpu = gpu_open();
    results_there(gpu, &right);
    emulated.order = EMULATED_LATE;
    s.manner = POINTS;
    const struct rx_options options = {.tiles = RX_TILES_OVERLAPPED};
    struct rx_source source = source_of(yield);
    struct rx *rx = rx_create_with(gpu, CHANNELS, TILE, 0, &options);
    cr_assert_eq(rx_fit(rx, &source), YP_OK);
    cr_assert_eq(rx_fit(rx, &source), YP_OK);
    cr_assert_eq(rx_finish(rx, 0), YP_OK);
    float *scores = yp_device_alloc(gpu, sizeof got.scores);
    cr_assert_eq(rx_score(rx, &source, scores), YP_OK);
    memset(s.values, 0, (size_t)PIXELS * CHANNELS * sizeof *s.values);
    cr_assert_eq(yp_device_copy(gpu, got.scores, scores, sizeof got.scores), YP_OK);
    for (size_t i = 0; i < PIXELS; i++)
        cr_assert(memcmp(&right.scores[i], &got.scores[i], sizeof(float)) == 0 ||
                      isnan(right.scores[i]),
                  "score %zu", i);
    yp_device_free(gpu, scores);
    rx_destroy(rx);
}

/* Work that is measured begins when what is before it ends; so do the copies that belong to it. */
Test(host_tiles, copies_begin_with_the_pass)
{
    struct yp_device *gpu = gpu_open();
    const struct rx_options options = {.tiles = RX_TILES_OVERLAPPED};
    struct rx_source source = source_of(yield), before = source_of(yield_there);
    struct rx *one = rx_create(gpu, CHANNELS, TILE, 0);
    struct rx *other = rx_create_with(gpu, CHANNELS, TILE, 0, &options);
    float *scores = yp_device_alloc(gpu, PIXELS * sizeof *scores);
    s.there = sent(gpu, s.values, (size_t)PIXELS * CHANNELS * sizeof *s.values);
    s.labels_there = sent(gpu, s.labels, PIXELS);
    cr_assert_eq(rx_fit(one, &before), YP_OK);
    cr_assert_eq(rx_finish(one, 0), YP_OK);
    cr_assert_eq(rx_fit(other, &source), YP_OK);
    cr_assert_eq(rx_finish(other, 0), YP_OK);
    emulated.order = EMULATED_EARLY;
    size_t done = emulated.streams[1].done;
    cr_assert_eq(rx_score(one, &before, scores), YP_OK);
    cr_expect_lt(emulated.streams[0].done, emulated.streams[0].given);
    cr_assert_eq(rx_score(other, &source, scores), YP_OK);
    cr_expect_eq(s.copied, done, "%zu pieces of work were done before the pass began",
                 s.copied - done);
    yp_device_free(gpu, scores);
    yp_device_free(gpu, s.there);
    yp_device_free(gpu, s.labels_there);
    rx_destroy(one);
    rx_destroy(other);
}

Test(host_tiles, a_tile_that_fails_ends_the_pass)
{
    static struct results right, got;
    struct yp_device *gpu = gpu_open();
    results_there(gpu, &right);
    for (int order = EMULATED_LATE; order <= EMULATED_EARLY; order++)
        for (size_t at = 1; at < 4; at++) {
            emulated.order = (int)order;
            s.manner = POINTS;
            const struct rx_options options = {.tiles = RX_TILES_OVERLAPPED};
            struct rx_source source = source_of(yield);
            struct rx *rx = rx_create_with(gpu, CHANNELS, TILE, 0, &options);
            struct rx_summary all;
            s.fail_at = at;
            cr_expect_eq(rx_fit(rx, &source), YP_IO);
            char wanted[64];
            snprintf(wanted, sizeof wanted, "tile %zu cannot be read", at);
            cr_expect_str_eq(yp_last_error(), wanted);
            for (int i = 1; i < EMULATED_STREAMS; i++)
                cr_expect_eq(emulated.streams[i].done, emulated.streams[i].given, "copies go on");
            rx_summary(rx, &all);
            cr_expect_eq(all.pixels, 0);
            s.fail_at = 0;
            cr_assert_eq(rx_fit(rx, &source), YP_OK);
            cr_assert_eq(rx_fit(rx, &source), YP_OK);
            cr_assert_eq(rx_covariance(rx, got.covariance), YP_OK);
            cr_expect_eq(memcmp(got.covariance, right.covariance, sizeof got.covariance), 0,
                         "tile %zu", at);
            rx_destroy(rx);
        }
}

static int kernels_left;

static enum yp_status failing_gram(struct yp_device *device, const struct rxc_gram *job)
{
    if (kernels_left-- == 0)
        return yp_set_error(YP_DEVICE_FAULT, "no more kernels");
    return gpu_table.gram(device, job);
}

/* A launch that fails leaves no copy behind that reads what is the yielder's. */
Test(host_tiles, a_kernel_that_fails_ends_the_pass)
{
    struct yp_device *gpu = gpu_open();
    static struct rx_cuda failing;
    failing = gpu_table;
    failing.gram = failing_gram;
    ypi_rx_set_cuda(&failing);
    emulated.order = EMULATED_LATE;
    s.manner = POINTS;
    const struct rx_options options = {.tiles = RX_TILES_OVERLAPPED};
    struct rx_source source = source_of(yield);
    struct rx *rx = rx_create_with(gpu, CHANNELS, TILE, 0, &options);
    for (int i = 0; i < 4; i++) {
        kernels_left = i;
        cr_expect_eq(rx_fit(rx, &source), YP_DEVICE_FAULT);
        cr_expect_str_eq(yp_last_error(), "no more kernels");
        cr_expect_eq(emulated.streams[1].done, emulated.streams[1].given, "copies go on");
    }
    rx_destroy(rx);
}

/* -- memory -------------------------------------------------------------------------------------
 */

Test(host_tiles, memory_is_what_was_predicted)
{
    struct yp_device *gpu = gpu_open();
    struct yp_memory before, after, host, host_after;
    for (size_t channels = 1; channels < 249; channels += 61)
        for (size_t tile = 1; tile < 300000; tile = tile * 17 + 5)
            for (int tiles = RX_TILES_RESIDENT; tiles <= RX_TILES_SEQUENTIAL; tiles++) {
                const struct rx_options options = {.tiles = (enum rx_tiles)tiles};
                size_t buffers = tiles == RX_TILES_OVERLAPPED ? 2 : tiles == RX_TILES_SEQUENTIAL;
                size_t bytes = (tile * channels * 4 + 63) / 64 * 64;
                size_t pinned = rx_pinned_bytes(channels, tile, &options);
                cr_expect_eq(pinned, buffers * bytes);
                yp_device_memory(gpu, &before);
                yp_device_memory(yp_device_cpu(), &host);
                struct rx *rx = rx_create_with(gpu, channels, tile, 0, &options);
                cr_assert_not_null(rx, "%s", yp_last_error());
                yp_device_memory(gpu, &after);
                yp_device_memory(yp_device_cpu(), &host_after);
                cr_expect_eq(after.allocated - before.allocated,
                             rx_device_bytes(channels, tile, &options));
                cr_expect_eq(rx_device_bytes(channels, tile, &options),
                             rx_device_bytes(channels, tile, NULL) + (buffers == 2 ? bytes : 0));
                cr_expect_eq(emulated.pinned, pinned);
                cr_expect_leq(host_after.allocated - host.allocated,
                              rx_bytes(channels, 512, 1) + pinned);
                cr_expect_geq(host_after.allocated - host.allocated, pinned);
                rx_destroy(rx);
                struct rx_loss *loss = rx_loss_create_with(gpu, channels, tile, 0, &options);
                cr_assert_not_null(loss, "%s", yp_last_error());
                yp_device_memory(gpu, &after);
                cr_expect_eq(after.allocated - before.allocated,
                             rx_loss_device_bytes(channels, tile, &options));
                cr_expect_eq(emulated.pinned, rx_loss_pinned_bytes(channels, tile, &options));
                rx_loss_destroy(loss);
                yp_device_memory(yp_device_cpu(), &host_after);
                cr_expect_eq(host_after.allocated, host.allocated);
            }
}

/* Each allocation refused once: an answer, and nothing is left. */
Test(host_tiles, out_of_memory_is_an_answer)
{
    struct yp_device *gpu = gpu_open(), *const devices[] = {gpu, yp_device_cpu()};
    const struct rx_options options = {.tiles = RX_TILES_OVERLAPPED};
    int refused = 0;
    for (int d = 0; d < 2; d++)
        for (uint64_t n = 1; n <= 2; n++) {
            struct yp_memory now;
            yp_device_fail_allocation(devices[d], n);
            struct rx *rx = rx_create_with(gpu, 10, 100, 0, &options);
            refused += rx == NULL;
            rx_destroy(rx);
            yp_device_fail_allocation(devices[d], n);
            struct rx_loss *loss = rx_loss_create_with(gpu, 10, 100, 0, &options);
            refused += loss == NULL;
            if (loss == NULL)
                cr_expect_not_null(strstr(yp_last_error(), "out of memory"));
            rx_loss_destroy(loss);
            yp_device_fail_allocation(devices[d], 0);
            for (int i = 0; i < 2; i++) {
                yp_device_memory(devices[i], &now);
                cr_expect_eq(now.allocated, 0);
            }
            cr_expect_eq(emulated.events, 0);
            for (int i = 1; i < EMULATED_STREAMS; i++)
                cr_expect_not(emulated.streams[i].open);
        }
    cr_expect_eq(refused, 6, "one of the device and two of the host, of each: %d", refused);
}

Test(host_tiles, what_is_not_allowed_is_said)
{
    struct yp_device *gpu = gpu_open(), *const devices[] = {gpu, yp_device_cpu()};
    const struct rx_options wrong = {.tiles = (enum rx_tiles)3};
    const struct rx_options precise = {.precision = RX_FP64};
    for (int i = 0; i < 2; i++) {
        cr_expect_null(rx_create_with(devices[i], 3, 10, 1, &wrong));
        cr_expect_str_eq(yp_last_error(), "rx_create: options->tiles is 3, allowed are 0 to 2");
        cr_expect_null(rx_loss_create_with(devices[i], 3, 10, 1, &wrong));
        cr_expect_null(rx_loss_create_with(devices[i], 3, 10, 1, &precise));
    }
    cr_expect_eq(rx_device_bytes(3, 10, &wrong), 0);
    cr_expect_eq(rx_pinned_bytes(3, 10, &wrong), 0);
    cr_expect_eq(rx_loss_device_bytes(3, 10, &wrong), 0);
    cr_expect_eq(rx_loss_pinned_bytes(3, 10, &wrong), 0);
    cr_expect_eq(rx_pinned_bytes(3, 10, NULL), 0);
}

/* The same source and options on the CPU, where they say nothing. */
Test(host_tiles, the_cpu_takes_the_same_source)
{
    static struct results one, other;
    struct rx_source source = source_of(yield);
    for (int tiles = RX_TILES_RESIDENT; tiles <= RX_TILES_OVERLAPPED; tiles++) {
        const struct rx_options options = {.tiles = (enum rx_tiles)tiles};
        struct rx *rx = rx_create_with(yp_device_cpu(), CHANNELS, TILE, 1, &options);
        cr_assert_not_null(rx);
        cr_assert_eq(rx_fit(rx, &source), YP_OK);
        cr_assert_eq(rx_covariance(rx, tiles == 0 ? one.covariance : other.covariance), YP_OK);
        rx_destroy(rx);
    }
    cr_expect_arr_eq(one.covariance, other.covariance, sizeof one.covariance);
}
