#include "reports/print.h"

#include "base/numbers/slack.h"
#include "base/numbers/stats.h"
#include "base/text/text.h"
#include "harness/history/history.h"
#include "reports/format.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- what was measured --------------------------------------------------------------------- */

/* Before version 3 of the history none of what this is asked for was stored. */
static bool is_of_today(const cJSON *m)
{
    return *ypi_text_of(m, "kind") != '\0';
}

static void print_rates(const cJSON *m)
{
    static const struct {
        const char *member, *unit;
    } rates[] = {{"items", NULL}, {"flops", "FLOP"}, {"bytes", "B"}};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        double work = ypi_real(m, rates[i].member);
        const char *unit = rates[i].unit ? rates[i].unit : ypi_text_of(m, "unit");
        char text[3 * YPI_FIGURE_MAX + 16];
        if (!(work > 0))
            continue;
        snprintf(text, sizeof text, "%s, between %s and %s",
                 ypi_rate(work / ypi_real(m, "median"), unit),
                 ypi_rate(work / ypi_real(m, "high"), unit),
                 ypi_rate(work / ypi_real(m, "low"), unit));
        ypi_put_lines(text, 4);
    }
}

static void print_spread(const cJSON *m)
{
    double variation = ypi_real(m, "sd") / ypi_real(m, "mean");
    printf("    mean %s, standard deviation %s", ypi_seconds_of(m, "mean"),
           ypi_seconds_of(m, "sd"));
    if (variation > 0) {
        char percent[YPI_FIGURE_MAX];
        ypi_format_percent(percent, variation, 2);
        printf(" (CV %s)", percent);
    }
    printf(", from %s to %s\n", ypi_seconds_of(m, "min"), ypi_seconds_of(m, "max"));
}

/* One that the samples do not support is printed with the number that it takes. */
static void print_quantiles(const cJSON *m)
{
    static const struct {
        const char *member, *name;
        double q;
    } quantiles[] = {{"median", "p50", 0.5},
                     {"p90", "p90", 0.9},
                     {"p99", "p99", 0.99},
                     {"p999", "p99.9", 0.999}};
    double count = ypi_real(m, "count");
    const char *before = "    ";
    if (!is_of_today(m) || count < 1)
        return;
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++) {
        double value = ypi_real(m, quantiles[i].member);
        size_t needs = ypi_quantile_needs(quantiles[i].q);
        if (i > 0 && value != value && count < (double)needs)
            printf("%s%s needs %zu samples", before, quantiles[i].name, needs);
        else
            printf("%s%s %s", before, quantiles[i].name, ypi_seconds(value));
        before = ", ";
    }
    putchar('\n');
}

static void print_outliers(const cJSON *m)
{
    double low = ypi_real(m, "low_mild") + ypi_real(m, "low_severe");
    double high = ypi_real(m, "high_mild") + ypi_real(m, "high_severe");
    double count = ypi_real(m, "count");
    double effective = ypi_real(m, "effective");
    if (low + high > 0)
        printf("    outliers: %.0f low (%.0f of them far), %.0f high (%.0f of them far)\n", low,
               ypi_real(m, "low_severe"), high, ypi_real(m, "high_severe"));
    if (effective > 0 && effective < count)
        printf("    samples depend on the one before (correlation %.2f): they count as %.3g\n",
               ypi_real(m, "autocorrelation"), effective);
}

static void print_processor_time(const cJSON *m)
{
    if (!(ypi_real(m, "cpu") >= 0))
        return;
    printf("    processor time %s, between %s and %s", ypi_seconds_of(m, "cpu"),
           ypi_seconds_of(m, "cpu_low"), ypi_seconds_of(m, "cpu_high"));
    if (strcmp(ypi_text_of(m, "kind"), "work") == 0)
        printf(": %.3g processors busy", ypi_real(m, "cpu") / ypi_real(m, "median"));
    putchar('\n');
}

static void print_growth(const cJSON *m)
{
    static const struct {
        const char *member, *name;
    } kinds[] = {{"growth_accounted", "accounted"}, {"growth_resident", "resident"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        double growth = ypi_real(m, kinds[i].member);
        if (growth < 0 || growth > 0)
            printf("    %s memory grows by %s\n", kinds[i].name, ypi_bytes_of(m, kinds[i].member));
    }
}

static void print_counters(const cJSON *m)
{
    const cJSON *counter;
    cJSON_ArrayForEach(counter, cJSON_GetObjectItemCaseSensitive(m, "counters"))
    {
        printf("    %s: %.6g (%s)\n", ypi_text_of(counter, "counter"), ypi_real(counter, "count"),
               ypi_text_of(counter, "source"));
    }
}

/* -- what bounds it ------------------------------------------------------------------------ */

/* Of a small exchange among ranks, which is told as a time. */
static bool is_latency(const cJSON *bound)
{
    return strcmp(ypi_text_of(bound, "level"), "latency") == 0;
}

/* Among ranks: a level of its own, not of memory. */
static bool is_exchange(const cJSON *bound)
{
    return is_latency(bound) || strcmp(ypi_text_of(bound, "level"), "bus") == 0;
}

/* "copy from memory", "fp32 arithmetic", "all-reduce latency". */
static void name_ceiling(char out[64], const cJSON *bound)
{
    const char *ceiling = ypi_text_of(bound, "ceiling");
    const char *level = ypi_text_of(bound, "level");
    if (is_exchange(bound))
        snprintf(out, 64, "%s %s", ceiling, level);
    else if (*level)
        snprintf(out, 64, "%s %s %s", ceiling, strcmp(ceiling, "fill") == 0 ? "of" : "from", level);
    else
        snprintf(out, 64, "%s arithmetic", ceiling);
}

static const char *ceiling_rate(const cJSON *bound, const char *member)
{
    bool whole = strncmp(ypi_text_of(bound, "ceiling"), "int", 3) == 0;
    if (is_latency(bound))
        return ypi_seconds(ypi_real(bound, "work") / ypi_real(bound, member));
    const char *unit = *ypi_text_of(bound, "level") ? "B" : whole ? "operations" : "FLOP";
    return ypi_rate(ypi_real(bound, member), unit);
}

/* " on 2 threads"; an accelerator's are not counted. */
static void name_threads(char out[32], const cJSON *bound)
{
    double threads = ypi_real(bound, "threads");
    *out = '\0';
    if (is_exchange(bound))
        snprintf(out, 32, " among %.0f ranks", threads);
    else if (threads > 0)
        snprintf(out, 32, " on %.0f thread%s", threads, threads > 1 ? "s" : "");
}

void ypi_ceiling_text(char out[256], const cJSON *bound)
{
    char on[32];
    char name[64];
    double probes = ypi_real(bound, "probes");
    name_ceiling(name, bound);
    name_threads(on, bound);
    if (!(probes > 0)) {
        snprintf(out, 256, "%s: not probed", name);
        return;
    }
    /* The highest rate is the shortest time. */
    const char *least = is_latency(bound) ? "high" : "low";
    const char *most = is_latency(bound) ? "low" : "high";
    snprintf(out, 256, "%s: %.40s, from %.40s to %.40s in %.0f probe%s%s", name,
             ceiling_rate(bound, "rate"), ceiling_rate(bound, least), ceiling_rate(bound, most),
             probes, probes > 1 ? "s" : "", on);
}

double ypi_bound_seconds(const cJSON *bound)
{
    const double least = ypi_real(bound, "work") / ypi_real(bound, "rate");
    return least > 0 && isfinite(least) ? least : 0;
}

static void add_share(struct ypi_text *text, const cJSON *m, const cJSON *bound)
{
    double share = ypi_real(m, "share");
    if (!(share >= 0))
        return;
    ypi_text_add(text, ": %.3g", share);
    if (ypi_real(m, "share_low") < ypi_real(m, "share_high"))
        ypi_text_add(text, " [%.3g, %.3g]", ypi_real(m, "share_low"), ypi_real(m, "share_high"));
    ypi_text_add(text, " of %s", ceiling_rate(bound, "rate"));
    if (share < YPI_LEAST_SHARE)
        ypi_text_add(text, ": the declared work does not bound it");
    if (share > 1)
        ypi_text_add(text,
                     "; more than 1: the work is less than declared, or comes from a nearer "
                     "cache than %s",
                     is_exchange(bound) ? "another rank's" : "its footprint says");
}

static int stage_of(const cJSON *bound)
{
    double stage = ypi_real(bound, "stage");
    return stage > 0 ? (int)stage : 0;
}

const cJSON *ypi_nearest_bound(const cJSON *bounds, int stage, const cJSON *skip)
{
    const cJSON *nearest = NULL;
    const cJSON *bound;
    cJSON_ArrayForEach(bound, bounds)
    {
        const bool meant = stage < 0 || stage_of(bound) == stage;
        if (bound != skip && meant && ypi_bound_seconds(bound) > 0 &&
            (nearest == NULL || ypi_bound_seconds(bound) > ypi_bound_seconds(nearest)))
            nearest = bound;
    }
    return nearest;
}

/* The place in the roofline, in words: what bounds, how near, and what the next one allows. */
static void print_bound(const cJSON *m, const cJSON *bounds, const cJSON *bound)
{
    struct ypi_text text = {0};
    char name[64];
    char on[32];
    const cJSON *other = ypi_nearest_bound(bounds, stage_of(bound), bound);
    name_ceiling(name, bound);
    name_threads(on, bound);
    ypi_text_add(&text, "bound by %s%s", name, on);
    add_share(&text, m, bound);
    if (other != NULL && ypi_bound_seconds(bound) > 0) {
        name_ceiling(name, other);
        ypi_text_add(&text, "; %s would allow %.3g times more", name,
                     ypi_bound_seconds(bound) / ypi_bound_seconds(other));
    }
    ypi_put_lines(text.data, 4);
    free(ypi_text_take(&text));
}

/* Of work in steps: what bounds each and for how long. */
static void print_steps(const cJSON *m, const cJSON *bounds, int stages)
{
    struct ypi_text text = {0};
    double share = ypi_real(m, "share");
    for (int stage = 0; stage <= stages; stage++) {
        char name[64];
        char on[32];
        const cJSON *bound = ypi_nearest_bound(bounds, stage, NULL);
        if (bound == NULL)
            continue;
        name_ceiling(name, bound);
        name_threads(on, bound);
        ypi_text_add(&text, "%s by %s%s for %s", text.data == NULL ? "bound" : ", then", name, on,
                     ypi_seconds(ypi_bound_seconds(bound)));
    }
    if (share >= 0 && text.data != NULL)
        ypi_text_add(&text, ": their sum is %.3g [%.3g, %.3g] of what was measured", share,
                     ypi_real(m, "share_low"), ypi_real(m, "share_high"));
    if (text.data != NULL)
        ypi_put_lines(text.data, 4);
    free(ypi_text_take(&text));
}

static bool has_unknown_level(const cJSON *m, const cJSON *bound)
{
    const char *ceiling = ypi_text_of(bound, "ceiling");
    bool levels = strcmp(ceiling, "read") == 0 || strcmp(ceiling, "copy") == 0 ||
                  strcmp(ceiling, "fill") == 0;
    return levels && ypi_real(bound, "footprint") == 0 &&
           !cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(m, "cold"));
}

static void print_roofline(const cJSON *m)
{
    const cJSON *bounds = cJSON_GetObjectItemCaseSensitive(m, "bounds");
    bool known = *ypi_text_of(m, "bound") != '\0';
    bool unknown_level = false;
    int stages = 0;
    const cJSON *nearest = NULL;
    const cJSON *bound;
    cJSON_ArrayForEach(bound, bounds)
    {
        stages = stage_of(bound) > stages ? stage_of(bound) : stages;
        unknown_level = unknown_level || has_unknown_level(m, bound);
        if (strcmp(ypi_text_of(bound, "ceiling"), ypi_text_of(m, "bound")) == 0 &&
            (nearest == NULL || ypi_bound_seconds(bound) > ypi_bound_seconds(nearest)))
            nearest = bound;
    }
    if (known && stages > 0)
        print_steps(m, bounds, stages);
    else if (nearest)
        print_bound(m, bounds, nearest);
    if (!known && unknown_level)
        puts("    bound by memory or a cache, and .footprint does not say which: no share");
    cJSON_ArrayForEach(bound, bounds)
    {
        char text[256];
        if (!known && has_unknown_level(m, bound))
            continue;
        ypi_ceiling_text(text, bound);
        printf("    ceiling of %s\n", text);
    }
}

/* -- all of it ----------------------------------------------------------------------------- */

static void print_samples(const char *name, const cJSON *samples)
{
    char text[32];
    int column = 0;
    const cJSON *part;
    if (*name && cJSON_GetArraySize(samples) > 0)
        printf("    %s\n", name);
    cJSON_ArrayForEach(part, samples)
    {
        if (cJSON_IsNumber(part))
            snprintf(text, sizeof text, "%.6e", part->valuedouble);
        else
            snprintf(text, sizeof text, "%s", cJSON_IsString(part) ? part->valuestring : "nan");
        printf("%s%13s%s", column == 0 ? "   " : "", text, column == 6 ? "\n" : "");
        column = (column + 1) % 7;
    }
    if (column > 0)
        putchar('\n');
}

/* What the samples were taken of, where it is not plain work in warm caches. */
static void print_protocol(const cJSON *m)
{
    if (ypi_real(m, "rate") > 0)
        printf("    requests due %.6g times a second; a latency counts from then\n",
               ypi_real(m, "rate"));
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(m, "cold")))
        puts("    caches emptied before every iteration");
    if (ypi_real(m, "footprint") > 0)
        printf("    footprint %s\n", ypi_bytes_of(m, "footprint"));
}

/* --speed=off */
static void describe_untimed(const cJSON *m)
{
    double times = ypi_real(m, "warmup");
    printf("  %s: ran %.0f time%s, not timed\n", ypi_text_of(m, "name"), times,
           times > 1 ? "s" : "");
    print_growth(m);
}

void ypi_describe_measurement(const cJSON *m)
{
    const cJSON *phase;
    if (strcmp(ypi_text_of(m, "kind"), "run") == 0) {
        describe_untimed(m);
        return;
    }
    printf("  %s: median %s, between %s and %s (%.4g %% sure)\n", ypi_text_of(m, "name"),
           ypi_seconds_of(m, "median"), ypi_seconds_of(m, "low"), ypi_seconds_of(m, "high"),
           100 * ypi_real(m, "coverage"));
    print_rates(m);
    print_spread(m);
    print_quantiles(m);
    print_outliers(m);
    printf("    %.0f samples of %.0f iterations after %.0f to warm up, stopped by: %s\n",
           ypi_real(m, "count"), ypi_real(m, "batch"), ypi_real(m, "warmup"),
           ypi_text_of(m, "stop"));
    print_protocol(m);
    print_roofline(m);
    print_processor_time(m);
    print_growth(m);
    print_counters(m);
    ypi_noise_print(m);
    ypi_accelerator_print(m);
    cJSON_ArrayForEach(phase, cJSON_GetObjectItem(m, "phases"))
    {
        printf("    phase %s: %s\n", ypi_text_of(phase, "name"), ypi_seconds_of(phase, "seconds"));
    }
    print_samples("", cJSON_GetObjectItemCaseSensitive(m, "samples"));
    print_samples("processor time", cJSON_GetObjectItemCaseSensitive(m, "cpu_samples"));
    print_samples("shares", cJSON_GetObjectItemCaseSensitive(m, "shares"));
    print_samples("set aside", cJSON_GetObjectItemCaseSensitive(m, "set_aside_samples"));
}
