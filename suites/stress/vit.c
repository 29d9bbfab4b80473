/* The refiner's vision transformer: its sizes, its gradient in every variant, the error of each
 * precision, and that memory saved changes nothing. */
#include "models/refiner/plan.h"
#include "models/refiner/vit_train.h"
#include "suites/bell.h"
#include "suites/file_tiles.h"
#include "suites/score_error.h"

#include <math.h>
#include <string.h>
#include <yieldpoint/yieldpoint.h>

/* -- sizes ------------------------------------------------------------------------------------ */

YP_TEST(vit, parameters, .tags = "stress small", .parallel = true)
{
    static const size_t right[VIT_PARTS] = {[VIT_PROJECTION] = 30,
                                            [VIT_ENCODER] = 631188480,
                                            [VIT_POSITIONS] = 257 * 1280,
                                            [VIT_LORA] = 5242880,
                                            [VIT_HEAD] = 2549248};
    const size_t of_two_blocks = 2 * 19677440;
    struct vit_options o = vit_full(yp_device_cpu());
    for (int part = 0; part < VIT_PARTS; part++)
        yp_expect(t, vit_elements(&o, (enum vit_part)part) == right[part], "part %d has %zu", part,
                  vit_elements(&o, (enum vit_part)part));
    yp_expect(t, vit_elements(&o, VIT_PARTS) == 30 + 5242880 + 2549248 + of_two_blocks,
              "%zu trained", vit_elements(&o, VIT_PARTS));
    o.freeze_all = true;
    yp_expect(t, vit_elements(&o, VIT_PARTS) == 30 + 5242880 + 2549248, "%zu trained",
              vit_elements(&o, VIT_PARTS));
    o.rank = 0;
    yp_expect(t, vit_elements(&o, VIT_PARTS) == 30 + 2549248, "%zu trained without changes",
              vit_elements(&o, VIT_PARTS));
}

/* By its formula, He et al. 2022: sines and cosines of the column, then of the row. */
YP_TEST(vit, positions, .tags = "stress small", .parallel = true)
{
    enum { D = 16, QUARTER = D / 4, SIDE = 3 };
    struct vit_options o = vit_full(yp_device_cpu());
    struct vit_tensor tensor;
    double table[(SIDE * SIDE + 1) * D];
    size_t i = 0;
    o.tile = SIDE * o.patch + 5;
    o.width = D;
    while (vit_tensor(&o, i, &tensor) && tensor.part != VIT_POSITIONS)
        i++;
    yp_require(t, tensor.count == sizeof table / sizeof *table, "%zu", tensor.count);
    yp_ok(t, vit_draw(&o, i, yp_seed(t), table));
    for (size_t k = 0; k < tensor.count; k++) {
        const size_t patch = k / D - (k >= D), wave = k % D;
        const double at = (double)(wave < D / 2 ? patch % SIDE : patch / SIDE);
        const double turn = at / pow(10000, (double)(wave % QUARTER) / QUARTER);
        const double right = k < D ? 0 : wave / QUARTER % 2 == 0 ? sin(turn) : cos(turn);
        yp_expect(t, fabs(table[k] - right) < 1e-14, "element %zu is %.17g, not %.17g", k, table[k],
                  right);
    }
}

YP_TEST(vit, refused, .tags = "stress small", .parallel = true)
{
    const struct vit_options full = vit_full(yp_device_cpu());
    struct vit_options wrong[9];
    static const char *const says[] = {
        "tile is 13: must be 14 to 4096", "batch is 0: must be 1 to 1024",
        "depth is 0: must be 1 to 128",   "width is 1280, heads 17",
        "width is 18, heads 2",           "trained is 33: must be 0 to 32",
        "feature is 33: must be 0 to 32", "precision is int8: must be fp32 or bf16",
        "need the precision fp32"};
    for (size_t i = 0; i < 9; i++)
        wrong[i] = full;
    wrong[0].tile = 13;
    wrong[1].batch = 0;
    wrong[2].depth = wrong[2].trained = 0;
    wrong[3].heads = 17;
    wrong[4].width = 18;
    wrong[4].heads = 2;
    wrong[5].trained = 33;
    wrong[6].feature = 33;
    wrong[7].precision = NN_INT8;
    wrong[8].precision = NN_BF16;
    wrong[8].frozen = VIT_INT8_ROWS;
    for (size_t i = 0; i < 9; i++)
        yp_expect(t, vit_create(&wrong[i]) == NULL && strstr(yp_last_error(), says[i]) != NULL,
                  "%s", yp_last_error());
}

/* -- passes ----------------------------------------------------------------------------------- */

/* What is left of a tile of 9 by patches of 2 is not seen; 17 tokens are a prime. */
static struct vit_options little(struct yp_case *t)
{
    struct vit_options o = vit_full(yp_device(t));
    o.pass = NN_MODEL_GRADIENT;
    o.batch = 2, o.tile = 9, o.channels = 2, o.bands = 3, o.patch = 2;
    o.width = 8, o.depth = 3, o.heads = 2, o.trained = 1, o.rank = 2, o.alpha = 3;
    o.head_width = 4, o.head_blocks = 2;
    return o;
}

struct trial {
    struct vit *vit;
    struct vit_options o;
    size_t parameters;
    double *x; /* trained parameters */
    enum yp_status status;
};

/* Every tensor has values that are drawn, and none is 0 or alike: what is left out shows. */
static void trial_open(struct trial *s, struct yp_case *t, const struct vit_options *o)
{
    enum { NOISE = 100 };
    struct vit_tensor tensor;
    *s = (struct trial){.vit = vit_create(o), .o = *o, .parameters = vit_elements(o, VIT_PARTS)};
    yp_got(t, s->vit);
    yp_ok(t, vit_start(s->vit));
    s->x = yp_alloc_host(t, s->parameters * sizeof *s->x);
    for (size_t i = 0; vit_tensor(o, i, &tensor); i++) {
        double *values = yp_alloc_host(t, tensor.count * sizeof *values);
        const double *noise = bell(t, NOISE + i, tensor.count);
        yp_ok(t, vit_draw(o, i, yp_seed(t), values));
        for (size_t k = 0; k < tensor.count; k++)
            values[k] = (double)(float)(values[k] + 0.3 * noise[k]);
        if (tensor.trained)
            memcpy(s->x + tensor.offset, values, tensor.count * sizeof *values);
        else
            yp_ok(t, vit_freeze(s->vit, i, values));
    }
    const size_t pixels = o->batch * o->tile * o->tile;
    yp_ok(t, vit_set_input(s->vit, bell(t, 1, pixels * o->channels)));
    if (o->pass == NN_MODEL_GRADIENT)
        yp_ok(t, vit_set_target(s->vit, bell(t, 2, pixels * o->head_width)));
}

static void run(struct trial *s, const void *x, void *gradient, void *result, size_t bytes)
{
    enum yp_status status = vit_pass(s->vit, x, gradient, NN_MODEL_COPY);
    if (status == YP_OK)
        status = yp_device_copy(s->o.device, result, vit_result(s->vit), bytes);
    s->status = s->status == YP_OK ? status : s->status;
}

/* Of the mean of the two losses. */
static void loss_of(void *arg, const double *x, double *y)
{
    double each[2] = {0};
    run(arg, x, NULL, each, sizeof each);
    *y = (each[0] + each[1]) / 2;
}

static void gradient_of(void *arg, const double *x, const double *cotangent, double *g)
{
    const struct trial *s = arg;
    double each[2];
    run(arg, x, g, each, sizeof each);
    for (size_t i = 0; i < s->parameters; i++)
        g[i] *= *cotangent;
}

static void check_gradient(struct yp_case *t, struct trial *s)
{
    enum { TENSORS = 128 };
    static struct vit_tensor named[TENSORS];
    struct yp_tensor tensors[TENSORS];
    size_t count = 0;
    for (size_t i = 0; vit_tensor(&s->o, i, &named[count]); i++)
        if (named[count].trained) {
            tensors[count] =
                (struct yp_tensor){named[count].name, named[count].offset, named[count].count};
            count++;
        }
    const struct yp_gradient check = {.name = "loss",
                                      .inputs = s->parameters,
                                      .outputs = 1,
                                      .f = loss_of,
                                      .vjp = gradient_of,
                                      .arg = s,
                                      .x = s->x,
                                      .tensors = tensors,
                                      .n_tensors = count};
    yp_check_gradient(t, &check);
    yp_ok(t, s->status);
}

/* Of every trained tensor in double. */
YP_TEST(vit, gradient, .tags = "stress small", .parallel = true,
        .axes = YP_AXES(yp_axis_string("variant", "right", "int8", "recompute", "first block",
                                       "class token", "frozen", "plain")))
{
    const char *variant = yp_string(t, "variant");
    struct vit_options o = little(t);
    struct trial s;
    o.oracle = true;
    o.frozen = strcmp(variant, "int8") == 0 ? VIT_INT8_WEIGHTS : VIT_FLOAT;
    o.recompute = strcmp(variant, "recompute") == 0;
    o.feature = strcmp(variant, "first block") == 0;
    o.class_token = strcmp(variant, "class token") == 0;
    o.freeze_all = strcmp(variant, "frozen") == 0;
    o.rank = strcmp(variant, "plain") == 0 ? 0 : o.rank;
    trial_open(&s, t, &o);
    check_gradient(t, &s);
    vit_destroy(s.vit);
}

/* -- in float ---------------------------------------------------------------------------------- */

/* Larger than little(), with sizes that no vector divides. */
static struct vit_options middling(struct yp_case *t)
{
    struct vit_options o = little(t);
    o.tile = 45, o.channels = 4, o.bands = 6, o.patch = 7;
    o.width = 68, o.heads = 4, o.rank = 3, o.head_width = 20;
    return o;
}

struct floats {
    float *x, *gradient;   /* of the device */
    float *got, losses[2]; /* on the host: the gradient */
};

static struct floats to_device(struct yp_case *t, const struct trial *s)
{
    const size_t bytes = s->parameters * sizeof(float);
    struct floats f = {
        .x = yp_alloc(t, bytes), .gradient = yp_alloc(t, bytes), .got = yp_alloc_host(t, bytes)};
    for (size_t i = 0; i < s->parameters; i++)
        f.got[i] = (float)s->x[i];
    yp_ok(t, yp_device_copy(yp_device(t), f.x, f.got, bytes));
    return f;
}

static void run_floats(struct yp_case *t, struct trial *s, struct floats *f)
{
    run(s, f->x, f->gradient, f->losses, sizeof f->losses);
    yp_ok(t, s->status);
    yp_ok(t, yp_device_copy(yp_device(t), f->got, f->gradient, s->parameters * sizeof *f->got));
}

/* How far losses and gradient are from those of the same frozen matrices in double. */
struct errors {
    double losses, gradient;
};

static struct errors errors_of(struct yp_case *t, const struct vit_options *options)
{
    struct vit_options o = *options;
    struct trial trial, oracle;
    trial_open(&trial, t, &o);
    struct floats f = to_device(t, &trial);
    run_floats(t, &trial, &f);
    o.oracle = true;
    o.plain = false;
    o.device = yp_device_cpu();
    trial_open(&oracle, t, &o);
    double *right = yp_alloc_host(t, trial.parameters * sizeof *right), each[2] = {0};
    run(&oracle, oracle.x, right, each, sizeof each);
    yp_ok(t, oracle.status);
    vit_destroy(trial.vit);
    vit_destroy(oracle.vit);
    return (struct errors){relative_error(t, f.losses, each, 2),
                           relative_error(t, f.got, right, trial.parameters)};
}

/* The same of the features, by plain loops in float. */
static double plain_features_error(struct yp_case *t, const struct vit_options *options)
{
    struct vit_options o = *options;
    const size_t count = o.batch * o.tile * o.tile * o.head_width;
    float *got = yp_alloc_host(t, count * sizeof *got);
    double *right = yp_alloc_host(t, count * sizeof *right);
    struct trial plain, oracle;
    o.pass = NN_MODEL_FORWARD;
    trial_open(&plain, t, &o);
    float *x = yp_alloc_host(t, plain.parameters * sizeof *x);
    for (size_t i = 0; i < plain.parameters; i++)
        x[i] = (float)plain.x[i];
    run(&plain, x, NULL, got, count * sizeof *got);
    o.oracle = true;
    o.plain = false;
    trial_open(&oracle, t, &o);
    run(&oracle, oracle.x, NULL, right, count * sizeof *right);
    yp_ok(t, plain.status);
    yp_ok(t, oracle.status);
    vit_destroy(plain.vit);
    vit_destroy(oracle.vit);
    return relative_error(t, got, right, count);
}

/* No further from double than twice what plain loops in float are. A loss, which is one number, may
 * be right by luck in plain loops: it is held to the error of their features where that is more. */
YP_TEST(vit, precision, .tags = "stress small", .parallel = true, .devices = "cpu cuda",
        .axes = YP_AXES(yp_axis_string("frozen", "float", "int8")),
        .budgets = YP_BUDGETS(yp_max_value("losses to plain", 2),
                              yp_max_value("gradient to plain", 2)))
{
    struct vit_options o = middling(t);
    o.frozen = strcmp(yp_string(t, "frozen"), "int8") == 0 ? VIT_INT8_WEIGHTS : VIT_FLOAT;
    const struct errors fast = errors_of(t, &o);
    o.plain = true;
    o.device = yp_device_cpu();
    const struct errors plain = errors_of(t, &o);
    yp_value(t, "losses to plain", fast.losses / fmax(plain.losses, plain_features_error(t, &o)));
    yp_value(t, "gradient to plain", fast.gradient / plain.gradient);
}

static void check_error(struct yp_case *t, enum vit_frozen frozen, enum nn_precision precision)
{
    struct vit_options o = middling(t);
    o.frozen = frozen;
    o.precision = precision;
    const struct errors errors = errors_of(t, &o);
    yp_value(t, "loss error", errors.losses);
    yp_value(t, "gradient error", errors.gradient);
}

/* A row of activations in 8 bits is off by up to 1/254 of its largest one, in each of eight
 * products one behind the other; cotangents there are of bf16. */
YP_TEST(vit, int8_rows, .tags = "stress small", .parallel = true, .devices = "cpu cuda",
        .budgets = YP_BUDGETS(yp_max_value("loss error", 0.03),
                              yp_max_value("gradient error", 0.2)))
{
    check_error(t, VIT_INT8_ROWS, NN_FP32);
}

/* Twice the least error of PyTorch in bf16 over four such models: 0.0032 and 0.081. */
YP_TEST(vit, bf16, .tags = "stress small", .parallel = true, .devices = "cpu cuda",
        .budgets = YP_BUDGETS(yp_max_value("loss error", 0.0064),
                              yp_max_value("gradient error", 0.16)))
{
    check_error(t, VIT_FLOAT, NN_BF16);
}

/* Activations that are made again change no bit and take less memory. */
YP_TEST(vit, recompute, .tags = "stress small", .parallel = true, .devices = "cpu cuda")
{
    struct vit_options o = middling(t);
    struct trial kept, remade;
    trial_open(&kept, t, &o);
    struct floats right = to_device(t, &kept), got;
    run_floats(t, &kept, &right);
    o.recompute = true;
    trial_open(&remade, t, &o);
    got = to_device(t, &remade);
    run_floats(t, &remade, &got);
    yp_expect(t, memcmp(got.losses, right.losses, sizeof got.losses) == 0, "other losses");
    yp_expect(t, memcmp(got.got, right.got, kept.parameters * sizeof *got.got) == 0,
              "other bits of the gradient");
    const size_t all = nn_model_bytes(vit_encoder(kept.vit))->arena,
                 fewer = nn_model_bytes(vit_encoder(remade.vit))->arena;
    yp_expect(t, fewer < all, "%zu bytes, %zu without", fewer, all);
    vit_destroy(kept.vit);
    vit_destroy(remade.vit);
}

/* Where the device's memory holds the encoder and not the head, the head runs on the CPU: the same
 * losses and gradient but for the order of sums, unless that is not allowed. */
YP_TEST(vit, head_falls_back, .tags = "stress small", .devices = "cuda",
        .budgets = YP_BUDGETS(yp_max_value("loss error", 1e-6),
                              yp_max_value("gradient error", 3e-6)))
{
    struct vit_options o = middling(t);
    struct yp_memory memory;
    struct trial whole, parted;
    trial_open(&whole, t, &o);
    struct floats right = to_device(t, &whole), got = to_device(t, &whole);
    run_floats(t, &whole, &right);
    yp_expect(t, !vit_fell_back(whole.vit), "the head is on the CPU without a need");
    const size_t encoder = nn_model_bytes(vit_encoder(whole.vit))->arena;
    vit_destroy(whole.vit);

    yp_device_memory(yp_device(t), &memory);
    yp_device_set_limit(yp_device(t), memory.allocated + encoder);
    struct vit *refused = vit_create(&o);
    yp_got(t, refused);
    yp_expect(t, vit_start(refused) == YP_OUT_OF_MEMORY, "%s", yp_last_error());
    vit_destroy(refused);
    o.head_falls_back = true;
    trial_open(&parted, t, &o);
    yp_device_set_limit(yp_device(t), 0);
    yp_expect(t, vit_fell_back(parted.vit), "the head is on the device");
    run_floats(t, &parted, &got);
    const double *losses = in_double(t, right.losses, 2);
    yp_value(t, "loss error", relative_error(t, got.losses, losses, 2));
    yp_value(
        t, "gradient error",
        relative_error(t, got.got, in_double(t, right.got, parted.parameters), parted.parameters));
    vit_destroy(parted.vit);
}

/* A model takes as many bytes as its plan says. A plan made without the device says the same. */
static void check_plan(struct yp_case *t, const struct vit_options *o, enum refiner_work work)
{
    const size_t vector = vit_elements(o, VIT_PARTS) * sizeof(float);
    const bool gpu = yp_device_memory_kind(o->device) == YP_DEVICE;
    struct vit_options elsewhere = *o;
    struct refiner_plan plan, other;
    struct yp_memory before, after, host_before, host_after;
    elsewhere.device = yp_device_cpu();
    elsewhere.kind = gpu ? "cuda" : "cpu";
    yp_ok(t, vit_plan(o, work, &plan));
    yp_ok(t, vit_plan(&elsewhere, work, &other));
    yp_expect(t, memcmp(&plan, &other, sizeof plan) == 0, "another plan without the device");
    yp_device_memory(o->device, &before);
    yp_device_memory(yp_device_cpu(), &host_before);
    struct vit *vit = vit_create(o);
    yp_got(t, vit);
    yp_ok(t, vit_start(vit));
    yp_device_memory(o->device, &after);
    yp_device_memory(yp_device_cpu(), &host_after);
    vit_destroy(vit);
    const size_t model = plan.frozen + plan.copies + plan.activations + plan.transients;
    yp_expect(t, after.allocated - before.allocated == model + (gpu ? 0 : plan.host),
              "%zu bytes are taken, planned %zu", (size_t)(after.allocated - before.allocated),
              model + plan.host);
    yp_expect(t, !gpu || host_after.allocated - host_before.allocated == plan.host,
              "%zu bytes of the host, planned %zu",
              (size_t)(host_after.allocated - host_before.allocated), plan.host);
    const bool step = work == REFINER_TRAIN_STEP, gradient = work != REFINER_FORWARD;
    yp_expect(t,
              plan.weights == vector && plan.gradients == (gradient ? vector : 0) &&
                  plan.optimiser == (step ? 2 * vector : 0),
              "%zu, %zu and %zu bytes of vectors, each is %zu", plan.weights, plan.gradients,
              plan.optimiser, vector);
    yp_expect(t,
              plan.total == model + plan.host + plan.weights + plan.gradients + plan.optimiser &&
                  (plan.activations > 0) == gradient,
              "%zu in all, %zu of activations", plan.total, plan.activations);
}

YP_TEST(vit, planned, .tags = "stress small", .devices = "cpu cuda")
{
    struct vit_options o = middling(t);
    o.frozen = VIT_INT8_WEIGHTS;
    check_plan(t, &o, REFINER_TRAIN_STEP);
    check_plan(t, &o, REFINER_FORWARD_BACKWARD);
    o.pass = NN_MODEL_FORWARD;
    check_plan(t, &o, REFINER_FORWARD);
}

/* -- training ---------------------------------------------------------------------------------- */

/* Targets are a function of their image: each feature is a channel, moved. */
static enum yp_status read_image(void *arg, uint32_t item, double *image, double *target)
{
    const struct vit_options *o = arg;
    const size_t pixels = o->tile * o->tile;
    for (size_t i = 0; i < pixels; i++) {
        const double wave = sin(0.2 * (double)(i % o->tile) + 0.7 * (double)item);
        for (size_t c = 0; c < o->channels; c++)
            image[i * o->channels + c] = wave * (1 + (double)c) / 2;
        for (size_t c = 0; c < o->head_width; c++)
            target[i * o->head_width + c] = wave + 0.1 * (double)c;
    }
    return YP_OK;
}

struct training {
    struct vit_options o;
    struct vit_trainee *trainee;
    struct train *train;
};

static struct vit_options tiny(struct yp_case *t, size_t batch)
{
    struct vit_options o = little(t);
    o.batch = batch;
    o.tile = 12, o.width = 16, o.frozen = VIT_INT8_WEIGHTS;
    return o;
}

static struct train_config training_of(struct yp_case *t, size_t batch)
{
    struct train_config how = train_defaults();
    how.seed = yp_seed(t);
    how.batch = batch;
    how.epochs = 100;
    how.validation = 0;
    how.adamw.lr = 1e-2;
    how.keep_best = false;
    return how;
}

static void training_open(struct training *f, struct yp_case *t, const struct vit_options *o,
                          const struct train_config *how)
{
    f->o = *o;
    const struct vit_source source = {.images = 16, .read = read_image, .arg = &f->o};
    f->trainee = vit_trainee_create(o, &source, yp_seed(t));
    yp_got(t, f->trainee);
    const struct train_objective objective = vit_trainee_objective(f->trainee);
    f->train = train_create(o->device, &objective, how);
    yp_got(t, f->train);
    yp_ok(t, train_begin(f->train, vit_trainee_start(f->trainee)));
}

static void training_close(struct training *f)
{
    train_destroy(f->train);
    vit_trainee_destroy(f->trainee);
}

/* Parameters after so many steps; stops in between where there is a checkpoint. Owned by the case.
 */
static float *trained(struct yp_case *t, const struct vit_options *o,
                      const struct train_config *how, uint64_t steps, const char *checkpoint)
{
    const uint64_t stop = steps / 2;
    struct training f;
    training_open(&f, t, o, how);
    yp_ok(t, train_run(f.train, checkpoint != NULL ? stop : steps));
    if (checkpoint != NULL) {
        yp_ok(t, train_save(f.train, checkpoint));
        training_close(&f);
        training_open(&f, t, o, how);
        yp_ok(t, train_resume(f.train, checkpoint));
        yp_ok(t, train_run(f.train, steps - stop));
    }
    const size_t bytes = vit_elements(o, VIT_PARTS) * sizeof(float);
    float *parameters = yp_alloc_host(t, bytes);
    yp_ok(t, yp_device_copy(o->device, parameters, train_parameters(f.train), bytes));
    training_close(&f);
    return parameters;
}

/* The loss falls and stays finite. */
YP_TEST(vit, learns, .tags = "stress small", .parallel = true,
        .budgets = YP_BUDGETS(yp_max_value("share of the first loss", 0.08)))
{
    struct vit_options o = tiny(t, 4);
    struct train_config how = training_of(t, 4);
    struct training f;
    double first = NAN, last = NAN;
    training_open(&f, t, &o, &how);
    const struct train_items items = train_part_items(f.train, TRAIN_TRAINING);
    yp_ok(t, train_judge(f.train, items, train_parameters(f.train), &first, NULL));
    double half[2];
    for (size_t i = 0; i < 2; i++)
        yp_ok(t, train_judge(f.train, (struct train_items){items.index + 8 * i, 8},
                             train_parameters(f.train), &half[i], NULL));
    yp_expect(t, fabs(first - (half[0] + half[1]) / 2) < 1e-6 * first, "%g, of halves %g and %g",
              first, half[0], half[1]);
    yp_ok(t, train_run(f.train, 100));
    yp_ok(t, train_judge(f.train, items, train_parameters(f.train), &last, NULL));
    yp_require(t, isfinite(first) && isfinite(last), "losses %g and %g", first, last);
    yp_value(t, "share of the first loss", last / first);
    training_close(&f);
}

YP_TEST(vit, resumes, .tags = "stress small", .parallel = true, .devices = "cpu cuda")
{
    struct vit_options o = tiny(t, 2);
    struct train_config how = training_of(t, 4);
    char checkpoint[512];
    tmp_file(t, "checkpoint", checkpoint);
    const float *whole = trained(t, &o, &how, 6, NULL);
    yp_expect(t,
              memcmp(whole, trained(t, &o, &how, 6, checkpoint),
                     vit_elements(&o, VIT_PARTS) * sizeof *whole) == 0,
              "stopped and resumed: other bits");
    struct training other;
    o.alpha += 1;
    training_open(&other, t, &o, &how);
    yp_expect(t,
              train_resume(other.train, checkpoint) == YP_INVALID &&
                  strstr(yp_last_error(), "alpha") != NULL,
              "%s", yp_last_error());
    training_close(&other);
}

/* Two batches of three, added up by the trainer, and one of six; all at once and in parts, of which
 * the last one is smaller. By gradient descent, which sees a factor on the gradient as AdamW does
 * not. */
YP_TEST(vit, accumulates, .tags = "stress small", .parallel = true,
        .budgets = YP_BUDGETS(yp_max_value("in parts", 1.5e-7), yp_max_value("added up", 1.5e-7)))
{
    struct vit_options whole = tiny(t, 6), part = tiny(t, 4);
    struct train_config at_once = training_of(t, 6);
    at_once.optimiser = TRAIN_SGD;
    at_once.sgd.lr = 0.1;
    at_once.clip = 0;
    struct train_config added = at_once;
    added.batch = 3;
    added.accumulate = 2;
    const size_t n = vit_elements(&whole, VIT_PARTS);
    const double *right = in_double(t, trained(t, &whole, &at_once, 4, NULL), n);
    yp_value(t, "in parts", relative_error(t, trained(t, &part, &at_once, 4, NULL), right, n));
    yp_value(t, "added up", relative_error(t, trained(t, &whole, &added, 4, NULL), right, n));
}
