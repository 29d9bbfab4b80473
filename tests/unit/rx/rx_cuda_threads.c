/*
 * The kernels of models/rx/cuda by real threads under ThreadSanitizer, which ends the program with
 * an exit code of its own when it has seen a race (rx_cuda_threads.py). With an argument: a kernel
 * that lacks a barrier, which it has to see.
 */
#include "tests/unit/rx/rx_on_threads.h"

#include "models/rx/cuda/factor.h"
#include "models/rx/cuda/merge.h"
#include "models/rx/cuda/rows.h"

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

/* -- each kernel ---------------------------------------------------------------------------- */

static union {
    float any[1 << 16];
    struct rxc_merge_room merge;
    struct rxc_factor_room factor;
    struct rxc_linear_room linear;
    struct rxc_dots_room dots;
    struct rxc_columns_room columns;
    struct rxc_cross_room cross;
    unsigned odd[RXC_GATHERED];
    double sums[RXC_LOSS_THREADS];
} shared __attribute__((aligned(64)));

static void products(const void *job, unsigned block, unsigned threads)
{
    const struct rxc_gram *gram = job;
    static _Thread_local struct rxc_multiplier own;
    rxc_products(gram, block, block, threads, rxc_row(gram->channels), gram->weights != NULL,
                 shared.any, &own);
}

static void quadratic(const void *job, unsigned block, unsigned threads)
{
    static _Thread_local struct rxc_lane own;
    (void)threads;
    rxc_quadratics(job, block, rxc_outcome_of(job), shared.any, &own);
}

static void channels(const void *job, unsigned block, unsigned threads)
{
    static _Thread_local double mean;
    (void)threads;
    rxc_merge_channels(job, block, &shared.merge, &mean);
}

static void entries(const void *job, unsigned block, unsigned threads)
{
    (void)threads;
    rxc_merge_entries(job, block, &shared.merge);
}

static void counts(const void *job, unsigned block, unsigned threads)
{
    (void)block, (void)threads;
    rxc_merge_counts(job, &shared.merge);
}

static void add_loss(const void *job, unsigned block, unsigned threads)
{
    (void)block, (void)threads;
    rxc_add_loss(job, shared.sums);
}

static void factor(const void *job, unsigned block, unsigned threads)
{
    static _Thread_local double sum;
    (void)block, (void)threads;
    rxc_factorise(job, &shared.factor, &sum);
}

static void gather(const void *job, unsigned block, unsigned threads)
{
    (void)threads;
    rxc_gather_rows(job, block, shared.odd);
}

static void linear(const void *job, unsigned block, unsigned threads)
{
    const struct rxc_linear *l = job;
    static _Thread_local struct rxc_linear_own own;
    unsigned wides = (l->outputs + RXC_WIDE - 1) / RXC_WIDE;
    (void)threads;
    rxc_linear_rows(l, block / wides, block % wides, &shared.linear, &own);
}

static void dots(const void *job, unsigned block, unsigned threads)
{
    (void)threads;
    rxc_dots_rows(job, block, &shared.dots);
}

static void columns(const void *job, unsigned block, unsigned threads)
{
    const struct rxc_columns *c = job;
    unsigned ranges = rxc_ranges(c->pixels, c->range);
    (void)threads;
    rxc_columns_rows(c, block % ranges, block / ranges, &shared.columns);
}

static void cross(const void *job, unsigned block, unsigned threads)
{
    const struct rxc_cross *c = job;
    static _Thread_local struct rxc_cross_own own;
    unsigned ranges = rxc_ranges(c->pixels, c->range);
    (void)threads;
    rxc_cross_rows(c, block % ranges, block / ranges, &shared.cross, &own);
}

/* Every thread reads what its neighbour has written, without a barrier. */
static void without_barrier(const void *job, unsigned block, unsigned threads)
{
    (void)job, (void)block, (void)threads;
    RXC_EACH (t, RXC_ROW_THREADS)
        shared.any[t] = (float)t;
    RXC_EACH (t, RXC_ROW_THREADS)
        shared.any[1024 + t] = shared.any[(t + 1) % RXC_ROW_THREADS];
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
    unsigned range = 300, blocks = rxc_ranges(pixels, range), threads = rxc_product_threads(c);
    size_t square = (size_t)c * c;
    struct rxc_gram gram = {.x = pixels_of(pixels * c),
                            .stride = c,
                            .pixels = pixels,
                            .channels = c,
                            .range = range,
                            .products = BLOCK(float, blocks *RXC_SQUARE *rxc_pairs(c)),
                            .mean = BLOCK(double, blocks *c),
                            .away = BLOCK(double, blocks *c),
                            .low = BLOCK(float, blocks *c),
                            .high = BLOCK(float, blocks *c),
                            .kept = BLOCK(unsigned, blocks),
                            .skipped = BLOCK(unsigned, blocks)};
    struct rxc_merge merge = {.channels = c,
                              .blocks = blocks,
                              .products = gram.products,
                              .mean = gram.mean,
                              .away = gram.away,
                              .low = gram.low,
                              .high = gram.high,
                              .kept = gram.kept,
                              .skipped = gram.skipped,
                              .apart = BLOCK(double, blocks *c),
                              .weight = BLOCK(double, blocks),
                              .share = BLOCK(double, blocks),
                              .m2 = BLOCK(double, square),
                              .all_mean = BLOCK(double, c),
                              .all_low = BLOCK(float, c),
                              .all_high = BLOCK(float, c),
                              .counts = BLOCK(uint64_t, 2)};
    for (size_t p = 0; p < pixels && c > 3; p++) /* a first centre that misses */
        ((float *)(uintptr_t)gram.x)[p * c + 3] += p % 5 == 0 ? 1e4F : -1e4F;
    run_blocks(products, &gram, blocks, threads);
    unsigned groups = (c + RXC_ABREAST - 1) / RXC_ABREAST;
    run_blocks(channels, &merge, groups, RXC_MERGE_THREADS);
    run_blocks(entries, &merge, rxc_entry_blocks(c), RXC_MERGE_THREADS);
    run_blocks(counts, &merge, 1, RXC_MERGE_THREADS);
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
                             .centre = BLOCK(float, c),
                             .slices = BLOCK(float, rxc_slices(c)),
                             .offset = BLOCK(float, c + RXC_ROWS),
                             .failed = BLOCK(unsigned, 1)};
    run_blocks(factor, &how, 1, RXC_FACTOR_THREADS);
    gram.weights = values_of(pixels);
    gram.centre = values_of(c);
    merge.weighted = merge.fresh = true;
    run_blocks(products, &gram, blocks, threads);
    run_blocks(channels, &merge, groups, RXC_MERGE_THREADS);
    run_blocks(entries, &merge, rxc_entry_blocks(c), RXC_MERGE_THREADS);
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
                                .room = pixels,
                                .channels = c,
                                .centre = values_of(c),
                                .slices = values_of(rxc_square_slices(c)),
                                .scores = BLOCK(float, pixels),
                                .labels = bytes_of(pixels, 3),
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
    run_blocks(quadratic, &job, blocks, RXC_QUADRATIC_THREADS);
    job.loss = true;
    run_blocks(quadratic, &job, blocks, RXC_QUADRATIC_THREADS);
    job.products = BLOCK(float, pixels *c);
    run_blocks(quadratic, &job, blocks, RXC_QUADRATIC_THREADS);
    run_blocks(add_loss, &loss, 1, RXC_LOSS_THREADS);
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
    run_blocks(gather, &all, (unsigned)((pixels + RXC_GATHERED - 1) / RXC_GATHERED),
               RXC_ROW_THREADS);
    run_blocks(linear, &map, blocks * ((h + RXC_WIDE - 1) / RXC_WIDE), RXC_ROW_THREADS);
    run_blocks(dots, &score, blocks, RXC_ROW_THREADS);
    score.own = true;
    run_blocks(dots, &score, blocks, RXC_ROW_THREADS);
    score.a = NULL;
    run_blocks(dots, &score, blocks, RXC_ROW_THREADS);
    run_blocks(columns, &sums, ranges * ((h + RXC_COLUMNS - 1) / RXC_COLUMNS), RXC_ROW_THREADS);
    run_blocks(cross, &both,
               ranges * ((h + RXC_WIDE - 1) / RXC_WIDE) * ((c + RXC_WIDE - 1) / RXC_WIDE),
               RXC_ROW_THREADS);
    done("rows", c);
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) {
        run_blocks(without_barrier, NULL, 3, RXC_ROW_THREADS);
        return 0; /* ThreadSanitizer makes another of it */
    }
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
