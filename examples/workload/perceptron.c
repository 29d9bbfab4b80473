/* The model in float, its oracle in double, and the way to the GPU's. */
#include "perceptron.h"

#include <string.h>
#include <tgmath.h>
#include <yieldpoint/plugin.h>

#define FUNCTION static
#define REAL float
#define NAME(name) name##_f32
#include "perceptron.inc"
#undef REAL
#undef NAME
#define REAL double
#define NAME(name) name##_f64
#include "perceptron.inc"

enum yp_status perceptron_gradient(struct yp_device *device, const struct perceptron *p,
                                   const float *w, float *losses, float *g)
{
    if (yp_device_memory_kind(device) == YP_DEVICE) {
        perceptron_function *const *cuda = yp_plugin_table("perceptron-cuda", sizeof *cuda);
        return cuda != NULL ? (*cuda)(device, p, w, losses, g) : YP_UNSUPPORTED;
    }
    memset(g, 0, perceptron_parameters(p) * sizeof *g);
    for (size_t n = 0; n < p->items; n++) {
        losses[n] = forward_f32(p, w, n);
        backward_f32(p, w, n, 1 / (float)p->items, g);
    }
    return YP_OK;
}

void perceptron_losses(void *p, const double *w, double *losses)
{
    for (size_t n = 0; n < ((struct perceptron *)p)->items; n++)
        losses[n] = forward_f64(p, w, n);
}

void perceptron_vjp(void *p, const double *w, const double *cotangent, double *g)
{
    memset(g, 0, perceptron_parameters(p) * sizeof *g);
    for (size_t n = 0; n < ((struct perceptron *)p)->items; n++) {
        forward_f64(p, w, n); /* for the hidden values it leaves in work */
        backward_f64(p, w, n, cotangent[n], g);
    }
}
