/*
 * The kernels of models/rx/cuda by real threads under ThreadSanitizer, which ends the program with
 * an exit code of its own when it has seen a race (rx_cuda_threads.py). With an argument: a kernel
 * that lacks a barrier, which it has to see.
 */
#include "models/rx/cuda/rx_cuda.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t state = 7;

static float some(void) /* about 1 */
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (float)(state >> 40) * 0x1p-24F + 0.5F;
}

static void *block_of(size_t count, size_t size)
{
    size_t bytes = (count * size + 63) / 64 * 64;
    void *p = aligned_alloc(64, bytes > 0 ? bytes : 64);
    if (p == NULL)
        abort();
    return memset(p, 0, bytes);
}

#define BLOCK(type_, count_) ((type_ *)block_of(count_, sizeof(type_)))

/* Values about 1, some of which are not finite. */
static float *pixels_of(size_t count)
{
    float *x = BLOCK(float, count);
    for (size_t i = 0; i < count; i++)
        x[i] = i % 997 >= 990 ? NAN : some();
    return x;
}

static float *values_of(size_t count)
{
    float *x = BLOCK(float, count);
    for (size_t i = 0; i < count; i++)
        x[i] = some();
    return x;
}

static uint8_t *bytes_of(size_t count, unsigned every)
{
    uint8_t *x = BLOCK(uint8_t, count);
    for (size_t i = 0; i < count; i++)
        x[i] = i % every != 0;
    return x;
}

/* -- the plugin, whose launches are run at once ------------------------------------------------ */

static const struct ypk_settings settings = {.garbage = 0x7e};
static const struct rx_cuda *kernels;

static void run(struct ypk_native_stream *stream, const struct ypk_work *given)
{
    static struct ypk_work work;
    (void)stream;
    work = *given;
    work.settings = &settings;
    ypk_run(&work);
}

static struct ypk_native_stream stream = {run};

static void *native_stream(struct yp_device *device)
{
    (void)device;
    return &stream;
}

static enum yp_status stop(enum yp_status status, const char *format, ...)
{
    fprintf(stderr, "%s\n", format);
    exit((int)status);
}

const struct yp_plugin *yp_plugin_open(const struct yp_plugin_host *given);

static void load(void)
{
    static struct yp_plugin_host host = {
        .abi = YP_PLUGIN_ABI, .set_error = stop, .stream = native_stream};
    kernels = yp_plugin_open(&host)->table;
}

/* Every thread reads what its neighbour has written, without a barrier. */
YPK_KERNEL(without_barrier, int, job, 256)
{
    YPK_SHARED_ARRAY(float, shared, 512);
    (void)job;
    YPK_EVERY (t)
        shared[t] = (float)t;
    YPK_EVERY (t)
        shared[256 + t] = shared[(t + 1) % 256];
}

/* -- jobs ----------------------------------------------------------------------------------- */

static void done(const char *what, unsigned c)
{
    printf("%s of %u channels\n", what, c);
    fflush(stdout);
}

/* Statistics of blocks, merged, to a factor; and weighted sums. */
static void run_statistics(unsigned c, size_t pixels)
{
    unsigned range = 300, blocks = rxc_ranges(pixels, range);
    size_t square = (size_t)c * c;
    struct rxc_gram gram = {.x = pixels_of(pixels * c),
                            .stride = c,
                            .pixels = pixels,
                            .channels = c,
                            .range = range,
                            .products = BLOCK(float, blocks *RXC_SQUARE *rxc_pairs(c)),
                            .mean = BLOCK(double, blocks *c),
                            .shift = BLOCK(double, blocks *c),
                            .low = BLOCK(float, blocks *c),
                            .high = BLOCK(float, blocks *c),
                            .kept = BLOCK(unsigned, blocks),
                            .skipped = BLOCK(unsigned, blocks)};
    struct rxc_merge merge = {.channels = c,
                              .blocks = blocks,
                              .products = gram.products,
                              .mean = gram.mean,
                              .shift = gram.shift,
                              .low = gram.low,
                              .high = gram.high,
                              .kept = gram.kept,
                              .skipped = gram.skipped,
                              .difference = BLOCK(double, blocks *c),
                              .weight = BLOCK(double, blocks),
                              .share = BLOCK(double, blocks),
                              .m2 = BLOCK(double, square),
                              .all_mean = BLOCK(double, c),
                              .all_low = BLOCK(float, c),
                              .all_high = BLOCK(float, c),
                              .counts = BLOCK(uint64_t, 2)};
    for (size_t p = 0; p < pixels && c > 3; p++) /* a first centre that misses */
        ((float *)(uintptr_t)gram.x)[p * c + 3] += p % 5 == 0 ? 1e4F : -1e4F;
    kernels->gram(NULL, &gram);
    kernels->merge(NULL, &merge);
    struct rxc_factor how = {.channels = c,
                             .count = (double)(merge.counts[0] - 1),
                             .ridge = 1e-3,
                             .keep = 1,
                             .least = 0x1p-20,
                             .m2 = merge.m2,
                             .mean = merge.all_mean,
                             .low = merge.all_low,
                             .high = merge.all_high,
                             .matrix = BLOCK(double, square),
                             .inverse = BLOCK(double, square),
                             .squares = BLOCK(double, c),
                             .centre = BLOCK(float, c),
                             .slices = BLOCK(float, rxc_slices(c)),
                             .offset = BLOCK(float, c + RXC_ROWS),
                             .failed = BLOCK(unsigned, 1)};
    kernels->factor(NULL, &how);
    gram.weights = values_of(pixels);
    gram.centre = values_of(c);
    merge.weighted = merge.fresh = true;
    kernels->gram(NULL, &gram);
    kernels->merge(NULL, &merge);
    if (*how.failed != 0) /* then half of the kernel has not run */
        abort();
    done("statistics, factor and weighted sums", c);
}

static void run_quadratic(unsigned c, size_t pixels)
{
    unsigned blocks = rxc_pixel_blocks(pixels);
    struct rxc_quadratic job = {.x = pixels_of(pixels * c),
                                .stride = c,
                                .pixels = pixels,
                                .places = pixels,
                                .channels = c,
                                .centre = values_of(c),
                                .slices = values_of(rxc_square_slices(c)),
                                .scores = BLOCK(float, pixels),
                                .labels = bytes_of(pixels, 3),
                                .target = 1,
                                .scalars = values_of(2),
                                .g = BLOCK(float, pixels),
                                .sums = BLOCK(double, 3 * blocks),
                                .kept = BLOCK(unsigned, blocks),
                                .keep = bytes_of(pixels, 5)};
    struct rxc_loss loss = {.channels = c,
                            .blocks = blocks,
                            .fresh = true,
                            .sums = job.sums,
                            .kept = job.kept,
                            .all = BLOCK(double, 4)};
    kernels->quadratic(NULL, &job);
    job.loss = true;
    kernels->quadratic(NULL, &job);
    job.products = BLOCK(float, pixels *c);
    kernels->quadratic(NULL, &job);
    kernels->add_loss(NULL, &loss);
    done("scores, loss and products", c);
}

static void run_rows(unsigned c, unsigned h, size_t pixels)
{
    unsigned blocks = rxc_pixel_blocks(pixels), range = 96, ranges = rxc_ranges(pixels, range);
    float *rows = BLOCK(float, pixels *c), *low = BLOCK(float, pixels *h);
    struct rxc_gather all = {.x = pixels_of(pixels * (c + 3)),
                             .stride = c + 3,
                             .pixels = pixels,
                             .channels = c,
                             .base = values_of(c),
                             .gain = values_of(c),
                             .rest = values_of(c),
                             .rows = rows,
                             .keep = BLOCK(uint8_t, pixels)};
    struct rxc_linear map = {.pixels = pixels,
                             .inputs = c,
                             .outputs = h,
                             .in = rows,
                             .w = values_of((size_t)h * c),
                             .offset = values_of(h),
                             .out = low};
    struct rxc_dots score = {.pixels = pixels,
                             .width = h,
                             .factor = 1,
                             .a = low,
                             .b = low,
                             .keep = all.keep,
                             .labels = bytes_of(pixels, 3),
                             .target = 1,
                             .scalars = values_of(2),
                             .scores = BLOCK(float, pixels),
                             .g = BLOCK(float, pixels),
                             .sums = BLOCK(double, 3 * blocks),
                             .kept = BLOCK(unsigned, blocks)};
    struct rxc_columns sums = {.pixels = pixels,
                               .width = h,
                               .range = range,
                               .factor = 2,
                               .weights = score.g,
                               .a = low,
                               .b = low,
                               .parts = BLOCK(double, 2 * ranges * h)};
    struct rxc_cross both = {.pixels = pixels,
                             .rows = h,
                             .columns = c,
                             .range = range,
                             .a = low,
                             .b = rows,
                             .parts = BLOCK(float, (size_t)ranges *h *c)};
    sums.b = values_of(pixels * h);
    kernels->gather(NULL, &all);
    kernels->linear(NULL, &map);
    kernels->dots(NULL, &score);
    score.own = true;
    kernels->dots(NULL, &score);
    score.a = NULL;
    kernels->dots(NULL, &score);
    kernels->columns(NULL, &sums);
    kernels->cross(NULL, &both);
    done("rows", c);
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) {
        const int nothing = 0;
        YPK_LAUNCH(without_barrier, ypk_grid(3, 1), 256, 0, &stream, nothing);
        return 0; /* ThreadSanitizer makes another of it */
    }
    load();
    run_statistics(3, 500);
    run_statistics(40, 700);
    run_statistics(124, 330);
    run_quadratic(5, 200);
    run_quadratic(100, 300);
    run_rows(5, 5, 150);
    run_rows(70, 66, 300);
    printf("all\n");
    return 0;
}
