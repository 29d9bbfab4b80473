/* Scenes and pipelines for the tests of them. */
#include "tests/unit/rx/rx_nodes.h"

#define FRONT .normalise = true, .select = true, .keep = 9, .temperature = 0.8
const struct shape shapes[SHAPES] = {
    {"RX", {.eps = RX_EPS}},
    {"MinMax RX", {.normalise = true, .eps = RX_EPS}},
    {"selector RX", {.select = true, .eps = RX_EPS}},
    {"MinMax selector RX", {FRONT, .train_temperature = true, .eps = RX_EPS}},
    {"MinMax PCA RX", {.normalise = true, .components = 4, .orthogonality = 0.5, .eps = RX_EPS}},
    {"MinMax selector PCA RX",
     {FRONT, .train_temperature = true, .components = 5, .orthogonality = 2, .eps = RX_EPS}},
    {"MinMax LAD", {.normalise = true, .detector = RX_LAD}},
    {"MinMax selector LAD", {FRONT, .train_temperature = true, .detector = RX_LAD}},
    {"image RX", {.detector = RX_IMAGE, .eps = 1e-3}},
    {"MinMax selector image RX",
     {FRONT, .train_temperature = true, .detector = RX_IMAGE, .eps = 1e-3}},
    {"autoencoder", {.detector = RX_AUTOENCODER, .hidden = 3}},
    {"MinMax autoencoder", {.normalise = true, .detector = RX_AUTOENCODER}},
    {"MinMax selector autoencoder", {FRONT, .train_temperature = true, .detector = RX_AUTOENCODER}},
    {"MinMax selector RX, terms",
     {FRONT, .train_temperature = true, .entropy = 0.3, .diversity = 0.02, .eps = RX_EPS}},
    {"uniform selector PCA RX, terms, hard",
     {.select = true,
      .keep = 4,
      .uniform = true,
      .hard = RX_TOP_WEIGHTS,
      .temperature_decay = 0.9,
      .entropy = -0.2,
      .components = 5,
      .orthogonality = 2,
      .eps = RX_EPS}},
    {"selector image RX, terms, hard ones",
     {.select = true,
      .keep = 3,
      .hard = RX_TOP_ONES,
      .diversity = -0.3,
      .detector = RX_IMAGE,
      .eps = 1e-3}},
    {"MinMax whitened PCA RX",
     {.normalise = true, .components = 4, .orthogonality = 0.5, .whiten = true, .eps = RX_EPS}},
    {"MinMax selector whitened PCA RX",
     {FRONT, .train_temperature = true, .components = 5, .whiten = true, .eps = 1e-2}},
    {"MinMax LAD, targets weigh more",
     {.normalise = true, .detector = RX_LAD, .positive_weight = 7}},
#ifndef RX_NODES_ON_GPU
    {"sample MinMax RX", {.normalise = true, .by_sample = true, .eps = RX_EPS}},
    {"sample MinMax selector image RX, targets weigh less",
     {FRONT, .by_sample = true, .train_temperature = true, .detector = RX_IMAGE,
      .positive_weight = 0.3, .eps = 1e-3}},
    {"MinMax PCA RX beside its residual",
     {.normalise = true, .components = 4, .orthogonality = 0.5, .residual = true, .eps = RX_EPS}},
    {"MinMax selector whitened PCA RX beside its residual",
     {FRONT, .train_temperature = true, .components = 4, .whiten = true, .residual = true,
      .eps = 1e-3}},
#endif
};

/* Pixels around a sloping spectrum of level 3 whose covariance has eigenvalues from 1 down to
 * 1 / condition, turned by a reflection; one in `rarity` is a target, `far` sigma along the
 * quietest direction. Between the pixels are strangers, `gap` floats of them. */
struct scene scene_with(size_t pixels, size_t channels, double condition, size_t gap,
                        uint64_t rarity, double far)
{
    uint64_t state = 17 * channels + pixels;
    struct scene s = {.pixels = pixels, .channels = channels, .tile_pixels = 1000};
    s.stride = channels + gap;
    s.values = block(pixels * s.stride, sizeof *s.values);
    s.labels = block(pixels, 1);
    double *mirror = block(channels, sizeof *mirror), *x = block(channels, sizeof *x), length = 0;
    for (size_t i = 0; i < channels; i++) {
        mirror[i] = normal(&state);
        length += mirror[i] * mirror[i];
    }
    for (size_t i = 0; i < pixels * s.stride; i++)
        s.values[i] = i % 3 == 0 ? NAN : 1e30f;
    for (size_t p = 0; p < pixels; p++) {
        double along = 0;
        s.labels[p] = words(&state) % rarity == 0;
        for (size_t c = 0; c < channels; c++) {
            double rank = channels > 1 ? (double)c / (double)(channels - 1) : 0;
            x[c] = normal(&state) * pow(condition, -0.5 * rank);
            x[c] += s.labels[p] != 0 && c == channels - 1 ? far * pow(condition, -0.5) : 0;
            along += mirror[c] * x[c];
        }
        for (size_t c = 0; c < channels; c++)
            s.values[p * s.stride + c] =
                (float)(x[c] - 2 * along / length * mirror[c] + 3 + (double)c / 16);
    }
    free(mirror);
    free(x);
    return s;
}

struct scene scene_make(size_t pixels, size_t channels, double condition, size_t gap)
{
    return scene_with(pixels, channels, condition, gap, 16, 3);
}

struct rx_pipeline_options options_for(const struct shape *shape, const struct scene *s,
                                       int threads)
{
    struct rx_pipeline_options o = shape->options;
    o.channels = s->channels;
    o.tile_pixels = s->tile_pixels;
    o.threads = threads;
    o.tiles = TILES;
    return o;
}

struct rx_pipeline *pipeline_for(const struct rx_pipeline_options *options)
{
    struct rx_pipeline *p = rx_pipeline_create(device_of_pipelines(), options);
    cr_assert_not_null(p, "%s", yp_last_error());
    return p;
}

float *fit(struct rx_pipeline *p, struct scene *s, int threads)
{
    struct rx *rx = detector_for(s, threads);
    struct rx_source source = source_of(s);
    float *parameters = block(rx_pipeline_parameters(p), sizeof *parameters);
    s->copy = true;
    OK(rx_pipeline_fit(p, rx, &source, parameters, NULL));
    s->copy = false;
    rx_destroy(rx);
    return parameters;
}

/* A gentle logit, so that no pixel drowns in its sigmoid. */
void settle(const struct rx_pipeline *p, float *parameters)
{
    for (size_t k = 0; k < p->options.components;
         k++) /* of PCA's scores it is 0 but for rounding */
        parameters[p->places.mu + k] += 0.05f;
    for (size_t c = 0; c < p->options.channels && p->options.uniform; c++)
        parameters[p->places.logits + c] = 0.1f * (float)(c % 5) - 0.17f;
    if (p->places.scale != YPI_RX_NOWHERE)
        parameters[p->places.scale] = 2 / parameters[p->places.bias];
}

/* ||got - oracle|| / ||oracle|| */
double off(const float *got, const double *oracle, size_t n)
{
    double difference = 0, norm = 0;
    for (size_t i = 0; i < n; i++) {
        difference += pow((double)got[i] - oracle[i], 2);
        norm += oracle[i] * oracle[i];
    }
    return sqrt(difference / norm);
}

void scores_of(struct rx_pipeline *p, struct scene *s, const float *parameters, float *scores)
{
    struct rx_source source = source_of(s);
    OK(rx_pipeline_score(p, &source, parameters, scores, NULL));
}
