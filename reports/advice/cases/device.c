/* An accelerator that is idle half of the time, and why: the branches of a tree, asked in order. */
#include "reports/advice/cases/cause.h"
#include "reports/advice/cases/parts.h"

#include "harness/history/history.h"

#include <math.h>
#include <string.h>

#define IDLE 0.5       /* of the time it does nothing */
#define DATA_SHARE 0.1 /* of an iteration: enough to keep a device waiting */
#define SMALL_BATCH 16
#define FULL_PART 0.5 /* of its memory: there is room for a larger batch below */

static bool idle(const struct ypi_seen *s, struct ypi_finding *f)
{
    double used = ypi_real(s->noise, "gpu utilisation");
    if (!(used < IDLE))
        return false;
    ypi_slot(f, "used", "%s", ypi_say_percent(used));
    ypi_finding_evidence(f, "utilisation %s in %s", ypi_say_percent(used),
                         ypi_say_time(ypi_real(s->noise, "wall"), NAN, NAN));
    return true;
}

static bool by_data(const struct ypi_seen *s, struct ypi_finding *f)
{
    struct ypi_stages stages = ypi_stages_of(s);
    double share = stages.share[YPI_STAGE_DATA] + stages.share[YPI_STAGE_TRANSFER];
    if (!(share > DATA_SHARE) || !idle(s, f))
        return false;
    ypi_slot(f, "share", "%s", ypi_say_percent(share));
    if (stages.seconds[YPI_STAGE_DATA] > 0)
        ypi_stage_evidence(s, f, YPI_STAGE_DATA);
    if (stages.seconds[YPI_STAGE_TRANSFER] > 0)
        ypi_stage_evidence(s, f, YPI_STAGE_TRANSFER);
    return true;
}

static bool by_batch(const struct ypi_seen *s, struct ypi_finding *f)
{
    double batch = ypi_axis_number(s->kept, ypi_batch_axes);
    if (!(batch < SMALL_BATCH && s->kept->peak < FULL_PART * s->limit) || !idle(s, f))
        return false;
    ypi_slot(f, "batch", "%s %s", ypi_axis_name(s->kept, ypi_batch_axes),
             ypi_axis_text(s->kept, ypi_batch_axes));
    ypi_finding_evidence(f, "peak memory %s of %s", ypi_say_bytes(s->kept->peak),
                         ypi_say_bytes(s->limit));
    return true;
}

/* "gpu held" is 0 where nothing could be launched before it ran. */
static bool by_waiting(const struct ypi_seen *s, struct ypi_finding *f)
{
    double held = ypi_real(s->noise, "gpu held");
    if (isnan(held) || held > 0 || !idle(s, f))
        return false;
    ypi_finding_evidence(f, "its work ran as it was launched: no batch could be launched ahead");
    return true;
}

static bool by_launches(const struct ypi_seen *s, struct ypi_finding *f)
{
    double launching = ypi_real(s->noise, "gpu launching");
    if (!(launching > 0) || ypi_real(s->noise, "gpu graph") > 0 || !idle(s, f))
        return false;
    ypi_finding_evidence(f, "launching a batch takes %s", ypi_say_time(launching, NAN, NAN));
    return true;
}

static bool by_something(const struct ypi_seen *s, struct ypi_finding *f)
{
    return idle(s, f);
}

/* -- slowed down --------------------------------------------------------------------------- */

static bool slowed(const struct ypi_seen *s, struct ypi_finding *f)
{
    char by[128];
    if (!ypi_store_slowed(ypi_real(s->noise, "gpu throttled"), by) || !ypi_cause_device_slow(s, f))
        return false;
    ypi_slot(f, "by", "%s", by);
    if (ypi_real(s->noise, "gpu temperature") > 0)
        ypi_finding_evidence(f, "up to %.3g C, clock %.4g of at most %.4g GHz",
                             ypi_real(s->noise, "gpu temperature"),
                             1e-9 * ypi_real(s->noise, "gpu clock"),
                             1e-9 * ypi_real(s->noise, "gpu clock most"));
    return true;
}

#define DEVICE (YPI_NEEDS_TIME | YPI_NEEDS_NOISE | YPI_NEEDS_DEVICE)
#define U YPI_URGENCY_BOTTLENECK
#define BELOW "The device is used for {used} of {name}"

/* clang-format off */
static const struct ypi_case_rule rules[] = {
    {"device-idle-data", U, DEVICE | YPI_NEEDS_PHASES, by_data,
     BELOW ": it waits for data, {share} of an iteration.",
     {"keep prepared data in a cache", "prepare and copy the next batch while this one runs", "only then a larger batch", NULL}},
    {"device-idle-batch", U, DEVICE, by_batch,
     BELOW ": {batch} is little work for it, and its memory has room.",
     {"double the batch until items a second no longer rise", "then workers that prepare it", NULL}},
    {"device-idle-wait", U, DEVICE, by_waiting,
     BELOW ": each step waits for a result of its own.",
     {"do not read results on the host in every step", "keep branches on the device", NULL}},
    {"device-idle-launch", U, DEVICE, by_launches,
     BELOW ": its kernels are short beside their launches.",
     {"record the launches once: .graph", "fuse small kernels", "a larger batch", NULL}},
    {"device-idle", U, DEVICE, by_something,
     BELOW ", and no data, batch or launch that was recorded explains it.",
     {"time the parts of an iteration: yp_phase", "look at its series over time", NULL}},
};

static const struct ypi_case_rule slow_rules[] = {
    {"device-slowed", YPI_URGENCY_NOISE, YPI_NEEDS_NOISE | YPI_NEEDS_DEVICE, slowed,
     "The device was slowed down in {name}: {by}.",
     {"cool it, or lock a clock that it can hold", "compare only what ran at the same clock", NULL}},
};
/* clang-format on */

const struct ypi_case_family ypi_device_rules = {YPI_A_MEASUREMENT, true, rules,
                                                 sizeof rules / sizeof *rules};
const struct ypi_case_family ypi_device_slow_rules = {YPI_A_MEASUREMENT, true, slow_rules,
                                                      sizeof slow_rules / sizeof *slow_rules};
