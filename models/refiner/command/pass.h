/* A pass over given images, by any model. */
#pragma once

#include "models/refiner/command/internal.h"
#include "models/refiner/weights.h"

enum { YPI_REFINER_BLOCKS = 16 };

struct ypi_refiner_pass {
    struct ypi_refiner_work work;             /* batch and tile are the input's */
    const char *load, *input, *target, *dump; /* files; NULL: not said */
    bool gradients;
    bool wide; /* in double by plain loops */

    double *image;                /* (batch, tile, tile, channels) */
    double *aim;                  /* of the shape of the output; NULL without gradients */
    double forward;               /* seconds of inference */
    double step;                  /* of a forward and a backward pass */
    double loss;                  /* mean over the batch */
    struct state_values *results; /* to be dumped; their names are the model's and the pass's */
    size_t count;

    void *blocks[YPI_REFINER_BLOCKS]; /* owned */
    size_t taken;
};

/* Memory of the host, which the pass gives back at its end; NULL with yp_last_error() set. */
void *ypi_refiner_take(struct ypi_refiner_pass *pass, size_t bytes);
/* The same for `count` numbers in the pass's precision on the host. */
void *ypi_refiner_numbers(struct ypi_refiner_pass *pass, size_t count);

/* Values to where a model takes them: doubles of an oracle, bf16 in that precision, else floats. */
void ypi_refiner_put(const struct ypi_refiner_pass *pass, const double *values, size_t count,
                     void *to);
/* The way back, to numbers of the pass. */
void ypi_refiner_get(const struct ypi_refiner_pass *pass, const void *values, size_t count,
                     void *to);

/* Adds a result, and those of a model's vectors with `suffix` behind their names. YP_OUT_OF_MEMORY.
 */
enum yp_status ypi_refiner_add(struct ypi_refiner_pass *pass, struct state_tensor tensor,
                               const void *values);
enum yp_status ypi_refiner_add_vectors(struct ypi_refiner_pass *pass, state_table *table,
                                       const void *model, const struct state_vectors *vectors,
                                       const char *suffix);

/* Adds the losses of the images, numbers of the pass, and notes their mean. */
enum yp_status ypi_refiner_add_losses(struct ypi_refiner_pass *pass, const void *losses);

/* Puts a path before the last error, of that status. */
enum yp_status ypi_refiner_blame(const char *path, enum yp_status status);

/* Gives back what the pass took. */
void ypi_refiner_give_back(struct ypi_refiner_pass *pass);

/* A cube instead of the input: its tiles are those of work.tile, `at_once` of them a pass. */
struct ypi_refiner_cube {
    const char *path;
    struct ypi_refiner_sizes bands; /* from 1, one for each channel */
    size_t overlap, at_once;
};

/* Refines a cube and dumps what comes out of it as one image; an exit code. */
int ypi_refiner_cube(struct ypi_refiner_pass *pass, const struct ypi_refiner_model *model,
                     const struct ypi_refiner_cube *cube);

/* Reads, passes, dumps and prints; an exit code. */
int ypi_refiner_pass(struct ypi_refiner_pass *pass, const struct ypi_refiner_model *model);
