#include "perceptron.h"

#include <yieldpoint/yieldpoint.h>

YP_TEST(perceptron, gradient, .tags = "stress", .axes = YP_AXES(yp_axis_int("inputs", 128, 512)),
        .cases = YP_CASES(yp_case_of("small", .set = YP_SET(yp_set_int("items", 64))),
                          yp_case_of("medium", .set = YP_SET(yp_set_int("items", 4096)))),
        .devices = "cpu cuda",
        .budgets = YP_BUDGETS(yp_max_peak(YP_HOST, 20 * YP_MIB), yp_for_device("cpu"),
                              yp_min_share("step", 0.04)))
{
    struct perceptron p = {(size_t)yp_int(t, "items"), (size_t)yp_int(t, "inputs"), 32}, host = p;
    size_t n = perceptron_parameters(&p), labels = p.items * p.inputs,
           values = labels + p.items + n;
    /* Items, labels and parameters: the label says whether an item's first input is positive. */
    float *data = yp_alloc_host(t, values * sizeof *data), *w = data + values - n;
    for (size_t i = 0; i < values; i++)
        data[i] = (float)((i + yp_seed(t)) * 2654435761U % 65536) / 32768 - 1;
    for (size_t i = 0; i < p.items; i++)
        data[labels + i] = data[i * p.inputs] > 0;
    yp_data_hash(t, yp_hash_f32(0, data, values));

    /* The oracle's parameters, the cotangent that makes a mean of the losses, the gradient. */
    double *w64 = yp_alloc_host(t, (2 * n + p.items) * sizeof *w64), *mean = w64 + n;
    for (size_t i = 0; i < n + p.items; i++)
        w64[i] = i < n ? w[i] : 1 / (double)p.items;
    host.x = data, host.y = data + labels;
    host.work = yp_alloc_host(t, p.items * (p.hidden + 1) * sizeof(double));
    yp_check_gradient(t, &(struct yp_gradient){"losses", n, p.items, perceptron_losses,
                                               perceptron_vjp, &host, w64});

    float *there = yp_alloc(t, (values + n + p.items) * sizeof *there), *g = there + values;
    float *plain = yp_alloc_host(t, (2 * n + p.items) * sizeof *plain), *got = plain + n;
    yp_ok(t, yp_device_copy(yp_device(t), there, data, values * sizeof *data));
    p.x = there, p.y = there + labels;
    p.work = yp_alloc(t, p.items * (p.hidden + 1) * sizeof(float));
    yp_measure (t, "step", .items = (double)p.items, .unit = "items", .threads = 1,
                .flops = 4.0 * (double)(p.items * p.inputs * p.hidden))
        yp_ok(t, perceptron_gradient(yp_device(t), &p, there + values - n, g + n, g));
    yp_ok(t, yp_device_copy(yp_device(t), got, g, n * sizeof *g));
    perceptron_vjp(&host, w64, mean, mean + p.items);
    yp_ok(t, perceptron_gradient(yp_device_cpu(), &host, w, got + n, plain));
    yp_check_precision(t, &(struct yp_precision){"gradient", n, mean + p.items, plain, got});
}
