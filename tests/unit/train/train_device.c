/* Parameters and optimiser states on a GPU: the emulated device, with the kernels' own code. */
#include "tests/emulated/device.h"
#include "tests/unit/train/train_items.h"

#include <unistd.h>

/* -- a step ----------------------------------------------------------------------------------- */

/* All four arrays: gradient, m, v, parameters. */
static void step_on_both(double max_norm, float *host, float *device, size_t count, uint64_t steps)
{
    struct yp_device *gpu = emulated_device();
    const struct train_adamw how = train_adamw_defaults();
    float *there = yp_device_alloc(gpu, 4 * count * sizeof *there);
    double *scratch = yp_device_alloc(gpu, TRAIN_STEP_SCRATCH * sizeof *scratch);
    yp_device_copy(gpu, there, device, 4 * count * sizeof *there);
    for (uint64_t t = 1; t <= steps; t++) {
        float *clipped = block(count, sizeof *clipped);
        memcpy(clipped, host, count * sizeof *clipped);
        train_scale_gradient(
            count, train_clip_factor(sqrt(train_sum_squares(count, host)), max_norm), clipped);
        train_adamw_step(&how, t, count, clipped, host + count, host + 2 * count, host + 3 * count);
        cr_assert_eq(train_adamw_step_on(gpu, &how, t, count, max_norm, scratch, there,
                                         there + count, there + 2 * count, there + 3 * count),
                     YP_OK);
        free(clipped);
    }
    yp_device_copy(gpu, device, there, 4 * count * sizeof *there);
    yp_device_free(gpu, there);
    yp_device_free(gpu, scratch);
}

Test(train_device, steps_are_those_of_the_cpu)
{
    enum { COUNT = 1003 };
    static float host[4 * COUNT], device[4 * COUNT];
    uint64_t state = 5;
    for (size_t i = 0; i < COUNT; i++) {
        host[i] = (float)normal(&state);
        host[3 * COUNT + i] = (float)(10 * normal(&state));
    }
    memcpy(device, host, sizeof host);
    step_on_both(0, host, device, COUNT, 5);
    cr_expect_arr_eq(host, device, sizeof host);
    step_on_both(1, host, device, COUNT, 5); /* the norm is about 32 */
    for (size_t i = 0; i < 4 * COUNT; i++)
        cr_expect(fabsf(host[i] - device[i]) <= 1e-6F * (fabsf(host[i]) + 1e-3F),
                  "%zu: %.9g, not %.9g", i, (double)device[i], (double)host[i]);
}

/* -- whole runs ------------------------------------------------------------------------------- */

struct variant {
    enum train_optimiser optimiser;
    double momentum, clip, scale;
    size_t accumulate;
    uint64_t frozen;
};

static const struct variant variants[] = {
    {TRAIN_ADAMW, 0, 0, 0, 1, 0}, {TRAIN_ADAMW, 0, 0, 1024, 3, 0},   {TRAIN_ADAMW, 0, 1, 0, 2, 2},
    {TRAIN_SGD, 0, 0, 0, 1, 0},   {TRAIN_SGD, 0.9, 0, 0x1p20, 2, 1}, {TRAIN_SGD, 0.9, 0.5, 0, 1, 0},
};

static struct train_config config_of(const struct variant *v)
{
    struct train_config config = rows_config();
    config.optimiser = v->optimiser;
    config.sgd.momentum = v->momentum;
    config.clip = v->clip;
    config.scaling.initial = v->scale;
    config.scaling.interval = 3;
    config.accumulate = v->accumulate;
    config.frozen.word[0] = v->frozen;
    return config;
}

/* Trains for so many steps (0: all) on the device, from the file or from the start; then to the
 * file. The parameters come to the host. */
static void run_on(struct yp_device *device, const struct train_config *config, const char *from,
                   const char *to, uint64_t steps, float *end, struct train_state *state)
{
    bool gpu = yp_device_memory_kind(device) == YP_DEVICE;
    struct rows rows = {.device = gpu ? device : NULL, .half = true};
    struct train_objective objective = rows_objective(&rows);
    struct train *train = train_create(device, &objective, config);
    cr_assert_not_null(train, "%s", yp_last_error());
    OK(from != NULL ? train_resume(train, from) : train_begin(train, row_start));
    OK(train_run(train, steps));
    if (to != NULL)
        OK(train_save(train, to));
    train_state(train, state);
    OK(yp_device_copy(device, end, train_best(train), (WIDTH + 1) * sizeof *end));
    OK(yp_device_copy(device, end, train_parameters(train), (WIDTH + 1) * sizeof *end));
    train_destroy(train);
}

/* The sum of squares alone has another order there: without clipping all bits are the same. */
Test(train_device, a_run_is_the_cpus)
{
    for (size_t i = 0; i < LENGTH(variants); i++) {
        struct train_config config = config_of(&variants[i]);
        struct train_state here, there;
        float host[WIDTH + 1], device[WIDTH + 1];
        run_on(yp_device_cpu(), &config, NULL, NULL, 0, host, &here);
        run_on(emulated_device(), &config, NULL, NULL, 0, device, &there);
        for (size_t p = 0; p <= WIDTH; p++)
            cr_expect(config.clip > 0 ? fabsf(host[p] - device[p]) <= 1e-5F : host[p] == device[p],
                      "variant %zu, %zu: %.9g, not %.9g", i, p, (double)device[p], (double)host[p]);
        cr_expect(here.end == TRAIN_ALL_EPOCHS && there.end == TRAIN_ALL_EPOCHS);
        cr_expect(here.step == there.step && here.skipped == there.skipped);
        cr_expect(here.lr == there.lr && here.scale == there.scale);
        cr_expect_float_eq(here.best_loss, there.best_loss, 1e-6);
    }
}

Test(train_device, a_checkpoint_goes_from_device_to_device)
{
    char path[] = "/tmp/train_device.XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    close(fd);
    for (size_t i = 0; i < LENGTH(variants); i++)
        for (uint64_t stop = 1; stop <= 9; stop += 4)
            for (int from = 0; from < 2; from++) {
                struct train_config config = config_of(&variants[i]);
                struct train_state state;
                struct yp_device *first = from == 0 ? yp_device_cpu() : emulated_device();
                struct yp_device *second = from == 0 ? emulated_device() : yp_device_cpu();
                float whole[WIDTH + 1], half[WIDTH + 1], resumed[WIDTH + 1];
                run_on(first, &config, NULL, NULL, 0, whole, &state);
                run_on(first, &config, NULL, path, stop, half, &state);
                run_on(second, &config, path, NULL, 0, resumed, &state);
                for (size_t p = 0; p <= WIDTH; p++)
                    cr_expect(config.clip > 0 ? fabsf(resumed[p] - whole[p]) <= 1e-5F
                                              : resumed[p] == whole[p],
                              "variant %zu, stopped after %d, %zu", i, (int)stop, p);
            }
    unlink(path);
}

Test(train_device, memory_is_what_was_said)
{
    for (size_t i = 0; i < LENGTH(variants); i++) {
        struct rows rows = {.device = emulated_device()};
        struct train_config config = config_of(&variants[i]);
        struct train_objective objective = rows_objective(&rows);
        struct yp_memory there[3], here[3];
        yp_device_memory(emulated_device(), &there[0]);
        yp_device_memory(yp_device_cpu(), &here[0]);
        struct train *train = train_create(emulated_device(), &objective, &config);
        cr_assert_not_null(train, "%s", yp_last_error());
        OK(train_begin(train, row_start));
        OK(train_run(train, 0));
        yp_device_memory(emulated_device(), &there[1]);
        yp_device_memory(yp_device_cpu(), &here[1]);
        cr_expect_eq(there[1].allocated - there[0].allocated,
                     train_device_bytes(&objective, &config));
        cr_expect_eq(here[1].allocated - here[0].allocated, train_host_bytes(&objective, &config));
        train_destroy(train);
        yp_device_fail_allocation(emulated_device(), 1);
        cr_expect_null(train_create(emulated_device(), &objective, &config));
        cr_expect_eq(yp_last_status(), YP_OUT_OF_MEMORY);
        yp_device_fail_allocation(yp_device_cpu(), 1);
        cr_expect_null(train_create(emulated_device(), &objective, &config));
        yp_device_memory(emulated_device(), &there[2]);
        yp_device_memory(yp_device_cpu(), &here[2]);
        cr_expect(there[2].allocated == there[0].allocated &&
                  here[2].allocated == here[0].allocated);
    }
}

Test(train_device, an_objective_of_the_hosts_is_refused)
{
    struct rows rows = {0};
    struct train_config config = rows_config();
    struct train_objective objective = rows_objective(&rows);
    objective.any_device = false;
    REFUSED(train_create(emulated_device(), &objective, &config), "only the CPU is supported");
    cr_expect_eq(yp_last_status(), YP_UNSUPPORTED);
}
