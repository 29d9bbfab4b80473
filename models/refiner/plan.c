/* What a pass takes, by kind. */
#include "models/refiner/plan.h"

const char *refiner_work_name(enum refiner_work work)
{
    static const char *const names[REFINER_WORKS] = {"forward", "forward_backward", "train_step"};
    return names[work];
}

static enum nn_model_pass pass_of(enum refiner_work work)
{
    return work == REFINER_FORWARD ? NN_MODEL_FORWARD : NN_MODEL_GRADIENT;
}

static void begin(struct refiner_plan *plan, enum refiner_work work, size_t vector, size_t host)
{
    *plan = (struct refiner_plan){.weights = vector,
                                  .gradients = work == REFINER_FORWARD ? 0 : vector,
                                  .optimiser = work == REFINER_TRAIN_STEP ? 2 * vector : 0,
                                  .host = host};
    plan->total = plan->weights + plan->gradients + plan->optimiser + host;
}

static void add_model(struct refiner_plan *plan, const struct nn_model *model)
{
    const struct nn_model_bytes *b = nn_model_bytes(model);
    plan->frozen += b->constants;
    plan->copies += b->copies + b->prepared;
    plan->activations += b->kept;
    plan->transients += b->arena - b->constants - b->copies - b->prepared - b->kept;
    plan->total += b->arena;
    plan->flops += nn_model_flops(model);
}

static size_t real_bytes(bool oracle)
{
    return oracle ? sizeof(double) : sizeof(float);
}

enum yp_status mock_plan(const struct mock_options *options, enum refiner_work work,
                         struct refiner_plan *out)
{
    struct mock_options o = *options;
    o.pass = pass_of(work);
    struct mock *mock = mock_create(&o);
    if (mock == NULL)
        return yp_last_status();
    const size_t count = mock_parameters(o.width, work == REFINER_FORWARD);
    begin(out, work, count * real_bytes(o.oracle), mock_description(&o));
    add_model(out, mock_model(mock));
    mock_destroy(mock);
    return YP_OK;
}

enum yp_status vit_plan(const struct vit_options *options, enum refiner_work work,
                        struct refiner_plan *out)
{
    struct vit_options o = *options;
    o.pass = pass_of(work);
    struct vit *vit = vit_create(&o);
    if (vit == NULL)
        return yp_last_status();
    begin(out, work, vit_elements(&o, VIT_PARTS) * real_bytes(o.oracle), vit_description(&o));
    add_model(out, vit_encoder(vit));
    add_model(out, vit_head(vit));
    vit_destroy(vit);
    return YP_OK;
}
