/* The vision transformer's pass over given images. */
#include "models/refiner/command/real.h"

#include "base/system/clock.h"

/* Values to start from, as the pass has its numbers. */
static enum yp_status initialise(struct ypi_refiner_pass *p, const struct vit_options *o,
                                 struct refiner_vit *of)
{
    struct vit_tensor t;
    enum yp_status status = YP_OK;
    for (size_t i = 0; status == YP_OK && vit_tensor(o, i, &t); i++) {
        struct state_tensor tensor;
        double *values = yp_device_alloc(yp_device_cpu(), t.count * sizeof *values);
        status = values != NULL ? vit_draw(o, i, p->work.seed, values) : yp_last_status();
        if (status == YP_OK && refiner_vit_table(o, i, &tensor))
            status = refiner_take_vit(of, i, &tensor, values);
        yp_device_free(yp_device_cpu(), values);
    }
    return status;
}

/* The model with its weights and images, and the vector of those that are trained; the caller
 * destroys it. */
static enum yp_status prepare(struct ypi_refiner_pass *p, bool train, struct refiner_vit *of)
{
    struct ypi_refiner_work work = p->work;
    work.train = train;
    struct vit_options o = ypi_refiner_real_options(&work);
    o.oracle = p->wide;
    of->vit = vit_create(&o);
    enum yp_status status = of->vit != NULL ? vit_start(of->vit) : yp_last_status();
    if (status != YP_OK)
        return status;
    of->vectors = (struct state_vectors){
        .at = {ypi_refiner_numbers(p, vit_elements(&o, VIT_PARTS))}, .wide = p->wide};
    if (of->vectors.at[STATE_PARAMETERS] == NULL)
        return yp_last_status();
    status = p->load != NULL ? state_load(p->load, refiner_vit_table, &o, refiner_take_vit, of)
                             : initialise(p, &o, of);
    if (status == YP_OK)
        status = vit_set_input(of->vit, p->image);
    return status == YP_OK && train ? vit_set_target(of->vit, p->aim) : status;
}

static enum yp_status infer(struct ypi_refiner_pass *p)
{
    const struct state_tensor output = ypi_refiner_real_output(&p->work);
    void *image = ypi_refiner_numbers(p, state_elements(&output));
    struct refiner_vit of = {.vit = NULL};
    enum yp_status status = image != NULL ? prepare(p, false, &of) : yp_last_status();
    if (status == YP_OK) {
        const double begun = ypi_now();
        status = vit_pass(of.vit, of.vectors.at[STATE_PARAMETERS], NULL, NN_MODEL_COPY);
        p->forward = ypi_now() - begun;
    }
    if (status == YP_OK)
        ypi_refiner_get(p, vit_result(of.vit), state_elements(&output), image);
    vit_destroy(of.vit);
    return status == YP_OK ? ypi_refiner_add(p, output, image) : status;
}

static enum yp_status learn(struct ypi_refiner_pass *p)
{
    const struct vit_options o = ypi_refiner_real_options(&p->work);
    struct state_vectors gradients = {.at = {ypi_refiner_numbers(p, vit_elements(&o, VIT_PARTS))},
                                      .wide = p->wide};
    void *gradient = gradients.at[STATE_PARAMETERS];
    struct refiner_vit of = {.vit = NULL};
    enum yp_status status = gradient != NULL ? prepare(p, true, &of) : yp_last_status();
    if (status == YP_OK) {
        const double begun = ypi_now();
        status = vit_pass(of.vit, of.vectors.at[STATE_PARAMETERS], gradient, NN_MODEL_COPY);
        p->step = ypi_now() - begun;
    }
    if (status == YP_OK)
        status = ypi_refiner_add_losses(p, vit_result(of.vit));
    vit_destroy(of.vit);
    return status == YP_OK ? ypi_refiner_add_vectors(p, refiner_vit_table, &o, &gradients, ".grad")
                           : status;
}

enum yp_status ypi_refiner_real_pass(struct ypi_refiner_pass *p)
{
    const enum yp_status status = infer(p);
    return status == YP_OK && p->gradients ? learn(p) : status;
}
