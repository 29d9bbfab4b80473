#include "reports/advice/cases/parts.h"

#include <math.h>
#include <string.h>

#define FAR 0.25

/* The phase that takes the longest, of two at least. */
static bool longest(const struct ypi_seen *s, struct ypi_finding *f)
{
    const cJSON *phase;
    const cJSON *most = NULL;
    int count = 0;
    cJSON_ArrayForEach(phase, cJSON_GetObjectItemCaseSensitive(s->m, "phases"))
    {
        double seconds = ypi_real(phase, "seconds");
        if (!(seconds > 0 && isfinite(seconds)))
            continue;
        count++;
        if (most == NULL || seconds > ypi_real(most, "seconds"))
            most = phase;
    }
    if (count < 2)
        return false;
    ypi_slot(f, "phase", "%s", ypi_text_of(most, "name"));
    ypi_slot(f, "share", "%s", ypi_say_percent(fmin(ypi_real(most, "seconds") / s->mean, 1)));
    cJSON_ArrayForEach(phase, cJSON_GetObjectItemCaseSensitive(s->m, "phases"))
    {
        double seconds = ypi_real(phase, "seconds");
        if (seconds > 0)
            ypi_finding_evidence(f, "%s: %s, %s of an iteration", ypi_text_of(phase, "name"),
                                 ypi_say_time(seconds, NAN, NAN),
                                 ypi_say_percent(seconds / s->mean));
    }
    ypi_finding_evidence(f, "an iteration: mean %s, median %s", ypi_say_time(s->mean, NAN, NAN),
                         ypi_say_time(s->median, s->low, s->high));
    return true;
}

static bool in_computing(const struct ypi_seen *s, struct ypi_finding *f)
{
    struct ypi_stages stages = ypi_stages_of(s);
    bool bounded = ypi_real(s->m, "share") >= 0;
    return !bounded && stages.most == YPI_STAGE_COMPUTE && longest(s, f);
}

/* Far from what bounds it, and neither memory nor waiting explains it. */
static bool far_from_arithmetic(const struct ypi_seen *s, struct ypi_finding *f)
{
    struct ypi_nearest n = ypi_nearest_of(s->m);
    double threads = fmax(ypi_real(s->m, "threads"), 1);
    if (n.bound == NULL || n.transfer || s->kept->bottleneck != NULL || ypi_is_disturbed(s) ||
        s->kept->accelerator || !(ypi_real(s->m, "share_high") < FAR) ||
        !(ypi_processors_busy(s) >= 0.8 * threads))
        return false;
    ypi_slot(f, "times", "%.3g", 1 / ypi_real(s->m, "share"));
    ypi_slot(f, "ceiling", "%s", n.name);
    ypi_share_evidence(s, f, &n);
    ypi_finding_evidence(f, "%.3g of %.0f processors are busy", ypi_processors_busy(s), threads);
    return true;
}

#define PHASES (YPI_NEEDS_TIME | YPI_NEEDS_PHASES)

/* clang-format off */
static const struct ypi_case_rule rules[] = {
    {"stages", YPI_URGENCY_KNOW, PHASES, in_computing,
     "{phase} takes the most of {name}: {share}. Whether memory or arithmetic bounds it is not known, for no work was declared.",
     {"declare .flops and .bytes, and look at the share", "begin with {phase}", NULL}},
    {"stages", YPI_URGENCY_KNOW, PHASES, longest,
     "{phase} takes the most of {name}: {share}.",
     {"begin with {phase}", NULL}},
    {"far-from-ceiling", YPI_URGENCY_KNOW, YPI_NEEDS_TIME | YPI_NEEDS_SHARE | YPI_NEEDS_CPU, far_from_arithmetic,
     "{name} could be {times} times as fast before the ceiling of {ceiling} bounds it: its processors are busy with something else.",
     {"look which instructions it spends: --instructions, a profiler", "vector instructions, fewer calls and branches in the innermost loop",
      "check that the declared work is the least that is needed", NULL}},
};
/* clang-format on */

const struct ypi_case_family ypi_stage_rules = {YPI_A_MEASUREMENT, true, rules,
                                                sizeof rules / sizeof *rules};
