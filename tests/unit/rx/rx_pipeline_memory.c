/* What a pipeline on a GPU takes of each memory, and each allocation refused. */
#include "tests/unit/rx/rx_stage.h"

/* -- memory --------------------------------------------------------------------------------- */

static size_t lines(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* One pipeline's memory, to the byte. */
static void check_memory(const struct rx_pipeline_options *o, const char *name)
{
    struct yp_device *gpu = gpu_open();
    struct yp_memory taken;
    size_t buffers = o->tiles == RX_TILES_OVERLAPPED ? 2 : o->tiles == RX_TILES_SEQUENTIAL;
    size_t labels = o->detector != RX_AUTOENCODER ? lines(o->tile_pixels) : 0;
    size_t bytes = lines(o->tile_pixels * o->channels * sizeof(float)) + labels;
    size_t pinned = rx_pipeline_pinned_bytes(o), here = rx_pipeline_host_bytes(o);
    struct rx_pipeline_options alone = *o;
    alone.tiles = RX_TILES_RESIDENT;
    cr_expect_eq(pinned, buffers * bytes, "%s: %zu, not %zu", name, pinned, buffers * bytes);
    cr_expect_eq(rx_pipeline_device_bytes(o),
                 rx_pipeline_device_bytes(&alone) + (buffers == 2 ? bytes : 0), "%s", name);
    cr_expect_eq(here, rx_pipeline_host_bytes(&alone));
    struct rx_pipeline *p = rx_pipeline_create(gpu, o);
    cr_assert_not_null(p, "%s", yp_last_error());
    yp_device_memory(gpu, &taken);
    cr_expect_eq(taken.allocated, rx_pipeline_device_bytes(o), "%s: %zu there, not %zu", name,
                 (size_t)taken.allocated, rx_pipeline_device_bytes(o));
    cr_expect_eq(emulated.pinned, pinned);
    cr_expect_eq(memory().allocated, here + pinned, "%s: %zu here, not %zu", name,
                 (size_t)memory().allocated, here + pinned);
    rx_pipeline_destroy(p);
    expect_nothing_left(gpu);
}

Test(pipeline_cuda, memory_is_what_was_predicted)
{
    static const size_t kinds[][2] = {{1, 1},   {7, 300},   {33, 1025},
                                      {248, 7}, {3, 65536}, {2, YPI_RX_DEVICE_CHUNK * 3 + 1}};
    for (size_t shape = 0; shape < SHAPES; shape++)
        for (size_t kind = 0; kind < LENGTH(kinds); kind++)
            for (int tiles = RX_TILES_RESIDENT; tiles <= RX_TILES_SEQUENTIAL; tiles++)
                for (int threads = 0; threads < 8; threads += 7) {
                    struct rx_pipeline_options o = shapes[shape].options;
                    o.channels = kinds[kind][0];
                    o.tile_pixels = kinds[kind][1];
                    o.components = o.components < o.channels ? o.components : o.channels;
                    o.hidden = o.hidden < o.channels ? o.hidden : o.channels;
                    o.threads = threads; /* of no matter */
                    o.tiles = (enum rx_tiles)tiles;
                    check_memory(&o, shapes[shape].name);
                }
}

/* Nothing takes more than create() has. */
Test(pipeline_cuda, calls_take_no_memory)
{
    for (size_t shape = 0; shape < SHAPES; shape++) {
        struct subject s;
        struct yp_memory before, after;
        subject_begin(&s, shape, RX_TILES_OVERLAPPED);
        struct rx_pipeline *p = pipeline_on(s.stage.device, shape, &s.stage);
        struct yp_memory here = memory();
        yp_device_memory(s.stage.device, &before);
        free(answers_of(p, &s.source, s.parameters, CALLS));
        yp_device_memory(s.stage.device, &after);
        cr_expect_eq(after.allocations, before.allocations, "%s", shapes[shape].name);
        cr_expect_eq(memory().allocations, here.allocations, "%s", shapes[shape].name);
        rx_pipeline_destroy(p);
        subject_end(&s);
    }
}

/* Each request of `device` refused in turn until there is none; how many there are. */
static int refusals(struct subject *s, size_t shape, struct yp_device *device)
{
    struct yp_device *gpu = s->stage.device;
    struct rx_pipeline_options o = options_for(shape, &s->stage);
    struct yp_memory before, now;
    yp_device_memory(gpu, &before);
    for (int n = 1;; n++) {
        yp_device_fail_allocation(device, (uint64_t)n);
        struct rx_pipeline *p = rx_pipeline_create(gpu, &o);
        yp_device_fail_allocation(device, 0);
        if (p != NULL) {
            float *got = answers_of(p, &s->source, s->parameters, CALLS);
            expect_same(s->right, got, CALLS, s->span, "after a refusal");
            free(got);
            rx_pipeline_destroy(p);
            return n - 1;
        }
        cr_expect_eq(yp_last_status(), YP_OUT_OF_MEMORY);
        cr_expect_not_null(strstr(yp_last_error(), "out of memory"), "%s", yp_last_error());
        yp_device_memory(gpu, &now);
        cr_expect_eq(now.allocated, before.allocated);
        cr_expect_eq(memory().allocated, 0);
        cr_expect_eq(emulated.pinned, 0);
        cr_expect_eq(emulated.events, 0);
        for (int i = 1; i < EMULATED_STREAMS; i++)
            cr_expect_not(emulated.streams[i].open);
    }
}

Test(pipeline_cuda, out_of_memory_is_an_answer)
{
    for (size_t shape = 0; shape < SHAPES; shape++)
        for (int tiles = RX_TILES_RESIDENT; tiles <= RX_TILES_SEQUENTIAL; tiles++) {
            struct subject s;
            subject_begin(&s, shape, tiles);
            cr_expect_eq(refusals(&s, shape, s.stage.device), 1);
            cr_expect_eq(refusals(&s, shape, yp_device_cpu()), tiles == RX_TILES_RESIDENT ? 1 : 2);
            subject_end(&s);
        }
}
