/* The nodes as operators of models/nn, in one precision or the other. */
#ifndef YPI_RX_PLAIN_NODES_H
#define YPI_RX_PLAIN_NODES_H

#include "models/nn/operator.h"
#include "models/rx/pipeline/nodes.h"

/* RX with the statistics of the image itself (plain_image.c): of RX alone, so in no table. */
extern const struct nn_operator ypi_rx_image;

/* Input x, parameters p and output y of a node, cotangent c of y; all elements are double when
 * `wide`, else float. The vjp writes all of dx and dp. */
void ypi_rx_node_forward(const struct rx_node *node, bool wide, const void *x, const void *p,
                         void *y);
void ypi_rx_node_vjp(const struct rx_node *node, bool wide, const void *x, const void *p,
                     const void *c, void *dx, void *dp);

#endif
