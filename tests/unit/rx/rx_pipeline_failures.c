/* Whatever the GPU, a tile or the caller does wrong ends the call and leaves nothing behind. */
#include "tests/unit/rx/rx_stage.h"

/* -- what fails ------------------------------------------------------------------------------ */

/* A GPU that refuses the request that is `left` requests away; 0: none. */
static unsigned left;
static const char *refused; /* what that was, NULL: nothing */

static bool refuses(const char *what)
{
    if (left == 0 || --left > 0)
        return false;
    refused = what;
    (void)yp_set_error(YP_DEVICE_FAULT, "no %s today", what);
    return true;
}

#define FRAGILE_WORK(name_, type_, by_) \
    static enum yp_status fragile_##name_(struct yp_device *device, const struct rxc_##type_ *job) \
    { \
        return refuses(#name_) ? YP_DEVICE_FAULT : by_(device, job); \
    }
FRAGILE_WORK(gram, gram, gpu_table.gram)
FRAGILE_WORK(merge, merge, gpu_table.merge)
FRAGILE_WORK(quadratic, quadratic, gpu_table.quadratic)
FRAGILE_WORK(add_loss, loss, gpu_table.add_loss)
FRAGILE_WORK(factor, factor, gpu_table.factor)
FRAGILE_WORK(gather, gather, gpu_table.gather)
FRAGILE_WORK(linear, linear, give_linear)
FRAGILE_WORK(dots, dots, gpu_table.dots)
FRAGILE_WORK(columns, columns, gpu_table.columns)
FRAGILE_WORK(cross, cross, give_cross)
FRAGILE_WORK(parts, parts, gpu_table.parts)

static const struct rx_cuda fragile_table = {.gram = fragile_gram,
                                             .merge = fragile_merge,
                                             .quadratic = fragile_quadratic,
                                             .add_loss = fragile_add_loss,
                                             .factor = fragile_factor,
                                             .gather = fragile_gather,
                                             .linear = fragile_linear,
                                             .dots = fragile_dots,
                                             .columns = fragile_columns,
                                             .cross = fragile_cross,
                                             .parts = fragile_parts};

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

static enum yp_status fragile_stream_wait(struct yp_stream *stream, struct yp_event *event)
{
    return refuses("stream_wait") ? YP_DEVICE_FAULT : emulated_backend.stream_wait(stream, event);
}

static enum yp_status fragile_event_record(struct yp_event *event, struct yp_stream *stream)
{
    return refuses("event_record") ? YP_DEVICE_FAULT : emulated_backend.event_record(event, stream);
}

static enum yp_status fragile_event_synchronize(struct yp_event *event)
{
    return refuses("event_synchronize") ? YP_DEVICE_FAULT
                                        : emulated_backend.event_synchronize(event);
}

static struct yp_stream *fragile_stream_create(struct yp_device *device)
{
    return refuses("stream") ? NULL : emulated_backend.stream_create(device);
}

static struct yp_event *fragile_event_create(struct yp_device *device)
{
    return refuses("event") ? NULL : emulated_backend.event_create(device);
}

static const char *const requests[] = {"gram",
                                       "merge",
                                       "quadratic",
                                       "add_loss",
                                       "factor",
                                       "gather",
                                       "linear",
                                       "dots",
                                       "columns",
                                       "cross",
                                       "parts",
                                       "copy",
                                       "stream_copy",
                                       "event",
                                       "event_record",
                                       "stream_wait",
                                       "event_synchronize",
                                       "stream"};

/* How often each has been refused. */
static unsigned refused_so_far[LENGTH(requests)];

static struct yp_device *fragile_open(void)
{
    static struct ypi_backend backend;
    static struct yp_device device = {.backend = &backend};
    backend = emulated_backend;
    backend.copy = fragile_copy;
    backend.stream_copy = fragile_stream_copy;
    backend.stream_wait = fragile_stream_wait;
    backend.event_record = fragile_event_record;
    backend.event_synchronize = fragile_event_synchronize;
    backend.stream_create = fragile_stream_create;
    backend.event_create = fragile_event_create;
    ypi_rx_set_cuda(&fragile_table);
    return &device;
}

/* The last call failed for what was refused, and says so; false: nothing was. */
static bool was_refused(enum yp_status status, const char *name)
{
    char wanted[64];
    left = 0;
    if (refused == NULL)
        return false;
    snprintf(wanted, sizeof wanted, "no %s today", refused);
    cr_expect_eq(status, YP_DEVICE_FAULT, "%s: %s was refused", name, refused);
    cr_expect_str_eq(yp_last_error(), wanted, "%s", name);
    for (size_t i = 0; i < LENGTH(requests); i++)
        refused_so_far[i] += strcmp(refused, requests[i]) == 0;
    refused = NULL;
    return true;
}

/* Everything that a call asks of the GPU, refused in turn; the call after it is right. */
static void check_refused_calls(struct subject *s, struct rx_pipeline *p, enum call which)
{
    float *got = block(s->span, sizeof *got);
    const float *right = s->right + (size_t)which * s->span;
    for (unsigned n = 1;; n++) {
        left = n;
        enum yp_status status = ask(which, p, &s->source, s->parameters, got);
        if (!was_refused(status, call_names[which]))
            break;
        expect_idle(&s->stage);
        OK(ask(which, p, &s->source, s->parameters, got));
        cr_expect_eq(memcmp(got, right, s->span * sizeof *got), 0, "%s: other bits after %u",
                     call_names[which], n);
    }
    free(got);
}

static struct rx_pipeline *check_refused_creation(struct subject *s, size_t shape)
{
    struct rx_pipeline_options o = options_for(shape, &s->stage);
    struct yp_device *device = fragile_open();
    for (unsigned n = 1;; n++) {
        left = n;
        struct rx_pipeline *p = rx_pipeline_create(device, &o);
        if (!was_refused(p == NULL ? yp_last_status() : YP_OK, "create")) {
            cr_assert_not_null(p, "%s", yp_last_error());
            return p;
        }
        cr_expect_null(p);
        expect_nothing_left(device);
    }
}

Test(pipeline_cuda, whatever_the_gpu_refuses_ends_the_call)
{
    for (size_t shape = 0; shape < SHAPES; shape++)
        for (int tiles = RX_TILES_RESIDENT; tiles <= RX_TILES_SEQUENTIAL; tiles++) {
            struct subject s;
            subject_begin(&s, shape, tiles);
            struct rx_pipeline *p = check_refused_creation(&s, shape);
            for (size_t i = 0; i < CALLS; i++)
                if (i != TRAIN && (tiles == RX_TILES_OVERLAPPED || i == GRADIENT))
                    check_refused_calls(&s, p, (enum call)i);
            rx_pipeline_destroy(p);
            subject_end(&s);
        }
    for (size_t i = 0; i < LENGTH(requests); i++)
        cr_expect_gt(refused_so_far[i], 0, "no %s was ever refused", requests[i]);
}

/* A yielder's failure is the call's. */
Test(pipeline_cuda, a_tile_that_fails_ends_the_call)
{
    for (size_t shape = 0; shape < SHAPES; shape++)
        for (int tiles = RX_TILES_RESIDENT; tiles <= RX_TILES_SEQUENTIAL; tiles++)
            for (int copy = 0; copy < 2; copy++) {
                struct subject s;
                subject_begin(&s, shape, tiles);
                struct rx_pipeline *p = pipeline_on(s.stage.device, shape, &s.stage);
                float *got = block(s.span, sizeof *got);
                s.stage.host.copy = copy != 0;
                for (size_t i = 0; i < CALLS; i++) {
                    if (i == CALIBRATE && shape == AUTOENCODER)
                        continue; /* nothing to do */
                    s.stage.host.fail_from = 2;
                    FAILS(ask((enum call)i, p, &s.source, s.parameters, got), YP_IO,
                          "tile 2 cannot be read");
                    expect_idle(&s.stage);
                    s.stage.host.fail_from = 0;
                    OK(ask((enum call)i, p, &s.source, s.parameters, got));
                    cr_expect_eq(memcmp(got, s.right + i * s.span, s.span * sizeof *got), 0,
                                 "%s: %s", shapes[shape].name, call_names[i]);
                }
                free(got);
                rx_pipeline_destroy(p);
                subject_end(&s);
            }
}

/* -- refusals ------------------------------------------------------------------------------- */

/* The create function and those that tell its memory, each by its own name. */
static void check_refusal(const struct rx_pipeline_options *o, enum yp_status status,
                          const char *words)
{
    const struct {
        const char *name;
        size_t (*bytes)(const struct rx_pipeline_options *options);
    } all[] = {{"rx_pipeline_device_bytes: ", rx_pipeline_device_bytes},
               {"rx_pipeline_pinned_bytes: ", rx_pipeline_pinned_bytes},
               {"rx_pipeline_host_bytes: ", rx_pipeline_host_bytes}};
    for (size_t i = 0; i < LENGTH(all); i++) {
        cr_expect_eq(all[i].bytes(o), 0);
        FAILS(yp_last_status(), status, words);
        cr_expect_eq(strstr(yp_last_error(), all[i].name), yp_last_error(), "%s", yp_last_error());
    }
    REFUSED(rx_pipeline_create(gpu_open(), o), words);
    cr_expect_eq(yp_last_status(), status);
    cr_expect_eq(strstr(yp_last_error(), "rx_pipeline_create: "), yp_last_error(), "%s",
                 yp_last_error());
}

Test(pipeline_cuda, what_is_not_allowed_is_said)
{
    static const struct {
        struct rx_pipeline_options options;
        enum yp_status status;
        const char *words;
    } wrong[] = {
        {{.channels = 249, .tile_pixels = 9},
         YP_UNSUPPORTED,
         "channels is 249, a GPU takes 1 to 248"},
        {{.channels = 8193, .tile_pixels = 9}, YP_INVALID, "channels is 8193"},
        {{.channels = 0, .tile_pixels = 9}, YP_INVALID, "channels is 0"},
        {{.channels = 4, .tile_pixels = 0}, YP_INVALID, "tile_pixels is 0"},
        {{.channels = 4, .tile_pixels = 9, .tiles = (enum rx_tiles)3}, YP_INVALID, "tiles is 3"},
        {{.channels = 4, .tile_pixels = 9, .threads = -1}, YP_INVALID, "threads is -1"},
        {{.channels = 4, .tile_pixels = 9, .detector = RX_IMAGE}, YP_INVALID, "eps is 0"},
        {{.channels = 4, .tile_pixels = 9, .components = 5}, YP_INVALID, "components is 5"},
    };
    for (size_t i = 0; i < LENGTH(wrong); i++)
        check_refusal(&wrong[i].options, wrong[i].status, wrong[i].words);
    check_refusal(NULL, YP_INVALID, "options is NULL");
    const struct rx_pipeline_options largest = {
        .channels = 248, .tile_pixels = 9, .components = 248};
    struct yp_device *gpu = gpu_open();
    struct rx_pipeline *p = rx_pipeline_create(gpu, &largest);
    cr_expect_not_null(p, "%s", yp_last_error());
    rx_pipeline_destroy(p);
    ypi_rx_set_cuda(NULL); /* no kernels */
    setenv("YIELDPOINT_PLUGINS", "/nowhere", 1);
    REFUSED(rx_pipeline_create(gpu, &largest), RXC_PLUGIN);
    cr_expect_eq(yp_last_status(), YP_UNSUPPORTED);
    expect_nothing_left(gpu);
}

/* Sources and tiles are asked as on the CPU. */
Test(pipeline_cuda, sources_that_are_wrong_are_refused)
{
    for (int tiles = RX_TILES_RESIDENT; tiles <= RX_TILES_SEQUENTIAL; tiles++) {
        struct subject s;
        subject_begin(&s, RX, tiles);
        struct rx_pipeline *p = pipeline_on(s.stage.device, RX, &s.stage);
        float *got = block(s.span, sizeof *got);
        struct rx_source wrong = s.source;
        wrong.channels = 5;
        FAILS(ask(GRADIENT, p, &wrong, s.parameters, got), YP_INVALID, "channels is 5");
        wrong = s.source;
        wrong.tile_pixels = 1; /* the yielder has more */
        FAILS(ask(GRADIENT, p, &wrong, s.parameters, got), YP_INVALID, "has 24 pixels");
        uint8_t *labels = s.stage.labels, *host = s.stage.host.labels;
        s.stage.host.labels = NULL;
        for (int call = GRADIENT; tiles != RX_TILES_RESIDENT && call < CALLS; call++)
            if (call != SCORE && call != CALIBRATE)
                FAILS(ask((enum call)call, p, &s.source, s.parameters, got), YP_INVALID,
                      "tile 0 has no labels");
        OK(ask(SCORE, p, &s.source, s.parameters, got));
        s.stage.labels = labels;
        s.stage.host.labels = host;
        OK(ask(GRADIENT, p, &s.source, s.parameters, got));
        cr_expect_eq(memcmp(got, s.right, s.span * sizeof *got), 0);
        rx_pipeline_destroy(p);
        free(got);
        subject_end(&s);
    }
}
