/*
 * How often `yieldpoint trend` alarms where nothing changed, and how often it finds a step, in
 * series that are drawn here and go through the command's own search (gate/trend/find.c) with its
 * default error of 1 % and every change told, however small.
 *
 * usage: trend-errors [SERIES [SEED]]
 *     SERIES  drawn for each rate of false alarms (1000), which is then known to within 0.6 % (two
 *             sigma, at 1 %); a fifth of them for what is found
 *     SEED    of the series (1)
 */
#include "base/numbers/splitmix.h"
#include "base/numbers/stats.h"
#include "base/text/text.h"
#include "gate/trend/trend.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 1000 };

/* -- series -------------------------------------------------------------------------------- */

enum shape { NORMAL, STUDENT, CAUCHY, SUM };

/* Neighbours are a first-order autoregression with this correlation; SUM is one half of that and
 * one half of independent noise. The standard deviation is 1, but of CAUCHY, which has none. */
struct noise {
    const char *name;
    double correlation;
    enum shape shape;
};

static const struct noise noises[] = {
    {"independent, normal", 0, NORMAL},
    {"independent, Student's t of 3", 0, STUDENT},
    {"independent, Cauchy", 0, CAUCHY},
    {"AR(1), 0.3", 0.3, NORMAL},
    {"AR(1), 0.5", 0.5, NORMAL},
    {"AR(1), 0.8", 0.8, NORMAL},
    {"AR(1), 0.9, and as much independent", 0.9, SUM},
};

static double draw_one(struct ypi_seed *seed, enum shape shape, double value)
{
    if (shape == SUM)
        return (value + ypi_seed_normal(seed)) / sqrt(2);
    if (shape == CAUCHY)
        return tan(3.14159265358979324 * (ypi_seed_uniform(seed) - 0.5));
    if (shape == NORMAL)
        return value;
    double squares = 0;
    for (int i = 0; i < 3; i++) {
        double normal = ypi_seed_normal(seed);
        squares += normal * normal;
    }
    return value / sqrt(squares); /* a t of 3, over its deviation of the square root of 3 */
}

/* Logarithms of seconds: noise, a step in the middle, and a line that rises by `line` in all. */
static void draw(struct ypi_seed seed, const struct noise *noise, double step, double line,
                 struct ypi_trend_series *out)
{
    double r = noise->correlation;
    double value = ypi_seed_normal(&seed);
    for (size_t i = 0; i < out->count; i++) {
        out->points[i] =
            (struct ypi_trend_point){.value = draw_one(&seed, noise->shape, value), .share = NAN};
        out->points[i].value += i >= out->count / 2 ? step : 0;
        out->points[i].value += line * (double)i / (double)(out->count - 1);
        value = r * value + sqrt(1 - r * r) * ypi_seed_normal(&seed);
    }
}

/* -- what is found ------------------------------------------------------------------------- */

struct outcome {
    double changes, drifts, any; /* of all series, in per cent: any, one, either */
    double one;                  /* just one change */
    double error;                /* of its place: the 0.9 quantile, in points */
};

static struct outcome try_all(const struct noise *noise, size_t count, double step, double line,
                              int series, uint64_t seed)
{
    static const struct ypi_trend_request request = {.error = 0.01, .change = 0};
    struct ypi_trend_point points[MOST];
    struct outcome o = {0};
    double part = 100.0 / series;
    double *errors = ypi_calloc((size_t)series, sizeof *errors);
    size_t found = 0;
    size_t middle = count / 2;
    for (int i = 0; i < series; i++) {
        struct ypi_trend_series s = {.quantity = YPI_TREND_TIME, .points = points, .count = count};
        struct ypi_trend trend = {.series = &s, .series_count = 1};
        draw(ypi_seed_of(seed, count, (uint64_t)i), noise, step, line, &s);
        ypi_trend_find(&trend, &request);
        o.changes += part * (s.change_count > 0);
        o.drifts += part * s.drifts;
        o.any += part * (s.change_count > 0 || s.drifts);
        o.one += part * (s.change_count == 1);
        if (s.change_count == 1)
            errors[found++] = fabs((double)s.changes[0].place - (double)middle);
        free(s.changes);
    }
    o.error = found > 0 ? ypi_quantile(errors, found, 0.9) : NAN;
    free(errors);
    return o;
}

/* -- tables -------------------------------------------------------------------------------- */

static const size_t counts[] = {20, 40, 60, 200, 1000}; /* the last: false alarms alone */
enum { COUNTS = sizeof counts / sizeof *counts, NOISES = sizeof noises / sizeof *noises };

static void print_alarms(int series, uint64_t seed)
{
    printf("Nothing changed: per cent of series with a change / a drift / either\n\n| noise |");
    for (size_t c = 0; c < COUNTS; c++)
        printf(" %zu points |", counts[c]);
    printf("\n|---|---|---|---|---|---|\n");
    for (size_t n = 0; n < NOISES; n++) {
        printf("| %s |", noises[n].name);
        for (size_t c = 0; c < COUNTS; c++) {
            struct outcome o = try_all(&noises[n], counts[c], 0, 0, series, seed);
            printf(" %.1f / %.1f / %.1f |", o.changes, o.drifts, o.any);
            fflush(stdout);
        }
        puts("");
    }
}

static void print_power(int series, uint64_t seed)
{
    static const size_t told[] = {0, 1, 4, 5};
    printf("\nA step in the middle, in standard deviations (t of 3 and AR: of all noise): per cent "
           "of series with\njust one change (nine of ten of those within so many points of it)\n\n"
           "| noise | step |");
    for (size_t c = 0; c < COUNTS - 1; c++)
        printf(" %zu points |", counts[c]);
    printf("\n|---|---|---|---|---|---|\n");
    for (size_t n = 0; n < sizeof told / sizeof *told; n++)
        for (int step = 1; step <= 3; step++) {
            printf("| %s | %d |", noises[told[n]].name, step);
            for (size_t c = 0; c < COUNTS - 1; c++) {
                struct outcome o = try_all(&noises[told[n]], counts[c], step, 0, series, seed);
                printf(" %.0f (%.0f) |", o.one, o.error);
                fflush(stdout);
            }
            puts("");
        }
}

static void print_drifts(int series, uint64_t seed)
{
    printf("\nA line that rises by so many standard deviations in all: per cent of series with a "
           "drift / a change\n\n| noise | rise |");
    for (size_t c = 0; c < COUNTS - 1; c++)
        printf(" %zu points |", counts[c]);
    printf("\n|---|---|---|---|---|---|\n");
    for (size_t n = 0; n < NOISES; n += 4)
        for (int rise = 2; rise <= 6; rise += 2) {
            printf("| %s | %d |", noises[n].name, rise);
            for (size_t c = 0; c < COUNTS - 1; c++) {
                struct outcome o = try_all(&noises[n], counts[c], 0, rise, series, seed);
                printf(" %.0f / %.0f |", o.drifts, o.changes);
                fflush(stdout);
            }
            puts("");
        }
}

int main(int argc, char **argv)
{
    int series = argc > 1 ? atoi(argv[1]) : 1000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    if (argc > 3 || series < 1) {
        fprintf(stderr, "usage: trend-errors [SERIES [SEED]]\n");
        return 4;
    }
    print_alarms(series, seed);
    print_power((series + 4) / 5, seed);
    print_drifts((series + 4) / 5, seed);
    return 0;
}
