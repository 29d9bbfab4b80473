/* An image in tiles that overlap. */
#include "models/refiner/tiles.h"

enum yp_status refiner_check_tiling(const struct refiner_tiling *t)
{
    if (t->shrink < 1 || t->rows % t->shrink != 0 || t->columns % t->shrink != 0 ||
        t->tile % t->shrink != 0)
        return yp_set_error(YP_INVALID,
                            "%zu x %zu pixels in tiles of %zu: must be multiples of "
                            "%zu",
                            t->rows, t->columns, t->tile, t->shrink);
    if (t->tile < 1 || t->tile > t->rows || t->tile > t->columns)
        return yp_set_error(YP_INVALID,
                            "tile is %zu: must be 1 at least and within the image's "
                            "%zu x %zu pixels",
                            t->tile, t->rows, t->columns);
    if (t->overlap > t->tile - t->shrink)
        return yp_set_error(YP_INVALID, "overlap is %zu: must be at most %zu", t->overlap,
                            t->tile - t->shrink);
    return YP_OK;
}

/* From one tile to the next one. */
static size_t stride(const struct refiner_tiling *t)
{
    return (t->tile - t->overlap) / t->shrink * t->shrink;
}

static size_t along(const struct refiner_tiling *t, size_t size)
{
    return 1 + (size - t->tile + stride(t) - 1) / stride(t);
}

static size_t place(const struct refiner_tiling *t, size_t size, size_t i)
{
    const size_t at = i * stride(t);
    return at < size - t->tile ? at : size - t->tile;
}

size_t refiner_tiles(const struct refiner_tiling *t)
{
    return along(t, t->rows) * along(t, t->columns);
}

void refiner_tile(const struct refiner_tiling *t, size_t i, size_t *row, size_t *column)
{
    const size_t across = along(t, t->columns);
    *row = place(t, t->rows, i / across);
    *column = place(t, t->columns, i % across);
}

void refiner_tile_new(const struct refiner_tiling *t, size_t i, size_t *row, size_t *column)
{
    const size_t across = along(t, t->columns), down = i / across, right = i % across;
    size_t at;
    refiner_tile(t, i, row, column);
    at = *row;
    *row = down > 0 ? place(t, t->rows, down - 1) + t->tile - at : 0;
    at = *column;
    *column = right > 0 ? place(t, t->columns, right - 1) + t->tile - at : 0;
}

/* The distance of pixel i of `side` from the nearer edge, up to `most`. */
static float ramp(size_t i, size_t side, size_t most)
{
    const size_t near = i < side - 1 - i ? i : side - 1 - i;
    return (float)((near < most ? near : most) + 1);
}

void refiner_merge_add(const struct refiner_merge *m, size_t i, const float *values)
{
    const struct refiner_tiling *t = m->tiling;
    const size_t side = t->tile / t->shrink, most = t->overlap / t->shrink;
    size_t row, column;
    refiner_tile(t, i, &row, &column);
    for (size_t r = 0; r < side; r++)
        for (size_t c = 0; c < side; c++, values += m->channels) {
            const size_t at =
                (row / t->shrink + r) * (t->columns / t->shrink) + column / t->shrink + c;
            const float weight = ramp(r, side, most) * ramp(c, side, most);
            m->weight[at] += weight;
            for (size_t k = 0; k < m->channels; k++)
                m->sum[at * m->channels + k] += weight * values[k];
        }
}

void refiner_merge_end(const struct refiner_merge *m)
{
    const size_t pixels =
        m->tiling->rows / m->tiling->shrink * (m->tiling->columns / m->tiling->shrink);
    for (size_t i = 0; i < pixels; i++)
        for (size_t k = 0; k < m->channels; k++)
            m->sum[i * m->channels + k] /= m->weight[i];
}
