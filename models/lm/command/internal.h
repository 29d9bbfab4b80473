/* What the files of the command share. */
#ifndef LM_COMMAND_INTERNAL_H
#define LM_COMMAND_INTERNAL_H

#include "models/lm/plan.h"

struct ypi_lm_request {
    struct lm_options options; /* of a plan: batch and context too */
    enum lm_work work;
    uint64_t limit; /* of memory; 0: none */
    uint64_t seed;
    const char *load, *tokens, *dump; /* files; NULL: not said */
    bool in_double, json;
};

/* Prints a plan; an exit code. */
int ypi_lm_print_plan(const struct ypi_lm_request *request);

/* One pass over the tokens of a file; an exit code. */
int ypi_lm_pass(const struct ypi_lm_request *request);

#endif
