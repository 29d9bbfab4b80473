/* Cases that ran out of memory, or nearly: what to make smaller, in order of what it costs. */
#include "reports/advice/cases/memory.h"

#include "harness/history/history.h"

#include <math.h>
#include <string.h>

#define TIGHT 0.9 /* of what there is */

static const char *const recompute_axes[] = {"recompute", "checkpointing", NULL};
static const char *const length_axes[] = {"context", "context_length", "sequence", "history", NULL};
static const char *const side_axes[] = {"side", "pixels", "channels", NULL};
static const char *const width_axes[] = {"size", "model_size", "modes", "hidden", "d_model", NULL};

/* The ladder: a rung is offered where the case has its axis at a value that can go down. */
void ypi_try_smaller(const struct ypi_kept *kept, struct ypi_finding *f)
{
    bool training = ypi_is_training(kept, kept->measure_count > 0 ? &kept->measures[0] : NULL);
    double batch = ypi_axis_number(kept, ypi_batch_axes);
    const char *recompute = ypi_axis_text(kept, recompute_axes);
    const char *precision = ypi_axis_text(kept, ypi_precision_axes);
    if (batch > 1)
        ypi_try(f, "a smaller batch: %s below %.0f", ypi_axis_name(kept, ypi_batch_axes), batch);
    if (batch > 1 && training)
        ypi_try(f, "accumulation for the same gradient: %.0f parts of %s 1", batch,
                ypi_axis_name(kept, ypi_batch_axes));
    if (ypi_axis_number(kept, ypi_tile_axes) > 1)
        ypi_try(f, "smaller tiles: %s below %s", ypi_axis_name(kept, ypi_tile_axes),
                ypi_axis_text(kept, ypi_tile_axes));
    if (ypi_axis_number(kept, length_axes) > 1)
        ypi_try(f, "a shorter %s than %s", ypi_axis_name(kept, length_axes),
                ypi_axis_text(kept, length_axes));
    if (training && (*recompute == '\0' || strcmp(recompute, "none") == 0))
        ypi_try(f, "activations computed again in the backward pass instead of kept");
    if (strcmp(precision, "fp32") == 0 || strcmp(precision, "fp64") == 0)
        ypi_try(f, "a narrower precision than %s", precision);
    if (ypi_axis_number(kept, side_axes) > 1)
        ypi_try(f, "%s below %s, or parts one after the other", ypi_axis_name(kept, side_axes),
                ypi_axis_text(kept, side_axes));
    if (*ypi_axis_name(kept, width_axes) != '\0')
        ypi_try(f, "a smaller model: %s below %s", ypi_axis_name(kept, width_axes),
                ypi_axis_text(kept, width_axes));
}

static bool ran_out(const struct ypi_seen *s, struct ypi_finding *f)
{
    const cJSON *result = cJSON_GetObjectItemCaseSensitive(s->document, "result");
    const cJSON *failure =
        cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(s->document, "failures"), 0);
    const char *said = ypi_text_of(failure, "message");
    if (!s->kept->out_of_memory)
        return false;
    if (*said == '\0')
        said = ypi_text_of(result, "reason");
    ypi_finding_evidence(f, "%.300s", said);
    if (s->kept->plan > 0)
        ypi_finding_evidence(f, "planned %s", ypi_say_bytes(s->kept->plan));
    if (s->limit > 0)
        ypi_finding_evidence(f, "there are %s", ypi_say_bytes(s->limit));
    ypi_try_smaller(s->kept, f);
    return true;
}

static bool nearly(const struct ypi_seen *s, struct ypi_finding *f)
{
    double peak = s->kept->peak;
    if (s->kept->out_of_memory || !(peak > TIGHT * s->limit) || !(peak <= s->limit))
        return false;
    ypi_slot(f, "share", "%s", ypi_say_percent(peak / s->limit));
    ypi_finding_evidence(f, "peak %s of %s", ypi_say_bytes(peak), ypi_say_bytes(s->limit));
    ypi_try_smaller(s->kept, f);
    return true;
}

/* clang-format off */
static const struct ypi_case_rule rules[] = {
    {"out-of-memory", YPI_URGENCY_FAILED, 0, ran_out,
     "It ran out of memory.",
     {"a machine, or an accelerator, with more of it", NULL}},
    {"memory-tight", YPI_URGENCY_MEMORY, 0, nearly,
     "It takes {share} of the memory that there is: a little more data and it runs out.",
     {NULL}},
};
/* clang-format on */

const struct ypi_case_family ypi_memory_rules = {YPI_A_CASE, true, rules,
                                                 sizeof rules / sizeof *rules};
