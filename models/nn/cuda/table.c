#include "models/nn/cuda/on_cuda.h"

#include <yieldpoint/plugin.h>

const struct nn_cuda *nn_cuda_table(void)
{
    return yp_plugin_table(NN_CUDA_PLUGIN, sizeof(struct nn_cuda));
}

static struct nn_cuda_matrix matrix_of(const struct nn_matrix *matrix)
{
    return (struct nn_cuda_matrix){matrix->at, matrix->type == NN_BFLOAT16, matrix->transposed,
                                   matrix->stride};
}

enum yp_status nn_cuda_product(const struct nn_cuda *cuda, struct yp_device *device,
                               const struct nn_gemm *gemm)
{
    const struct nn_cuda_gemm job = {gemm->m,
                                     gemm->n,
                                     gemm->k,
                                     matrix_of(&gemm->a),
                                     matrix_of(&gemm->b),
                                     matrix_of(&gemm->c),
                                     gemm->add,
                                     gemm->bias};
    return cuda->gemm(device, &job);
}
