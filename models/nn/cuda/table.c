#include "models/nn/cuda/on_cuda.h"
#include "models/nn/fast.h"

#include <yieldpoint/plugin.h>

const struct nn_cuda *nn_cuda_table(void)
{
    return yp_plugin_table(NN_CUDA_PLUGIN, sizeof(struct nn_cuda));
}

static struct nn_cuda_matrix matrix_of(const struct nn_matrix *matrix)
{
    return (struct nn_cuda_matrix){matrix->at, matrix->type, matrix->transposed, matrix->stride};
}

struct nn_cuda_gemm nn_cuda_gemm_of(const struct nn_gemm *gemm)
{
    return (struct nn_cuda_gemm){gemm->m,
                                 gemm->n,
                                 gemm->k,
                                 matrix_of(&gemm->a),
                                 matrix_of(&gemm->b),
                                 matrix_of(&gemm->c),
                                 gemm->add,
                                 gemm->bias};
}

enum yp_status nn_cuda_product(const struct nn_cuda *cuda, struct yp_device *device,
                               const struct nn_gemm *gemm)
{
    const struct nn_cuda_gemm job = nn_cuda_gemm_of(gemm);
    return cuda->gemm(device, &job);
}

struct nn_cuda_line nn_cuda_line_of(const struct nn_call *call, enum nn_type type,
                                    enum nn_cuda_function function)
{
    enum { X, Y };
    return (struct nn_cuda_line){.n = call->shape->size[0],
                                 .type = type,
                                 .add = nn_adds(call, X),
                                 .function = function,
                                 .slope = (float)call->shape->setting[0],
                                 .x = call->value[X],
                                 .dy = call->gradient[Y],
                                 .y = call->value[Y],
                                 .dx = call->gradient[X]};
}

struct nn_cuda_norm nn_cuda_norm_of(const struct nn_call *call, enum nn_type type)
{
    enum { X, GAIN, SHIFT, Y, MEAN, R };
    return (struct nn_cuda_norm){.n = call->shape->size[0],
                                 .c = call->shape->size[1],
                                 .type = type,
                                 .add_dx = nn_adds(call, X),
                                 .add_dgain = nn_adds(call, GAIN),
                                 .add_dshift = nn_adds(call, SHIFT),
                                 .eps = (float)call->shape->setting[0],
                                 .x = call->value[X],
                                 .dy = call->gradient[Y],
                                 .gain = call->value[GAIN],
                                 .shift = call->value[SHIFT],
                                 .y = call->value[Y],
                                 .dx = call->gradient[X],
                                 .mean = call->value[MEAN],
                                 .r = call->value[R],
                                 .dgain = call->gradient[GAIN],
                                 .dshift = call->gradient[SHIFT],
                                 .work = call->work};
}

struct nn_cuda_mixture nn_cuda_mixture_of(const struct nn_call *call, enum nn_type type,
                                          size_t room)
{
    enum { P, LOGIT };
    struct nn_cuda_mixture job = {.n = call->shape->size[0],
                                  .k = call->shape->size[1],
                                  .t = call->shape->size[2],
                                  .room = room,
                                  .type = type,
                                  .add_dp = nn_adds(call, P),
                                  .add_dlogit = nn_adds(call, LOGIT),
                                  .p = call->value[P],
                                  .logit = call->value[LOGIT],
                                  .dp = call->gradient[P],
                                  .dlogit = call->gradient[LOGIT],
                                  .work = call->work};
    for (size_t i = 0; i < sizeof job.setting / sizeof *job.setting; i++)
        job.setting[i] = call->shape->setting[i];
    return job;
}
