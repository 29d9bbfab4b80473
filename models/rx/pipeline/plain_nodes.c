/* The nodes by kind: each is an operator of models/nn, or a few in a chain. */
#include "models/rx/pipeline/plain_nodes.h"

#include "models/rx/pipeline/internal.h"

#include <string.h>

/* NULL: the autoencoder, which is two linear layers and the mean squared error. */
static const struct nn_operator *const operators[RX_NODE_KINDS] = {
    [RX_NODE_MINMAX] = &nn_minmax,   [RX_NODE_SELECTOR] = &nn_selector,
    [RX_NODE_PCA] = &nn_pca,         [RX_NODE_QUADRATIC] = &nn_quadratic,
    [RX_NODE_IMAGE] = &ypi_rx_image, [RX_NODE_LOGIT] = &nn_logit,
    [RX_NODE_LOSS] = &nn_bce,        [RX_NODE_ORTHOGONAL] = &nn_orthogonality,
    [RX_NODE_AUTOENCODER] = NULL,
};

static struct nn_shape shape_of(const struct rx_node *node)
{
    struct nn_shape shape = {0};
    const char *dims = operators[node->kind]->dims;
    for (int i = 0; dims[i] != '\0'; i++)
        shape.size[i] = dims[i] == 'c'              ? node->channels
                        : dims[i] == 'k'            ? node->width
                        : strchr(dims, 'c') != NULL ? node->pixels
                                                    : node->pixels * node->channels;
    shape.setting[0] = node->kind == RX_NODE_MINMAX     ? YPI_RX_LEAST_RANGE
                       : node->kind == RX_NODE_SELECTOR ? node->keep
                       : node->kind == RX_NODE_IMAGE    ? node->eps
                                                        : 10; /* of the loss */
    return shape;
}

size_t rx_node_inputs(const struct rx_node *node)
{
    return node->kind == RX_NODE_ORTHOGONAL ? 0 : node->pixels * node->channels;
}

size_t rx_node_outputs(const struct rx_node *node)
{
    if (node->kind == RX_NODE_AUTOENCODER)
        return node->pixels;
    const struct nn_operator *op = operators[node->kind];
    struct nn_shape shape = shape_of(node);
    return nn_count(op, &op->tensors[nn_tensors(op) - 1], &shape);
}

/* Of the autoencoder, for all pixels: hidden values and outputs, and the cotangents of both. */
size_t rx_node_work(const struct rx_node *node)
{
    if (node->kind == RX_NODE_AUTOENCODER)
        return 2 * node->pixels * (node->width + node->channels);
    const struct nn_operator *op = operators[node->kind];
    struct nn_shape shape = shape_of(node);
    return op->plain_work != NULL ? op->plain_work(&shape) / sizeof(double) : 0;
}

static size_t autoencoder_tensors(const struct rx_node *node, struct yp_tensor *tensors)
{
    size_t x = rx_node_inputs(node), w = node->width * node->channels;
    const struct yp_tensor all[] = {{"x", 0, x},
                                    {"W1", x, w},
                                    {"b1", x + w, node->width},
                                    {"W2", x + w + node->width, w},
                                    {"b2", x + 2 * w + node->width, node->channels}};
    size_t first = x == 0, count = sizeof all / sizeof *all - first;
    memcpy(tensors, all + first, count * sizeof *all);
    return count;
}

size_t rx_node_tensors(const struct rx_node *node, struct yp_tensor tensors[RX_NODE_TENSORS])
{
    if (node->kind == RX_NODE_AUTOENCODER)
        return autoencoder_tensors(node, tensors);
    const struct nn_operator *op = operators[node->kind];
    struct nn_shape shape = shape_of(node);
    size_t n = 0, offset = 0;
    for (int i = 0; i < nn_tensors(op); i++) {
        size_t count = nn_count(op, &op->tensors[i], &shape);
        if (!nn_has_gradient(&op->tensors[i]) || count == 0)
            continue;
        tensors[n++] = (struct yp_tensor){op->tensors[i].name, offset, count};
        offset += count;
    }
    return n;
}

size_t rx_node_parameters(const struct rx_node *node)
{
    struct yp_tensor tensors[RX_NODE_TENSORS];
    size_t n = rx_node_tensors(node, tensors);
    return n == 0 ? 0 : tensors[n - 1].offset + tensors[n - 1].count - rx_node_inputs(node);
}

/* -- one operator ------------------------------------------------------------------------------ */

/* What a node reads, which an operator's call has no const for. */
static void *readable(const void *values)
{
    return (void *)(uintptr_t)values;
}

static void *at(const void *values, size_t index, bool wide)
{
    return (char *)readable(values) + index * (wide ? sizeof(double) : sizeof(float));
}

static void run_one(const struct rx_node *node, bool wide, const void *x, const void *p, void *y,
                    const void *c, void *dx, void *dp)
{
    const struct nn_operator *op = operators[node->kind];
    struct nn_shape shape = shape_of(node);
    struct nn_call call = {.shape = &shape, .work = node->work};
    size_t offset = 0;
    for (int i = 0; i < nn_tensors(op); i++) {
        enum nn_role role = op->tensors[i].role;
        call.value[i] = role == NN_INPUT       ? readable(x)
                        : role == NN_PARAMETER ? at(p, offset, wide)
                        : role == NN_CONSTANT  ? readable(node->labels)
                                               : y;
        call.gradient[i] = role == NN_INPUT       ? dx
                           : role == NN_PARAMETER ? (dp != NULL ? at(dp, offset, wide) : NULL)
                           : role == NN_OUTPUT    ? readable(c)
                                                  : NULL;
        offset += role == NN_PARAMETER ? nn_count(op, &op->tensors[i], &shape) : 0;
    }
    if (c == NULL)
        (wide ? op->oracle : op->plain)(&call);
    else
        (wide ? op->oracle_vjp : op->plain_vjp)(&call);
}

/* -- the autoencoder --------------------------------------------------------------------------- */

/* Its operators, inputs first: x -> hidden -> out, and the loss of out against x. */
struct autoencoder {
    struct nn_shape encoder, decoder, error;
    struct nn_call encode, decode, judge;
};

static void autoencoder_bind(const struct rx_node *node, bool wide, const void *x, const void *p,
                             void *y, struct autoencoder *a)
{
    size_t n = node->pixels, c = node->channels, h = node->width;
    void *hidden = node->work, *out = at(hidden, n * h, wide);
    *a = (struct autoencoder){
        .encoder = {.size = {n, h, c}}, .decoder = {.size = {n, c, h}}, .error = {.size = {n, c}}};
    a->encode = (struct nn_call){.value = {readable(x), readable(p), at(p, h * c, wide), hidden}};
    a->decode = (struct nn_call){
        .value = {hidden, at(p, h * c + h, wide), at(p, 2 * h * c + h, wide), out}};
    a->judge = (struct nn_call){.value = {out, readable(x), y}};
    a->encode.shape = &a->encoder;
    a->decode.shape = &a->decoder;
    a->judge.shape = &a->error;
}

static void autoencoder_forward(struct autoencoder *a, bool wide)
{
    (wide ? nn_linear.oracle : nn_linear.plain)(&a->encode);
    (wide ? nn_linear.oracle : nn_linear.plain)(&a->decode);
    if (a->judge.value[2] != NULL)
        (wide ? nn_mse.oracle : nn_mse.plain)(&a->judge);
}

static void autoencoder_vjp(const struct rx_node *node, bool wide, struct autoencoder *a,
                            const void *cotangent, void *dx, void *dp)
{
    size_t n = node->pixels, c = node->channels, h = node->width;
    void *out = a->judge.value[0], *dhidden = at(out, n * c, wide),
         *dout = at(dhidden, n * h, wide);
    nn_plain *linear_vjp = wide ? nn_linear.oracle_vjp : nn_linear.plain_vjp;
    void *judge[] = {dout, dx, readable(cotangent)};
    void *decode[] = {dhidden, at(dp, h * c + h, wide), at(dp, 2 * h * c + h, wide), dout};
    void *encode[] = {out, dp, at(dp, h * c, wide), dhidden}; /* its dx where out is done with */
    memcpy(a->judge.gradient, judge, sizeof judge);
    memcpy(a->decode.gradient, decode, sizeof decode);
    memcpy(a->encode.gradient, encode, sizeof encode);
    autoencoder_forward(a, wide);
    (wide ? nn_mse.oracle_vjp : nn_mse.plain_vjp)(&a->judge);
    linear_vjp(&a->decode);
    linear_vjp(&a->encode);
    for (size_t i = 0; i < n * c; i++) /* x is input and target */
        if (wide)
            ((double *)dx)[i] += ((double *)out)[i];
        else
            ((float *)dx)[i] += ((float *)out)[i];
}

/* -- any node ---------------------------------------------------------------------------------- */

void ypi_rx_node_forward(const struct rx_node *node, bool wide, const void *x, const void *p,
                         void *y)
{
    struct autoencoder a;
    if (node->kind != RX_NODE_AUTOENCODER) {
        run_one(node, wide, x, p, y, NULL, NULL, NULL);
        return;
    }
    autoencoder_bind(node, wide, x, p, y, &a);
    autoencoder_forward(&a, wide);
}

void ypi_rx_node_vjp(const struct rx_node *node, bool wide, const void *x, const void *p,
                     const void *c, void *dx, void *dp)
{
    struct autoencoder a;
    if (node->kind != RX_NODE_AUTOENCODER) {
        run_one(node, wide, x, p, NULL, c, dx, dp);
        return;
    }
    autoencoder_bind(node, wide, x, p, NULL, &a);
    autoencoder_vjp(node, wide, &a, c, dx, dp);
}

void rx_node_plain(void *node, const double *x, double *y)
{
    ypi_rx_node_forward(node, true, x, x + rx_node_inputs(node), y);
}

void rx_node_plain_vjp(void *node, const double *x, const double *cotangent, double *gradient)
{
    size_t inputs = rx_node_inputs(node);
    ypi_rx_node_vjp(node, true, x, x + inputs, cotangent, gradient, gradient + inputs);
}

void rx_node_plain_f32(const struct rx_node *node, const float *x, float *y)
{
    ypi_rx_node_forward(node, false, x, x + rx_node_inputs(node), y);
}

void rx_node_plain_vjp_f32(const struct rx_node *node, const float *x, const float *cotangent,
                           float *gradient)
{
    size_t inputs = rx_node_inputs(node);
    ypi_rx_node_vjp(node, false, x, x + inputs, cotangent, gradient, gradient + inputs);
}
