/* Cases whose times are told and so always the same, near their budgets and far from them. */
#include <string.h>
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
    yp_measure (t, "fill", .bytes = N * sizeof *x, .traffic = YP_FILL, .footprint = N * sizeof *x,
                .threads = 1, .max_seconds = 0.05) {
        memset(x, 0, N * sizeof *x);
        yp_keep(x);
    }
}

/* Integers and branches: the bytes, which are declared, do not bound it. */
YP_TEST(fresh, branchy)
{
    enum { N = 4096 };
    unsigned *x = yp_alloc(t, N * sizeof *x);
    for (unsigned i = 0; i < N; i++)
        x[i] = i + 1;
    yp_measure (t, "steps", .items = N, .unit = "numbers", .bytes = N * sizeof *x,
                .traffic = YP_READ, .footprint = N * sizeof *x, .threads = 1, .max_seconds = 0.05) {
        unsigned steps = 0;
        for (int i = 0; i < N; i++)
            for (unsigned n = x[i]; n != 1; steps++)
                n = n % 2 ? 3 * n + 1 : n / 2;
        yp_keep(steps);
    }
}
