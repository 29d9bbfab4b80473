/* Cases whose times are told and so always the same, near their budgets and far from them. */
#include <yieldpoint/yieldpoint.h>

#define TELLS(more_) \
    "echo '{{\"measure\": \"work\", \"seconds\": [1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3, " \
    "1e-3]}'" more_

YP_COMMAND(slack, tight, .command = TELLS(""),
           .budgets = YP_BUDGETS(yp_max_latency("work", 1.5e-3)));
YP_COMMAND(slack, loose, .command = TELLS(""), .budgets = YP_BUDGETS(yp_max_latency("work", 5e-3)));
YP_COMMAND(slack, unbudgeted, .command = TELLS(""));
YP_COMMAND(slack, broken, .command = TELLS("; echo '{{\"fail\": \"no\"}'"));
YP_COMMAND(slack, untimed, .command = "echo '{{\"value\": \"loss\", \"number\": 0.25}'",
           .budgets = YP_BUDGETS(yp_max_value("loss", 0.5)));

/* Without a budget, of figures that have ceilings and of memory; not selected by "slack". */
YP_TEST(fresh, product)
{
    enum { N = 1 << 16 };
    float *x = yp_alloc(t, N * sizeof *x);
    for (int i = 0; i < N; i++)
        x[i] = (float)i;
    yp_measure (t, "sum", .bytes = N * sizeof *x, .traffic = YP_READ, .footprint = N * sizeof *x,
                .max_seconds = 0.05) {
        float sum = 0;
        for (int i = 0; i < N; i++)
            sum += x[i];
        yp_keep(sum);
    }
}
