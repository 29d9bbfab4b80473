/* The statistical phase and training on a GPU are the CPU's. */
#include "tests/unit/rx/rx_stage.h"

/* -- the statistical phase, and training ----------------------------------------------------- */

/* All of it where the tiles are: the detector's parameters too. */
Test(pipeline_cuda, the_statistical_phase_is_the_cpus)
{
    for (size_t shape = 0; shape < SHAPES; shape++) {
        struct stage g = stage_make(1000, 6, 300, 2);
        stage_send(&g);
        float *wanted = NULL;
        for (int tiles = -1; tiles <= (int)RX_TILES_SEQUENTIAL; tiles++) {
            g.tiles =
                tiles < 0 ? RX_TILES_OVERLAPPED : (enum rx_tiles)tiles; /* before: of the CPU */
            struct yp_device *device = tiles < 0 ? yp_device_cpu() : g.device;
            struct rx_pipeline *p = pipeline_on(device, shape, &g);
            const struct rx_options options = {.tiles = g.tiles};
            struct rx *rx = rx_create_with(device, 6, 300, 1, &options);
            struct rx_source source = stage_source(&g);
            float *got = block(rx_pipeline_parameters(p), sizeof *got);
            OK(rx_pipeline_fit(p, rx, &source, got, NULL));
            for (size_t k = 0; k < p->options.components; k++)
                got[p->places.mu + k] += 1; /* it is 0 but for rounding */
            if (wanted == NULL)
                wanted = got;
            else
                check_gradient(p, got, wanted, 2e-5, shapes[shape].name);
            if (got != wanted)
                free(got);
            rx_destroy(rx);
            rx_pipeline_destroy(p);
        }
        free(wanted);
        stage_free(&g);
        expect_nothing_left(g.device);
    }
}

static struct train_config training(void)
{
    struct train_config config = train_defaults();
    config.seed = 3;
    config.epochs = 2;
    config.batch = 2;
    config.accumulate = 2;
    config.adamw.lr = 0.01;
    return config;
}

/* Trains for so many steps (0: all), from the file or, without one, from `parameters`; then to the
 * file, if there is one. The parameters that come out are new. */
static float *trained(struct stage *g, size_t shape, struct yp_device *device,
                      const float *parameters, const char *from, const char *to, uint64_t steps)
{
    struct yp_tensor tensors[RX_PIPELINE_TENSORS];
    struct rx_pipeline *p = pipeline_on(device, shape, g);
    struct rx_objective objective = rx_pipeline_objective(p, tensors);
    struct train_config config = training();
    struct rx_source source = stage_source(g);
    objective.targets = objective.no_logits ? 0 : 100;
    objective.identity = 7;
    source.tiles--;
    struct rx_training *training =
        rx_training_create(yp_device_cpu(), &objective, &source, 1, &config);
    cr_assert_not_null(training, "%s", yp_last_error());
    struct train *train = rx_training_trainer(training);
    OK(from != NULL ? train_resume(train, from) : train_begin(train, parameters));
    OK(train_run(train, steps));
    if (to != NULL)
        OK(train_save(train, to));
    struct train_state state;
    train_state(train, &state);
    cr_expect_eq(state.end, steps == 0 ? TRAIN_ALL_EPOCHS : TRAIN_NOT_ENDED);
    cr_expect(state.skipped == 0 && (steps == 0 ? state.step == 6 : state.step == steps));
    float *out = block(objective.parameters, sizeof *out);
    memcpy(out, train_parameters(train), objective.parameters * sizeof *out);
    rx_training_destroy(training);
    rx_pipeline_destroy(p);
    return out;
}

/* Each tensor is where the CPU's is, seen by how far that has come. */
static void check_trained(const struct rx_pipeline *p, const float *start, const float *here,
                          const float *got, const char *name)
{
    struct yp_tensor tensors[RX_PIPELINE_TENSORS];
    size_t count = rx_pipeline_tensors(p, tensors);
    for (size_t i = 0; i < count; i++) {
        size_t at = tensors[i].offset;
        double moved = off(here + at, start + at, tensors[i].count);
        double error = off(got + at, here + at, tensors[i].count);
        cr_expect_gt(moved, 0);
        cr_expect_leq(error, 1e-4 * moved, "%s: %s is %g off, training moved it by %g", name,
                      tensors[i].name, error, moved);
    }
}

static void check_training(struct stage *g, size_t shape, const char *path)
{
    const char *name = shapes[shape].name;
    float *start = parameters_for(shape, g, 0.02);
    float *here = trained(g, shape, yp_device_cpu(), start, NULL, NULL, 0);
    struct rx_pipeline *p = pipeline_on(yp_device_cpu(), shape, g);
    size_t bytes = rx_pipeline_parameters(p) * sizeof *start;
    for (int tiles = RX_TILES_RESIDENT; tiles <= RX_TILES_SEQUENTIAL; tiles++) {
        g->tiles = (enum rx_tiles)tiles;
        float *whole = trained(g, shape, g->device, start, NULL, NULL, 0);
        check_trained(p, start, here, whole, name);
        for (uint64_t steps = 1; steps < 6; steps += 2) {
            free(trained(g, shape, g->device, start, NULL, path, steps));
            float *resumed = trained(g, shape, g->device, NULL, path, NULL, 0);
            cr_expect_eq(memcmp(resumed, whole, bytes), 0, "%s, tiles %d, stopped after %d", name,
                         tiles, (int)steps);
            free(resumed);
        }
        free(whole);
    }
    g->tiles = RX_TILES_OVERLAPPED;
    rx_pipeline_destroy(p);
    free(here);
    free(start);
}

Test(pipeline_cuda, training_is_the_cpus_and_can_be_resumed)
{
    char directory[] = "/tmp/rx_pipeline_cuda.XXXXXX", path[64];
    cr_assert_not_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/checkpoint", directory);
    struct stage g = stage_make(13 * 40, 4, 40, 1);
    g.host.values[50 * g.host.stride] = NAN;
    stage_send(&g);
    ypi_rx_set_cuda(quick_table());
    for (size_t shape = 0; shape < SHAPES; shape++)
        check_training(&g, shape, path);
    stage_free(&g);
    unlink(path);
    cr_expect_eq(rmdir(directory), 0);
}
