/*
 * A perceptron of two layers that tells two classes apart. For an item x with label y in {0, 1}:
 *     h = tanh(W x + b),  l = v . h + c,  loss = ln(1 + e^l) - l y   (binary cross-entropy)
 * Its parameters are one vector w: W (hidden, inputs), b (hidden), v (hidden), c.
 */
#include <yieldpoint/device.h>

struct perceptron {
    size_t items, inputs, hidden;
    const float *x, *y; /* (items, inputs), (items): in the memory of the device that reads them */
    void *work;         /* (items, hidden + 1) of the precision: hidden values and logits */
};

static inline size_t perceptron_parameters(const struct perceptron *p)
{
    return p->hidden * (p->inputs + 2) + 1;
}

/* Writes the loss of each item, and g, the gradient of their mean by w. All pointers are the
 * device's; a GPU is only told to begin. YP_UNSUPPORTED where its plugin is not there. */
typedef enum yp_status perceptron_function(struct yp_device *device, const struct perceptron *p,
                                           const float *w, float *losses, float *g);
perceptron_function perceptron_gradient;

/* The oracle, on the host in double: the losses of struct perceptron `p`, and J^T cotangent. */
void perceptron_losses(void *p, const double *w, double *losses);
void perceptron_vjp(void *p, const double *w, const double *cotangent, double *g);
