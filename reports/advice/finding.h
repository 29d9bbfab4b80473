/* What a rule tells: texts for the slots of its sentence, evidence, and what to try. */
#pragma once

#include <cJSON.h>
#include <stdbool.h>
#include <stddef.h>

enum ypi_urgency { /* the most urgent first */
                   YPI_URGENCY_FAILED,
                   YPI_URGENCY_UNDECIDED,
                   YPI_URGENCY_BOTTLENECK,
                   YPI_URGENCY_RECOMMENDED,
                   YPI_URGENCY_MEMORY,
                   YPI_URGENCY_NOISE,
                   YPI_URGENCY_KNOW,
};

#define YPI_SLOTS 12

struct ypi_finding {
    struct {
        const char *name;
        char *text;
    } slots[YPI_SLOTS];
    int slot_count;
    cJSON *evidence, *tries; /* arrays of texts */
    cJSON *configuration;    /* NULL: it recommends none */
};

void ypi_finding_begin(struct ypi_finding *f);
void ypi_finding_drop(struct ypi_finding *f);

/* `name` stays the caller's. The last text of a name counts. */
void ypi_slot(struct ypi_finding *f, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void ypi_finding_evidence(struct ypi_finding *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Before those of the rule. */
void ypi_try(struct ypi_finding *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The entry of ypi_advisor_finish() that it makes; the finding is empty after. */
cJSON *ypi_finding_entry(struct ypi_finding *f, const char *kind, const char *about,
                         const char *sentence, const char *const *tries);

/* Figures with their intervals, as texts that stay until sixteen more were made:
 * "3.1 ms [3 ms, 3.2 ms]", "60.1 samples/s [58, 61.2]". Without an interval, the figure alone. */
const char *ypi_say_time(double seconds, double low, double high);
const char *ypi_say_rate(double rate, double low, double high, const char *unit);
const char *ypi_say_ratio(double ratio, double low, double high);
const char *ypi_say_bytes(double bytes);
const char *ypi_say_percent(double share); /* "41 %" */
