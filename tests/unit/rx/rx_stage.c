#include "tests/unit/rx/rx_stage.h"

const struct shape shapes[SHAPES] = {
    {"RX", {FRONT, .eps = RX_EPS}},
    {"PCA", {.normalise = true, .components = 2, .orthogonality = 0.5, .eps = RX_EPS}},
    {"LAD", {FRONT, .detector = RX_LAD}},
    {"image", {FRONT, .detector = RX_IMAGE, .eps = 1e-3}},
    {"autoencoder", {FRONT, .detector = RX_AUTOENCODER, .hidden = 2}},
};

size_t span_of(const struct rx_pipeline *p, const struct rx_source *source)
{
    return NUMBERS + rx_pipeline_parameters(p) + 2 * source->tiles * source->tile_pixels;
}

const char *const call_names[CALLS] = {"gradient", "score", "calibrate", "train_gradient",
                                       "train_evaluate"};

/* Pixels whose channels hang together, one in 8 a target a little apart, `gap` strangers between
 * them. Some are not finite. */
struct stage stage_make(size_t pixels, size_t channels, size_t tile_pixels, size_t gap)
{
    uint64_t state = 31 * channels + pixels;
    size_t stride = channels + gap;
    struct stage g = {.host = {.pixels = pixels,
                               .channels = channels,
                               .tile_pixels = tile_pixels,
                               .stride = stride,
                               .values = block(pixels * stride, sizeof(float)),
                               .labels = block(pixels, 1)},
                      .tiles = RX_TILES_OVERLAPPED,
                      .empty = SIZE_MAX,
                      .packed = block(pixels * channels, sizeof(float)),
                      .device = gpu_open()};
    for (size_t p = 0; p < pixels; p++) {
        float *x = g.host.values + p * stride;
        double common = normal(&state);
        bool target = words(&state) % 8 == 0;
        g.host.labels[p] = target ? 1 + p % 3 : 0;
        for (size_t c = 0; c < channels; c++)
            x[c] =
                (float)(3 + (double)c / 4 + common + (0.4 + (double)(c % 5) / 8) * normal(&state) +
                        (target && c % 3 == 0 ? 1.5 : 0));
        for (size_t c = channels; c < stride; c++)
            x[c] = NAN;
    }
    return g;
}

/* What the host's pixels are, to where they are copied from. */
void stage_send(struct stage *g)
{
    const struct scene *s = &g->host;
    size_t bytes = s->pixels * s->stride * sizeof(float);
    for (size_t p = 0; p < s->pixels; p++)
        memcpy(g->packed + p * s->channels, s->values + p * s->stride, s->channels * sizeof(float));
    if (g->values == NULL) {
        g->values = yp_device_alloc(g->device, bytes);
        g->labels = yp_device_alloc(g->device, s->pixels);
        cr_assert(g->values != NULL && g->labels != NULL);
    }
    OK(yp_device_copy(g->device, g->values, s->values, bytes));
    OK(yp_device_copy(g->device, g->labels, s->labels, s->pixels));
}

void stage_free(struct stage *g)
{
    yp_device_free(g->device, g->values);
    yp_device_free(g->device, g->labels);
    free(g->packed);
    scene_free(&g->host);
}

enum yp_status yield_there(struct stage *g, size_t index, float *values, uint8_t *labels,
                           struct rx_tile *tile)
{
    const struct scene *s = &g->host;
    size_t first = index * s->tile_pixels, left = first < s->pixels ? s->pixels - first : 0;
    struct yp_stream *stream = yp_device_stream(g->device);
    enum yp_status status = YP_OK;
    if (s->fail_from > 0 && index >= s->fail_from)
        return yp_set_error(YP_IO, "tile %zu cannot be read", index);
    tile->pixels = left < s->tile_pixels ? left : s->tile_pixels;
    if (!s->copy) {
        tile->values = g->values + first * s->stride;
        tile->labels = g->labels + first;
        tile->stride = s->stride;
        return YP_OK;
    }
    cr_expect(emulated_has(values, 4), "the buffer is not the GPU's");
    if (tile->pixels > 0)
        status = yp_stream_copy(stream, values, g->packed + first * s->channels,
                                tile->pixels * s->channels * sizeof *values);
    if (tile->pixels > 0 && labels != NULL && status == YP_OK)
        status = yp_stream_copy(stream, labels, s->labels + first, tile->pixels);
    return status;
}

enum yp_status stage_yield(void *arg, size_t index, float *values, uint8_t *labels,
                           struct rx_tile *tile)
{
    struct stage *g = arg;
    if (index == g->empty)
        return YP_OK;
    if (g->tiles == RX_TILES_RESIDENT)
        return yield_there(g, index, values, labels, tile);
    cr_expect_not(emulated_has(values, 4), "the buffer is not the host's");
    return scene_yield(&g->host, index, values, labels, tile);
}

/* With one more tile, which has no pixels. */
struct rx_source stage_source(struct stage *g)
{
    struct rx_source source = source_of(&g->host);
    source.yield = stage_yield;
    source.arg = g;
    source.tiles++;
    return source;
}

struct rx_pipeline_options options_for(size_t shape, const struct stage *g)
{
    struct rx_pipeline_options o = shapes[shape].options;
    o.channels = g->host.channels;
    o.tile_pixels = g->host.tile_pixels;
    o.threads = 1;
    o.tiles = g->tiles;
    return o;
}

struct rx_pipeline *pipeline_on(struct yp_device *device, size_t shape, const struct stage *g)
{
    struct rx_pipeline_options o = options_for(shape, g);
    struct rx_pipeline *p = rx_pipeline_create(device, &o);
    cr_assert_not_null(p, "%s: %s", shapes[shape].name, yp_last_error());
    return p;
}

/* Where statistics put them, made on the CPU, with a gentler logit; `by`: and some way off, where
 * A is not symmetric. */
float *parameters_for(size_t shape, struct stage *g, double by)
{
    enum rx_tiles tiles = g->tiles;
    g->tiles = RX_TILES_OVERLAPPED;
    struct rx_pipeline *p = pipeline_on(yp_device_cpu(), shape, g);
    struct rx *rx = detector_for(&g->host, 1);
    struct rx_source source = stage_source(g);
    float *parameters = block(rx_pipeline_parameters(p), sizeof *parameters);
    uint64_t state = 19;
    OK(rx_pipeline_fit(p, rx, &source, parameters, NULL));
    for (size_t k = 0; k < p->options.components; k++)
        parameters[p->places.mu + k] += 0.05F;
    if (ypi_rx_trains(&p->options))
        parameters[p->places.scale] = 2 / parameters[p->places.bias];
    for (size_t i = 0; i < rx_pipeline_parameters(p); i++)
        parameters[i] *= (float)(1 + by * normal(&state));
    rx_destroy(rx);
    rx_pipeline_destroy(p);
    g->tiles = tiles;
    return parameters;
}

void take(void *arg, const float *logits, const uint8_t *labels, size_t pixels)
{
    struct taken *taken = arg;
    memcpy(taken->logits, logits, pixels * sizeof *logits);
    for (size_t i = 0; i < pixels; i++)
        taken->labels[i] = labels[i];
    taken->logits += pixels;
    taken->labels += pixels;
}

enum yp_status ask(enum call which, struct rx_pipeline *p, const struct rx_source *source,
                   const float *parameters, float *answer)
{
    size_t places = source->tiles * source->tile_pixels;
    float *first = answer + NUMBERS, *second = first + places;
    struct taken taken = {first, second};
    double numbers[2] = {0};
    enum yp_status status = YP_OK;
    memset(answer, 0, span_of(p, source) * sizeof *answer);
    switch (which) {
    case GRADIENT:
        status = rx_pipeline_gradient(p, source, parameters, &numbers[0], first);
        break;
    case SCORE:
        status = rx_pipeline_score(p, source, parameters, first,
                                   ypi_rx_trains(&p->options) ? second : NULL);
        break;
    case CALIBRATE:
        memcpy(first, parameters, rx_pipeline_parameters(p) * sizeof *first);
        status = rx_pipeline_calibrate(p, source, first);
        break;
    case TRAIN:
        status =
            rx_pipeline_train_gradient(p, source, parameters, 1, &numbers[0], &numbers[1], first);
        break;
    default:
        status = rx_pipeline_train_evaluate(p, source, parameters, &numbers[0], &numbers[1], take,
                                            &taken);
    }
    memcpy(answer, numbers, sizeof numbers);
    return status;
}

bool lies_in(const void *at, const void *from, size_t bytes)
{
    return (const char *)at >= (const char *)from && (const char *)at < (const char *)from + bytes;
}

/* No copy goes on that reads what is the yielder's. */
void expect_idle(const struct stage *g)
{
    const struct scene *s = &g->host;
    for (int i = 1; i < EMULATED_STREAMS; i++)
        for (size_t at = emulated.streams[i].done; at < emulated.streams[i].given; at++) {
            const struct emulated_work *w = &emulated.streams[i].queue[at % EMULATED_QUEUE];
            const void *from = w->kind == EMULATED_COPY ? w->from : NULL;
            cr_expect_not(lies_in(from, s->values, s->pixels * s->stride * sizeof *s->values) ||
                              lies_in(from, s->labels, s->pixels),
                          "copies go on");
        }
}

/* The answers to the first calls, one behind the other. */
float *answers_of(struct rx_pipeline *p, const struct rx_source *source, const float *parameters,
                  size_t calls)
{
    size_t span = span_of(p, source);
    float *answers = block(calls * span, sizeof *answers);
    for (size_t i = 0; i < calls; i++)
        OK(ask((enum call)i, p, source, parameters, answers + i * span));
    expect_idle(source->arg);
    return answers;
}

void expect_same(const float *right, const float *got, size_t calls, size_t span, const char *where)
{
    for (size_t i = 0; i < calls; i++)
        cr_expect_eq(memcmp(right + i * span, got + i * span, span * sizeof *got), 0,
                     "%s: %s has other bits", where, call_names[i]);
}

void expect_nothing_left(struct yp_device *device)
{
    struct yp_memory now;
    yp_device_memory(device, &now);
    cr_expect_eq(now.allocated, 0);
    cr_expect_eq(memory().allocated, 0);
    cr_expect_eq(emulated.pinned, 0);
    cr_expect_eq(emulated.events, 0);
    for (int i = 1; i < EMULATED_STREAMS; i++)
        cr_expect_not(emulated.streams[i].open);
}

/* ||got - wanted|| / ||wanted||, of what is a number in both. */
double off(const float *got, const float *wanted, size_t count)
{
    double difference = 0, norm = 0;
    for (size_t i = 0; i < count; i++) {
        if (isnan(got[i]) && isnan(wanted[i]))
            continue;
        difference += pow((double)got[i] - (double)wanted[i], 2);
        norm += pow((double)wanted[i], 2);
    }
    return difference == 0 ? 0 : sqrt(difference / norm);
}

/* Each tensor of a gradient within `bound`. */
void check_gradient(const struct rx_pipeline *p, const float *got, const float *wanted,
                    double bound, const char *name)
{
    struct yp_tensor tensors[RX_PIPELINE_TENSORS];
    size_t count = rx_pipeline_tensors(p, tensors);
    for (size_t i = 0; i < count; i++) {
        double error = off(got + tensors[i].offset, wanted + tensors[i].offset, tensors[i].count);
        cr_expect_leq(error, bound, "%s: %s is off by %g", name, tensors[i].name, error);
    }
}

/* Products in plain loops, of which there are many: their kernels have been looked at above. */
void quick_linear(const void *given)
{
    const struct rxc_linear *job = given;
    for (size_t i = 0; i < job->pixels * job->outputs; i++) {
        size_t p = i / job->outputs, j = i % job->outputs;
        float sum = 0;
        for (size_t k = 0; k < job->inputs; k++)
            sum += job->in[p * job->inputs + k] * job->w[j * job->inputs + k];
        sum += job->offset != NULL ? job->offset[j] : 0;
        job->out[i] = sum - (job->less != NULL ? job->less[i] : 0);
    }
}

void quick_cross(const void *given)
{
    const struct rxc_cross *job = given;
    size_t square = (size_t)job->rows * job->columns;
    memset(job->parts, 0, rxc_ranges(job->pixels, job->range) * square * sizeof *job->parts);
    for (size_t p = 0; p < job->pixels; p++)
        for (size_t i = 0; i < square; i++)
            job->parts[p / job->range * square + i] += job->a[p * job->rows + i / job->columns] *
                                                       job->b[p * job->columns + i % job->columns];
}

enum yp_status give_linear(struct yp_device *device, const struct rxc_linear *job)
{
    (void)device;
    emulated_call(0, quick_linear, job, sizeof *job);
    return YP_OK;
}

enum yp_status give_cross(struct yp_device *device, const struct rxc_cross *job)
{
    (void)device;
    emulated_call(0, quick_cross, job, sizeof *job);
    return YP_OK;
}

/* The GPU's table with these. */
const struct rx_cuda *quick_table(void)
{
    static struct rx_cuda quick;
    quick = gpu_table;
    quick.linear = give_linear;
    quick.cross = give_cross;
    return &quick;
}

void subject_begin(struct subject *s, size_t shape, int tiles)
{
    struct stage *g = &s->stage;
    *g = stage_make(2 * 24 + 7, 4, 24, 1);
    g->host.values[30 * g->host.stride + 2] = NAN;
    stage_send(g);
    g->tiles = (enum rx_tiles)tiles;
    s->source = stage_source(g);
    s->source.arg = g;
    s->parameters = parameters_for(shape, g, 0.02);
    emulated.order = EMULATED_AT_ONCE;
    ypi_rx_set_cuda(quick_table());
    struct rx_pipeline *p = pipeline_on(g->device, shape, g);
    s->span = span_of(p, &s->source);
    s->right = answers_of(p, &s->source, s->parameters, CALLS);
    rx_pipeline_destroy(p);
    emulated.order = EMULATED_LATE;
}

void subject_end(struct subject *s)
{
    free(s->parameters);
    free(s->right);
    stage_free(&s->stage);
}
