/* A Transformer language model (pre-norm, untied embeddings, no biases): token embedding, then for
 * each layer
 *     x <- x + wo attention(rope(wq y), rope(wk y), wv y)   with y = rmsnorm(x), causal, and
 *     x <- x + w2 swiglu(w1 y, w3 y)                        with y = rmsnorm(x),
 * then rmsnorm and the head, logits or their cross-entropy with labels. It is the model of
 * Stanford's course CS336 (assignment 1), whose names its tensors have, in operators of models/nn.
 */
#pragma once

#include "models/nn/model/model.h"

struct lm_config {
    size_t vocabulary, d_model, d_ff, layers, heads; /* heads divide d_model into even parts */
    double theta;                                    /* of the rotary positions */
    double eps;                                      /* of the norms */
};

/* "small", "medium", "large", "xl", "2.7B": the sizes of the benchmark; vocabulary 10,000, theta
 * 10,000, eps 1e-5. False with yp_last_error() set: there is none of that name. */
bool lm_config_named(const char *name, struct lm_config *config);

/* YP_INVALID with the field and what is allowed. */
enum yp_status lm_check_config(const struct lm_config *config);

/* 2 V d + L (4 d^2 + 3 d d_ff + 2 d) + d. */
size_t lm_parameters(const struct lm_config *config);

/* Useful operations of a pass over (batch, context) tokens: matrix products, and attention to the
 * positions that are not masked; norms, gates, rotations and the loss do not count. Forward, with
 * N = L (4 d^2 + 3 d d_ff) + V d:  B T (2 N + 2 L (T + 1) d);  the gradient twice that again.
 * Divided by time and a machine's peak it is the model's FLOP utilisation (Chowdhery et al.,
 * "PaLM", 2022, appendix B, which counts masked positions too). */
double lm_flops(const struct lm_config *config, size_t batch, size_t context,
                enum nn_model_pass pass);

/* A tensor of the parameters: a matrix (rows, columns) as in y = x w^T, or a vector (columns). */
struct lm_tensor {
    char name[64];                /* "layers.0.attn.q_proj.weight" */
    size_t offset, rows, columns; /* rows = 0: a vector */
};

/* Tensor i in the order of the vector; false behind the last one. */
bool lm_tensor(const struct lm_config *config, size_t i, struct lm_tensor *out);

/* Values to start from, (lm_parameters()) on the host: matrices are normal with variance
 * 2 / (rows + columns) (Glorot and Bengio, 2010), the embedding with variance 1, all cut off at 3
 * deviations; gains of norms are 1. The same bits for a seed everywhere. */
void lm_initialise(const struct lm_config *config, uint64_t seed, float *parameters);

/* What the backward pass makes again instead of keeping it. */
enum lm_recompute {
    LM_KEEP_ALL = 0,
    LM_REMAKE_NORMS, /* outputs of norms and of the gated unit */
    LM_REMAKE_BLOCKS /* all within a layer */
};

#define LM_TOKENS (1U << 20) /* of a batch, at most */

struct lm_options {
    struct lm_config config;
    struct yp_device *device;
    const char *kind; /* "cpu" or "cuda", to plan for one that is not there; NULL: the device's */
    size_t batch, context; /* sequences, and tokens of each */
    enum nn_precision precision;
    enum lm_recompute recompute;
    bool logits; /* the result is logits; else the loss */
    bool oracle; /* in double by plain loops, see struct nn_model_options */
    enum nn_model_pass pass;
};

/* YP_INVALID with the field and what is allowed. */
enum yp_status lm_check_options(const struct lm_options *options);

struct lm;

/* Bytes of the CPU's memory that lm_create() takes; 0 with yp_last_error() set. */
size_t lm_description(const struct lm_options *options);

/* The description and its plan; the arena is not taken yet. NULL with yp_last_error() set. */
struct lm *lm_create(const struct lm_options *options);
void lm_destroy(struct lm *lm); /* NULL is allowed */

const struct nn_model *lm_model(const struct lm *lm); /* for its bytes and flops */

/* Takes the arena, nn_model_bytes()->arena of the device's memory. YP_INVALID: it was planned for
 * another kind. */
enum yp_status lm_start(struct lm *lm);

/* Sequences on the host, each of lm_options.context tokens. */
struct lm_batch {
    const int32_t *tokens; /* (batch, context) */
    const int32_t *labels; /* (batch, context): the token that follows each; unused for logits */
    size_t count;          /* of them from the first on have a loss; 0: all. Tokens and labels of
                              the others are read too, and must be of the vocabulary */
};

/* One pass. Parameters and gradient are on the device, doubles of an oracle and floats else;
 * `flags` as of nn_model_pass(). The gradient, unless NULL, is `scale` times that of the mean loss
 * of the sequences that count. *mean, unless NULL, becomes that mean, in double. */
enum yp_status lm_pass(struct lm *lm, const struct lm_batch *batch, const void *parameters,
                       void *gradient, double scale, unsigned flags, double *mean);

/* Whom passes with a gradient tell which of it is final, see nn_model_tell(). */
void lm_tell(struct lm *lm, nn_model_ready *ready, void *arg);

/* Where the result is on the device: logits (batch, context, vocabulary), of bf16 in that
 * precision, or losses (batch, context). Doubles of an oracle, and floats else. */
const void *lm_result(const struct lm *lm);
