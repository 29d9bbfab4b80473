/* The refiner beside PyTorch: what models/refiner/reference/make.py wrote into files, of which the
 * suite has small ones. Results go the way of a user's: weights and images are loaded, what a pass
 * makes is saved, and files are compared. */
#include "models/refiner/weights.h"
#include "suites/worst.h"

#include <math.h>
#include <refiner_reference.h> /* of the build: REFINER_REFERENCE, where the files are */
#include <stdio.h>
#include <string.h>
#include <yieldpoint/yieldpoint.h>

YP_OPTION(reference, .value = "FOLDER", .path = true,
          .help = "with what models/refiner/reference/make.py wrote to FOLDER/mock or FOLDER/vit");

enum { RESULTS = 1024 };

/* Plain loops in double, in float, and what is held to them. */
enum way { DOUBLE, PLAIN, FAST, WAYS };

struct reference {
    char folder[400];
    const char *variant;
    struct safetensors *expected;
    enum way way;
    struct state_values results[RESULTS]; /* of a model, that way */
    size_t count;
};

/* -- files ------------------------------------------------------------------------------------ */

static const char *path_of(const struct reference *r, const char *name, char path[512])
{
    snprintf(path, 512, "%s/%s", r->folder, name);
    return path;
}

static struct safetensors *open_variant(struct yp_case *t, const struct reference *r)
{
    char name[64], path[512];
    snprintf(name, sizeof name, "%s.safetensors", r->variant);
    struct safetensors *file = safetensors_open(path_of(r, name, path));
    if (file == NULL && yp_option(reference) != NULL)
        yp_skip(t, "%s", yp_last_error());
    yp_got(t, file);
    return file;
}

static void reference_open(struct yp_case *t, struct reference *r, const char *model,
                           const char *variant)
{
    const char *folder = yp_option(reference) != NULL ? yp_option(reference) : REFINER_REFERENCE;
    snprintf(r->folder, sizeof r->folder, "%s/%s", folder, model);
    r->variant = variant;
    r->count = 0;
    r->expected = open_variant(t, r);
}

static double *values_of(struct yp_case *t, const struct safetensors *file,
                         const struct safetensors_tensor *tensor)
{
    const size_t count = safetensors_elements(tensor);
    double *values = yp_alloc_host(t, count * sizeof *values);
    yp_ok(t, safetensors_read_doubles(file, tensor, 0, count, values));
    return values;
}

/* 0 where the file does not say it. */
static double number(struct yp_case *t, const struct reference *r, const char *name)
{
    char whole[SAFETENSORS_NAME];
    snprintf(whole, sizeof whole, "size.%s", name);
    const struct safetensors_tensor *tensor = safetensors_find(r->expected, whole);
    return tensor != NULL ? *values_of(t, r->expected, tensor) : 0;
}

static size_t size_of(struct yp_case *t, const struct reference *r, const char *name)
{
    return (size_t)number(t, r, name);
}

static const double *read_images(struct yp_case *t, const struct reference *r, const char *name,
                                 struct state_tensor images)
{
    char path[512];
    double *read = refiner_read_images(path_of(r, name, path), &images);
    yp_got(t, read);
    double *values = yp_alloc_host(t, state_elements(&images) * sizeof *values);
    memcpy(values, read, state_elements(&images) * sizeof *values);
    yp_device_free(yp_device_cpu(), read);
    return values;
}

/* -- results ---------------------------------------------------------------------------------- */

static size_t element(const struct reference *r)
{
    return r->way == DOUBLE ? sizeof(double) : sizeof(float);
}

static struct yp_device *device(struct yp_case *t, const struct reference *r)
{
    return r->way == FAST ? yp_device(t) : yp_device_cpu();
}

/* `count` numbers of the device, on the host. */
static void *fetched(struct yp_case *t, const struct reference *r, const void *from, size_t count)
{
    void *values = yp_alloc_host(t, count * element(r));
    yp_ok(t, yp_device_copy(device(t, r), values, from, count * element(r)));
    return values;
}

static void add_result(struct yp_case *t, struct reference *r, struct state_tensor tensor,
                       const void *from)
{
    const void *values = fetched(t, r, from, state_elements(&tensor));
    r->results[r->count++] = (struct state_values){tensor, values, r->way == DOUBLE};
}

static struct state_tensor losses_tensor(size_t batch)
{
    return (struct state_tensor){.name = "losses", .axes = 1, .shape = {batch}};
}

/* -- comparison ------------------------------------------------------------------------------- */

enum group { OUTPUT, LOSSES, GRADIENT, STATISTICS, GROUPS };
static const char *const groups[GROUPS] = {"output", "losses", "gradient", "statistics"};

struct sums {
    double off, size; /* of squares */
};

struct comparison {
    struct sums of[GROUPS];
    double worst; /* error of a tensor */
    char name[SAFETENSORS_NAME];
};

static enum group group_of(const char *name)
{
    if (strcmp(name, groups[OUTPUT]) == 0 || strcmp(name, groups[LOSSES]) == 0)
        return strcmp(name, groups[OUTPUT]) == 0 ? OUTPUT : LOSSES;
    return strstr(name, ".grad") != NULL ? GRADIENT : STATISTICS;
}

/* What an error is a share of: the size of what is right. The bias of a convolution before a batch
 * norm has the gradient 0, but for rounding, as large as that of the weights. */
static double yardstick(struct yp_case *t, const struct safetensors *expected, const char *name,
                        double size)
{
    static const char bias[] = "conv.bias.grad";
    char other[SAFETENSORS_NAME];
    if (strncmp(name, "layer", 5) != 0 || strcmp(name + 8, bias) != 0)
        return size;
    snprintf(other, sizeof other, "%.8snorm.bias.grad", name);
    if (safetensors_find(expected, other) == NULL)
        return size;
    snprintf(other, sizeof other, "%.8sconv.weight.grad", name);
    const struct safetensors_tensor *weight = safetensors_find(expected, other);
    const double *values = values_of(t, expected, weight);
    size = 0;
    for (size_t i = 0; i < safetensors_elements(weight); i++)
        size += values[i] * values[i];
    return size;
}

static void compare_tensor(struct yp_case *t, const struct safetensors *got,
                           const struct safetensors *expected,
                           const struct safetensors_tensor *wanted, struct comparison *c)
{
    const struct safetensors_tensor *is = safetensors_find(got, wanted->name);
    yp_require(t, is != NULL, "no %s", wanted->name);
    yp_require(t,
               is->dims == wanted->dims && memcmp(is->shape, wanted->shape, sizeof is->shape) == 0,
               "%s has another shape", wanted->name);
    const double *a = values_of(t, got, is), *b = values_of(t, expected, wanted);
    struct sums sums = {0, 0}, *all = &c->of[group_of(wanted->name)];
    for (size_t i = 0; i < safetensors_elements(wanted); i++) {
        sums.off += (a[i] - b[i]) * (a[i] - b[i]);
        sums.size += b[i] * b[i];
    }
    all->off += sums.off;
    all->size += sums.size;
    const double size = yardstick(t, expected, wanted->name, sums.size);
    /* The gradient of what no result depends on is 0. */
    const double error = sums.off > 0 || isnan(sums.off) ? sqrt(sums.off / size) : 0;
    if (worse(c->worst, error) == c->worst)
        return;
    c->worst = error;
    snprintf(c->name, sizeof c->name, "%s", wanted->name);
}

/* Only variants leave out results. */
static void compare(struct yp_case *t, const struct reference *r, struct comparison *c)
{
    char path[512];
    const struct safetensors_tensor *tensor;
    const bool all = strcmp(r->variant, "expected") == 0 || strcmp(r->variant, "int8") == 0;
    size_t compared = 0;
    *c = (struct comparison){.worst = 0};
    snprintf(path, sizeof path, "%s/results", yp_tmp_path(t));
    yp_ok(t, state_save(path, r->results, r->count));
    struct safetensors *got = safetensors_open(path);
    yp_got(t, got);
    for (size_t i = 0; (tensor = safetensors_at(r->expected, i)) != NULL; i++) {
        if (strncmp(tensor->name, "size.", 5) == 0)
            continue;
        compare_tensor(t, got, r->expected, tensor, c);
        compared++;
    }
    yp_expect(t, compared > 2 && (!all || compared == r->count), "%zu of %zu are expected",
              compared, r->count);
    safetensors_close(got);
}

/* Double by its worst tensor; the fast way, group by group, beside plain loops in float. Losses are
 * few and may be right by luck: they are held to the output's plain error, where that is larger. */
static void check(struct yp_case *t, const char *model, const char *variant,
                  void (*run)(struct yp_case *t, struct reference *r))
{
    static struct reference r;
    struct comparison found[WAYS];
    reference_open(t, &r, model, variant);
    for (r.way = DOUBLE; r.way < WAYS; r.way++) {
        r.count = 0;
        run(t, &r);
        compare(t, &r, &found[r.way]);
        printf("%d: the worst is %s, off by %.2e\n", (int)r.way, found[r.way].name,
               found[r.way].worst);
    }
    yp_value(t, "error", found[DOUBLE].worst);
    yp_value(t, "plain error", found[PLAIN].worst);
    /* What is far off bounds nothing. In long sums it may be. */
    yp_expect(t, yp_option(reference) != NULL || found[PLAIN].worst < 2e-5,
              "plain loops in float: %s is off by %g", found[PLAIN].name, found[PLAIN].worst);
    for (int i = 0; i < GROUPS; i++) {
        const struct sums *fast = &found[FAST].of[i], *plain = found[PLAIN].of;
        const double output = sqrt(plain[OUTPUT].off / plain[OUTPUT].size);
        const double right = sqrt(plain[i].off / plain[i].size);
        char name[64];
        snprintf(name, sizeof name, "%s to plain", groups[i]);
        if (fast->size > 0)
            yp_value(t, name,
                     sqrt(fast->off / fast->size) / (i == LOSSES ? worse(right, output) : right));
    }
    safetensors_close(r.expected);
}

#define BUDGETS \
    yp_required(yp_max_value("error", 1e-10), "what the refiner says of itself beside PyTorch"), \
        yp_max_value("output to plain", 2), yp_max_value("losses to plain", 2), \
        yp_max_value("gradient to plain", 2)

/* -- the mock --------------------------------------------------------------------------------- */

/* An image of the file at its place on the device. */
static void send(struct yp_case *t, const struct reference *r, const char *name,
                 struct state_tensor images, void *to)
{
    const size_t count = state_elements(&images);
    const double *values = read_images(t, r, name, images);
    float *narrow = yp_alloc_host(t, count * sizeof *narrow);
    for (size_t i = 0; i < count; i++)
        narrow[i] = (float)values[i];
    yp_ok(t, yp_device_copy(device(t, r), to, r->way == DOUBLE ? (const void *)values : narrow,
                            count * element(r)));
}

/* One pass; the caller destroys the mock. */
static struct mock *pass_of_mock(struct yp_case *t, const struct reference *r,
                                 const struct mock_options *o, const void *parameters,
                                 void *gradient)
{
    const size_t bytes = mock_parameters(o->width, o->pass == NN_MODEL_FORWARD) * element(r);
    const size_t quarter = o->tile / 4;
    struct mock *mock = mock_create(o);
    void *there = yp_device_alloc(o->device, bytes);
    yp_got(t, mock);
    yp_got(t, there);
    yp_ok(t, mock_start(mock));
    yp_ok(t, yp_device_copy(o->device, there, parameters, bytes));
    send(t, r, "input.npy", refiner_images("input", o->batch, MOCK_CHANNELS, o->tile, o->tile),
         mock_input(mock));
    if (gradient != NULL)
        send(t, r, "target.npy",
             refiner_images("target", o->batch, MOCK_CHANNELS, quarter, quarter),
             mock_target(mock));
    yp_ok(t, mock_pass(mock, there, gradient, NN_MODEL_COPY));
    yp_device_free(o->device, there);
    return mock;
}

/* Inference, then a step of training from the same weights. */
static void run_mock(struct yp_case *t, struct reference *r)
{
    const bool wide = r->way == DOUBLE;
    struct mock_options o = {.device = device(t, r),
                             .oracle = wide,
                             .plain = r->way == PLAIN,
                             .width = size_of(t, r, "width"),
                             .batch = size_of(t, r, "batch"),
                             .tile = size_of(t, r, "tile")};
    const size_t parameters = mock_parameters(o.width, false);
    struct state_vectors v = {.at = {yp_alloc_host(t, parameters * element(r)),
                                     yp_alloc_host(t, mock_statistics(o.width) * element(r))},
                              .wide = wide};
    char path[512];
    yp_ok(t, state_load(path_of(r, "weights.safetensors", path), refiner_mock_table, &o.width,
                        state_take_vectors, &v));

    void *folded = yp_alloc_host(t, mock_parameters(o.width, true) * element(r));
    if (wide)
        mock_fold_oracle(o.width, v.at[0], v.at[1], folded);
    else
        mock_fold(o.width, v.at[0], v.at[1], folded);
    o.pass = NN_MODEL_FORWARD;
    struct mock *mock = pass_of_mock(t, r, &o, folded, NULL);
    add_result(t, r, refiner_images("output", o.batch, MOCK_CHANNELS, o.tile / 4, o.tile / 4),
               mock_result(mock));
    mock_destroy(mock);

    o.pass = NN_MODEL_GRADIENT;
    void *gradient = yp_device_alloc(o.device, parameters * element(r));
    yp_got(t, gradient);
    mock = pass_of_mock(t, r, &o, v.at[STATE_PARAMETERS], gradient);
    add_result(t, r, losses_tensor(o.batch), mock_result(mock));
    yp_ok(t, mock_update_statistics(mock, v.at[STATE_STATISTICS]));
    mock_destroy(mock);
    const struct state_vectors gradients = {.at = {fetched(t, r, gradient, parameters)},
                                            .wide = wide};
    v.at[STATE_PARAMETERS] = NULL;
    r->count +=
        state_values_of(refiner_mock_table, &o.width, &gradients, ".grad", r->results + r->count);
    r->count += state_values_of(refiner_mock_table, &o.width, &v, "", r->results + r->count);
    yp_device_free(o.device, gradient);
}

YP_TEST(refiner_reference, mock, .tags = "stress small", .parallel = true,
        .budgets = YP_BUDGETS(BUDGETS, yp_max_value("statistics to plain", 2)))
{
    check(t, "mock", "expected", run_mock);
}

/* -- the vision transformer ------------------------------------------------------------------- */

static struct vit_options options_of(struct yp_case *t, const struct reference *r)
{
    struct vit_options o = {.device = device(t, r),
                            .oracle = r->way == DOUBLE,
                            .plain = r->way == PLAIN,
                            .frozen = size_of(t, r, "int8") > 0 ? VIT_INT8_WEIGHTS : VIT_FLOAT,
                            .alpha = number(t, r, "alpha"),
                            .class_token = size_of(t, r, "class_token") > 0,
                            .freeze_all = size_of(t, r, "freeze_all") > 0};
    const struct {
        const char *name;
        size_t *to;
    } sizes[] = {{"batch", &o.batch},           {"tile", &o.tile},
                 {"channels", &o.channels},     {"bands", &o.bands},
                 {"patch", &o.patch},           {"width", &o.width},
                 {"depth", &o.depth},           {"heads", &o.heads},
                 {"trained", &o.trained},       {"rank", &o.rank},
                 {"head_width", &o.head_width}, {"head_blocks", &o.head_blocks},
                 {"feature", &o.feature}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        *sizes[i].to = size_of(t, r, sizes[i].name);
    return o;
}

/* A pass over the file's weights and images; the caller destroys the model. */
static struct vit *pass_of_vit(struct yp_case *t, const struct reference *r,
                               const struct vit_options *o, void *gradient)
{
    const size_t bytes = vit_elements(o, VIT_PARTS) * element(r), b = o->batch, tile = o->tile;
    struct refiner_vit vit = {.vit = vit_create(o),
                              .vectors = {.at = {yp_alloc_host(t, bytes)}, .wide = o->oracle}};
    char path[512];
    void *there = yp_device_alloc(o->device, bytes);
    yp_got(t, vit.vit);
    yp_got(t, there);
    yp_ok(t, vit_start(vit.vit));
    yp_ok(t, state_load(path_of(r, "weights.safetensors", path), refiner_vit_table, o,
                        refiner_take_vit, &vit));
    yp_ok(t, yp_device_copy(o->device, there, vit.vectors.at[STATE_PARAMETERS], bytes));
    const double *image =
        read_images(t, r, "input.npy", refiner_images("input", b, o->channels, tile, tile));
    yp_ok(t, vit_set_input(vit.vit, image));
    if (gradient != NULL)
        yp_ok(t, vit_set_target(
                     vit.vit, read_images(t, r, "target.npy",
                                          refiner_images("target", b, o->head_width, tile, tile))));
    yp_ok(t, vit_pass(vit.vit, there, gradient, NN_MODEL_COPY));
    yp_device_free(o->device, there);
    return vit.vit;
}

/* Inference, then a pass with the gradient. */
static void run_vit(struct yp_case *t, struct reference *r)
{
    struct vit_options o = options_of(t, r);
    const size_t parameters = vit_elements(&o, VIT_PARTS);
    o.pass = NN_MODEL_FORWARD;
    struct vit *vit = pass_of_vit(t, r, &o, NULL);
    add_result(t, r, refiner_images("output", o.batch, o.head_width, o.tile, o.tile),
               vit_result(vit));
    vit_destroy(vit);

    o.pass = NN_MODEL_GRADIENT;
    void *gradient = yp_device_alloc(o.device, parameters * element(r));
    yp_got(t, gradient);
    vit = pass_of_vit(t, r, &o, gradient);
    add_result(t, r, losses_tensor(o.batch), vit_result(vit));
    vit_destroy(vit);
    const struct state_vectors gradients = {.at = {fetched(t, r, gradient, parameters)},
                                            .wide = o.oracle};
    r->count += state_values_of(refiner_vit_table, &o, &gradients, ".grad", r->results + r->count);
    yp_device_free(o.device, gradient);
}

YP_TEST(refiner_reference, vit, .tags = "stress small", .parallel = true,
        .budgets = YP_BUDGETS(BUDGETS),
        .axes = YP_AXES(yp_axis_string("variant", "expected", "int8", "first_block",
                                       "with_class_token", "all_frozen")))
{
    check(t, "vit", yp_string(t, "variant"), run_vit);
}
