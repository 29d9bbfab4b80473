/*
 * Ceilings: the measured maximum rates of this machine. A budget that is a share of a ceiling means
 * the same on every machine.
 *
 * Rates of traffic are bytes read plus bytes written per second, as in STREAM: copying n bytes
 * moves 2n. Rates of arithmetic are operations per second; a fused multiply-add counts as two.
 */
#ifndef YIELDPOINT_CEILING_H
#define YIELDPOINT_CEILING_H

#ifdef __cplusplus
extern "C" {
#endif

enum yp_ceiling {
    YP_NO_CEILING = 0,
    /* Traffic of the memory level that the footprint fits into. */
    YP_READ, /* every byte is read once */
    YP_COPY, /* half of the bytes are read, half written */
    YP_FILL, /* every byte is written once */
    /* Arithmetic, with the operands in registers. */
    YP_FP64,
    YP_FP32,
    YP_BF16,  /* products of bf16 summed in fp32: AMX or AVX-512 BF16, else the fp32 rate */
    YP_INT8,  /* products of 8 bits summed in 32: AMX or AVX-512 VNNI, else by AVX2 or plain C */
    YP_INT32, /* additions and multiplications of 32 bits */
    /* Accelerators only. On them YP_BF16 and YP_INT8 are rates of the matrix units too. */
    YP_TF32, /* products of fp32 rounded to 10 bits of mantissa, summed in fp32 */
    YP_FP16, /* products of fp16 summed in fp32 */
    YP_FP8,  /* products of e4m3 summed in fp32 */
    /* Traffic between the device's memory and the host's, pinned or pageable. */
    YP_UPLOAD,
    YP_DOWNLOAD,
    YP_UPLOAD_PAGEABLE,
    YP_DOWNLOAD_PAGEABLE,
    YP_LAUNCH, /* consecutive kernel launches, one operation each */
    /* Data that the ranks of a case exchange (docs/ranks.md). Rates are bus bandwidths, as
     * nccl-tests define them: the bytes of the operation a second, times 2 (n - 1) / n for an
     * all-reduce, (n - 1) / n for an all-gather and a reduce-scatter, 1 for messages, with n ranks.
     */
    YP_ALL_REDUCE,
    YP_ALL_GATHER,
    YP_REDUCE_SCATTER,
    YP_POINT_TO_POINT, /* each rank sends to one and receives from one */
    YP_CEILINGS
};

const char *yp_ceiling_name(enum yp_ceiling ceiling); /* "read", "fp32", ... */

#ifdef __cplusplus
}
#endif

#endif
