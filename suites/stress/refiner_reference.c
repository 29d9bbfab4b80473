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

enum { RESULTS = 512 };

struct reference {
    char folder[400];
    const char *variant;
    struct safetensors *expected;
    struct refiner_values results[RESULTS]; /* of the model: */
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

/* "size.NAME" or "plain.NAME"; `otherwise` where there is none. */
static double number(struct yp_case *t, const struct reference *r, const char *kind,
                     const char *name, double otherwise)
{
    char whole[SAFETENSORS_NAME];
    snprintf(whole, sizeof whole, "%s.%s", kind, name);
    const struct safetensors_tensor *tensor = safetensors_find(r->expected, whole);
    return tensor != NULL ? *values_of(t, r->expected, tensor) : otherwise;
}

static size_t size_of(struct yp_case *t, const struct reference *r, const char *name)
{
    return (size_t)number(t, r, "size", name, 0);
}

static const double *read_images(struct yp_case *t, const struct reference *r, const char *name,
                                 struct refiner_tensor images)
{
    char path[512];
    double *read = refiner_read_images(path_of(r, name, path), &images);
    yp_got(t, read);
    double *values = yp_alloc_host(t, refiner_elements(&images) * sizeof *values);
    memcpy(values, read, refiner_elements(&images) * sizeof *values);
    yp_device_free(yp_device_cpu(), read);
    return values;
}

/* -- results ---------------------------------------------------------------------------------- */

/* `count` numbers of the device, on the host. */
static void *fetched(struct yp_case *t, const void *from, size_t count, bool wide)
{
    const size_t bytes = count * (wide ? sizeof(double) : sizeof(float));
    void *values = yp_alloc_host(t, bytes);
    yp_ok(t, yp_device_copy(wide ? yp_device_cpu() : yp_device(t), values, from, bytes));
    return values;
}

static void add_result(struct yp_case *t, struct reference *r, struct refiner_tensor tensor,
                       const void *from, bool wide)
{
    const void *values = fetched(t, from, refiner_elements(&tensor), wide);
    r->results[r->count++] = (struct refiner_values){tensor, values, wide};
}

static struct refiner_tensor losses_tensor(size_t batch)
{
    return (struct refiner_tensor){.name = "losses", .axes = 1, .shape = {batch}};
}

static void *in_precision(struct yp_case *t, const double *values, size_t count, bool wide)
{
    void *to = yp_alloc_host(t, count * (wide ? sizeof(double) : sizeof(float)));
    for (size_t i = 0; i < count; i++)
        if (wide)
            ((double *)to)[i] = values[i];
        else
            ((float *)to)[i] = (float)values[i];
    return to;
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

/* All results against the expected ones; `all` of them must be there. */
static void compare(struct yp_case *t, const struct reference *r, bool all, struct comparison *c)
{
    char path[512];
    const struct safetensors_tensor *tensor;
    size_t compared = 0;
    *c = (struct comparison){.worst = 0};
    snprintf(path, sizeof path, "%s/results", yp_tmp_path(t));
    yp_ok(t, refiner_save(path, r->results, r->count));
    struct safetensors *got = safetensors_open(path);
    yp_got(t, got);
    for (size_t i = 0; (tensor = safetensors_at(r->expected, i)) != NULL; i++) {
        if (strncmp(tensor->name, "size.", 5) == 0 || strncmp(tensor->name, "plain.", 6) == 0)
            continue;
        compare_tensor(t, got, r->expected, tensor, c);
        compared++;
    }
    yp_expect(t, compared > 2 && (!all || compared == r->count), "%zu of %zu are expected",
              compared, r->count);
    safetensors_close(got);
}

/* The pass in double by its worst tensor; that in float, group by group, beside what float took
 * PyTorch away from double. Losses are few and may be right by luck: they are held to the output's.
 */
static void judge(struct yp_case *t, const struct reference *r, bool all, bool wide)
{
    struct comparison c;
    compare(t, r, all, &c);
    if (wide) {
        printf("the worst is %s, off by %.2e\n", c.name, c.worst);
        yp_value(t, "error", c.worst);
        return;
    }
    for (int i = 0; i < GROUPS; i++) {
        double plain = number(t, r, "plain", groups[i], NAN);
        if (i == LOSSES)
            plain = worse(plain, number(t, r, "plain", groups[OUTPUT], NAN));
        char name[64];
        snprintf(name, sizeof name, "%s to plain", groups[i]);
        if (c.of[i].size > 0)
            yp_value(t, name, sqrt(c.of[i].off / c.of[i].size) / plain);
    }
}

#define BUDGETS \
    YP_BUDGETS(yp_required(yp_max_value("error", 1e-10), \
                           "what the refiner says of itself beside PyTorch"), \
               yp_max_value("output to plain", 2), yp_max_value("losses to plain", 2), \
               yp_max_value("gradient to plain", 2), yp_max_value("statistics to plain", 2))

/* -- the mock --------------------------------------------------------------------------------- */

/* One pass; the caller destroys the mock. */
static struct mock *pass_of_mock(struct yp_case *t, const struct mock_options *o,
                                 const void *parameters, void *gradient, const double *image,
                                 const double *target)
{
    const size_t element = o->oracle ? sizeof(double) : sizeof(float);
    const size_t pixels = o->batch * o->tile * o->tile * MOCK_CHANNELS;
    const size_t bytes = mock_parameters(o->width, o->pass == NN_MODEL_FORWARD) * element;
    struct mock *mock = mock_create(o);
    void *there = yp_device_alloc(o->device, bytes);
    yp_got(t, mock);
    yp_got(t, there);
    yp_ok(t, mock_start(mock));
    yp_ok(t, yp_device_copy(o->device, there, parameters, bytes));
    yp_ok(t, yp_device_copy(o->device, mock_input(mock), in_precision(t, image, pixels, o->oracle),
                            pixels * element));
    if (mock_target(mock) != NULL)
        yp_ok(t, yp_device_copy(o->device, mock_target(mock),
                                in_precision(t, target, pixels / 16, o->oracle),
                                pixels / 16 * element));
    yp_ok(t, mock_pass(mock, there, gradient, NN_MODEL_COPY));
    yp_device_free(o->device, there);
    return mock;
}

/* Inference, then a step of training from the same weights. */
static void check_mock(struct yp_case *t, struct reference *r, bool wide)
{
    struct mock_options o = {.device = wide ? yp_device_cpu() : yp_device(t),
                             .oracle = wide,
                             .width = size_of(t, r, "width"),
                             .batch = size_of(t, r, "batch"),
                             .tile = size_of(t, r, "tile")};
    const size_t b = o.batch, side = o.tile, quarter = side / 4;
    const size_t parameters = mock_parameters(o.width, false),
                 statistics = mock_statistics(o.width);
    const double *image =
        read_images(t, r, "input.npy", refiner_images("input", b, MOCK_CHANNELS, side, side));
    const double *target = read_images(
        t, r, "target.npy", refiner_images("target", b, MOCK_CHANNELS, quarter, quarter));
    struct refiner_vectors v = {.at = {yp_alloc_host(t, parameters * sizeof(double)),
                                       yp_alloc_host(t, statistics * sizeof(double))},
                                .wide = wide};
    char path[512];
    r->count = 0;
    yp_ok(t, refiner_load(path_of(r, "weights.safetensors", path), refiner_mock_table, &o.width,
                          refiner_take_vectors, &v));

    void *folded = yp_alloc_host(t, mock_parameters(o.width, true) * sizeof(double));
    if (wide)
        mock_fold_oracle(o.width, v.at[0], v.at[1], folded);
    else
        mock_fold(o.width, v.at[0], v.at[1], folded);
    o.pass = NN_MODEL_FORWARD;
    struct mock *mock = pass_of_mock(t, &o, folded, NULL, image, NULL);
    add_result(t, r, refiner_images("output", b, MOCK_CHANNELS, quarter, quarter),
               mock_result(mock), wide);
    mock_destroy(mock);

    o.pass = NN_MODEL_GRADIENT;
    void *gradient = yp_device_alloc(o.device, parameters * sizeof(double));
    yp_got(t, gradient);
    mock = pass_of_mock(t, &o, v.at[0], gradient, image, target);
    add_result(t, r, losses_tensor(b), mock_result(mock), wide);
    yp_ok(t, mock_update_statistics(mock, v.at[REFINER_STATISTICS]));
    mock_destroy(mock);
    const struct refiner_vectors gradients = {.at = {fetched(t, gradient, parameters, wide)},
                                              .wide = wide};
    v.at[REFINER_PARAMETERS] = NULL;
    r->count +=
        refiner_values_of(refiner_mock_table, &o.width, &gradients, ".grad", r->results + r->count);
    r->count += refiner_values_of(refiner_mock_table, &o.width, &v, "", r->results + r->count);
    judge(t, r, true, wide);
    yp_device_free(o.device, gradient);
}

YP_TEST(refiner_reference, mock, .tags = "stress small", .parallel = true, .budgets = BUDGETS)
{
    static struct reference r;
    reference_open(t, &r, "mock", "expected");
    check_mock(t, &r, true);
    check_mock(t, &r, false);
    safetensors_close(r.expected);
}
