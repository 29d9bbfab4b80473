#include "reports/advice/advice.h"

#include "base/text/text.h"
#include "reports/advice/points.h"
#include "reports/advice/rule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An entry with its place in the list. */
struct said {
    cJSON *entry;
    enum ypi_urgency urgency;
    size_t at;
};

struct ypi_advisor {
    double limit;
    struct ypi_kept **cases;
    size_t case_count, case_room;
    struct said *said;
    size_t said_count, said_room;
};

static const struct ypi_case_family *const case_families[] = {
    &ypi_undecided_rules, &ypi_unsure_rules, &ypi_memory_rules,      &ypi_bottleneck_rules,
    &ypi_stage_rules,     &ypi_device_rules, &ypi_device_slow_rules, &ypi_variation_rules,
    &ypi_warmup_rules,    &ypi_epoch_rules};

static const struct ypi_run_family *const run_families[] = {
    &ypi_recommended_rules, &ypi_batching_rules,     &ypi_tile_rules,    &ypi_headroom_rules,
    &ypi_scale_rules,       &ypi_warmup_study_rules, &ypi_hardware_rules};

struct ypi_advisor *ypi_advisor_create(double memory_limit)
{
    struct ypi_advisor *a = ypi_calloc(1, sizeof *a);
    a->limit = memory_limit > 0 ? memory_limit : 0;
    return a;
}

void ypi_advisor_free(struct ypi_advisor *a)
{
    if (a == NULL)
        return;
    for (size_t i = 0; i < a->case_count; i++)
        ypi_kept_free(a->cases[i]);
    for (size_t i = 0; i < a->said_count; i++)
        cJSON_Delete(a->said[i].entry);
    free(a->cases);
    free(a->said);
    free(a);
}

static void say(struct ypi_advisor *a, cJSON *entry, enum ypi_urgency urgency)
{
    if (a->said_count == a->said_room) {
        a->said_room = a->said_room > 0 ? 2 * a->said_room : 64;
        a->said = ypi_realloc(a->said, a->said_room, sizeof *a->said);
    }
    a->said[a->said_count] = (struct said){entry, urgency, a->said_count};
    a->said_count++;
}

double ypi_memory_within(const struct ypi_kept *kept, double limit)
{
    return limit > 0 ? fmin(limit, kept->memory) : kept->memory; /* fmin: not of NaN */
}

/* -- one case ------------------------------------------------------------------------------ */

static bool is_time(double seconds)
{
    return seconds > 0 && isfinite(seconds);
}

static bool has_phase(const cJSON *m)
{
    const cJSON *phase;
    cJSON_ArrayForEach(phase, cJSON_GetObjectItemCaseSensitive(m, "phases"))
    {
        if (ypi_real(phase, "seconds") > 0)
            return true;
    }
    return false;
}

/* Which of its needs are there. */
static unsigned there(const struct ypi_seen *seen)
{
    const struct {
        bool there;
        unsigned need;
    } all[] = {{is_time(seen->median) && is_time(seen->mean), YPI_NEEDS_TIME},
               {seen->count >= 8, YPI_NEEDS_SAMPLES},
               {has_phase(seen->m), YPI_NEEDS_PHASES},
               {ypi_real(seen->m, "share_low") >= 0 && ypi_real(seen->m, "share_high") >= 0,
                YPI_NEEDS_SHARE},
               {seen->noise != NULL && seen->noise->child != NULL, YPI_NEEDS_NOISE},
               {ypi_real(seen->m, "cpu") >= 0, YPI_NEEDS_CPU},
               {ypi_real(seen->m, "items") > 0, YPI_NEEDS_ITEMS},
               {seen->kept->accelerator, YPI_NEEDS_DEVICE}};
    unsigned found = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        found |= all[i].there ? all[i].need : 0;
    return found;
}

static void ask_family(struct ypi_advisor *a, struct ypi_kept *kept, const struct ypi_seen *seen,
                       const struct ypi_case_family *family)
{
    unsigned has = there(seen);
    for (size_t i = 0; i < family->count; i++) {
        const struct ypi_case_rule *rule = &family->rules[i];
        struct ypi_finding f;
        if ((rule->needs & ~has) != 0)
            continue;
        ypi_finding_begin(&f);
        ypi_slot(&f, "name", "%s", seen->name);
        if (!rule->holds(seen, &f)) {
            ypi_finding_drop(&f);
            continue;
        }
        say(a, ypi_finding_entry(&f, rule->kind, kept->id, rule->sentence, rule->tries),
            rule->urgency);
        if (family == &ypi_bottleneck_rules && kept->bottleneck == NULL)
            kept->bottleneck = rule->kind;
        if (family->one)
            return;
    }
}

static void see_measurement(struct ypi_seen *seen, const cJSON *m)
{
    seen->m = m;
    seen->noise = cJSON_GetObjectItemCaseSensitive(m, "noise");
    seen->name = ypi_text_of(m, "name");
    seen->median = ypi_real(m, "median");
    seen->low = ypi_real(m, "low");
    seen->high = ypi_real(m, "high");
    seen->mean = ypi_real(m, "mean");
}

static const cJSON *named(const cJSON *document, const char *name)
{
    const cJSON *m;
    cJSON_ArrayForEach(m, cJSON_GetObjectItemCaseSensitive(document, "measurements"))
    {
        if (strcmp(ypi_text_of(m, "name"), name) == 0)
            return m;
    }
    return NULL;
}

static void ask_part(struct ypi_advisor *a, struct ypi_kept *kept, const struct ypi_seen *seen,
                     enum ypi_part part)
{
    for (size_t i = 0; i < sizeof case_families / sizeof *case_families; i++)
        if (case_families[i]->part == part)
            ask_family(a, kept, seen, case_families[i]);
}

static void ask_parts(struct ypi_advisor *a, struct ypi_kept *kept, const struct ypi_seen *whole)
{
    const cJSON *item;
    ask_part(a, kept, whole, YPI_A_CASE);
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(whole->document, "budgets"))
    {
        struct ypi_seen seen = *whole;
        seen.budget = item;
        see_measurement(&seen, named(whole->document, ypi_text_of(item, "name")));
        ask_part(a, kept, &seen, YPI_A_BUDGET);
    }
    for (size_t i = 0; i < whole->which->unsure_count; i++) {
        struct ypi_seen seen = *whole;
        seen.change = &whole->which->unsure[i];
        const char *name = seen.change->name != NULL ? seen.change->name : "";
        see_measurement(&seen, named(whole->document, name));
        ask_part(a, kept, &seen, YPI_A_CHANGE);
    }
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(whole->document, "measurements"))
    {
        struct ypi_seen seen = *whole;
        see_measurement(&seen, item);
        double *samples =
            ypi_numbers(cJSON_GetObjectItemCaseSensitive(item, "samples"), &seen.count);
        seen.samples = samples;
        ask_part(a, kept, &seen, YPI_A_MEASUREMENT);
        free(samples);
    }
}

void ypi_advisor_take(struct ypi_advisor *a, const struct ypi_report_case *which,
                      const cJSON *document)
{
    if (a->case_count == a->case_room) {
        a->case_room = a->case_room > 0 ? 2 * a->case_room : 64;
        a->cases = ypi_realloc(a->cases, a->case_room, sizeof(struct ypi_kept *));
    }
    struct ypi_kept *kept = ypi_keep(which, document);
    a->cases[a->case_count++] = kept;
    const struct ypi_seen seen = {.which = which,
                                  .document = document,
                                  .kept = kept,
                                  .limit = ypi_memory_within(kept, a->limit),
                                  .name = "",
                                  .median = NAN,
                                  .low = NAN,
                                  .high = NAN,
                                  .mean = NAN};
    ask_parts(a, kept, &seen);
}

/* -- the run ------------------------------------------------------------------------------- */

/* Slot {of}: the axes that all points of a group have alike, " (mode train, size base)". */
static void tell_group(const struct ypi_run_rule *rule, const struct ypi_point *point,
                       struct ypi_finding *f)
{
    char *of = ypi_points_common(rule, point->kept);
    ypi_slot(f, "of", "%s", of);
    free(of);
}

static bool ask_group(struct ypi_advisor *a, const struct ypi_run_rule *rule,
                      const struct ypi_point *points, size_t count)
{
    struct ypi_finding f;
    ypi_finding_begin(&f);
    if (!rule->holds(points, count, a->limit, &f)) {
        ypi_finding_drop(&f);
        return false;
    }
    /* A group of one test is about it, and all cases together about the run. */
    const char *about = rule->place != NULL ? points[0].kept->test : "";
    tell_group(rule, &points[0], &f);
    say(a, ypi_finding_entry(&f, rule->kind, about, rule->sentence, rule->tries), rule->urgency);
    return true;
}

/* Rules of a family that is `one` have the same places, so that each group hears one of them. */
static void ask_run_family(struct ypi_advisor *a, const struct ypi_run_family *family)
{
    for (size_t i = 0; i < family->count; i++) {
        const struct ypi_run_rule *rule = &family->rules[i];
        struct ypi_points all = ypi_points_of(rule, a->cases, a->case_count);
        for (size_t from = 0, size; from < all.count; from += size) {
            size = ypi_points_group(&all, from);
            bool spoken = false;
            for (size_t before = 0; family->one && before < i && !spoken; before++) {
                struct ypi_finding f;
                ypi_finding_begin(&f);
                spoken = family->rules[before].least <= size &&
                         family->rules[before].place == rule->place &&
                         family->rules[before].holds(all.list + from, size, a->limit, &f);
                ypi_finding_drop(&f);
            }
            if (!spoken && size >= rule->least)
                (void)ask_group(a, rule, all.list + from, size);
        }
        ypi_points_free(&all);
    }
}

static int by_urgency(const void *left, const void *right)
{
    const struct said *a = left;
    const struct said *b = right;
    if (a->urgency != b->urgency)
        return a->urgency < b->urgency ? -1 : 1;
    int order = strcmp(ypi_text_of(a->entry, "about"), ypi_text_of(b->entry, "about"));
    return order != 0 ? order : a->at < b->at ? -1 : 1;
}

cJSON *ypi_advisor_finish(struct ypi_advisor *a)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < sizeof run_families / sizeof *run_families; i++)
        ask_run_family(a, run_families[i]);
    if (a->said_count > 0)
        qsort(a->said, a->said_count, sizeof *a->said, by_urgency);
    for (size_t i = 0; i < a->said_count; i++)
        cJSON_AddItemToArray(list, a->said[i].entry);
    a->said_count = 0;
    ypi_advisor_free(a);
    return list;
}
