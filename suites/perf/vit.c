/* The refiner's vision transformer at full width: a block of the encoder by how its matrices are
 * kept, a few blocks, and the whole of it. */
#include "models/refiner/plan.h"
#include "models/train/optimiser.h"
#include "suites/bell.h"

#include <string.h>
#include <yieldpoint/yieldpoint.h>

struct work {
    struct vit *vit;
    struct vit_options o;
    size_t parameters, taken; /* elements; bytes before the work was there */
    float *x, *gradient, *m, *v;
};

static float *zeros(struct yp_case *t, size_t count)
{
    float *x = yp_alloc(t, count * sizeof *x);
    memset(x, 0, count * sizeof *x);
    return x;
}

static void open_work(struct work *w, struct yp_case *t, const struct vit_options *o)
{
    struct yp_memory before;
    *w = (struct work){.o = *o, .parameters = vit_elements(o, VIT_PARTS)};
    const size_t pixels = o->batch * o->tile * o->tile;
    const double *image = bell(t, 1, pixels * o->channels), *target = NULL;
    if (o->pass == NN_MODEL_GRADIENT)
        target = bell(t, 2, pixels * o->head_width);
    yp_device_memory(yp_device(t), &before);
    w->taken = before.allocated;
    w->vit = vit_create(o);
    yp_got(t, w->vit);
    yp_ok(t, vit_start(w->vit));
    w->x = zeros(t, w->parameters);
    yp_ok(t, vit_initialise(w->vit, yp_seed(t), w->x));
    yp_ok(t, vit_set_input(w->vit, image));
    if (target == NULL)
        return;
    yp_ok(t, vit_set_target(w->vit, target));
    w->gradient = zeros(t, w->parameters);
    w->m = zeros(t, w->parameters);
    w->v = zeros(t, w->parameters);
}

/* What the work has taken beside what was planned, in parts of it. */
static void compare_with_plan(struct yp_case *t, const struct work *w)
{
    struct refiner_plan plan;
    struct yp_memory now;
    yp_device_memory(yp_device(t), &now);
    yp_ok(t, vit_plan(&w->o, w->gradient != NULL ? REFINER_TRAIN_STEP : REFINER_FORWARD, &plan));
    yp_value(t, "bytes", (double)(now.allocated - w->taken));
    yp_value(t, "off the plan", (double)(now.allocated - w->taken) / (double)plan.total - 1);
}

static double flops_of(const struct vit *vit)
{
    return nn_model_flops(vit_encoder(vit)) + nn_model_flops(vit_head(vit));
}

/* The encoder with one block, 257 tokens. */
YP_TEST(vit, block, .tags = "perf medium",
        .axes = YP_AXES(yp_axis_string("frozen", "float", "int8", "int8 rows")))
{
    const char *frozen = yp_string(t, "frozen");
    struct vit_options o = vit_full(yp_device(t));
    struct work w;
    o.frozen = strcmp(frozen, "int8") == 0        ? VIT_INT8_WEIGHTS
               : strcmp(frozen, "int8 rows") == 0 ? VIT_INT8_ROWS
                                                  : VIT_FLOAT;
    o.depth = 1, o.trained = 0, o.rank = 0;
    open_work(&w, t, &o);
    enum yp_status status = YP_OK;
    yp_measure (t, "forward", .items = 1, .unit = "samples",
                .flops = nn_model_flops(vit_encoder(w.vit)),
                .arithmetic = o.frozen == VIT_INT8_ROWS ? YP_INT8 : YP_FP32)
        status = vit_encode(w.vit, w.x, 0);
    yp_ok(t, status);
    yp_value(t, "matrix bytes", (double)nn_model_bytes(vit_encoder(w.vit))->constants);
    vit_destroy(w.vit);
}

static void measure(struct yp_case *t, struct work *w, size_t samples)
{
    const double update = 7 * sizeof(float) * (double)w->parameters;
    const bool training = w->gradient != NULL;
    struct train_adamw how = train_adamw_defaults();
    uint64_t step = 0;
    enum yp_status status = YP_OK;
    yp_measure (t, training ? "step" : "inference", .items = (double)w->o.batch, .unit = "samples",
                .flops = flops_of(w->vit), .arithmetic = YP_FP32,
                .bounds = YP_WORK(yp_then(),
                                  yp_traffic(YP_COPY, training ? update : 1, YP_FOOTPRINT_MEMORY)),
                .warmup = 1, .samples = samples) {
        yp_phase (t, "encoder")
            status = vit_encode(w->vit, w->x, 0);
        yp_phase (t, "head")
            status = status == YP_OK ? vit_refine(w->vit, w->x, 0) : status;
        if (training) {
            yp_phase (t, "backward")
                status =
                    status == YP_OK ? vit_pass(w->vit, w->x, w->gradient, NN_MODEL_BACK) : status;
            yp_phase (t, "optimiser")
                train_adamw_step(&how, ++step, w->parameters, w->gradient, w->m, w->v, w->x);
        }
    }
    yp_ok(t, status);
    compare_with_plan(t, w);
    vit_destroy(w->vit);
}

static void run(struct yp_case *t, size_t depth, size_t samples)
{
    struct vit_options o = vit_full(yp_device(t));
    struct work w;
    o.frozen = VIT_INT8_WEIGHTS;
    o.depth = depth;
    o.trained = depth < 2 ? depth : 2;
    o.pass = strcmp(yp_string(t, "mode"), "train") == 0 ? NN_MODEL_GRADIENT : NN_MODEL_FORWARD;
    open_work(&w, t, &o);
    measure(t, &w, samples);
}

YP_TEST(vit, depth, .tags = "perf medium",
        .axes = YP_AXES(yp_axis_string("mode", "inference", "train"), yp_axis_int("depth", 1, 4)),
        .budgets = YP_BUDGETS(yp_max_value("off the plan", 0.03),
                              yp_min_value("off the plan", -0.03)))
{
    run(t, (size_t)yp_int(t, "depth"), 10);
}

/* All 32 blocks, within 8 GiB. */
YP_TEST(vit, whole, .tags = "perf large slow", .timeout = 1200,
        .axes = YP_AXES(yp_axis_string("mode", "inference", "train")),
        .budgets = YP_BUDGETS(yp_max_value("off the plan", 0.03),
                              yp_min_value("off the plan", -0.03), yp_max_value("bytes", 8.0e9)))
{
    run(t, 32, 5);
}
