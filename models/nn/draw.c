/* Values of a domain, and values in the types of memory. */
#include "models/nn/draw.h"

#include "models/nn/types.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A sum of four uniform numbers: exact arithmetic but for one product. */
static double bell(struct ypi_seed *seed)
{
    double sum = -2;
    for (int i = 0; i < 4; i++)
        sum += ypi_seed_uniform(seed);
    return sum * 1.7320508075688772;
}

static double size_below(const struct nn_operator *op, const struct nn_shape *shape,
                         const struct nn_domain *d)
{
    return (double)shape->size[strchr(op->dims, d->below) - op->dims];
}

double nn_draw(const struct nn_operator *op, const struct nn_shape *shape,
               const struct nn_domain *d, struct ypi_seed *seed)
{
    double low = d->low, high = d->high;
    if (d->below != 0)
        high = size_below(op, shape, d) + (d->draw == NN_OFFSETS);
    if (d->draw == NN_BELL) {
        double value = low + (high != 0 ? high : 1) * bell(seed);
        return value + copysign(d->gap, value);
    }
    double value = low + (high - low) * ypi_seed_uniform(seed);
    return d->draw == NN_UNIFORM ? value : floor(value);
}

static int ascending(const void *a, const void *b)
{
    const int32_t left = *(const int32_t *)a, right = *(const int32_t *)b;
    return (left > right) - (left < right);
}

void nn_draw_offsets(const struct nn_operator *op, const struct nn_shape *shape,
                     const struct nn_domain *d, int32_t *values, size_t count)
{
    if (d->draw != NN_OFFSETS || count == 0)
        return;
    values[0] = 0;
    values[count - 1] = (int32_t)size_below(op, shape, d);
    qsort(values, count, sizeof *values, ascending);
}

float nn_round(double value, enum nn_type type)
{
    return type == NN_BFLOAT16  ? nn_from_bf16(nn_to_bf16((float)value))
           : type == NN_FLOAT16 ? nn_as_fp16((float)value)
                                : (float)value;
}

void nn_store(void *to, enum nn_type type, size_t i, double value)
{
    switch (type) {
    case NN_BFLOAT16:
    case NN_FLOAT16:
        nn_put(to, i, (float)value, type);
        break;
    case NN_UINT8:
        ((uint8_t *)to)[i] = (uint8_t)value;
        break;
    case NN_SINT8:
        ((int8_t *)to)[i] = (int8_t)value;
        break;
    case NN_INT32:
        ((int32_t *)to)[i] = (int32_t)value;
        break;
    case NN_DOUBLE:
        ((double *)to)[i] = value;
        break;
    default:
        ((float *)to)[i] = (float)value;
    }
}

float nn_load(const void *from, enum nn_type type, size_t i)
{
    return nn_get(from, i, type);
}
