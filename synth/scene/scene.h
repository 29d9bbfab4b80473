/* Synthetic hyperspectral scenes from a seed: any tile of any cube, without computing others.
 *
 * A value is a pure function of (spec, cube, pixel, channel). It does not depend on the tile it is
 * asked for in, on threads, on order, on the compiler or on the instruction set. A cube is height x
 * width pixels in row-major order, its channels beside each other (BIP); channels sample the
 * wavelength axis evenly, both ends included (one channel: its beginning). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yieldpoint/device.h>

#include "base/random/level.h"

#ifdef __cplusplus
extern "C" {
#endif

enum synth_preset {
    /* A linear mixing scene seen by an imaging spectrometer; the default. Every part but the
     * mixture itself can be turned off. For pixel p and channel c, lambda the channel's wavelength
     * and w its place between the first and the last one, 0 to 1:
     *
     *   R = (1 - f) sum_k a_k psi_k e_k + f t         reflectance of the ground
     *   x = S tau R + path                            radiance at the sensor
     *   y = gain (x + sqrt(a x + b) z) + offset       the sensor's reading; z standard normal
     *   value = y to the nearest multiple of 2^-bits, clipped to 0 .. 1 - 2^-bits
     *
     * Each of e_k, t, tau, path and of the products that a channel gets is the mean over
     * wavelengths under the channel's response, a Gaussian about its centre with `fwhm_nm` at half
     * its height, as real instruments have about their channels' spacing (AVIRIS: 10 nm each).
     * Beyond the ends of the axis the light is taken to be that at the end. With fwhm_nm OFF they
     * are the values at the centres. Half the step of sampling, or half as far again, changes no
     * mean by more than a float's last place (13 axes of 2 to 1000 channels, 5 seeds: 282,260
     * means, 8 % by one).
     *
     * - e_k: `endmembers` reflectances in (0, 1), smooth, with absorption features, and of clearly
     *   different brightness; all are drawn from the seed and shared by its cubes.
     * - t: reflectance of one of SYNTH_TARGETS targets: the mean of all e_k with narrow features of
     *   its own, so that targets hide in the directions in which the background varies. Three
     *   features, each 0.005 to 0.012 of the axis wide, darken or brighten by 0.2 to 0.3. With
     *   fewer than 100 channels width and depth (up to 0.6) grow with the channels' spacing, so
     *   that no feature falls between two channels. So t is 0.064 to 4.1 times that mean, and on
     *   bright ground it may exceed 1. There are several materials because many targets of a single
     *   one would form a principal component of the scene, to which RX is blind.
     * - a_k: abundances, the softmax over k of sharpness * g_k. g_k(y, x) is the sum over the
     *   nodes (i, j) of a lattice, independent standard normals `correlation_px` pixels apart, each
     *   times v(y - i) v(x - j), v(u) = sqrt(2)/3 (1 + cos(2 pi u / 3)) for |u| <= 3/2 pitches,
     *   else 0. The squares of three cosines a third of a turn apart sum to a constant, so at
     *   every pixel g_k is standard normal and its gradient along each axis has the variance
     *   (2 pi / 3)^2 / 3 per square of the pitch: the lattice does not show. Pixels one pitch
     *   apart correlate by 0.44 to 0.50; pixels more than three are independent.
     * - psi_k = 1 + variability (h + h' cos(n pi w)) / 2, n = 1 + k mod 3, k from 0 on: a material
     *   varies from place to place in brightness and in a shape of its spectrum. h and h' are
     *   fields like g, one pair for each k, halved and clamped to [-1, 1], so psi_k stays within
     *   1 +- variability. (A scaling for each material as the model of endmember variability:
     *   Drumetz et al., IEEE Trans. Image Process. 25(8), 2016. With one shape for all, fewer
     *   signals stand out of the noise than in real scenes: a virtual dimension of 8, where those
     *   have 9 to 16; with three it is 10.)
     * - S = 1 + shade * g + grain * z, clamped to [1/4, 7/4]: g a field like the others, z standard
     *   normal, independent at each pixel (shade finer than a pixel). Methods that take differences
     *   of neighbours for noise (minimum noise fraction) take such grain for noise. With `grain_px`
     *   of 2 and more z is a field of its own like g, of that pitch: texture of the ground, which
     *   the optics have smoothed as they do in real images.
     * - tau: illumination, atmosphere and optics together, falling to both ends of the spectrum; at
     *   most 1/2 so that bright pixels stay in range. Water vapour absorbs the part `water` at the
     *   centre of its bands near 1400 and 1900 nm, 0.8 and 0.6 of that near 1130 and 940 nm.
     * - path: light scattered into the sensor by the air, path / 2 at 400 nm and falling as
     *   lambda^-4 (Rayleigh).
     * - a x + b: the variance of photon and read noise, half each at m = the mean of x over
     *   channels and endmembers where S = 1; there m^2 / (a m + b) is `snr_db`.
     * - gain = 1 + prnu g, offset = m dsnu g: fixed for a column and channel of the sensor
     *   (striping); g standard normal, the products rounded to bf16.
     * - dead pixels: probability `dead_fraction`, the same pixels in all cubes of a seed. Their
     *   values are NaN.
     * - dead elements of the sensor: probability `dead_elements` for a column and channel; they
     * read 0 in every row of all cubes of a seed, whatever light they get.
     * - blank_bands: channels where water absorbs more than 70 % are 0 everywhere, as vendors
     *   deliver them.
     * - psf_px, smile_nm, keystone_px: optics between x and y, off by default, on the CPU only.
     *   Point spread: each pixel gets the light of those around it with weights of a Gaussian of
     *   the distance, `psf_px` pixels wide at half its height, as far as 1.5 psf_px + 1 pixels
     * (whole ones) along each axis, where it is below 0.4 %, and normalised to a sum of 1. Beyond
     * its border the image goes on as its mirror image. Smile: in column j of the sensor all
     * channels' responses are shifted by smile_nm (2 j / (width - 1) - 1)^2 to longer wavelengths;
     * the tables are of 17 such shifts, evenly spaced, and interpolated linearly between two of
     * them. Keystone: channel c of column j looks at column j + keystone_px c / (channels - 1) of
     * the ground, between two pixels by linear interpolation. Point spread comes first, then the
     *   sensor's column and channel. Spectra, tau and path are those without smile, that is of the
     *   middle column; noise, gains, offsets, dead pixels and elements are the sensor's own as
     * ever.
     * - f: on targets uniform in [fill_low, fill_high], elsewhere 0. Each pixel is a target with
     *   probability `target_fraction`, independently of the others.
     * - With `target_shape` targets are discs of diameter `target_px`, or rectangles of that longer
     *   side and half of it (SYNTH_ASPECT), turned at random, or either with equal probability.
     *   Each has one material and one level, uniform in [fill_low, fill_high], and its centre
     *   anywhere between pixels; f is the level times the part of the pixel that is covered. That
     *   part is exact along rows and a sum over SYNTH_LINES lines of the pixel; the sum over a
     *   target is its area within 0.6 % at 1 pixel, 0.12 % from 3 and 0.03 % from 8 pixels on.
     *   Targets lie in the cells of a square grid, at most one in each and wholly inside, with a
     *   free pixel at least between any two (jittered sampling: Cook, ACM Trans. Graphics 5(1),
     *   1986). The grid begins anywhere, drawn for each cube, so every pixel is covered alike: in
     *   the mean `target_fraction` of the area, at the border too, which cuts targets off. A cell
     *   is 2 ceil(d) + 1 pixels wide, d the longest extent of a target; so targets cover 0.02 to
     *   0.19 of the area at most, and where they cover much less the grid does not show. */
    SYNTH_SCENE = 0,
    /* The generator of the cuvis.ai stress suite, kept for parity and for timing.
     *
     * With w = 0 .. 1 the wavelength axis,
     *
     *   normal = 100 exp(-(w - 0.5)^2 / 0.1),
     *   anomaly = 100 m (0.5 exp(-(w - 0.3)^2 / 0.05) + 0.5 exp(-(w - 0.7)^2 / 0.05)),
     *
     * the value at row i and column j is normal (1 + 0.2 sin(2 pi i / height))
     * (1 + 0.2 cos(2 pi j / width)) + 100 noise_std z. It is overlaid by
     * max(1, floor(height width anomaly_ratio) / 20) discs of radius 2 to 5 px, filled with the
     * anomaly spectrum without noise; ratio OFF: by none. Their centres are uniform over the image,
     * whose border cuts discs off.
     *
     * An RX detector CANNOT work on it. At the default ratio of 5 % the discs cover 9.5 % of the
     * pixels in the mean at 64 x 64, 9.7 % at 128 x 128 and 10 % of large images, and 6 % of the
     * border rows; and all anomalous pixels are one and the same spectrum. A cluster of identical
     * spectra that makes up a fraction p of the data scores at most (1 - p) / p (about 9), however
     * bright it is, since it widens the covariance it is judged by; all pixels together score
     * `channels` in the mean. So at 10 channels ROC-AUC is 0.39 at 256 x 256 (0.33 to 0.45 by
     * coverage, of 16 seeds), 0.42 at 128 x 128 (0.25 to 0.66, of 60) and 0.47 at 64 x 64 (0.13 to
     * 0.91, of 200), and from 50 channels it is 0.
     *
     * Labels mark the discs, fill is 1 in them. */
    SYNTH_CUVIS = 1,
};

/* Turns off an option whose default is not 0. */
#define SYNTH_OFF (-1.0)

/* Number of target materials of SYNTH_SCENE. */
#define SYNTH_TARGETS 4

/* What a target of SYNTH_SCENE is. */
enum synth_shape { SYNTH_PIXEL = 0, SYNTH_DISC, SYNTH_RECTANGLE, SYNTH_MIXED };

/* A rectangle's longer side over its shorter one, and the lines over which the covered part of a
 * pixel is summed. */
#define SYNTH_ASPECT 2
#define SYNTH_LINES 32

/* A scene's parameters. An option that is 0 takes its default; where OFF is listed, SYNTH_OFF turns
 * it off. An option of the other preset must stay 0. */
struct synth_spec {
    enum synth_preset preset;
    size_t height, width, channels; /* each 1 to 2^30; a cube's bytes must fit a size_t */
    uint64_t seed;
    enum ypi_level level; /* instruction set; values do not depend on it */

    /* SYNTH_SCENE */
    /* What a target is; default SYNTH_PIXEL. */
    enum synth_shape target_shape;
    size_t endmembers;        /* 2 to 7; default 6 */
    size_t correlation_px;    /* lattice pitch of the fields, 1 to 65536; default 16 */
    double first_nm, last_nm; /* 100 to 20,000, rising; default 400 and 2500 */
    double fwhm_nm;           /* 1e-9 to last_nm - first_nm; default: the channels' spacing (one
                                 channel: none); or OFF: point samples */
    double sharpness;         /* 1e-9 to 20; default 5 */
    double variability;       /* 1e-9 to 0.5; default 0.25; or OFF */
    double shade;             /* 1e-9 to 0.5; default 0.2; or OFF */
    double grain;             /* 1e-9 to 0.5; default 0.1; or OFF */
    size_t grain_px;          /* lattice pitch of grain, 1 to 64; default 1: white */
    double water;             /* 1e-9 to 1; default 0.97; or OFF */
    double path;              /* 1e-9 to 1; default 0.1; or OFF */
    double snr_db;            /* 1 to 120; default 40; or OFF: no noise */
    double prnu, dsnu;        /* 1e-9 to 0.1; default 0.005 each; or OFF */
    double bits;              /* whole, 8 to 16; default 16; or OFF: neither rounded nor clipped */
    double dead_fraction;     /* probability, 1e-9 to 1; default 0.0005; or OFF */
    double dead_elements;     /* probability, 1e-9 to 1; default 0: none; or OFF */
    double psf_px;            /* 1e-9 to 6; default 0: none; or OFF */
    double smile_nm;          /* 1e-9 to 20; default 0: none; or OFF */
    double keystone_px;       /* 1e-9 to 4; default 0: none; or OFF */
    bool blank_bands;         /* default false */
    double target_fraction;   /* of the area, 1e-9 to 1; default 0.001; or OFF */
    double target_px;         /* of other shapes the longest side, 1 to 64; default 3 */
    double fill_low, fill_high; /* 1e-9 to 1, rising; default 0.05 and 1 */

    /* SYNTH_CUVIS */
    double anomaly_ratio;    /* 1e-9 to 1; default 0.05; or OFF: no discs */
    double anomaly_strength; /* m, 1e-9 to 1000; default 3 */
    double noise_std;        /* 1e-9 to 1000; default 0.1; or OFF */
};

struct synth_scene;

/* Creates a scene: its tables in one block of the CPU's memory and, for an accelerator, a copy in
 * one block of the device's memory, where tiles are then made. The caller frees both with
 * synth_scene_destroy(). NULL with yp_last_error() set when the spec is not allowed (the field, its
 * value and what is allowed), memory is short, or this build has no code for the device. */
struct synth_scene *synth_scene_create(struct yp_device *device, const struct synth_spec *spec);

/* NULL is allowed. */
void synth_scene_destroy(struct synth_scene *scene);

/* The exact bytes that synth_scene_create() allocates on the CPU, and again on the device when that
 * is another; 0 with yp_last_error() set when the spec is not allowed. With S = channels rounded up
 * to a multiple of 16: a header of up to 512 bytes; SCENE: 133 S, and 4 width S with striping or
 * dead elements, 1360 S with a smile, up to 64 with a point spread; CUVIS: 13 S + 4 (height +
 * width); each table rounded up to 64. Nothing else is allocated, then or later; a tile uses less
 * than 64 KiB of stack. */
size_t synth_scene_bytes(const struct synth_spec *spec);

/* The spec with its defaults filled in (OFF: 0) and its level resolved. Owned by the scene, like
 * the arrays that the functions below return. */
const struct synth_spec *synth_scene_spec(const struct synth_scene *scene);

/* (channels), nm: of CUVIS 0 to 1, which has no unit. */
const float *synth_scene_wavelengths(const struct synth_scene *scene);
/* (channels): 0 where water absorbs more than 70 % of the channel's light, else 1. */
const uint8_t *synth_scene_good_bands(const struct synth_scene *scene);
/* Whether the sensor's element for a column and channel reads 0 always; false outside the image. */
bool synth_scene_dead_element(const struct synth_scene *scene, size_t column, size_t channel);
/* (channels): reflectance of endmember k < endmembers, then of the SYNTH_TARGETS targets, the mean
 * under each channel's response. CUVIS has two spectra, normal and anomaly. NULL for another k. */
const float *synth_scene_spectrum(const struct synth_scene *scene, size_t k);

/* What stands between the ground and the sensor's reading, of SYNTH_SCENE; CUVIS has none of it:
 * tau is 1, path 0, a and b are 0, gains 1 and offsets 0. The arrays are the caller's. */

/* tau e_k or tau t, (channels), rows as of synth_scene_spectrum(): the light that a channel gets
 * from a material where S = 1, without path. Under a response as wide as a water band it is not the
 * product of the mean tau and the mean e_k. CUVIS: the spectrum. NULL for another k. */
const float *synth_scene_light(const struct synth_scene *scene, size_t k);
/* tau, (channels), the mean under each channel's response. */
void synth_scene_transmission(const struct synth_scene *scene, float *transmission);
/* path, (channels), in the unit of the reading, the mean under each channel's response. */
void synth_scene_path(const struct synth_scene *scene, float *path);
/* a and b of the noise's variance a x + b. */
void synth_scene_noise(const struct synth_scene *scene, double *a, double *b);
/* gain and offset of a column of the sensor, (channels) each; column < width. */
void synth_scene_column(const struct synth_scene *scene, size_t column, float *gains,
                        float *offsets);

/* The ground truth of a tile. Each array is the caller's; NULL: not wanted.
 * With a point spread it is that of the light that the pixel gets: fill and abundances are the
 * parts of all the ground's light, S included, blurred as the radiance is, and a pixel has the
 * label of the target that gives it most where that is at least fill_low times the weight of a
 * pixel on itself, what the weakest target leaves in its own pixel where the light is even; smile
 * and keystone leave truth as it is, that of the first channel's place. */
struct synth_truth {
    uint8_t *labels;   /* (pixels): on a target 1 + its material, in a disc of CUVIS 1, else 0 */
    float *fill;       /* (pixels): f; CUVIS: 1 in a disc */
    float *abundances; /* (pixels, endmembers): (1 - f) a_k, which with f sum to 1; CUVIS: none,
                          must be NULL */
    uint8_t *valid;    /* (pixels): 0 on a dead pixel, else 1 */
};

/* Pixels first_pixel .. first_pixel + pixels - 1 of cube `cube`.
 *
 * values: pixels x channels, the caller's. truth: NULL when not wanted.
 * cube < 2^60; the pixels must lie in the cube; pixels may be 0. YP_INVALID otherwise, and nothing
 * is written. A scene does not change: any number of threads may make tiles of it at once.
 * Cost: linear in pixels x channels; with SYNTH_CUVIS also the number of discs per 4096 pixels
 * (1024 on an accelerator).
 *
 * For a scene on an accelerator, all arrays are in that device's memory, and the work is launched
 * on its default stream: it is done when that stream is. The bits are the CPU's. Fastest where
 * channels are a multiple of 4 and values and first_pixel x channels lie at a multiple of 16 bytes.
 */
enum yp_status synth_scene_tile(const struct synth_scene *scene, uint64_t cube, size_t first_pixel,
                                size_t pixels, float *values, const struct synth_truth *truth);

/* The same pixels of `cubes` cubes from `cube` on, one cube after the other in each array: values
 * is cubes x pixels x channels. cube + cubes <= 2^60; cubes may be 0. On an accelerator a launch
 * makes up to 32,768 of them. */
enum yp_status synth_scene_cubes(const struct synth_scene *scene, uint64_t cube, size_t cubes,
                                 size_t first_pixel, size_t pixels, float *values,
                                 const struct synth_truth *truth);

/* One channel of the same pixels: values is (pixels). A value costs about ten times as much as in a
 * tile, since random words are drawn in fours. YP_UNSUPPORTED on an accelerator. */
enum yp_status synth_scene_band(const struct synth_scene *scene, uint64_t cube, size_t channel,
                                size_t first_pixel, size_t pixels, float *values);

#ifdef __cplusplus
}
#endif
