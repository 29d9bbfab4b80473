#include "suites/pipelines.h"

#include "suites/plain_linear.h"
#include "suites/score_error.h"

struct rx_pipeline *open_pipeline(struct yp_case *t, struct yp_device *device,
                                  const struct rx_pipeline_options *options)
{
    struct rx_pipeline *pipeline = rx_pipeline_create(device, options);
    yp_got(t, pipeline);
    return pipeline;
}

float *parameters_of(struct yp_case *t, const struct rx_pipeline *pipeline)
{
    return yp_alloc_host(t, rx_pipeline_parameters(pipeline) * sizeof(float));
}

struct rx_plain *open_plain(struct yp_case *t, const struct rx_pipeline_options *options,
                            const struct rx_tile *tile)
{
    struct rx_plain *plain = rx_plain_create(yp_device_cpu(), options, tile);
    yp_got(t, plain);
    return plain;
}

double plain_gradient(struct yp_case *t, const struct rx_pipeline_options *options,
                      const struct rx_tile *tile, const double *at, double *gradient)
{
    struct rx_plain *plain = open_plain(t, options, tile);
    size_t outputs = rx_plain_outputs(plain),
           stride = tile->stride > 0 ? tile->stride : tile->channels;
    double *share = yp_alloc_host(t, 2 * outputs * sizeof *share), *losses = share + outputs;
    double kept = 0, loss = 0;
    for (size_t p = 0; p < tile->pixels; p++)
        kept += finite_pixel(tile->values + p * stride, tile->channels);
    for (size_t p = 0; p < outputs; p++) /* a penalty stands behind the pixels */
        share[p] = p < tile->pixels ? 1 / kept : 1;
    rx_plain_losses(plain, at, losses);
    rx_plain_vjp(plain, at, share, gradient);
    for (size_t p = 0; p < outputs; p++)
        loss += share[p] * losses[p];
    rx_plain_destroy(plain);
    return loss;
}

double scores_off(struct yp_case *t, const struct rx_pipeline_options *options,
                  const struct rx_tile *tile, const double *at, const float *scores)
{
    double *right = yp_alloc_host(t, tile->pixels * sizeof *right);
    struct rx_plain *plain = open_plain(t, options, tile);
    rx_plain_scores(plain, at, right);
    rx_plain_destroy(plain);
    return relative_error(t, scores, right, tile->pixels);
}
