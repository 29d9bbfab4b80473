/* models/train/trainer.h with a model of its own: optimisers, schedules, loss scaling, names. */
#include "tests/unit/train/train_items.h"

#include "models/data/order.h"

#include <stdio.h>
#include <unistd.h>

/* -- SGD and the cosine ---------------------------------------------------------------------------
 */

struct seen {
    struct train_event events[256];
    double metrics[256][ROW_METRICS];
    size_t count;
};

static bool see(void *arg, const struct train_event *event)
{
    struct seen *seen = arg;
    cr_assert_lt(seen->count, LENGTH(seen->events));
    if (event->metrics != NULL)
        memcpy(seen->metrics[seen->count], event->metrics, sizeof *seen->metrics);
    seen->events[seen->count++] = *event;
    return true;
}

/* The run again, in double and from the formulas. */
static double oracle_run(const struct train_config *c, double p[WIDTH + 1])
{
    uint32_t split[ROWS];
    double b[WIDTH + 1] = {0}, lr = 0;
    size_t validation = data_validation_count(ROWS, c->validation), training = ROWS - validation;
    uint64_t t = 0;
    data_split(c->seed, ROWS, validation, split);
    for (uint64_t epoch = 1; epoch <= c->epochs; epoch++) {
        data_order(c->seed, epoch, split, training);
        for (size_t first = 0; first < training; first += c->batch * c->accumulate) {
            size_t left = training - first, limit = c->batch * c->accumulate;
            double g[WIDTH + 1] = {0}, loss = 0, weight = 0, norm = 0;
            rows_add((struct train_items){split + first, left < limit ? left : limit}, p, &loss,
                     &weight, g);
            for (size_t i = 0; i <= WIDTH; i++)
                norm += g[i] / weight * (g[i] / weight);
            double clip = fmin(1, c->clip / (sqrt(norm) + 1e-6));
            lr = train_cosine_rate(&c->cosine, ++t, c->sgd.lr);
            for (size_t i = 0; i <= WIDTH; i++) {
                double way = clip * g[i] / weight + (i < WIDTH ? c->sgd.weight_decay * p[i] : 0);
                b[i] = t == 1 ? way : c->sgd.momentum * b[i] + way;
                p[i] -= lr * b[i];
            }
        }
    }
    return lr;
}

Test(train_items, sgd_under_a_cosine_is_what_the_formulas_say)
{
    struct rows rows = {0};
    struct seen seen = {.count = 0};
    struct train_config config = rows_config();
    struct train_state state;
    double p[WIDTH + 1];
    config.watch = see;
    config.watch_arg = &seen;
    struct train *train = rows_begin(yp_device_cpu(), &rows, &config);
    OK(train_run(train, 0));
    for (size_t i = 0; i <= WIDTH; i++)
        p[i] = (double)row_start[i];
    double lr = oracle_run(&config, p);
    train_state(train, &state);
    cr_expect(state.end == TRAIN_ALL_EPOCHS && state.step == 20 && state.skipped == 0);
    cr_expect(state.lr == lr && state.scale == 1 && lr == 1e-3);
    for (size_t i = 0; i <= WIDTH; i++)
        cr_expect_float_eq((double)train_parameters(train)[i], p[i], 2e-6, "%zu: %g, not %g", i,
                           (double)train_parameters(train)[i], p[i]);
    uint64_t t = 0;
    double first = 0, last = 0;
    for (size_t i = 0; i < seen.count; i++) {
        const struct train_event *e = &seen.events[i];
        if (e->kind == TRAIN_STEP)
            cr_expect(e->lr == train_cosine_rate(&config.cosine, ++t, config.sgd.lr));
        if (e->kind != TRAIN_EPOCH)
            continue;
        last = e->validation_loss;
        first = i == 0 ? last : first;
        cr_expect(seen.metrics[i][0] == sqrt(2 * last) && seen.metrics[i][1] == 8);
    }
    cr_expect(t == 20 && last < 0.2 * first, "%g to %g", first, last);
    train_destroy(train);
}

Test(train_items, a_constant_rate_stays_and_sgd_needs_no_state_without_momentum)
{
    size_t bytes[2];
    for (int plain = 0; plain < 2; plain++) {
        struct rows rows = {0};
        struct train_config config = rows_config();
        struct train_state state;
        struct yp_memory before, during;
        config.schedule = TRAIN_CONSTANT;
        config.sgd.momentum = plain ? 0 : 0.9;
        yp_device_memory(yp_device_cpu(), &before);
        struct train *train = rows_begin(yp_device_cpu(), &rows, &config);
        yp_device_memory(yp_device_cpu(), &during);
        struct train_objective objective = rows_objective(&rows);
        bytes[plain] = train_bytes(&objective, &config);
        cr_expect_eq(during.allocated - before.allocated, bytes[plain]);
        cr_expect_eq(during.allocations - before.allocations, 1);
        OK(train_run(train, 0));
        train_state(train, &state);
        cr_expect(state.lr == config.sgd.lr && state.best_epoch > 0, "best loss %g",
                  state.best_loss);
        train_destroy(train);
    }
    cr_expect_eq(bytes[0] - bytes[1], 64);
}

/* -- loss scaling ----------------------------------------------------------------------------- */

Test(train_items, a_scale_that_is_a_power_of_two_changes_no_bit)
{
    const double initial[] = {0, 1024, 0x1p-10};
    for (size_t accumulate = 1; accumulate <= 2; accumulate++) {
        float end[3][WIDTH + 1];
        for (int i = 0; i < 3; i++) {
            struct rows rows = {0};
            struct train_config config = rows_config();
            config.scaling.initial = initial[i];
            config.accumulate = accumulate;
            struct train *train = rows_begin(yp_device_cpu(), &rows, &config);
            OK(train_run(train, 0));
            memcpy(end[i], train_parameters(train), sizeof end[i]);
            train_destroy(train);
            cr_expect(memcmp(end[0], end[i], sizeof end[i]) == 0, "scale %g", initial[i]);
        }
    }
}

Test(train_items, the_scale_falls_until_gradients_are_finite_and_grows_again)
{
    struct rows rows = {.half = true};
    struct seen seen = {.count = 0};
    struct train_config config = rows_config();
    struct train_scaling_state wanted;
    config.scaling.initial = 0x1p20;
    config.scaling.interval = 4;
    config.epochs = 12;
    config.watch = see;
    config.watch_arg = &seen;
    struct train *train = rows_begin(yp_device_cpu(), &rows, &config);
    OK(train_run(train, 0));
    train_scaling_start(&config.scaling, &wanted);
    size_t skipped = 0, grown = 0;
    for (size_t i = 0; i < seen.count; i++) {
        const struct train_event *e = &seen.events[i];
        if (e->kind != TRAIN_STEP)
            continue;
        cr_expect(e->scale == wanted.scale && e->skipped == !isfinite(e->norm));
        double before = wanted.scale;
        train_scaling_update(&config.scaling, &wanted, !e->skipped);
        skipped += e->skipped;
        grown += wanted.scale > before;
    }
    cr_expect(skipped > 3 && grown > 3, "%zu skipped, grown %zu times", skipped, grown);
    struct train_state state;
    train_state(train, &state);
    cr_expect(state.skipped == skipped && state.scale == wanted.scale);
    cr_expect(state.best_epoch > 0 && state.best_loss < seen.events[0].validation_loss, "%g to %g",
              seen.events[0].validation_loss, state.best_loss);
    train_destroy(train);
}

Test(train_items, scaled_runs_go_on_where_they_were_stopped)
{
    struct train_config config = rows_config();
    char path[] = "/tmp/train_items.XXXXXX";
    float whole[WIDTH + 1];
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    close(fd);
    config.scaling.initial = 0x1p20;
    config.scaling.interval = 3;
    for (uint64_t stop = 0; stop <= 19; stop++) {
        struct rows rows = {.half = true};
        struct train *train = rows_begin(yp_device_cpu(), &rows, &config);
        OK(train_run(train, stop));
        OK(train_save(train, path));
        train_destroy(train);
        struct train_objective objective = rows_objective(&rows);
        train = train_create(yp_device_cpu(), &objective, &config);
        OK(train_resume(train, path));
        OK(train_run(train, 0));
        if (stop == 0)
            memcpy(whole, train_parameters(train), sizeof whole);
        cr_expect(memcmp(whole, train_parameters(train), sizeof whole) == 0, "stopped after %d",
                  (int)stop);
        train_destroy(train);
    }
    unlink(path);
}

/* -- names ------------------------------------------------------------------------------------- */

Test(train_items, a_log_has_the_workloads_columns)
{
    struct rows rows = {0};
    struct train_config config = rows_config();
    char path[] = "/tmp/train_items.XXXXXX", line[512];
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    close(fd);
    struct train_log *log = train_log_create(yp_device_cpu(), path, row_metrics, ROW_METRICS, NULL);
    cr_assert_not_null(log, "%s", yp_last_error());
    config.watch = train_log_watch;
    config.watch_arg = log;
    struct train *train = rows_begin(yp_device_cpu(), &rows, &config);
    OK(train_run(train, 0));
    OK(train_log_destroy(log));
    train_destroy(train);
    FILE *file = fopen(path, "r");
    cr_assert(file != NULL && fgets(line, sizeof line, file) != NULL);
    cr_expect_str_eq(line, "kind,epoch,place,step,loss,weight,norm,lr,scale,skipped,train_loss,"
                           "validation_loss,rms,rows,best,seconds\n");
    cr_assert_not_null(fgets(line, sizeof line, file));
    double loss, rms;
    cr_expect_eq(sscanf(line, "epoch,0,0,0,,,,0.1,1,,,%lf,%lf,8,1,", &loss, &rms), 2, "%s", line);
    cr_expect_float_eq(rms, sqrt(2 * loss), 1e-8);
    cr_assert_not_null(fgets(line, sizeof line, file));
    cr_expect_not_null(strstr(line, ",0,,,,,,"), "%s", line);
    fclose(file);
    /* Other columns are another file. */
    const struct train_state late = {.judged = true, .epoch = 1};
    REFUSED(train_log_create(yp_device_cpu(), path, row_metrics, 1, &late), "another line");
    REFUSED(train_log_create(yp_device_cpu(), path, row_metrics, 33, NULL), "allowed are 0 to 32");
    unlink(path);
}

#define OTHER(change, words) \
    do { \
        struct train_config config = rows_config(); \
        struct train_objective objective = rows_objective(&rows); \
        change; \
        struct train *other = train_create(yp_device_cpu(), &objective, &config); \
        cr_assert_not_null(other, "%s", yp_last_error()); \
        FAILS(train_resume(other, path), YP_INVALID, words); \
        train_destroy(other); \
    } while (0)

Test(train_items, a_checkpoint_of_another_run_is_refused_by_name)
{
    static const struct train_setting wider[] = {{"width", 7}}, named[] = {{"length", WIDTH}};
    struct rows rows = {0};
    const struct train_config first = rows_config();
    char path[] = "/tmp/train_items.XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    close(fd);
    struct train *train = rows_begin(yp_device_cpu(), &rows, &first);
    OK(train_save(train, path));
    OTHER(objective.settings = wider, "width is 5 there, 7 here");
    OTHER(objective.settings = named, "settings is");
    OTHER(objective.n_settings = 0, "settings is");
    OTHER(objective.items = 41, "items is 40 there, 41 here");
    OTHER(config.optimiser = TRAIN_ADAMW, "optimiser is 1 there, 0 here");
    OTHER(config.sgd.lr = 0.2, "sgd.lr is 0.1");
    OTHER(config.sgd.momentum = 0, "sgd.momentum is 0.8");
    OTHER(config.sgd.dampening = 0.5, "sgd.dampening is 0 there, 0.5 here");
    OTHER(config.sgd.weight_decay = 0, "sgd.weight_decay");
    OTHER(config.sgd.nesterov = true, "sgd.nesterov is 0 there, 1 here");
    OTHER(config.schedule = TRAIN_CONSTANT, "schedule is 2 there, 1 here");
    OTHER(config.cosine.warmup = 5, "cosine.warmup is 4 there, 5 here");
    OTHER(config.cosine.steps = 30, "cosine.steps is 18 there");
    OTHER(config.cosine.min_lr = 0, "cosine.min_lr");
    OTHER(config.scaling.initial = 4, "scaling.initial is 0 there, 4 here");
    OTHER(config.scaling.growth = 4, "scaling.growth is 2 there");
    OTHER(config.scaling.backoff = 0.25, "scaling.backoff is 0.5");
    OTHER(config.scaling.interval = 7, "scaling.interval is 2000 there, 7 here");

    FILE *file = fopen(path, "r+b"); /* the second word is the version */
    const uint64_t old = 1;
    cr_assert(file != NULL && fseek(file, 8, SEEK_SET) == 0);
    cr_assert(fwrite(&old, sizeof old, 1, file) == 1 && fclose(file) == 0);
    FAILS(train_resume(train, path), YP_INVALID, "is of version 1, this program reads 2");
    train_destroy(train);
    unlink(path);
}

#define REFUSES(change, words) \
    do { \
        struct train_config config = rows_config(); \
        struct train_objective objective = rows_objective(&rows); \
        change; \
        REFUSED(train_create(yp_device_cpu(), &objective, &config), words); \
        cr_expect_eq(train_bytes(&objective, &config), 0); \
    } while (0)

Test(train_items, what_is_not_allowed_is_named)
{
    static const char *const nameless[] = {"rms", NULL};
    static const struct train_setting unnamed[] = {{NULL, 0}};
    struct rows rows = {0};
    REFUSES(objective.items = 0, "objective->items is 0, allowed are 1 to 4294967295");
    REFUSES(objective.items = SIZE_MAX, "objective->items is 1844");
    REFUSES(objective.n_metrics = 33, "n_metrics is 33, allowed are 0 to 32");
    REFUSES(objective.n_settings = 17, "n_settings is 17, allowed are 0 to 16");
    REFUSES(objective.metrics = nameless, "objective->metrics has no name 1");
    REFUSES(objective.settings = unnamed, "objective->settings has no name 0");
    REFUSES(config.optimiser = 2, "optimiser is 2");
    REFUSES(config.sgd.lr = 0, "sgd.lr is 0, allowed is (0, inf)");
    REFUSES(config.sgd.momentum = 1, "sgd.momentum is 1, allowed is [0, 1)");
    REFUSES(config.sgd.dampening = 2, "sgd.dampening is 2");
    REFUSES(config.sgd.weight_decay = -1, "sgd.weight_decay is -1");
    REFUSES((config.sgd.nesterov = true, config.sgd.momentum = 0), "sgd.nesterov needs momentum");
    REFUSES((config.sgd.nesterov = true, config.sgd.dampening = 0.1), "dampening 0, they are");
    REFUSES(config.schedule = 3, "schedule is 3");
    REFUSES(config.cosine.steps = 4, "cosine.steps is 4, allowed are more than cosine.warmup, 4");
    REFUSES(config.cosine.min_lr = 0.2, "cosine.min_lr is 0.2, allowed is [0, 0.1]");
    REFUSES(config.scaling.initial = -1, "scaling.initial is -1");
    REFUSES((config.scaling.initial = 1, config.scaling.growth = 1), "scaling.growth is 1");
    REFUSES((config.scaling.initial = 1, config.scaling.backoff = 1), "scaling.backoff is 1");
    REFUSES((config.scaling.initial = 1, config.scaling.interval = 0), "scaling.interval is 0");
}
