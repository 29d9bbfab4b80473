/* A model's tensors in .safetensors files, with the names and shapes of a PyTorch state dict. In
 * memory the axes of a tensor may stand in another order: PyTorch has the weights of a convolution
 * as (out, in, k, k), a model has the channels last. */
#pragma once

#include "models/data/safetensors.h"

#define STATE_AXES 4

struct state_tensor {
    char name[SAFETENSORS_NAME];
    size_t axes;                /* 0: one number */
    uint64_t shape[STATE_AXES]; /* as PyTorch has it */
    int order[STATE_AXES];      /* the axes in memory, the slowest first: of images 0, 2, 3, 1 */
    size_t halves;              /* 2, of a matrix: the two halves of its columns lie one behind the
                                   other in memory; else 0 */
    int vector;                 /* of struct state_vectors: which one has the tensor, */
    size_t offset;              /* and its first element there */
};

size_t state_elements(const struct state_tensor *tensor);

/* "(64, 4, 7, 7)". */
const char *state_shape(size_t axes, const uint64_t *shape, char text[256]);

/* Elements of `bytes` each from the order of files to that of memory, or back. */
void state_reorder(const struct state_tensor *t, bool to_file, size_t bytes, const void *from,
                   void *to);

/* YP_INVALID, with the file, the name and the element: one is not finite. */
enum yp_status state_check_finite(const char *path, const char *name, const double *values,
                                  size_t count);

/* Tensor i of a model; false behind the last one. */
typedef bool state_table(const void *model, size_t i, struct state_tensor *out);

/* A model's vectors on the host. What is frozen is in none. */
enum { STATE_PARAMETERS, STATE_STATISTICS, STATE_FROZEN, STATE_VECTORS };
struct state_vectors {
    void *at[STATE_VECTORS];
    bool wide; /* doubles, else floats */
};

/* -- reading ---------------------------------------------------------------------------------- */

/* Is given the values of tensor i, state_elements() in the order of memory. */
typedef enum yp_status state_take(void *arg, size_t i, const struct state_tensor *tensor,
                                  const double *values);

/* Puts them into the vectors of `arg`, a struct state_vectors. */
state_take state_take_vectors;

/* Gives all tensors of a model to `take`, once the whole file was looked at. YP_INVALID, with the
 * tensor, what is there and what must be: one is missing, has another shape, is of whole numbers,
 * has a value that is not finite, or is none of the model's. YP_IO: the file cannot be read or is
 * no .safetensors. What batch norms of PyTorch count, num_batches_tracked, is passed over. */
enum yp_status state_load(const char *path, state_table *table, const void *model, state_take *take,
                          void *arg);

/* -- writing ---------------------------------------------------------------------------------- */

/* A file that an option names; NULL: it was not said. */
struct state_file {
    const char *option, *path;
};

/* A file that is written takes the place of another, but not of one that it is made from.
 * YP_INVALID, with both options: `output` is the file of an input, by whatever name, or has the
 * name of one that is not there yet. */
enum yp_status state_check_output(struct state_file output, const struct state_file *inputs,
                                  size_t count);

/* A tensor of a file: doubles or floats in the order of memory, on the host. */
struct state_values {
    struct state_tensor tensor;
    const void *values;
    bool wide;
};

/* One for each tensor of the vectors that are not NULL, with `suffix` behind its name; how many.
 * `out` NULL: counts. */
size_t state_values_of(state_table *table, const void *model, const struct state_vectors *vectors,
                       const char *suffix, struct state_values *out);

/* Writes a .safetensors file, of F64 where values are doubles and of F32 else. */
enum yp_status state_save(const char *path, const struct state_values *all, size_t count);
