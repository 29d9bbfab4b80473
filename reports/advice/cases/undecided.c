#include "reports/advice/cases/cause.h"

#include "harness/history/history.h"

#include <math.h>
#include <string.h>

#define WIDE 1.1 /* of a ratio's interval, upper over lower end: less was looked for than 10 % */

/* -- budgets: `undecided`, for which a case is `noisy` ---------------------------------------- */

static bool undecided(const struct ypi_seen *s, struct ypi_finding *f)
{
    char text[256];
    char low[128];
    char high[128];
    char allowed[128];
    const char *unit = ypi_text_of(s->m, "unit");
    if (strcmp(ypi_text_of(s->budget, "met"), "undecided") != 0)
        return false;
    ypi_store_budget_text(text, s->budget, unit);
    ypi_store_budget_figure(low, s->budget, ypi_real(s->budget, "low"), unit);
    ypi_store_budget_figure(high, s->budget, ypi_real(s->budget, "high"), unit);
    ypi_store_budget_figure(allowed, s->budget, ypi_real(s->budget, "allowed"), unit);
    ypi_slot(f, "what", "'%s'", text);
    ypi_finding_evidence(f, "limit %s, measured between %s and %s", allowed, low, high);
    return true;
}

/* -- differences from the run before: `cannot say` --------------------------------------------- */

static bool unsure(const struct ypi_seen *s, struct ypi_finding *f)
{
    const struct ypi_change *c = s->change;
    if (c->what == NULL || strcmp(c->what, "time") != 0 || c->better || c->worse ||
        !(c->low < 1 && c->high > 1) || !(c->high > WIDE * c->low))
        return false;
    ypi_slot(f, "what", "whether %s has changed", c->name != NULL ? c->name : "");
    ypi_finding_evidence(f, "now over before: %s", ypi_say_ratio(c->ratio, c->low, c->high));
    return true;
}

/* -- why, from what was seen ------------------------------------------------------------------- */

static bool by_time(const struct ypi_seen *s, struct ypi_finding *f)
{
    if (strcmp(ypi_text_of(s->m, "stop"), "time") != 0)
        return false;
    ypi_finding_evidence(f, "%.0f samples of %s until the time was over", ypi_real(s->m, "count"),
                         ypi_say_time(s->median * fmax(ypi_real(s->m, "batch"), 1), NAN, NAN));
    return true;
}

/* The interval is narrow, and the limit lies in it. */
static bool by_nearness(const struct ypi_seen *s, struct ypi_finding *f)
{
    double width = (s->high - s->low) / s->median;
    if (!(width < 0.02))
        return false;
    ypi_finding_evidence(f, "the interval of the median is %s wide, in %.0f samples",
                         ypi_say_percent(width), ypi_real(s->m, "count"));
    return true;
}

static bool by_nothing(const struct ypi_seen *s, struct ypi_finding *f)
{
    if (s->median > 0)
        ypi_finding_evidence(f, "median %s in %.0f samples",
                             ypi_say_time(s->median, s->low, s->high), ypi_real(s->m, "count"));
    return true;
}

#define BOTH(name, cause) \
    static bool undecided_##name(const struct ypi_seen *s, struct ypi_finding *f) \
    { \
        return undecided(s, f) && cause(s, f); \
    } \
    static bool unsure_##name(const struct ypi_seen *s, struct ypi_finding *f) \
    { \
        return unsure(s, f) && cause(s, f); \
    }
BOTH(neighbour, ypi_cause_neighbours)
BOTH(held_back, ypi_cause_held_back)
BOTH(clock, ypi_cause_clock)
BOTH(migration, ypi_cause_moved)
BOTH(disk, ypi_cause_disk)
BOTH(faults, ypi_cause_faults)
BOTH(few, ypi_cause_few)
BOTH(drift, ypi_cause_drift)
BOTH(time, by_time)
BOTH(near, by_nearness)
BOTH(unexplained, by_nothing)

/* clang-format off */
#define NOISE YPI_NEEDS_NOISE
#define U YPI_URGENCY_UNDECIDED
#define CANNOT "It cannot be said {what}: "
#define UNDECIDED "{what} is undecided: "
#define COUNT "count instead of timing: --instructions"

/* The same reasons and remedies for both; the first that holds. */
#define NEIGHBOUR(of, text) {#of "-neighbour", U, NOISE, of##_neighbour, text "{cause}.", \
    {"isolate it: run while nothing else does, or with processors of its own, --cpus LIST", COUNT, NULL}}
#define HELD_BACK(of, text) {#of "-held-back", U, NOISE, of##_held_back, text "{cause}.", \
    {"run it on a machine, or with a quota, of its own", COUNT, NULL}}
#define CLOCK(of, text) {#of "-clock", U, NOISE, of##_clock, text "the processors' clock changed: {cause}.", \
    {"fix the clock: governor `performance`, boost off", COUNT, NULL}}
#define MIGRATION(of, text) {#of "-migration", U, NOISE, of##_migration, text "{cause}.", \
    {"keep each thread on a core: --bind cores", COUNT, NULL}}
#define DISK(of, text) {#of "-disk", U, NOISE, of##_disk, text "{cause}.", \
    {"read the data once before measuring", NULL}}
#define FEW(of, text) {#of "-few-samples", U, 0, of##_few, text "{count} samples are too few.", \
    {"take more: .samples, or the adaptive rule without it", NULL}}
#define DRIFT(of, text) {#of "-drift", U, 0, of##_drift, text "it drifts, so that its samples count as {effective} independent ones.", \
    {"more time: .max_seconds", "fresh processes: --repeat 5", NULL}}
#define FAULTS(of, text) {#of "-page-faults", U, NOISE, of##_faults, text "memory is mapped while it runs, {faults} page faults a second.", \
    {"take memory once, outside of the measured block", COUNT, NULL}}
#define MORE_TIME(of, text) {#of "-time", U, 0, of##_time, text "its time was over before the samples decided.", \
    {"more time: .max_seconds, and no --max-seconds", COUNT, NULL}}
#define UNEXPLAINED(of, text) {#of "-unexplained", U, 0, of##_unexplained, text "its samples scatter, and nothing that was recorded of the machine explains it.", \
    {"more time: .max_seconds", "another core: --cpus LIST", COUNT, NULL}}
#define ALL(of, text) NEIGHBOUR(of, text), HELD_BACK(of, text), CLOCK(of, text), MIGRATION(of, text), DISK(of, text), \
    FEW(of, text), DRIFT(of, text), FAULTS(of, text), MORE_TIME(of, text)

static const struct ypi_case_rule undecided_rules[] = {
    ALL(undecided, UNDECIDED),
    {"undecided-near", U, 0, undecided_near, UNDECIDED "the limit lies where the figure is.",
     {"set a limit with room for what processes differ by: yieldpoint budgets --suggest", NULL}},
    UNEXPLAINED(undecided, UNDECIDED),
};

static const struct ypi_case_rule unsure_rules[] = {
    ALL(unsure, CANNOT),
    {"unsure-near", U, 0, unsure_near, CANNOT "processes differ by more than samples of one do.",
     {"compare many processes, in pairs: yieldpoint gate", "fresh processes: --repeat 5", NULL}},
    UNEXPLAINED(unsure, CANNOT),
};
/* clang-format on */

const struct ypi_case_family ypi_undecided_rules = {
    YPI_A_BUDGET, true, undecided_rules, sizeof undecided_rules / sizeof *undecided_rules};
const struct ypi_case_family ypi_unsure_rules = {YPI_A_CHANGE, true, unsure_rules,
                                                 sizeof unsure_rules / sizeof *unsure_rules};
