/* What the files of the nodes and of the pipeline share. */
#pragma once

#include "models/nn/operator.h"
#include "models/rx/internal.h"
#include "models/rx/pipeline/nodes.h"

#define YPI_RX_WHITEN_EPS 1e-6 /* beside the variances of components, as cuvis.ai has it */

/* Where float statistics cannot tell the smallest component from nothing: an eigenvalue is off by
 * some 2^-22 of the largest. */
#define YPI_RX_MIN_EIGENVALUE 0x1p-22

/* RX with the statistics of the image itself (plain_image.c), and the selector's terms of the loss
 * (plain_terms.c), PCA's whitening (plain_whitening.c) and its residual (plain_residual.c): of RX
 * alone, so in no table. */
extern const struct nn_operator ypi_rx_image, ypi_rx_choice_terms, ypi_rx_whitening,
    ypi_rx_residual;

/* -- the options, checked and with defaults in place; where parameters are ------------------ */

/* Offsets in the parameters; YPI_RX_NOWHERE: there is no such tensor. */
#define YPI_RX_NOWHERE SIZE_MAX
struct ypi_rx_places {
    size_t min, max, logits, temperature, mean, w, log_variance;
    size_t mu, a; /* of RX, and M, L of LAD */
    size_t w1, b1, w2, b2, residual, scale, bias;
    size_t count;
};

enum yp_status ypi_rx_pipeline_check(const char *what, const struct rx_pipeline_options *given,
                                     struct rx_pipeline_options *options);
void ypi_rx_places(const struct rx_pipeline_options *options, struct ypi_rx_places *places);
/* Channels that the detector sees. */
size_t ypi_rx_width(const struct rx_pipeline_options *options);

static inline bool ypi_rx_trains(const struct rx_pipeline_options *options)
{
    return options->detector != RX_AUTOENCODER; /* against labels, through a logit */
}

/* Are min and max of MinMax tensors? */
static inline bool ypi_rx_has_range(const struct rx_pipeline_options *options)
{
    return options->normalise && !options->by_sample;
}

/* Is T a tensor of its own? */
static inline bool ypi_rx_has_temperature(const struct rx_pipeline_options *options)
{
    return options->select && (options->train_temperature || options->temperature_decay > 0);
}

/* Does the selector add to the loss? */
static inline bool ypi_rx_has_terms(const struct rx_pipeline_options *options)
{
    return options->select && (options->entropy != 0 || options->diversity != 0);
}

/* -- from covariance to factor (factor.c) --------------------------------------------------- */

/* What rounding leaves of a variance that other channels explain wholly: entries of the covariance
 * are right to 2^-22 or so, and a pivot collects a few of them. A condition of 1e6 stays above. */
#define YPI_RX_MIN_PIVOT 0x1p-20

/* Why there can be no factor, known from the data alone. */
enum yp_status ypi_rx_check_finish(const char *what, const struct rx *rx,
                                   const struct rx_finish_options *options);
/* dead[c] = all values of the channel are the same; how many there are. */
size_t ypi_rx_dead(const struct rx *rx, uint8_t *dead);
/* YP_INVALID where the statistics are of a fit that failed, or of fewer than 2 pixels. */
enum yp_status ypi_rx_check_fitted(const char *what, const struct rx *rx);

struct ypi_rx_factoring {
    const char *what; /* the public function, for messages */
    size_t channels;
    double eps, ridge, shrink;
    const uint8_t *dead; /* (channels): leave these out; NULL: none */
    size_t alive;        /* channels that are not dead, left out or not, at least 1; this and the */
    double max_error;    /* next for the error of scores; 0: RX_MAX_ERROR */
    enum rx_operands precision; /* of products; for messages */
};

/* matrix (C, C): in the upper triangle of Sigma; out L of L L^T = (1 - shrink) Sigma + shrink
 * diag(Sigma) + ridge I, column k from its diagonal on in row k. A dead channel has an infinite
 * diagonal and nothing beside it, so that it adds 0 to a score. `variances` is (C) of scratch. */
enum yp_status ypi_rx_factor(const struct ypi_rx_factoring *job, double *matrix, double *variances);

/* L of ypi_rx_factor() to the full symmetric inverse, zero for dead channels, in place. */
void ypi_rx_inverse(double *matrix, size_t channels);

/* L^-1 in float, for matrix products from the right: row k is column k of L^-1. `column` is (C) of
 * scratch. Adds L^-1 rest to `offset` when that is not NULL. */
void ypi_rx_whiten(const double *factor, size_t channels, const double *rest, float *whiten,
                   double *column, double *offset);

/* -- the error of scores (error.c), in the words of rx_score_error() ------------------------ */

/* v, from what ypi_rx_whiten() and ypi_rx_factor() leave. `alive`: channels that are not dead. */
double ypi_rx_inflation(const float *whiten, const double *variances, size_t channels,
                        size_t alive);
/* What the sums of Sigma contribute, and what products with L^-1 in float do. */
double ypi_rx_score_error(const struct rx *rx, double inflation);
double ypi_rx_product_error(double inflation, size_t alive);
/* The same of z^T A z with A in float: `inverse` is A, (n, n), `variances` those of z, (n). */
double ypi_rx_inverse_error(const double *inverse, const double *variances, size_t n, size_t alive);
/* YP_INVALID, with what can be done, when that is more than job->max_error. */
enum yp_status ypi_rx_check_error(const struct ypi_rx_factoring *job, const struct rx *rx,
                                  double error);

/* -- products in 16 bits (mixed.c) ---------------------------------------------------------- */

static inline bool ypi_rx_mixed(const struct rx_pipeline_options *options)
{
    return options->precision != RX_OPERANDS_FP32;
}

/* fp32, bf16, fp16 */
const char *ypi_rx_operands_name(enum rx_operands precision);

/* `count` values as a product takes them: themselves, or rounded into `room`, which they may be in.
 */
const float *ypi_rx_operand(const struct rx_pipeline *p, const float *values, size_t count,
                            float *room);
/* p->taken, from the parameters that are prepared. */
void ypi_rx_take_operands(struct rx_pipeline *p);

/* What rounding operands contributes to the error of scores, in the words of struct rx_start, where
 * the mean score is `score`: of z^T A z, with A and the covariance of z (n, n), which uses
 * p->other; and of products before, z or L^-1 z. */
double ypi_rx_operands_error(const struct rx_pipeline *p, const double *inverse,
                             const double *covariance, size_t n, double score);
double ypi_rx_map_error(enum rx_operands precision, double v, double score);

/* LAPACK's calls run in the calling thread: bits must not hang on the number of threads. Returns
 * what to hand to omp_set_num_threads() afterwards. */
int ypi_rx_alone(void);

/* -- the pipeline object --------------------------------------------------------------------- */

/* What a thread needs. Which parts there are hangs on the detector. Where a GPU works on tiles
 * there is one lane, of what the host does with scores and images: scores, then keep,
 * (tile_pixels), and no matrices, rows, low, products, g and labels. */
struct ypi_rx_lane {
    float *matrices; /* sums over a tile that are products of matrices: see struct ypi_rx_sums */
    double *sums;    /* the others */
    size_t kept, index;
    double mean_score, m2_score;  /* of the tile, for rx_pipeline_calibrate() */
    float *rows;                  /* (CHUNK, C): what PCA or the detector takes, centred */
    float *low;                   /* (CHUNK, K): after PCA; or (2, CHUNK, H): hidden values */
    float *along, *left, *energy; /* (CHUNK, K), (CHUNK, C), (CHUNK): y, r, |r|^2 of the residual */
    float *rows16, *low16;        /* rows, and after PCA, as products take them; NULL in fp32 */
    float *products;              /* (CHUNK, C) */
    float *scores, *g;            /* (CHUNK): g is dloss/ds */
    uint8_t *keep, *labels;       /* (CHUNK) */
    float *logits;                /* (tile_pixels) */
    const uint8_t *tile_labels;   /* of the tile at hand */
    size_t tile_pixels;
    /* RX by image: */
    double *m2, *inverse, *spare; /* (C, C) */
    double *mean, *variances;     /* (C) */
    float *gram, *whiten;         /* (C, C) */
    float *base, *rest;           /* (C) */
    bool failed;                  /* the image at hand could not be factored */
    double error;                 /* or, above 0, its scores would be so far off */
};

/* Where the sums over pixels are, in elements. */
struct ypi_rx_sums {
    size_t gram, cross, w1, w2;  /* in matrices: (D, D), (K, C), (H, C), (C, H) */
    size_t residual;             /* (K, C), what it adds to W's */
    size_t matrices;             /* their size */
    size_t moment, b1, b2, dots; /* in sums: (D), (H), (C), (C or D) */
    size_t loss, d, d_away;      /* scalars */
    size_t left, energy;         /* of the residual: (2, C), of dv and dv c; a scalar */
    size_t sums;
};

struct ypi_rx_pipeline_device;

struct rx_pipeline {
    struct yp_device *device;          /* of the object's memory on the host */
    struct ypi_rx_pipeline_device *on; /* what works on tiles, or NULL: the CPU */
    struct rx_pipeline_options options;
    struct ypi_rx_places places;
    struct ypi_rx_sums at;
    float *values;           /* (threads, tile_pixels, C) */
    uint8_t *labels;         /* (threads, tile_pixels) */
    double *matrices, *sums; /* of all tiles so far */
    uint64_t kept;
    double mean_score, m2_score;
    size_t failed; /* index of the first image that could not be factored; SIZE_MAX: none */
    double error;  /* why: as in struct ypi_rx_lane */
    struct ypi_rx_lane *lanes; /* (threads) */
    const struct ypi_pixel_kernels *kernels;
    /* Of the call that is on: */
    const float *parameters;
    bool judged, backward, calibrates;
    double range, floor;            /* r and min of MinMax */
    bool moves;                     /* r follows min and max */
    bool lost;                      /* a gain is not finite */
    double *weights, *shares;       /* (C): k softmax, softmax */
    double *gain64;                 /* (C): weights / r */
    float *base, *gain, *rest;      /* (C): (x - base) gain + rest */
    float *scores_out, *logits_out; /* or NULL */
    size_t stride_out;              /* their places a tile */
    rx_take *take;                  /* of the logits tile by tile, or NULL */
    void *take_arg;
    double *h, *q;          /* (C): sums of dv and of dv v */
    double *square, *other; /* (C, C) of scratch; start keeps Sigma in the first */
    double *column;         /* (C) of scratch */
    double *start;          /* (parameters): before rounding */
    float *whitened;        /* (K, C): W / sqrt(variance + eps), NULL without whitening */
    const float *map;       /* (K, C): that, or W */
    float *symmetric;       /* (D, D): (A + A^T) / 2 of RX and LAD, else NULL */
    bool asymmetric;        /* A is another matrix */
    double *lapack;         /* of PCA and pinv */
    int *lapack_int;
    uint8_t *dead;            /* (C) */
    double left, left_weight; /* of the residual, for the error of scores */
    /* Matrices as products take them: the parameters' and those above, or rounded in `rounded`. */
    struct {
        const float *map, *a, *symmetric, *w1, *w2;
    } taken;
    float *rounded; /* (parameters + D^2) */
    /* What cotangents of the loss are multiplied by before they are rounded: the loss's scale by a
     * power of two below 1 / pixels; 1 in fp32. Sums of them have it as a factor. */
    double pull;
};

/* Goes once over the source, with what the call has set in the object; its sums are in it then. */
enum yp_status ypi_rx_pipeline_pass(struct rx_pipeline *p, const char *what,
                                    const struct rx_source *source);

/* (x - base) gain + rest = (x - floor) gain64 - centre, with a base so near the centre that
 * floats lose nothing. */
void ypi_rx_centre(const struct rx_pipeline *p, const double *centre, float *base, float *rest);

/* From scores of `rows` pixels to the sums that hang on the score alone, and to g. */
void ypi_rx_judge(const struct rx_pipeline *p, struct ypi_rx_lane *lane, size_t rows);

/* Finite pixels of one chunk to lane->rows, their labels to lane->labels; how many. */
size_t ypi_rx_gather(const struct rx_pipeline *p, struct ypi_rx_lane *lane,
                     const struct rx_tile *tile, size_t first, size_t pixels, const float *base,
                     const float *rest);

/* Writes what a call wants of lane->scores, for the `pixels` pixels from `first` on. */
void ypi_rx_put(const struct rx_pipeline *p, struct ypi_rx_lane *lane, size_t first, size_t pixels);

/* A lane takes a tile with index `index`, and, when the tile is done, what it leaves of its place
 * is NaN. What it found is added to what all have found but for the sums: its place in the order of
 * tiles is the caller's to keep. */
void ypi_rx_begin_tile(struct ypi_rx_lane *lane, size_t index, const struct rx_tile *tile);
void ypi_rx_end_tile(const struct rx_pipeline *p, const struct ypi_rx_lane *lane);
void ypi_rx_merge_tile(struct rx_pipeline *p, const struct ypi_rx_lane *lane);

/* Says why the scores of image p->failed would be too far off. */
enum yp_status ypi_rx_refuse_image(const struct rx_pipeline *p, const char *what);

/* One tile of RX by image: scores and sums. */
void ypi_rx_image_tile(const struct rx_pipeline *p, struct ypi_rx_lane *lane,
                       const struct rx_tile *tile);

/* Float sums of an image's products go no further than that: eps is the difference of large numbers
 * in ypi_rx_image_front(), and how well BLAS sums depends on the processor. */
enum { YPI_RX_IMAGE_ROWS = 128 };

/* From lane->m2 = sum g z z^T, upper triangle, and lane->inverse = L of the image to the sums of
 * what comes before the detector. */
void ypi_rx_image_front(const struct rx_pipeline *p, struct ypi_rx_lane *lane);

/* The object's memory, from `arena`; `on_device`: a GPU works on tiles. The object alone, without
 * what that adds. */
void ypi_rx_pipeline_lay_out(struct rx_pipeline *p, struct ypi_arena *arena,
                             const struct rx_pipeline_options *options, bool on_device);

/* T, a parameter or the options'. */
double ypi_rx_temperature(const struct rx_pipeline_options *options, const struct ypi_rx_places *at,
                          const float *parameters);

/* F_k = 1 / sqrt(variance_k + eps) of component k, 1 without whitening. */
double ypi_rx_whitening_of(const struct rx_pipeline *p, const float *parameters, size_t k);

/* p->shares and p->weights from p->parameters; `hard`: as options.hard says, else soft. */
void ypi_rx_weigh(struct rx_pipeline *p, bool hard);

/* The selector's terms of the loss, 0 without, and T times their gradient for its logits, (C). */
double ypi_rx_selector_terms(const struct rx_pipeline *p);
void ypi_rx_selector_pull(const struct rx_pipeline *p, double *pull);

/* The weighted penalty of PCA, 0 without; p->square = W W^T - I. */
double ypi_rx_penalty(const struct rx_pipeline *p);
void ypi_rx_excess(const struct rx_pipeline *p);

/* The residual beside RX of components: it and what RX takes, to lane->low, by W itself (were y
 * made of W' and r of W, what rounding makes them differ by would be the same in all pixels, and
 * where gradients of both cancel much larger than what is left); then it to RX's scores; then its
 * sums, which use up lane->low. */
void ypi_rx_residual_split(const struct rx_pipeline *p, struct ypi_rx_lane *lane, size_t rows);
void ypi_rx_residual_add(const struct rx_pipeline *p, struct ypi_rx_lane *lane, size_t rows);
void ypi_rx_residual_backward(const struct rx_pipeline *p, struct ypi_rx_lane *lane, size_t rows);
/* Its weight's, and adds what it has to W's, mean's and to H and Q; `n` as of the others. */
void ypi_rx_residual_gradient(const struct rx_pipeline *p, double n, float *gradient);
/* The weight to *weight, from p->square = Sigma of the channels and the variances of components,
 * (K), which p->column has. */
enum yp_status ypi_rx_residual_start(const struct rx_pipeline *p, const char *what, double *weight);

/* Sums over all tiles to the gradient of the mean loss. */
void ypi_rx_write_gradient(const struct rx_pipeline *p, float *gradient);

/* Scratch of ypi_rx_pca(), enough for the eigenvalues of pinv as well. */
size_t ypi_rx_pca_work(size_t channels);
size_t ypi_rx_pca_iwork(size_t channels);
enum yp_status ypi_rx_pca(const char *what, double *covariance, size_t channels, size_t components,
                          double *w, double *eigenvalues, double *work, int *iwork);

/* A of a float32 pseudo-inverse of `matrix` (C, C), which is used up, to `a`; `spare` is (C, C).
 * Returns how many eigenvalues were dropped. */
enum yp_status ypi_rx_pinv(const char *what, double *matrix, size_t channels, double *a,
                           double *spare, double *work, int *iwork, size_t *dropped);
