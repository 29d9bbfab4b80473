/* Detector, loss and pipelines on a GPU that works when it likes and refuses what it is asked for:
 * the same bits whenever copies and kernels are done that no wait holds back; a call that fails
 * says why, leaves no copy behind, and the next one is right. What they come to is held by the
 * stress suite. */
#include "tests/emulated/device.h"
#include "tests/unit/rx/rx_fixture.h"

#include "models/rx/device/detector.h"
#include "models/rx/device/pipeline.h"
#include "models/rx/pipeline/nodes.h"
#include <math.h>
#include <stdio.h>

enum { C = 5, TILE = 130, PIXELS = 3 * TILE + 40, MOST = 2048 };

static struct scene scene_make(void)
{
    struct scene s = {.pixels = PIXELS, .channels = C, .tile_pixels = TILE, .stride = C + 2};
    uint64_t state = 7;
    s.values = block((size_t)PIXELS * s.stride, sizeof *s.values);
    s.labels = block(PIXELS, 1);
    for (size_t p = 0; p < PIXELS; p++) {
        double common = normal(&state);
        s.labels[p] = p % 11 == 0;
        for (size_t c = 0; c < s.stride; c++)
            s.values[p * s.stride + c] =
                (float)(3 + common + (0.4 + (double)c / 8) * normal(&state) + s.labels[p]);
    }
    s.values[5 * s.stride + 2] = NAN;
    for (size_t p = TILE; p < 2 * TILE; p++) /* a tile without a finite pixel */
        s.values[p * s.stride + p % C] = INFINITY;
    return s;
}

/* -- what is asked ---------------------------------------------------------------------------- */

enum { DETECTOR, LOSS, RX, PCA, LAD, IMAGE, AUTOENCODER, SUBJECTS };
#define FRONT .normalise = true, .select = true, .temperature = 0.8, .train_temperature = true
static const struct rx_pipeline_options pipelines[SUBJECTS] = {
    [RX] = {FRONT, .eps = RX_EPS},
    [PCA] = {.normalise = true, .components = 2, .orthogonality = 0.5, .eps = RX_EPS},
    [LAD] = {FRONT, .detector = RX_LAD},
    [IMAGE] = {FRONT, .detector = RX_IMAGE, .eps = 1e-3},
    [AUTOENCODER] = {FRONT, .detector = RX_AUTOENCODER, .hidden = 2}};

struct subject {
    int kind;
    struct rx *rx;
    struct rx_loss *loss;
    struct rx_pipeline *pipeline;
    float *parameters, *there; /* of a pipeline on the host; (MOST), the GPU's */
};

static bool is_open(const struct subject *s)
{
    return s->rx != NULL || s->loss != NULL || s->pipeline != NULL;
}

static struct subject subject_open(int kind, struct yp_device *device, enum rx_tiles tiles,
                                   struct scene *scene)
{
    const struct rx_options options = {.tiles = tiles};
    struct rx_pipeline_options o = pipelines[kind];
    struct subject s = {.kind = kind};
    o.channels = C;
    o.tile_pixels = TILE;
    o.threads = 1;
    o.tiles = tiles;
    if (kind == DETECTOR)
        s.rx = rx_create_with(device, C, TILE, 1, &options);
    else if (kind == LOSS)
        s.loss = rx_loss_create_with(device, C, TILE, 1, &options);
    else
        s.pipeline = rx_pipeline_create(device, &o);
    if (kind > LOSS && s.pipeline != NULL) {
        struct rx_pipeline *here = rx_pipeline_create(yp_device_cpu(), &o);
        struct rx *rx = detector_for(scene, 1);
        struct rx_source source = source_of(scene);
        size_t n = rx_pipeline_parameters(here);
        s.parameters = block(n, sizeof *s.parameters);
        OK(rx_pipeline_fit(here, rx, &source, s.parameters, NULL));
        for (size_t i = 0; i < n; i++)
            s.parameters[i] *= 1 + 0.02F * (float)(i % 5);
        rx_destroy(rx);
        rx_pipeline_destroy(here);
    }
    return s;
}

static void subject_close(struct subject *s)
{
    rx_destroy(s->rx);
    rx_loss_destroy(s->loss);
    rx_pipeline_destroy(s->pipeline);
    free(s->parameters);
}

/* All answers of a subject; `there` is scratch of the GPU's, (MOST). */
static enum yp_status ask(struct subject *s, const struct rx_source *source, float *there,
                          float *answers)
{
    struct yp_device *gpu = emulated_device();
    double mean = 0, covariance[C * C];
    enum yp_status status = YP_OK;
    memset(answers, 0, MOST * sizeof *answers);
    if (s->kind == DETECTOR) {
        rx_reset(s->rx);
        status = rx_fit(s->rx, source);
        status = status == YP_OK ? rx_covariance(s->rx, covariance) : status;
        status = status == YP_OK ? rx_finish(s->rx, 0) : status;
        status = status == YP_OK ? rx_score(s->rx, source, there) : status;
        memcpy(answers + 1024, covariance, status == YP_OK ? sizeof covariance : 0);
        return status == YP_OK ? yp_device_copy(gpu, answers, there, 4 * TILE * sizeof *there)
                               : status;
    }
    if (s->kind == LOSS) {
        float start[C * (C + 1) + 2] = {0};
        for (size_t i = 0; i < C; i++)
            start[i] = 3, start[C + i * C + i] = 0.5F;
        start[C * (C + 1)] = 0.1F;
        start[C * (C + 1) + 1] = C;
        status = yp_device_copy(gpu, there, start, sizeof start);
        if (status == YP_OK)
            status = rx_loss_gradient(s->loss, source, there, &mean, there + 64);
        memcpy(answers + 1024, &mean, sizeof mean);
        return status == YP_OK ? yp_device_copy(gpu, answers, there + 64, sizeof start) : status;
    }
    status = rx_pipeline_gradient(s->pipeline, source, s->parameters, &mean, answers);
    memcpy(answers + 1024, &mean, sizeof mean);
    return status == YP_OK
               ? rx_pipeline_score(s->pipeline, source, s->parameters, answers + 1030, NULL)
               : status;
}

/* No copy goes on that reads what is the yielder's. */
static void expect_idle(const struct scene *s)
{
    for (int i = 1; i < EMULATED_STREAMS; i++)
        for (size_t at = emulated.streams[i].done; at < emulated.streams[i].given; at++) {
            const struct emulated_work *w = &emulated.streams[i].queue[at % EMULATED_QUEUE];
            const char *from = w->kind == EMULATED_COPY ? w->from : NULL, *v = (char *)s->values;
            cr_expect_not((from >= v && from < v + PIXELS * s->stride * sizeof *s->values) ||
                              (from >= (char *)s->labels && from < (char *)s->labels + PIXELS),
                          "copies go on");
        }
}

/* -- orders ------------------------------------------------------------------------------------ */

Test(rx_outcomes, bits_are_the_same_in_any_order, .timeout = 120)
{
    struct scene s = scene_make();
    struct rx_source source = source_of(&s);
    struct yp_device *gpu = emulated_device();
    float right[MOST], got[MOST], *there = yp_device_alloc(gpu, MOST * sizeof *there);
    for (int kind = 0; kind < SUBJECTS; kind++)
        for (int order = EMULATED_AT_ONCE; order < EMULATED_ORDERS; order++)
            for (int tiles = RX_TILES_OVERLAPPED; tiles <= RX_TILES_SEQUENTIAL; tiles++)
                for (int copy = 0; copy < 2; copy++) {
                    bool first = order == EMULATED_AT_ONCE && tiles == RX_TILES_OVERLAPPED && !copy;
                    struct subject on = subject_open(kind, gpu, (enum rx_tiles)tiles, &s);
                    emulated.order = (enum emulated_order)order;
                    emulated.kernels.order = order % 2 != 0 ? YPK_BACKWARDS : YPK_FORWARDS;
                    emulated.kernels.garbage = copy ? EMULATED_NAN : EMULATED_LARGE;
                    s.copy = copy != 0;
                    OK(ask(&on, &source, there, first ? right : got));
                    expect_idle(&s);
                    cr_expect(first || memcmp(right, got, sizeof got) == 0,
                              "subject %d, order %d, tiles %d, copy %d: other bits", kind, order,
                              tiles, copy);
                    subject_close(&on);
                }
    emulated.order = EMULATED_AT_ONCE;
    yp_device_free(gpu, there);
    cr_expect(emulated.events == 0 && emulated.pinned == 0);
    scene_free(&s);
}

/* Work that is measured begins when what is before it ends; so do the copies that belong to it. */
static size_t done_before;

static enum yp_status yield_noting(void *arg, size_t index, float *values, uint8_t *labels,
                                   struct rx_tile *tile)
{
    if (index == 1)
        done_before = emulated.streams[1].done;
    return scene_yield(arg, index, values, labels, tile);
}

Test(rx_outcomes, copies_begin_with_the_pass)
{
    struct scene s = scene_make();
    struct rx_source source = source_of(&s);
    struct yp_device *gpu = emulated_device();
    struct subject one = subject_open(DETECTOR, gpu, RX_TILES_OVERLAPPED, &s);
    struct subject other = subject_open(DETECTOR, gpu, RX_TILES_OVERLAPPED, &s);
    float answers[MOST], *there = yp_device_alloc(gpu, MOST * sizeof *there);
    OK(ask(&one, &source, there, answers));
    OK(ask(&other, &source, there, answers));
    emulated.order = EMULATED_EARLY;
    source.yield = yield_noting;
    size_t done = emulated.streams[1].done;
    OK(rx_score(one.rx, &source, there));
    cr_expect_lt(emulated.streams[0].done, emulated.streams[0].given);
    size_t between = emulated.streams[1].done;
    OK(rx_score(other.rx, &source, there));
    cr_expect(done_before == done || done_before == between, "%zu pieces of work were done before",
              done_before - done);
    emulated_run_all();
    subject_close(&one);
    subject_close(&other);
    yp_device_free(gpu, there);
    scene_free(&s);
}

/* -- refusals ---------------------------------------------------------------------------------- */

static unsigned left; /* requests until one is refused; 0: none is */
static const char *refused;
static const struct rx_cuda *kernels;

static bool refuses(const char *what)
{
    if (left == 0 || --left > 0)
        return false;
    refused = what;
    (void)yp_set_error(YP_DEVICE_FAULT, "no %s today", what);
    return true;
}

#define FRAGILE_WORK(name_, type_) \
    static enum yp_status fragile_##name_(struct yp_device *device, const struct rxc_##type_ *job) \
    { \
        return refuses(#name_) ? YP_DEVICE_FAULT : kernels->name_(device, job); \
    }
FRAGILE_WORK(gram, gram)
FRAGILE_WORK(merge, merge)
FRAGILE_WORK(quadratic, quadratic)
FRAGILE_WORK(add_loss, loss)
FRAGILE_WORK(gradient, loss)
FRAGILE_WORK(factor, factor)
FRAGILE_WORK(gather, gather)
FRAGILE_WORK(linear, linear)
FRAGILE_WORK(dots, dots)
FRAGILE_WORK(columns, columns)
FRAGILE_WORK(cross, cross)
FRAGILE_WORK(parts, parts)

static enum yp_status fragile_fold(struct yp_device *device, unsigned channels, const float *a,
                                   float *slices)
{
    return refuses("fold") ? YP_DEVICE_FAULT : kernels->fold(device, channels, a, slices);
}

static enum yp_status fragile_copy(struct yp_device *device, void *to, const void *from,
                                   size_t bytes)
{
    return refuses("copy") ? YP_DEVICE_FAULT : emulated_backend.copy(device, to, from, bytes);
}

static enum yp_status fragile_stream_copy(struct yp_stream *stream, void *to, const void *from,
                                          size_t bytes)
{
    return refuses("stream_copy") ? YP_DEVICE_FAULT
                                  : emulated_backend.stream_copy(stream, to, from, bytes);
}

static enum yp_status fragile_event_record(struct yp_event *event, struct yp_stream *stream)
{
    return refuses("event_record") ? YP_DEVICE_FAULT : emulated_backend.event_record(event, stream);
}

static struct yp_event *fragile_event_create(struct yp_device *device)
{
    return refuses("event") ? NULL : emulated_backend.event_create(device);
}

static const struct rx_cuda fragile = {
    fragile_gram,     fragile_merge,  fragile_quadratic, fragile_fold,   fragile_add_loss,
    fragile_gradient, fragile_factor, fragile_gather,    fragile_linear, fragile_dots,
    fragile_columns,  fragile_cross,  fragile_parts};

/* Everything that creation and a call ask of the GPU, and each tile, refused in turn. */
Test(rx_outcomes, whatever_is_refused_ends_the_call, .timeout = 120)
{
    struct scene s = scene_make();
    struct rx_source source = source_of(&s);
    static struct ypi_backend backend;
    static struct yp_device device = {.backend = &backend};
    float right[MOST], got[MOST], *there = yp_device_alloc(emulated_device(), sizeof right);
    char wanted[64];
    unsigned counted = 0;
    struct yp_memory now;
    backend = emulated_backend;
    backend.copy = fragile_copy;
    backend.stream_copy = fragile_stream_copy;
    backend.event_record = fragile_event_record;
    backend.event_create = fragile_event_create;
    kernels = yp_plugin_table(RXC_PLUGIN, sizeof *kernels);
    ypi_rx_set_cuda(&fragile);
    for (int kind = 0; kind < SUBJECTS; kind++) {
        struct subject on = {0};
        for (unsigned n = 1; !is_open(&on); n++) {
            left = n;
            on = subject_open(kind, &device, RX_TILES_OVERLAPPED, &s);
            left = 0;
            cr_expect(is_open(&on) || yp_last_status() == YP_DEVICE_FAULT, "%s", yp_last_error());
            yp_device_memory(&device, &now);
            cr_expect(is_open(&on) ||
                      (memory().allocated == 0 && emulated.pinned == 0 && now.allocated == 0));
        }
        emulated.order = EMULATED_LATE;
        OK(ask(&on, &source, there, right));
        for (unsigned n = 1;; n++, counted++) {
            refused = NULL;
            left = n;
            enum yp_status status = ask(&on, &source, there, got);
            left = 0;
            if (refused == NULL)
                break;
            snprintf(wanted, sizeof wanted, "no %s today", refused);
            cr_expect(status == YP_DEVICE_FAULT && strcmp(yp_last_error(), wanted) == 0,
                      "subject %d: %s was refused: %s", kind, refused, yp_last_error());
            expect_idle(&s);
            OK(ask(&on, &source, there, got));
            cr_expect(memcmp(got, right, sizeof got) == 0, "subject %d: other bits after %s", kind,
                      refused);
        }
        for (s.fail_from = 1; s.fail_from < 4; s.fail_from++) {
            snprintf(wanted, sizeof wanted, "tile %zu cannot be read", s.fail_from);
            FAILS(ask(&on, &source, there, got), YP_IO, wanted);
            expect_idle(&s);
        }
        s.fail_from = 0;
        OK(ask(&on, &source, there, got));
        cr_expect(memcmp(got, right, sizeof got) == 0, "subject %d: other bits after a tile", kind);
        emulated.order = EMULATED_AT_ONCE;
        subject_close(&on);
    }
    cr_expect_gt(counted, 200);
    yp_device_free(emulated_device(), there);
    cr_expect(emulated.events == 0 && emulated.pinned == 0);
    scene_free(&s);
}
