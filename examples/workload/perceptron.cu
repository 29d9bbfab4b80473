#include "perceptron.h"

#include <yieldpoint/plugin.h>

#define FUNCTION static __device__
#define REAL float
#define NAME(name) name##_item
#include "perceptron.inc"

static const struct yp_plugin_host *host;

static __global__ void forward(struct perceptron p, const float *w, float *losses)
{
    size_t n = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (n < p.items)
        losses[n] = forward_item(&p, w, n);
}

/* A thread has an element of the gradient: items are summed in their order, so the bits repeat. */
static __global__ void backward(struct perceptron p, const float *w, float *g)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    size_t b = p.hidden * p.inputs, v = b + p.hidden, c = v + p.hidden;
    if (at > c)
        return;
    size_t k = at < b ? at / p.inputs : at < v ? at - b : at - v;
    float sum = 0;
    for (size_t n = 0; n < p.items; n++) {
        const float *h = (const float *)p.work + n * (p.hidden + 1);
        float d = (1 / (1 + expf(-h[p.hidden])) - p.y[n]) / (float)p.items;
        float back = at < v ? d * w[v + k] * (1 - h[k] * h[k]) : at < c ? d * h[k] : d;
        sum += at < b ? back * p.x[n * p.inputs + at % p.inputs] : back;
    }
    g[at] = sum;
}

static enum yp_status gradient(struct yp_device *device, const struct perceptron *p, const float *w,
                               float *losses, float *g)
{
    cudaStream_t stream = yp_plugin_stream(host, device);
    forward<<<(unsigned)(p->items / 64 + 1), 64, 0, stream>>>(*p, w, losses);
    backward<<<(unsigned)(perceptron_parameters(p) / 64 + 1), 64, 0, stream>>>(*p, w, g);
    return yp_plugin_launched(host, "perceptron");
}

static perceptron_function *const table = gradient;
YP_PLUGIN("perceptron-cuda", table, host)
