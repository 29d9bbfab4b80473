/* The nodes in plain loops, in double and in float, by kind. */
#include "models/rx/pipeline/internal.h"

#include <math.h>

#define REAL double
#define EXP exp
#define LOG1P log1p
#define FABS fabs
#define NAME(name) name##_f64
#include "models/rx/pipeline/plain_nodes.inc"
#undef REAL
#undef EXP
#undef LOG1P
#undef FABS
#undef NAME

#define REAL float
#define EXP expf
#define LOG1P log1pf
#define FABS fabsf
#define NAME(name) name##_f32
#include "models/rx/pipeline/plain_nodes.inc"

#define BOTH(name) \
    { \
        name##_f64, name##_vjp_f64, name##_f32, name##_vjp_f32 \
    }
const struct ypi_rx_plain_node ypi_rx_plain_nodes[RX_NODE_KINDS] = {
    [RX_NODE_MINMAX] = BOTH(minmax),
    [RX_NODE_SELECTOR] = BOTH(selector),
    [RX_NODE_PCA] = BOTH(pca),
    [RX_NODE_QUADRATIC] = BOTH(quadratic),
    [RX_NODE_IMAGE] = BOTH(image),
    [RX_NODE_AUTOENCODER] = BOTH(autoencoder),
    [RX_NODE_LOGIT] = BOTH(logit),
    [RX_NODE_LOSS] = BOTH(loss),
    [RX_NODE_ORTHOGONAL] = BOTH(orthogonal),
};

size_t rx_node_inputs(const struct rx_node *node)
{
    return node->kind == RX_NODE_ORTHOGONAL ? 0 : node->pixels * node->channels;
}

size_t rx_node_outputs(const struct rx_node *node)
{
    switch (node->kind) {
    case RX_NODE_MINMAX:
    case RX_NODE_SELECTOR:
        return node->pixels * node->channels;
    case RX_NODE_PCA:
        return node->pixels * node->width;
    case RX_NODE_ORTHOGONAL:
        return 1;
    default:
        return node->pixels;
    }
}

size_t rx_node_work(const struct rx_node *node)
{
    if (node->kind == RX_NODE_IMAGE)
        return node->channels + 3 * node->channels * node->channels;
    return node->kind == RX_NODE_AUTOENCODER ? 2 * node->width + node->channels : 0;
}

/* The tensors of a kind: name, and size as powers of channels and width. */
struct shape {
    const char *name;
    int channels, width;
};

static const struct shape shapes[RX_NODE_KINDS][4] = {
    [RX_NODE_MINMAX] = {{"min", 0, 0}, {"max", 0, 0}},
    [RX_NODE_SELECTOR] = {{"logits", 1, 0}, {"temperature", 0, 0}},
    [RX_NODE_PCA] = {{"mean", 1, 0}, {"W", 1, 1}},
    [RX_NODE_QUADRATIC] = {{"mu", 1, 0}, {"A", 2, 0}},
    [RX_NODE_AUTOENCODER] = {{"W1", 1, 1}, {"b1", 0, 1}, {"W2", 1, 1}, {"b2", 1, 0}},
    [RX_NODE_LOGIT] = {{"scale", 0, 0}, {"bias", 0, 0}},
    [RX_NODE_ORTHOGONAL] = {{"W", 1, 1}},
};

size_t rx_node_tensors(const struct rx_node *node, struct yp_tensor tensors[YP_MAX_TENSORS])
{
    size_t n = 0, offset = rx_node_inputs(node);
    if (offset > 0)
        tensors[n++] = (struct yp_tensor){"x", 0, offset};
    for (int i = 0; i < 4 && shapes[node->kind][i].name != NULL; i++) {
        const struct shape *shape = &shapes[node->kind][i];
        size_t count = shape->width == 1 ? node->width : 1;
        for (int k = 0; k < shape->channels; k++)
            count *= node->channels;
        tensors[n++] = (struct yp_tensor){shape->name, offset, count};
        offset += count;
    }
    return n;
}

size_t rx_node_parameters(const struct rx_node *node)
{
    struct yp_tensor tensors[YP_MAX_TENSORS];
    size_t n = rx_node_tensors(node, tensors);
    return n == 0 ? 0 : tensors[n - 1].offset + tensors[n - 1].count - rx_node_inputs(node);
}

void rx_node_plain(void *node, const double *x, double *y)
{
    const struct rx_node *n = node;
    ypi_rx_plain_nodes[n->kind].forward(n, x, x + rx_node_inputs(n), y);
}

void rx_node_plain_vjp(void *node, const double *x, const double *cotangent, double *gradient)
{
    const struct rx_node *n = node;
    size_t inputs = rx_node_inputs(n);
    ypi_rx_plain_nodes[n->kind].backward(n, x, x + inputs, cotangent, gradient, gradient + inputs);
}

void rx_node_plain_f32(const struct rx_node *node, const float *x, float *y)
{
    ypi_rx_plain_nodes[node->kind].forward_f32(node, x, x + rx_node_inputs(node), y);
}

void rx_node_plain_vjp_f32(const struct rx_node *node, const float *x, const float *cotangent,
                           float *gradient)
{
    size_t inputs = rx_node_inputs(node);
    ypi_rx_plain_nodes[node->kind].backward_f32(node, x, x + inputs, cotangent, gradient,
                                                gradient + inputs);
}
