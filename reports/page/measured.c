/* Measurements and series of a case as compact JSON. */
#include "reports/page/escape.h"
#include "reports/page/parts.h"

#include "base/numbers/order.h"
#include "base/numbers/stats.h"
#include "harness/history/history.h"
#include "reports/format.h"
#include "reports/print.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_text(struct ypi_text *out, const char *key, const char *text)
{
    if (*text == '\0')
        return;
    ypi_page_key(out, key);
    ypi_page_string(out, text);
}

static void add_figures(struct ypi_text *out, const char *key, const cJSON *m,
                        const char *const *names, size_t count)
{
    ypi_page_key(out, key);
    ypi_page_open(out, '[');
    for (size_t i = 0; i < count; i++)
        ypi_page_string(out, ypi_page_seconds(m, names[i]));
    ypi_page_close(out, ']');
}

/* -- the strip ----------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double *finite_numbers(const cJSON *list, size_t *count)
{
    const cJSON *item;
    double *values = ypi_calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *values);
    *count = 0;
    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_IsNumber(item) && isfinite(item->valuedouble))
            values[(*count)++] = item->valuedouble;
    }
    return values;
}

/* Every sample where they are few, else as many quantiles between both extremes. */
static void add_strip(struct ypi_text *out, const cJSON *samples, unsigned most)
{
    size_t count = 0;
    double *values = finite_numbers(samples, &count);
    size_t drawn = count < most ? count : most;
    if (count > 0) {
        qsort(values, count, sizeof *values, by_value);
        ypi_page_key(out, "s");
        ypi_page_string(out, "");
        out->length--; /* the closing quote, which comes after the positions */
        for (size_t i = 0; i < drawn; i++) {
            char place[3];
            double q = drawn > 1 ? (double)i / (double)(drawn - 1) : 0.5;
            ypi_page_position(place, ypi_quantile_sorted(values, count, q), values[0],
                              values[count - 1]);
            ypi_text_bytes(out, place, 2);
        }
        ypi_text_bytes(out, "\"", 1);
    }
    free(values);
}

/* -- one measurement ------------------------------------------------------------------------ */

static void add_rates(struct ypi_text *out, const cJSON *m)
{
    static const struct {
        const char *member, *unit;
    } rates[] = {{"items", NULL}, {"flops", "FLOP"}, {"bytes", "B"}};
    bool any = false;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        double work = ypi_real(m, rates[i].member);
        const char *unit = rates[i].unit ? rates[i].unit : ypi_text_of(m, "unit");
        if (!(work > 0) || !(ypi_real(m, "median") > 0))
            continue;
        if (!any) {
            ypi_page_key(out, "w");
            ypi_page_open(out, '[');
        }
        any = true;
        ypi_page_open(out, '[');
        ypi_page_string(out, ypi_rate(work / ypi_real(m, "median"), unit));
        ypi_page_string(out, ypi_rate(work / ypi_real(m, "high"), unit));
        ypi_page_string(out, ypi_rate(work / ypi_real(m, "low"), unit));
        ypi_page_close(out, ']');
    }
    if (any)
        ypi_page_close(out, ']');
}

static void add_bounds(struct ypi_text *out, const cJSON *m)
{
    char text[256];
    const cJSON *bound;
    const cJSON *bounds = ypi_member(m, "bounds");
    double low = ypi_real(m, "share_low");
    double high = ypi_real(m, "share_high");
    ypi_format_part(text, m);
    if (strlen(text) > 2) {
        ypi_page_key(out, "o");
        ypi_page_open(out, '[');
        ypi_page_string(out, text + 2);
        if (low < high) {
            snprintf(text, sizeof text, "[%.3g, %.3g]", low, high);
            ypi_page_string(out, text);
        }
        ypi_page_close(out, ']');
    }
    if (bounds == NULL || bounds->child == NULL)
        return;
    ypi_page_key(out, "h");
    ypi_page_open(out, '[');
    cJSON_ArrayForEach(bound, bounds)
    {
        ypi_ceiling_text(text, bound);
        ypi_page_string(out, text);
    }
    ypi_page_close(out, ']');
}

static void add_phases(struct ypi_page *page, struct ypi_text *out, const cJSON *phases)
{
    const cJSON *phase;
    if (phases == NULL || phases->child == NULL)
        return;
    ypi_page_key(out, "p");
    ypi_page_open(out, '[');
    cJSON_ArrayForEach(phase, phases)
    {
        ypi_page_pooled(&page->pool, out, ypi_text_of(phase, "name"));
        ypi_page_string(out, ypi_page_seconds(phase, "seconds"));
    }
    ypi_page_close(out, ']');
}

static void add_counters(struct ypi_page *page, struct ypi_text *out, const cJSON *counters)
{
    const cJSON *counter;
    if (counters == NULL || counters->child == NULL)
        return;
    ypi_page_key(out, "C");
    ypi_page_open(out, '[');
    cJSON_ArrayForEach(counter, counters)
    {
        char text[YPI_FIGURE_MAX];
        ypi_format_value(text, ypi_real(counter, "count"), "");
        ypi_page_pooled(&page->pool, out, ypi_text_of(counter, "counter"));
        ypi_page_string(out, text);
    }
    ypi_page_close(out, ']');
}

/* How it was taken: count, batch, warm-up, why it stopped; coverage of the interval. */
static void add_protocol(struct ypi_page *page, struct ypi_text *out, const cJSON *m)
{
    static const char *const counts[] = {"count", "batch", "warmup"};
    char text[64];
    ypi_page_key(out, "l");
    ypi_page_open(out, '[');
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        double value = ypi_real(m, counts[i]);
        snprintf(text, sizeof text, "%.0f", isnan(value) ? 0 : value);
        ypi_page_string(out, text);
    }
    ypi_page_pooled(&page->pool, out, ypi_text_of(m, "stop"));
    snprintf(text, sizeof text, "%.4g %%", 100 * ypi_real(m, "coverage"));
    ypi_page_pooled(&page->pool, out, isnan(ypi_real(m, "coverage")) ? "" : text);
    ypi_page_close(out, ']');
}

static void add_noise(struct ypi_text *out, const cJSON *m)
{
    struct ypi_text meanwhile = {0};
    ypi_noise_text(&meanwhile, m);
    add_text(out, "z", ypi_text_of(m, "noise_cause"));
    if (meanwhile.length > 0 && *ypi_text_of(m, "noise_cause"))
        add_text(out, "Z", meanwhile.data);
    free(ypi_text_take(&meanwhile));
}

/* -- all of them ---------------------------------------------------------------------------- */

static void add_measurement(struct ypi_page *page, struct ypi_text *out,
                            const struct ypi_report_case *one, const cJSON *m)
{
    static const char *const estimate[] = {"median", "low", "high"};
    static const char *const spread[] = {"min", "max", "mean", "sd"};
    static const char *const quantiles[] = {"p90", "p99", "p999"};
    char cv[YPI_FIGURE_MAX] = "";
    double variation = ypi_real(m, "sd") / ypi_real(m, "mean");
    ypi_page_open(out, '{');
    if (*ypi_text_of(m, "name")) {
        ypi_page_key(out, "n");
        ypi_page_pooled(&page->pool, out, ypi_text_of(m, "name"));
    }
    if (!isnan(ypi_real(m, "median"))) {
        add_figures(out, "e", m, estimate, 3);
        add_figures(out, "d", m, spread, 4);
        if (variation > 0)
            ypi_format_percent(cv, variation, 3);
        add_text(out, "v", cv);
        if (!isnan(ypi_real(m, "p90")))
            add_figures(out, "q", m, quantiles, isnan(ypi_real(m, "p999")) ? 2 : 3);
    }
    add_protocol(page, out, m);
    add_rates(out, m);
    add_bounds(out, m);
    add_phases(page, out, ypi_member(m, "phases"));
    add_counters(page, out, ypi_member(m, "counters"));
    add_noise(out, m);
    add_strip(out, ypi_member(m, "samples"), page->quantiles);
    ypi_page_past_of(out, one, ypi_text_of(m, "name"), page->intervals);
    ypi_page_close(out, '}');
}

void ypi_page_measurements(struct ypi_page *page, struct ypi_text *out,
                           const struct ypi_report_case *one, const cJSON *list)
{
    const cJSON *m;
    if (list == NULL || list->child == NULL)
        return;
    ypi_page_key(out, "m");
    ypi_page_open(out, '[');
    cJSON_ArrayForEach(m, list) add_measurement(page, out, one, m);
    ypi_page_close(out, ']');
}

/* -- series --------------------------------------------------------------------------------- */

/* Looks of which both are numbers: a look that failed leaves a gap, as in the trace. */
static size_t finite_pairs(const cJSON *one, double **seconds, double **values)
{
    const cJSON *time = cJSON_GetArrayItem(ypi_member(one, "seconds"), 0);
    const cJSON *value = cJSON_GetArrayItem(ypi_member(one, "values"), 0);
    const size_t most = (size_t)cJSON_GetArraySize(ypi_member(one, "values"));
    size_t count = 0;
    *seconds = ypi_calloc(most + 1, sizeof **seconds);
    *values = ypi_calloc(most + 1, sizeof **values);
    for (; time != NULL && value != NULL; time = time->next, value = value->next) {
        if (!cJSON_IsNumber(time) || !isfinite(time->valuedouble) || !cJSON_IsNumber(value) ||
            !isfinite(value->valuedouble))
            continue;
        (*seconds)[count] = time->valuedouble;
        (*values)[count++] = value->valuedouble;
    }
    return count;
}

/* Evenly chosen points: times as parts of the duration, values as parts of their range. */
static void add_points(struct ypi_text *out, const cJSON *one, unsigned most)
{
    double *seconds = NULL, *values = NULL;
    const size_t count = finite_pairs(one, &seconds, &values);
    size_t drawn = count < most ? count : most;
    ypi_page_string(out, "");
    out->length--;
    for (size_t i = 0; i < drawn; i++) {
        size_t at = drawn > 1 ? i * (count - 1) / (drawn - 1) : 0;
        char place[3];
        ypi_page_position(place, seconds[at], seconds[0], seconds[count - 1]);
        ypi_text_bytes(out, place, 2);
        ypi_page_position(place, values[at], ypi_real(one, "least"), ypi_real(one, "most"));
        ypi_text_bytes(out, place, 2);
    }
    ypi_text_bytes(out, "\"", 1);
    free(values);
    free(seconds);
}

void ypi_page_series(struct ypi_page *page, struct ypi_text *out, const cJSON *series)
{
    static const char *const figures[] = {"least", "median", "most"};
    const cJSON *one;
    if (series == NULL || series->child == NULL)
        return;
    ypi_page_key(out, "a");
    ypi_page_open(out, '[');
    cJSON_ArrayForEach(one, series)
    {
        char text[YPI_FIGURE_MAX];
        bool throttled = strcmp(one->string, "throttled") == 0;
        ypi_page_open(out, '[');
        ypi_page_pooled(&page->pool, out, one->string);
        snprintf(text, sizeof text, "%.0f", ypi_real(one, "count"));
        ypi_page_string(out, text);
        ypi_page_string(out, ypi_page_seconds(one, "duration"));
        if (throttled) {
            snprintf(text, sizeof text, "%.0f", ypi_real(one, "slowed"));
            ypi_page_string(out, text);
            ypi_page_string(out, ypi_text_of(one, "by"));
        }
        for (size_t i = 0; i < 3 && !throttled; i++) {
            ypi_accelerator_figure(text, one->string, ypi_real(one, figures[i]));
            ypi_page_string(out, text);
        }
        if (!throttled)
            add_points(out, one, 2 * page->quantiles);
        ypi_page_close(out, ']');
    }
    ypi_page_close(out, ']');
}
