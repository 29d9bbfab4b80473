/*
 * Ceilings: what this machine was measured to do at most. A budget that is a share of one means the
 * same on every machine.
 *
 * Rates of traffic are bytes read plus bytes written a second, as STREAM counts them: copying n
 * bytes moves 2n. Rates of arithmetic are operations a second; a multiplication and an addition
 * are two, fused or not.
 */
#ifndef YIELDPOINT_CEILING_H
#define YIELDPOINT_CEILING_H

#ifdef __cplusplus
extern "C" {
#endif

enum yp_ceiling {
    YP_NO_CEILING = 0,
    /* Traffic, of the memory level that the footprint fits into. */
    YP_READ, /* every byte is read once */
    YP_COPY, /* half of them are read, half written */
    YP_FILL, /* every byte is written once */
    /* Arithmetic, with the operands in registers. */
    YP_FP64,
    YP_FP32,
    YP_BF16,  /* products of bf16 summed in fp32: AMX or AVX-512 BF16, else the rate of fp32 */
    YP_INT8,  /* products of 8 bits summed in 32: AMX or AVX-512 VNNI, else by AVX2 or plain C */
    YP_INT32, /* additions and multiplications of 32 bits */
    /* Of accelerators alone. There YP_BF16 and YP_INT8 are the matrix units' too. */
    YP_TF32, /* products of fp32 rounded to 10 bits of mantissa, summed in fp32 */
    YP_FP16, /* products of fp16 summed in fp32 */
    YP_FP8,  /* products of e4m3 summed in fp32 */
    /* Traffic between the host's memory and the device's, which is pinned or ordinary. */
    YP_UPLOAD,
    YP_DOWNLOAD,
    YP_UPLOAD_PAGEABLE,
    YP_DOWNLOAD_PAGEABLE,
    YP_LAUNCH, /* kernel launches in a row, each counts as one operation */
    YP_CEILINGS
};

const char *yp_ceiling_name(enum yp_ceiling ceiling); /* "read", "fp32", ... */

#ifdef __cplusplus
}
#endif

#endif
