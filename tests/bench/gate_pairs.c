/*
 * How many pairs `yieldpoint gate` takes until it is sure, by how far the head is off and how much
 * pairs scatter: the rule of gate/pair/duel.c, asked after each pair, on pairs that are drawn here,
 * one in twenty of them four times as wide.
 *
 * usage: gate-pairs [CASES [TRIALS]]
 *     CASES   that share the gate's error of 1 % (10)
 *     TRIALS  of each cell (300)
 */
#include "base/numbers/sequential.h"
#include "base/numbers/splitmix.h"
#include "base/numbers/stats.h"
#include "base/text/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 2000 };

static const double threshold = 0.03;
static const double scatters[] = {0.005, 0.01, 0.02, 0.05, 0.1};
static const double effects[] = {-0.05, 0, 0.01, 0.02, 0.04, 0.05, 0.07, 0.1, 0.2, 0.5};

struct outcome {
    double median, most; /* pairs: the 0.5 and the 0.9 quantile; MOST: not sure by then */
    int wrong;
};

/* The number of pairs, and whether the answer is wrong. Late looks are 2 % apart, which changes no
 * rate but for the better. */
static int pairs_of(struct ypi_seed seed, double effect, double scatter, double error, bool *wrong)
{
    double x[MOST];
    double limit = log1p(threshold);
    *wrong = false;
    int next = 1;
    for (int n = 1; n <= MOST; n++) {
        double width = ypi_seed_uniform(&seed) < 0.05 ? 4 : 1;
        x[n - 1] = log1p(effect) + width * scatter * ypi_seed_normal(&seed);
        if (n < next)
            continue;
        next = n + 1 + n / 50;
        bool slower = ypi_evidence(x, (size_t)n, limit, 1) > log(1 / error);
        bool same = ypi_evidence(x, (size_t)n, limit, -1) > log(1 / error);
        if (slower || same) {
            *wrong = slower != (effect > threshold);
            return n;
        }
    }
    return MOST;
}

static struct outcome try_all(double effect, double scatter, double error, int trials)
{
    double *pairs = ypi_calloc((size_t)trials, sizeof *pairs);
    struct outcome o = {0};
    for (int t = 0; t < trials; t++) {
        bool wrong = false;
        pairs[t] = pairs_of(ypi_seed_of(1, (uint64_t)(1e4 * scatter), (uint64_t)t), effect, scatter,
                            error, &wrong);
        o.wrong += wrong;
    }
    o.median = ypi_quantile(pairs, (size_t)trials, 0.5);
    o.most = ypi_quantile(pairs, (size_t)trials, 0.9);
    free(pairs);
    return o;
}

int main(int argc, char **argv)
{
    int cases = argc > 1 ? atoi(argv[1]) : 10;
    int trials = argc > 2 ? atoi(argv[2]) : 300;
    if (cases < 1 || trials < 1)
        return 4;
    int wrong = 0;
    int tried = 0;
    printf("| head is slower by |");
    for (size_t s = 0; s < sizeof scatters / sizeof *scatters; s++)
        printf(" %g %% |", 100 * scatters[s]);
    printf("\n|---|---|---|---|---|---|\n");
    for (size_t e = 0; e < sizeof effects / sizeof *effects; e++) {
        printf("| %g %% |", 100 * effects[e]);
        for (size_t s = 0; s < sizeof scatters / sizeof *scatters; s++) {
            struct outcome o = try_all(effects[e], scatters[s], 0.01 / cases, trials);
            if (o.median >= MOST)
                printf(" more than %d |", MOST);
            else
                printf(" %.0f (%.0f) |", o.median, o.most);
            fflush(stdout);
            wrong += o.wrong;
            tried += trials;
        }
        printf("\n");
    }
    printf("\nwrong: %d of %d, allowed %g in each\n", wrong, tried, 0.01 / cases);
    return 0;
}
