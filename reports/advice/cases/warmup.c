#include "reports/advice/cases/parts.h"

#include <math.h>

/* The first samples beside the later ones, in the order in which they were taken. A case that
 * studies warm-up itself is left to runs/warmup.c. */
static bool too_short(const struct ypi_seen *s, struct ypi_finding *f)
{
    double later;
    double fence;
    double batch = fmax(ypi_real(s->m, "batch"), 1);
    double warmup = ypi_real(s->m, "warmup");
    double sum = 0;
    size_t slow = ypi_slow_beginning(s->samples, s->count, &later, &fence);
    if (slow == 0 || (slow == 1 && ypi_is_disturbed(s)) || !(warmup >= 0) ||
        !isnan(ypi_axis_number(s->kept, ypi_warmup_axes)))
        return false;
    for (size_t i = 0; i < slow; i++)
        sum += s->samples[i];
    if (!isfinite(sum))
        return false;
    ypi_slot(f, "first", slow > 1 ? "The first %zu samples" : "The first sample", slow);
    ypi_slot(f, "are", slow > 1 ? "are" : "is");
    ypi_slot(f, "times", "%.3g", sum / (double)slow / later);
    ypi_slot(f, "warmup", "%.0f", warmup);
    ypi_slot(f, "needed", "%.0f", warmup + (double)slow * batch);
    ypi_finding_evidence(f,
                         "first sample %s, median of the second half %s, all later ones but one in "
                         "twenty below %s",
                         ypi_say_time(s->samples[0], NAN, NAN), ypi_say_time(later, NAN, NAN),
                         ypi_say_time(fence, NAN, NAN));
    ypi_finding_evidence(f, "mean of all samples %s, median %s", ypi_say_time(s->mean, NAN, NAN),
                         ypi_say_time(s->median, s->low, s->high));
    return true;
}

static const struct ypi_case_rule rules[] = {
    {"warm-up-short",
     YPI_URGENCY_NOISE,
     YPI_NEEDS_TIME | YPI_NEEDS_SAMPLES,
     too_short,
     "{first} of {name} {are} {times} times as slow as the later ones: a warm-up of {warmup} "
     "iterations was too short, {needed} are needed.",
     {"set .warmup = {needed}",
      "look for what the first iterations alone do: memory taken, files "
      "read, kernels compiled, caches and clocks that rise",
      NULL}},
};

const struct ypi_case_family ypi_warmup_rules = {YPI_A_MEASUREMENT, true, rules,
                                                 sizeof rules / sizeof *rules};
