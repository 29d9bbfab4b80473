#include "reports/advice/cases/cause.h"
#include "reports/advice/cases/parts.h"

#include "base/text/text.h"

#include <math.h>
#include <string.h>

#define FAULTS_COST 0.5e-6 /* seconds that a minor fault takes at least */
#define FAULTS_SHARE 0.02  /* of the time, which would be noticed */
#define CORRELATED 0.5

/* -- what the history says of a measurement's cause of noise --------------------------------- */

static bool said(const struct ypi_seen *s, const char *const *words, struct ypi_finding *f)
{
    const char *cause = ypi_text_of(s->m, "noise_cause");
    for (size_t i = 0; words[i] != NULL; i++)
        if (strstr(cause, words[i]) != NULL) {
            ypi_slot(f, "cause", "%s", cause);
            ypi_finding_evidence(f, "%s, in %s of measuring", cause,
                                 ypi_say_time(ypi_real(s->noise, "wall"), NAN, NAN));
            return true;
        }
    return false;
}

bool ypi_cause_neighbours(const struct ypi_seen *s, struct ypi_finding *f)
{
    static const char *const words[] = {"other processes used", "preempted", NULL};
    return said(s, words, f);
}

bool ypi_cause_held_back(const struct ypi_seen *s, struct ypi_finding *f)
{
    static const char *const words[] = {"hypervisor", "quota", NULL};
    return said(s, words, f);
}

bool ypi_cause_clock(const struct ypi_seen *s, struct ypi_finding *f)
{
    static const char *const words[] = {"the frequency fell", "throttling for heat", NULL};
    return said(s, words, f);
}

bool ypi_cause_moved(const struct ypi_seen *s, struct ypi_finding *f)
{
    static const char *const words[] = {"moved between processors", NULL};
    return said(s, words, f);
}

bool ypi_cause_disk(const struct ypi_seen *s, struct ypi_finding *f)
{
    static const char *const words[] = {"read from disk", NULL};
    return said(s, words, f);
}

bool ypi_cause_device_slow(const struct ypi_seen *s, struct ypi_finding *f)
{
    double aside = ypi_real(s->noise, "gpu samples set aside");
    double capped = ypi_real(s->noise, "gpu samples power capped");
    if (!(aside > 0 || capped > 0))
        return false;
    ypi_finding_evidence(
        f, "%.0f samples set aside as slowed down, %.0f taken at the power cap, %.0f kept",
        fmax(aside, 0), fmax(capped, 0), ypi_real(s->m, "count"));
    return true;
}

bool ypi_cause_faults(const struct ypi_seen *s, struct ypi_finding *f)
{
    double faults = ypi_real(s->noise, "minor_faults");
    double wall = ypi_real(s->noise, "wall");
    if (!(faults * FAULTS_COST > FAULTS_SHARE * wall))
        return false;
    ypi_slot(f, "faults", "%.3g", faults / wall);
    ypi_finding_evidence(f, "%.0f minor page faults in %s: %.3g a second", faults,
                         ypi_say_time(wall, NAN, NAN), faults / wall);
    return true;
}

bool ypi_cause_few(const struct ypi_seen *s, struct ypi_finding *f)
{
    double count = ypi_real(s->m, "count");
    if (!(count > 0 && count < 8))
        return false;
    ypi_slot(f, "count", "%.0f", count);
    ypi_finding_evidence(f, "%.0f samples: their interval holds the median with %.3g %% at most",
                         count, 100 * ypi_real(s->m, "coverage"));
    return true;
}

bool ypi_cause_drift(const struct ypi_seen *s, struct ypi_finding *f)
{
    double effective = ypi_real(s->m, "effective");
    double count = ypi_real(s->m, "count");
    if (!(ypi_real(s->m, "autocorrelation") > CORRELATED && effective < count))
        return false;
    ypi_slot(f, "effective", "%.3g", effective);
    ypi_finding_evidence(
        f,
        "correlation of each sample with the one before %.2f: %.0f samples count as "
        "%.3g",
        ypi_real(s->m, "autocorrelation"), count, effective);
    return true;
}

/* -- the coefficient of variation ------------------------------------------------------------ */

static bool varies(const struct ypi_seen *s, struct ypi_finding *f)
{
    double sd = ypi_real(s->m, "sd");
    double cv = sd / s->mean;
    if (!(cv > YPI_VARIES && isfinite(cv)) || !(ypi_real(s->m, "count") > 1))
        return false;
    ypi_slot(f, "cv", "%s", ypi_say_percent(cv));
    ypi_finding_evidence(f, "standard deviation %s of mean %s in %.0f samples, from %s to %s",
                         ypi_say_time(sd, NAN, NAN), ypi_say_time(s->mean, NAN, NAN),
                         ypi_real(s->m, "count"), ypi_say_time(ypi_real(s->m, "min"), NAN, NAN),
                         ypi_say_time(ypi_real(s->m, "max"), NAN, NAN));
    return true;
}

#define BY(cause) \
    static bool by_##cause(const struct ypi_seen *s, struct ypi_finding *f) \
    { \
        return varies(s, f) && ypi_cause_##cause(s, f); \
    }
BY(neighbours)
BY(held_back)
BY(clock)
BY(moved)
BY(disk)
BY(device_slow)
BY(faults)
BY(few)
BY(drift)

static bool by_warmup(const struct ypi_seen *s, struct ypi_finding *f)
{
    double later;
    double fence;
    size_t slow = ypi_slow_beginning(s->samples, s->count, &later, &fence);
    if (slow == 0 || (slow == 1 && ypi_is_disturbed(s)) || !varies(s, f))
        return false;
    ypi_slot(f, "slow", "%zu", slow);
    ypi_finding_evidence(f, "samples above %s: the first %zu and no more than one in twenty later",
                         ypi_say_time(fence, NAN, NAN), slow);
    return true;
}

/* Quiet, as far as was recorded. */
static bool by_nothing(const struct ypi_seen *s, struct ypi_finding *f)
{
    double wall = ypi_real(s->noise, "wall");
    if (!(wall > 0) || *ypi_text_of(s->m, "noise_cause") != '\0' || !varies(s, f))
        return false;
    ypi_finding_evidence(f, "in %s no other process, quota, change of clock or migration stood out",
                         ypi_say_time(wall, NAN, NAN));
    return true;
}

#define VARIATION "{name} varies by {cv} (standard deviation over mean), most likely because "
#define TIME YPI_NEEDS_TIME
#define NOISE (YPI_NEEDS_TIME | YPI_NEEDS_NOISE)

/* clang-format off */
static const struct ypi_case_rule rules[] = {
    {"variation-device", YPI_URGENCY_NOISE, NOISE | YPI_NEEDS_DEVICE, by_device_slow,
     VARIATION "the device was slowed down.",
     {"let it cool down between cases, or lock its clock below the cap", "look at its series of clock and power", NULL}},
    {"variation-warm-up", YPI_URGENCY_NOISE, TIME | YPI_NEEDS_SAMPLES, by_warmup,
     VARIATION "its first samples are warm-up: {slow} of them.",
     {"give it a longer warm-up", NULL}},
    {"variation-neighbour", YPI_URGENCY_NOISE, NOISE, by_neighbours,
     VARIATION "{cause}.",
     {"run it while nothing else does", "give it processors of its own: --cpus LIST", NULL}},
    {"variation-held-back", YPI_URGENCY_NOISE, NOISE, by_held_back,
     VARIATION "{cause}.",
     {"run it on a machine, or with a quota, of its own", "compare counts there: --instructions", NULL}},
    {"variation-clock", YPI_URGENCY_NOISE, NOISE, by_clock,
     VARIATION "the processors' clock changed: {cause}.",
     {"fix the clock: governor `performance`, boost off", "cool the machine", NULL}},
    {"variation-migration", YPI_URGENCY_NOISE, NOISE, by_moved,
     VARIATION "{cause}.",
     {"bind threads: --bind cores", "start no more threads than there are processors", NULL}},
    {"variation-disk", YPI_URGENCY_NOISE, NOISE, by_disk,
     VARIATION "{cause}.",
     {"read the data once before measuring", "take less memory than the machine has free", NULL}},
    {"variation-page-faults", YPI_URGENCY_NOISE, NOISE, by_faults,
     VARIATION "memory is mapped while it runs: {faults} page faults a second.",
     {"take memory once, outside of the measured block", "ask for huge pages", NULL}},
    {"variation-few-samples", YPI_URGENCY_NOISE, TIME, by_few,
     VARIATION "{count} samples are too few.",
     {"take 10 samples at least, 20 for a comparison", NULL}},
    {"variation-drift", YPI_URGENCY_NOISE, TIME, by_drift,
     VARIATION "it drifts: the samples count as {effective} independent ones.",
     {"look at the samples in their order", "measure for longer than what changes takes to come back", NULL}},
    {"variation-unexplained", YPI_URGENCY_NOISE, NOISE, by_nothing,
     "{name} varies by {cv} (standard deviation over mean), and nothing that was recorded of the machine explains it.",
     {"look whether the samples have two levels: placement of memory, branches of the work itself", "run it again in fresh processes: --repeat 5", NULL}},
};
/* clang-format on */

const struct ypi_case_family ypi_variation_rules = {YPI_A_MEASUREMENT, true, rules,
                                                    sizeof rules / sizeof *rules};
