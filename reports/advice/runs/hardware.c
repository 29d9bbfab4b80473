/* What another machine would be bought for: from the bottlenecks of all cases together. */
#include "reports/advice/rule.h"

#include <math.h>
#include <string.h>

#define LEAST 3  /* cases with a bottleneck: of fewer nothing is said */
#define MOST 0.6 /* of them */

static bool most_are(const struct ypi_point *points, size_t count, const char *kind,
                     struct ypi_finding *f)
{
    size_t known = 0;
    size_t these = 0;
    for (size_t i = 0; i < count; i++) {
        const char *found = points[i].kept->bottleneck;
        known += found != NULL;
        these += found != NULL && strcmp(found, kind) == 0;
    }
    if (these < LEAST || !((double)these >= MOST * (double)known))
        return false;
    ypi_slot(f, "these", "%zu", these);
    ypi_slot(f, "known", "%zu", known);
    ypi_finding_evidence(f, "%zu of %zu cases whose bottleneck is known, of %zu in all", these,
                         known, count);
    return true;
}

static bool memory(const struct ypi_point *points, size_t count, double limit,
                   struct ypi_finding *f)
{
    (void)limit;
    return most_are(points, count, "bottleneck-memory", f);
}

static bool compute(const struct ypi_point *points, size_t count, double limit,
                    struct ypi_finding *f)
{
    (void)limit;
    return most_are(points, count, "bottleneck-compute", f);
}

static bool data(const struct ypi_point *points, size_t count, double limit, struct ypi_finding *f)
{
    (void)limit;
    return most_are(points, count, "bottleneck-data", f);
}

static bool latency(const struct ypi_point *points, size_t count, double limit,
                    struct ypi_finding *f)
{
    (void)limit;
    return most_are(points, count, "bottleneck-latency", f);
}

/* What the largest of those needs that did not fit. */
static bool more_memory(const struct ypi_point *points, size_t count, double limit,
                        struct ypi_finding *f)
{
    size_t out = 0;
    double most = 0;
    double has = 0;
    for (size_t i = 0; i < count; i++) {
        const struct ypi_kept *kept = points[i].kept;
        if (!kept->out_of_memory)
            continue;
        out++;
        if (kept->plan > most) {
            most = kept->plan;
            has = ypi_memory_within(kept, limit);
        }
    }
    if (!(most > has && has > 0))
        return false;
    ypi_slot(f, "out", "%zu %s", out, out == 1 ? "case" : "cases");
    ypi_slot(f, "most", "%s", ypi_say_bytes(most));
    ypi_finding_evidence(f, "the largest plan is %s, and there are %s", ypi_say_bytes(most),
                         ypi_say_bytes(has));
    return true;
}

#define RULE(kind, holds, sentence, ...) \
    { \
        "hardware-" kind, YPI_URGENCY_KNOW, NULL, NULL, true, 1, holds, sentence, \
        { \
            __VA_ARGS__, NULL \
        } \
    }
#define MOST_CASES "Of the cases whose bottleneck is known, {these} of {known} are bound by "

/* clang-format off */
static const struct ypi_run_rule rules[] = {
    RULE("memory-rate", memory, MOST_CASES "the rate of memory.",
         "more channels of memory, larger caches, or an accelerator with its own", "not more cores: they share that rate"),
    RULE("compute", compute, MOST_CASES "arithmetic.",
         "more cores, wider vector or matrix instructions, or an accelerator"),
    RULE("data", data, MOST_CASES "getting their data.",
         "a faster disk, or memory for a cache of prepared data", "cores for workers; not a faster accelerator"),
    RULE("latency", latency, MOST_CASES "the latency of memory.",
         "larger caches, and more threads a core", "not more of memory's rate"),
    RULE("more-memory", more_memory, "{out} ran out of memory; one that has {most} runs them all.",
         "a machine or accelerator with that much beside what the system takes"),
};
/* clang-format on */

const struct ypi_run_family ypi_hardware_rules = {false, rules, sizeof rules / sizeof *rules};
