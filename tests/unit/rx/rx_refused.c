/* What models/rx refuses of its callers, by name. What it refuses of data:
 * stress/formulas/shapes.c. */
#include "tests/emulated/device.h"
#include "tests/unit/rx/rx_fixture.h"

#include "models/metrics/metrics.h"
#include "models/rx/device/pipeline.h"
#include "models/rx/methods/local.h"
#include "models/rx/methods/matched.h"
#include "models/rx/methods/mnf.h"
#include "models/rx/methods/nnls.h"
#include "models/rx/pipeline/nodes.h"
#include <math.h>

enum { C = 8, PIXELS = 900 };

static struct scene scene_make(void)
{
    struct scene s = {.pixels = PIXELS, .channels = C, .tile_pixels = 100};
    uint64_t state = 5;
    s.values = block((size_t)PIXELS * C, sizeof *s.values);
    s.labels = block(PIXELS, 1);
    for (size_t i = 0; i < (size_t)PIXELS * C; i++)
        s.values[i] = (float)normal(&state);
    return s;
}

Test(rx_refused, detector)
{
    struct yp_device *cpu = yp_device_cpu(), *gpu = emulated_device();
    struct scene s = scene_make();
    struct rx_source source = source_of(&s);
    struct rx_tile tile = tile_of(&s);
    float some[1000] = {0}, *scores = block(PIXELS, sizeof *scores);
    double mean, plain[PIXELS];
    REFUSED(rx_create(cpu, 0, 10, 1), "channels is 0");
    REFUSED(rx_create(cpu, RX_MAX_CHANNELS + 1, 10, 1), "channels is 8193");
    REFUSED(rx_create(cpu, 4, 0, 1), "tile_pixels is 0");
    REFUSED(rx_create(cpu, 4, 10, -1), "threads is -1");
    REFUSED(rx_loss_create(cpu, 4, 10, RX_MAX_THREADS + 1), "threads is 257");
    REFUSED(rx_loss_create(NULL, 4, 10, 1), "device is NULL");
    REFUSED(rx_create(gpu, 249, 10, 1), "channels is 249, a GPU takes 1 to 248");
    const struct rx_options wrong = {.tiles = (enum rx_tiles)3}, none = {.precision = 4};
    const struct rx_options fp64 = {.precision = RX_FP64};
    for (int i = 0; i < 2; i++) {
        REFUSED(rx_create_with(i == 0 ? cpu : gpu, 3, 10, 1, &wrong), "options->tiles is 3");
        REFUSED(rx_loss_create_with(i == 0 ? cpu : gpu, 3, 10, 1, &fp64), "precision is 3");
    }
    REFUSED(rx_create_with(gpu, 3, 10, 1, &fp64), "a GPU has 0");
    REFUSED(rx_create_with(cpu, 3, 10, 1, &none), "options->precision is 4");
    cr_expect(rx_bytes(0, 1, 1) == 0 && rx_loss_bytes(1, 0, 1) == 0 &&
              rx_bytes_with(3, 10, 1, &none) == 0 && rx_device_bytes(249, 1, NULL) == 0 &&
              rx_loss_device_bytes(1, 0, NULL) == 0 && memory().allocated == 0);

    struct rx *rx = detector_for(&s, 2);
    struct rx_loss *loss = rx_loss_create(cpu, C, 100, 1);
    OK(rx_fit(rx, &source));
    FAILS(rx_score(rx, &source, scores), YP_INVALID, "call rx_finish");
    FAILS(rx_finish(rx, -1), YP_INVALID, "eps is -1");
    FAILS(rx_finish(rx, NAN), YP_INVALID, "eps is nan");
    FAILS(rx_finish_with(rx, NULL), YP_INVALID, "options is NULL");
    FAILS(rx_finish_with(rx, &(struct rx_finish_options){.shrink = 1.5}), YP_INVALID,
          "shrink is 1");
    FAILS(rx_finish_with(rx, &(struct rx_finish_options){.max_error = -1}), YP_INVALID,
          "max_error is -1");
    OK(rx_finish(rx, 0));
    FAILS(rx_finish(rx, -1), YP_INVALID, "eps is -1");
    FAILS(rx_score(rx, &source, scores), YP_INVALID, "rx_finish"); /* no factor is left */
    OK(rx_finish(rx, 0));
    tile.stride = C - 1;
    FAILS(rx_score_plain(rx, &tile, plain), YP_INVALID, "stride 7");
    s.extra = 1;
    FAILS(rx_fit(rx, &source), YP_INVALID, "has 101 pixels");
    s.extra = 0;
    s.stride = C - 1;
    FAILS(rx_fit(rx, &source), YP_INVALID, "tile 0 has stride 7, allowed are 0 and 8 or more");
    FAILS(rx_loss_gradient(loss, &source, some, &mean, some), YP_INVALID, "stride 7");
    s.stride = 0;
    s.unlabelled = true;
    FAILS(rx_loss_gradient(loss, &source, some, &mean, some), YP_INVALID, "tile 0 has no labels");
    FAILS(rx_loss_gradient(loss, &source, NULL, &mean, some), YP_INVALID, "parameters is NULL");
    source.channels = 5;
    FAILS(rx_fit(rx, &source), YP_INVALID, "source->channels is 5");
    source = source_of(&s);
    source.tile_pixels = 101;
    FAILS(rx_fit(rx, &source), YP_INVALID, "source->tile_pixels is 101");
    source.yield = NULL;
    FAILS(rx_fit(rx, &source), YP_INVALID, "yield is NULL");
    FAILS(rx_fit(rx, NULL), YP_INVALID, "source is NULL");
    FAILS(rx_fit(NULL, &source), YP_INVALID, "rx is NULL");
    source = source_of(&s);
    REFUSED(rx_subset_create(cpu, &source, (size_t[]){8}, 1, 2), "list[0] is 8");
    REFUSED(rx_subset_create(cpu, &source, (size_t[]){0}, 0, 2), "count is 0");
    size_t skipped;
    double auc;
    some[2] = NAN;
    FAILS(metrics_auc(cpu, some, s.labels, 5, &auc, NULL), YP_INVALID, "the first is at 2");
    FAILS(metrics_auc(cpu, some, s.labels, 5, &auc, &skipped), YP_INVALID, "0 targets");
    FAILS(metrics_auc(cpu, NULL, s.labels, 5, &auc, NULL), YP_INVALID, "scores is NULL");
    rx_loss_destroy(loss);
    rx_destroy(rx);
    rx_destroy(NULL);
    rx_loss_destroy(NULL);
    free(scores);
    scene_free(&s);
}

/* -- pipelines ------------------------------------------------------------------------------- */

#define FOUR .channels = 4, .tile_pixels = 9
#define SELECTOR FOUR, .select = true
static const struct {
    struct rx_pipeline_options options;
    const char *words;
} wrong_options[] = {
    {{.channels = 0, .tile_pixels = 9}, "channels is 0"},
    {{.channels = 8193, .tile_pixels = 9}, "channels is 8193"},
    {{.channels = 4, .tile_pixels = 0}, "tile_pixels is 0"},
    {{FOUR, .eps = -1}, "eps is -1"},
    {{FOUR, .keep = NAN}, "keep is nan"},
    {{FOUR, .shrink = 2}, "shrink is 2"},
    {{FOUR, .threads = -1}, "threads is -1"},
    {{FOUR, .components = 5}, "components is 5"},
    {{FOUR, .components = 2, .detector = RX_LAD}, "RX_GLOBAL only"},
    {{FOUR, .orthogonality = 1}, "no components"},
    {{FOUR, .hidden = 5}, "hidden is 5"},
    {{FOUR, .detector = RX_IMAGE}, "eps is 0"},
    {{FOUR, .detector = RX_LAD, .mask_dead = true}, "RX_GLOBAL only"},
    {{FOUR, .detector = (enum rx_detector)9}, "detector is 9"},
    {{FOUR, .inverse = (enum rx_inverse)9}, "inverse is 9"},
    {{FOUR, .tiles = (enum rx_tiles)9}, "tiles is 9"},
    {{FOUR, .whiten = true}, "no components"},
    {{FOUR, .residual = true}, "0 components of 4 channels"},
    {{FOUR, .components = 4, .residual = true}, "allowed are 1 to 3"},
    {{FOUR, .max_error = -1}, "max_error is -1"},
    {{FOUR, .max_error = 0.1, .detector = RX_LAD}, "max_error is 0.1"},
    {{FOUR, .max_error = 0.1, .inverse = RX_PINV_F32}, "max_error is 0.1"},
    {{FOUR, .by_sample = true}, "normalise is not"},
    {{FOUR, .positive_weight = -1}, "positive_weight is -1"},
    {{FOUR, .positive_weight = 2, .detector = RX_AUTOENCODER}, "no targets"},
    {{FOUR, .precision = (enum rx_operands)3}, "precision is 3"},
    {{FOUR, .precision = RX_OPERANDS_FP16, .inverse = RX_PINV_F32},
     "precision is fp16 and inverse RX_PINV_F32"},
    {{FOUR, .precision = RX_OPERANDS_FP16, .max_error = 1, .detector = RX_LAD}, "max_error is 1"},
    {{FOUR, .uniform = true}, "select is false"},
    {{FOUR, .entropy = 1}, "select is false"},
    {{SELECTOR, .hard = (enum rx_hard)9}, "hard is 9"},
    {{SELECTOR, .hard = RX_TOP_ONES, .keep = 1.5}, "keep is 1.5"},
    {{SELECTOR, .hard = RX_TOP_WEIGHTS, .keep = 5}, "channels, 4"},
    {{SELECTOR, .temperature_decay = 1.5}, "temperature_decay is 1.5"},
    {{SELECTOR, .temperature_decay = 0.9, .train_temperature = true}, "trained or decays"},
    {{SELECTOR, .temperature_min = 0.5}, "no temperature_decay"},
    {{SELECTOR, .temperature_decay = 0.9, .temperature_min = 2}, "up to temperature, 1"},
    {{SELECTOR, .entropy = NAN}, "entropy is nan"},
    {{SELECTOR, .diversity = -INFINITY}, "diversity is -inf"}};

/* A GPU refuses these too, and has less. */
static const struct {
    struct rx_pipeline_options options;
    const char *words;
} wrong_on_gpu[] = {
    {{.channels = 249, .tile_pixels = 9}, "channels is 249, a GPU takes 1 to 248"},
    {{FOUR, .normalise = true, .by_sample = true}, "MinMax over all data alone"},
    {{FOUR, .components = 2, .residual = true}, "a GPU scores"},
    {{FOUR, .precision = RX_OPERANDS_BF16}, "precision is bf16, a GPU's products are float's"}};

static void expect_no_bytes(const struct rx_pipeline_options *o)
{
    cr_expect(rx_pipeline_device_bytes(o) == 0 && rx_pipeline_host_bytes(o) == 0);
}

Test(rx_refused, pipeline_options)
{
    struct yp_device *devices[] = {yp_device_cpu(), emulated_device()};
    for (int d = 0; d < 2; d++) {
        for (size_t i = 0; i < LENGTH(wrong_options); i++)
            REFUSED(rx_pipeline_create(devices[d], &wrong_options[i].options),
                    wrong_options[i].words);
        REFUSED(rx_pipeline_create(devices[d], NULL), "options is NULL");
    }
    for (size_t i = 0; i < LENGTH(wrong_options); i++) {
        expect_no_bytes(&wrong_options[i].options);
        cr_expect_eq(rx_pipeline_bytes(&wrong_options[i].options), 0);
    }
    for (size_t i = 0; i < LENGTH(wrong_on_gpu); i++) {
        REFUSED(rx_pipeline_create(devices[1], &wrong_on_gpu[i].options), wrong_on_gpu[i].words);
        expect_no_bytes(&wrong_on_gpu[i].options);
    }
    REFUSED(rx_pipeline_create(NULL, &wrong_options[0].options), "device is NULL");
    setenv("YIELDPOINT_PLUGINS", "/nowhere", 1);
    REFUSED(rx_pipeline_create(devices[1], &(struct rx_pipeline_options){FOUR}), RXC_PLUGIN);
    REFUSED(rx_create(devices[1], 4, 9, 1), RXC_PLUGIN);
    cr_expect_eq(memory().allocated, 0);
}

/* Parameters that a training has lost, and data that no statistics are of. */
Test(rx_refused, pipeline_calls)
{
    struct scene s = scene_make();
    struct rx_source source = source_of(&s);
    struct rx_pipeline_options o = {.channels = C,
                                    .tile_pixels = 100,
                                    .threads = 2,
                                    .normalise = true,
                                    .select = true,
                                    .keep = 3,
                                    .eps = RX_EPS};
    struct rx_pipeline *p = rx_pipeline_create(yp_device_cpu(), &o);
    struct yp_tensor tensors[RX_PIPELINE_TENSORS];
    struct rx *rx = detector_for(&s, 2);
    size_t n = rx_pipeline_parameters(p), count = rx_pipeline_tensors(p, tensors), list[4], max = n;
    size_t logits = n;
    float *at = block(n, sizeof *at), *gradient = block(n, sizeof *gradient);
    double mean = 0, weight = 0;
    for (size_t i = 0; i < count; i++) {
        max = strcmp(tensors[i].name, "max") == 0 ? tensors[i].offset : max;
        logits = strcmp(tensors[i].name, "logits") == 0 ? tensors[i].offset : logits;
    }
    cr_assert(max < n && logits < n);
    FAILS(rx_pipeline_fit(p, NULL, &source, at, NULL), YP_INVALID, "rx is NULL");
    OK(rx_pipeline_fit(p, rx, &source, at, NULL));
    FAILS(rx_pipeline_gradient(p, NULL, at, &mean, gradient), YP_INVALID, "source is NULL");
    FAILS(rx_pipeline_gradient(p, &source, NULL, &mean, gradient), YP_INVALID, "parameters is");
    FAILS(rx_pipeline_calibrate(p, &source, NULL), YP_INVALID, "parameters is NULL");
    FAILS(rx_pipeline_train_gradient(p, &source, at, 1, &mean, NULL, gradient), YP_INVALID,
          "weight is NULL");
    cr_expect(rx_pipeline_selected(p, NULL, list) == 0 &&
              strstr(yp_last_error(), "parameters is NULL") != NULL);
    float saved = at[logits + 2];
    list[3] = 99;
    for (int i = 0; i < 2; i++) { /* a step that is lost is to be skipped, not to end a run */
        at[logits + 2] = i == 0 ? NAN : INFINITY;
        OK(rx_pipeline_train_gradient(p, &source, at, 1, &mean, &weight, gradient));
        cr_expect(isnan(mean) && weight == PIXELS, "%g", mean);
        cr_expect(rx_pipeline_selected(p, at, list) == 0 && list[3] == 99);
    }
    at[logits + 2] = saved;
    s.unlabelled = true;
    FAILS(rx_pipeline_gradient(p, &source, at, &mean, gradient), YP_INVALID, "no labels");
    OK(rx_pipeline_score(p, &source, at, NULL, NULL));
    saved = at[max];
    at[max] = 3e38F;
    FAILS(rx_pipeline_score(p, &source, at, NULL, NULL), YP_INVALID, "1e+37 apart");
    at[max] = NAN;
    FAILS(rx_pipeline_score(p, &source, at, NULL, NULL), YP_INVALID, "max nan");
    at[max] = saved;
    source.tiles = 0;
    FAILS(rx_pipeline_fit(p, rx, &source, at, NULL), YP_INVALID, "takes 2 at least");
    rx_pipeline_destroy(p);
    rx_destroy(rx);
    free(at);
    free(gradient);
    scene_free(&s);
}

/* -- methods ---------------------------------------------------------------------------------- */

Test(rx_refused, methods)
{
    struct scene s = scene_make();
    struct rx_source source = source_of(&s);
    struct yp_device *cpu = yp_device_cpu();
    const struct rx_image image = {s.values, 30, 30, C};
    float target[C] = {1}, *scores = block(PIXELS, sizeof *scores);
    double noise[C * C];
    static const struct {
        struct rx_local_options options;
        const char *words;
    } local[] = {{{.inner = 2, .outer = 9}, "options->inner is 2"},
                 {{.inner = 3, .outer = 8}, "options->outer is 8"},
                 {{.inner = 0, .outer = 9}, "options->inner is 0"},
                 {{.inner = 3, .outer = 1025}, "options->outer is 1025"},
                 {{.inner = 9, .outer = 9}, "windows of 9 and 9"},
                 {{.inner = 3, .outer = 31}, "in an image of 30 x 30"},
                 {{.inner = 3, .outer = 9, .eps = -1}, "eps is -1"},
                 {{.inner = 3, .outer = 9, .shrink = 1.5}, "shrink is 1.5"},
                 {{.inner = 3, .outer = 9, .threads = -1}, "threads is -1"},
                 {{.inner = 1, .outer = 3}, "8 pixels between windows of 1 and 3"}};
    for (size_t i = 0; i < LENGTH(local); i++)
        FAILS(rx_local(cpu, &image, &local[i].options, scores, NULL), YP_INVALID, local[i].words);
    FAILS(rx_local(cpu, NULL, &local[0].options, scores, NULL), YP_INVALID, "image is NULL");
    FAILS(rx_local(cpu, &image, NULL, scores, NULL), YP_INVALID, "options is NULL");
    FAILS(rx_local(cpu, &image, &local[0].options, NULL, NULL), YP_INVALID, "scores is NULL");

    struct rx *rx = detector_for(&s, 1);
    OK(rx_fit(rx, &source));
    REFUSED(rx_matched_create(cpu, rx, target, 1, 100, 1), "call rx_finish");
    OK(rx_finish(rx, 0));
    REFUSED(rx_matched_create(cpu, NULL, target, 1, 100, 1), "rx is NULL");
    REFUSED(rx_matched_create(cpu, rx, NULL, 1, 100, 1), "targets is NULL");
    REFUSED(rx_matched_create(cpu, rx, target, 0, 100, 1), "count is 0");
    struct rx_matched *m = rx_matched_create(cpu, rx, target, 1, 100, 1);
    FAILS(rx_matched_score(NULL, &source, RX_ACE, scores), YP_INVALID, "matched is NULL");
    FAILS(rx_matched_score(m, &source, RX_ACE, NULL), YP_INVALID, "scores is NULL");
    FAILS(rx_matched_score(m, &source, (enum rx_match)3, scores), YP_INVALID, "match is 3");
    rx_matched_destroy(m);
    target[3] = NAN;
    REFUSED(rx_matched_create(cpu, rx, target, 1, 100, 1), "target 0 is nan in channel 3");

    struct rx_image row = {s.values, 1, 40, C};
    FAILS(rx_noise(cpu, &row, RX_LOWER, 1, noise), YP_INVALID, "1 x 40 has no such neighbours");
    FAILS(rx_noise(cpu, &row, (enum rx_neighbour)3, 1, noise), YP_INVALID, "neighbour is 3");
    FAILS(rx_noise(cpu, NULL, RX_RIGHT, 1, noise), YP_INVALID, "image is NULL");
    OK(rx_noise(cpu, &image, RX_RIGHT, 1, noise));
    REFUSED(rx_mnf_create(cpu, rx, NULL, NULL, 100, 1), "noise is NULL");
    REFUSED(rx_mnf_create(cpu, rx, noise, &(struct rx_mnf_options){.shrink = 2}, 100, 1),
            "shrink is 2");
    struct rx_mnf *mnf = rx_mnf_create(cpu, rx, noise, NULL, 100, 1);
    FAILS(rx_mnf_forward(mnf, &source, 0, scores), YP_INVALID, "0 components");
    FAILS(rx_mnf_forward(mnf, &source, 9, scores), YP_INVALID, "9 components");
    FAILS(rx_mnf_forward(NULL, &source, 1, scores), YP_INVALID, "mnf is NULL");
    rx_mnf_destroy(mnf);
    noise[9] = 0;
    REFUSED(rx_mnf_create(cpu, rx, noise, NULL, 100, 1), "channel 1 has a noise variance of 0");
    for (size_t i = 0; i < C; i++) /* channel 5 is channel 1 */
        noise[5 * C + i] = noise[i * C + 5] = noise[C + i] = noise[i * C + 1] = i == 1 || i == 5;
    REFUSED(rx_mnf_create(cpu, rx, noise, NULL, 100, 1), "not positive definite at channel 5");
    noise[9] = NAN;
    REFUSED(rx_mnf_create(cpu, rx, noise, NULL, 100, 1), "channels 1 and 1");
    rx_destroy(rx);
    free(scores);
    scene_free(&s);
}

Test(rx_refused, nnls)
{
    float spectra[] = {1, 2, 3, 4}, weights[] = {1, -1}, a[2];
    struct yp_device *cpu = yp_device_cpu();
    struct rx_nnls_options options = {.weights = weights};
    REFUSED(rx_nnls_create(cpu, NULL, 2, 2, 1, 1, NULL), "spectra is NULL");
    REFUSED(rx_nnls_create(cpu, spectra, 0, 2, 1, 1, NULL), "count is 0, allowed are 1 to 32");
    REFUSED(rx_nnls_create(cpu, spectra, 33, 2, 1, 1, NULL), "count is 33");
    REFUSED(rx_nnls_create(cpu, spectra, 2, 0, 1, 1, NULL), "channels is 0");
    REFUSED(rx_nnls_create(cpu, spectra, 2, 2, 1, -1, NULL), "threads is -1");
    REFUSED(rx_nnls_create(NULL, spectra, 2, 2, 1, 1, NULL), "device is NULL");
    REFUSED(rx_nnls_create(cpu, spectra, 2, 2, 1, 1, &options), "weights[1] is -1");
    weights[0] = weights[1] = 0;
    REFUSED(rx_nnls_create(cpu, spectra, 2, 2, 1, 1, &options), "spectrum 0 is 0");
    weights[1] = 1;
    spectra[3] = NAN;
    REFUSED(rx_nnls_create(cpu, spectra, 2, 2, 1, 1, &options), "channel 1 has nan in spectrum 1");
    struct rx_nnls *nnls = rx_nnls_create(cpu, spectra, 1, 2, 1, 1, NULL);
    struct scene s = {.values = spectra, .pixels = 1, .channels = 1, .tile_pixels = 1};
    struct rx_source source = source_of(&s);
    FAILS(rx_nnls_run(NULL, &source, a, NULL), YP_INVALID, "nnls is NULL");
    FAILS(rx_nnls_run(nnls, &source, NULL, NULL), YP_INVALID, "abundances is NULL");
    FAILS(rx_nnls_run(nnls, &source, a, NULL), YP_INVALID, "source->channels is 1");
    rx_nnls_destroy(nnls);
    rx_nnls_destroy(NULL);
    cr_assert_eq(memory().allocated, 0);
}
