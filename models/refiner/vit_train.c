/* Images as a trainer's items. */
#include "models/refiner/vit_train.h"

#include "base/system/arena.h"
#include "models/train/parts.h"

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
    size_t count;           /* images among them */
    struct train_parts parts;
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

/* As many of the items as the model takes at once; what is left of it keeps what was there before
 * and does not count. */
static enum yp_status read_some(void *arg, struct train_items items, size_t *count)
{
    struct vit_trainee *t = arg;
    const size_t pixels = t->o.tile * t->o.tile;
    enum yp_status status = YP_OK;
    *count = t->count = items.count < t->o.batch ? items.count : t->o.batch;
    for (size_t i = 0; i < *count && status == YP_OK; i++)
        status =
            t->source.read(t->source.arg, items.index[i], t->image + i * pixels * t->o.channels,
                           t->target + i * pixels * t->o.head_width);
    if (status == YP_OK)
        status = vit_set_input(t->vit, t->image);
    return status == YP_OK ? vit_set_target(t->vit, t->target) : status;
}

static enum yp_status pass(void *arg, const float *parameters, float *gradient, double scale,
                           unsigned flags, double *sum)
{
    const struct vit_trainee *t = arg;
    float losses[MOST_AT_ONCE];
    vit_ask(t->vit, t->count, scale * (double)t->count);
    enum yp_status status = vit_pass(t->vit, parameters, gradient, flags);
    if (status == YP_OK)
        status = yp_device_copy(t->o.device, losses, vit_result(t->vit), t->count * sizeof *losses);
    for (size_t i = 0; i < t->count && status == YP_OK; i++)
        *sum += (double)losses[i];
    return status;
}

static void tell(void *arg, train_ready *ready, void *ready_arg)
{
    const struct vit_trainee *t = arg;
    vit_tell(t->vit, ready, ready_arg);
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
    t->parts = (struct train_parts){.read = read_some, .pass = pass, .tell = tell, .arg = t};
    return (struct train_objective){.parameters = vit_elements(o, VIT_PARTS),
                                    .items = t->source.images,
                                    .tensors = t->tensors,
                                    .n_tensors = t->n_tensors,
                                    .settings = t->settings,
                                    .n_settings = SETTINGS,
                                    .identity = t->source.identity,
                                    .gradient = train_parts_gradient,
                                    .evaluate = train_parts_evaluate,
                                    .tell = train_parts_tell,
                                    .any_device = true,
                                    .arg = &t->parts};
}
