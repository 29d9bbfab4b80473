/* The RX anomaly detector on the CPU or a GPU: streaming mean and covariance, Cholesky whitening,
 * scores, ROC-AUC, and the gradient of the detection loss.
 *
 * RX (Reed and Xiaoli, 1990) scores a pixel x by its squared Mahalanobis distance
 *     s(x) = (x - mu)^T (Sigma + ridge I)^-1 (x - mu) = |L^-1 (x - mu)|^2,
 * with L L^T = Sigma + ridge I.
 *
 * Data come tile by tile from a callback, so a scene never has to exist as a whole. Every result
 * has the same bits for every number of threads, and of processes (rx_fit_over()): tiles are worked
 * on in parallel, their parts are merged in the order of their indices, and OpenBLAS runs one
 * thread inside a tile. Other tile sizes, other processors and other OpenBLAS kernels round
 * differently.
 *
 * An object takes all of its memory in one accounted block when it is created and nothing later,
 * so out of memory is an answer of the create functions and of those that take a device. An
 * object serves one caller at a time; calls use the object's OpenMP threads themselves. */
#pragma once

#include <yieldpoint/gradient.h>

#define RX_MAX_CHANNELS 8192
#define RX_MAX_THREADS 256
#define RX_EPS 1e-6       /* the usual `eps` of rx_finish */
#define RX_MAX_ERROR 0.01 /* of scores: the usual `max_error` */

/* -- input -------------------------------------------------------------------------------- */

/* A piece of an image. `values` is (pixels, channels), one pixel's channels side by side (BIP);
 * `labels` is (pixels), not 0 where there is a target, or NULL when nobody knows.
 *
 * Pixels need not lie side by side: `stride` floats lead from one to the next, 0 means `channels`.
 * So a column of an image is a tile (stride = width * bands), and so are some adjacent bands of
 * one (stride = bands). A stride below `channels` is YP_INVALID. */
struct rx_tile {
    const float *values;
    size_t pixels, channels;
    const uint8_t *labels;
    size_t stride;
};

/* Yields tile `index` of a source. On entry `tile` has no pixels and points to `values`, a buffer
 * of (source.tile_pixels, channels) floats, and to `labels`, one of tile_pixels bytes, or NULL when
 * the caller needs no labels. The buffers are the model's, one per thread, inside the memory it
 * accounts for: the yielder fills it and sets tile->pixels. A yielder whose data are in memory
 * already sets tile->values (and labels) to them instead; they must then stay unchanged until the
 * call that asked for the tile returns.
 *
 * Called for each index once per pass, from several threads at once and in any order: tile `index`
 * must be a function of `index` alone. What is not YP_OK ends the pass and is its result. */
typedef enum yp_status rx_yield(void *arg, size_t index, float *values, uint8_t *labels,
                                struct rx_tile *tile);

struct rx_source {
    size_t channels;
    size_t tile_pixels; /* no tile has more pixels */
    size_t tiles;       /* indices are 0 .. tiles - 1 */
    rx_yield *yield;
    void *arg; /* of yield */
};

/* Takes the logits and labels (pixels) of a tile; a NaN logit: the pixel does not count. */
typedef void rx_take(void *take_arg, const float *logits, const uint8_t *labels, size_t pixels);

/* -- the detector ------------------------------------------------------------------------- */

struct rx;

/* How products are summed for the covariance; means and the merging of chunks and tiles are double
 * in all of them. Scores are float.
 *   RX_FP32    float: error of Sigma as rx_fit says.
 *   RX_BF16X2  bf16 in two terms, three products (models/nn/simd/split.h), summed in float: below
 * 1e-5. RX_BF16X3  bf16 in three terms, six products: as RX_FP32 (a single covariance, against the
 *              deviations of its channels, may be 7 times as far off as there: 2e-6).
 *   RX_FP64    plain loops in double: what the others are held to, and slow.
 * The bf16 ones are for matrix units (AMX). Where there are none they are answered by VDPBF16PS,
 * and without that by the same arithmetic in float: never by another precision, and slower than
 * RX_FP32. */
enum rx_precision { RX_FP32 = 0, RX_BF16X2, RX_BF16X3, RX_FP64 };

/* Where the tiles of a GPU's object lie. With the last two they are the host's, as everywhere on
 * the CPU: the buffer a yielder is given is page-locked memory of the object, and data of its own
 * that a yielder points to need stay unchanged until it is asked for the next tile only. So every
 * source of the CPU's is one of the GPU's: files, or a loader. Results have the same bits in all
 * three. Ignored on the CPU.
 *   RX_TILES_RESIDENT    in the device's memory: the yielder makes them there.
 *   RX_TILES_OVERLAPPED  copied on a stream of its own, into the other of two buffers, while the
 *                        tile before is worked on. Data of the yielder's own that are not
 *                        page-locked (yp_device_alloc_pinned) are copied slower, and the call
 *                        waits.
 *   RX_TILES_SEQUENTIAL  first copied, then worked on: to compare with. */
enum rx_tiles { RX_TILES_RESIDENT = 0, RX_TILES_OVERLAPPED, RX_TILES_SEQUENTIAL };

struct rx_options {
    enum rx_precision precision;
    enum rx_tiles tiles YPI_OR_ZERO;
};

/* Bytes of accounted memory that rx_create() takes with the same arguments; rx_fit, rx_finish and
 * rx_score take no more. 0 with yp_last_error() set when an argument is not allowed. With P the
 * channels rounded up to 16, a thread takes of it one tile, 8 P^2 bytes or a little more
 * for the sums of two, and 4 P bytes for each of min(tile_pixels, 512) pixels; bf16 takes about 4 P
 * (two terms) or 6 P more for each of them, on AMX twice that. */
size_t rx_bytes(size_t channels, size_t tile_pixels, int threads);

/* On a GPU (a device of kind YP_DEVICE) the calls are the same, with this difference. Tiles are in
 * the device's memory: the buffer a yielder is given, what it sets tile->values and labels to, and
 * rx_score's `scores`, rx_loss_gradient's `parameters` and `gradient`. A yielder launches its work
 * on the device's default stream, and need not wait for it; it is called by the caller's thread
 * alone, for one index after the other, and data it points to may change when the device's work up
 * to there is done. With rx_options.tiles the tiles are the host's. `threads` is ignored. The
 * factor is made on the device too, from the sums in its memory: the CPU's within rounding, and
 * what is refused is the same. The host has copies of statistics and factor, so the other calls
 * take and give what they do on the CPU, rx_loss_start's parameters too; rx_fit and rx_finish wait
 * for the device, rx_score launches and returns. A fit that fails leaves the statistics as they
 * were.
 *
 * There are up to 248 channels and RX_FP32 alone: else YP_UNSUPPORTED. The error of Sigma is what
 * rx_fit says of some thousand pixels, and the bits are the same on every GPU. rx_create() takes
 * rx_device_bytes() of the device, less than rx_bytes(channels, 512, 1) of the CPU, and beside
 * that, page-locked, the staging buffers of tiles of the host's. */
size_t rx_device_bytes(size_t channels, size_t tile_pixels, const struct rx_options *options);

/* A detector for 1 .. RX_MAX_CHANNELS channels that takes tiles of up to `tile_pixels` pixels and
 * works with `threads` OpenMP threads (0: omp_get_max_threads()). NULL with yp_last_error() set:
 * an argument is not allowed, the device cannot do it, out of memory. */
struct rx *rx_create(struct yp_device *device, size_t channels, size_t tile_pixels, int threads);

/* The same with options; NULL for those of rx_create(). */
size_t rx_bytes_with(size_t channels, size_t tile_pixels, int threads,
                     const struct rx_options *options);
struct rx *rx_create_with(struct yp_device *device, size_t channels, size_t tile_pixels,
                          int threads, const struct rx_options *options);

void rx_destroy(struct rx *rx); /* NULL is allowed */

void rx_reset(struct rx *rx); /* forgets all data and the factor */

/* Adds all tiles to the statistics; may be called again with more. A pixel with a value that is
 * not finite is skipped and counted. Data are read from memory once: of chunks of up to 512 pixels,
 * while they are in a core's cache, the mean is summed in double, and products of float around the
 * mean of those before, or where that lies too far off around the chunk's own. Chunks, then tiles,
 * are merged in double, more than 256 tiles in blocks first (rx_fit_over(); Chan, Golub and
 * LeVeque, 1979, for pairs of sums): M2 += M2_b + d d^T n m / (n + m),   mean += d m / (n + m),   d
 * = mean_b - mean. The relative error of Sigma (Frobenius norm) is below 1e-6, whatever its
 * condition and the size of tiles, and 2e-7 from some thousand pixels on; where there are but a few
 * different values, so that all products round alike, it may reach 512 2^-25 = 1.5e-5. After a
 * failure that came when tiles had been added already rx_finish refuses until rx_reset. */
enum yp_status rx_fit(struct rx *rx, const struct rx_source *source);

/* The same by the processes of a communicator (ranks/communicator.h), each of which has an object
 * alike and calls this with the same source, and yields a part of its tiles: as many on each, one
 * behind the other. Afterwards every rank has the statistics of all tiles, with the bits that
 * rx_fit() of one process has with any number of threads. For that both merge tiles in up to 256
 * blocks of as many tiles each, in the order of indices, and then the blocks in theirs. Ranks
 * exchange statistics alone, in (size - 1) messages and one broadcast of about 4 C^2 bytes; no
 * tile, and nothing before all have ended their part.
 *
 * A failure of one rank is the result of all and names the rank; statistics are then as they were.
 * YP_INVALID when channels, tiles or pixels fitted before differ; YP_UNSUPPORTED of an object on a
 * GPU. Takes rx_fit_over_bytes() of accounted memory while it runs, none with one rank. */
struct ypk_communicator;
enum yp_status rx_fit_over(struct rx *rx, const struct rx_source *source,
                           struct ypk_communicator *ranks);
size_t rx_fit_over_bytes(size_t channels, size_t tiles, int rank, int size);

struct rx_summary {
    uint64_t pixels;  /* that went into the statistics */
    uint64_t skipped; /* with a value that is not finite */
    float min, max;   /* over all values of those pixels; +infinity, -infinity without one */
};

void rx_summary(const struct rx *rx, struct rx_summary *out);

/* (channels), the object's; all 0 before the first pixel. */
const double *rx_mean(const struct rx *rx);

/* Writes Sigma = M2 / (pixels - 1), (channels, channels). YP_INVALID with fewer than 2 pixels. */
enum yp_status rx_covariance(const struct rx *rx, double *out);

/* Factors Sigma + ridge I in double and prepares scoring. RX is affine-invariant, so the running
 * min-max normaliser x / r, r = max - min (1e-6 where all is one value), is folded in: adding eps
 * to the covariance of normalised data is ridge = eps r^2 here, with the same scores. The
 * statistics stay, so fitting and finishing may go on; a failure leaves no factor.
 *
 * YP_INVALID, naming the channel where there is one: eps is negative or not finite; fewer than 2
 * pixels; eps = 0 and a channel is constant (a dead band) or pixels <= channels; a variance
 * overflows float; the matrix is not positive definite, which includes a channel whose part that
 * the channels before it do not explain is below 2^-20 of its variance, where statistics of
 * float data cannot tell it from nothing; rx_score_error() would be above RX_MAX_ERROR. */
enum yp_status rx_finish(struct rx *rx, double eps);

/* What to do about a covariance that cannot be inverted as it is. */
struct rx_finish_options {
    double eps;
    /* Sigma becomes (1 - shrink) Sigma + shrink diag(Sigma), 0 to 1: full rank where no channel is
     * constant, however few the pixels. */
    double shrink YPI_OR_ZERO;
    /* Channels whose values are all the same are left out: they add 0 to a score. All of them may
     * be, then every score is 0. */
    bool mask_dead YPI_OR_ZERO;
    /* The largest rx_score_error() that is accepted; 0: RX_MAX_ERROR, INFINITY: any. */
    double max_error YPI_OR_ZERO;
};

/* rx_finish() with more to choose. In addition YP_INVALID when shrink is not 0 to 1 or max_error
 * is below 0 or NaN; with shrink above 0, pixels <= channels is allowed, and with mask_dead a dead
 * channel, whatever eps. A channel that is never finite leaves no pixel to fit: see rx_survey(). */
enum yp_status rx_finish_with(struct rx *rx, const struct rx_finish_options *options);

/* How many channels the last rx_finish_with() left out; mask[c] = 1 for each of them when `mask`,
 * (channels), is not NULL. 0 without a factor. */
size_t rx_masked(const struct rx *rx, uint8_t *mask);

/* The relative error that the scores of 99 % of the fitted data's pixels stay within, as the last
 * rx_finish_with() estimates it beside the factor; 0 without one. Let n be the pixels and
 *     v = 1/C sum_c Sigma_cc [(Sigma + ridge I)^-1]_cc
 * over the C channels that are not dead, the channels' mean variance inflation factor (Marquardt,
 * Technometrics 12, 1970): how far each is explained by the others, which unlike the condition of
 * Sigma does not hang on their scale. Then
 *     error^2 = (3 sqrt(2) u v)^2 + (b v)^2 + (3 2^-23)^2 v / C + 2^-40.
 * - Sigma + E instead of Sigma moves the score of z = L y by y^T F y, F = L^-1 E L^-T, to first
 *   order. With independent errors E_ij of size u sqrt(Sigma_ii Sigma_jj) that is sqrt(2) u v of a
 *   score, root mean square (Stewart, SIAM Review 32, 1990, has the method). Float sums over m
 *   pixels, m = min(512, tile_pixels, n), that are added up in double leave
 *   u = 0.42 2^-24 m / sqrt(3 n); RX_FP64 has 2^-53 there and m = min(tile_pixels, n); on a GPU,
 *   where blocks of r pixels (512 to 8192, by tile_pixels) are summed in float from such sums, u^2
 *   is (1 + r^2 / m^3) times that. AMX rounds once for 32 pixels of each of 3 or 6 products (two or
 *   three terms): u^2 is 3 or 6 ceil(m / 32) / m times that.
 * - b = 2^-17 (RX_BF16X2) or 2^-19 (RX_BF16X3; on AMX 0), as measured: the square of what two
 *   terms leave out; squares of bf16, which long sums all round down.
 * - L^-1 and its products with pixels are float: rounding of y_i by 2^-23.
 * - 3: 99 % of the pixels lie within three times the root mean square of such errors.
 * Half to twice what is measured where u v C is below 1 and pixels are more than ten times the
 * channels; a single pixel may be off by twice as much again. Data of a few different values, whose
 * products all round alike, may be off by more (see rx_fit). */
double rx_score_error(const struct rx *rx);

/* Scores of all tiles: pixel p of tile i goes to scores[i * source->tile_pixels + p]; `scores` has
 * tiles * tile_pixels floats. NaN for a pixel with a value that is not finite and for places that
 * a short tile leaves. YP_INVALID before rx_finish. */
enum yp_status rx_score(struct rx *rx, const struct rx_source *source, float *scores);

/* The same for one tile by forward substitution in double: the oracle of rx_score. Takes
 * `channels` doubles of accounted memory while it runs. */
enum yp_status rx_score_plain(const struct rx *rx, const struct rx_tile *tile, double *scores);

/* -- the detection loss ------------------------------------------------------------------- */

/* For a pixel x with label y in {0, 1}:
 *     s = (x - mu)^T A (x - mu),   l = scale (s - bias),   loss = 10 BCE(sigmoid(l), y).
 * A is used as a general matrix: it need not be symmetric. With d = dloss/dl = 10 (sigmoid(l) - y)
 * times the pixel's cotangent, g = d scale, and sums over pixels:
 *     dA = sum g (x - mu)(x - mu)^T,  dmu = -(A + A^T) sum g (x - mu),
 *     dscale = sum d (s - bias),      dbias = -scale sum d.
 * A pixel with a value that is not finite has loss 0 and no gradient.
 *
 * Parameters, and gradients, are one vector of four tensors: mu (C), A (C, C), scale, bias. */
#define RX_LOSS_TENSORS 4

size_t rx_loss_parameters(size_t channels); /* C + C C + 2 */

/* Names and places of the tensors, as struct yp_gradient takes them. */
void rx_loss_tensors(size_t channels, struct yp_tensor tensors[RX_LOSS_TENSORS]);

/* Where training starts: mu and A = (Sigma + ridge I)^-1 of a finished detector, with the given
 * scale and bias. Takes channels^2 doubles of accounted memory while it runs. */
enum yp_status rx_loss_start(const struct rx *rx, float scale, float bias, float *parameters);

/* By matrix products in float (the same in plain loops: struct rx_plain in pipeline/nodes.h, of a
 * pipeline of the detector alone): its workspace. Arguments and errors as of
 * rx_bytes() and rx_create(). */
struct rx_loss;
size_t rx_loss_bytes(size_t channels, size_t tile_pixels, int threads);
/* Of a GPU's memory, as rx_device_bytes(). */
size_t rx_loss_device_bytes(size_t channels, size_t tile_pixels, const struct rx_options *options);
struct rx_loss *rx_loss_create(struct yp_device *device, size_t channels, size_t tile_pixels,
                               int threads);
/* With options.tiles; options.precision must be RX_FP32. NULL for those of rx_loss_create(). */
struct rx_loss *rx_loss_create_with(struct yp_device *device, size_t channels, size_t tile_pixels,
                                    int threads, const struct rx_options *options);
void rx_loss_destroy(struct rx_loss *loss); /* NULL is allowed */

/* The mean loss over all finite pixels of the source, whose tiles must have labels, and its
 * gradient. Tiles are summed in float, the sum over tiles is double. YP_INVALID when there is no
 * finite pixel. */
enum yp_status rx_loss_gradient(struct rx_loss *loss, const struct rx_source *source,
                                const float *parameters, double *mean, float *gradient);
