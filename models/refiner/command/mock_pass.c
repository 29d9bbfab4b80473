/* The mock's pass over given images. */
#include "models/refiner/command/mock.h"

#include "base/system/clock.h"

/* Those of training's start; of an oracle the same values, widened in place from the end. */
static void initialise(const struct ypi_refiner_pass *p, const struct state_vectors *v)
{
    const size_t width = p->work.width;
    const size_t counts[] = {mock_parameters(width, false), mock_statistics(width)};
    mock_initialise(width, p->work.seed, v->at[STATE_PARAMETERS], v->at[STATE_STATISTICS]);
    for (int k = 0; k < 2 && p->wide; k++)
        for (size_t i = counts[k]; i-- > 0;)
            ((double *)v->at[k])[i] = (double)((float *)v->at[k])[i];
}

static enum yp_status weights(struct ypi_refiner_pass *p, struct state_vectors *v)
{
    const size_t width = p->work.width;
    v->at[STATE_PARAMETERS] = ypi_refiner_numbers(p, mock_parameters(width, false));
    v->at[STATE_STATISTICS] = ypi_refiner_numbers(p, mock_statistics(width));
    if (v->at[STATE_PARAMETERS] == NULL || v->at[STATE_STATISTICS] == NULL)
        return yp_last_status();
    if (p->load != NULL)
        return state_load(p->load, refiner_mock_table, &width, state_take_vectors, v);
    initialise(p, v);
    return YP_OK;
}

/* A pass, with its time; the caller destroys the mock. */
static enum yp_status run(const struct ypi_refiner_pass *p, const void *parameters, void *gradient,
                          double *seconds, struct mock **mock)
{
    struct ypi_refiner_work work = p->work;
    const size_t pixels = work.batch * work.tile * work.tile * MOCK_CHANNELS;
    work.train = gradient != NULL;
    struct mock_options options = ypi_refiner_mock_options(&work);
    options.oracle = p->wide;
    *mock = mock_create(&options);
    enum yp_status status = *mock != NULL ? mock_start(*mock) : yp_last_status();
    if (status != YP_OK)
        return status;
    ypi_refiner_put(p, p->image, pixels, mock_input(*mock));
    if (gradient != NULL)
        ypi_refiner_put(p, p->aim, pixels / 16, mock_target(*mock));
    const double begun = ypi_now();
    status = mock_pass(*mock, parameters, gradient, NN_MODEL_COPY);
    *seconds = ypi_now() - begun;
    return status;
}

static enum yp_status infer(struct ypi_refiner_pass *p, const struct state_vectors *v)
{
    const size_t width = p->work.width;
    const struct state_tensor output = ypi_refiner_mock_output(&p->work);
    void *folded = ypi_refiner_numbers(p, mock_parameters(width, true));
    void *image = ypi_refiner_numbers(p, state_elements(&output));
    struct mock *mock = NULL;
    if (folded == NULL || image == NULL)
        return yp_last_status();
    if (p->wide)
        mock_fold_oracle(width, v->at[STATE_PARAMETERS], v->at[STATE_STATISTICS], folded);
    else
        mock_fold(width, v->at[STATE_PARAMETERS], v->at[STATE_STATISTICS], folded);
    const enum yp_status status = run(p, folded, NULL, &p->forward, &mock);
    if (status == YP_OK)
        ypi_refiner_get(p, mock_result(mock), state_elements(&output), image);
    mock_destroy(mock);
    return status == YP_OK ? ypi_refiner_add(p, output, image) : status;
}

static enum yp_status learn(struct ypi_refiner_pass *p, const struct state_vectors *v)
{
    const size_t width = p->work.width;
    struct state_vectors gradients = {.wide = p->wide}, statistics = *v;
    struct mock *mock = NULL;
    void *gradient = ypi_refiner_numbers(p, mock_parameters(width, false));
    if (gradient == NULL)
        return yp_last_status();
    gradients.at[STATE_PARAMETERS] = gradient;
    statistics.at[STATE_PARAMETERS] = NULL;
    enum yp_status status = run(p, v->at[STATE_PARAMETERS], gradient, &p->step, &mock);
    if (status == YP_OK)
        status = mock_update_statistics(mock, v->at[STATE_STATISTICS]);
    if (status == YP_OK)
        status = ypi_refiner_add_losses(p, mock_result(mock));
    mock_destroy(mock);
    if (status == YP_OK)
        status = ypi_refiner_add_vectors(p, refiner_mock_table, &width, &gradients, ".grad");
    return status == YP_OK ? ypi_refiner_add_vectors(p, refiner_mock_table, &width, &statistics, "")
                           : status;
}

/* Inference; with gradients a pass of training from the same weights, too. */
enum yp_status ypi_refiner_mock_pass(struct ypi_refiner_pass *p)
{
    struct state_vectors v = {.wide = p->wide};
    enum yp_status status = weights(p, &v);
    if (status == YP_OK)
        status = infer(p, &v);
    return status == YP_OK && p->gradients ? learn(p, &v) : status;
}
