/* What fills the inputs of an operator, and reads its results, for point.c. */
#pragma once

#include "base/numbers/splitmix.h"
#include "models/nn/operator.h"

/* A value of the domain: of the seed alone, the same bits on every machine. */
double nn_draw(const struct nn_operator *op, const struct nn_shape *shape,
               const struct nn_domain *domain, struct ypi_seed *seed);

/* Makes whole numbers that were drawn of NN_OFFSETS what those are; of other domains, nothing. */
void nn_draw_offsets(const struct nn_operator *op, const struct nn_shape *shape,
                     const struct nn_domain *domain, int32_t *values, size_t count);

/* The nearest number that the type has, float or 16 bits. */
float nn_round(double value, enum nn_type type);

/* Element i of an array of the type; reading is of float and 16 bits alone. */
void nn_store(void *to, enum nn_type type, size_t i, double value);
float nn_load(const void *from, enum nn_type type, size_t i);
