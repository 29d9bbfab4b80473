/*
 * Synthetic hyperspectral scenes, seeded: any tile of any cube, without what comes before it.
 *
 * A value is a pure function of (spec, cube, pixel, channel). It does not depend on the tile it is
 * asked for in, on threads, on order, on the compiler or on the instruction set. A cube is height x
 * width pixels in row-major order, its channels beside each other (BIP); channels sample the
 * wavelength axis 0..1 evenly, both ends included (one channel: 0).
 */
#ifndef YIELDPOINT_SYNTH_SCENE_H
#define YIELDPOINT_SYNTH_SCENE_H

#include <stddef.h>
#include <stdint.h>
#include <yieldpoint/device.h>

#include "level.h"

#ifdef __cplusplus
extern "C" {
#endif

enum synth_preset {
    /*
     * A linear mixing scene with rare sub-pixel targets; the default.
     *
     * x = S ((1 - f) sum_k a_k e_k + f t), value = x + sqrt(a x + b) z with z standard normal.
     * - e_k: `endmembers` reflectances in (0, 1), smooth, with absorption features; t: that of the
     *   target. All are drawn from the seed and shared by its cubes.
     * - a_k: softmax of 2 g_k; g_k standard normal at every pixel, value noise on a lattice of
     *   `correlation_px` pixels, so that neighbours look alike.
     * - S = 1 + shade * g, g a field like the others, clamped to [1/4, 7/4].
     * - f: 0 but at the targets, which are independent pixels with probability `target_fraction`;
     *   there uniform in [0.05, 1].
     * - a x + b: the variance of photon and read noise; half each at x = the mean of all e_k, where
     *   x^2 / (a x + b) is `snr_db`.
     * Labels mark the targets, fill is f.
     */
    SYNTH_MIXING = 0,
    /*
     * The generator of the cuvis.ai stress suite, kept for parity and for timing.
     *
     * With w the wavelength axis,
     *
     *   normal = 100 exp(-(w - 0.5)^2 / 0.1),
     *   anomaly = 100 m (0.5 exp(-(w - 0.3)^2 / 0.05) + 0.5 exp(-(w - 0.7)^2 / 0.05)),
     *
     * the value at row i and column j is normal (1 + 0.2 sin(2 pi i / height))
     * (1 + 0.2 cos(2 pi j / width)) + 100 noise_std z. On it lie
     * max(1, floor(height width anomaly_ratio) / 20) discs of radius 2 to 5 px, wholly within the
     * image where it is large enough, filled with the anomaly spectrum without noise.
     *
     * An RX detector CANNOT work on it. The discs cover 9-11 % of the pixels at the default ratio
     * of 5 %, and all anomalous pixels are one and the same spectrum. A cluster of identical
     * spectra that makes up a fraction p of the data scores at most (1 - p) / p (about 9), however
     * bright it is, since it widens the covariance it is judged by; all pixels together score
     * `channels` in the mean. So at 10 channels ROC-AUC is 0.3 to 0.5, by coverage (to 0.65 on
     * images of 64 x 64, whose coverage varies more), and from 50 channels it is 0.
     *
     * Labels mark the discs, fill is 1 in them.
     */
    SYNTH_CUVIS = 1,
};

/* Turns an option off that has a default other than none. */
#define SYNTH_OFF (-1.0)

/*
 * What to make. All options may stay 0, which means the default; where SYNTH_OFF is named, it
 * means none. An option of the other preset must stay 0.
 */
struct synth_spec {
    enum synth_preset preset;
    size_t height, width, channels; /* each 1 to 2^30; a cube's bytes must fit a size_t */
    uint64_t seed;
    enum synth_level level; /* the instruction set; the values do not depend on it */

    /* SYNTH_MIXING */
    size_t endmembers;      /* 2 to 7; default 6 */
    size_t correlation_px;  /* lattice pitch of the fields, 1 to 65536; default 16 */
    double shade;           /* deviation of the illumination, 1e-9 to 0.5; default 0.2; or OFF */
    double snr_db;          /* 1 to 120; default 40; or OFF: no noise */
    double target_fraction; /* probability, 1e-9 to 1; default 0.001; or OFF */

    /* SYNTH_CUVIS */
    double anomaly_ratio;    /* 1e-9 to 1; default 0.05 */
    double anomaly_strength; /* m, 1e-9 to 1000; default 3 */
    double noise_std;        /* 1e-9 to 1000; default 0.1; or OFF */
};

struct synth_scene;

/* Makes the tables of a scene in one block of `device`'s memory, which must be host memory. The
 * caller gives it back with synth_scene_destroy(). NULL with yp_last_error() set when the spec is
 * not allowed (the field, its value and what is allowed) or memory is short. */
struct synth_scene *synth_scene_create(struct yp_device *device, const struct synth_spec *spec);

/* NULL is allowed. */
void synth_scene_destroy(struct synth_scene *scene);

/* The bytes that synth_scene_create() will take from the device, exactly; 0 with yp_last_error()
 * set when the spec is not allowed. With S = channels rounded up to a multiple of 16: a header
 * below 512 bytes, and 32 S bytes (MIXING) or 8 S + 4 (height + width) bytes (CUVIS), each table
 * rounded up to 64. Nothing else is taken, then or later; a tile uses less than 64 KiB of stack. */
size_t synth_scene_bytes(const struct synth_spec *spec);

/* The spec with its defaults filled in (OFF: 0) and its level resolved. Owned by the scene. */
const struct synth_spec *synth_scene_spec(const struct synth_scene *scene);

/*
 * Pixels first_pixel .. first_pixel + pixels - 1 of cube `cube`.
 *
 * values: pixels x channels. labels: pixels, 1 on a target or anomaly, else 0; or NULL. fill:
 * pixels, the target's share of the pixel; or NULL. All are the caller's.
 * cube < 2^60; the pixels must lie in the cube; pixels may be 0. YP_INVALID otherwise, and nothing
 * is written. A scene is not changed: any number of threads may make tiles of it at once.
 * Cost: linear in pixels x channels; with SYNTH_CUVIS also the number of discs per 4096 pixels.
 */
enum yp_status synth_scene_tile(const struct synth_scene *scene, uint64_t cube, size_t first_pixel,
                                size_t pixels, float *values, uint8_t *labels, float *fill);

#ifdef __cplusplus
}
#endif

#endif
