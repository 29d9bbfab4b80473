#include "reports/beside.h"

#include "base/text.h"
#include "harness/record/history.h"
#include "reports/format.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum unit { SECONDS, TIMES, HERTZ };

/* struct ypi_noise by name, but for `processors`, which is a whole number. */
static const struct {
    const char *name, *label;
    size_t at;
    enum unit unit;
} members[] = {
    {"wall", "wall clock", offsetof(struct ypi_noise, wall), SECONDS},
    {"own", "own processor time", offsetof(struct ypi_noise, own), SECONDS},
    {"others", "that of other processes", offsetof(struct ypi_noise, others), SECONDS},
    {"stolen", "stolen by the hypervisor", offsetof(struct ypi_noise, stolen), SECONDS},
    {"throttled", "held back by a quota", offsetof(struct ypi_noise, throttled), SECONDS},
    {"minor_faults", "minor faults", offsetof(struct ypi_noise, minor_faults), TIMES},
    {"major_faults", "major faults", offsetof(struct ypi_noise, major_faults), TIMES},
    {"waits", "waits", offsetof(struct ypi_noise, waits), TIMES},
    {"preemptions", "preemptions", offsetof(struct ypi_noise, preemptions), TIMES},
    {"migrations", "migrations", offsetof(struct ypi_noise, migrations), TIMES},
    {"frequency", "frequency", offsetof(struct ypi_noise, frequency), HERTZ},
    {"frequency_least", "least frequency", offsetof(struct ypi_noise, frequency_least), HERTZ},
    {"hot", "slowed down for heat", offsetof(struct ypi_noise, hot), TIMES},
};
#define MEMBERS (sizeof members / sizeof *members)

struct ypi_noise ypi_beside_noise(const cJSON *figures)
{
    struct ypi_noise noise = {0};
    double processors = ypi_real(figures, "processors");
    for (size_t i = 0; i < MEMBERS; i++) {
        double value = ypi_real(figures, members[i].name);
        memcpy((char *)&noise + members[i].at, &value, sizeof value);
    }
    noise.processors = processors > 0 ? (int)processors : 0;
    return noise;
}

static void add_figure(struct ypi_text *text, const char *label, double value, enum unit unit)
{
    char figure[YPI_FIGURE_MAX];
    ypi_text_add(text, "%s%s ", text->length > 0 ? ", " : "", label);
    if (unit == SECONDS)
        ypi_format_seconds(figure, value);
    else if (unit == HERTZ)
        snprintf(figure, sizeof figure, "%.3g GHz", 1e-9 * value);
    else
        snprintf(figure, sizeof figure, "%.0f", value);
    ypi_text_add(text, "%s", figure);
}

void ypi_beside_print(const cJSON *measurement)
{
    const cJSON *noise = cJSON_GetObjectItemCaseSensitive(measurement, "noise");
    const char *cause = ypi_text_of(measurement, "noise_cause");
    struct ypi_text text = {0};
    for (size_t i = 0; i < MEMBERS; i++) {
        double value = ypi_real(noise, members[i].name);
        if (value > 0)
            add_figure(&text, members[i].label, value, members[i].unit);
    }
    if (text.length > 0) {
        printf("    meanwhile: ");
        ypi_put_text(text.data, 6);
    }
    free(ypi_text_take(&text));
    if (*cause) {
        printf("    likely cause of noise: ");
        ypi_put_text(cause, 6);
    }
}
