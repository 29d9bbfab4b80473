/* The memory of a pipeline on a GPU, and what each job takes of it. */
#include "models/rx/device/parts.h"

/* Blocks of a chunk's sums over rows: three for each multiprocessor of large GPUs. */
#define BLOCKS ((size_t)396)
#define MIN_RANGE ((size_t)32)
#define MAX_RANGE ((size_t)512) /* rows that are summed in float at most */

/* Rows of one block's sums. Of the size of tiles alone, so that every GPU has the same bits. */
static unsigned range_of(const struct rx_pipeline_options *o, size_t chunk)
{
    size_t even = (chunk + BLOCKS - 1) / BLOCKS;
    even = (even + MIN_RANGE - 1) / MIN_RANGE * MIN_RANGE;
    size_t limit = o->detector == RX_IMAGE ? YPI_RX_IMAGE_ROWS : MAX_RANGE;
    return (unsigned)(even < limit ? even : limit);
}

/* -- memory ---------------------------------------------------------------------------------- */

static size_t largest(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* A chunk's rows, and what a node makes of them. */
static void lay_out_rows(struct ypi_rx_pipeline_device *d, struct ypi_arena *arena,
                         const struct rx_pipeline_options *o)
{
    size_t n = d->chunk, blocks = rxc_pixel_blocks(n);
    d->gather.rows = ypi_arena_take(arena, n * o->channels, sizeof(float));
    if (ypi_rx_maps(o))
        d->map.out = ypi_arena_take(arena, n * ypi_rx_inner_width(o), sizeof(float));
    if (o->detector != RX_IMAGE)
        d->product.out = ypi_arena_take(arena, n * ypi_rx_outer_width(o), sizeof(float));
    if (o->detector == RX_AUTOENCODER)
        d->back.out = ypi_arena_take(arena, n * o->hidden, sizeof(float));
    d->dots.g = ypi_arena_take(arena, n, sizeof(float));
    d->dots.sums = ypi_arena_take(arena, 3 * blocks, sizeof(double));
    d->dots.kept = ypi_arena_take(arena, blocks, sizeof(unsigned));
    d->on.loss.all = ypi_arena_take(arena, 4, sizeof(double));
}

/* Sums over rows, and the parts that blocks make of them: each job's in the same place, for it is
 * summed before the next one begins. */
static void lay_out_sums(struct ypi_rx_pipeline_device *d, struct ypi_arena *arena,
                         const struct rx_pipeline_options *o)
{
    size_t c = o->channels, inner = ypi_rx_inner_width(o), outer = ypi_rx_outer_width(o);
    size_t ranges = rxc_ranges(d->chunk, d->range), cross = ypi_rx_maps(o) ? inner * c : 0;
    char *parts =
        ypi_arena_take(arena, ranges, largest(2 * outer * sizeof(double), cross * sizeof(float)));
    d->columns.parts = d->hidden.parts = (double *)(void *)parts;
    d->cross.parts = d->other.parts = (float *)(void *)parts;
    d->column_sums.all = ypi_arena_take(arena, 2 * outer, sizeof(double));
    if (ypi_rx_maps(o))
        d->cross_sums.all = ypi_arena_take(arena, cross, sizeof(double));
    if (o->detector == RX_AUTOENCODER) {
        d->other_sums.all = ypi_arena_take(arena, cross, sizeof(double));
        d->hidden_sums.all = ypi_arena_take(arena, 2 * inner, sizeof(double));
    }
}

/* sum g z z^T, of a detector that sees `width` channels. */
static void lay_out_gram(struct ypi_rx_pipeline_device *d, struct ypi_arena *arena, size_t width)
{
    struct rxc_gram *gram = &d->on.gram;
    size_t ranges = rxc_ranges(d->chunk, d->range);
    gram->products =
        ypi_arena_take(arena, ranges * RXC_SQUARE * rxc_pairs((unsigned)width), sizeof(float));
    gram->mean = ypi_arena_take(arena, ranges * width, sizeof(double));
    gram->kept = ypi_arena_take(arena, ranges, sizeof(unsigned));
    gram->skipped = ypi_arena_take(arena, ranges, sizeof(unsigned));
    d->on.merge.m2 = ypi_arena_take(arena, width * width, sizeof(double));
    d->on.merge.all_mean = ypi_arena_take(arena, width, sizeof(double));
}

static struct ypi_rx_image_sums lay_out_statistics(struct ypi_arena *arena, size_t channels)
{
    return (struct ypi_rx_image_sums){
        .m2 = ypi_arena_take(arena, channels * channels, sizeof(double)),
        .mean = ypi_arena_take(arena, channels, sizeof(double)),
        .counts = ypi_arena_take(arena, 2, sizeof(uint64_t)),
        .low = ypi_arena_take(arena, channels, sizeof(float)),
        .high = ypi_arena_take(arena, channels, sizeof(float))};
}

static void lay_out_image(struct ypi_rx_pipeline_device *d, struct ypi_arena *arena, size_t c)
{
    struct rxc_merge *merge = &d->statistics;
    struct rxc_factor *factor = &d->on.factor;
    size_t ranges = rxc_ranges(d->chunk, d->range), before = arena->used;
    arena->together = true;
    struct ypi_rx_image_sums live = lay_out_statistics(arena, c);
    d->statistics_bytes = arena->used - before;
    d->none = lay_out_statistics(arena, c);
    arena->together = false;
    merge->m2 = live.m2;
    merge->all_mean = live.mean;
    merge->all_low = live.low;
    merge->all_high = live.high;
    merge->counts = live.counts;
    d->sample.shift = ypi_arena_take(arena, ranges * c, sizeof(double));
    d->sample.low = ypi_arena_take(arena, ranges * c, sizeof(float));
    d->sample.high = ypi_arena_take(arena, ranges * c, sizeof(float));
    merge->difference = ypi_arena_take(arena, ranges * c, sizeof(double));
    merge->weight = ypi_arena_take(arena, ranges, sizeof(double));
    merge->share = ypi_arena_take(arena, ranges, sizeof(double));
    factor->matrix = ypi_arena_take(arena, c * c, sizeof(double));
    factor->inverse = ypi_arena_take(arena, c * c, sizeof(double));
    factor->centre = ypi_arena_take(arena, c, sizeof(float));
    factor->slices = ypi_arena_take(arena, rxc_slices((unsigned)c), sizeof(float));
    factor->offset = ypi_arena_take(arena, c + RXC_ROWS, sizeof(float));
    factor->failed = ypi_arena_take(arena, 1, sizeof(unsigned));
}

void ypi_rx_device_lay_out(struct ypi_rx_pipeline_device *d, struct ypi_arena *arena,
                           const struct rx_pipeline_options *o)
{
    d->on.channels = o->channels;
    d->on.tile_pixels = o->tile_pixels;
    d->chunk = o->tile_pixels < YPI_RX_DEVICE_CHUNK ? o->tile_pixels : YPI_RX_DEVICE_CHUNK;
    d->range = range_of(o, d->chunk);
    ypi_rx_count_numbers(o, &d->at);
    for (size_t i = 0; i < ypi_rx_device_slots(o->tiles); i++) {
        d->on.values[i] = ypi_arena_take(arena, o->tile_pixels * o->channels, sizeof(float));
        if (ypi_rx_trains(o))
            d->on.labels[i] = ypi_arena_take(arena, o->tile_pixels, 1);
    }
    d->numbers = ypi_arena_take(arena, d->at.count, sizeof(float));
    arena->together = true;
    d->scores = ypi_arena_take(arena, o->tile_pixels, sizeof(float));
    d->keep = ypi_arena_take(arena, o->tile_pixels, 1);
    arena->together = false;
    lay_out_rows(d, arena, o);
    if (o->detector != RX_IMAGE)
        lay_out_sums(d, arena, o);
    if (o->detector != RX_AUTOENCODER)
        lay_out_gram(d, arena, ypi_rx_width(o));
    if (o->detector == RX_IMAGE)
        lay_out_image(d, arena, o->channels);
}

/* -- jobs ------------------------------------------------------------------------------------ */

static struct rxc_parts parts_of(const double *doubles, const float *floats, size_t count,
                                 double *all)
{
    return (struct rxc_parts){.count = count, .doubles = doubles, .floats = floats, .all = all};
}

/* The map, what an autoencoder makes of it, and the way back to the weights. */
static void connect_map(struct ypi_rx_pipeline_device *d, const struct rx_pipeline_options *o)
{
    unsigned c = (unsigned)o->channels, inner = (unsigned)ypi_rx_inner_width(o);
    bool autoencoder = o->detector == RX_AUTOENCODER;
    d->map.inputs = c;
    d->map.outputs = inner;
    d->map.in = d->gather.rows;
    d->map.w = d->numbers + d->at.map;
    d->map.offset = d->numbers + d->at.map_offset;
    d->cross.a = d->product.out;
    d->cross.b = autoencoder ? d->map.out : d->gather.rows;
    d->cross.range = d->other.range = d->hidden.range = d->range;
    d->cross.rows = autoencoder ? c : inner;
    d->cross.columns = autoencoder ? inner : c;
    d->cross_sums = parts_of(NULL, d->cross.parts, (size_t)inner * c, d->cross_sums.all);
    if (!autoencoder)
        return;
    d->product.inputs = d->back.outputs = inner;
    d->product.outputs = d->back.inputs = c;
    d->product.in = d->map.out;
    d->product.w = d->numbers + d->at.product;
    d->product.offset = d->numbers + d->at.product_offset;
    d->product.less = d->gather.rows;
    d->dots.a = d->dots.b = d->back.in = d->product.out;
    d->dots.width = c;
    d->dots.factor = 1 / (float)c;
    d->back.w = d->numbers + d->at.back;
    d->other.a = d->back.out;
    d->hidden.a = d->back.out;
    d->hidden.width = d->other.rows = inner;
    d->hidden_sums = parts_of(d->hidden.parts, NULL, 2 * (size_t)inner, d->hidden_sums.all);
    d->other.b = d->gather.rows;
    d->other.columns = c;
    d->other_sums = parts_of(NULL, d->other.parts, (size_t)inner * c, d->other_sums.all);
}

/* Scores, products and what is judged in one. */
static void connect_quadratic(struct ypi_rx_pipeline_device *d, const struct rx_pipeline_options *o)
{
    struct rxc_quadratic *job = &d->on.quadratic;
    job->x = ypi_rx_maps(o) ? d->map.out : d->gather.rows;
    job->channels = (unsigned)ypi_rx_inner_width(o);
    job->stride = job->channels;
    job->loss = true;
    job->centre = d->numbers + d->at.zeros;
    job->products = d->product.out;
    job->scalars = d->dots.scalars;
    job->target = d->dots.target;
    job->g = d->dots.g;
    job->sums = d->dots.sums;
    job->kept = d->dots.kept;
}

static void connect_columns(struct ypi_rx_pipeline_device *d, const struct rx_pipeline_options *o)
{
    bool autoencoder = o->detector == RX_AUTOENCODER;
    size_t outer = ypi_rx_outer_width(o);
    d->columns.width = (unsigned)outer;
    d->columns.range = d->range;
    d->columns.factor = autoencoder ? 2 / (float)outer : 2;
    d->columns.weights = d->dots.g;
    d->columns.a = d->product.out;
    d->columns.b = o->components > 0 ? d->map.out : d->gather.rows;
    d->column_sums = parts_of(d->columns.parts, NULL, 2 * outer, d->column_sums.all);
}

static void connect_gram(struct ypi_rx_pipeline_device *d, const struct rx_pipeline_options *o)
{
    struct rxc_gram *gram = &d->on.gram;
    struct rxc_merge *merge = &d->on.merge;
    gram->channels = (unsigned)ypi_rx_width(o);
    gram->stride = gram->channels;
    gram->range = d->range;
    gram->x = o->components > 0 ? d->map.out : d->gather.rows;
    gram->weights = d->dots.g;
    gram->centre = d->numbers + d->at.zeros;
    merge->weighted = true;
    ypi_rx_merge_what(merge, gram);
}

static void connect_image(struct ypi_rx_pipeline_device *d, const struct rx_pipeline_options *o)
{
    struct rxc_gram *sample = &d->sample;
    struct rxc_merge *merge = &d->statistics;
    struct rxc_factor *factor = &d->on.factor;
    struct rxc_quadratic *quadratic = &d->on.quadratic;
    sample->channels = factor->channels = quadratic->channels = (unsigned)o->channels;
    sample->range = d->range;
    sample->x = quadratic->x = d->gather.rows;
    sample->stride = quadratic->stride = o->channels;
    sample->products = d->on.gram.products;
    sample->mean = d->on.gram.mean;
    sample->kept = d->on.gram.kept;
    sample->skipped = d->on.gram.skipped;
    ypi_rx_merge_what(merge, sample);
    factor->ridge = o->eps;
    factor->keep = 1;
    factor->least = YPI_RX_MIN_PIVOT;
    factor->m2 = merge->m2;
    factor->mean = merge->all_mean;
    factor->low = merge->all_low;
    factor->high = merge->all_high;
    quadratic->slices = factor->slices;
}

void ypi_rx_device_connect(struct ypi_rx_pipeline_device *d, const struct rx_pipeline_options *o)
{
    d->gather.channels = (unsigned)o->channels;
    d->gather.base = d->numbers + d->at.base;
    d->gather.gain = d->numbers + d->at.gain;
    d->gather.rest = d->numbers + d->at.rest;
    d->dots.own = o->detector == RX_AUTOENCODER;
    d->dots.scalars = d->numbers + d->at.scalars;
    d->dots.target = (float)o->positive_weight;
    d->on.loss.sums = d->dots.sums;
    d->on.loss.kept = d->dots.kept;
    if (ypi_rx_maps(o))
        connect_map(d, o);
    if (ypi_rx_is_quadratic(o))
        connect_quadratic(d, o);
    if (o->detector != RX_IMAGE)
        connect_columns(d, o);
    if (o->detector != RX_AUTOENCODER)
        connect_gram(d, o);
    if (o->detector == RX_IMAGE)
        connect_image(d, o);
}
