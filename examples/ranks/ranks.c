/* The mean of a large array, whose parts lie in several processes. */
#include <stdlib.h>
#include <yieldpoint/yieldpoint.h>

enum { NUMBERS = 1 << 20 };

static double mean(const double *part, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += part[i];
    return sum / count;
}

YP_TEST(means, parts, .ranks = "1 2", .budgets = YP_BUDGETS(yp_min_value("mean", 0)))
{
    const int count = NUMBERS / yp_ranks(t);
    double *part = yp_alloc(t, (size_t)count * sizeof *part);
    for (int i = 0; i < count; i++)
        part[i] = yp_rank(t) * count + i;
    yp_barrier(t);
    double found = 0;
    yp_measure (t, "mean", .items = count, .unit = "numbers") {
        found = mean(part, count);
        yp_keep(found);
    }
    yp_value(t, "mean", found);
}

/* Half of the numbers take half of the time. */
YP_RELATION(means, strong, .budgets = YP_BUDGETS(yp_min_value("efficiency", 0.6)),
            .relation = yp_strong_scaling("ranks.c::parts", "mean", "ranks"));

/* Rank 1 of two is wrong: it returns, and the other one waits. */
YP_TEST(means, returns_early, .ranks = "2", .xfail = "rank 1 does not wait", .xfail_strict = true)
{
    if (yp_rank(t) == 1)
        return;
    yp_barrier(t);
}
