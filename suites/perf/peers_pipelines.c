/* Loss and gradient of whole pipelines, and AdamW, beside PyTorch's autograd and optimiser: the
 * same image, and parameters that are hashes of their names and places. */
#include "suites/perf/peers.h"

#include "models/train/optimiser.h"
#include "suites/pipelines.h"
#include "suites/score_error.h"

#include <math.h>
#include <string.h>

#define THREADS 2
/* Results are compared on a small image, times on a large one. */
#define AXES \
    yp_axis_int("side", 64, 256), yp_axis_int("channels", 20, 100), \
        yp_axis_string("pipeline", "rx", "minmax-rx", "minmax-selector-rx", "minmax-pca-rx", \
                       "minmax-selector-whitened-rx", "minmax-selector-residual-rx", \
                       "minmax-image", "minmax-lad", "minmax-autoencoder")

static bool is_measured(const struct yp_case *t)
{
    return (yp_int(t, "side") == 64) == (yp_int(t, "channels") == 20);
}

YP_COMMAND(peers, torch_pipelines, .tags = PEERS_TAGS, .timeout = PEERS_TIMEOUT,
           .filter = is_measured, .axes = YP_AXES(AXES),
           .command = PEER("pipelines", "{side} {channels} {seed} {pipeline}"),
           .environment = "OMP_NUM_THREADS=2");

static struct rx_pipeline_options options_named(const char *name)
{
    struct rx_pipeline_options o = {.threads = THREADS,
                                    .tile_pixels = PEERS_TILE_PIXELS,
                                    .normalise = strstr(name, "minmax") != NULL,
                                    .select = strstr(name, "selector") != NULL,
                                    .whiten = strstr(name, "whitened") != NULL,
                                    .residual = strstr(name, "residual") != NULL,
                                    .eps = 1e-3,
                                    .positive_weight = 7};
    o.detector = strstr(name, "image") != NULL         ? RX_IMAGE
                 : strstr(name, "lad") != NULL         ? RX_LAD
                 : strstr(name, "autoencoder") != NULL ? RX_AUTOENCODER
                                                       : RX_GLOBAL;
    if (o.select) {
        o.keep = 7;
        o.train_temperature = true;
        o.entropy = 0.3;
        o.diversity = 0.2;
    }
    if (o.whiten || o.residual || strstr(name, "pca") != NULL) {
        o.components = 5;
        o.orthogonality = 0.1;
    }
    if (o.detector == RX_AUTOENCODER) {
        o.hidden = 5;
        o.positive_weight = 0; /* its loss has no targets */
    }
    return o;
}

/* As pipelines.py makes it: between -0.5 and 0.5, and some elsewhere. */
static void start(const struct yp_tensor *tensor, uint64_t seed, float *parameters)
{
    const struct {
        const char *name;
        float middle, width;
    } others[] = {
        {"max", 2, 1}, {"temperature", 1.5F, 1}, {"residual", 1, 1}, {"scale", 0.0625F, 0.0625F}};
    float middle = 0, width = 1;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(tensor->name, others[i].name) == 0) {
            middle = others[i].middle;
            width = others[i].width;
        }
    for (const char *c = tensor->name; *c != '\0'; c++)
        seed += (uint64_t)*c;
    for (size_t i = 0; i < tensor->count; i++)
        parameters[tensor->offset + i] = middle + width * peers_uniform(seed, i);
}

/* The geometric mean of the tensors' digests; one on which the loss does not depend is left out. */
static double digest_of(const struct yp_tensor *tensors, size_t count, const double *gradient)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        double digest = peers_digest(gradient + tensors[i].offset, tensors[i].count);
        sum += digest != 0 ? log(fabs(digest)) : 0;
        n += digest != 0;
    }
    return exp(sum / (double)n);
}

YP_TEST(peers, pipelines, .tags = PEERS_TAGS, .timeout = PEERS_TIMEOUT, .filter = is_measured,
        .axes = YP_AXES(AXES))
{
    struct peers_image image;
    struct rx_pipeline_options o = options_named(yp_string(t, "pipeline"));
    struct yp_tensor tensors[RX_PIPELINE_TENSORS];
    peers_image_open(&image, t);
    o.channels = image.source.channels;
    struct rx_pipeline *pipeline = open_pipeline(t, yp_device_cpu(), &o);
    size_t count = rx_pipeline_parameters(pipeline), n = rx_pipeline_tensors(pipeline, tensors);
    float *parameters = parameters_of(t, pipeline);
    float *gradient = yp_alloc(t, count * sizeof *gradient);
    double *wide, loss = 0;
    enum yp_status status = YP_OK;
    for (size_t i = 0; i < n; i++)
        start(&tensors[i], yp_seed(t), parameters);
    yp_measure (t, "gradient", .items = (double)image.pixels, .unit = "pixels", .threads = THREADS)
        status = rx_pipeline_gradient(pipeline, &image.source, parameters, &loss, gradient);
    yp_ok(t, status);
    wide = in_double(t, gradient, count);
    yp_value(t, "loss", loss);
    yp_value(t, "gradients", digest_of(tensors, n, wide));
    if (image.source.tiles == 1) { /* by plain loops in double */
        const struct rx_tile tile = {image.values, image.pixels, o.channels, image.labels, 0};
        const double *at = in_double(t, parameters, count);
        yp_value(t, "plain loss", plain_gradient(t, &o, &tile, at, wide));
        yp_value(t, "plain gradients", digest_of(tensors, n, wide));
    }
    rx_pipeline_destroy(pipeline);
}

/* `what` of one peer's name and of ours in two ways: in float and by plain loops in double. */
#define OURS(size_, pipeline_) "perf/peers_pipelines.c::pipelines[" size_ "-pipeline=" pipeline_ "]"
#define THEIRS(size_, pipeline_) \
    "perf/peers_pipelines.c::torch_pipelines[" size_ "-pipeline=" pipeline_ "]"
#define SMALL "side=64-channels=20"
#define LARGE "side=256-channels=100"
#define AGREES(name_, what_, pipeline_, off_) \
    PEERS_AGREES(name_, what_, OURS(SMALL, pipeline_), THEIRS(SMALL, pipeline_), off_)
#define BESIDE(name_, pipeline_, off_) \
    PEERS_SAME_IMAGE(name_##_image, OURS(SMALL, pipeline_), THEIRS(SMALL, pipeline_)); \
    AGREES(name_##_loss, "loss", pipeline_, 6e-8); \
    AGREES(name_##_gradients, "gradients", pipeline_, off_); \
    AGREES(name_##_plain_loss, "plain loss", pipeline_, 1e-12); \
    AGREES(name_##_plain_gradients, "plain gradients", pipeline_, 1e-12); \
    PEERS_FASTER(name_##_time, "gradient", OURS(LARGE, pipeline_), THEIRS(LARGE, pipeline_), 1)

BESIDE(rx, "rx", 1e-5);
BESIDE(minmax, "minmax-rx", 2e-5);
BESIDE(selector, "minmax-selector-rx", 1e-5);
BESIDE(pca, "minmax-pca-rx", 2e-5);
BESIDE(whitened, "minmax-selector-whitened-rx", 1e-4);
BESIDE(residual, "minmax-selector-residual-rx", 6e-5);
BESIDE(image_rx, "minmax-image", 3e-6);
BESIDE(lad, "minmax-lad", 2e-5);
BESIDE(autoencoder, "minmax-autoencoder", 1e-6);

/* -- AdamW --------------------------------------------------------------------------------- */

enum { PARAMETERS = 10000, STEPS = 100 };

YP_COMMAND(peers, torch_adamw, .tags = PEERS_TAGS, .timeout = PEERS_TIMEOUT,
           .command = PEER("pipelines", "10000 100 {seed} adamw"),
           .environment = "OMP_NUM_THREADS=2");

/* Gradients of every size from 2^-20 to 2^11. */
YP_TEST(peers, adamw, .tags = PEERS_TAGS, .timeout = PEERS_TIMEOUT)
{
    const struct train_adamw how = train_adamw_defaults();
    float *p = yp_alloc(t, PARAMETERS * sizeof *p), *g = yp_alloc(t, PARAMETERS * sizeof *g);
    float *m = yp_alloc(t, PARAMETERS * sizeof *m), *v = yp_alloc(t, PARAMETERS * sizeof *v);
    memset(m, 0, PARAMETERS * sizeof *m);
    memset(v, 0, PARAMETERS * sizeof *v);
    for (size_t i = 0; i < PARAMETERS; i++)
        p[i] = peers_uniform(yp_seed(t), i);
    for (size_t step = 1; step <= STEPS; step++) {
        for (size_t i = 0; i < PARAMETERS; i++)
            g[i] = ldexpf(peers_uniform(yp_seed(t), step * PARAMETERS + i), (int)(i % 32) - 20);
        train_adamw_step(&how, step, PARAMETERS, g, m, v, p);
    }
    yp_value(t, "float", peers_digest_f32(t, p, PARAMETERS));
    yp_value(t, "double", peers_digest_f32(t, p, PARAMETERS));
}

/* Parameters in float round alike in every step, PyTorch's too. */
PEERS_AGREES(adamw_float, "float", "perf/peers_pipelines.c::adamw",
             "perf/peers_pipelines.c::torch_adamw", 5e-7);
PEERS_AGREES(adamw_double, "double", "perf/peers_pipelines.c::adamw",
             "perf/peers_pipelines.c::torch_adamw", 1e-5);
