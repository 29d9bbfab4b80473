#include "reports/advice/rule.h"

#include "base/text/figures.h"

#include <math.h>
#include <string.h>

/* Values by which a case says how many items an epoch has. */
static const char *const sizes[] = {"items of an epoch", "epoch items", "epoch size",
                                    "samples of an epoch", "graphs of an epoch"};

static double epoch_of(const cJSON *document)
{
    const cJSON *value;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        cJSON_ArrayForEach(value, cJSON_GetObjectItemCaseSensitive(document, "values"))
        {
            if (strcmp(ypi_text_of(value, "name"), sizes[i]) == 0)
                return ypi_real(value, "value");
        }
    return NAN;
}

/* "3.2 min", "1.4 h": longer than what seconds are read for. */
static void say_long(struct ypi_finding *f, const char *slot, double seconds)
{
    if (seconds >= 7200)
        ypi_slot(f, slot, "%.3g h", seconds / 3600);
    else if (seconds >= 120)
        ypi_slot(f, slot, "%.3g min", seconds / 60);
    else
        ypi_slot(f, slot, "%s", ypi_say_time(seconds, NAN, NAN));
}

static bool projected(const struct ypi_seen *s, struct ypi_finding *f)
{
    char size[YPI_FIGURE_MAX];
    double items = ypi_real(s->m, "items");
    const char *unit = ypi_text_of(s->m, "unit");
    double epoch = epoch_of(s->document);
    double iterations = epoch / items;
    if (!(epoch > 0) || !(iterations > 0) || !isfinite(iterations) || !isfinite(s->high))
        return false;
    ypi_format_value(size, epoch, *unit ? unit : "items");
    ypi_slot(f, "size", "%s", size);
    say_long(f, "time", iterations * s->median);
    say_long(f, "least", iterations * s->low);
    say_long(f, "most", iterations * s->high);
    ypi_finding_evidence(f, "%s: %.6g %s in %s",
                         ypi_say_rate(items / s->median, items / s->high, items / s->low, unit),
                         items, unit, ypi_say_time(s->median, s->low, s->high));
    return true;
}

static const struct ypi_case_rule rules[] = {
    {"epoch",
     YPI_URGENCY_KNOW,
     YPI_NEEDS_TIME | YPI_NEEDS_ITEMS,
     projected,
     "An epoch of {size} takes {time} [{least}, {most}] at the rate of {name}.",
     {NULL}},
};

const struct ypi_case_family ypi_epoch_rules = {YPI_A_MEASUREMENT, true, rules,
                                                sizeof rules / sizeof *rules};
