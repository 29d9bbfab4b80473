/* The refiner: a vision transformer that is frozen but for low-rank changes and its last blocks,
 * and a convolutional head. An image (batch, tile, tile, channels), channels last, becomes features
 * (batch, tile, tile, head_width):
 *
 *     input_proj    1x1, `channels` to `bands`
 *     patch_embed   patches of patch x patch, to `width`; what is left of a tile is not seen
 *     tokens        a class token before the patches, plus a table of positions
 *     blocks        x <- x + proj(attention(qkv(norm1(x)))), x <- x + fc2(gelu(fc1(norm2(x))))
 *     norm          behind the last block
 *     head.stem     1x1 on the patches' grid, `width` to `head_width`
 *     head.blocks   x <- x + pwconv2(gelu(pwconv1(norm(dwconv(x))))), dwconv 7x7 by channel
 *     head.out      1x1, and bilinear interpolation to the tile's size
 *
 * (Dosovitskiy et al., "An image is worth 16x16 words", 2021; Liu et al., "A ConvNet for the
 * 2020s", 2022.) Each of qkv, proj, fc1 and fc2 has a low-rank change, scale = alpha / rank (Hu et
 * al., "LoRA", 2021). Names of tensors are those of timm's VisionTransformer.
 *
 * Encoder and head are a model each: the head may run on the CPU where the device's memory does not
 * hold both. Norms have eps 1e-6. */
#pragma once

#include "models/nn/model/model.h"

/* How matrices of frozen blocks are kept. */
enum vit_frozen {
    VIT_FLOAT = 0,    /* as the precision says */
    VIT_INT8_WEIGHTS, /* 8 bits and a scale by output; products in float */
    VIT_INT8_ROWS     /* the same, and rows of activations in 8 bits where they are multiplied */
};

struct vit_options {
    struct yp_device *device;
    const char *kind; /* "cpu" or "cuda", to plan for one that is not there; NULL: the device's */
    enum nn_precision precision; /* NN_FP32 or NN_BF16 */
    enum vit_frozen frozen;
    bool oracle;    /* in double by plain loops, see struct nn_model_options */
    bool plain;     /* in float by plain loops */
    bool recompute; /* the backward pass makes a block's activations again */
    enum nn_model_pass pass;

    size_t batch, tile, channels, bands, patch;
    size_t width, depth, heads; /* heads divide the width, a multiple of 4 */
    size_t trained;             /* blocks at the end whose own parameters are trained */
    size_t rank;                /* of the low-rank changes; 0: there are none */
    double alpha;
    size_t head_width, head_blocks;

    /* What a system that this one is compared with does by mistake. */
    size_t feature;   /* the head sees the output of so many blocks; 0: of all of them */
    bool class_token; /* the head's grid has the class token too: 325 tokens are 13 x 25 */
    bool freeze_all;  /* the low-rank changes freeze the last blocks, too */

    bool head_falls_back; /* to the CPU, where the device's memory is too small */
};

/* 4 channels, 6 bands, patches of 14, width 1280, 32 blocks of 16 heads, of which 2 are trained,
 * rank 8, alpha 16, a head of 4 blocks and width 256; one tile of 224, in float on `device`,
 * inference. */
struct vit_options vit_full(struct yp_device *device);

/* YP_INVALID with the field and what is allowed. */
enum yp_status vit_check_options(const struct vit_options *options);

/* -- tensors ---------------------------------------------------------------------------------- */

enum vit_part { VIT_PROJECTION, VIT_ENCODER, VIT_POSITIONS, VIT_LORA, VIT_HEAD, VIT_PARTS };

struct vit_tensor {
    char name[64]; /* "blocks.3.attn.qkv.weight" */
    enum vit_part part;
    size_t shape[4]; /* as PyTorch has it */
    int axes;        /* of them */
    int order[4];    /* the axes in memory, slowest first: of images' weights {0, 2, 3, 1} */
    size_t count;
    bool trained;  /* in the vector, at: */
    size_t offset; /* 0 where it is not */
    bool int8;     /* kept in 8 bits, with a scale for each of shape[0] */
    int thirds;    /* 3: of queries, keys and values, one behind the other; else 1 */
    int start;     /* see vit_draw(), by its own numbers */
    size_t fan;    /* inputs of an output */
};

/* Tensor i in forward order; false behind the last one. */
bool vit_tensor(const struct vit_options *options, size_t i, struct vit_tensor *out);

/* Elements of a part, trained or not; of VIT_PARTS: of the vector of trained ones. */
size_t vit_elements(const struct vit_options *options, enum vit_part part);

/* Values of tensor i to start from, (count) in its order in memory. The encoder's matrices, patches
 * and class token: normal, deviation 0.02. Head and projection: uniform within 1 / sqrt(fan), as
 * PyTorch's layers; lora_A alike and lora_B 0. Gains 1, other vectors 0. pos_embed: sines and
 * cosines of column and row (He et al., "Masked autoencoders", 2022), 0 for the class token. */
enum yp_status vit_draw(const struct vit_options *options, size_t i, uint64_t seed, double *values);

/* -- the model -------------------------------------------------------------------------------- */

struct vit;

/* Bytes of the CPU's memory that vit_create() takes; 0 with yp_last_error() set. */
size_t vit_description(const struct vit_options *options);

/* The description and its plan; nothing of the device's memory is taken. NULL with yp_last_error()
 * set. */
struct vit *vit_create(const struct vit_options *options);
void vit_destroy(struct vit *vit); /* NULL is allowed */

const struct nn_model *vit_encoder(const struct vit *vit); /* for their bytes and flops */
const struct nn_model *vit_head(const struct vit *vit);

/* Takes the arenas of both. YP_OUT_OF_MEMORY: the encoder's, or the head's where it may not fall
 * back.
 */
enum yp_status vit_start(struct vit *vit);
bool vit_fell_back(const struct vit *vit); /* the head is on the CPU, the encoder is not */

/* Gives tensor i, which is not trained, its values; once for each of them before the first pass.
 * Where it is kept in 8 bits: w ~ scale q, scale the output's largest magnitude / 127, q to the
 * nearest, ties to even. */
enum yp_status vit_freeze(struct vit *vit, size_t i, const double *values);

/* All of them, drawn. The trained ones' go to `parameters`, on the host. */
enum yp_status vit_initialise(struct vit *vit, uint64_t seed, float *parameters);

/* (batch, tile, tile, channels), and of training (batch, tile, tile, head_width). */
enum yp_status vit_set_input(struct vit *vit, const double *image);
enum yp_status vit_set_target(struct vit *vit, const double *target);

/* Where the result is: features (batch, tile, tile, head_width) or, in training, the mean squared
 * error of each image; on the device, or where vit_fell_back() on the host. Doubles of an oracle;
 * features as the precision says; errors in float. */
const void *vit_result(const struct vit *vit);

/* From now on the gradient is that of `scale` times the mean of the first `count` images of a
 * batch; at first of the mean of all. */
void vit_ask(struct vit *vit, size_t count, double scale);

/* One pass, with flags of nn_model_pass(). Parameters and gradient are on the device; the gradient,
 * NULL where none is wanted, is that of what vit_ask() says. Parameters of blocks behind
 * `feature` have none: it is 0. */
enum yp_status vit_pass(struct vit *vit, const void *parameters, void *gradient, unsigned flags);

/* Whom passes with a gradient tell which of it is final, see nn_model_tell(): first the head's,
 * then the encoder's. Nobody where the head fell back. */
void vit_tell(struct vit *vit, nn_model_ready *ready, void *arg);

/* The halves of vit_pass() without a gradient, for those who time them. */
enum yp_status vit_encode(struct vit *vit, const void *parameters, unsigned flags);
enum yp_status vit_refine(struct vit *vit, const void *parameters, unsigned flags);
