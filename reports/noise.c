#include "reports/print.h"

#include "base/text/text.h"
#include "harness/history/history.h"
#include "reports/format.h"

#include <stdio.h>
#include <stdlib.h>

enum unit { SECONDS, TIMES, HERTZ };

static const struct {
    const char *name, *label;
    enum unit unit;
} figures[] = {
    {"wall", "wall clock", SECONDS},
    {"own", "own processor time", SECONDS},
    {"others", "that of other processes", SECONDS},
    {"stolen", "stolen by the hypervisor", SECONDS},
    {"throttled", "held back by a quota", SECONDS},
    {"minor_faults", "minor faults", TIMES},
    {"major_faults", "major faults", TIMES},
    {"waits", "waits", TIMES},
    {"preemptions", "preemptions", TIMES},
    {"migrations", "migrations", TIMES},
    {"frequency", "frequency", HERTZ},
    {"frequency_least", "least frequency", HERTZ},
    {"hot", "slowed down for heat", TIMES},
};

static void add_figure(struct ypi_text *text, const char *label, double value, enum unit unit)
{
    ypi_text_add(text, "%s%s ", text->length > 0 ? ", " : "", label);
    if (unit == SECONDS)
        ypi_text_add(text, "%s", ypi_seconds(value));
    else if (unit == HERTZ)
        ypi_text_add(text, "%.3g GHz", 1e-9 * value);
    else
        ypi_text_add(text, "%.0f", value);
}

void ypi_noise_text(struct ypi_text *out, const cJSON *measurement)
{
    const cJSON *noise = cJSON_GetObjectItemCaseSensitive(measurement, "noise");
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        double value = ypi_real(noise, figures[i].name);
        if (value > 0)
            add_figure(out, figures[i].label, value, figures[i].unit);
    }
}

void ypi_noise_print(const cJSON *measurement)
{
    const char *cause = ypi_text_of(measurement, "noise_cause");
    struct ypi_text text = {0};
    ypi_noise_text(&text, measurement);
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
