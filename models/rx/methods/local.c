/* Local RX: windows that slide over blocks of the image. */
#include "models/rx/methods/local.h"

#include "models/rx/methods/window.h"
#include "models/rx/pipeline/internal.h"

#include <math.h>
#include <string.h>

#define LEAST 0x1p-36 /* part of a channel's mean square that a pivot may be */

/* One of the two windows over a block. */
struct window {
    size_t side;
    size_t first, count; /* columns of the image that it meets in this block */
    double *columns;     /* (RX_LOCAL_COLUMNS + side - 1, total): sums over its rows */
    double *sums;        /* (total) */
};

struct lane {
    struct window outer, inner;
    double *gained, *lost; /* (size): pixels as vectors */
    double *scratch;
    struct rx_local_summary found;
};

struct local {
    const struct rx_image *image;
    const struct rx_local_options *options;
    size_t size, total;
    size_t blocks_across;
    struct ypi_ring ring;
    double *base;      /* (size - 1) */
    size_t *list;      /* (size - 1): the channels that count */
    float *low, *high; /* (channels) */
    uint8_t *keep;     /* (height, width): finite pixels */
    struct lane *lanes;
    const struct ypi_window_kernels *kernels;
    float *scores;
};

/* Where a window around `at` begins: inside. */
static size_t begin_of(size_t at, size_t side, size_t length)
{
    size_t first = at > side / 2 ? at - side / 2 : 0;
    return first + side > length ? length - side : first;
}

/* z of a pixel, 0 for one that is not finite; returns whether it is. */
static bool vector_of(const struct local *job, size_t row, size_t column, double *z)
{
    const struct rx_image *image = job->image;
    size_t at = row * image->width + column, count = job->size - 1;
    const float *x = image->values + at * image->channels;
    bool finite = job->keep[at] != 0;
    for (size_t i = 0; i < count; i++)
        z[i] = finite ? (double)x[job->list[i]] - job->base[i] : 0;
    z[count] = finite;
    return finite;
}

/* -- sums ------------------------------------------------------------------------------------ */

/* Sums of all columns of a block, for the window's rows around image row `row`. */
static void begin_columns(const struct local *job, struct lane *lane, struct window *w, size_t row)
{
    size_t from = begin_of(row, w->side, job->image->height);
    memset(w->columns, 0, w->count * job->total * sizeof *w->columns);
    for (size_t c = 0; c < w->count; c++)
        for (size_t r = from; r < from + w->side; r++) {
            vector_of(job, r, w->first + c, lane->gained);
            job->kernels->add(w->columns + c * job->total, lane->gained, job->size);
        }
}

/* From the rows around row - 1 to those around row: the same ones near the border. */
static void move_columns(const struct local *job, struct lane *lane, struct window *w, size_t row)
{
    size_t from = begin_of(row - 1, w->side, job->image->height);
    if (begin_of(row, w->side, job->image->height) == from)
        return;
    for (size_t c = 0; c < w->count; c++) {
        vector_of(job, from + w->side, w->first + c, lane->gained);
        vector_of(job, from, w->first + c, lane->lost);
        job->kernels->move(w->columns + c * job->total, lane->gained, lane->lost, job->size);
    }
}

static void begin_window(const struct local *job, struct window *w)
{
    memset(w->sums, 0, job->total * sizeof *w->sums);
    for (size_t c = 0; c < w->side; c++)
        job->kernels->slide(w->sums, w->columns + c * job->total, NULL, job->total);
}

static void move_window(const struct local *job, struct window *w, size_t column)
{
    size_t from = begin_of(column - 1, w->side, job->image->width);
    if (begin_of(column, w->side, job->image->width) == from)
        return;
    const double *lost = w->columns + (from - w->first) * job->total;
    job->kernels->slide(w->sums, lost + w->side * job->total, lost, job->total);
}

/* -- blocks ---------------------------------------------------------------------------------- */

static void set_columns(struct window *w, size_t first, size_t last, size_t width)
{
    w->first = begin_of(first, w->side, width);
    w->count = begin_of(last, w->side, width) + w->side - w->first;
}

static float score_pixel(const struct local *job, struct lane *lane, size_t row, size_t column)
{
    if (!vector_of(job, row, column, lane->gained)) {
        lane->found.skipped++;
        return NAN;
    }
    double score = job->size == 1
                       ? 0
                       : job->kernels->score(&job->ring, lane->outer.sums, lane->inner.sums,
                                             lane->gained, lane->scratch);
    if (isnan(score))
        lane->found.singular++;
    else
        lane->found.scored++;
    return (float)score;
}

static enum yp_status work(void *arg, struct ypi_work_item item)
{
    const struct local *job = arg;
    struct lane *lane = &job->lanes[item.worker];
    size_t top = item.index / job->blocks_across * RX_LOCAL_ROWS;
    size_t left = item.index % job->blocks_across * RX_LOCAL_COLUMNS;
    size_t height = job->image->height, width = job->image->width;
    size_t bottom = top + RX_LOCAL_ROWS < height ? top + RX_LOCAL_ROWS : height;
    size_t right = left + RX_LOCAL_COLUMNS < width ? left + RX_LOCAL_COLUMNS : width;
    struct window *windows[] = {&lane->outer, &lane->inner};
    for (int i = 0; i < 2; i++)
        set_columns(windows[i], left, right - 1, width);
    for (size_t row = top; row < bottom; row++) {
        for (int i = 0; i < 2; i++) {
            if (row == top)
                begin_columns(job, lane, windows[i], row);
            else
                move_columns(job, lane, windows[i], row);
            begin_window(job, windows[i]);
        }
        for (size_t column = left; column < right; column++) {
            for (int i = 0; i < 2 && column > left; i++)
                move_window(job, windows[i], column);
            job->scores[row * width + column] = score_pixel(job, lane, row, column);
        }
    }
    return YP_OK;
}

/* -- the call -------------------------------------------------------------------------------- */

static enum yp_status check_window(const char *what, const char *name, size_t side)
{
    if (side % 2 == 1 && side <= RX_LOCAL_MAX_WINDOW)
        return YP_OK;
    return yp_set_error(YP_INVALID, "%s: options->%s is %zu, allowed are odd numbers from 1 to %d",
                        what, name, side, RX_LOCAL_MAX_WINDOW);
}

static enum yp_status check(const char *what, const struct rx_image *image,
                            const struct rx_local_options *options, int *threads)
{
    enum yp_status status = rx_image_check(what, image);
    if (status != YP_OK)
        return status;
    if (options == NULL)
        return yp_set_error(YP_INVALID, "%s: options is NULL", what);
    if (image->channels > RX_LOCAL_MAX_CHANNELS)
        return yp_set_error(YP_INVALID, "%s: image->channels is %zu, allowed are 1 to %d", what,
                            image->channels, RX_LOCAL_MAX_CHANNELS);
    status = check_window(what, "inner", options->inner);
    if (status == YP_OK)
        status = check_window(what, "outer", options->outer);
    if (status != YP_OK)
        return status;
    if (options->inner >= options->outer || options->outer > image->height ||
        options->outer > image->width)
        return yp_set_error(YP_INVALID,
                            "%s: windows of %zu and %zu in an image of %zu x %zu; the inner one "
                            "must be smaller than the outer one, and that no larger than the image",
                            what, options->inner, options->outer, image->height, image->width);
    if (!(options->eps >= 0) || isinf(options->eps))
        return yp_set_error(YP_INVALID, "%s: eps is %g, allowed is 0 or more", what, options->eps);
    if (!(options->shrink >= 0 && options->shrink <= 1))
        return yp_set_error(YP_INVALID, "%s: shrink is %g, allowed are 0 to 1", what,
                            options->shrink);
    *threads = options->threads;
    return ypi_rx_check(what, image->channels, 1, threads);
}

static void lay_out_window(struct window *w, struct ypi_arena *arena, size_t side, size_t total)
{
    w->side = side;
    w->columns = ypi_arena_take(arena, (RX_LOCAL_COLUMNS + side - 1) * total, sizeof *w->columns);
    w->sums = ypi_arena_take(arena, total, sizeof *w->sums);
}

/* For all channels, whether they count or not. */
static void lay_out(struct local *job, struct ypi_arena *arena, const struct rx_image *image,
                    const struct rx_local_options *options, int threads)
{
    size_t size = image->channels + 1, total = ypi_window_total(size);
    job->base = ypi_arena_take(arena, size, sizeof *job->base);
    job->list = ypi_arena_take(arena, size, sizeof *job->list);
    job->low = ypi_arena_take(arena, size, sizeof *job->low);
    job->high = ypi_arena_take(arena, size, sizeof *job->high);
    job->keep = ypi_arena_take(arena, image->height * image->width, 1);
    job->lanes = ypi_arena_take(arena, (size_t)threads, sizeof *job->lanes);
    for (int i = 0; i < threads; i++) {
        struct lane lane = {0};
        lay_out_window(&lane.outer, arena, options->outer, total);
        lay_out_window(&lane.inner, arena, options->inner, total);
        lane.gained = ypi_arena_take(arena, size, sizeof *lane.gained);
        lane.lost = ypi_arena_take(arena, size, sizeof *lane.lost);
        lane.scratch = ypi_arena_take(arena, ypi_window_scratch(size), sizeof *lane.scratch);
        if (arena->base != NULL)
            job->lanes[i] = lane;
    }
}

static size_t bytes_of(const struct rx_image *image, const struct rx_local_options *options,
                       int threads)
{
    struct ypi_arena arena = {0};
    struct local job;
    lay_out(&job, &arena, image, options, threads);
    return arena.used;
}

size_t rx_local_bytes(const struct rx_image *image, const struct rx_local_options *options)
{
    int threads;
    if (check("rx_local_bytes", image, options, &threads) != YP_OK)
        return 0;
    return bytes_of(image, options, threads);
}

/* What is finite, the base, and the channels that count: one pass over the image. */
static enum yp_status survey(struct local *job, double *range)
{
    const struct rx_image *image = job->image;
    const struct ypi_pixel_kernels *pixels = ypi_pixel_kernels();
    size_t channels = image->channels, kept = 0, count = 0;
    float least = INFINITY, most = -INFINITY;
    for (size_t c = 0; c < channels; c++) {
        job->base[c] = 0;
        job->low[c] = INFINITY;
        job->high[c] = -INFINITY;
    }
    for (size_t r = 0; r < image->height; r++)
        kept +=
            pixels->moments(image->values + r * image->width * channels, channels, image->width,
                            channels, job->base, job->low, job->high, job->keep + r * image->width);
    if (kept < 2)
        return yp_set_error(YP_INVALID,
                            "rx_local: %zu finite pixels (%zu skipped), it takes 2 at least", kept,
                            image->height * image->width - kept);
    for (size_t c = 0; c < channels; c++) {
        bool dead = job->low[c] == job->high[c];
        least = fminf(least, job->low[c]);
        most = fmaxf(most, job->high[c]);
        if (dead && job->options->eps == 0 && !job->options->mask_dead)
            return yp_set_error(YP_INVALID,
                                "rx_local: channel %zu is dead, all its %zu values are %g; leave "
                                "it out (mask_dead) or use eps > 0",
                                c, kept, (double)job->low[c]);
        if (dead && job->options->mask_dead)
            continue;
        job->base[count] = job->base[c] / (double)kept;
        job->list[count++] = c;
    }
    job->size = count + 1;
    *range = ypi_rx_extent((double)least, (double)most);
    return YP_OK;
}

/* How rings become scores; refuses what no ring could be. */
static enum yp_status set_ring(struct local *job, double range)
{
    const struct rx_local_options *options = job->options;
    size_t channels = job->size - 1;
    size_t pixels = options->outer * options->outer - options->inner * options->inner;
    bool regular = options->eps > 0 || options->shrink > 0;
    if (!regular && pixels <= channels)
        return yp_set_error(YP_INVALID,
                            "rx_local: %zu pixels between windows of %zu and %zu cannot give a "
                            "covariance of %zu channels full rank; use a larger outer window, eps "
                            "> 0 or shrink > 0",
                            pixels, options->inner, options->outer, channels);
    job->total = ypi_window_total(job->size);
    job->ring = (struct ypi_ring){.size = job->size,
                                  .ridge = options->eps * range * range,
                                  .keep = 1 - options->shrink,
                                  .least = LEAST,
                                  .fewest = regular ? 2 : (double)(channels + 1)};
    return YP_OK;
}

static enum yp_status run(struct local *job, int threads, struct rx_local_summary *summary)
{
    size_t height = job->image->height, width = job->image->width;
    size_t down = (height + RX_LOCAL_ROWS - 1) / RX_LOCAL_ROWS;
    job->blocks_across = (width + RX_LOCAL_COLUMNS - 1) / RX_LOCAL_COLUMNS;
    enum yp_status status = ypi_pass_run(&(struct ypi_pass){
        .items = down * job->blocks_across, .workers = threads, .work = work, .arg = job});
    for (int i = 0; i < threads && status == YP_OK && summary != NULL; i++) {
        summary->scored += job->lanes[i].found.scored;
        summary->skipped += job->lanes[i].found.skipped;
        summary->singular += job->lanes[i].found.singular;
    }
    return status;
}

enum yp_status rx_local(struct yp_device *device, const struct rx_image *image,
                        const struct rx_local_options *options, float *scores,
                        struct rx_local_summary *summary)
{
    int threads;
    double range = 0;
    if (scores == NULL)
        return yp_set_error(YP_INVALID, "rx_local: scores is NULL");
    enum yp_status status = check("rx_local", image, options, &threads);
    if (status == YP_OK)
        status = ypi_check_host("rx_local", device);
    if (status != YP_OK)
        return status;
    struct ypi_arena arena = {.base = yp_device_alloc(device, bytes_of(image, options, threads))};
    if (arena.base == NULL)
        return YP_OUT_OF_MEMORY;
    struct local job = {.image = image, .options = options, .scores = scores};
    lay_out(&job, &arena, image, options, threads);
    job.kernels = ypi_window_kernels();
    if (summary != NULL)
        *summary = (struct rx_local_summary){0};
    status = survey(&job, &range);
    if (status == YP_OK)
        status = set_ring(&job, range);
    if (status == YP_OK)
        status = run(&job, threads, summary);
    yp_device_free(device, arena.base);
    return status;
}
