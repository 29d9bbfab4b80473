/* Graph attention by one operator, and by operators that write every step of it: the same. */
#include "suites/graph_attention.h"

#include <math.h>
#include <string.h>

/* ||a - b|| / ||b|| */
static double distance(const float *a, const float *b, size_t count)
{
    double off = 0, norm = 0;
    for (size_t i = 0; i < count; i++) {
        off += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        norm += (double)b[i] * (double)b[i];
    }
    return sqrt(off / norm);
}

static void check(struct yp_case *t, const char *what, const float *fused, const float *unfused,
                  size_t count)
{
    const double off = distance(fused, unfused, count);
    yp_value(t, what, off);
    yp_expect(t, off < 1e-6, "%s of the two forms differs by %g", what, off);
}

/* With hardly an edge, with those of players and with all of them. */
YP_TEST(graph_attention, forms_agree, .tags = "stress small",
        .axes = YP_AXES(yp_axis_double("density", 0.02, 0.4, 1)), .parallel = true)
{
    const struct graph_attention_size size = {3, 4, 64, yp_double(t, "density")};
    struct graph_attention fused, unfused;
    graph_attention_open(&fused, t, &size, true);
    graph_attention_open(&unfused, t, &size, false);
    graph_attention_step(&fused, t);
    graph_attention_step(&unfused, t);
    check(t, "y", nn_model_value(fused.model, fused.y), nn_model_value(unfused.model, unfused.y),
          fused.x_count);
    check(t, "dx", nn_model_cotangent(fused.model, fused.x),
          nn_model_cotangent(unfused.model, unfused.x), fused.x_count);
    check(t, "gradient", fused.gradient, unfused.gradient, fused.parameter_count);
    graph_attention_close(&fused);
    graph_attention_close(&unfused);
}

/* More features of an edge than the kernels have room for are refused before anything is read. */
YP_TEST(graph_attention, features, .tags = "stress small", .parallel = true)
{
    const struct nn_shape shape = {.size = {4, 2, 7, 6, 17, 5, 10}, .setting = {0.2}};
    const struct nn_call call = {.device = yp_device(t), .shape = &shape};
    const struct nn_version *version = nn_version(&nn_gatv2, "cpu", NN_FP32);
    yp_got(t, version);
    yp_expect(t,
              version->forward(&call) == YP_UNSUPPORTED &&
                  strstr(yp_last_error(), "an edge has 17 features: at most 16") != NULL,
              "%s", yp_last_error());
}
