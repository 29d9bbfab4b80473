/* Images as a trainer's items. */
#include "models/refiner/vit_train.h"

#include "base/system/arena.h"

#include <string.h>

enum { SETTINGS = 16, MOST_AT_ONCE = 1024 };

struct vit_trainee {
    struct vit_options o;
    struct vit_source source;
    struct vit *vit;
    struct vit_tensor *named; /* (tensors) */
    struct yp_tensor *tensors;
    size_t n_tensors;
    double *image, *target; /* of a batch */
    float *start;
    struct train_setting settings[SETTINGS];
};

static size_t trained_tensors(const struct vit_options *options)
{
    struct vit_tensor tensor;
    size_t count = 0;
    for (size_t i = 0; vit_tensor(options, i, &tensor); i++)
        count += tensor.trained;
    return count;
}

static void lay_out(struct vit_trainee *t, struct ypi_arena *arena, const struct vit_options *o)
{
    const size_t pixels = o->batch * o->tile * o->tile;
    *t = (struct vit_trainee){.o = *o, .n_tensors = trained_tensors(o)};
    t->named = ypi_arena_take(arena, t->n_tensors, sizeof *t->named);
    t->tensors = ypi_arena_take(arena, t->n_tensors, sizeof *t->tensors);
    t->image = ypi_arena_take(arena, pixels * o->channels, sizeof *t->image);
    t->target = ypi_arena_take(arena, pixels * o->head_width, sizeof *t->target);
    t->start = ypi_arena_take(arena, vit_elements(o, VIT_PARTS), sizeof *t->start);
}

static void name_tensors(struct vit_trainee *t)
{
    struct vit_tensor *named = t->named;
    for (size_t i = 0; named < t->named + t->n_tensors && vit_tensor(&t->o, i, named); i++) {
        if (!named->trained)
            continue;
        t->tensors[named - t->named] = (struct yp_tensor){named->name, named->offset, named->count};
        named++;
    }
}

struct vit_trainee *vit_trainee_create(const struct vit_options *options,
                                       const struct vit_source *source, uint64_t seed)
{
    struct vit_options o = *options;
    o.pass = NN_MODEL_GRADIENT;
    struct vit_trainee counted;
    struct ypi_arena arena = {0};
    if (vit_check_options(&o) != YP_OK)
        return NULL;
    if (o.oracle || trained_tensors(&o) > TRAIN_TENSORS) {
        yp_set_error(YP_INVALID,
                     "vit_trainee_create: %zu tensors are trained%s: must be at most %d, in float",
                     trained_tensors(&o), o.oracle ? " in double" : "", TRAIN_TENSORS);
        return NULL;
    }
    ypi_arena_take(&arena, 1, sizeof counted);
    lay_out(&counted, &arena, &o);
    arena = (struct ypi_arena){.base = yp_device_alloc(yp_device_cpu(), arena.used)};
    if (arena.base == NULL)
        return NULL;
    struct vit_trainee *t = ypi_arena_take(&arena, 1, sizeof *t);
    lay_out(t, &arena, &o);
    t->source = *source;
    memset(t->image, 0, o.batch * o.tile * o.tile * o.channels * sizeof *t->image);
    memset(t->target, 0, o.batch * o.tile * o.tile * o.head_width * sizeof *t->target);
    name_tensors(t);
    t->vit = vit_create(&o);
    if (t->vit != NULL && vit_start(t->vit) == YP_OK &&
        vit_initialise(t->vit, seed, t->start) == YP_OK)
        return t;
    vit_trainee_destroy(t);
    return NULL;
}

void vit_trainee_destroy(struct vit_trainee *t)
{
    if (t == NULL)
        return;
    vit_destroy(t->vit);
    yp_device_free(yp_device_cpu(), t);
}

struct vit *vit_trainee_vit(struct vit_trainee *trainee)
{
    return trainee->vit;
}

const float *vit_trainee_start(const struct vit_trainee *trainee)
{
    return trainee->start;
}

/* -- items ------------------------------------------------------------------------------------- */

/* As many of the items as the model takes at once, their number in *count; what is left of it keeps
 * what was there before and does not count. */
static enum yp_status read_some(const struct vit_trainee *t, struct train_items items,
                                size_t *count)
{
    const size_t pixels = t->o.tile * t->o.tile;
    enum yp_status status = YP_OK;
    *count = items.count < t->o.batch ? items.count : t->o.batch;
    for (size_t i = 0; i < *count && status == YP_OK; i++)
        status =
            t->source.read(t->source.arg, items.index[i], t->image + i * pixels * t->o.channels,
                           t->target + i * pixels * t->o.head_width);
    if (status == YP_OK)
        status = vit_set_input(t->vit, t->image);
    return status == YP_OK ? vit_set_target(t->vit, t->target) : status;
}

/* The sum of the first losses. */
static enum yp_status sum_losses(const struct vit_trainee *t, size_t count, double *sum)
{
    float losses[MOST_AT_ONCE];
    enum yp_status status =
        yp_device_copy(t->o.device, losses, vit_result(t->vit), count * sizeof *losses);
    for (size_t i = 0; i < count && status == YP_OK; i++)
        *sum += (double)losses[i];
    return status;
}

/* The mean over all items, in parts as the model takes them; the gradient is added up in float. */
static enum yp_status run(const struct vit_trainee *t, struct train_items items,
                          const float *parameters, double scale, double *mean, double *weight,
                          float *gradient)
{
    unsigned flags = NN_MODEL_COPY;
    enum yp_status status = YP_OK;
    double sum = 0;
    for (size_t at = 0, count; at < items.count && status == YP_OK; at += count) {
        status = read_some(t, (struct train_items){items.index + at, items.count - at}, &count);
        vit_ask(t->vit, count, scale * (double)count / (double)items.count);
        if (status == YP_OK)
            status = vit_pass(t->vit, parameters, gradient, flags);
        if (status == YP_OK)
            status = sum_losses(t, count, &sum);
        flags = NN_MODEL_ADD;
    }
    *weight = (double)items.count;
    *mean = items.count > 0 ? sum / *weight : 0;
    return status;
}

static enum yp_status gradient(void *arg, struct train_items items, const float *parameters,
                               double scale, double *mean, double *weight, float *out)
{
    return run(arg, items, parameters, scale, mean, weight, out);
}

static enum yp_status evaluate(void *arg, struct train_items items, const float *parameters,
                               double *mean, double *weight, double *metrics)
{
    (void)metrics;
    return run(arg, items, parameters, 1, mean, weight, NULL);
}

struct train_objective vit_trainee_objective(struct vit_trainee *t)
{
    const struct vit_options *o = &t->o;
    uint64_t alpha;
    memcpy(&alpha, &o->alpha, sizeof alpha);
    const struct train_setting settings[SETTINGS] = {{"tile", o->tile},
                                                     {"channels", o->channels},
                                                     {"bands", o->bands},
                                                     {"patch", o->patch},
                                                     {"width", o->width},
                                                     {"depth", o->depth},
                                                     {"heads", o->heads},
                                                     {"trained", o->freeze_all ? 0 : o->trained},
                                                     {"rank", o->rank},
                                                     {"alpha", alpha},
                                                     {"head_width", o->head_width},
                                                     {"head_blocks", o->head_blocks},
                                                     {"precision", (uint64_t)o->precision},
                                                     {"frozen", (uint64_t)o->frozen},
                                                     {"feature", 2 * o->feature + o->class_token},
                                                     {"at_once", o->batch}};
    for (size_t i = 0; i < SETTINGS; i++)
        t->settings[i] = settings[i];
    return (struct train_objective){.parameters = vit_elements(o, VIT_PARTS),
                                    .items = t->source.images,
                                    .tensors = t->tensors,
                                    .n_tensors = t->n_tensors,
                                    .settings = t->settings,
                                    .n_settings = SETTINGS,
                                    .identity = t->source.identity,
                                    .gradient = gradient,
                                    .evaluate = evaluate,
                                    .any_device = true,
                                    .arg = t};
}
