/* A model's tensors in files: .safetensors with the names and shapes of a PyTorch state dict, and
 * images in .npy. In memory the axes of a tensor may stand in another order: PyTorch has the
 * weights of a convolution as (out, in, k, k) and images as (batch, channels, rows, columns), a
 * model has the channels last. */
#pragma once

#include "models/data/safetensors.h"
#include "models/refiner/mock.h"
#include "models/refiner/vit.h"

#define REFINER_AXES 4

struct refiner_tensor {
    char name[SAFETENSORS_NAME];
    size_t axes;                  /* 0: one number */
    uint64_t shape[REFINER_AXES]; /* as PyTorch has it */
    int order[REFINER_AXES];      /* the axes in memory, the slowest first: of images 0, 2, 3, 1 */
    int vector;                   /* of struct refiner_vectors: which one has the tensor, */
    size_t offset;                /* and its first element there */
};

size_t refiner_elements(const struct refiner_tensor *tensor);

/* A tensor of images (batch, channels, rows, columns), in memory with the channels last. */
struct refiner_tensor refiner_images(const char *name, size_t batch, size_t channels, size_t rows,
                                     size_t columns);

/* Tensor i of a model; false behind the last one. */
typedef bool refiner_table(const void *model, size_t i, struct refiner_tensor *out);

/* A model's vectors on the host. What is frozen is in none. */
enum { REFINER_PARAMETERS, REFINER_STATISTICS, REFINER_FROZEN, REFINER_VECTORS };
struct refiner_vectors {
    void *at[REFINER_VECTORS];
    bool wide; /* doubles, else floats */
};

/* -- reading ---------------------------------------------------------------------------------- */

/* Is given the values of tensor i, refiner_elements() in the order of memory. */
typedef enum yp_status refiner_take(void *arg, size_t i, const struct refiner_tensor *tensor,
                                    const double *values);

/* Puts them into the vectors of `arg`, a struct refiner_vectors. */
refiner_take refiner_take_vectors;

/* Gives all tensors of a model to `take`, once the whole file was looked at. YP_INVALID, with the
 * tensor, what is there and what must be: one is missing, has another shape, is of whole numbers,
 * or is none of the model's. YP_IO: the file cannot be read, is no .safetensors, or has a value
 * that is not finite. What batch norms of PyTorch count, num_batches_tracked, is passed over. */
enum yp_status refiner_load(const char *path, refiner_table *table, const void *model,
                            refiner_take *take, void *arg);

/* The values of a .npy of floats (batch, channels, rows, columns) with the channels last, for the
 * caller to give back by yp_device_free() of the CPU. Sizes of `images` that are not 0 must be the
 * file's; it has them all afterwards. NULL with yp_last_error() set: YP_INVALID, it has another
 * shape or no floats; YP_IO, it cannot be read, is no .npy or has a value that is not finite. */
double *refiner_read_images(const char *path, struct refiner_tensor *images);

/* -- writing ---------------------------------------------------------------------------------- */

/* A tensor of a file: doubles or floats in the order of memory, on the host. */
struct refiner_values {
    struct refiner_tensor tensor;
    const void *values;
    bool wide;
};

/* One for each tensor of the vectors that are not NULL, with `suffix` behind its name; how many.
 * `out` NULL: counts. */
size_t refiner_values_of(refiner_table *table, const void *model,
                         const struct refiner_vectors *vectors, const char *suffix,
                         struct refiner_values *out);

/* Writes a .safetensors file, of F64 where values are doubles and of F32 else. */
enum yp_status refiner_save(const char *path, const struct refiner_values *all, size_t count);

/* -- the mock --------------------------------------------------------------------------------- */

/* Parameters, then running statistics. `width` is a size_t, the mock's. */
refiner_table refiner_mock_table;

/* -- the vision transformer ------------------------------------------------------------------- */

/* `options` is a struct vit_options. */
refiner_table refiner_vit_table;

/* Gives what is frozen to the model and puts what is trained into the vectors; `arg` is a struct
 * refiner_vit. */
struct refiner_vit {
    struct vit *vit; /* started */
    struct refiner_vectors vectors;
};
refiner_take refiner_take_vit;
