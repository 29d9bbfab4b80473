/* models/train/trainer.h: steps, epochs and judgements against plain loops. */
#include "tests/unit/train/train_subject.h"

#include "models/data/order.h"

static struct subject subject(void)
{
    return (struct subject){.nan_cube = SIZE_MAX};
}

static struct train_state state_of(const struct train *train)
{
    struct train_state state;
    train_state(train, &state);
    return state;
}

/* -- the whole against an oracle ------------------------------------------------------------ */

/* What the watcher gets, kept. */
struct record {
    struct train_event events[512];
    double metrics[512][RX_METRICS];
    size_t count;
    size_t stop_after; /* events; 0: never */
};

static bool keep(void *arg, const struct train_event *event)
{
    struct record *record = arg;
    size_t at = record->count++;
    cr_assert_lt(at, LENGTH(record->events));
    record->events[at] = *event;
    if (event->metrics != NULL)
        memcpy(record->metrics[at], event->metrics, sizeof record->metrics[at]);
    return record->count != record->stop_after;
}

static struct train_config watched_by(struct record *record)
{
    struct train_config config = subject_config();
    config.watch = keep;
    config.watch_arg = record;
    return config;
}

/* The training of this file's subject again, in double and from the formulas. */
struct oracle {
    double p[PARAMETERS], m[PARAMETERS], v[PARAMETERS], lr, best;
    struct train_plateau_state plateau;
    double losses[64]; /* watched, from epoch 0 on */
    double norms[256], step_losses[256];
    double train_losses[64]; /* of epochs */
    size_t steps;
};

static void oracle_sums(const struct oracle *o, const struct rx_source *source, size_t cube,
                        struct subject_sums *sums)
{
    float w[PARAMETERS], values[TILE_PIXELS * CHANNELS], logits[TILE_PIXELS];
    uint8_t labels[TILE_PIXELS];
    for (size_t i = 0; i < PARAMETERS; i++)
        w[i] = (float)o->p[i];
    for (size_t t = 0; t < TILES_PER_CUBE; t++) {
        struct rx_tile tile = {values, 0, CHANNELS, labels, 0};
        OK(source->yield(source->arg, cube * TILES_PER_CUBE + t, values, labels, &tile));
        subject_add(&tile, w, sums, logits);
    }
}

static void oracle_step(struct oracle *o, const struct train_config *config,
                        struct subject_sums *sums)
{
    double norm = 0;
    o->step_losses[o->steps] = sums->loss / sums->weight;
    for (size_t i = 0; i < PARAMETERS; i++) {
        sums->gradient[i] /= sums->weight;
        norm += sums->gradient[i] * sums->gradient[i];
    }
    o->norms[o->steps++] = norm = sqrt(norm);
    for (size_t i = 0; i < PARAMETERS; i++) {
        double g = sums->gradient[i] * fmin(1, config->clip / (norm + 1e-6));
        double t = (double)o->steps, decay = i < CHANNELS ? config->adamw.weight_decay : 0;
        o->p[i] -= o->lr * decay * o->p[i];
        o->m[i] = 0.9 * o->m[i] + 0.1 * g;
        o->v[i] = 0.999 * o->v[i] + 0.001 * g * g;
        double m = o->m[i] / (1 - pow(0.9, t)), v = o->v[i] / (1 - pow(0.999, t));
        o->p[i] -= o->lr * m / (sqrt(v) + 1e-8);
    }
}

static void oracle_epoch(struct oracle *o, const struct train_config *config,
                         const struct rx_source *source, uint64_t epoch)
{
    uint32_t split[SUBJECT_CUBES];
    size_t validation = data_validation_count(SUBJECT_CUBES, config->validation);
    size_t training = SUBJECT_CUBES - validation, per_step = config->batch * config->accumulate;
    struct subject_sums judged = {0};
    double loss = 0, weight = 0;
    data_split(config->seed, SUBJECT_CUBES, validation, split);
    if (epoch > 0)
        data_order(config->seed, epoch, split, training);
    for (size_t first = 0; epoch > 0 && first < training; first += per_step) {
        struct subject_sums sums = {0};
        for (size_t i = first; i < training && i < first + per_step; i++)
            oracle_sums(o, source, split[i], &sums);
        oracle_step(o, config, &sums);
        loss += sums.loss;
        weight += sums.weight;
    }
    o->train_losses[epoch] = loss / weight;
    for (size_t i = training; i < SUBJECT_CUBES; i++)
        oracle_sums(o, source, split[i], &judged);
    o->losses[epoch] = judged.loss / judged.weight;
    o->best = fmin(o->best, o->losses[epoch]);
    if (epoch > 0)
        o->lr = train_plateau_step(&config->plateau, &o->plateau, o->losses[epoch], o->lr);
}

Test(train_steps, a_run_is_what_the_formulas_say)
{
    struct subject s = subject();
    struct record record = {.count = 0};
    struct train_config config = watched_by(&record);
    struct oracle o = {.lr = config.adamw.lr, .best = INFINITY};
    struct train *train = subject_begin(&s, &config);
    struct rx_source source = subject_source(&s, SUBJECT_CUBES);
    train_plateau_start(&o.plateau);
    for (size_t i = 0; i < PARAMETERS; i++)
        o.p[i] = (double)subject_start[i];
    OK(train_run(train, 0));
    for (uint64_t epoch = 0; epoch <= config.epochs; epoch++)
        oracle_epoch(&o, &config, &source, epoch);

    struct train_state state = state_of(train);
    cr_expect(state.end == TRAIN_ALL_EPOCHS && state.epoch == 6 && state.place == 0);
    cr_expect(state.step == 18 && state.skipped == 0 && state.steps_per_epoch == 3);
    cr_expect(state.lr == o.lr && o.lr < config.adamw.lr, "lr %g, not %g", state.lr, o.lr);
    cr_expect_float_eq(state.best_loss, o.best, 1e-5);
    cr_expect(o.losses[6] < 0.7 * o.losses[0], "nothing was learnt: %g to %g", o.losses[0],
              o.losses[6]);
    for (size_t i = 0; i < PARAMETERS; i++)
        cr_expect_float_eq((double)train_parameters(train)[i], o.p[i], 1e-5, "%zu: %g, not %g", i,
                           (double)train_parameters(train)[i], o.p[i]);
    cr_assert_eq(record.count, 1 + 6 * 4);
    for (size_t i = 0, step = 0, epoch = 0; i < record.count; i++) {
        const struct train_event *e = &record.events[i];
        cr_expect_eq(e->kind, i % 4 == 0 ? TRAIN_EPOCH : TRAIN_STEP);
        if (e->kind == TRAIN_EPOCH) {
            cr_expect_float_eq(e->validation_loss, o.losses[epoch], 1e-5);
            cr_expect(epoch == 0 || fabs(e->train_loss - o.train_losses[epoch]) < 1e-5);
        } else {
            cr_expect_float_eq(e->norm, o.norms[step], 1e-5);
            cr_expect_float_eq(e->loss, o.step_losses[step], 1e-5);
        }
        *(e->kind == TRAIN_EPOCH ? &epoch : &step) += 1;
        cr_expect(e->epoch == (i + 3) / 4 && e->step == step && e->seconds >= 0);
    }
    subject_destroy(train);
}

Test(train_steps, accumulated_batches_are_one_large_batch)
{
    float result[3][PARAMETERS];
    const size_t batch[] = {1, 2, 4}, accumulate[] = {4, 2, 1};
    for (int i = 0; i < 3; i++) {
        struct subject s = subject();
        struct train_config config = subject_config();
        config.batch = batch[i];
        config.accumulate = accumulate[i];
        struct train *train = subject_begin(&s, &config);
        OK(train_run(train, 0));
        cr_expect_eq(state_of(train).step, 18);
        memcpy(result[i], train_parameters(train), sizeof result[i]);
        subject_destroy(train);
    }
    /* Gradients of batches are rounded to float before they are added. */
    for (int i = 0; i < 2; i++)
        for (size_t p = 0; p < PARAMETERS; p++)
            cr_expect_float_eq((double)result[i][p], (double)result[2][p], 5e-6, "%d, %zu: %g", i,
                               p, (double)result[i][p] - (double)result[2][p]);
}

Test(train_steps, without_epochs_only_the_statistical_phase_is_judged)
{
    struct subject s = subject();
    struct record record = {.count = 0};
    struct train_config config = watched_by(&record);
    config.epochs = 0;
    struct train *train = subject_begin(&s, &config);
    for (int again = 0; again < 2; again++) {
        OK(train_run(train, 0));
        cr_expect(record.count == 1 && s.gradients == 0);
        cr_expect(memcmp(train_parameters(train), subject_start, sizeof subject_start) == 0);
        cr_expect(memcmp(train_best(train), subject_start, sizeof subject_start) == 0);
    }
    struct train_state state = state_of(train);
    cr_expect(state.end == TRAIN_ALL_EPOCHS && state.judged && state.step == 0);
    cr_expect(isfinite(state.best_loss) && state.best_epoch == 0);
    subject_destroy(train);
}

/* -- cubes ---------------------------------------------------------------------------------- */

Test(train_steps, every_cube_comes_once_an_epoch_and_in_another_order)
{
    struct subject s = subject();
    struct train_config config = subject_config();
    struct rx_objective objective = subject_objective(&s);
    struct rx_source source = subject_source(&s, SUBJECT_CUBES);
    objective.targets = 0;
    size_t orders[3][20];
    struct train *train =
        subject_make(yp_device_cpu(), &objective, &source, TILES_PER_CUBE, &config);
    OK(train_begin(train, subject_start));
    OK(train_run(train, 1)); /* judges, makes a step */
    for (int epoch = 0; epoch < 3; epoch++) {
        size_t first = 6 + (size_t)epoch * 26, cubes[SUBJECT_CUBES] = {0};
        OK(train_run(train, 3));
        for (size_t i = 0; i < 20; i++) {
            size_t tile = s.seen[first + i];
            orders[epoch][i] = tile;
            cubes[tile / 2]++;
            cr_expect(i % 2 == 0 || tile == orders[epoch][i - 1] + 1, "a cube was torn apart");
        }
        for (size_t i = 0; i < 6; i++)
            cubes[s.seen[first + 20 + i] / 2] += 100;
        size_t validation = 0;
        for (size_t i = 0; i < SUBJECT_CUBES; i++) {
            cr_expect(cubes[i] == 2 || cubes[i] == 200, "cube %zu: %zu", i, cubes[i]);
            validation += cubes[i] == 200;
        }
        cr_expect_eq(validation, 3);
        cr_expect(epoch == 0 || memcmp(orders[epoch], orders[epoch - 1], sizeof *orders) != 0);
    }
    const struct rx_source *training = subject_part(train, TRAIN_TRAINING);
    const struct rx_source *validation = subject_part(train, TRAIN_VALIDATION);
    cr_expect(training->tiles == 20 && validation->tiles == 6);
    size_t before = s.yields;
    struct subject_sums sums;
    OK(subject_pass(training, subject_start, &sums, NULL, NULL));
    for (size_t i = 1; i < 20; i++)
        cr_expect_lt(s.seen[before + i - 1], s.seen[before + i]);
    subject_destroy(train);
}

Test(train_steps, one_cube_is_trained_on_and_watched)
{
    struct subject s = subject();
    struct record record = {.count = 0};
    struct train_config config = watched_by(&record);
    struct rx_objective objective = subject_objective(&s);
    struct rx_source source = subject_source(&s, 1);
    struct train *train = subject_make(yp_device_cpu(), &objective, &source, 2, &config);
    OK(train_begin(train, subject_start));
    OK(train_run(train, 0));
    cr_expect_eq(subject_part(train, TRAIN_VALIDATION)->tiles, 0);
    cr_expect_eq(record.count, 1 + 2 * config.epochs);
    cr_expect(isnan(record.events[0].validation_loss) && record.events[0].metrics == NULL);
    for (size_t i = 2; i < record.count; i += 2) {
        cr_expect(record.events[i].train_loss == record.events[i - 1].loss);
        cr_expect(isnan(record.events[i].validation_loss));
    }
    cr_expect(state_of(train).best_loss <= record.events[2].train_loss);
    subject_destroy(train);
}

/* -- what is not finite ---------------------------------------------------------------------- */

Test(train_steps, a_step_that_is_not_finite_is_as_if_it_had_not_been)
{
    for (int loss = 0; loss < 2; loss++) {
        struct subject s = subject();
        struct record record = {.count = 0};
        struct train_config config = watched_by(&record);
        config.accumulate = 1;
        s.poison = 3;
        s.poison_loss = loss != 0;
        struct train *train = subject_begin(&s, &config);
        float before[PARAMETERS];
        OK(train_run(train, 2));
        memcpy(before, train_parameters(train), sizeof before);
        OK(train_run(train, 1));
        cr_expect(memcmp(train_parameters(train), before, sizeof before) == 0);
        struct train_state state = state_of(train);
        cr_expect(state.step == 2 && state.skipped == 1 && state.place == 3);
        cr_expect(record.events[record.count - 1].skipped &&
                  !record.events[record.count - 2].skipped);
        OK(train_run(train, 0));
        for (size_t i = 0; i < PARAMETERS; i++)
            cr_expect(isfinite(train_parameters(train)[i]));
        state = state_of(train);
        cr_expect(state.skipped == 1 && state.step == 29 && isfinite(state.best_loss));
        subject_destroy(train);
    }
}

Test(train_steps, too_many_skipped_steps_in_a_row_are_an_error)
{
    struct subject s = subject();
    struct train_config config = subject_config();
    config.max_skipped = 4;
    s.poison_all = true;
    struct train *train = subject_begin(&s, &config);
    FAILS(train_run(train, 0), YP_INVALID, "5 steps in a row were skipped");
    cr_expect_not_null(strstr(yp_last_error(), "the last is step 2 of epoch 2"));
    cr_expect(memcmp(train_parameters(train), subject_start, sizeof subject_start) == 0);
    s.poison_all = false;
    OK(train_run(train, 0));
    cr_expect(state_of(train).end == TRAIN_ALL_EPOCHS && state_of(train).skipped == 5);
    subject_destroy(train);

    config.max_skipped = 0;
    s.poison_all = true;
    train = subject_begin(&s, &config);
    OK(train_run(train, 0));
    cr_expect(state_of(train).skipped == 18 && state_of(train).step == 0);
    subject_destroy(train);
}

Test(train_steps, a_batch_without_pixels_that_count_adds_nothing)
{
    for (size_t accumulate = 1; accumulate <= 2; accumulate++) {
        float result[2][PARAMETERS];
        for (int nan = 0; nan < 2; nan++) {
            struct subject s = subject();
            struct train_config config = subject_config();
            config.batch = 1;
            config.accumulate = accumulate;
            struct train *train = subject_create(&s, &config);
            if (nan)
                s.nan_cube = 4;
            OK(train_begin(train, subject_start));
            OK(train_run(train, 0));
            /* Alone it is a skipped step; beside another batch it is not there. */
            size_t skipped = nan && accumulate == 1 ? 6 : 0;
            cr_expect_eq(state_of(train).skipped, skipped);
            cr_expect_eq(state_of(train).step, 60 / accumulate - skipped);
            memcpy(result[nan], train_parameters(train), sizeof result[nan]);
            for (size_t i = 0; i < PARAMETERS; i++)
                cr_expect(isfinite(result[nan][i]));
            subject_destroy(train);
        }
        cr_expect(memcmp(result[0], result[1], sizeof result[0]) != 0);
    }
}

/* -- masks, stopping, the best -------------------------------------------------------------- */

Test(train_steps, a_frozen_tensor_stays_and_is_not_in_the_norm)
{
    struct subject s = subject();
    struct record record = {.count = 0}, free_record = {.count = 0};
    struct train_config config = watched_by(&free_record);
    struct train *train = subject_begin(&s, &config);
    OK(train_run(train, 1));
    subject_destroy(train);
    config.watch_arg = &record;
    config.frozen.word[0] = 1;
    train = subject_begin(&s, &config);
    OK(train_run(train, 0));
    cr_expect(memcmp(train_parameters(train), subject_start, CHANNELS * sizeof(float)) == 0);
    cr_expect(train_parameters(train)[CHANNELS] != subject_start[CHANNELS]);
    cr_expect_lt(record.events[1].norm, free_record.events[1].norm);
    subject_destroy(train);
}

Test(train_steps, training_stops_when_it_gets_no_better_and_keeps_the_best)
{
    struct subject s = subject();
    struct record record = {.count = 0};
    struct train_config config = watched_by(&record);
    config.epochs = 60;
    config.adamw.lr = 8; /* it jumps around */
    config.plateau.factor = 1;
    config.patience = 2;
    struct train *train = subject_begin(&s, &config);
    OK(train_run(train, 0));
    struct train_state state = state_of(train);
    cr_expect(state.end == TRAIN_NO_BETTER && state.epoch == state.best_epoch + 3);
    cr_expect(state.lr == 8);
    double loss, best = INFINITY;
    OK(train_judge(train, train_part_items(train, TRAIN_VALIDATION), train_best(train), &loss,
                   NULL));
    cr_expect(loss == state.best_loss);
    for (size_t i = 0; i < record.count; i++) {
        const struct train_event *e = &record.events[i];
        if (e->kind != TRAIN_EPOCH)
            continue;
        cr_expect_eq(e->best, e->validation_loss < best);
        best = fmin(best, e->validation_loss);
    }
    cr_expect(best == state.best_loss);
    size_t events = record.count;
    OK(train_run(train, 0)); /* there is no more to do */
    cr_expect_eq(record.count, events);
    subject_destroy(train);
}

/* -- judging -------------------------------------------------------------------------------- */

Test(train_steps, validation_has_the_measures_of_its_logits)
{
    struct subject s = subject();
    struct train_config config = subject_config();
    struct train *train = subject_begin(&s, &config);
    struct rx_judgement j;
    double loss;
    const struct rx_source *source = subject_part(train, TRAIN_VALIDATION);
    OK(rx_training_judge(subject_of(train), TRAIN_VALIDATION, subject_start, &loss, &j));
    double metrics[RX_METRICS], again;
    OK(train_judge(train, train_part_items(train, TRAIN_VALIDATION), subject_start, &again,
                   metrics));
    cr_expect(again == loss && metrics[1] == metrics_recall(&j.confusion));
    cr_expect(metrics[5] == j.ranked.roc_auc && metrics[7] == j.ranked.detection_1e4);
    float scores[6 * TILE_PIXELS], values[TILE_PIXELS * CHANNELS];
    uint8_t labels[6 * TILE_PIXELS];
    size_t n = 0;
    struct subject_sums sums = {0};
    struct metrics_confusion counts = {0};
    for (size_t t = 0; t < 6; t++) {
        struct rx_tile tile = {values, 0, CHANNELS, labels + n, 0};
        OK(source->yield(source->arg, t, values, labels + n, &tile));
        subject_add(&tile, subject_start, &sums, scores + n);
        n += tile.pixels;
    }
    metrics_confusion_add(&counts, scores, labels, n);
    cr_expect(memcmp(&counts, &j.confusion, sizeof counts) == 0);
    cr_expect(counts.true_positives > 0 && loss == sums.loss / sums.weight);
    double auc;
    OK(metrics_auc(yp_device_cpu(), scores, labels, n, &auc, NULL));
    cr_expect(j.ranked.roc_auc == auc && j.ranked.average_precision > 0);
    subject_destroy(train);

    struct rx_objective objective = subject_objective(&s);
    struct rx_source all = subject_source(&s, SUBJECT_CUBES);
    objective.targets = 2;
    train = subject_make(yp_device_cpu(), &objective, &all, TILES_PER_CUBE, &config);
    OK(train_begin(train, subject_start));
    FAILS(train_run(train, 0), YP_INVALID, "objective->targets, 2,");
    subject_destroy(train);

    objective.evaluate = NULL;
    objective.targets = 0;
    train = subject_make(yp_device_cpu(), &objective, &all, TILES_PER_CUBE, &config);
    OK(train_begin(train, subject_start));
    OK(train_run(train, 0));
    struct train_items items = train_part_items(train, TRAIN_VALIDATION);
    OK(train_judge(train, items, subject_start, &auc, NULL));
    cr_expect(auc == loss);
    FAILS(train_judge(train, items, subject_start, &loss, metrics), YP_UNSUPPORTED, "no metrics");
    FAILS(rx_training_judge(subject_of(train), TRAIN_VALIDATION, subject_start, &loss, &j),
          YP_UNSUPPORTED, "no logits");
    subject_destroy(train);
}

/* -- failures and memory -------------------------------------------------------------------- */

Test(train_steps, a_failure_of_the_source_leaves_the_last_step_and_may_be_tried_again)
{
    struct subject s = subject(), calm = subject();
    struct train_config config = subject_config();
    struct train *train = subject_begin(&s, &config), *other = subject_begin(&calm, &config);
    OK(train_run(other, 0));
    size_t failures = 0;
    for (s.fail_at = 5; state_of(train).end == TRAIN_NOT_ENDED; s.fail_at += 37) {
        enum yp_status status = train_run(train, 0);
        failures += status != YP_OK;
        if (status != YP_OK)
            cr_expect(status == YP_IO && strstr(yp_last_error(), "cannot be read") != NULL);
    }
    cr_expect_geq(failures, 4);
    cr_expect(memcmp(train_parameters(train), train_parameters(other), sizeof subject_start) == 0);
    subject_destroy(train);
    subject_destroy(other);
}

Test(train_steps, memory_is_one_block_of_the_size_that_was_said)
{
    struct yp_memory before, during, after;
    for (int variant = 0; variant < 8; variant++) {
        struct subject s = subject();
        struct train_config config = subject_config();
        config.keep_best = (variant & 1) != 0;
        config.accumulate = (variant & 2) != 0 ? 3 : 1;
        struct rx_objective objective = subject_objective(&s);
        objective.targets = (variant & 4) != 0 ? 400 : 0;
        struct rx_source source = subject_source(&s, SUBJECT_CUBES);
        yp_device_memory(yp_device_cpu(), &before);
        struct train *train =
            subject_make(yp_device_cpu(), &objective, &source, TILES_PER_CUBE, &config);
        OK(train_begin(train, subject_start));
        OK(train_run(train, 0));
        yp_device_memory(yp_device_cpu(), &during);
        cr_expect_eq(during.allocated - before.allocated,
                     rx_training_bytes(&objective, &source, TILES_PER_CUBE, &config));
        cr_expect_eq(during.allocations - before.allocations, 2); /* the cubes and their trainer */
        cr_expect_eq(train_best(train) == train_parameters(train), !config.keep_best);
        subject_destroy(train);
        yp_device_memory(yp_device_cpu(), &after);
        cr_expect_eq(after.allocated, before.allocated);
        for (uint64_t nth = 1; nth <= 2; nth++) {
            yp_device_fail_allocation(yp_device_cpu(), nth);
            cr_expect_null(
                subject_make(yp_device_cpu(), &objective, &source, TILES_PER_CUBE, &config));
        }
        yp_device_memory(yp_device_cpu(), &after);
        cr_expect_eq(after.allocated, before.allocated);
    }
    subject_destroy(NULL);
}

#define REFUSES(change, words) \
    do { \
        struct rx_objective objective = subject_objective(&s); \
        struct rx_source source = subject_source(&s, SUBJECT_CUBES); \
        struct train_config config = subject_config(); \
        size_t per_cube = TILES_PER_CUBE; \
        change; \
        cr_expect_null(subject_make(yp_device_cpu(), &objective, &source, per_cube, &config)); \
        cr_expect_not_null(strstr(yp_last_error(), words), "no '%s' in: %s", words, \
                           yp_last_error()); \
        cr_expect_eq(rx_training_bytes(&objective, &source, per_cube, &config), 0); \
    } while (0)

Test(train_steps, what_is_not_allowed_is_named)
{
    struct subject s = subject();
    struct yp_tensor gap[] = {{"w", 0, 3}, {"b", 4, 3}}, over[] = {{"w", 0, 3}, {"b", 3, 9}};
    REFUSES(objective.parameters = 0, "objective->parameters is 0");
    REFUSES(objective.gradient = NULL, "objective->gradient is NULL");
    REFUSES(objective.n_tensors = TRAIN_TENSORS + 1, "n_tensors is 513, allowed are 0 to 512");
    REFUSES(objective.tensors = NULL, "objective->tensors is NULL");
    REFUSES(objective.tensors = gap, "tensor 1, b, has 3 parameters from 4 on");
    REFUSES(objective.tensors = over, "tensor 1, b, has 9");
    REFUSES(objective.n_tensors = 1, "the tensors end at 6, there are 7");
    REFUSES(source.yield = NULL, "source->yield is NULL");
    REFUSES(source.tiles = 0, "divisor of source->tiles, 0");
    REFUSES(per_cube = 3, "tiles_per_cube is 3, allowed is a divisor of source->tiles, 26");
    REFUSES(per_cube = 0, "tiles_per_cube is 0");
    REFUSES(objective.whole_cubes = true, "tiles_per_cube is 2, allowed is 1");
    REFUSES(config.validation = 1, "validation is 1, allowed is [0, 1)");
    REFUSES(config.validation = NAN, "validation is nan");
    REFUSES(config.batch = 0, "batch is 0");
    REFUSES(config.accumulate = 0, "accumulate is 0");
    REFUSES(config.adamw.lr = 0, "adamw.lr is 0, allowed is (0, inf)");
    REFUSES(config.adamw.lr = INFINITY, "adamw.lr is inf");
    REFUSES(config.adamw.beta1 = 1, "adamw.beta1 is 1");
    REFUSES(config.adamw.beta2 = -0.1, "adamw.beta2 is -0.1");
    REFUSES(config.adamw.eps = -1, "adamw.eps is -1");
    REFUSES(config.adamw.weight_decay = NAN, "adamw.weight_decay is nan");
    REFUSES(config.clip = -1, "clip is -1");
    REFUSES(config.plateau.factor = 0, "plateau.factor is 0");
    REFUSES(config.plateau.threshold = -1, "plateau.threshold is -1");
    REFUSES(config.plateau.min_lr = -1, "plateau.min_lr is -1");
    REFUSES(config.plateau.eps = NAN, "plateau.eps is nan");
    REFUSES(config.no_decay.word[0] = 4, "no_decay has tensor 2, beyond the 2");
    REFUSES(config.frozen.word[7] = UINT64_C(1) << 63, "frozen has tensor 511");
    REFUSES(objective.evaluate = NULL, "targets is 400, but the objective has no logits");

    struct train_config config = subject_config();
    struct train *train = subject_create(&s, &config);
    float start[PARAMETERS] = {0, 1, INFINITY};
    cr_expect(train_parameters(train) == NULL && train_best(train) == NULL);
    FAILS(train_run(train, 0), YP_INVALID, "no parameters yet");
    FAILS(train_begin(train, start), YP_INVALID, "w[2] is inf");
    FAILS(train_begin(train, NULL), YP_INVALID, "parameters is NULL");
    FAILS(train_run(NULL, 0), YP_INVALID, "train is NULL");
    struct train_items part = train_part_items(train, TRAIN_VALIDATION), none = {NULL, 3};
    double loss;
    FAILS(train_judge(NULL, part, start, &loss, NULL), YP_INVALID, "train is NULL");
    FAILS(train_judge(train, none, start, &loss, NULL), YP_INVALID, "items.index is NULL");
    FAILS(train_judge(train, part, NULL, &loss, NULL), YP_INVALID, "parameters is NULL");
    FAILS(train_judge(train, part, start, NULL, NULL), YP_INVALID, "loss is NULL");
    FAILS(rx_training_judge(NULL, TRAIN_VALIDATION, start, &loss, NULL), YP_INVALID,
          "training is NULL");
    subject_destroy(train);
}
