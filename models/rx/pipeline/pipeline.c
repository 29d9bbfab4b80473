/* The pipeline's options, the places of its parameters, and its memory. */
#include "models/rx/device/pipeline.h"
#include "models/rx/train.h"

#include <math.h>
#include <string.h>

/* -- options ------------------------------------------------------------------------------- */

static enum yp_status check_numbers(const char *what, const struct rx_pipeline_options *o)
{
    const struct {
        const char *name;
        double value, min, max;
    } numbers[] = {{"keep", o->keep, 0, 1e6},
                   {"temperature", o->temperature, 0, 1e6},
                   {"eps", o->eps, 0, 1e30},
                   {"orthogonality", o->orthogonality, 0, 1e30},
                   {"shrink", o->shrink, 0, 1},
                   {"scale", (double)o->scale, -1e30, 1e30},
                   {"max_error", o->max_error, 0, INFINITY},
                   {"temperature_decay", o->temperature_decay, 0, 1},
                   {"temperature_min", o->temperature_min, 0, 1e6},
                   {"entropy", o->entropy, -1e30, 1e30},
                   {"diversity", o->diversity, -1e30, 1e30},
                   {"positive_weight", o->positive_weight, 0, 1e6}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!(numbers[i].value >= numbers[i].min && numbers[i].value <= numbers[i].max))
            return yp_set_error(YP_INVALID, "%s: %s is %g, allowed are %g to %g", what,
                                numbers[i].name, numbers[i].value, numbers[i].min, numbers[i].max);
    return YP_OK;
}

/* What the selector's options may be beside each other. */
static enum yp_status check_selector(const char *what, const struct rx_pipeline_options *o)
{
    bool any = o->uniform || o->hard != RX_SOFT || o->temperature_decay > 0 ||
               o->temperature_min > 0 || o->entropy != 0 || o->diversity != 0;
    if ((unsigned)o->hard > RX_TOP_ONES)
        return yp_set_error(YP_INVALID, "%s: hard is %d, allowed are 0 to %d", what, (int)o->hard,
                            (int)RX_TOP_ONES);
    if (any && !o->select)
        return yp_set_error(YP_INVALID,
                            "%s: uniform, hard, temperature_decay, temperature_min, entropy and "
                            "diversity are for the selector, and select is false",
                            what);
    if (o->hard != RX_SOFT && o->keep != 0 &&
        (o->keep < 1 || o->keep > (double)o->channels || o->keep != floor(o->keep)))
        return yp_set_error(YP_INVALID,
                            "%s: keep is %g, with a hard selection allowed are whole numbers of 1 "
                            "to channels, %zu",
                            what, o->keep, o->channels);
    if (o->temperature_decay > 0 && o->train_temperature)
        return yp_set_error(YP_INVALID,
                            "%s: temperature_decay is %g, and train_temperature is set: a "
                            "temperature is trained or decays",
                            what, o->temperature_decay);
    if (o->temperature_min > 0 && o->temperature_decay == 0)
        return yp_set_error(YP_INVALID,
                            "%s: temperature_min is %g and there is no temperature_decay", what,
                            o->temperature_min);
    return YP_OK;
}

/* Combinations without a meaning. */
static enum yp_status check_choice(const char *what, const struct rx_pipeline_options *o)
{
    if ((unsigned)o->detector > RX_AUTOENCODER)
        return yp_set_error(YP_INVALID, "%s: detector is %d, allowed are 0 to %d", what,
                            (int)o->detector, RX_AUTOENCODER);
    if ((unsigned)o->inverse > RX_PINV_F32)
        return yp_set_error(YP_INVALID, "%s: inverse is %d, allowed are 0 to %d", what,
                            (int)o->inverse, RX_PINV_F32);
    if ((unsigned)o->tiles > RX_TILES_SEQUENTIAL)
        return yp_set_error(YP_INVALID, "%s: tiles is %d, allowed are 0 to %d", what, (int)o->tiles,
                            (int)RX_TILES_SEQUENTIAL);
    if ((unsigned)o->precision > RX_OPERANDS_FP16)
        return yp_set_error(YP_INVALID, "%s: precision is %d, allowed are 0 to %d", what,
                            (int)o->precision, (int)RX_OPERANDS_FP16);
    if (o->by_sample && !o->normalise)
        return yp_set_error(YP_INVALID, "%s: by_sample is set and normalise is not", what);
    if (o->positive_weight > 0 && o->detector == RX_AUTOENCODER)
        return yp_set_error(YP_INVALID,
                            "%s: positive_weight is %g, an autoencoder's loss has no targets", what,
                            o->positive_weight);
    if (o->components > o->channels)
        return yp_set_error(YP_INVALID, "%s: components is %zu, allowed are 0 to channels, %zu",
                            what, o->components, o->channels);
    if (o->components > 0 && o->detector != RX_GLOBAL)
        return yp_set_error(YP_INVALID,
                            "%s: components is %zu, PCA goes before RX_GLOBAL only (detector %d)",
                            what, o->components, (int)o->detector);
    if (o->orthogonality > 0 && o->components == 0)
        return yp_set_error(YP_INVALID, "%s: orthogonality is %g and there are no components", what,
                            o->orthogonality);
    if (o->whiten && o->components == 0)
        return yp_set_error(YP_INVALID, "%s: whiten is set and there are no components", what);
    if (o->residual && (o->components == 0 || o->components == o->channels))
        return yp_set_error(
            YP_INVALID,
            "%s: residual is set with %zu components of %zu channels, allowed are 1 "
            "to %zu",
            what, o->components, o->channels, o->channels - 1);
    if (o->residual && ypi_rx_mixed(o))
        return yp_set_error(YP_INVALID, "%s: residual is set and precision is %s, allowed is fp32",
                            what, ypi_rx_operands_name(o->precision));
    if (o->hidden > o->channels)
        return yp_set_error(YP_INVALID, "%s: hidden is %zu, allowed are 0 to channels, %zu", what,
                            o->hidden, o->channels);
    if (o->detector != RX_GLOBAL && (o->shrink > 0 || o->mask_dead || o->inverse != RX_CHOLESKY))
        return yp_set_error(
            YP_INVALID, "%s: shrink, mask_dead and inverse are for RX_GLOBAL only (detector %d)",
            what, (int)o->detector);
    bool estimated = o->detector == RX_GLOBAL && o->inverse == RX_CHOLESKY;
    if (o->max_error > 0 && !estimated && !(ypi_rx_mixed(o) && o->detector == RX_IMAGE))
        return yp_set_error(YP_INVALID,
                            "%s: max_error is %g, it is for RX_GLOBAL by RX_CHOLESKY only, and for "
                            "RX_IMAGE in 16 bits (detector %d, inverse %d)",
                            what, o->max_error, (int)o->detector, (int)o->inverse);
    if (ypi_rx_mixed(o) && o->inverse != RX_CHOLESKY)
        return yp_set_error(YP_INVALID,
                            "%s: precision is %s and inverse RX_PINV_F32, whose scores are off by "
                            "nobody knows how much; allowed are fp32, or RX_CHOLESKY",
                            what, ypi_rx_operands_name(o->precision));
    if (o->detector == RX_IMAGE && o->eps == 0)
        return yp_set_error(YP_INVALID, "%s: eps is 0, RX_IMAGE needs more than 0", what);
    return YP_OK;
}

enum yp_status ypi_rx_pipeline_check(const char *what, const struct rx_pipeline_options *given,
                                     struct rx_pipeline_options *options)
{
    if (given == NULL)
        return yp_set_error(YP_INVALID, "%s: options is NULL", what);
    *options = *given;
    enum yp_status status =
        ypi_rx_check(what, given->channels, given->tile_pixels, &options->threads);
    if (status == YP_OK)
        status = check_numbers(what, given);
    if (status == YP_OK)
        status = check_choice(what, given);
    if (status == YP_OK)
        status = check_selector(what, given);
    if (status != YP_OK)
        return status;
    if (options->keep == 0)
        options->keep = (double)options->channels;
    if (options->temperature == 0)
        options->temperature = 1;
    if (options->temperature_decay > 0 && options->temperature_min == 0)
        options->temperature_min = fmin(0.1, options->temperature);
    if (options->temperature_decay > 0 && options->temperature_min > options->temperature)
        return yp_set_error(YP_INVALID,
                            "%s: temperature_min is %g, allowed are values up to temperature, %g",
                            what, options->temperature_min, options->temperature);
    if (options->hidden == 0)
        options->hidden = options->channels < 5 ? options->channels : 5;
    if (options->scale == 0)
        options->scale = 1;
    if (options->positive_weight == 0)
        options->positive_weight = 1;
    return YP_OK;
}

size_t ypi_rx_width(const struct rx_pipeline_options *options)
{
    return options->components > 0 ? options->components : options->channels;
}

/* -- parameters ---------------------------------------------------------------------------- */

/* One row a tensor: is it present, its name, its size, its place. */
static size_t list_tensors(const struct rx_pipeline_options *o, struct ypi_rx_places *places,
                           struct yp_tensor *tensors)
{
    size_t c = o->channels, d = ypi_rx_width(o), h = o->hidden, n = 0, offset = 0;
    bool lad = o->detector == RX_LAD, quadratic = lad || o->detector == RX_GLOBAL;
    bool autoencoder = o->detector == RX_AUTOENCODER;
    const struct {
        bool present;
        const char *name;
        size_t count, *place;
    } rows[RX_PIPELINE_TENSORS] = {
        {ypi_rx_has_range(o), "min", 1, &places->min},
        {ypi_rx_has_range(o), "max", 1, &places->max},
        {o->select, "logits", c, &places->logits},
        {ypi_rx_has_temperature(o), "temperature", 1, &places->temperature},
        {o->components > 0, "mean", c, &places->mean},
        {o->components > 0, "W", o->components * c, &places->w},
        {o->whiten, "log_variance", o->components, &places->log_variance},
        {quadratic, lad ? "M" : "mu", d, &places->mu},
        {quadratic, lad ? "L" : "A", d * d, &places->a},
        {autoencoder, "W1", h * c, &places->w1},
        {autoencoder, "b1", h, &places->b1},
        {autoencoder, "W2", c * h, &places->w2},
        {autoencoder, "b2", c, &places->b2},
        {o->residual, "residual", 1, &places->residual},
        {!autoencoder, "scale", 1, &places->scale},
    };
    for (size_t i = 0; i < RX_PIPELINE_TENSORS; i++) {
        *rows[i].place = rows[i].present ? offset : YPI_RX_NOWHERE;
        if (!rows[i].present)
            continue;
        tensors[n++] = (struct yp_tensor){rows[i].name, offset, rows[i].count};
        offset += rows[i].count;
    }
    places->bias = autoencoder ? YPI_RX_NOWHERE : offset;
    if (!autoencoder)
        tensors[n++] = (struct yp_tensor){"bias", offset++, 1};
    places->count = offset;
    return n;
}

void ypi_rx_places(const struct rx_pipeline_options *options, struct ypi_rx_places *places)
{
    struct yp_tensor tensors[RX_PIPELINE_TENSORS];
    list_tensors(options, places, tensors);
}

size_t rx_pipeline_parameters(const struct rx_pipeline *pipeline)
{
    return pipeline->places.count;
}

size_t rx_pipeline_tensors(const struct rx_pipeline *pipeline,
                           struct yp_tensor tensors[RX_PIPELINE_TENSORS])
{
    struct ypi_rx_places places;
    return list_tensors(&pipeline->options, &places, tensors);
}

struct rx_objective rx_pipeline_objective(struct rx_pipeline *pipeline,
                                          struct yp_tensor tensors[RX_PIPELINE_TENSORS])
{
    const struct rx_pipeline_options *o = &pipeline->options;
    size_t count = rx_pipeline_tensors(pipeline, tensors);
    bool decays = o->select && o->temperature_decay > 0;
    struct train_set frozen = {.word = {0}};
    for (size_t i = 0; i < count; i++)
        if (decays && tensors[i].offset == pipeline->places.temperature)
            train_set_add(&frozen, i);
    return (struct rx_objective){.parameters = rx_pipeline_parameters(pipeline),
                                 .tensors = tensors,
                                 .n_tensors = count,
                                 .epoch = decays ? rx_pipeline_epoch : NULL,
                                 .frozen = frozen,
                                 .gradient = rx_pipeline_train_gradient,
                                 .evaluate = rx_pipeline_train_evaluate,
                                 .no_logits = !ypi_rx_trains(o),
                                 .whole_cubes = o->by_sample,
                                 .arg = pipeline};
}

/* -- memory -------------------------------------------------------------------------------- */

static void count_sums(const struct rx_pipeline_options *o, struct ypi_rx_sums *at)
{
    size_t c = o->channels, d = ypi_rx_width(o), h = o->hidden;
    *at = (struct ypi_rx_sums){0};
    if (o->detector == RX_GLOBAL || o->detector == RX_LAD) {
        at->cross = d * d;
        at->residual = at->cross + o->components * c;
        at->matrices = at->residual + (o->residual ? o->components * c : 0);
    } else if (o->detector == RX_AUTOENCODER) {
        at->w2 = h * c;
        at->matrices = 2 * h * c;
    }
    at->b1 = at->moment = 0;
    at->b2 = at->b1 + h;
    at->dots = o->detector == RX_AUTOENCODER ? at->b2 + c : o->detector == RX_IMAGE ? 0 : d;
    at->loss = at->dots + c;
    at->d = at->loss + 1;
    at->d_away = at->loss + 2;
    at->left = at->loss + 3;
    at->energy = at->left + 2 * c;
    at->sums = o->residual ? at->energy + 1 : at->left;
}

static void lay_out_image(struct ypi_rx_lane *lane, struct ypi_arena *arena, size_t channels)
{
    size_t square = channels * channels;
    lane->m2 = ypi_arena_take(arena, square, sizeof(double));
    lane->inverse = ypi_arena_take(arena, square, sizeof(double));
    lane->spare = ypi_arena_take(arena, square, sizeof(double));
    lane->mean = ypi_arena_take(arena, channels, sizeof(double));
    lane->variances = ypi_arena_take(arena, channels, sizeof(double));
    lane->gram = ypi_arena_take(arena, square, sizeof(float));
    lane->whiten = ypi_arena_take(arena, square, sizeof(float));
    lane->base = ypi_arena_take(arena, channels, sizeof(float));
    lane->rest = ypi_arena_take(arena, channels, sizeof(float));
}

/* What BLAS and the loops over pixels need of it. */
static void lay_out_rows(struct ypi_rx_lane *lane, struct ypi_arena *arena,
                         const struct rx_pipeline *p, size_t chunk)
{
    const struct rx_pipeline_options *o = &p->options;
    if (p->at.matrices > 0)
        lane->matrices = ypi_arena_take(arena, p->at.matrices, sizeof(float));
    lane->rows = ypi_arena_take(arena, chunk * o->channels, sizeof(float));
    lane->products = ypi_arena_take(arena, chunk * o->channels, sizeof(float));
    if (ypi_rx_mixed(o))
        lane->rows16 = ypi_arena_take(arena, chunk * o->channels, sizeof(float));
    if (ypi_rx_mixed(o) && o->components > 0)
        lane->low16 = ypi_arena_take(arena, chunk * o->components, sizeof(float));
    if (o->components > 0 || o->detector == RX_AUTOENCODER)
        lane->low = ypi_arena_take(
            arena, chunk * (o->components > 0 ? o->components : 2 * o->hidden), sizeof(float));
    if (o->residual) {
        lane->along = ypi_arena_take(arena, chunk * o->components, sizeof(float));
        lane->left = ypi_arena_take(arena, chunk * o->channels, sizeof(float));
        lane->energy = ypi_arena_take(arena, chunk, sizeof(float));
    }
    lane->g = ypi_arena_take(arena, chunk, sizeof(float));
    lane->labels = ypi_arena_take(arena, chunk, 1);
}

static void lay_out_lane(struct ypi_rx_lane *lane, struct ypi_arena *arena,
                         const struct rx_pipeline *p, bool on_device)
{
    const struct rx_pipeline_options *o = &p->options;
    size_t limit = on_device ? o->tile_pixels : YPI_RX_CHUNK;
    size_t chunk = o->tile_pixels < limit ? o->tile_pixels : limit;
    lane->sums = ypi_arena_take(arena, p->at.sums, sizeof(double));
    lane->scores = ypi_arena_take(arena, chunk, sizeof(float));
    lane->keep = ypi_arena_take(arena, chunk, 1);
    lane->logits = ypi_arena_take(arena, o->tile_pixels, sizeof(float));
    if (!on_device)
        lay_out_rows(lane, arena, p, chunk);
    if (o->detector == RX_IMAGE)
        lay_out_image(lane, arena, o->channels);
}

static void lay_out_start(struct rx_pipeline *p, struct ypi_arena *arena)
{
    const struct rx_pipeline_options *o = &p->options;
    size_t c = o->channels;
    p->weights = ypi_arena_take(arena, c, sizeof(double));
    p->shares = ypi_arena_take(arena, c, sizeof(double));
    p->gain64 = ypi_arena_take(arena, c, sizeof(double));
    p->base = ypi_arena_take(arena, c, sizeof(float));
    p->gain = ypi_arena_take(arena, c, sizeof(float));
    p->rest = ypi_arena_take(arena, c, sizeof(float));
    p->h = ypi_arena_take(arena, c, sizeof(double));
    p->q = ypi_arena_take(arena, c, sizeof(double));
    p->column = ypi_arena_take(arena, c, sizeof(double));
    p->square = ypi_arena_take(arena, c * c, sizeof(double));
    p->other = ypi_arena_take(arena, c * c, sizeof(double));
    p->start = ypi_arena_take(arena, p->places.count, sizeof(double));
    if (o->detector == RX_GLOBAL || o->detector == RX_LAD)
        p->symmetric = ypi_arena_take(arena, ypi_rx_width(o) * ypi_rx_width(o), sizeof(float));
    if (o->whiten)
        p->whitened = ypi_arena_take(arena, o->components * c, sizeof(float));
    if (ypi_rx_mixed(o))
        p->rounded = ypi_arena_take(arena, p->places.count + ypi_rx_width(o) * ypi_rx_width(o),
                                    sizeof(float));
    p->dead = ypi_arena_take(arena, c, 1);
    if (o->detector == RX_GLOBAL && (o->components > 0 || o->inverse == RX_PINV_F32)) {
        p->lapack = ypi_arena_take(arena, ypi_rx_pca_work(c), sizeof(double));
        p->lapack_int = ypi_arena_take(arena, ypi_rx_pca_iwork(c), sizeof(int));
    }
}

void ypi_rx_pipeline_lay_out(struct rx_pipeline *p, struct ypi_arena *arena,
                             const struct rx_pipeline_options *options, bool on_device)
{
    size_t teams = on_device ? 1 : (size_t)options->threads;
    *p = (struct rx_pipeline){.options = *options};
    ypi_rx_places(options, &p->places);
    count_sums(options, &p->at);
    if (!on_device)
        p->values =
            ypi_arena_take(arena, teams * options->tile_pixels, options->channels * sizeof(float));
    p->labels = ypi_arena_take(arena, teams * options->tile_pixels, 1);
    p->sums = ypi_arena_take(arena, p->at.sums, sizeof(double));
    if (p->at.matrices > 0)
        p->matrices = ypi_arena_take(arena, p->at.matrices, sizeof(double));
    lay_out_start(p, arena);
    p->lanes = ypi_arena_take(arena, teams, sizeof *p->lanes);
    for (size_t i = 0; i < teams; i++) {
        struct ypi_rx_lane lane = {0};
        lay_out_lane(&lane, arena, p, on_device);
        if (arena->base != NULL)
            p->lanes[i] = lane;
    }
}

/* The object stands at the beginning of its own block. */
static size_t bytes_of(const struct rx_pipeline_options *options)
{
    struct ypi_arena arena = {0};
    struct rx_pipeline p;
    ypi_arena_take(&arena, 1, sizeof p);
    ypi_rx_pipeline_lay_out(&p, &arena, options, false);
    return arena.used;
}

size_t rx_pipeline_bytes(const struct rx_pipeline_options *options)
{
    struct rx_pipeline_options checked = {0};
    if (ypi_rx_pipeline_check("rx_pipeline_bytes", options, &checked) != YP_OK)
        return 0;
    return bytes_of(&checked);
}

struct rx_pipeline *rx_pipeline_create(struct yp_device *device,
                                       const struct rx_pipeline_options *options)
{
    struct rx_pipeline_options checked = {0};
    if (device != NULL && yp_device_memory_kind(device) == YP_DEVICE)
        return ypi_rx_pipeline_create_on_device(device, options);
    if (ypi_check_host("rx_pipeline_create", device) != YP_OK ||
        ypi_rx_pipeline_check("rx_pipeline_create", options, &checked) != YP_OK)
        return NULL;
    struct ypi_arena arena = {.base = yp_device_alloc(device, bytes_of(&checked))};
    if (arena.base == NULL)
        return NULL;
    struct rx_pipeline *p = ypi_arena_take(&arena, 1, sizeof *p);
    ypi_rx_pipeline_lay_out(p, &arena, &checked, false);
    p->device = device;
    p->kernels = ypi_pixel_kernels();
    return p;
}

void rx_pipeline_destroy(struct rx_pipeline *pipeline)
{
    if (pipeline == NULL)
        return;
    if (pipeline->on != NULL)
        ypi_rx_pipeline_device_close(pipeline->on);
    yp_device_free(pipeline->device, pipeline);
}
