/* Training step by step against plain loops in double: the split, the order of items, gradients,
 * clipping, optimisers, schedules, judgements, and which epoch was the best. */
#include "suites/pipelines.h"
#include "suites/stress/formulas/ranked.h"
#include "suites/stress/training.h"
#include "suites/worst.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CUBES = 10, VALIDATION = 3, TRAINED = CUBES - VALIDATION, BATCH = 3 };

/* -- what is trained --------------------------------------------------------------------------- */

static struct training_plan plan_named(struct yp_case *t)
{
    struct training_plan p = {
        .options = {.threads = TRAINING_THREADS, .normalise = true, .eps = 1e-3, .scale = 0.05F},
        .config = train_defaults()};
    const char *name = yp_string(t, "pipeline");
    if (strcmp(name, "selector") == 0) {
        p.options.select = p.options.train_temperature = true;
    } else if (strcmp(name, "pca") == 0) {
        p.options.components = 5;
        p.options.orthogonality = 0.1;
    } else if (strcmp(name, "lad") == 0) {
        p.options.detector = RX_LAD;
    } else if (strcmp(name, "image") == 0) {
        p.options.detector = RX_IMAGE;
    } else if (strcmp(name, "autoencoder") == 0) {
        p.options.detector = RX_AUTOENCODER;
    }
    if (p.options.detector == RX_LAD || p.options.detector == RX_AUTOENCODER)
        p.options.eps = 0;
    struct train_config *c = &p.config;
    c->epochs = 3;
    c->validation = 0.25; /* 2.5 cubes: half up */
    c->batch = BATCH;     /* the last one of an epoch has one cube */
    c->adamw.lr = 2e-3;
    c->adamw.weight_decay = 0.1;
    c->plateau.patience = 0;
    c->plateau.threshold = 0.5; /* so that the rate falls */
    if (strcmp(yp_string(t, "optimiser"), "sgd") != 0)
        return p;
    c->optimiser = TRAIN_SGD;
    c->sgd = (struct train_sgd){.lr = 1e-3, .momentum = 0.9, .weight_decay = 0.1, .nesterov = true};
    c->clip = 0.5;
    c->average = 0.7;
    c->accumulate = 2; /* steps of 6 cubes and of one */
    c->schedule = TRAIN_COSINE;
    c->cosine = (struct train_cosine){.warmup = 2, .steps = 5, .min_lr = 1e-4};
    train_set_add(&c->no_decay, 0);
    train_set_add(&c->frozen, 1);
    return p;
}

/* -- the same by plain loops ------------------------------------------------------------------- */

/* Parameters are floats, as they are there: what a step moves them by is not lost in one and kept
 * in the other. All else is double. */
struct plain {
    struct yp_case *t;
    const struct training *f;
    struct scene_tiles tiles; /* the CPU's */
    struct rx_pipeline_options options;
    size_t n;
    double *x, *m, *v, *g, *part;
    double *average;       /* of x; what is judged */
    uint32_t split[CUBES]; /* for training, then for validation */
    double lr, least, plateau;
    double losses, weight; /* of the epoch's steps: sums */
    double mean_loss;      /* of the last epoch */
    uint64_t step, best_epoch;
};

/* splitmix64's last part, and models/data/order.h's key. */
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t key_of(uint64_t seed, uint64_t stream, uint32_t item)
{
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    return mix(mix(seed + golden * (stream + 1)) + golden * (item + UINT64_C(1)));
}

/* By insertion; with `keys` by them, else by number. */
static void sort_items(uint32_t *items, size_t count, uint64_t seed, uint64_t stream, bool keys)
{
    for (size_t i = 1; i < count; i++)
        for (size_t k = i; k > 0; k--) {
            uint32_t a = items[k - 1], b = items[k];
            if (keys ? key_of(seed, stream, a) <= key_of(seed, stream, b) : a < b)
                break;
            items[k - 1] = b;
            items[k] = a;
        }
}

static void split_items(struct plain *p)
{
    for (uint32_t i = 0; i < CUBES; i++)
        p->split[i] = i;
    sort_items(p->split, CUBES, p->f->config.seed, 0, true);
    sort_items(p->split, TRAINED, 0, 0, false);
    sort_items(p->split + TRAINED, VALIDATION, 0, 0, false);
}

/* The mean loss over the finite pixels of some cubes and, unless it is NULL, its gradient. */
static double loss_of(struct plain *p, const uint32_t *cubes, size_t count, double *gradient)
{
    const double *x = gradient != NULL ? p->x : p->average;
    double sum = 0, kept = 0, penalty = 0;
    struct yp_case *t = p->t;
    const struct rx_source *source = &p->tiles.source;
    size_t pixels = source->tile_pixels, tiles = count * p->tiles.tiles_per_cube;
    float *values = malloc(pixels * source->channels * sizeof *values);
    uint8_t *labels = malloc(pixels);
    double *losses = malloc((pixels + 1) * sizeof *losses);
    double *share = malloc((pixels + 1) * sizeof *share);
    yp_require(t, values != NULL && labels != NULL && losses != NULL && share != NULL, "no memory");
    for (size_t i = 0; i < p->n && gradient != NULL; i++)
        gradient[i] = 0;
    for (size_t i = 0; i < tiles; i++) {
        struct rx_tile tile = {.values = values, .labels = labels, .channels = source->channels};
        size_t each = p->tiles.tiles_per_cube, index = cubes[i / each] * each + i % each;
        yp_ok(t, source->yield(source->arg, index, values, labels, &tile));
        struct rx_plain *plain = open_plain(t, &p->options, &tile);
        bool penalised = rx_plain_outputs(plain) > tile.pixels;
        rx_plain_losses(plain, x, losses);
        for (size_t k = 0; k < tile.pixels; k++) {
            kept += isfinite(values[k * source->channels]) ? 1 : 0;
            sum += losses[k];
            share[k] = 1;
        }
        penalty = penalised ? losses[tile.pixels] : 0;
        share[tile.pixels] = 0;
        if (gradient != NULL)
            rx_plain_vjp(plain, x, share, p->part);
        for (size_t k = 0; k < p->n && gradient != NULL; k++)
            gradient[k] += p->part[k];
        if (gradient != NULL && penalised && i + 1 == tiles) { /* once, whatever the pixels */
            memset(share, 0, tile.pixels * sizeof *share);
            share[tile.pixels] = 1;
            rx_plain_vjp(plain, x, share, p->part);
            for (size_t k = 0; k < p->n; k++)
                gradient[k] += kept * p->part[k];
        }
        rx_plain_destroy(plain);
    }
    for (size_t k = 0; k < p->n && gradient != NULL; k++)
        gradient[k] /= kept;
    free(values), free(labels), free(losses), free(share);
    p->weight += gradient != NULL ? kept : 0;
    p->losses += gradient != NULL ? sum + kept * penalty : 0;
    return sum / kept + penalty;
}

static bool is_frozen(const struct plain *p, size_t tensor)
{
    return train_set_has(&p->f->config.frozen, tensor);
}

/* Loshchilov and Hutter's algorithm 2. */
static void adamw(struct plain *p, size_t i, double decay)
{
    const struct train_adamw *a = &p->f->config.adamw;
    double t = (double)p->step, old = p->x[i];
    p->m[i] = a->beta1 * p->m[i] + (1 - a->beta1) * p->g[i];
    p->v[i] = a->beta2 * p->v[i] + (1 - a->beta2) * p->g[i] * p->g[i];
    double mean = p->m[i] / (1 - pow(a->beta1, t)), square = p->v[i] / (1 - pow(a->beta2, t));
    p->x[i] = old - p->lr * (mean / (sqrt(square) + a->eps) + decay * old);
}

/* With Nesterov's momentum, whose first value is the gradient. */
static void sgd(struct plain *p, size_t i, double decay)
{
    double g = p->g[i] + decay * p->x[i], momentum = p->f->config.sgd.momentum;
    p->m[i] = p->step == 1 ? g : momentum * p->m[i] + g;
    p->x[i] -= p->lr * (g + momentum * p->m[i]);
}

static void plain_step(struct plain *p, const uint32_t *cubes, size_t count)
{
    const struct train_config *c = &p->f->config;
    double squares = 0;
    loss_of(p, cubes, count, p->g);
    for (size_t k = 0; k < p->f->objective.n_tensors; k++)
        for (size_t i = 0; i < p->f->tensors[k].count && !is_frozen(p, k); i++)
            squares += p->g[p->f->tensors[k].offset + i] * p->g[p->f->tensors[k].offset + i];
    double factor = c->clip / sqrt(squares) < 1 ? c->clip / sqrt(squares) : 1;
    p->step++;
    if (c->schedule == TRAIN_COSINE) {
        double at = (double)p->step, top = c->sgd.lr, low = c->cosine.min_lr;
        double warm = (double)c->cosine.warmup, all = (double)c->cosine.steps;
        p->lr = at <= warm ? top * at / warm
                : at >= all
                    ? low
                    : low + (top - low) * (1 + cos(acos(-1) * (at - warm) / (all - warm))) / 2;
    }
    for (size_t k = 0; k < p->f->objective.n_tensors; k++) {
        bool bare = train_set_has(&c->no_decay, k);
        for (size_t n = 0; n < p->f->tensors[k].count && !is_frozen(p, k); n++) {
            size_t i = p->f->tensors[k].offset + n;
            p->g[i] *= factor;
            if (c->optimiser == TRAIN_SGD)
                sgd(p, i, bare ? 0 : c->sgd.weight_decay);
            else
                adamw(p, i, bare ? 0 : c->adamw.weight_decay);
            p->x[i] = (double)(float)p->x[i];
        }
    }
    double t = (double)p->step, keep = (1 + t) / (10 + t);
    keep = c->average < keep ? c->average : keep;
    for (size_t i = 0; i < p->n; i++)
        p->average[i] = keep * p->average[i] + (1 - keep) * p->x[i];
}

/* An epoch is judged by the loss on what was kept from training; the rate follows it. */
static void judge_epoch(struct plain *p, uint64_t epoch)
{
    const struct train_config *c = &p->f->config;
    double loss = loss_of(p, p->split + TRAINED, VALIDATION, NULL);
    if (loss < p->least) {
        p->least = loss;
        p->best_epoch = epoch;
    }
    if (c->schedule != TRAIN_PLATEAU || epoch == 0)
        return;
    if (loss < p->plateau * (1 - c->plateau.threshold))
        p->plateau = loss;
    else
        p->lr *= c->plateau.factor;
}

static void plain_run(struct plain *p)
{
    const struct train_config *c = &p->f->config;
    size_t each = c->batch * c->accumulate;
    judge_epoch(p, 0);
    for (uint64_t epoch = 1; epoch <= c->epochs; epoch++) {
        uint32_t order[TRAINED];
        memcpy(order, p->split, sizeof order);
        sort_items(order, TRAINED, c->seed, epoch, true);
        p->losses = p->weight = 0;
        for (size_t at = 0; at < TRAINED; at += each)
            plain_step(p, order + at, TRAINED - at < each ? TRAINED - at : each);
        p->mean_loss = p->losses / p->weight;
        judge_epoch(p, epoch);
    }
}

static void plain_open(struct plain *p, struct yp_case *t, const struct training *f,
                       const struct training_plan *how)
{
    size_t n = f->objective.parameters;
    *p = (struct plain){.t = t, .f = f, .options = how->options, .n = n};
    scene_tiles_open_on(&p->tiles, t, yp_device_cpu(), &f->tiles.scale, TRAINING_TILE_PIXELS);
    p->options.channels = f->tiles.scale.channels;
    p->options.tile_pixels = TRAINING_TILE_PIXELS;
    p->x = yp_alloc_host(t, 6 * n * sizeof *p->x);
    memset(p->x, 0, 6 * n * sizeof *p->x);
    p->m = p->x + n;
    p->v = p->x + 2 * n;
    p->g = p->x + 3 * n;
    p->part = p->x + 4 * n;
    p->average = p->x + 5 * n;
    for (size_t i = 0; i < n; i++)
        p->x[i] = p->average[i] = (double)f->parameters[i];
    p->lr = f->config.optimiser == TRAIN_SGD ? f->config.sgd.lr : f->config.adamw.lr;
    p->least = p->plateau = INFINITY;
    split_items(p);
}

/* The largest over tensors of how far trained values are off, in what training moved them by. */
static double off_by(const struct plain *p, const double *right, const float *trained)
{
    double worst = 0;
    for (size_t k = 0; k < p->f->objective.n_tensors; k++) {
        double off = 0, moved = 0;
        for (size_t n = 0; n < p->f->tensors[k].count; n++) {
            size_t i = p->f->tensors[k].offset + n;
            off += pow((double)trained[i] - right[i], 2);
            moved += pow(right[i] - (double)p->f->parameters[i], 2);
        }
        if (is_frozen(p, k) && off + moved > 0)
            return INFINITY;
        worst = worse(worst, moved > 0 ? sqrt(off / moved) : 0);
    }
    return worst;
}

/* What the trainer says of the cubes for validation, and its definition on the logits themselves.
 */
static void check_judgement(struct yp_case *t, struct plain *p, struct training *f)
{
    struct rx_judgement got;
    const struct rx_source *cubes = rx_training_source(f->training, TRAIN_VALIDATION);
    const struct rx_source *source = &p->tiles.source;
    size_t each = p->tiles.tiles_per_cube, n = cubes->tiles * cubes->tile_pixels;
    double loss = NAN;
    if (f->objective.no_logits || runs_on_gpu(t))
        return;
    float *scores = yp_alloc_host(t, 2 * n * sizeof *scores), *logits = scores + n;
    float *values = yp_alloc_host(t, source->tile_pixels * source->channels * sizeof *values);
    uint8_t *labels = yp_alloc_host(t, n);
    memset(labels, 0, n);
    yp_ok(t,
          rx_training_judge(f->training, TRAIN_VALIDATION, train_average(f->train), &loss, &got));
    yp_ok(t, rx_pipeline_score(f->pipeline, cubes, train_average(f->train), scores, logits));
    size_t held = 0;
    for (size_t i = 0; i < cubes->tiles; i++) {
        struct rx_tile tile = {.values = values, .labels = labels + i * source->tile_pixels};
        yp_ok(t, source->yield(source->arg, p->split[TRAINED + i / each] * each + i % each, values,
                               labels + i * source->tile_pixels, &tile));
        held += tile.pixels;
    }
    struct ranked right = ranked_of(logits, labels, n, 0);
    const struct metrics_ranked *r = &got.ranked;
    yp_expect(t, r->targets == right.targets && r->background == right.background,
              "%zu targets and %zu of background were judged, not %zu and %zu", (size_t)r->targets,
              (size_t)r->background, right.targets, right.background);
    yp_expect(t, right.skipped >= n - held, "places behind a short tile have logits");
    yp_expect(t,
              fabs(r->roc_auc - right.roc_auc) < 1e-12 &&
                  fabs(r->average_precision - right.average_precision) < 1e-12 &&
                  fabs(metrics_recall(&got.confusion) - right.recall) < 1e-12,
              "judged %.9g %.9g %.9g, not %.9g %.9g %.9g", r->roc_auc, r->average_precision,
              metrics_recall(&got.confusion), right.roc_auc, right.average_precision, right.recall);
}

/* -- the case ---------------------------------------------------------------------------------- */

static bool watch_loss(void *arg, const struct train_event *event)
{
    if (event->kind == TRAIN_EPOCH)
        *(double *)arg = event->train_loss;
    return true;
}

/* Bounds, by five seeds: AdamW up to 1.4e-2, since it makes a gradient's rounding as large as the
 * gradient where that is near 0, descent up to 2e-5 on the CPU and 8e-5 by the kernels of a GPU;
 * losses up to 1e-6. */
YP_TEST(rx, train_steps, .tags = "stress small", .timeout = 120, .parallel = true,
        .axes = YP_AXES(yp_axis_string("pipeline", "rx", "selector", "pca", "lad", "image",
                                       "autoencoder"),
                        yp_axis_string("optimiser", "adamw", "sgd")),
        .devices = "cpu cuda")
{
    bool by_sgd = strcmp(yp_string(t, "optimiser"), "sgd") == 0;
    bool image = strcmp(yp_string(t, "pipeline"), "image") == 0;
    /* A tile is an image there; else a cube has two, the second a short one, on the CPU. */
    struct scale s = {.cubes = CUBES, .height = image ? 64 : 70, .width = 64, .channels = 10};
    struct training_plan how = plan_named(t);
    double mean_loss = NAN;
    how.config.watch = watch_loss;
    how.config.watch_arg = &mean_loss;
    struct training f;
    training_open(&f, t, &s, &how);
    yp_ok(t, training_begin(&f));
    yp_ok(t, train_run(f.train, 0));
    struct plain p;
    plain_open(&p, t, &f, &how);
    struct train_items trained = train_part_items(f.train, TRAIN_TRAINING);
    struct train_items judged = train_part_items(f.train, TRAIN_VALIDATION);
    yp_require(t,
               trained.count == TRAINED && judged.count == VALIDATION &&
                   memcmp(trained.index, p.split, TRAINED * sizeof *p.split) == 0 &&
                   memcmp(judged.index, p.split + TRAINED, VALIDATION * sizeof *p.split) == 0,
               "the cubes are not split as the order says");
    plain_run(&p);
    struct train_state state;
    train_state(f.train, &state);
    double last = NAN;
    yp_ok(t, rx_training_judge(f.training, TRAIN_VALIDATION, train_average(f.train), &last, NULL));
    double right = loss_of(&p, p.split + TRAINED, VALIDATION, NULL);
    yp_expect(t, state.step == p.step && state.best_epoch == p.best_epoch,
              "%llu steps and epoch %llu is the best, in double %llu and %llu",
              (unsigned long long)state.step, (unsigned long long)state.best_epoch,
              (unsigned long long)p.step, (unsigned long long)p.best_epoch);
    yp_expect(t, fabs(state.lr / p.lr - 1) < 1e-12, "the rate is %g, not %g", state.lr, p.lr);
    yp_expect(t, fabs(mean_loss / p.mean_loss - 1) < 1e-5, "the last epoch's loss is %g, not %g",
              mean_loss, p.mean_loss);
    yp_value(t, "best epoch", (double)state.best_epoch);
    yp_value(t, "rate", state.lr);
    double off = worse(off_by(&p, p.x, train_parameters(f.train)),
                       off_by(&p, p.average, train_average(f.train)));
    yp_value(t, "off by", off);
    yp_expect(t, off <= (by_sgd ? 2e-4 : 3e-2), "parameters are off by %g of their way", off);
    double loss_off = worse(fabs(last / right - 1), fabs(state.best_loss / p.least - 1));
    /* 12 seeds gave up to 3.8e-6, with the selector by AdamW. */
    yp_expect(t, loss_off <= 6e-6, "losses are off by %g", loss_off);
    yp_value(t, "loss off", loss_off);
    check_judgement(t, &p, &f);
    scene_tiles_close(&p.tiles);
    training_close(&f);
}
