/* Detectors of known spectra: the matched filter and the adaptive coherence (cosine) estimator, for
 * several targets in one pass over the data.
 *
 * With the mean mu and the covariance Sigma = L L^T of the background, a target t in the unit of
 * the cube, z = L^-1 (x - mu) and w = L^-1 (t - mu), a pixel x scores
 *     matched filter  w.z / w.w                 how much of t; 1 for t, 0 for mu
 *     ACE             (w.z)^2 / (w.w z.z)       0 to 1; 1 for all of mu + a (t - mu), a not 0
 *     cosine          w.z / (|w| |z|)           -1 to 1: the root of ACE with the sign of w.z
 * Matched filter: Manolakis, Marden and Shaw, Lincoln Laboratory Journal 14(1), 2003. ACE: Kraut,
 * Scharf and McWhorter, IEEE Trans. Signal Processing 49(1), 2001. ACE is squared, as in ENVI and
 * in Spectral Python's ace(), so it answers to less than the background (a < 0) as to more of a
 * target; the cosine tells the two apart.
 *
 * w.z is summed in double, as (x - mu) . Sigma^-1 (t - mu); z.z is RX's score, in float, with what
 * rx.h says of it. Every result has the same bits for every number of threads. */
#pragma once

#include "models/rx/rx.h"

enum rx_match { RX_MATCHED_FILTER = 0, RX_ACE, RX_COSINE };

#define RX_MAX_TARGETS 1024

struct rx_matched;

/* Bytes of accounted memory that rx_matched_create() takes with the same arguments; scoring takes
 * no more. 0 with yp_last_error() set when an argument is not allowed. */
size_t rx_matched_bytes(size_t channels, size_t tile_pixels, size_t count, int threads);

/* The filters of `count` targets (count, channels) against the background of a detector that has
 * its factor, on whatever device that is; `device` is the CPU. All that is needed is copied: rx may
 * be fitted anew or destroyed. Regularisation and dead channels are rx_finish_with()'s: a channel
 * that it left out counts in no score, whatever a target has there.
 *
 * NULL with yp_last_error() set: rx has no factor; a value of a target is not finite; a target is
 * the background's mean in all channels that count; an argument is out of its range; out of
 * memory. */
struct rx_matched *rx_matched_create(struct yp_device *device, const struct rx *rx,
                                     const float *targets, size_t count, size_t tile_pixels,
                                     int threads);
void rx_matched_destroy(struct rx_matched *matched); /* NULL is allowed */

/* Scores of all tiles: of target k those that rx_score() would place at scores[i] are at
 * scores[k * source->tiles * source->tile_pixels + i]. NaN for a pixel with a value that is not
 * finite and for places that a short tile leaves. A pixel that is the mean itself, where z is 0,
 * scores 0. */
enum yp_status rx_matched_score(struct rx_matched *matched, const struct rx_source *source,
                                enum rx_match match, float *scores);
