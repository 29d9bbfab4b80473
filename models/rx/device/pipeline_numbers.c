/* What a call gives the kernels of a pipeline: parameters, and what the host makes of them. */
#include "models/rx/device/parts.h"

#include <math.h>
#include <string.h>

void ypi_rx_count_numbers(const struct rx_pipeline_options *o, struct ypi_rx_numbers *at)
{
    enum { LINE = 16 };
    bool autoencoder = o->detector == RX_AUTOENCODER;
    size_t c = o->channels, inner = ypi_rx_inner_width(o), n = 0;
    size_t slices = ypi_rx_is_quadratic(o) ? rxc_square_slices((unsigned)inner) : 0;
    const struct {
        size_t *place, count;
    } rows[] = {{&at->base, c},
                {&at->rest, c},
                {&at->gain, c},
                {&at->zeros, c},
                {&at->nans, c},
                {&at->scalars, 2},
                {&at->map, ypi_rx_maps(o) ? inner * c : 0},
                {&at->map_offset, ypi_rx_maps(o) ? inner : 0},
                {&at->product, autoencoder ? c * inner : slices},
                {&at->product_offset, autoencoder ? c : 0},
                {&at->back, autoencoder ? inner * c : slices}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        *rows[i].place = n;
        n += (rows[i].count + LINE - 1) / LINE * LINE;
    }
    at->count = n;
}

static void put(float *to, const float *from, size_t count)
{
    memcpy(to, from, count * sizeof *to);
}

/* As rxc_square_slices() lie: 16 rows of 16 inputs each, an input's rows side by side. */
static void put_slices(float *to, const float *matrix, size_t width)
{
    size_t blocks = (width + RXC_ROWS - 1) / RXC_ROWS;
    for (size_t i = 0; i < blocks * blocks * RXC_SLICE; i++) {
        size_t slice = i / RXC_SLICE, row = slice / blocks * RXC_ROWS + i % RXC_ROWS;
        size_t input = slice % blocks * RXC_ROWS + i % RXC_SLICE / RXC_ROWS;
        to[i] = row < width && input < width ? matrix[row * width + input] : 0;
    }
}

static void give_layers(const struct rx_pipeline *p, float *to)
{
    const struct ypi_rx_places *from = &p->places;
    const struct ypi_rx_numbers *at = &p->on->at;
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
    const struct ypi_rx_numbers *at = &p->on->at;
    size_t width = ypi_rx_width(o);
    if (o->detector == RX_AUTOENCODER)
        give_layers(p, to);
    if (ypi_rx_is_quadratic(o))
        put_slices(to + at->product, p->parameters + from->a, width);
    if (ypi_rx_is_quadratic(o) && p->asymmetric)
        put_slices(to + at->back, p->symmetric, width);
    if (o->components > 0)
        put(to + at->map, p->map, width * o->channels);
    for (size_t i = 0; i < o->components; i++)
        to[at->map_offset + i] = -p->parameters[from->mu + i];
}

enum yp_status ypi_rx_device_give(const struct rx_pipeline *p)
{
    const struct ypi_rx_pipeline_device *d = p->on;
    const struct ypi_rx_numbers *at = &d->at;
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
    size_t count = ypi_rx_is_quadratic(&p->options) && !p->asymmetric ? at->back : at->count;
    return yp_device_copy(d->on.device, d->numbers, to, count * sizeof *to);
}
