/* What the files of the command share. */
#pragma once

#include "models/lm/plan.h"

/* What a file says of a model. */
struct ypi_lm_config {
    struct lm_config model;
    size_t context; /* tokens of a sequence, at most; 0: any number */
};

struct ypi_lm_request {
    struct lm_options options; /* of a plan: batch and context too */
    size_t longest;            /* the configuration's context; 0: any */
    enum lm_work work;
    uint64_t limit; /* of memory; 0: none */
    uint64_t seed;
    const char *load, *tokens, *dump; /* files; NULL: not said */
    bool in_double, json;
};

/* YP_IO with yp_last_error() set: it cannot be read, or has a key or a value that is not allowed.
 */
enum yp_status ypi_lm_read_config(const char *path, struct ypi_lm_config *out);

/* The weights of request->load to `parameters`, doubles where request->in_double and floats else.
 * YP_INVALID: a weight is missing, has another shape or is not the model's. Tensors that are no
 * weights do not count, and are named on the standard error stream. */
enum yp_status ypi_lm_load(const struct ypi_lm_request *request, void *parameters);

/* Whether all parameters, or all of a gradient, are finite; else yp_last_error() says which one of
 * `file` is not, and begins with `what`. */
bool ypi_lm_finite(const struct ypi_lm_request *request, const void *values, const char *file,
                   const char *what);

/* Prints a plan; an exit code. */
int ypi_lm_print_plan(const struct ypi_lm_request *request);

/* One pass over the tokens of a file; an exit code. */
int ypi_lm_pass(const struct ypi_lm_request *request);
