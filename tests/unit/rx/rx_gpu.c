#include "tests/unit/rx/rx_gpu.h"

#include "models/rx/cuda/rows.h"
#include <criterion/criterion.h>

#define NEEDS(pointer_, count_) \
    cr_assert(emulated_has(pointer_, (count_) * sizeof *(pointer_)), \
              "%s: %zu elements are not the GPU's", #pointer_, (size_t)(count_))
#define MAY_NEED(pointer_, count_) \
    do { \
        if ((pointer_) != NULL) \
            NEEDS(pointer_, count_); \
    } while (0)

/* The plugin's own. */
static const struct rx_cuda *kernels(void)
{
    static const struct rx_cuda *table;
    if (table == NULL)
        table = yp_plugin_table(RXC_PLUGIN, sizeof *table);
    cr_assert_not_null(table, "%s", yp_last_error());
    return table;
}

static enum yp_status gram(struct yp_device *device, const struct rxc_gram *job)
{
    size_t blocks = rxc_ranges(job->pixels, job->range), c = job->channels;
    NEEDS(job->x, (job->pixels - 1) * job->stride + c);
    NEEDS(job->products, blocks * RXC_SQUARE * rxc_pairs(job->channels));
    NEEDS(job->mean, blocks * c);
    NEEDS(job->kept, blocks);
    NEEDS(job->skipped, blocks);
    if (job->weights != NULL) {
        NEEDS(job->weights, job->pixels);
        NEEDS(job->centre, c);
    } else {
        NEEDS(job->low, blocks * c);
        NEEDS(job->high, blocks * c);
        NEEDS(job->shift, blocks * c);
    }
    return kernels()->gram(device, job);
}

static enum yp_status merge(struct yp_device *device, const struct rxc_merge *job)
{
    NEEDS(job->m2, (size_t)job->channels * job->channels);
    NEEDS(job->products, (size_t)job->blocks * RXC_SQUARE * rxc_pairs(job->channels));
    return kernels()->merge(device, job);
}

static enum yp_status quadratic(struct yp_device *device, const struct rxc_quadratic *job)
{
    size_t blocks = rxc_pixel_blocks(job->places);
    NEEDS(job->slices,
          job->products != NULL ? rxc_square_slices(job->channels) : rxc_slices(job->channels));
    NEEDS(job->centre, job->channels);
    if (job->products != NULL) {
        NEEDS(job->products, job->pixels * job->channels);
        NEEDS(job->keep, job->pixels);
        cr_assert(job->loss);
    }
    MAY_NEED(job->scores, job->places);
    MAY_NEED(job->offset, ypk_blocks(job->channels, RXC_ROWS) * RXC_ROWS);
    if (job->loss && (job->products == NULL || job->labels != NULL)) {
        NEEDS(job->labels, job->pixels);
        NEEDS(job->scalars, 2);
        NEEDS(job->g, job->pixels);
    }
    if (job->loss) {
        NEEDS(job->sums, 3 * blocks);
        NEEDS(job->kept, blocks);
    }
    return kernels()->quadratic(device, job);
}

static enum yp_status fold(struct yp_device *device, unsigned channels, const float *a,
                           float *slices)
{
    NEEDS(a, (size_t)channels * channels);
    NEEDS(slices, rxc_slices(channels));
    return kernels()->fold(device, channels, a, slices);
}

static enum yp_status add_loss(struct yp_device *device, const struct rxc_loss *job)
{
    NEEDS(job->all, 4);
    return kernels()->add_loss(device, job);
}

static enum yp_status gradient(struct yp_device *device, const struct rxc_loss *job)
{
    size_t count = (size_t)job->channels * (job->channels + 1) + 2;
    NEEDS(job->parameters, count);
    NEEDS(job->gradient, count);
    return kernels()->gradient(device, job);
}

static enum yp_status factor(struct yp_device *device, const struct rxc_factor *job)
{
    size_t square = (size_t)job->channels * job->channels;
    NEEDS(job->m2, square);
    NEEDS(job->mean, job->channels);
    NEEDS(job->low, job->channels);
    NEEDS(job->high, job->channels);
    NEEDS(job->centre, job->channels);
    NEEDS(job->matrix, square);
    NEEDS(job->inverse, square);
    MAY_NEED(job->squares, job->channels);
    NEEDS(job->slices, rxc_slices(job->channels));
    NEEDS(job->offset, job->channels + RXC_ROWS);
    NEEDS(job->failed, 1);
    return kernels()->factor(device, job);
}

static enum yp_status gather(struct yp_device *device, const struct rxc_gather *job)
{
    NEEDS(job->x, (job->pixels - 1) * job->stride + job->channels);
    NEEDS(job->base, job->channels);
    NEEDS(job->gain, job->channels);
    NEEDS(job->rest, job->channels);
    NEEDS(job->rows, job->pixels * job->channels);
    NEEDS(job->keep, job->pixels);
    return kernels()->gather(device, job);
}

static enum yp_status linear(struct yp_device *device, const struct rxc_linear *job)
{
    NEEDS(job->in, job->pixels * job->inputs);
    NEEDS(job->w, (size_t)job->outputs * job->inputs);
    NEEDS(job->out, job->pixels * job->outputs);
    MAY_NEED(job->offset, job->outputs);
    MAY_NEED(job->less, job->pixels * job->outputs);
    return kernels()->linear(device, job);
}

static enum yp_status dots(struct yp_device *device, const struct rxc_dots *job)
{
    size_t blocks = rxc_pixel_blocks(job->pixels);
    NEEDS(job->keep, job->pixels);
    NEEDS(job->scores, job->pixels);
    NEEDS(job->sums, 3 * blocks);
    NEEDS(job->kept, blocks);
    if (job->a != NULL) {
        NEEDS(job->a, job->pixels * job->width);
        NEEDS(job->b, job->pixels * job->width);
    }
    if (job->labels != NULL) {
        NEEDS(job->labels, job->pixels);
        NEEDS(job->scalars, 2);
    }
    if (job->labels != NULL || job->own)
        NEEDS(job->g, job->pixels);
    return kernels()->dots(device, job);
}

static enum yp_status columns(struct yp_device *device, const struct rxc_columns *job)
{
    NEEDS(job->a, job->pixels * job->width);
    NEEDS(job->parts, (size_t)rxc_ranges(job->pixels, job->range) * 2 * job->width);
    MAY_NEED(job->b, job->pixels * job->width);
    MAY_NEED(job->weights, job->pixels);
    return kernels()->columns(device, job);
}

static enum yp_status cross(struct yp_device *device, const struct rxc_cross *job)
{
    NEEDS(job->a, job->pixels * job->rows);
    NEEDS(job->b, job->pixels * job->columns);
    NEEDS(job->parts, (size_t)rxc_ranges(job->pixels, job->range) * job->rows * job->columns);
    return kernels()->cross(device, job);
}

static enum yp_status parts(struct yp_device *device, const struct rxc_parts *job)
{
    NEEDS(job->all, job->count);
    if (job->doubles != NULL)
        NEEDS(job->doubles, job->blocks * job->count);
    else
        NEEDS(job->floats, job->blocks * job->count);
    return kernels()->parts(device, job);
}

const struct rx_cuda gpu_table = {.gram = gram,
                                  .merge = merge,
                                  .quadratic = quadratic,
                                  .fold = fold,
                                  .add_loss = add_loss,
                                  .gradient = gradient,
                                  .factor = factor,
                                  .gather = gather,
                                  .linear = linear,
                                  .dots = dots,
                                  .columns = columns,
                                  .cross = cross,
                                  .parts = parts};

struct yp_device *gpu_open(void)
{
    ypi_rx_set_cuda(&gpu_table);
    return emulated_device();
}

void vary(size_t i)
{
    emulated.kernels.order = i % 2 != 0 ? YPK_BACKWARDS : YPK_FORWARDS;
    emulated.kernels.garbage = i / 2 % 2 != 0 ? EMULATED_NAN : EMULATED_LARGE;
}
