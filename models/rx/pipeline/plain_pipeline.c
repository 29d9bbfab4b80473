/* The pipeline in plain loops: operators of models/nn in a chain, in double or in float. */
#include "models/rx/pipeline/internal.h"

#include <math.h>
#include <string.h>

#define MAX_STEPS 7

/* An operator of the chain. Places are in elements. */
struct step {
    const struct nn_operator *op;
    struct nn_shape shape;
    size_t from;   /* its first parameter in the pipeline's vector */
    size_t at, to; /* its input and its output in values and cotangents */
};

struct rx_plain {
    struct yp_device *device;
    struct rx_pipeline_options options;
    struct ypi_rx_places places;
    struct rx_tile tile;
    uint8_t *keep, *labels; /* of all pixels; of the finite ones */
    size_t rows;            /* finite pixels */
    struct step steps[MAX_STEPS], penalty, terms;
    struct step residual;        /* from PCA's input to what is added to the score */
    int count, scored;           /* steps; those up to the score */
    size_t target;               /* the values that an autoencoder's output is compared with */
    double temperature;          /* one that is not trained, in the precision at hand */
    double *values, *cotangents; /* of all steps, and of the penalty */
    double *spare;               /* gradients that are added to others, or of what is not trained */
    void *work;
};

/* -- the chain --------------------------------------------------------------------------------- */

static void append(struct rx_plain *p, const struct nn_operator *op, size_t from,
                   struct nn_shape shape)
{
    struct step *s = &p->steps[p->count];
    *s = (struct step){.op = op, .shape = shape, .from = from};
    s->at = p->count > 0 ? p->steps[p->count - 1].to : 0;
    s->to = s->at + nn_count(op, &op->tensors[0], &shape);
    p->count++;
}

static void append_detector(struct rx_plain *p)
{
    const struct rx_pipeline_options *o = &p->options;
    size_t n = p->rows, c = ypi_rx_width(o), h = o->hidden;
    if (o->detector == RX_AUTOENCODER) {
        append(p, &nn_linear, p->places.w1, (struct nn_shape){.size = {n, h, c}});
        p->target = p->steps[p->count - 1].at;
        append(p, &nn_linear, p->places.w2, (struct nn_shape){.size = {n, c, h}});
        append(p, &nn_mse, 0, (struct nn_shape){.size = {n, c}});
    } else {
        append(p, o->detector == RX_IMAGE ? &ypi_rx_image : &nn_quadratic, p->places.mu,
               (struct nn_shape){.size = {n, c}, .setting = {o->eps}});
    }
}

static void build(struct rx_plain *p)
{
    const struct rx_pipeline_options *o = &p->options;
    size_t n = p->rows, c = o->channels;
    p->count = 0;
    if (ypi_rx_has_range(o))
        append(p, &nn_minmax, p->places.min,
               (struct nn_shape){.size = {n * c}, .setting = {YPI_RX_FLAT}});
    if (o->select)
        append(p, &nn_selector, p->places.logits,
               (struct nn_shape){.size = {n, c}, .setting = {o->keep}});
    if (o->components > 0)
        append(p, &nn_pca, p->places.mean, (struct nn_shape){.size = {n, o->components, c}});
    if (o->whiten)
        append(p, &ypi_rx_whitening, p->places.log_variance,
               (struct nn_shape){.size = {n, o->components}, .setting = {YPI_RX_WHITEN_EPS}});
    append_detector(p);
    p->scored = p->count;
    if (ypi_rx_trains(o)) {
        append(p, &nn_logit, p->places.scale, (struct nn_shape){.size = {n}});
        append(p, &nn_bce, 0, (struct nn_shape){.size = {n}, .setting = {10, o->positive_weight}});
    }
    p->residual = (struct step){
        .op = &ypi_rx_residual, .shape = {.size = {n, o->components, c}}, .from = p->places.mean};
    for (int i = 0; i < p->count; i++)
        if (p->steps[i].op == &nn_pca)
            p->residual.at = p->steps[i].at;
    p->penalty = (struct step){.op = &nn_orthogonality,
                               .shape = {.size = {o->components, c}},
                               .from = p->places.w,
                               .to = p->steps[p->count - 1].to + n};
    p->terms = (struct step){.op = &ypi_rx_choice_terms,
                             .shape = {.size = {c}, .setting = {o->entropy, o->diversity, o->keep}},
                             .from = p->places.logits,
                             .to = p->penalty.to + 1};
    p->residual.to = p->terms.to + 1;
}

/* -- numbers of either precision --------------------------------------------------------------- */

static void *at(const void *values, size_t index, bool wide)
{
    char *place = (char *)(uintptr_t)values; /* a call has no const for what is read */
    return place != NULL ? place + index * (wide ? sizeof(double) : sizeof(float)) : NULL;
}

static double get(const void *values, size_t index, bool wide)
{
    return wide ? ((const double *)values)[index] : (double)((const float *)values)[index];
}

static void put(void *values, size_t index, double value, bool wide)
{
    if (wide)
        ((double *)values)[index] = value;
    else
        ((float *)values)[index] = (float)value;
}

static void add(void *to, const void *values, size_t count, bool wide)
{
    for (size_t i = 0; i < count; i++)
        put(to, i, get(to, i, wide) + get(values, i, wide), wide);
}

/* -- forward and backward ---------------------------------------------------------------------- */

/* A step's call with parameters `x` and their `gradient`, NULL: forward. The second input is the
 * autoencoder's target. */
static struct nn_call bind(struct rx_plain *p, const struct step *s, bool wide, const void *x,
                           void *gradient)
{
    struct nn_call call = {.shape = &s->shape, .work = p->work};
    size_t from = s->from;
    for (int i = 0; i < nn_tensors(s->op); i++) {
        const struct nn_tensor *tensor = &s->op->tensors[i];
        bool given =
            !ypi_rx_has_temperature(&p->options) &&
            ((s->op == &nn_selector && i == 2) || (s->op == &ypi_rx_choice_terms && i == 1));
        if (tensor->role == NN_INPUT) {
            call.value[i] = at(p->values, i == 0 ? s->at : p->target, wide);
            call.gradient[i] = i == 0 ? at(p->cotangents, s->at, wide) : p->spare;
        } else if (s->op == &ypi_rx_residual && strcmp(tensor->name, "weight") == 0) {
            call.value[i] = at(x, p->places.residual, wide);
            call.gradient[i] = at(gradient, p->places.residual, wide);
        } else if (tensor->role == NN_PARAMETER) {
            call.value[i] = given ? &p->temperature : at(x, from, wide);
            call.gradient[i] = given ? p->spare : at(gradient, from, wide);
            from += nn_count(s->op, tensor, &s->shape);
        } else if (tensor->role == NN_CONSTANT) {
            call.value[i] = p->labels;
        } else {
            call.value[i] = at(p->values, s->to, wide);
            call.gradient[i] = at(p->cotangents, s->to, wide);
        }
    }
    return call;
}

static void forward(struct rx_plain *p, const struct step *s, bool wide, const void *x)
{
    struct nn_call call = bind(p, s, wide, x, NULL);
    (wide ? s->op->oracle : s->op->plain)(&call);
}

/* The selector's output from soft to hard: of the k channels with the largest logits / T, those of
 * equal ones with the lowest index, the values, or, with weights of 1, the inputs; of others 0. */
static void choose(struct rx_plain *p, const struct step *s, bool wide, const void *x)
{
    size_t channels = p->options.channels, n = p->rows * channels;
    double t = ypi_rx_has_temperature(&p->options) ? get(x, p->places.temperature, wide)
                                                   : get(&p->temperature, 0, wide);
    for (size_t c = 0; c < channels; c++) {
        double own = get(x, s->from + c, wide) / t, before = 0;
        for (size_t i = 0; i < channels; i++) {
            double other = get(x, s->from + i, wide) / t;
            before += other > own || (other == own && i < c) ? 1 : 0;
        }
        for (size_t i = c; i < n; i += channels)
            if (!(before < p->options.keep))
                put(p->values, s->to + i, 0, wide);
            else if (p->options.hard == RX_TOP_ONES)
                put(p->values, s->to + i, get(p->values, s->at + i, wide), wide);
    }
}

/* The first `count` values by their own min and max. */
static void scale_sample(struct rx_plain *p, bool wide, size_t count)
{
    double min = INFINITY, max = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        min = fmin(min, get(p->values, i, wide));
        max = fmax(max, get(p->values, i, wide));
    }
    for (size_t i = 0; i < count; i++)
        put(p->values, i, (get(p->values, i, wide) - min) / ypi_rx_extent(min, max), wide);
}

/* Forward through the first `steps` steps. */
static void run(struct rx_plain *p, bool wide, const void *x, int steps, bool hard)
{
    size_t next = 0;
    for (size_t i = 0; i < p->tile.pixels; i++)
        for (size_t c = 0; c < p->tile.channels && p->keep[i]; c++)
            put(p->values, next++, (double)p->tile.values[i * ypi_rx_stride(&p->tile) + c], wide);
    if (p->options.by_sample)
        scale_sample(p, wide, next);
    put(&p->temperature, 0, p->options.temperature, wide);
    for (int i = 0; i < steps; i++) {
        forward(p, &p->steps[i], wide, x);
        if (hard && p->options.hard != RX_SOFT && p->steps[i].op == &nn_selector)
            choose(p, &p->steps[i], wide, x);
        if (p->options.residual && i + 1 == p->scored) {
            forward(p, &p->residual, wide, x);
            add(at(p->values, p->steps[i].to, wide), at(p->values, p->residual.to, wide), p->rows,
                wide);
        }
    }
}

/* The results of the first `steps` steps to their pixels. */
static void scatter(const struct rx_plain *p, int steps, double missing, double *out)
{
    size_t next = p->steps[steps - 1].to;
    for (size_t i = 0; i < p->tile.pixels; i++)
        out[i] = p->keep[i] ? get(p->values, next++, true) : missing;
}

static double weight_of(const struct rx_plain *p, bool wide)
{
    return wide ? p->options.orthogonality : (double)(float)p->options.orthogonality;
}

void rx_plain_losses(void *plain, const double *x, double *losses)
{
    struct rx_plain *p = plain;
    size_t next = p->tile.pixels;
    run(p, true, x, p->count, false);
    scatter(p, p->count, 0, losses);
    if (p->options.components > 0) {
        forward(p, &p->penalty, true, x);
        losses[next++] = get(p->values, p->penalty.to, true) * weight_of(p, true);
    }
    if (ypi_rx_has_terms(&p->options)) {
        forward(p, &p->terms, true, x);
        losses[next] = get(p->values, p->terms.to, true);
    }
}

static void penalty_vjp(struct rx_plain *p, bool wide, const void *x, const void *cotangent,
                        void *gradient)
{
    struct nn_call call = bind(p, &p->penalty, wide, x, NULL);
    put(p->cotangents, p->penalty.to, weight_of(p, wide) * get(cotangent, p->tile.pixels, wide),
        wide);
    call.gradient[0] = p->spare;
    (wide ? nn_orthogonality.oracle_vjp : nn_orthogonality.plain_vjp)(&call);
    add(at(gradient, p->places.w, wide), p->spare, p->options.components * p->options.channels,
        wide);
}

/* Behind the pixels' cotangents and the penalty's. */
static void terms_vjp(struct rx_plain *p, bool wide, const void *x, const void *cotangent,
                      void *gradient)
{
    struct nn_call call = bind(p, &p->terms, wide, x, NULL);
    size_t channels = p->options.channels;
    put(p->cotangents, p->terms.to, get(cotangent, rx_plain_outputs(p) - 1, wide), wide);
    call.gradient[0] = p->spare;
    call.gradient[1] = at(p->spare, channels, wide);
    (wide ? ypi_rx_choice_terms.oracle_vjp : ypi_rx_choice_terms.plain_vjp)(&call);
    add(at(gradient, p->places.logits, wide), p->spare, channels, wide);
    if (ypi_rx_has_temperature(&p->options))
        add(at(gradient, p->places.temperature, wide), call.gradient[1], 1, wide);
}

/* Behind PCA's own, to whose cotangent and gradient it adds. */
static void residual_vjp(struct rx_plain *p, bool wide, const void *x, void *gradient)
{
    const struct rx_pipeline_options *o = &p->options;
    struct nn_call call = bind(p, &p->residual, wide, x, gradient);
    size_t pixels = p->rows * o->channels, count = (o->components + 1) * o->channels;
    void *own = at(p->spare, pixels, wide); /* of mean and W, which follow each other */
    call.gradient[0] = p->spare;
    call.gradient[1] = own;
    call.gradient[2] = at(own, o->channels, wide);
    call.gradient[4] = at(p->cotangents, p->steps[p->scored - 1].to, wide);
    (wide ? ypi_rx_residual.oracle_vjp : ypi_rx_residual.plain_vjp)(&call);
    add(at(p->cotangents, p->residual.at, wide), p->spare, pixels, wide);
    add(at(gradient, p->places.mean, wide), own, count, wide);
}

static void vjp(struct rx_plain *p, bool wide, const void *x, const void *cotangent, void *gradient)
{
    size_t next = p->steps[p->count - 1].to;
    run(p, wide, x, p->count, false);
    for (size_t i = 0; i < p->tile.pixels; i++)
        if (p->keep[i])
            put(p->cotangents, next++, get(cotangent, i, wide), wide);
    for (int i = p->count; i-- > 0;) {
        const struct step *s = &p->steps[i];
        struct nn_call call = bind(p, s, wide, x, gradient);
        (wide ? s->op->oracle_vjp : s->op->plain_vjp)(&call);
        if (!ypi_rx_trains(&p->options) && s->at == p->target && s->op == &nn_linear)
            add(call.gradient[0], p->spare, s->to - s->at, wide); /* input and target */
        if (p->options.residual && s->op == &nn_pca)
            residual_vjp(p, wide, x, gradient);
    }
    if (p->options.components > 0)
        penalty_vjp(p, wide, x, cotangent, gradient);
    if (ypi_rx_has_terms(&p->options))
        terms_vjp(p, wide, x, cotangent, gradient);
}

/* -- the object -------------------------------------------------------------------------------- */

/* Counted for all pixels; how many are finite is not known yet. */
static void lay_out(struct rx_plain *p, struct ypi_arena *arena)
{
    p->rows = p->tile.pixels;
    build(p);
    size_t values = p->residual.to + p->rows, work = 0, spare = p->rows * p->options.channels;
    size_t w = p->options.components * p->options.channels;
    for (int i = 0; i < p->count; i++) {
        nn_bytes *bytes = p->steps[i].op->plain_work;
        work = bytes != NULL ? bytes(&p->steps[i].shape) : work;
    }
    if (p->options.residual) {
        work = ypi_rx_residual.plain_work(&p->residual.shape);
        spare += w + p->options.channels;
    }
    p->keep = ypi_arena_take(arena, p->tile.pixels, 1);
    p->labels = ypi_arena_take(arena, p->tile.pixels, 1);
    p->values = ypi_arena_take(arena, values, sizeof(double));
    p->cotangents = ypi_arena_take(arena, values, sizeof(double));
    spare = spare > p->options.channels ? spare : p->options.channels;
    p->spare = ypi_arena_take(arena, (spare > w ? spare : w) + 1, sizeof(double));
    p->work = ypi_arena_take(arena, work, 1);
}

static enum yp_status check(const char *what, const struct rx_pipeline_options *options,
                            const struct rx_tile *tile, struct rx_plain *plain)
{
    *plain = (struct rx_plain){0};
    enum yp_status status = ypi_rx_pipeline_check(what, options, &plain->options);
    if (status != YP_OK)
        return status;
    if (tile == NULL || tile->values == NULL)
        return yp_set_error(YP_INVALID, "%s: %s is NULL", what,
                            tile == NULL ? "tile" : "tile->values");
    if (tile->channels != options->channels)
        return yp_set_error(YP_INVALID, "%s: the tile has %zu channels, the options %zu", what,
                            tile->channels, options->channels);
    if (tile->stride != 0 && tile->stride < tile->channels)
        return yp_set_error(YP_INVALID,
                            "%s: the tile has stride %zu, allowed are 0 and %zu or more", what,
                            tile->stride, tile->channels);
    if (tile->pixels > options->tile_pixels)
        return yp_set_error(YP_INVALID, "%s: the tile has %zu pixels, allowed are 0 to %zu", what,
                            tile->pixels, options->tile_pixels);
    if (tile->labels == NULL && ypi_rx_trains(options))
        return yp_set_error(YP_INVALID, "%s: the tile has no labels", what);
    plain->tile = *tile;
    ypi_rx_places(&plain->options, &plain->places);
    return YP_OK;
}

static size_t bytes_of(const struct rx_pipeline_options *options, const struct rx_tile *tile)
{
    struct rx_plain plain;
    struct ypi_arena arena = {0};
    if (check("rx_plain_create", options, tile, &plain) != YP_OK)
        return 0;
    ypi_arena_take(&arena, 1, sizeof plain);
    lay_out(&plain, &arena);
    return arena.used;
}

/* Which pixels are finite, and what depends on how many there are. */
static void take_pixels(struct rx_plain *plain)
{
    const struct rx_tile *tile = &plain->tile;
    size_t rows = 0;
    for (size_t i = 0; i < tile->pixels; i++) {
        plain->keep[i] = 1;
        for (size_t c = 0; c < tile->channels; c++)
            if (!isfinite(tile->values[i * ypi_rx_stride(tile) + c]))
                plain->keep[i] = 0;
        if (plain->keep[i] && tile->labels != NULL)
            plain->labels[rows] = tile->labels[i];
        rows += plain->keep[i];
    }
    plain->rows = rows;
    build(plain);
}

struct rx_plain *rx_plain_create(struct yp_device *device,
                                 const struct rx_pipeline_options *options,
                                 const struct rx_tile *tile)
{
    struct rx_plain checked;
    if (ypi_check_host("rx_plain_create", device) != YP_OK ||
        check("rx_plain_create", options, tile, &checked) != YP_OK)
        return NULL;
    struct ypi_arena arena = {.base = yp_device_alloc(device, bytes_of(options, tile))};
    if (arena.base == NULL)
        return NULL;
    struct rx_plain *plain = ypi_arena_take(&arena, 1, sizeof *plain);
    *plain = checked;
    plain->device = device;
    lay_out(plain, &arena);
    take_pixels(plain);
    return plain;
}

void rx_plain_destroy(struct rx_plain *plain)
{
    if (plain != NULL)
        yp_device_free(plain->device, plain);
}

size_t rx_plain_outputs(const struct rx_plain *plain)
{
    return plain->tile.pixels + (plain->options.components > 0) + ypi_rx_has_terms(&plain->options);
}

void rx_plain_vjp(void *plain, const double *x, const double *cotangent, double *gradient)
{
    vjp(plain, true, x, cotangent, gradient);
}

void rx_plain_vjp_f32(struct rx_plain *plain, const float *x, const float *cotangent,
                      float *gradient)
{
    vjp(plain, false, x, cotangent, gradient);
}

void rx_plain_scores(struct rx_plain *plain, const double *x, double *scores)
{
    run(plain, true, x, plain->scored, true);
    scatter(plain, plain->scored, NAN, scores);
}
