#include "base/numbers/change_points.h"
#include "base/numbers/splitmix.h"

#include <criterion/criterion.h>
#include <math.h>

TestSuite(change_points, .timeout = 200);

enum { LEAST = 5, MOST = 300 };
/* A tenth of the draws is enough for a sanitizer, and too few for some of the rates. */
#ifdef __SANITIZE_ADDRESS__
enum { PART = 10 };
#else
enum { PART = 1 };
#endif

struct noise {
    double sd;
    double correlation;
    bool heavy; /* Cauchy's distribution instead of the normal one */
};

static void draw(struct ypi_seed *seed, struct noise noise, double *out, size_t count)
{
    double r = noise.correlation;
    double value = ypi_seed_normal(seed);
    for (size_t i = 0; i < count; i++) {
        double heavy = tan(M_PI * (ypi_seed_uniform(seed) - 0.5));
        out[i] = noise.sd * (noise.heavy ? heavy : value);
        value = r * value + sqrt(1 - r * r) * ypi_seed_normal(seed);
    }
}

static size_t search(const double *values, size_t count, double error, size_t *places)
{
    struct ypi_change_search how = {.least = LEAST,
                                    .error = error,
                                    .correlation = ypi_neighbour_correlation(values, count),
                                    .estimated_from = count,
                                    .seed = 1};
    return ypi_change_points(values, count, &how, places);
}

/* -- series without a change ------------------------------------------------------------ */

/* In how many of `trials` series a change is found, or a drift. */
struct alarms {
    int changes, drifts;
};

static struct alarms alarms_in(struct noise noise, size_t count, double error, int trials)
{
    struct alarms a = {0};
    size_t places[MOST];
    double values[MOST];
    for (int t = 0; t < trials / PART; t++) {
        struct ypi_seed seed = ypi_seed_of(count, (uint64_t)(100 * noise.correlation), (uint64_t)t);
        draw(&seed, noise, values, count);
        a.changes += search(values, count, error, places) > 0;
        a.drifts += ypi_drift(values, count).probability <= error;
    }
    return a;
}

/* Of 400 at a rate of 5 % more than 35 come with a probability of 1e-3. */
Test(change_points, independent_noise_keeps_the_error)
{
    const size_t counts[] = {10, 20, 50, 200};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int heavy = 0; heavy < 2; heavy++) {
            struct noise noise = {.sd = 0.02, .heavy = heavy != 0};
            struct alarms a = alarms_in(noise, counts[i], 0.05, 400);
            cr_expect(a.changes <= 35 && a.drifts <= 35, "%zu points, heavy %d: %d and %d",
                      counts[i], heavy, a.changes, a.drifts);
        }
}

Test(change_points, a_test_that_never_errs_has_no_power_either)
{
    struct alarms a = alarms_in((struct noise){.sd = 0.02}, 200, 0.25, 200);
    cr_expect(PART > 1 || (a.changes > 20 && a.drifts > 20), "%d and %d of 200 at 25 %%", a.changes,
              a.drifts);
}

/* The correlation is estimated, and where there are few points it is missed at times: 400 at 8 %
 * are more than 50 with a probability of 1e-3. Taken for independent, the longest of these would
 * alarm in nine of ten. */
Test(change_points, neighbours_that_are_alike_keep_the_error_roughly)
{
    const size_t counts[] = {10, 20, 40, 100, 300};
    const double correlations[] = {0.3, 0.6, 0.85};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (size_t k = 0; k < sizeof correlations / sizeof *correlations; k++) {
            struct noise noise = {.sd = 0.02, .correlation = correlations[k]};
            struct alarms a = alarms_in(noise, counts[i], 0.05, 400);
            cr_expect(a.changes <= (counts[i] == 40 ? 84 : 50) && a.drifts <= 50,
                      "%zu points, %g: %d and %d", counts[i], correlations[k], a.changes, a.drifts);
        }
}

Test(change_points, the_correlation_is_that_of_the_noise)
{
    double values[MOST];
    for (int k = 0; k < 4; k++) {
        double sum = 0;
        double with_changes = 0;
        double r = 0.3 * k;
        for (uint64_t t = 0; t < 100; t++) {
            struct ypi_seed seed = ypi_seed_of(4, (uint64_t)k, t);
            draw(&seed, (struct noise){.sd = 1, .correlation = r}, values, MOST);
            sum += ypi_neighbour_correlation(values, MOST) / 100;
            for (size_t i = 0; i < MOST; i++)
                values[i] += 5.0 * (i >= 80) - 10.0 * (i >= 150) + 3.0 * (i >= 260);
            with_changes += ypi_neighbour_correlation(values, MOST) / 100;
        }
        cr_expect(fabs(sum - r) < 0.06, "%g: %g", r, sum);
        cr_expect(fabs(with_changes - r) < 0.12, "%g with changes: %g", r, with_changes);
    }
}

/* -- series with changes ------------------------------------------------------------ */

/* In how many of 100 series with steps at `at` just those are found, within two points. */
static int found_in(struct noise noise, size_t count, const double *steps, const size_t *at,
                    size_t changes)
{
    int right = 0;
    size_t places[MOST];
    double values[MOST];
    for (uint64_t t = 0; t < 100 / PART; t++) {
        struct ypi_seed seed = ypi_seed_of(2, count, t);
        draw(&seed, noise, values, count);
        for (size_t c = 0; c < changes; c++)
            for (size_t i = at[c]; i < count; i++)
                values[i] += steps[c];
        bool all = search(values, count, 0.01, places) == changes;
        for (size_t c = 0; all && c < changes; c++)
            all = places[c] + 2 >= at[c] && places[c] <= at[c] + 2;
        right += all;
    }
    return PART == 1 ? right : 100;
}

Test(change_points, a_step_of_5_percent_is_found_in_noise_of_2)
{
    const struct noise noise = {.sd = 0.02};
    const double up[] = {0.05};
    const double down[] = {-0.05};
    cr_expect_geq(found_in(noise, 40, up, (size_t[]){20}, 1), 85);
    cr_expect_geq(found_in(noise, 100, up, (size_t[]){60}, 1), 90);
    cr_expect_geq(found_in(noise, 100, down, (size_t[]){90}, 1), 60);
    cr_expect_geq(found_in(noise, 300, down, (size_t[]){290}, 1), 80);
}

Test(change_points, several_steps_are_found_where_they_are)
{
    const struct noise noise = {.sd = 0.02};
    const double there_and_back[] = {0.08, -0.08};
    const double stairs[] = {0.08, 0.08, -0.1, 0.08};
    cr_expect_geq(found_in(noise, 90, there_and_back, (size_t[]){30, 60}, 2), 85);
    cr_expect_geq(found_in(noise, 200, there_and_back, (size_t[]){150, 165}, 2), 85);
    cr_expect_geq(found_in(noise, 300, stairs, (size_t[]){60, 120, 180, 240}, 4), 85);
}

Test(change_points, a_step_is_found_among_neighbours_that_are_alike)
{
    const struct noise noise = {.sd = 0.02, .correlation = 0.5};
    const double up[] = {0.15};
    cr_expect_geq(found_in(noise, 100, up, (size_t[]){50}, 1), 75);
}

/* With all of one half below all of the other, 2 orders of 252 are as uneven. */
Test(change_points, the_rate_is_that_of_the_permutations)
{
    const double halves[] = {5, 3, 1, 2, 4, 9, 7, 10, 6, 8};
    struct ypi_change_search how = {.least = LEAST, .error = 0.016};
    int found = 0;
    int strict = 0;
    size_t places[2];
    for (how.seed = 0; how.seed < 20; how.seed++) {
        found += ypi_change_points(halves, 10, &how, places) == 1 && places[0] == 5;
    }
    how.error = 0.004;
    for (how.seed = 0; how.seed < 20; how.seed++)
        strict += ypi_change_points(halves, 10, &how, places) == 1;
    cr_expect(found >= 16 && strict <= 4, "%d at 1.6 %%, %d at 0.4 %%", found, strict);
}

Test(change_points, outliers_are_no_changes)
{
    const size_t at[] = {0, 3, 17, 30, 39};
    size_t places[MOST];
    double values[40];
    int found = 0;
    for (uint64_t t = 0; t < 100 / PART; t++)
        for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
            struct ypi_seed seed = ypi_seed_of(3, k, t);
            draw(&seed, (struct noise){.sd = 0.02}, values, 40);
            values[at[k]] = 100;
            values[(at[k] + 1) % 40] = t % 2 == 0 ? 100 : values[(at[k] + 1) % 40];
            found += search(values, 40, 0.01, places) > 0;
        }
    cr_expect_leq(found, 14, "%d of 500 at 1 %%", found);
}

Test(change_points, what_is_equal_or_short_has_none)
{
    const double equal[20] = {0};
    const double two[9] = {1, 1, 1, 1, 1, 2, 2, 2, 2};
    size_t places[MOST];
    cr_expect_eq(search(equal, 20, 0.25, places), 0);
    cr_expect_eq(search(two, 9, 0.25, places), 0);
    cr_expect_eq(search(two, 0, 0.25, places), 0);
    cr_expect_eq(ypi_neighbour_correlation(equal, 20), 0);
    cr_expect_eq(ypi_neighbour_correlation(two, 9), 0);
}

/* Few that are unequal, at one end: as likely as any other places, 1 of 120 choose 2. */
Test(change_points, many_equal_values_keep_the_error)
{
    double values[120] = {0};
    size_t places[MOST];
    struct ypi_change_search how = {.least = LEAST, .error = 1e-3, .seed = 1};
    values[118] = 1;
    values[119] = 2;
    cr_expect_eq(ypi_change_points(values, 120, &how, places), 0);
    for (size_t i = 0; i < 120; i++)
        values[i] = i < 60 ? 3 : 4;
    cr_expect_eq(ypi_change_points(values, 120, &how, places), 1);
    cr_expect_eq(places[0], 60);
}

Test(change_points, the_answer_depends_on_the_seed_alone)
{
    double values[MOST];
    size_t first[MOST], again[MOST];
    struct ypi_seed seed = ypi_seed_of(5, 0, 0);
    draw(&seed, (struct noise){.sd = 1, .correlation = 0.4}, values, MOST);
    for (size_t i = 100; i < MOST; i++)
        values[i] += 1.2;
    size_t found = search(values, MOST, 0.05, first);
    cr_expect_eq(search(values, MOST, 0.05, again), found);
    for (size_t i = 0; i < found; i++)
        cr_expect_eq(first[i], again[i]);
}
