/* The detection loss in plain loops, in double and in float. */
#include "models/rx/internal.h"

#include <math.h>

#define REAL double
#define EXP exp
#define LOG1P log1p
#define NAME(name) name##_f64
#include "models/rx/detector/plain_loss.inc"
#undef REAL
#undef EXP
#undef LOG1P
#undef NAME

#define REAL float
#define EXP expf
#define LOG1P log1pf
#define NAME(name) name##_f32
#include "models/rx/detector/plain_loss.inc"

size_t rx_loss_parameters(size_t channels)
{
    return channels + channels * channels + 2;
}

void rx_loss_tensors(size_t channels, struct yp_tensor tensors[RX_LOSS_TENSORS])
{
    size_t end = channels + channels * channels;
    tensors[0] = (struct yp_tensor){"mu", 0, channels};
    tensors[1] = (struct yp_tensor){"A", channels, channels * channels};
    tensors[2] = (struct yp_tensor){"scale", end, 1};
    tensors[3] = (struct yp_tensor){"bias", end + 1, 1};
}

void rx_loss_plain(void *tile, const double *x, double *losses)
{
    losses_f64(tile, x, losses);
}

void rx_loss_plain_vjp(void *tile, const double *x, const double *cotangent, double *gradient)
{
    backward_f64(tile, x, cotangent, gradient);
}

void rx_loss_plain_f32(const struct rx_tile *tile, const float *x, float *losses)
{
    losses_f32(tile, x, losses);
}

void rx_loss_plain_vjp_f32(const struct rx_tile *tile, const float *x, const float *cotangent,
                           float *gradient)
{
    backward_f32(tile, x, cotangent, gradient);
}
