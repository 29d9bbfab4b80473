/* The hyperspectral anomaly pipeline as one objective.
 *
 *     x -> MinMax -> channel selector -> [PCA ->] detector -> score s -> logit l -> 10 BCE(l, y)
 *
 * Every node but the detector and the logit may be left out; the detector is RX with global
 * statistics, RX with those of the image itself, LAD, or a linear autoencoder, whose objective is
 * its own reconstruction error instead of the logit's.
 *
 * A pipeline has two phases. Statistical: rx_pipeline_fit() streams over a source twice and fills
 * the parameters. Gradient: rx_pipeline_gradient() gives the mean loss over a source and its exact
 * gradient for every parameter, as one vector of named tensors, to any optimiser.
 *
 * Formulas, for a pixel x of C channels:
 *   MinMax       u = (x - min) / r,  r = max - min, 1e-6 where all is one value; min and max are
 *                two scalars: of all data, or, by sample, of the finite pixels of a tile, then a
 *                whole cube.
 *   selector     v_c = u_c w_c,  w = k s,  s = softmax(logits / T); logits start at
 *                ln(var(u_c) + 1e-6), or all at 0 (uniform). Its terms of the loss, as cuvis.ai's
 *                regularisers have them: -entropy H, H = -sum s ln s, and -diversity var w,
 *                var w = 1/C sum (w_c - k/C)^2. A weight of entropy above 0 draws s to the
 *                uniform, below 0 to a single channel; one of diversity above 0 draws weights
 *                apart. T may fall from epoch to epoch, T_(n+1) = max(T_min, T_n decay). A hard
 *                selection, for scores and judgements alone: w_c of the k channels with the
 *                largest w, 0 for the others.
 *   PCA          v' = W (v - mean), W (K, C): the eigenvectors of the K largest eigenvalues, each
 *                with its largest element positive; penalty ||W W^T - I||_F^2 times a weight.
 *                Whitened: v'_k / sqrt(variance_k + 1e-6), variance (K) the eigenvalues; their
 *                logarithms train on as parameters (in cuvis.ai they stay: freeze them).
 *   residual     beside RX of the components what they leave of the pixel, under the same logit:
 *                s + weight |r|^2, r = c - W^T W c, c = v - mean. weight starts at 1 over the mean
 *                variance of the directions that are left, plus eps as RX adds it: without eps s is
 *                then the squared Mahalanobis distance of probabilistic PCA (Tipping and Bishop,
 *                1999), which takes those directions to be alike. |r|^2 is the Q statistic of
 *                Jackson and Mudholkar (1979).
 *   RX           s = (v - mu)^T A (v - mu), A = (Sigma + eps I)^-1 (Reed and Xiaoli, 1990).
 *   RX by image  the same with mu and Sigma = M2 / (n - 1) of the tile's own finite pixels. The
 *                gradient goes through these statistics.
 *   LAD          s = (v - M)^T L (v - M), L = I - D^-1/2 G D^-1/2 the normalised Laplacian of the
 *                graph G_ij = 1 / (1 + ((M_i - M_j) / mean M)^2), G_ii = 0 (Verdoja and Grangetto,
 *                2020). M and L train on as parameters of their own.
 *   autoencoder  o = W2 (W1 v + b1) + b2,  s = mean over channels of (o - v)^2; loss = s.
 *   logit        l = scale (s - bias); bias starts at mean + 2 sigma of the scores.
 *   loss         10 p_y (max(l, 0) - l y + ln(1 + e^-|l|)), y in {0, 1}, p_0 = 1 and p_1 the
 *                positive weight (pos_weight of PyTorch's BCEWithLogitsLoss): its mean over the
 *                pixels, plus PCA's penalty and the selector's terms.
 *
 * A, L and W are used as general matrices: training need not keep them symmetric or orthogonal. A
 * pixel with a value that is not finite has no score (NaN), no loss and no gradient.
 *
 * Mixed precision (Micikevicius et al., 2018; precision='16-mixed' and 'bf16-mixed' of PyTorch
 * Lightning): parameters, their gradient, the optimiser, statistics, MinMax, selector, logit and
 * loss are as ever; operands of the products of matrices that scores and sums over pixels are made
 * of, parameters, pixels and cotangents alike, are rounded to the nearest value of bf16 or fp16,
 * and their sums are float. Results of products are not rounded but where they are operands again.
 * Cotangents are those of the mean over the pixels that the source has room for, up to a power of
 * two, times the scale of the loss: fp16 ends at 65504 and has multiples of 2^-24 below 2^-14,
 * so that small ones are lost without a scale, and large ones make gradients that are not finite.
 * The covariance of RX by image is a statistic; its scores and gradient are products.
 * It is what training on units for 16 bits gives, on any machine; products are float's, so it
 * is neither faster nor smaller here (models/README.md).
 *
 * Bounds, u = 2^-9 of bf16 and 2^-12 of fp16: of RX scores as rx_start.score_error has them. Loss
 * and gradient are off from the formulas in double by as much as those of plain loops with the
 * same operands rounded, at most 2 times the loss and 3 times a tensor's gradient. */
#pragma once

#include "models/rx/rx.h"

/* -- statistics to parameters, in double --------------------------------------------------- */

/* L of LAD from mean spectrum M: `mean` is (channels), `laplacian` (channels, channels). A channel
 * without a neighbour, as with 1 channel, has a row of zeros. YP_INVALID when the mean of M is 0 or
 * M is not finite. */
enum yp_status rx_lad_laplacian(const double *mean, size_t channels, double *laplacian);

/* The `components` largest eigenvalues of a symmetric matrix, largest first, and their vectors as
 * rows of w (components, channels). `covariance` (channels, channels) is used up. Takes
 * 2 channels^2 + 7 channels + 1 doubles and 5 channels + 3 ints of accounted memory while it runs.
 */
enum yp_status rx_pca(struct yp_device *device, double *covariance, size_t channels,
                      size_t components, double *w, double *eigenvalues);

/* How a covariance becomes A. */
enum rx_inverse {
    RX_CHOLESKY, /* in double */
    /* A pseudo-inverse as torch.linalg.pinv makes it in float32: eigenvalues of size up to
     * C 2^-23 times the largest count as zero. For parity with systems that do so, and unsafe:
     * those are the quiet directions in which a target stands out. At C = 200 the cut lies at a
     * condition of 4e4, so from some 40 dB of signal to noise on nearly all directions are lost,
     * and with them a tenth of the ROC-AUC of targets that are nowhere in particular; of targets
     * in those directions more than half. At 30 dB it makes no difference. */
    RX_PINV_F32,
};

/* -- the pipeline -------------------------------------------------------------------------- */

enum rx_detector { RX_GLOBAL, RX_IMAGE, RX_LAD, RX_AUTOENCODER };

/* What rx_pipeline_score() and rx_pipeline_train_evaluate() make of the selector. Gradients, the
 * loss beside them and rx_pipeline_calibrate() are always soft. */
enum rx_hard {
    RX_SOFT,        /* all weights */
    RX_TOP_WEIGHTS, /* the k largest, as they are */
    RX_TOP_ONES,    /* 1 in the places of the k largest, as cuvis.ai has it */
};

/* Of the operands of products of matrices. */
enum rx_operands { RX_OPERANDS_FP32, RX_OPERANDS_BF16, RX_OPERANDS_FP16 };

struct rx_pipeline_options {
    size_t channels;
    size_t tile_pixels;      /* no tile has more; RX_IMAGE: a tile is an image */
    int threads YPI_OR_ZERO; /* 0: omp_get_max_threads() */
    enum rx_detector detector YPI_OR_ZERO;
    bool normalise YPI_OR_ZERO;         /* MinMax first */
    bool by_sample YPI_OR_ZERO;         /* with each tile's own min and max; not on a GPU */
    bool select YPI_OR_ZERO;            /* the soft channel selector */
    double keep YPI_OR_ZERO;            /* its k; 0: channels */
    double temperature YPI_OR_ZERO;     /* its T; 0: 1 */
    bool train_temperature YPI_OR_ZERO; /* T is a parameter */
    bool uniform YPI_OR_ZERO;           /* logits start at 0 */
    enum rx_hard hard YPI_OR_ZERO;      /* other than RX_SOFT: k is a whole number, 1 to channels */
    /* T falls by this factor, up to 1, an epoch; 0: it stays. T is then a tensor that the optimiser
     * leaves alone and rx_pipeline_epoch() sets, so that parameters say which T they go with. */
    double temperature_decay YPI_OR_ZERO;
    double temperature_min YPI_OR_ZERO; /* up to temperature; 0: 0.1, or temperature below it */
    double entropy YPI_OR_ZERO;         /* weights of the selector's terms in the loss */
    double diversity YPI_OR_ZERO;
    size_t components YPI_OR_ZERO;    /* PCA to so many before RX_GLOBAL; 0: no PCA */
    double orthogonality YPI_OR_ZERO; /* weight of its penalty in the loss */
    bool whiten YPI_OR_ZERO;          /* its components */
    bool residual YPI_OR_ZERO;        /* beside RX; with fp32, and not on a GPU */
    size_t hidden YPI_OR_ZERO;        /* of the autoencoder; 0: the smaller of 5 and channels */
    /* Added to the diagonal of the covariance of what the detector sees, that is after MinMax,
     * selector, PCA and whitening. RX_IMAGE needs more than 0; RX_GLOBAL takes 0 where the data
     * have full rank. */
    double eps YPI_OR_ZERO;
    double shrink YPI_OR_ZERO;  /* this and the next two of RX_GLOBAL only; the first as in */
    bool mask_dead YPI_OR_ZERO; /* struct rx_finish_options */
    enum rx_inverse inverse YPI_OR_ZERO;
    float scale YPI_OR_ZERO;                /* where the logit's scale starts; 0: 1 */
    double positive_weight YPI_OR_ZERO;     /* p_1 of the loss, up to 1e6; 0: 1 */
    uint64_t seed YPI_OR_ZERO;              /* of the autoencoder's weights */
    enum rx_tiles tiles YPI_OR_ZERO;        /* of a GPU: where tiles come from, as rx.h says */
    double max_error YPI_OR_ZERO;           /* the largest rx_start.score_error; 0: RX_MAX_ERROR */
    enum rx_operands precision YPI_OR_ZERO; /* of products; other than fp32: not on a GPU */
};

/* min, max (both not by sample), logits, temperature, mean, W, log_variance, mu, A (RX) or M, L
 * (LAD) or W1, b1, W2, b2, residual (its weight), scale, bias: those that the options ask for, in
 * this order. */
#define RX_PIPELINE_TENSORS 15

struct rx_pipeline;

/* Bytes of accounted memory that rx_pipeline_create() takes; nothing takes more later. 0 with
 * yp_last_error() set when an option, or the combination, is not allowed. */
size_t rx_pipeline_bytes(const struct rx_pipeline_options *options);

/* On a GPU (a device of kind YP_DEVICE) the calls are the same, with this difference. Tiles are in
 * the device's memory, or with options.tiles the host's, as rx.h has it of rx_create(), and so are
 * the sources that a trainer walks; the detector that rx_pipeline_fit() is given takes its tiles
 * from the same place. Everything else is the host's: parameters, gradient, scores and logits, and
 * what `take` is given. Scores, and the sums over pixels that make loss and gradient, are made
 * there; parameters, the way from sums to the gradient, and of RX_IMAGE the part of it before the
 * detector stay with the host, in double. `threads` is ignored. There are up to 248 channels, and
 * there is no MinMax by sample, no residual and no mixed precision: else YP_UNSUPPORTED. The same
 * bits come on every GPU, other ones than the CPU's, within what gradients in float are off.
 *
 * rx_pipeline_create() takes rx_pipeline_device_bytes() of the device, page-locked memory of it
 * where tiles are the host's, and rx_pipeline_host_bytes() of the CPU. */
size_t rx_pipeline_device_bytes(const struct rx_pipeline_options *options);
size_t rx_pipeline_host_bytes(const struct rx_pipeline_options *options);

/* NULL with yp_last_error() set: an option is not allowed, the device cannot do it, out of memory.
 * An object serves one caller at a time. */
struct rx_pipeline *rx_pipeline_create(struct yp_device *device,
                                       const struct rx_pipeline_options *options);
void rx_pipeline_destroy(struct rx_pipeline *pipeline); /* NULL is allowed */

size_t rx_pipeline_parameters(const struct rx_pipeline *pipeline);

/* Names and places in the parameters, as struct yp_gradient takes them; returns how many. */
size_t rx_pipeline_tensors(const struct rx_pipeline *pipeline,
                           struct yp_tensor tensors[RX_PIPELINE_TENSORS]);

/* How much of the variance each of PCA's components explains, to ratios (components):
 * w S w^T / (w w^T tr S) for a row w of W, where S is the covariance of what PCA sees, made of that
 * of `fitted`, a detector after rx_fit(), by MinMax and selector as the parameters have them. At
 * the start they are the eigenvalues' parts of their sum; in training they follow W. 0 where S is
 * 0. YP_INVALID: there is no PCA, or as rx_covariance() and rx_pipeline_gradient(). */
enum yp_status rx_pipeline_explained(struct rx_pipeline *pipeline, const struct rx *fitted,
                                     const float *parameters, double *ratios);

/* Writes the k channels with the largest weights, which a hard selection keeps, to list (k), in
 * ascending order, as rx_subset_create() takes them; of equal weights the first. Returns how many;
 * 0 with yp_last_error() set: there is no selector, k is not a whole number of 1 to channels, or a
 * weight is not finite. */
size_t rx_pipeline_selected(struct rx_pipeline *pipeline, const float *parameters, size_t *list);

/* For struct train_objective's `epoch`: sets T of the parameters for epoch number `epoch`, from 0.
 * `pipeline` is a struct rx_pipeline. Nothing to do without temperature_decay. */
void rx_pipeline_epoch(void *pipeline, uint64_t epoch, float *parameters);

struct rx_start {
    size_t masked;  /* dead channels, whose rows and columns of A are 0 */
    size_t dropped; /* eigenvalues that RX_PINV_F32 took for zero */
    /* Of RX_GLOBAL by RX_CHOLESKY, otherwise 0: rx_score_error() for the scores of
     * rx_pipeline_score() with a soft selection, that is with (5 2^-24 |R^-1| / D)^2 for A in float
     * more, R the correlations of the D living channels that the detector sees, and |.| the
     * Frobenius norm. Behind PCA W is taken as it is, and v is the mean over components of
     * [Sigma'^-1]_kk sum_c W_kc^2 Sigma_cc. With operands in 16 bits, u = 2^-9 or 2^-12, of scores
     * with mean m = tr A Sigma, which is D without eps, with squares more of
     *     3 / m sqrt((tr d Sigma)^2 + 2 tr (d Sigma)^2)  for A, d what rounding changes of it,
     *     1.3 u / m sqrt(sum A_kk Sigma_kk + 2)  over channels, for what A takes,
     *     7.2 u / m sqrt(D v)  behind PCA, for W and what it takes.
     * Where A does not fit, above 65504 in fp16, that is never accepted. Beside the residual sums
     * are divided by the C living channels, not D; of what v multiplies, products with W have
     * weight sum_c P_cc Sigma_cc / C more, P = I - W^T W, and there is one more square for weight,
     *     3 sqrt(2) u weight / C sqrt(sum_ij P_ij^2 Sigma_ii Sigma_jj),
     * which is the same part of all pixels' residual. Of RX_IMAGE every image has its own, as
     * behind PCA, and calls that score one above max_error are YP_INVALID. */
    double score_error;
    double explained; /* part of the variance that PCA's components have; 0 without PCA */
};

/* Parameters from the statistics of `fitted`, a detector after rx_fit() of the raw data: since
 * MinMax and selector are linear in each channel, its mean and covariance give those of what
 * follows. scale is the options', bias 0. `start` may be NULL. YP_INVALID where rx_finish() has it,
 * which includes a score_error above options.max_error (0: RX_MAX_ERROR), and as
 * rx_lad_laplacian(). */
enum yp_status rx_pipeline_start(struct rx_pipeline *pipeline, const struct rx *fitted,
                                 float *parameters, struct rx_start *start);

/* The same from statistics in double, unrounded: mean (C), covariance (C, C), smallest and largest
 * value. No channel is taken for dead but one of variance 0. */
enum yp_status rx_pipeline_start_plain(struct rx_pipeline *pipeline, const double *mean,
                                       const double *covariance, double min, double max,
                                       double *parameters, struct rx_start *start);

/* MinMax by sample as a source: what `source` yields, each tile scaled by the min and max of its
 * own finite pixels, in the buffer that the caller gives. `source` stays the caller's and must
 * outlive what is returned; its values are the host's. A detector that is fitted for
 * rx_pipeline_start() of a pipeline with by_sample takes its tiles from this; rx_pipeline_fit() and
 * all other calls do so themselves. */
struct rx_source rx_sample_source(const struct rx_source *source);

/* bias = mean + 2 sigma (n - 1) of the scores of all finite pixels of the source; sigma is 0 for
 * one pixel, YP_INVALID without one or when a score is not finite. Nothing to do, and YP_OK, for an
 * autoencoder. */
enum yp_status rx_pipeline_calibrate(struct rx_pipeline *pipeline, const struct rx_source *source,
                                     float *parameters);

/* The statistical phase: rx_reset, rx_fit, rx_pipeline_start, rx_pipeline_calibrate. */
enum yp_status rx_pipeline_fit(struct rx_pipeline *pipeline, struct rx *rx,
                               const struct rx_source *source, float *parameters,
                               struct rx_start *start);

/* Scores and logits of all tiles, placed as rx_score() places them; either may be NULL. Anomalous
 * is what has a logit of 0 or more (a sigmoid of 0.5 or more). An autoencoder has no logits.
 * z^T A z with A in float: the relative error is about cond(Sigma + eps I) 2^-24, where rx_score()
 * sums squares of L^-1 z, whose error grows with the root of the condition. YP_INVALID as of
 * rx_pipeline_gradient(). */
enum yp_status rx_pipeline_score(struct rx_pipeline *pipeline, const struct rx_source *source,
                                 const float *parameters, float *scores, float *logits);

/* The mean loss over all finite pixels of the source, plus the weighted penalty of PCA and the
 * selector's terms, and its gradient, (rx_pipeline_parameters), which may be NULL: the loss alone.
 * Tiles must have labels but for the autoencoder. Tiles are summed in float (on a GPU up to 512
 * pixels), the sum over tiles is double; the same bits for any number of threads. YP_INVALID when
 * there is no finite pixel; when min or max of MinMax is not finite or they are more than 1e37
 * apart; RX_IMAGE: when the covariance of an image, with eps, cannot be factored, with the index of
 * the first. Other parameters that have run away give a loss that is not finite: look at it. */
enum yp_status rx_pipeline_gradient(struct rx_pipeline *pipeline, const struct rx_source *source,
                                    const float *parameters, double *mean, float *gradient);

/* The same for a trainer: `pipeline` is a struct rx_pipeline; `weight` is the number of finite
 * pixels, and 0 is no error (mean is then 0, and so is the gradient). The gradient is that of
 * `scale` times the loss, which cotangents in 16 bits are made with. */
enum yp_status rx_pipeline_train_gradient(void *pipeline, const struct rx_source *source,
                                          const float *parameters, double scale, double *mean,
                                          double *weight, float *gradient);

/* Mean loss and weight, unless both are NULL, and each tile's logits to `take`, one call at a time
 * and in the order of tiles, unless that is NULL; one pass for both. An autoencoder has no logits
 * and never calls it. */
enum yp_status rx_pipeline_train_evaluate(void *pipeline, const struct rx_source *source,
                                          const float *parameters, double *mean, double *weight,
                                          rx_take *take, void *take_arg);

/* -- the pipeline in plain loops: the oracle ------------------------------------------------ */

/* Operators of models/nn in a chain on one tile, with the memory for it; options.precision is
 * ignored. */
struct rx_plain;

/* The tile must outlive the object and stay as it is; it has up to options->tile_pixels pixels, and
 * needs labels but for the autoencoder. */
struct rx_plain *rx_plain_create(struct yp_device *device,
                                 const struct rx_pipeline_options *options,
                                 const struct rx_tile *tile);
void rx_plain_destroy(struct rx_plain *plain); /* NULL is allowed */

/* Pixels of the tile, one more for the penalty, weighted, where there is PCA, and one more for the
 * selector's terms where it has any. */
size_t rx_plain_outputs(const struct rx_plain *plain);

/* The loss of each pixel (0 where it is not finite) and its vector-Jacobian product, in the shapes
 * that struct yp_gradient takes: `plain` is a struct rx_plain, `x` the parameters. */
void rx_plain_losses(void *plain, const double *x, double *losses);
void rx_plain_vjp(void *plain, const double *x, const double *cotangent, double *gradient);
void rx_plain_vjp_f32(struct rx_plain *plain, const float *x, const float *cotangent,
                      float *gradient);

/* The score of each pixel, NaN where it is not finite; of a hard selection where options.hard is.
 */
void rx_plain_scores(struct rx_plain *plain, const double *x, double *scores);

/* -- fewer channels ------------------------------------------------------------------------ */

/* What a channel has, whatever the others have in that pixel. */
struct rx_channel {
    uint64_t finite;       /* values that are */
    float min, max;        /* of them; +infinity, -infinity without one */
    double mean, variance; /* of them; variance / (finite - 1), 0 below 2 */
};

/* Fills channels[source->channels] in one pass with `threads` threads (0: all), which takes a tile
 * and a struct rx_channel for each channel, both for each thread, of accounted memory while it
 * runs. For what RX cannot take: a channel that is never finite makes rx_fit() skip every pixel. */
enum yp_status rx_survey(struct yp_device *device, const struct rx_source *source, int threads,
                         struct rx_channel *channels);

/* Writes the indices of the usable channels (some finite value, and not all the same) to `list`,
 * in ascending order: all of them when limit is 0, else the `limit` of largest variance. Returns
 * how many. */
size_t rx_usable(const struct rx_channel *channels, size_t count, size_t limit, size_t *list);

/* A source of those channels of another, in the order of `list`, each index below
 * source->channels. It copies; `source` and its data must outlive it. For the calls of one object
 * at a time, of up to `threads` threads (0: all): each thread has its buffer by its number, so
 * tiles are asked for by the threads of one pass of this library, not by a team of the caller's. */
struct rx_subset;
struct rx_subset *rx_subset_create(struct yp_device *device, const struct rx_source *source,
                                   const size_t *list, size_t count, int threads);
void rx_subset_destroy(struct rx_subset *subset); /* NULL is allowed */
const struct rx_source *rx_subset_source(const struct rx_subset *subset);
