/* Operators on a GPU, for the entries of the table: the plugin's functions, and the versions made
 * of them. */
#pragma once

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

/* forward_on() and vjp_on() of an operator `op` whose kernels take one job, struct nn_cuda_OP, in
 * either pass: job_of() with bool bf16. */
#define NN_ON_CUDA_BY_JOB(op) \
    static enum yp_status forward_on(const struct nn_cuda *cuda, const struct nn_call *call, \
                                     bool bf16) \
    { \
        const struct nn_cuda_##op job = job_of(call, bf16); \
        return cuda->op[NN_FORWARD](call->device, &job); \
    } \
    static enum yp_status vjp_on(const struct nn_cuda *cuda, const struct nn_call *call, \
                                 bool bf16) \
    { \
        const struct nn_cuda_##op job = job_of(call, bf16); \
        return cuda->op[NN_VJP](call->device, &job); \
    } \
    NN_ON_CUDA

/* For the entry: the versions of NN_BOTH_TYPES and NN_ON_CUDA, with the workspace of either device,
 * or NULL, and the types of the versions in bf16. */
#define NN_BOTH_VERSIONS(work_, work_cuda_, types_, gradients_) \
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp, .work = work_}, \
                 {NN_BF16, "cpu", .forward = forward_bf16, .vjp = vjp_bf16, .work = work_, \
                  .types = types_, .gradients = gradients_}, \
                 {NN_FP32, "cuda", .forward = forward_cuda, .vjp = vjp_cuda, .work = work_cuda_}, \
                 {NN_BF16, "cuda", .forward = forward_cuda_bf16, .vjp = vjp_cuda_bf16, \
                  .work = work_cuda_, .types = types_, .gradients = gradients_}}
