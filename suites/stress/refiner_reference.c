/* The refiner beside PyTorch: models/refiner/reference/make.py. */
#include "models/refiner/weights.h"
#include "suites/stress/reference.h"

#include <stdio.h>
#include <string.h>

static size_t size_of(struct yp_case *t, const struct reference *r, const char *name)
{
    char whole[64];
    snprintf(whole, sizeof whole, "size.%s", name);
    return (size_t)reference_number(t, r, whole);
}

static const double *read_images(struct yp_case *t, const struct reference *r, const char *name,
                                 struct state_tensor images)
{
    char path[512];
    double *read = refiner_read_images(reference_path(r, name, path), &images);
    yp_got(t, read);
    double *values = yp_alloc_host(t, state_elements(&images) * sizeof *values);
    memcpy(values, read, state_elements(&images) * sizeof *values);
    yp_device_free(yp_device_cpu(), read);
    return values;
}

static void add_result(struct yp_case *t, struct reference *r, struct state_tensor tensor,
                       const void *from)
{
    reference_add(r, tensor, reference_fetch(t, r, from, state_elements(&tensor)),
                  r->way == REFERENCE_DOUBLE);
}

static struct state_tensor losses_tensor(size_t batch)
{
    return (struct state_tensor){.name = "losses", .axes = 1, .shape = {batch}};
}

/* The bias of a convolution before a batch norm. */
static bool is_rounding(const struct reference *r, const char *name)
{
    char other[SAFETENSORS_NAME];
    if (strncmp(name, "layer", 5) != 0 || strcmp(name + 8, "conv.bias.grad") != 0)
        return false;
    snprintf(other, sizeof other, "%.8snorm.bias.grad", name);
    return safetensors_find(r->expected, other) != NULL;
}

/* Only variants leave out results. */
static void check(struct yp_case *t, const char *model, const char *variant,
                  void (*run)(struct yp_case *t, struct reference *r))
{
    static struct reference r;
    r = (struct reference){.model = model,
                           .variant = variant,
                           .all = strcmp(variant, "expected") == 0 || strcmp(variant, "int8") == 0,
                           .plain = 2e-5,
                           .run = run,
                           .is_rounding = is_rounding};
    reference_check(t, &r);
}

#define BUDGETS \
    REFERENCE_BUDGETS("what the refiner says of itself beside PyTorch"), \
        yp_max_value("losses to plain", 2), yp_max_value("gradient to plain", 2)

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
    yp_ok(t, yp_device_copy(reference_device(t, r), to,
                            r->way == REFERENCE_DOUBLE ? (const void *)values : narrow,
                            count * reference_element(r)));
}

/* One pass; the caller destroys the mock. */
static struct mock *pass_of_mock(struct yp_case *t, const struct reference *r,
                                 const struct mock_options *o, const void *parameters,
                                 void *gradient)
{
    const size_t bytes =
        mock_parameters(o->width, o->pass == NN_MODEL_FORWARD) * reference_element(r);
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
    const bool wide = r->way == REFERENCE_DOUBLE;
    struct mock_options o = {.device = reference_device(t, r),
                             .oracle = wide,
                             .plain = r->way == REFERENCE_PLAIN,
                             .width = size_of(t, r, "width"),
                             .batch = size_of(t, r, "batch"),
                             .tile = size_of(t, r, "tile")};
    const size_t parameters = mock_parameters(o.width, false);
    struct state_vectors v = {
        .at = {yp_alloc_host(t, parameters * reference_element(r)),
               yp_alloc_host(t, mock_statistics(o.width) * reference_element(r))},
        .wide = wide};
    char path[512];
    yp_ok(t, state_load(reference_path(r, "weights.safetensors", path), refiner_mock_table,
                        &o.width, state_take_vectors, &v));

    void *folded = yp_alloc_host(t, mock_parameters(o.width, true) * reference_element(r));
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
    void *gradient = yp_device_alloc(o.device, parameters * reference_element(r));
    yp_got(t, gradient);
    mock = pass_of_mock(t, r, &o, v.at[STATE_PARAMETERS], gradient);
    add_result(t, r, losses_tensor(o.batch), mock_result(mock));
    yp_ok(t, mock_update_statistics(mock, v.at[STATE_STATISTICS]));
    mock_destroy(mock);
    const struct state_vectors gradients = {.at = {reference_fetch(t, r, gradient, parameters)},
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
    check(t, "refiner/mock", "expected", run_mock);
}

/* -- the vision transformer ------------------------------------------------------------------- */

static struct vit_options options_of(struct yp_case *t, const struct reference *r)
{
    struct vit_options o = {.device = reference_device(t, r),
                            .oracle = r->way == REFERENCE_DOUBLE,
                            .plain = r->way == REFERENCE_PLAIN,
                            .frozen = size_of(t, r, "int8") > 0 ? VIT_INT8_WEIGHTS : VIT_FLOAT,
                            .alpha = reference_number(t, r, "size.alpha"),
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
    const size_t bytes = vit_elements(o, VIT_PARTS) * reference_element(r), b = o->batch,
                 tile = o->tile;
    struct refiner_vit vit = {.vit = vit_create(o),
                              .vectors = {.at = {yp_alloc_host(t, bytes)}, .wide = o->oracle}};
    char path[512];
    void *there = yp_device_alloc(o->device, bytes);
    yp_got(t, vit.vit);
    yp_got(t, there);
    yp_ok(t, vit_start(vit.vit));
    yp_ok(t, state_load(reference_path(r, "weights.safetensors", path), refiner_vit_table, o,
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
    void *gradient = yp_device_alloc(o.device, parameters * reference_element(r));
    yp_got(t, gradient);
    vit = pass_of_vit(t, r, &o, gradient);
    add_result(t, r, losses_tensor(o.batch), vit_result(vit));
    vit_destroy(vit);
    const struct state_vectors gradients = {.at = {reference_fetch(t, r, gradient, parameters)},
                                            .wide = o.oracle};
    r->count += state_values_of(refiner_vit_table, &o, &gradients, ".grad", r->results + r->count);
    yp_device_free(o.device, gradient);
}

YP_TEST(refiner_reference, vit, .tags = "stress small", .parallel = true,
        .budgets = YP_BUDGETS(BUDGETS),
        .axes = YP_AXES(yp_axis_string("variant", "expected", "int8", "first_block",
                                       "with_class_token", "all_frozen")))
{
    check(t, "refiner/vit", yp_string(t, "variant"), run_vit);
}
