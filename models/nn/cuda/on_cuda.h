/* Operators on a GPU, for the entries of the table: the plugin's functions, and the versions made
 * of them. */
#ifndef NN_ON_CUDA_H
#define NN_ON_CUDA_H

#include "models/nn/cuda/nn_cuda.h"
#include "models/nn/gemm/gemm.h"

/* NULL with yp_last_error() set: there is no plugin, or it is another version's. */
const struct nn_cuda *nn_cuda_table(void);

/* A product whose matrices, of float or bf16, lie on the device. */
enum yp_status nn_cuda_product(const struct nn_cuda *cuda, struct yp_device *device,
                               const struct nn_gemm *gemm);

/* The functions of versions in fp32 and bf16, from forward_on() and vjp_on() with the plugin's
 * functions and bool bf16. */
#define NN_ON_CUDA_AS(name, pass, bf16) \
    static enum yp_status name(const struct nn_call *call) \
    { \
        const struct nn_cuda *cuda = nn_cuda_table(); \
        return cuda != NULL ? pass(cuda, call, bf16) : yp_last_status(); \
    }
#define NN_ON_CUDA \
    NN_ON_CUDA_AS(forward_cuda, forward_on, false) \
    NN_ON_CUDA_AS(forward_cuda_bf16, forward_on, true) \
    NN_ON_CUDA_AS(vjp_cuda, vjp_on, false) \
    NN_ON_CUDA_AS(vjp_cuda_bf16, vjp_on, true)

#endif
