#include "tests/unit/rx/rx_fixture.h"

#include <math.h>

uint64_t words(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* (0, 1) */
static double uniform(uint64_t *state)
{
    return ((double)(words(state) >> 12) + 0.5) * 0x1p-52;
}

double normal(uint64_t *state)
{
    double r = sqrt(-2 * log(uniform(state)));
    return r * cos(6.283185307179586 * uniform(state));
}

double script_uniform(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 40) / 16777216;
}

void *block(size_t count, size_t size)
{
    void *p = calloc(count > 0 ? count : 1, size);
    cr_assert_not_null(p);
    return p;
}

void scene_free(struct scene *s)
{
    free(s->values);
    free(s->labels);
}

static size_t stride_of(const struct scene *s)
{
    return s->stride > 0 ? s->stride : s->channels;
}

enum yp_status scene_yield(void *arg, size_t index, float *values, uint8_t *labels,
                           struct rx_tile *tile)
{
    const struct scene *s = arg;
    size_t first = index * s->tile_pixels, stride = stride_of(s);
    if (s->fail_from > 0 && index >= s->fail_from)
        return yp_set_error(YP_IO, "tile %zu cannot be read", index);
    if (first >= s->pixels)
        return YP_OK; /* an empty tile */
    tile->pixels = s->pixels - first < s->tile_pixels ? s->pixels - first : s->tile_pixels;
    if (s->copy) {
        for (size_t p = 0; p < tile->pixels; p++)
            memcpy(values + p * s->channels, s->values + (first + p) * stride,
                   s->channels * sizeof *values);
        if (labels != NULL)
            memcpy(labels, s->labels + first, tile->pixels);
    } else {
        tile->values = s->values + first * stride;
        tile->labels = s->unlabelled || s->labels == NULL ? NULL : s->labels + first;
        tile->stride = s->stride;
    }
    tile->pixels += s->extra;
    return YP_OK;
}

struct rx_source source_of(struct scene *s)
{
    return (struct rx_source){s->channels, s->tile_pixels,
                              (s->pixels + s->tile_pixels - 1) / s->tile_pixels, scene_yield, s};
}

struct rx_tile tile_of(const struct scene *s)
{
    return (struct rx_tile){s->values, s->pixels, s->channels, s->labels, s->stride};
}

struct rx *detector_for(const struct scene *s, int threads)
{
    struct rx *rx = rx_create(yp_device_cpu(), s->channels, s->tile_pixels, threads);
    cr_assert_not_null(rx, "%s", yp_last_error());
    return rx;
}
