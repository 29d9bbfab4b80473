/* The pipeline on a GPU: its memory there, and what is launched for a tile. */
#include "models/rx/device/pipeline.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Blocks of a chunk's sums over rows: three for each multiprocessor of large GPUs. */
#define BLOCKS ((size_t)396)
#define LEAST_RANGE ((size_t)32)
#define MOST_RANGE ((size_t)512) /* rows that are summed in float at most */

/* What a call gives the kernels, as places in one block of floats. */
struct numbers {
    size_t base, rest, gain; /* (C) */
    size_t zeros, nans;      /* (C) */
    size_t scalars;          /* scale, bias */
    size_t map, map_offset;  /* W (K, C) and -mu, or W1 (H, C) and b1 */
    size_t product;          /* slices of A, or W2 (C, H) */
    size_t product_offset;   /* b2 */
    size_t back;             /* slices of (A + A^T) / 2, or W2^T (H, C) */
    size_t count;
};

/* Statistics of one image, as one block: fresh ones are copied over them. */
struct image_sums {
    double *m2, *mean;
    uint64_t *counts;
    float *low, *high;
};

/* Rows of one block's sums. Of the size of tiles alone, so that every GPU has the same bits. */
static unsigned range_of(const struct rx_pipeline_options *o, size_t chunk)
{
    size_t even = (chunk + BLOCKS - 1) / BLOCKS;
    even = (even + LEAST_RANGE - 1) / LEAST_RANGE * LEAST_RANGE;
    size_t most = o->detector == RX_IMAGE ? YPI_RX_IMAGE_ROWS : MOST_RANGE;
    return (unsigned)(even < most ? even : most);
}

struct ypi_rx_pipeline_device {
    struct ypi_rx_device on; /* tiles, and the jobs of gram, quadratic and loss */
    size_t chunk;
    unsigned range;
    float *scores; /* (tile_pixels), and behind them as many bytes of keep */
    uint8_t *keep;
    struct numbers at;
    float *numbers, *given; /* there, and on the host */
    struct rxc_gather gather;
    struct rxc_linear map;              /* to what the detector sees, or to hidden values */
    struct rxc_linear product, back;    /* of an autoencoder: from there, and of cotangents */
    struct rxc_dots dots;               /* of it, and by image */
    struct rxc_columns columns, hidden; /* dv and, of the autoencoder, dh */
    struct rxc_cross cross, other;      /* dW; dW2 and dW1 */
    struct rxc_parts column_sums, hidden_sums, cross_sums, other_sums;
    bool fresh;    /* no chunk of the call has been summed yet */
    bool failed;   /* a tile's data have no factor: the pass ends */
    uint64_t kept; /* by image: so far */
    /* RX by image: */
    struct rxc_gram sample;
    struct rxc_merge statistics;
    struct image_sums none; /* those of no pixel */
    size_t statistics_bytes;
};

static bool maps(const struct rx_pipeline_options *o)
{
    return o->components > 0 || o->detector == RX_AUTOENCODER;
}

/* Behind the map. */
static size_t inner_width(const struct rx_pipeline_options *o)
{
    return o->detector == RX_AUTOENCODER ? o->hidden : ypi_rx_width(o);
}

/* What scores are sums over. */
static size_t outer_width(const struct rx_pipeline_options *o)
{
    return o->detector == RX_AUTOENCODER ? o->channels : ypi_rx_width(o);
}

/* -- memory ---------------------------------------------------------------------------------- */

static bool is_quadratic(const struct rx_pipeline_options *o)
{
    return o->detector == RX_GLOBAL || o->detector == RX_LAD;
}

static void count_numbers(const struct rx_pipeline_options *o, struct numbers *at)
{
    enum { LINE = 16 };
    bool coder = o->detector == RX_AUTOENCODER;
    size_t c = o->channels, inner = inner_width(o), n = 0;
    size_t slices = is_quadratic(o) ? rxc_square_slices((unsigned)inner) : 0;
    const struct {
        size_t *place, count;
    } rows[] = {{&at->base, c},
                {&at->rest, c},
                {&at->gain, c},
                {&at->zeros, c},
                {&at->nans, c},
                {&at->scalars, 2},
                {&at->map, maps(o) ? inner * c : 0},
                {&at->map_offset, maps(o) ? inner : 0},
                {&at->product, coder ? c * inner : slices},
                {&at->product_offset, coder ? c : 0},
                {&at->back, coder ? inner * c : slices}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        *rows[i].place = n;
        n += (rows[i].count + LINE - 1) / LINE * LINE;
    }
    at->count = n;
}

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
    if (maps(o))
        d->map.out = ypi_arena_take(arena, n * inner_width(o), sizeof(float));
    if (o->detector != RX_IMAGE)
        d->product.out = ypi_arena_take(arena, n * outer_width(o), sizeof(float));
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
    size_t c = o->channels, inner = inner_width(o), outer = outer_width(o);
    size_t ranges = rxc_ranges(d->chunk, d->range), cross = maps(o) ? inner * c : 0;
    char *parts =
        ypi_arena_take(arena, ranges, largest(2 * outer * sizeof(double), cross * sizeof(float)));
    d->columns.parts = d->hidden.parts = (double *)(void *)parts;
    d->cross.parts = d->other.parts = (float *)(void *)parts;
    d->column_sums.all = ypi_arena_take(arena, 2 * outer, sizeof(double));
    if (maps(o))
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

static struct image_sums lay_out_statistics(struct ypi_arena *arena, size_t channels)
{
    return (struct image_sums){.m2 = ypi_arena_take(arena, channels * channels, sizeof(double)),
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
    struct image_sums live = lay_out_statistics(arena, c);
    d->statistics_bytes = arena->used - before;
    d->none = lay_out_statistics(arena, c);
    merge->m2 = live.m2;
    merge->all_mean = live.mean;
    merge->all_low = live.low;
    merge->all_high = live.high;
    merge->counts = live.counts;
    d->sample.away = ypi_arena_take(arena, ranges * c, sizeof(double));
    d->sample.low = ypi_arena_take(arena, ranges * c, sizeof(float));
    d->sample.high = ypi_arena_take(arena, ranges * c, sizeof(float));
    merge->apart = ypi_arena_take(arena, ranges * c, sizeof(double));
    merge->weight = ypi_arena_take(arena, ranges, sizeof(double));
    merge->share = ypi_arena_take(arena, ranges, sizeof(double));
    factor->matrix = ypi_arena_take(arena, c * c, sizeof(double));
    factor->inverse = ypi_arena_take(arena, c * c, sizeof(double));
    factor->centre = ypi_arena_take(arena, c, sizeof(float));
    factor->slices = ypi_arena_take(arena, rxc_slices((unsigned)c), sizeof(float));
    factor->offset = ypi_arena_take(arena, c + RXC_ROWS, sizeof(float));
    factor->failed = ypi_arena_take(arena, 1, sizeof(unsigned));
}

static void lay_out(struct ypi_rx_pipeline_device *d, struct ypi_arena *arena,
                    const struct rx_pipeline_options *o)
{
    d->on.channels = o->channels;
    d->on.tile_pixels = o->tile_pixels;
    d->chunk = o->tile_pixels < YPI_RX_DEVICE_CHUNK ? o->tile_pixels : YPI_RX_DEVICE_CHUNK;
    d->range = range_of(o, d->chunk);
    count_numbers(o, &d->at);
    for (size_t i = 0; i < ypi_rx_device_slots(o->tiles); i++) {
        d->on.values[i] = ypi_arena_take(arena, o->tile_pixels * o->channels, sizeof(float));
        if (ypi_rx_trains(o))
            d->on.labels[i] = ypi_arena_take(arena, o->tile_pixels, 1);
    }
    d->numbers = ypi_arena_take(arena, d->at.count, sizeof(float));
    d->scores = ypi_arena_take(arena, o->tile_pixels, sizeof(float));
    d->keep = ypi_arena_take(arena, o->tile_pixels, 1);
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
    unsigned c = (unsigned)o->channels, inner = (unsigned)inner_width(o);
    bool coder = o->detector == RX_AUTOENCODER;
    d->map.inputs = c;
    d->map.outputs = inner;
    d->map.in = d->gather.rows;
    d->map.w = d->numbers + d->at.map;
    d->map.offset = d->numbers + d->at.map_offset;
    d->cross.a = d->product.out;
    d->cross.b = coder ? d->map.out : d->gather.rows;
    d->cross.range = d->other.range = d->hidden.range = d->range;
    d->cross.rows = coder ? c : inner;
    d->cross.columns = coder ? inner : c;
    d->cross_sums = parts_of(NULL, d->cross.parts, (size_t)inner * c, d->cross_sums.all);
    if (!coder)
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
    job->x = maps(o) ? d->map.out : d->gather.rows;
    job->channels = (unsigned)inner_width(o);
    job->stride = job->channels;
    job->loss = true;
    job->centre = d->numbers + d->at.zeros;
    job->products = d->product.out;
    job->scalars = d->dots.scalars;
    job->g = d->dots.g;
    job->sums = d->dots.sums;
    job->kept = d->dots.kept;
}

static void connect_columns(struct ypi_rx_pipeline_device *d, const struct rx_pipeline_options *o)
{
    bool coder = o->detector == RX_AUTOENCODER;
    size_t outer = outer_width(o);
    d->columns.width = (unsigned)outer;
    d->columns.range = d->range;
    d->columns.factor = coder ? 2 / (float)outer : 2;
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
    factor->least = YPI_RX_LEAST_PIVOT;
    factor->m2 = merge->m2;
    factor->mean = merge->all_mean;
    factor->low = merge->all_low;
    factor->high = merge->all_high;
    quadratic->slices = factor->slices;
}

static void connect(struct ypi_rx_pipeline_device *d, const struct rx_pipeline_options *o)
{
    d->gather.channels = (unsigned)o->channels;
    d->gather.base = d->numbers + d->at.base;
    d->gather.gain = d->numbers + d->at.gain;
    d->gather.rest = d->numbers + d->at.rest;
    d->dots.own = o->detector == RX_AUTOENCODER;
    d->dots.scalars = d->numbers + d->at.scalars;
    d->on.loss.sums = d->dots.sums;
    d->on.loss.kept = d->dots.kept;
    if (maps(o))
        connect_map(d, o);
    if (is_quadratic(o))
        connect_quadratic(d, o);
    if (o->detector != RX_IMAGE)
        connect_columns(d, o);
    if (o->detector != RX_AUTOENCODER)
        connect_gram(d, o);
    if (o->detector == RX_IMAGE)
        connect_image(d, o);
}

/* -- the object ------------------------------------------------------------------------------ */

static size_t bytes_there(const struct rx_pipeline_options *o)
{
    struct ypi_arena arena = {0};
    struct ypi_rx_pipeline_device d = {0};
    lay_out(&d, &arena, o);
    return arena.used;
}

static void lay_out_here(struct rx_pipeline *p, struct ypi_arena *arena,
                         const struct rx_pipeline_options *o)
{
    struct ypi_rx_pipeline_device *d = ypi_arena_take(arena, 1, sizeof *d);
    struct numbers at;
    count_numbers(o, &at);
    float *given = ypi_arena_take(arena, at.count, sizeof *given);
    ypi_rx_pipeline_lay_out(p, arena, o, true);
    if (arena->base == NULL)
        return;
    *d = (struct ypi_rx_pipeline_device){.given = given};
    p->on = d;
}

static size_t bytes_here(const struct rx_pipeline_options *o)
{
    struct ypi_arena arena = {0};
    struct rx_pipeline p;
    ypi_arena_take(&arena, 1, sizeof p);
    lay_out_here(&p, &arena, o);
    return arena.used;
}

static enum yp_status check(const char *what, const struct rx_pipeline_options *given,
                            struct rx_pipeline_options *checked)
{
    enum yp_status status = ypi_rx_pipeline_check(what, given, checked);
    if (status != YP_OK)
        return status;
    return ypi_rx_device_check(what, checked->channels, checked->tile_pixels,
                               &(struct rx_options){.tiles = checked->tiles});
}

size_t rx_pipeline_device_bytes(const struct rx_pipeline_options *options)
{
    struct rx_pipeline_options o = {0};
    return check("rx_pipeline_device_bytes", options, &o) == YP_OK ? bytes_there(&o) : 0;
}

size_t rx_pipeline_host_bytes(const struct rx_pipeline_options *options)
{
    struct rx_pipeline_options o = {0};
    return check("rx_pipeline_host_bytes", options, &o) == YP_OK ? bytes_here(&o) : 0;
}

size_t rx_pipeline_pinned_bytes(const struct rx_pipeline_options *options)
{
    struct rx_pipeline_options o = {0};
    if (check("rx_pipeline_pinned_bytes", options, &o) != YP_OK)
        return 0;
    return ypi_rx_pinned_bytes(o.channels, o.tile_pixels, ypi_rx_trains(&o), o.tiles);
}

/* The statistics of no pixel, by way of scratch that the pipeline has. */
static enum yp_status send_none(const struct rx_pipeline *p)
{
    const struct ypi_rx_pipeline_device *d = p->on;
    struct yp_device *device = d->on.device;
    size_t c = p->options.channels;
    const uint64_t counts[2] = {0};
    memset(p->square, 0, c * c * sizeof *p->square);
    for (size_t i = 0; i < c; i++) {
        p->base[i] = INFINITY;
        p->rest[i] = -INFINITY;
    }
    enum yp_status status = yp_device_copy(device, d->none.m2, p->square, c * c * sizeof(double));
    if (status == YP_OK)
        status = yp_device_copy(device, d->none.mean, p->square, c * sizeof(double));
    if (status == YP_OK)
        status = yp_device_copy(device, d->none.counts, counts, sizeof counts);
    if (status == YP_OK)
        status = yp_device_copy(device, d->none.low, p->base, c * sizeof(float));
    return status == YP_OK ? yp_device_copy(device, d->none.high, p->rest, c * sizeof(float))
                           : status;
}

static enum yp_status open_there(const struct rx_pipeline *p, struct yp_device *device)
{
    struct ypi_rx_pipeline_device *d = p->on;
    const struct rx_pipeline_options *o = &p->options;
    d->on.device = device;
    d->on.cuda = ypi_rx_cuda();
    if (d->on.cuda == NULL)
        return YP_UNSUPPORTED;
    struct ypi_arena arena = {.base = yp_device_alloc(device, bytes_there(o))};
    if (arena.base == NULL)
        return YP_OUT_OF_MEMORY;
    d->on.block = arena.base;
    lay_out(d, &arena, o);
    connect(d, o);
    enum yp_status status = ypi_rx_staging_open(&d->on, o->tiles);
    if (status != YP_OK) {
        yp_device_free(device, d->on.block);
        return status;
    }
    status = o->detector == RX_IMAGE ? send_none(p) : YP_OK;
    if (status != YP_OK)
        ypi_rx_device_close(&d->on);
    return status;
}

struct rx_pipeline *ypi_rx_pipeline_create_there(struct yp_device *device,
                                                 const struct rx_pipeline_options *options)
{
    struct rx_pipeline_options o = {0};
    if (check("rx_pipeline_create", options, &o) != YP_OK)
        return NULL;
    struct ypi_arena arena = {.base = yp_device_alloc(yp_device_cpu(), bytes_here(&o))};
    if (arena.base == NULL)
        return NULL;
    struct rx_pipeline *p = ypi_arena_take(&arena, 1, sizeof *p);
    lay_out_here(p, &arena, &o);
    p->device = yp_device_cpu();
    if (open_there(p, device) == YP_OK)
        return p;
    yp_device_free(yp_device_cpu(), p);
    return NULL;
}

void ypi_rx_pipeline_device_close(struct ypi_rx_pipeline_device *d)
{
    ypi_rx_device_close(&d->on);
}

/* -- a call's numbers ------------------------------------------------------------------------ */

static void put(float *to, const float *from, size_t count)
{
    memcpy(to, from, count * sizeof *to);
}

/* As rxc_square_slices() lie: 16 rows of 16 inputs each, an input's rows side by side. */
static void put_slices(float *to, const float *matrix, size_t width)
{
    size_t blocks = (width + RXC_ROWS - 1) / RXC_ROWS;
    for (size_t i = 0; i < blocks * blocks * RXC_SLICE; i++) {
        size_t slice = i / RXC_SLICE;
        size_t row = slice / blocks * RXC_ROWS + i % RXC_ROWS;
        size_t input = slice % blocks * RXC_ROWS + i % RXC_SLICE / RXC_ROWS;
        to[i] = row < width && input < width ? matrix[row * width + input] : 0;
    }
}

static void give_layers(const struct rx_pipeline *p, float *to)
{
    const struct ypi_rx_places *from = &p->places;
    const struct numbers *at = &p->on->at;
    size_t c = p->options.channels, h = p->options.hidden;
    put(to + at->map, p->parameters + from->w1, h * c);
    put(to + at->map_offset, p->parameters + from->b1, h);
    put(to + at->product, p->parameters + from->w2, c * h);
    put(to + at->product_offset, p->parameters + from->b2, c);
    for (size_t i = 0; i < c * h; i++)
        to[at->back + i % h * c + i / h] = p->parameters[from->w2 + i];
}

static void give_weights(const struct rx_pipeline *p, float *to)
{
    const struct rx_pipeline_options *o = &p->options;
    const struct ypi_rx_places *from = &p->places;
    const struct numbers *at = &p->on->at;
    size_t width = ypi_rx_width(o);
    if (o->detector == RX_AUTOENCODER)
        give_layers(p, to);
    if (is_quadratic(o))
        put_slices(to + at->product, p->parameters + from->a, width);
    if (is_quadratic(o) && p->uneven)
        put_slices(to + at->back, p->even, width);
    if (o->components > 0)
        put(to + at->map, p->parameters + from->w, width * o->channels);
    for (size_t i = 0; i < o->components; i++)
        to[at->map_offset + i] = -p->parameters[from->mu + i];
}

static enum yp_status give(const struct rx_pipeline *p)
{
    const struct ypi_rx_pipeline_device *d = p->on;
    const struct numbers *at = &d->at;
    float *to = d->given;
    size_t c = p->options.channels;
    put(to + at->base, p->base, c);
    put(to + at->rest, p->rest, c);
    put(to + at->gain, p->gain, c);
    for (size_t i = 0; i < c; i++) {
        to[at->zeros + i] = 0;
        to[at->nans + i] = NAN;
    }
    to[at->scalars] = to[at->scalars + 1] = 0;
    if (ypi_rx_trains(&p->options)) {
        to[at->scalars] = p->parameters[p->places.scale];
        to[at->scalars + 1] = p->parameters[p->places.bias];
    }
    give_weights(p, to);
    size_t count = is_quadratic(&p->options) && !p->uneven ? at->back : at->count;
    return yp_device_copy(d->on.device, d->numbers, to, count * sizeof *to);
}

/* -- a chunk --------------------------------------------------------------------------------- */

static enum yp_status gather(struct ypi_rx_pipeline_device *d, const struct rx_tile *tile,
                             size_t first, size_t pixels, float odd)
{
    d->gather.stride = ypi_rx_stride(tile);
    d->gather.x = tile->values + first * d->gather.stride;
    d->gather.pixels = pixels;
    d->gather.odd = odd;
    d->gather.keep = d->keep + first;
    return d->on.cuda->gather(d->on.device, &d->gather);
}

static enum yp_status sum_parts(const struct ypi_rx_pipeline_device *d, struct rxc_parts *parts,
                                size_t pixels)
{
    parts->blocks = rxc_ranges(pixels, d->range);
    parts->fresh = d->fresh;
    return d->on.cuda->parts(d->on.device, parts);
}

static enum yp_status multiply(const struct ypi_rx_pipeline_device *d, struct rxc_linear *job,
                               size_t pixels)
{
    job->pixels = pixels;
    return d->on.cuda->linear(d->on.device, job);
}

static enum yp_status add_columns(const struct ypi_rx_pipeline_device *d, struct rxc_columns *job,
                                  struct rxc_parts *parts, size_t pixels)
{
    job->pixels = pixels;
    enum yp_status status = d->on.cuda->columns(d->on.device, job);
    return status == YP_OK ? sum_parts(d, parts, pixels) : status;
}

static enum yp_status add_cross(const struct ypi_rx_pipeline_device *d, struct rxc_cross *job,
                                struct rxc_parts *parts, size_t pixels)
{
    job->pixels = pixels;
    enum yp_status status = d->on.cuda->cross(d->on.device, job);
    return status == YP_OK ? sum_parts(d, parts, pixels) : status;
}

/* sum g z z^T; `fresh`: of nothing so far. */
static enum yp_status add_gram(struct ypi_rx_pipeline_device *d, size_t pixels, bool fresh)
{
    d->on.gram.pixels = pixels;
    d->on.merge.blocks = rxc_ranges(pixels, d->range);
    d->on.merge.fresh = fresh;
    enum yp_status status = d->on.cuda->gram(d->on.device, &d->on.gram);
    return status == YP_OK ? d->on.cuda->merge(d->on.device, &d->on.merge) : status;
}

static enum yp_status add_loss(struct ypi_rx_pipeline_device *d, size_t pixels)
{
    d->on.loss.blocks = rxc_pixel_blocks(pixels);
    d->on.loss.fresh = d->fresh;
    return d->on.cuda->add_loss(d->on.device, &d->on.loss);
}

static const uint8_t *judged_labels(const struct rx_pipeline *p, const struct rx_tile *tile,
                                    size_t first)
{
    return p->judged && ypi_rx_trains(&p->options) ? tile->labels + first : NULL;
}

/* Scores, of products or there already, to the loss's sums and g. */
static enum yp_status judge(const struct rx_pipeline *p, const struct rx_tile *tile, size_t first,
                            size_t pixels)
{
    struct ypi_rx_pipeline_device *d = p->on;
    d->dots.pixels = pixels;
    d->dots.keep = d->keep + first;
    d->dots.scores = d->scores + first;
    d->dots.labels = judged_labels(p, tile, first);
    enum yp_status status = d->on.cuda->dots(d->on.device, &d->dots);
    return status == YP_OK ? add_loss(d, pixels) : status;
}

/* All of that from what the detector sees. */
static enum yp_status judge_quadratic(const struct rx_pipeline *p, const struct rx_tile *tile,
                                      size_t first, size_t pixels)
{
    struct ypi_rx_pipeline_device *d = p->on;
    struct rxc_quadratic *job = &d->on.quadratic;
    job->pixels = job->places = pixels;
    job->slices = d->numbers + d->at.product;
    job->keep = d->keep + first;
    job->scores = d->scores + first;
    job->labels = judged_labels(p, tile, first);
    enum yp_status status = d->on.cuda->quadratic(d->on.device, job);
    return status == YP_OK ? add_loss(d, pixels) : status;
}

/* The products once more, with (A + A^T) / 2, where that is another matrix. */
static enum yp_status even_products(const struct rx_pipeline *p)
{
    struct ypi_rx_pipeline_device *d = p->on;
    struct rxc_quadratic *job = &d->on.quadratic;
    job->slices = d->numbers + d->at.back;
    job->labels = NULL;
    job->scores = NULL;
    return d->on.cuda->quadratic(d->on.device, job);
}

/* What makes the gradient, behind the scores: dv takes the place of the products, which are those
 * of dv where A is symmetric, as it stays in training. */
static enum yp_status pull(struct rx_pipeline *p, size_t pixels)
{
    struct ypi_rx_pipeline_device *d = p->on;
    bool coder = p->options.detector == RX_AUTOENCODER;
    enum yp_status status = !coder && p->uneven ? even_products(p) : YP_OK;
    if (status == YP_OK)
        status = add_columns(d, &d->columns, &d->column_sums, pixels);
    if (status == YP_OK && maps(&p->options))
        status = add_cross(d, &d->cross, &d->cross_sums, pixels);
    if (status == YP_OK && !coder)
        return add_gram(d, pixels, d->fresh);
    if (status == YP_OK)
        status = multiply(d, &d->back, pixels);
    if (status == YP_OK)
        status = add_columns(d, &d->hidden, &d->hidden_sums, pixels);
    return status == YP_OK ? add_cross(d, &d->other, &d->other_sums, pixels) : status;
}

static enum yp_status chunk(struct rx_pipeline *p, struct ypi_rx_lane *lane,
                            const struct rx_tile *tile, size_t first, size_t pixels)
{
    (void)lane;
    struct ypi_rx_pipeline_device *d = p->on;
    bool coder = p->options.detector == RX_AUTOENCODER;
    enum yp_status status = gather(d, tile, first, pixels, 0);
    if (status == YP_OK && maps(&p->options))
        status = multiply(d, &d->map, pixels);
    if (status == YP_OK && coder)
        status = multiply(d, &d->product, pixels);
    if (status == YP_OK)
        status = (coder ? judge : judge_quadratic)(p, tile, first, pixels);
    if (status == YP_OK && p->backward)
        status = pull(p, pixels);
    d->fresh = false;
    return status;
}

/* -- RX by image ----------------------------------------------------------------------------- */

typedef enum yp_status each_chunk(struct rx_pipeline *p, struct ypi_rx_lane *lane,
                                  const struct rx_tile *tile, size_t first, size_t pixels);

static enum yp_status over_chunks(struct rx_pipeline *p, struct ypi_rx_lane *lane,
                                  const struct rx_tile *tile, each_chunk *each)
{
    enum yp_status status = YP_OK;
    for (size_t first = 0; first < tile->pixels && status == YP_OK; first += p->on->chunk) {
        size_t rest = tile->pixels - first;
        status = each(p, lane, tile, first, rest < p->on->chunk ? rest : p->on->chunk);
    }
    return status;
}

/* A row that does not count is not finite, so that gram() leaves it out. */
static enum yp_status look(struct rx_pipeline *p, struct ypi_rx_lane *lane,
                           const struct rx_tile *tile, size_t first, size_t pixels)
{
    (void)lane;
    struct ypi_rx_pipeline_device *d = p->on;
    d->sample.pixels = pixels;
    d->statistics.blocks = rxc_ranges(pixels, d->range);
    enum yp_status status = gather(d, tile, first, pixels, NAN);
    if (status == YP_OK)
        status = d->on.cuda->gram(d->on.device, &d->sample);
    return status == YP_OK ? d->on.cuda->merge(d->on.device, &d->statistics) : status;
}

static enum yp_status centre_around(const struct rx_pipeline *p, const float *base,
                                    const float *rest)
{
    const struct ypi_rx_pipeline_device *d = p->on;
    const struct numbers *at = &d->at;
    size_t c = p->options.channels;
    assert(at->base == 0 && at->rest < at->gain);
    put(d->given + at->base, base, c);
    put(d->given + at->rest, rest, c);
    return yp_device_copy(d->on.device, d->numbers, d->given, at->gain * sizeof(float));
}

/* Statistics of the image around those of all, and its factor. `kept`: its finite pixels. */
static enum yp_status learn(struct rx_pipeline *p, struct ypi_rx_lane *lane,
                            const struct rx_tile *tile, uint64_t *kept)
{
    struct ypi_rx_pipeline_device *d = p->on;
    struct yp_device *device = d->on.device;
    uint64_t counts[2] = {0};
    unsigned failed = 0;
    enum yp_status status =
        yp_stream_copy(yp_device_stream(device), d->statistics.m2, d->none.m2, d->statistics_bytes);
    if (status == YP_OK)
        status = centre_around(p, p->base, p->rest);
    if (status == YP_OK)
        status = over_chunks(p, lane, tile, look);
    if (status == YP_OK)
        status = yp_device_copy(device, counts, d->statistics.counts, sizeof counts);
    if (status == YP_OK)
        status = yp_device_copy(device, lane->mean, d->statistics.all_mean,
                                p->options.channels * sizeof *lane->mean);
    *kept = counts[0];
    if (status != YP_OK || *kept == 0)
        return status;
    ypi_rx_centre(p, lane->mean, lane->base, lane->rest);
    d->on.factor.count = (double)(*kept > 1 ? *kept - 1 : 1);
    status = centre_around(p, lane->base, lane->rest);
    if (status == YP_OK)
        status = d->on.cuda->factor(device, &d->on.factor);
    if (status == YP_OK)
        status = yp_device_copy(device, &failed, d->on.factor.failed, sizeof failed);
    lane->failed = failed != 0;
    return status;
}

static enum yp_status score_chunk(struct rx_pipeline *p, struct ypi_rx_lane *lane,
                                  const struct rx_tile *tile, size_t first, size_t pixels)
{
    (void)lane;
    struct ypi_rx_pipeline_device *d = p->on;
    d->on.quadratic.pixels = d->on.quadratic.places = pixels;
    d->on.quadratic.scores = d->scores + first;
    enum yp_status status = gather(d, tile, first, pixels, 0);
    if (status == YP_OK)
        status = d->on.cuda->quadratic(d->on.device, &d->on.quadratic);
    if (status == YP_OK)
        status = judge(p, tile, first, pixels);
    d->fresh = false;
    return status == YP_OK && p->backward ? add_gram(d, pixels, first == 0) : status;
}

/* What of an image's gradient the host works out. */
static enum yp_status add_front(const struct rx_pipeline *p, struct ypi_rx_lane *lane)
{
    const struct ypi_rx_pipeline_device *d = p->on;
    size_t c = p->options.channels, square = c * c * sizeof(double);
    enum yp_status status = yp_device_copy(d->on.device, lane->m2, d->on.merge.m2, square);
    if (status == YP_OK)
        status = yp_device_copy(d->on.device, lane->inverse, d->on.factor.matrix, square);
    if (status == YP_OK)
        ypi_rx_image_front(p, lane);
    return status;
}

static enum yp_status count_kept(struct ypi_rx_pipeline_device *d)
{
    double all[4] = {0};
    enum yp_status status = yp_device_copy(d->on.device, all, d->on.loss.all, sizeof all);
    d->kept = (uint64_t)all[3];
    return status;
}

/* A pixel that is finite, and is not any more where the detector sees it, has no part in the
 * statistics; on the CPU it makes them infinite. Either way there is no covariance. */
static enum yp_status image(struct rx_pipeline *p, struct ypi_rx_lane *lane,
                            const struct rx_tile *tile)
{
    struct ypi_rx_pipeline_device *d = p->on;
    uint64_t kept = 0, before = d->kept;
    enum yp_status status = p->lost ? YP_OK : learn(p, lane, tile, &kept);
    bool known = kept > 0; /* otherwise nothing counts, or, when a gain is lost, all is NaN */
    if (status != YP_OK || lane->failed)
        return status;
    d->on.quadratic.centre = d->numbers + (known ? d->at.zeros : d->at.nans);
    status = over_chunks(p, lane, tile, score_chunk);
    if (status == YP_OK && !p->lost)
        status = count_kept(d);
    lane->failed = !p->lost && d->kept - before != kept;
    bool front = p->options.normalise || p->options.select;
    return status == YP_OK && known && !lane->failed && p->backward && front ? add_front(p, lane)
                                                                             : status;
}

/* -- a pass ---------------------------------------------------------------------------------- */

/* A tile's scores to the host, when anybody asks for them, and what is made of them. */
static enum yp_status fetch(const struct rx_pipeline *p, struct ypi_rx_lane *lane)
{
    const struct ypi_rx_pipeline_device *d = p->on;
    size_t pixels = lane->tile_pixels;
    if (p->scores_out == NULL && p->logits_out == NULL && p->take == NULL && !p->calibrates)
        return YP_OK;
    /* The two stand behind each other on both sides. */
    ptrdiff_t apart = (const char *)d->keep - (const char *)d->scores;
    size_t bytes = (size_t)apart + pixels;
    assert((const char *)lane->keep - (const char *)lane->scores == apart);
    enum yp_status status = yp_device_copy(d->on.device, lane->scores, d->scores, bytes);
    if (status == YP_OK && p->take != NULL)
        status = yp_device_copy(d->on.device, p->labels, lane->tile_labels, pixels);
    if (status != YP_OK)
        return status;
    lane->tile_labels = p->labels;
    for (size_t i = 0, row = 0; i < pixels; i++)
        if (lane->keep[i])
            lane->scores[row++] = lane->scores[i];
    ypi_rx_put(p, lane, 0, pixels);
    return YP_OK;
}

static enum yp_status work(void *arg, size_t index, const struct rx_tile *tile)
{
    struct rx_pipeline *p = arg;
    struct ypi_rx_lane *lane = &p->lanes[0];
    bool by_image = p->options.detector == RX_IMAGE;
    enum yp_status status = YP_OK;
    ypi_rx_begin_tile(lane, index, tile);
    memset(lane->sums, 0, p->at.sums * sizeof *lane->sums);
    if (tile->pixels > 0)
        status = by_image ? image(p, lane, tile) : over_chunks(p, lane, tile, chunk);
    if (status == YP_OK && tile->pixels > 0 && !lane->failed)
        status = fetch(p, lane);
    if (status != YP_OK)
        return status;
    ypi_rx_end_tile(p, lane);
    ypi_rx_merge_tile(p, lane);
    for (size_t i = 0; i < p->at.sums; i++)
        p->sums[i] += lane->sums[i];
    p->on->failed = p->failed != SIZE_MAX;
    return YP_OK;
}

/* `count` doubles from `from` on; nothing when there were no pixels. */
static enum yp_status take_doubles(const struct ypi_rx_pipeline_device *d, enum yp_status before,
                                   double *to, const double *from, size_t count)
{
    return before == YP_OK ? yp_device_copy(d->on.device, to, from, count * sizeof *to) : before;
}

static enum yp_status take_gradient(const struct rx_pipeline *p)
{
    const struct ypi_rx_pipeline_device *d = p->on;
    const struct rx_pipeline_options *o = &p->options;
    const struct ypi_rx_sums *at = &p->at;
    size_t c = o->channels, h = o->hidden, w = ypi_rx_width(o);
    const double *columns = d->column_sums.all;
    enum yp_status status = YP_OK;
    if (o->detector == RX_AUTOENCODER) {
        status = take_doubles(d, status, p->sums + at->b2, columns, c);
        status = take_doubles(d, status, p->sums + at->dots, columns + c, c);
        status = take_doubles(d, status, p->sums + at->b1, d->hidden_sums.all, h);
        status = take_doubles(d, status, p->matrices + at->w2, d->cross_sums.all, c * h);
        return take_doubles(d, status, p->matrices + at->w1, d->other_sums.all, h * c);
    }
    double *gram = p->matrices + at->gram;
    status = take_doubles(d, status, p->sums + at->moment, columns, w);
    status = take_doubles(d, status, p->sums + at->dots, columns + w, w);
    status = take_doubles(d, status, gram, d->on.merge.m2, w * w);
    if (o->components > 0)
        status = take_doubles(d, status, p->matrices + at->cross, d->cross_sums.all, w * c);
    for (size_t i = 0; i < w && status == YP_OK; i++)
        for (size_t j = 0; j < i; j++)
            gram[i * w + j] = gram[j * w + i];
    return status;
}

/* Sums of all tiles to the host, where they stand as the CPU's would. */
static enum yp_status take_sums(struct rx_pipeline *p)
{
    const struct ypi_rx_pipeline_device *d = p->on;
    double all[4] = {0};
    if (d->fresh)
        return YP_OK;
    enum yp_status status = yp_device_copy(d->on.device, all, d->on.loss.all, sizeof all);
    if (status == YP_OK && p->backward && p->options.detector != RX_IMAGE)
        status = take_gradient(p);
    p->sums[p->at.loss] = all[0];
    p->sums[p->at.d] = all[1];
    p->sums[p->at.d_away] = all[2];
    p->kept = (uint64_t)all[3];
    return status;
}

enum yp_status ypi_rx_pipeline_device_pass(struct rx_pipeline *p, const char *what,
                                           const struct rx_source *source, bool labelled)
{
    struct ypi_rx_pipeline_device *d = p->on;
    d->on.unlabelled = !labelled;
    enum yp_status status = ypi_rx_device_begin(what, &d->on, source);
    if (status != YP_OK)
        return status;
    d->fresh = true;
    d->failed = p->failed != SIZE_MAX;
    d->kept = 0;
    status = give(p);
    if (status == YP_OK)
        status = ypi_rx_device_pass(what, &d->on, source, work, p, &d->failed);
    return status == YP_OK ? take_sums(p) : status;
}
