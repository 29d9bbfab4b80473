/* The operator table: what a model is made of, and all that is needed to check and to time it.
 *
 * An operator is one constant struct nn_operator in a file of its own: names and shapes of its
 * tensors, sizes to try it with, its formula and vector-Jacobian product in plain loops, its fast
 * versions by device and precision, operations, bytes and how exact the fast ones are. Suites run
 * the whole table from these entries alone: right, gradient, speed. README.md says how to add one.
 *
 * Sizes have one letter each. Of the matrix product, dims is "mnk" and the tensors are "mk", "kn"
 * and "mn"; a shape gives m, n and k. All tensors are dense, the last letter's elements side by
 * side.
 *
 * Precision and error bounds. The formula in double is the oracle. A fast version is compared with
 * it on the same inputs, already rounded to the types that the version takes, so that only what the
 * version does itself counts. Its error ||got - oracle|| / ||oracle||, tensor by tensor, may be
 * `multiple` times that of the same plain loops in float whose results are rounded to the version's
 * types, and those count as no better than 2^-24. So the bound follows the size and the condition
 * of the problem. Typical errors of sums of K terms:
 * - fp32: sqrt(K) 2^-24 to K 2^-24 for the plain loops; blocked sums of fast versions stay below;
 * - bf16: inputs hold 8 bits, but were rounded before: products of two are exact in float and sums
 *   are float's, so that the bound is fp32's; results stored in bf16 are rounded once more, 2^-9,
 *   by both sides;
 *   A version that rounds what it makes on the way, as products of products do, says so:
 * `rounding`;
 * - fp16: as bf16, with 11 bits, 2^-12; below 2^-14 all numbers are 2^-24 apart;
 * - int8: as bf16; integer products and sums are exact, scales are float.
 * A tensor of one number may be right by luck in plain float: it is held to the worst tensor's
 * plain error. */
#pragma once

#include "models/nn/table.h"
#include "models/nn/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yieldpoint/ceiling.h>
#include <yieldpoint/device.h>
#include <yieldpoint/isa.h>

#define NN_TENSORS 16 /* of an operator */
#define NN_DIMS 12
#define NN_SETTINGS 8
#define NN_SHAPES 6
#define NN_VERSIONS 8

/* -- tensors --------------------------------------------------------------------------------- */

enum nn_role {
    NN_INPUT = 0, /* data that flow: has a gradient, which goes on to what made them */
    NN_PARAMETER, /* trained: has a gradient */
    NN_CONSTANT,  /* labels, token ids, masks: no gradient */
    NN_STATE,     /* read and written by forward, as an optimiser's moments are: no gradient */
    NN_OUTPUT,    /* written by forward; its cotangent is the vjp's input */
    NN_SAVED,     /* written by forward for the vjp, as normalisers are; no cotangent */
};

size_t nn_type_bytes(enum nn_type type); /* of one element; 0 for NN_REAL */

/* Where inputs are drawn from. Of real numbers: 0 everywhere is a bell around 0, variance 1. */
struct nn_domain {
    enum nn_draw {
        NN_BELL = 0, /* low: its middle; high: its deviation, 0 for 1; within 3.5 deviations */
        NN_UNIFORM,  /* from low to high */
        NN_WHOLE,    /* whole numbers from low to high - 1, or below the size of `below` */
        /* Of (n + 1) whole numbers: where n segments of a list of `below` elements begin, and where
         * the last one ends. They ascend from 0 to that size; a segment may be empty. */
        NN_OFFSETS,
    } draw;
    double low, high;
    char below; /* a letter of dims, for indices; 0: high counts */
    double gap; /* of NN_BELL: what is drawn is this much farther from 0, beside a kink there */
    /* In the shape "lifted": the first element of each row, whose other elements are quarters
     * from -2 to 2; in fp16 at most 2^15. Products of such rows have a large number in common, and
     * float holds them exactly. 0: drawn as ever. */
    double lift;
};

struct nn_tensor {
    const char *name; /* NULL behind the last one; unique in the operator */
    const char *dims; /* letters; "": one number */
    enum nn_role role;
    enum nn_type type; /* NN_REAL, or an integer type of a constant */
    struct nn_domain domain;
    bool unread;   /* the vjp does not read its value, whatever its role */
    bool adds;     /* its gradient may be added to what is there, see struct nn_call */
    bool optional; /* may be NULL in a call: there is none */
};

/* -- a call ---------------------------------------------------------------------------------- */

/* Sizes and settings to run an operator with. The suites know these names: "one" (all sizes 1, or
 * the least there is), "odd" (a few elements, no multiple of a vector's), "small" (fits a core's
 * cache), "medium" (as models have them). Gradients by differences are checked at the first three,
 * speed at the last two. "lifted", of softmaxes alone: scores are large and near each other, see
 * struct nn_domain. */
struct nn_shape {
    const char *name; /* NULL behind the last one */
    size_t size[NN_DIMS];
    double setting[NN_SETTINGS];
};

/* `value` and `gradient` are indexed as the operator's tensors. Forward reads the inputs' values
 * and writes those of outputs and saved tensors; it updates those of states. The vjp reads the
 * values of inputs and saved tensors (but for those that are `unread`) and the gradients
 * (cotangents) of outputs, and writes the gradients of inputs and parameters; what was there does
 * not count, unless `add` says so. A fast version leaves out a gradient whose pointer is NULL;
 * plain loops need all of them. No two tensors overlap. All memory belongs to the caller. */
struct nn_call {
    struct yp_device *device; /* where the memory is; plain loops do not look at it */
    const struct nn_shape *shape;
    void *value[NN_TENSORS];
    void *gradient[NN_TENSORS];
    unsigned add; /* bit i: a fast version adds tensor i's gradient, where that may be */
    bool both;    /* of a fast vjp: forward did not run; it writes outputs and saved tensors, too */
    void *work; /* as many bytes as the version's work() says, aligned to 64; NULL when that is 0 */
    void *prepared; /* what prepare() wrote, for forward; NULL: it did not run */
};

enum nn_pass { NN_FORWARD, NN_VJP };

/* About what the polynomial of an exponential or a logarithm takes in float. */
#define NN_FUNCTION 16.0

/* -- an operator ----------------------------------------------------------------------------- */

typedef void nn_plain(const struct nn_call *call);

/* On the CPU: by as many threads as OpenMP gives, the same bits each time with so many (matrix
 * products are oneDNN's or OpenBLAS's, which divide them by the number of threads). On a GPU:
 * launches on the device's default stream and returns; the status of the launch. */
typedef enum yp_status nn_fast(const struct nn_call *call);

/* A function of the shape: bytes of workspace, with as many threads as OpenMP gives now, and with
 * one. */
typedef size_t nn_bytes(const struct nn_shape *shape);

enum nn_precision { NN_FP32, NN_BF16, NN_FP16, NN_INT8, NN_PRECISIONS };

/* A fast version. Those of one device and precision stand with the fastest first: the first one
 * whose instruction set the process may use is taken. Choosing among instruction sets within one
 * version (base/simd/simd.h) is the version's own affair. */
struct nn_version {
    enum nn_precision precision;
    const char *device; /* "cpu", "cuda"; NULL: behind the last one */
    enum yp_isa isa;    /* of the CPU: the least it needs */
    nn_fast *forward, *vjp;
    nn_bytes *work; /* NULL: none. The larger of both passes' */
    /* For parameters that stay over many calls of forward: bytes, 0 where it does not pay, and what
     * writes them to call->prepared, aligned to 64, from the values of parameters alone; it may
     * use call->work. */
    nn_bytes *prepared;
    nn_fast *prepare;
    /* Types in memory, a letter a tensor in their order: 'f' float, 'b' the 16 bits of the
     * precision, bf16 or fp16, and the declared type of an integer tensor whatever stands there.
     * NULL: all float. */
    const char *types, *gradients;
    double multiple; /* of plain float's error that is allowed; 0: 3 */
    /* By tensor that it writes, as value or as gradient: of what it makes on the way, relative;
     * plain float's error counts as no better. 0: float's. */
    double rounding[NN_TENSORS];
    enum yp_ceiling arithmetic; /* that bounds its operations; 0: YP_FP32 */
};

struct nn_operator {
    const char *name;                     /* of the file, too */
    const char *dims;                     /* a letter a size */
    const char *settings[NN_SETTINGS];    /* names */
    struct nn_tensor tensors[NN_TENSORS]; /* inputs of all kinds first, then outputs */
    /* The gradient of every input is the cotangent of the one output: a model may give it on as it
     * is, without a call. */
    bool passes;
    /* Fast vjps do forward's work on their way where a call says `both`: for less than forward and
     * vjp take, as logits that are made once. */
    bool both;
    struct nn_shape shapes[NN_SHAPES];
    nn_plain *oracle, *oracle_vjp; /* in double; no vjp: NULL, as an optimiser's step has none */
    nn_plain *plain, *plain_vjp;   /* the same loops in float */
    nn_bytes *plain_work;          /* of the oracle; NULL: none */
    /* Useful operations: a multiplication or an addition is one, an elementary function
     * NN_FUNCTION. */
    double (*flops)(const struct nn_shape *shape, enum nn_pass pass);
    /* Bytes that have to be read and written; NULL: every tensor of the pass once. */
    double (*bytes)(const struct nn_shape *shape, enum nn_pass pass,
                    const struct nn_version *version);
    struct nn_version versions[NN_VERSIONS];
};

/* -- the table (operators.c, from table.h) ----------------------------------------------- */

#define NN_DECLARE(name) extern const struct nn_operator nn_##name;
NN_OPERATORS(NN_DECLARE)
#undef NN_DECLARE

extern const struct nn_operator *const nn_operators[]; /* NULL behind the last one */

/* NULL with yp_last_error() set to what there is. */
const struct nn_operator *nn_operator(const char *name);
const struct nn_shape *nn_shape(const struct nn_operator *op, const char *name);

/* Whether the entry has such a version, for this machine or another. */
bool nn_declares(const struct nn_operator *op, const char *device, enum nn_precision precision);

/* The version that this process may use; NULL with yp_last_error() set (YP_UNSUPPORTED): the entry
 * has none, or none that this machine runs. `device` is "cpu" or "cuda". */
const struct nn_version *nn_version(const struct nn_operator *op, const char *device,
                                    enum nn_precision precision);

/* The versions that run on it: "cuda" where its memory is not the host's, else "cpu". */
const char *nn_device_kind(const struct yp_device *device);

const char *nn_precision_name(enum nn_precision precision); /* "fp32", "bf16", "fp16", "int8" */
bool nn_precision_from_name(const char *name, enum nn_precision *precision);

/* NN_FORWARD for an operator without a vjp, as an optimiser's step is; else NN_VJP. */
enum nn_pass nn_last_pass(const struct nn_operator *op);

int nn_tensors(const struct nn_operator *op);         /* how many there are */
bool nn_has_gradient(const struct nn_tensor *tensor); /* NN_INPUT, NN_PARAMETER */
bool nn_is_drawn(const struct nn_tensor *tensor);     /* has a value before forward */
bool nn_is_result(const struct nn_tensor *tensor);    /* forward writes its value */

/* Elements of a tensor in that shape. */
size_t nn_count(const struct nn_operator *op, const struct nn_tensor *tensor,
                const struct nn_shape *shape);

/* The type of tensor i's values, or of its gradient; version NULL: of the oracle. */
enum nn_type nn_value_type(const struct nn_operator *op, const struct nn_version *version, int i);
enum nn_type nn_gradient_type(const struct nn_operator *op, const struct nn_version *version,
                              int i);

/* Of one pass, as declared or, without a function, each tensor once. */
double nn_bytes_moved(const struct nn_operator *op, const struct nn_shape *shape, enum nn_pass pass,
                      const struct nn_version *version);
