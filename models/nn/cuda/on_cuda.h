/* Operators on a GPU, for the entries of the table: the plugin's functions, and the versions made
 * of them. */
#pragma once

#include "models/nn/cuda/nn_cuda.h"
#include "models/nn/gemm/gemm.h"

/* NULL with yp_last_error() set: there is no plugin, or it is another version's. */
const struct nn_cuda *nn_cuda_table(void);

/* A product whose matrices, of any real type, lie on the device. A matrix of 8 bits is multiplied
 * by the scales that the job is given then. */
struct nn_cuda_gemm nn_cuda_gemm_of(const struct nn_gemm *gemm);
enum yp_status nn_cuda_product(const struct nn_cuda *cuda, struct yp_device *device,
                               const struct nn_gemm *gemm);

/* What versions of convolutions do, for every shape (convolution.c). */
typedef enum yp_status nn_on_cuda(const struct nn_cuda *cuda, const struct nn_call *call,
                                  enum nn_type type);
nn_on_cuda nn_cuda_convolution, nn_cuda_convolution_vjp;
nn_on_cuda nn_cuda_transposed_convolution, nn_cuda_transposed_convolution_vjp;
nn_on_cuda nn_cuda_depthwise_convolution, nn_cuda_depthwise_convolution_vjp;
nn_bytes nn_cuda_convolution_work, nn_cuda_transposed_convolution_work;
nn_bytes nn_cuda_depthwise_convolution_work;

/* A version's function `name`, from what it does with the plugin's functions, `cuda`. */
#define NN_ON_CUDA_CALL(name, ...) \
    static enum yp_status name(const struct nn_call *call) \
    { \
        const struct nn_cuda *cuda = nn_cuda_table(); \
        return cuda != NULL ? __VA_ARGS__ : yp_last_status(); \
    }

/* The functions of versions in fp32, bf16 and fp16, from two nn_on_cuda: forward_on() and vjp_on().
 */
#define NN_ON_CUDA NN_ON_CUDA_OF(forward_on, vjp_on)
#define NN_ON_CUDA_OF(forward_, vjp_) \
    NN_ON_CUDA_CALL(forward_cuda, forward_(cuda, call, NN_FLOAT)) \
    NN_ON_CUDA_CALL(forward_cuda_bf16, forward_(cuda, call, NN_BFLOAT16)) \
    NN_ON_CUDA_CALL(forward_cuda_fp16, forward_(cuda, call, NN_FLOAT16)) \
    NN_ON_CUDA_CALL(vjp_cuda, vjp_(cuda, call, NN_FLOAT)) \
    NN_ON_CUDA_CALL(vjp_cuda_bf16, vjp_(cuda, call, NN_BFLOAT16)) \
    NN_ON_CUDA_CALL(vjp_cuda_fp16, vjp_(cuda, call, NN_FLOAT16))
/* In fp32 alone: they have no 16 bits. */
#define NN_ON_CUDA_FP32 \
    NN_ON_CUDA_CALL(forward_cuda, forward_on(cuda, call)) \
    NN_ON_CUDA_CALL(vjp_cuda, vjp_on(cuda, call))

/* forward_on() and vjp_on() of an operator whose kernels, `op` of the plugin's, take one job in
 * either pass: job_of() with enum nn_type type. */
#define NN_ON_CUDA_BY_JOB(op, job_) \
    static enum yp_status forward_on(const struct nn_cuda *cuda, const struct nn_call *call, \
                                     enum nn_type type) \
    { \
        const job_ job = job_of(call, type); \
        return cuda->op[NN_FORWARD](call->device, &job); \
    } \
    static enum yp_status vjp_on(const struct nn_cuda *cuda, const struct nn_call *call, \
                                 enum nn_type type) \
    { \
        const job_ job = job_of(call, type); \
        return cuda->op[NN_VJP](call->device, &job); \
    } \
    NN_ON_CUDA
/* In fp32 alone: job_of() takes the call alone, and the entry has NN_FP32_VERSIONS. */
#define NN_ON_CUDA_BY_JOB_FP32(op, job_) \
    static enum yp_status forward_cuda(const struct nn_call *call) \
    { \
        const struct nn_cuda *cuda = nn_cuda_table(); \
        const job_ job = job_of(call); \
        return cuda != NULL ? cuda->op[NN_FORWARD](call->device, &job) : yp_last_status(); \
    } \
    static enum yp_status vjp_cuda(const struct nn_call *call) \
    { \
        const struct nn_cuda *cuda = nn_cuda_table(); \
        const job_ job = job_of(call); \
        return cuda != NULL ? cuda->op[NN_VJP](call->device, &job) : yp_last_status(); \
    }

/* The same of the function y (n) of x (n), tensors 0 and 1; and of a norm with the tensors x (n,
 * c), gain, shift, y, mean, r and the setting eps. */
#define NN_ON_CUDA_LINE(function_) \
    static struct nn_cuda_line job_of(const struct nn_call *call, enum nn_type type) \
    { \
        return nn_cuda_line_of(call, type, function_); \
    } \
    NN_ON_CUDA_BY_JOB(line, struct nn_cuda_line)
#define NN_ON_CUDA_NORM(op) \
    static struct nn_cuda_norm job_of(const struct nn_call *call, enum nn_type type) \
    { \
        return nn_cuda_norm_of(call, type); \
    } \
    NN_ON_CUDA_BY_JOB(op, struct nn_cuda_norm)

/* forward_on() and vjp_on() of an operator that sums rows X (E, C) by segments to Y (N, C), or with
 * its first setting takes their means. The tensor `which` has the rows of each segment as the
 * kernels' job has them in `field`, offset or index. */
#define NN_ON_CUDA_SEGMENTS(field, which) \
    static struct nn_cuda_segments job_of(const struct nn_call *call, enum nn_type type) \
    { \
        return (struct nn_cuda_segments){.n = call->shape->size[N], \
                                         .rows = call->shape->size[E], \
                                         .c = call->shape->size[C], \
                                         .type = type, \
                                         .mean = call->shape->setting[0] != 0, \
                                         .factor = 1, \
                                         .field = call->value[which]}; \
    } \
    static enum yp_status forward_on(const struct nn_cuda *cuda, const struct nn_call *call, \
                                     enum nn_type type) \
    { \
        struct nn_cuda_segments job = job_of(call, type); \
        job.rows_of = call->value[X]; \
        job.segments = call->value[Y]; \
        return cuda->segments[NN_FORWARD](call->device, &job); \
    } \
    static enum yp_status vjp_on(const struct nn_cuda *cuda, const struct nn_call *call, \
                                 enum nn_type type) \
    { \
        struct nn_cuda_segments job = job_of(call, type); \
        job.rows_of = call->gradient[X]; \
        job.segments = call->gradient[Y]; \
        job.add = nn_adds(call, X); \
        return job.rows_of != NULL ? cuda->segments[NN_VJP](call->device, &job) \
                                   : (enum yp_status)YP_OK; \
    } \
    NN_ON_CUDA

struct nn_cuda_line nn_cuda_line_of(const struct nn_call *call, enum nn_type type,
                                    enum nn_cuda_function function);
struct nn_cuda_norm nn_cuda_norm_of(const struct nn_call *call, enum nn_type type);

/* Of an operator whose first tensors are p (n, k, t, 5) and logit (n, k). */
struct nn_cuda_mixture nn_cuda_mixture_of(const struct nn_call *call, enum nn_type type,
                                          size_t room);

/* plain_work() and work() of such an operator, room(shape) numbers for each of its nodes. */
#define NN_MIXTURE_WORKS \
    static size_t plain_work(const struct nn_shape *shape) \
    { \
        return shape->size[N] * room(shape) * sizeof(double); \
    } \
    static size_t work(const struct nn_shape *shape) \
    { \
        return shape->size[N] * room(shape) * sizeof(float); \
    }

/* Its versions, from job_of() and run(call, type, back), `back` being the pass; and its plain
 * loops, from one that does number i of `count` of the job. */
#define NN_MIXTURE_PASSES(op) \
    static enum yp_status forward_in(const struct nn_call *call, enum nn_type type) \
    { \
        return run(call, type, false); \
    } \
    static enum yp_status vjp_in(const struct nn_call *call, enum nn_type type) \
    { \
        return run(call, type, true); \
    } \
    NN_EACH_TYPE \
    NN_ON_CUDA_BY_JOB(op, struct nn_cuda_mixture)
#define NN_MIXTURE_PLAIN(count, one) \
    static void NAME(forward)(const struct nn_call *call) \
    { \
        const struct nn_cuda_mixture job = job_of(call, NN_REAL); \
        for (size_t i = 0; i < job.count; i++) \
            NAME(one)(&job, i, false); \
    } \
    static void NAME(vjp)(const struct nn_call *call) \
    { \
        const struct nn_cuda_mixture job = job_of(call, NN_REAL); \
        for (size_t i = 0; i < job.count; i++) \
            NAME(one)(&job, i, true); \
    }

/* For the entry: the versions of NN_EACH_TYPE and NN_ON_CUDA, with the workspace of either device,
 * or NULL, and the types of the versions in 16 bits. */
#define NN_EACH_VERSION(work_, work_cuda_, types_, gradients_) \
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp, .work = work_}, \
                 {NN_BF16, "cpu", .forward = forward_bf16, .vjp = vjp_bf16, .work = work_, \
                  .types = types_, .gradients = gradients_}, \
                 {NN_FP16, "cpu", .forward = forward_fp16, .vjp = vjp_fp16, .work = work_, \
                  .types = types_, .gradients = gradients_}, \
                 {NN_FP32, "cuda", .forward = forward_cuda, .vjp = vjp_cuda, .work = work_cuda_}, \
                 {NN_BF16, "cuda", .forward = forward_cuda_bf16, .vjp = vjp_cuda_bf16, \
                  .work = work_cuda_, .types = types_, .gradients = gradients_}, \
                 {NN_FP16, "cuda", .forward = forward_cuda_fp16, .vjp = vjp_cuda_fp16, \
                  .work = work_cuda_, .types = types_, .gradients = gradients_}}
#define NN_FP32_VERSIONS(work_, work_cuda_) \
    .versions = {{NN_FP32, "cpu", .forward = forward, .vjp = vjp, .work = work_}, \
                 {NN_FP32, "cuda", .forward = forward_cuda, .vjp = vjp_cuda, .work = work_cuda_}}
