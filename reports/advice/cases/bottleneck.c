/* What a measurement's time is bound by, from phases, ceilings and processor time. The first rule
 * that holds speaks: a phase that was timed is surer than a share. */
#include "reports/advice/cases/parts.h"

#include <math.h>
#include <string.h>

#define MOST 0.3 /* of an iteration: a stage that bounds it, where it takes the most */
#define NEAR 0.5 /* share of a ceiling that bounds it */
#define FAR 0.25 /* share of a ceiling that does not */
#define MORE_THAN_IS 1.1
#define BUSY 0.8 /* of the processors that it uses */
#define IDLE 0.6
#define SHORT 50e-6   /* seconds: starting threads takes a good part of it */
#define LINE 64.0     /* bytes of a cache line */
#define ACCESS 60e-9  /* seconds: no cache takes as long for a line */
#define FEW 16.0      /* operations an item: they do not take as long */
#define PER_CYCLE 1.0 /* instructions: below, the processor waits */

/* -- phases -------------------------------------------------------------------------------- */

static bool stage_bounds(const struct ypi_seen *s, struct ypi_finding *f, enum ypi_stage stage)
{
    struct ypi_stages stages = ypi_stages_of(s);
    double share = stages.share[stage];
    if (stages.most != stage || !(share >= MOST))
        return false;
    ypi_slot(f, "share", "%s", ypi_say_percent(share));
    ypi_stage_evidence(s, f, stage);
    if (share < 0.95)
        ypi_finding_evidence(f, "without it an iteration would take %s, %.3g times less",
                             ypi_say_time(s->mean - stages.seconds[stage], NAN, NAN),
                             1 / (1 - share));
    return true;
}

static bool by_data(const struct ypi_seen *s, struct ypi_finding *f)
{
    return stage_bounds(s, f, YPI_STAGE_DATA);
}

static bool by_transfer(const struct ypi_seen *s, struct ypi_finding *f)
{
    return stage_bounds(s, f, YPI_STAGE_TRANSFER);
}

static bool by_waits(const struct ypi_seen *s, struct ypi_finding *f)
{
    return stage_bounds(s, f, YPI_STAGE_WAIT);
}

static bool by_launch_phase(const struct ypi_seen *s, struct ypi_finding *f)
{
    return stage_bounds(s, f, YPI_STAGE_LAUNCH);
}

/* -- launches ------------------------------------------------------------------------------ */

/* A batch was held until it was launched; the samples then ran without its launches. */
static bool by_launches(const struct ypi_seen *s, struct ypi_finding *f)
{
    double launching = ypi_real(s->noise, "gpu launching");
    double batch = fmax(ypi_real(s->m, "batch"), 1) * s->median;
    if (!(launching > NEAR * batch) || ypi_real(s->noise, "gpu graph") > 0)
        return false;
    ypi_slot(f, "share", "%s", ypi_say_percent(launching / batch));
    ypi_finding_evidence(f, "launching a batch takes %s, running it %s (%.0f iterations of %s)",
                         ypi_say_time(launching, NAN, NAN), ypi_say_time(batch, NAN, NAN),
                         ypi_real(s->m, "batch"), ypi_say_time(s->median, s->low, s->high));
    return true;
}

/* Threads that are started for less work than starting them takes. */
static bool by_starts(const struct ypi_seen *s, struct ypi_finding *f)
{
    struct ypi_nearest n = ypi_nearest_of(s->m);
    double threads = ypi_real(s->m, "threads");
    if (s->kept->accelerator || n.bound == NULL || !(threads > 1) || !(s->median < SHORT) ||
        !(ypi_real(s->m, "share_high") < FAR))
        return false;
    ypi_slot(f, "threads", "%.0f", threads);
    ypi_slot(f, "time", "%s", ypi_say_time(s->median, s->low, s->high));
    ypi_share_evidence(s, f, &n);
    ypi_finding_evidence(f, "an iteration takes %s on %.0f threads",
                         ypi_say_time(s->median, s->low, s->high), threads);
    return true;
}

/* -- ceilings ------------------------------------------------------------------------------ */

static bool near(const struct ypi_seen *s, struct ypi_finding *f, bool traffic)
{
    struct ypi_nearest n = ypi_nearest_of(s->m);
    if (n.bound == NULL || n.traffic != traffic || n.transfer ||
        strcmp(ypi_text_of(n.bound, "ceiling"), "launch") == 0 ||
        !(ypi_real(s->m, "share_low") >= NEAR && ypi_real(s->m, "share_low") <= MORE_THAN_IS))
        return false;
    ypi_slot(f, "share", "%s", ypi_say_percent(ypi_real(s->m, "share")));
    ypi_slot(f, "ceiling", "%s", n.name);
    ypi_share_evidence(s, f, &n);
    return true;
}

static bool by_memory(const struct ypi_seen *s, struct ypi_finding *f)
{
    return near(s, f, true);
}

static bool by_arithmetic(const struct ypi_seen *s, struct ypi_finding *f)
{
    return near(s, f, false);
}

/* Busy, far below the rate of the memory that bounds it, and long at each item, of which each is in
 * a line or two and takes few operations: the line is waited for. Processor time is what it takes
 * where others have the processors, too. */
static bool by_latency(const struct ypi_seen *s, struct ypi_finding *f)
{
    struct ypi_nearest n = ypi_nearest_of(s->m);
    double items = ypi_real(s->m, "items");
    double threads = fmax(ypi_real(s->m, "threads"), 1);
    double per_cycle = ypi_counted(s->m, "instructions") / ypi_counted(s->m, "cycles");
    double bytes = ypi_real(n.bound, "work") / items;
    double each = ypi_real(s->m, "cpu") / items;
    bool busy = ypi_processors_busy(s) >= BUSY * threads || ypi_is_disturbed(s);
    if (n.bound == NULL || !n.traffic || s->kept->accelerator || !busy ||
        !(ypi_real(s->m, "share_high") < FAR) || !(each > ACCESS) || !(bytes <= 2 * LINE) ||
        ypi_real(s->m, "flops") > FEW * items || per_cycle > PER_CYCLE)
        return false;
    ypi_slot(f, "each", "%s", ypi_say_time(each, NAN, NAN));
    ypi_slot(f, "unit", "%s", *ypi_text_of(s->m, "unit") ? ypi_text_of(s->m, "unit") : "items");
    ypi_share_evidence(s, f, &n);
    ypi_finding_evidence(
        f, "processor time %s for %.6g items of %.3g bytes each",
        ypi_say_time(ypi_real(s->m, "cpu"), ypi_real(s->m, "cpu_low"), ypi_real(s->m, "cpu_high")),
        items, bytes);
    if (per_cycle > 0)
        ypi_finding_evidence(f, "%.2f instructions a cycle", per_cycle);
    return true;
}

/* Threads that have nothing to do for a part of the time. */
static bool by_idle_threads(const struct ypi_seen *s, struct ypi_finding *f)
{
    double threads = ypi_real(s->m, "threads");
    double busy = ypi_processors_busy(s);
    if (s->kept->accelerator || !(threads > 1) || !(busy < IDLE * threads) || s->median < SHORT ||
        ypi_is_disturbed(s))
        return false;
    ypi_slot(f, "busy", "%.3g", busy);
    ypi_slot(f, "threads", "%.0f", threads);
    ypi_finding_evidence(
        f, "processor time %s of %s, on %.0f threads",
        ypi_say_time(ypi_real(s->m, "cpu"), ypi_real(s->m, "cpu_low"), ypi_real(s->m, "cpu_high")),
        ypi_say_time(s->median, s->low, s->high), threads);
    if (ypi_real(s->noise, "waits") > 0)
        ypi_finding_evidence(f, "%.0f waits in %s", ypi_real(s->noise, "waits"),
                             ypi_say_time(ypi_real(s->noise, "wall"), NAN, NAN));
    return true;
}

#define TIME YPI_NEEDS_TIME
#define PHASES (YPI_NEEDS_TIME | YPI_NEEDS_PHASES)
#define SHARE (YPI_NEEDS_TIME | YPI_NEEDS_SHARE)
#define U YPI_URGENCY_BOTTLENECK

/* clang-format off */
static const struct ypi_case_rule rules[] = {
    {"bottleneck-data", U, PHASES, by_data,
     "{name} is data-bound: {share} of an iteration goes into getting its data.",
     {"prepare the next batch while this one is worked on: workers, double buffering",
      "keep what was prepared, in memory or on disk, instead of preparing it each time",
      "prepare less: only needed columns and channels, a binary format, several items a read", NULL}},
    {"bottleneck-synchronisation", U, PHASES, by_waits,
     "{name} is synchronisation-bound: {share} of an iteration is waiting.",
     {"give all that wait for each other the same amount of work", "wait less often: larger parts, one reduction for many",
      "work on something else meanwhile", NULL}},
    {"bottleneck-transfer", U, PHASES, by_transfer,
     "{name} is bound by copies: {share} of an iteration.",
     {"copy while the device works: a second stream, pinned memory", "keep on the device what is used again", "send a narrower type", NULL}},
    {"bottleneck-launch", U, PHASES, by_launch_phase,
     "{name} is launch-bound: {share} of an iteration goes into starting its work.",
     {"a larger batch", "fuse small kernels", "record the launches once: .graph", NULL}},
    {"bottleneck-launch", U, TIME | YPI_NEEDS_NOISE | YPI_NEEDS_DEVICE, by_launches,
     "{name} is launch-bound: to launch its work takes {share} of the time that it runs.",
     {"a larger batch", "fuse small kernels", "record the launches once: .graph", NULL}},
    {"bottleneck-launch", U, SHARE, by_starts,
     "{name} is launch-bound: {time} is too short for {threads} threads, whose start takes most of it.",
     {"more work at once: a larger batch", "fewer threads for work of this size", "one parallel region around many small pieces", NULL}},
    {"bottleneck-memory", U, SHARE, by_memory,
     "{name} is memory-bound: it has {share} of the ceiling of {ceiling}.",
     {"fewer bytes: passes over the data fused, narrower types", "blocks that stay in a cache",
      "not more threads: they share that rate", NULL}},
    {"bottleneck-compute", U, SHARE, by_arithmetic,
     "{name} is compute-bound: it has {share} of the ceiling of {ceiling}.",
     {"a narrower type with a higher ceiling, such as bf16, after a look at its error", "fewer operations: another algorithm",
      "more processors, or an accelerator", NULL}},
    {"bottleneck-latency", U, SHARE | YPI_NEEDS_CPU | YPI_NEEDS_ITEMS, by_latency,
     "{name} is most likely latency-bound: each of its {unit} takes {each}, which is waiting for memory, not moving bytes.",
     {"several independent accesses at a time: batches of look-ups, prefetch", "data in the order of its use, nodes beside each other",
      "a smaller footprint, huge pages", "more threads, which wait side by side", NULL}},
    {"bottleneck-synchronisation", U, TIME | YPI_NEEDS_CPU, by_idle_threads,
     "{name} is synchronisation-bound: {busy} of {threads} processors are busy.",
     {"make the parts that one thread does alone parallel too", "give threads the same amount of work, or parts that they take when free",
      "wait less often", "look what they wait for: a lock, the disk, the network", NULL}},
};
/* clang-format on */

const struct ypi_case_family ypi_bottleneck_rules = {YPI_A_MEASUREMENT, true, rules,
                                                     sizeof rules / sizeof *rules};
