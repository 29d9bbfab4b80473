/* The best of the configurations of the same work that were measured: they differ in tile, batch,
 * accumulation and precision alone. Where intervals do not tell two apart, the one that takes less
 * memory is better. */
#include "reports/advice/cases/memory.h"
#include "reports/advice/runs/rates.h"

#include "base/text/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const varied[] = {"batch",     "batch_size",   "graphs",     "tile", "tile_size",
                                     "precision", "accumulation", "accumulate", NULL};

static const struct {
    const char *key;
    const char *const *axes;
} keys[] = {{"tile", ypi_tile_axes},
            {"batch", ypi_batch_axes},
            {"accumulation", ypi_accumulation_axes},
            {"precision", ypi_precision_axes}};
enum { KEYS = sizeof keys / sizeof *keys };

/* What makes a configuration; another precision alone is another figure, not another choice. */
static const char *const needed[] = {"batch",     "batch_size",   "graphs",     "tile",
                                     "tile_size", "accumulation", "accumulate", NULL};

/* All in one place; a case that ran out of memory has no measurement, and no place. */
static double place(const struct ypi_kept *kept)
{
    return kept->passed && *ypi_axis_name(kept, needed) != '\0' ? 0 : (double)NAN;
}

/* Pixels where tiles differ in size, else items. */
static struct ypi_rate_of rate_of(const struct ypi_point *point)
{
    struct ypi_rate_of pixels = ypi_point_pixels(point);
    bool tiles = ypi_axis_number(point->kept, ypi_tile_axes) > 0;
    return tiles ? pixels : ypi_point_rate(point);
}

static bool is_lighter(const struct ypi_point *a, const struct ypi_point *b)
{
    return a->kept->peak < b->kept->peak; /* false for NaN */
}

/* -- the best by each goal ----------------------------------------------------------------- */

#define SURE 1.25 /* what the chosen one may lose at most, by the intervals */

/* NULL: none has a rate, or none that fits, or intervals are too wide to choose by. */
static const struct ypi_point *fastest(const struct ypi_point *points, size_t count, double within)
{
    const struct ypi_point *best = NULL;
    const struct ypi_point *lightest = NULL;
    for (size_t i = 0; i < count; i++)
        if (rate_of(&points[i]).rate > 0 && !(points[i].kept->peak > within) &&
            (best == NULL || rate_of(&points[i]).rate > rate_of(best).rate))
            best = &points[i];
    for (size_t i = 0; best != NULL && i < count; i++)
        if (rate_of(&points[i]).high >= rate_of(best).low && !(points[i].kept->peak > within) &&
            (lightest == NULL || is_lighter(&points[i], lightest)))
            lightest = &points[i];
    for (size_t i = 0; lightest != NULL && i < count; i++)
        if (rate_of(&points[i]).high > SURE * rate_of(lightest).low &&
            !(points[i].kept->peak > within))
            return NULL;
    return lightest;
}

static const struct ypi_point *quickest(const struct ypi_point *points, size_t count, double within)
{
    const struct ypi_point *best = NULL;
    const struct ypi_point *lightest = NULL;
    for (size_t i = 0; i < count; i++)
        if (isfinite(points[i].m->high) && !(points[i].kept->peak > within) &&
            (best == NULL || points[i].m->median < best->m->median))
            best = &points[i];
    for (size_t i = 0; best != NULL && i < count; i++)
        if (points[i].m->low <= best->m->high && !(points[i].kept->peak > within) &&
            (lightest == NULL || is_lighter(&points[i], lightest)))
            lightest = &points[i];
    for (size_t i = 0; lightest != NULL && i < count; i++)
        if (lightest->m->high > SURE * points[i].m->low && !(points[i].kept->peak > within))
            return NULL;
    return lightest;
}

static bool is_training(const struct ypi_point *points)
{
    return ypi_is_training(points[0].kept, points[0].m);
}

/* -- what is said -------------------------------------------------------------------------- */

static void configure(const struct ypi_point *point, const char *goal, struct ypi_finding *f)
{
    struct ypi_text text = {0};
    f->configuration = cJSON_CreateObject();
    cJSON_AddStringToObject(f->configuration, "goal", goal);
    cJSON_AddStringToObject(f->configuration, "test", point->kept->test);
    cJSON_AddStringToObject(f->configuration, "case", point->kept->id);
    cJSON_AddStringToObject(f->configuration, "device", point->kept->device);
    for (size_t i = 0; i < KEYS; i++) {
        const char *value = ypi_axis_text(point->kept, keys[i].axes);
        if (*value == '\0')
            continue;
        cJSON_AddStringToObject(f->configuration, keys[i].key, value);
        ypi_text_add(&text, "%s%s %s", text.length > 0 ? ", " : "",
                     ypi_axis_name(point->kept, keys[i].axes), value);
    }
    char *what = ypi_text_take(&text);
    ypi_slot(f, "what", "%s", what);
    free(what);
    ypi_slot(f, "name", "%s", point->m->name);
}

static void add_figures(const struct ypi_point *point, const char *before, struct ypi_finding *f)
{
    struct ypi_rate_of r = rate_of(point);
    ypi_finding_evidence(f, "%s%s: %s%s%s%s%s", before, point->kept->id,
                         ypi_say_time(point->m->median, point->m->low, point->m->high),
                         r.rate > 0 ? ", " : "",
                         r.rate > 0 ? ypi_say_rate(r.rate, r.low, r.high, r.unit) : "",
                         point->kept->peak > 0 ? ", peak " : "",
                         point->kept->peak > 0 ? ypi_say_bytes(point->kept->peak) : "");
}

/* The chosen one, and how many others there were. */
static bool tell(const struct ypi_point *chosen, const struct ypi_point *points, size_t count,
                 const char *goal, struct ypi_finding *f)
{
    if (chosen == NULL)
        return false;
    configure(chosen, goal, f);
    add_figures(chosen, "", f);
    for (size_t i = 0, told = 0; i < count && told < 8; i++)
        if (&points[i] != chosen) {
            add_figures(&points[i], "beside ", f);
            told++;
        }
    if (count > 9)
        ypi_finding_evidence(f, "and %zu others", count - 9);
    return true;
}

static bool latency(const struct ypi_point *points, size_t count, double limit,
                    struct ypi_finding *f)
{
    const struct ypi_point *chosen =
        quickest(points, count, ypi_memory_within(points[0].kept, limit));
    if (is_training(points) || !tell(chosen, points, count, "latency", f))
        return false;
    ypi_slot(f, "time", "%s", ypi_say_time(chosen->m->median, chosen->m->low, chosen->m->high));
    return true;
}

static bool throughput(const struct ypi_point *points, size_t count, double limit,
                       struct ypi_finding *f)
{
    const struct ypi_point *chosen =
        fastest(points, count, ypi_memory_within(points[0].kept, limit));
    if (is_training(points) || !tell(chosen, points, count, "throughput", f))
        return false;
    struct ypi_rate_of r = rate_of(chosen);
    ypi_slot(f, "rate", "%s", ypi_say_rate(r.rate, r.low, r.high, r.unit));
    return true;
}

/* The largest batch of those that do not fit: its gradient is had in parts. NaN: all fit. */
static double larger_batch(const struct ypi_point *points, size_t count, double within)
{
    double largest = NAN;
    for (size_t i = 0; i < count; i++)
        if (points[i].kept->peak > within)
            largest = fmax(largest, ypi_axis_number(points[i].kept, ypi_batch_axes));
    return largest;
}

static bool training(const struct ypi_point *points, size_t count, double limit,
                     struct ypi_finding *f)
{
    double within = ypi_memory_within(points[0].kept, limit);
    const struct ypi_point *chosen = fastest(points, count, within);
    if (!is_training(points) || !(within > 0) || chosen == NULL || !(chosen->kept->peak > 0) ||
        !tell(chosen, points, count, "training", f))
        return false;
    struct ypi_rate_of r = rate_of(chosen);
    double batch = ypi_axis_number(chosen->kept, ypi_batch_axes);
    double wanted = larger_batch(points, count, within);
    ypi_slot(f, "within", "%s", ypi_say_bytes(within));
    ypi_slot(f, "rate", "%s", ypi_say_rate(r.rate, r.low, r.high, r.unit));
    ypi_slot(f, "parts", "%s", "");
    if (wanted > batch && *ypi_axis_name(chosen->kept, ypi_accumulation_axes) == '\0') {
        char parts[32];
        snprintf(parts, sizeof parts, "%.0f", ceil(wanted / batch));
        cJSON_AddStringToObject(f->configuration, "accumulation", parts);
        ypi_slot(f, "parts",
                 ", and accumulation of %s for the gradient of a batch of %g, which does "
                 "not fit",
                 parts, wanted);
    }
    return true;
}

static bool nothing_fits(const struct ypi_point *points, size_t count, double limit,
                         struct ypi_finding *f)
{
    double within = ypi_memory_within(points[0].kept, limit);
    const struct ypi_point *least = &points[0];
    for (size_t i = 0; i < count; i++) {
        if (!(points[i].kept->peak > within))
            return false;
        if (points[i].kept->peak < least->kept->peak)
            least = &points[i];
    }
    ypi_slot(f, "within", "%s", ypi_say_bytes(within));
    ypi_slot(f, "name", "%s", least->m->name);
    add_figures(least, "the least of all, ", f);
    ypi_try_smaller(least->kept, f);
    return true;
}

#define U YPI_URGENCY_RECOMMENDED

/* clang-format off */
static const struct ypi_run_rule rules[] = {
    {"recommended-latency", U, place, varied, false, 2, latency,
     "For the least latency of {name}{of}: {what}, {time}.", {NULL}},
    {"recommended-throughput", U, place, varied, false, 2, throughput,
     "For the most throughput of {name}{of}: {what}, {rate}.", {NULL}},
    {"recommended-training", U, place, varied, false, 2, training,
     "For training, {name}{of}, within {within}: {what}{parts}, {rate}.", {NULL}},
    {"recommended-nothing-fits", U, place, varied, false, 1, nothing_fits,
     "No configuration of {name}{of} that was measured fits into {within}.", {NULL}},
};
/* clang-format on */

const struct ypi_run_family ypi_recommended_rules = {false, rules, sizeof rules / sizeof *rules};
