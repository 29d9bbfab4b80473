/* Hardware and kernel counters of this process, all its threads and what it starts. */
#pragma once

#include "harness/vocabulary/result.h"

#include <stdint.h>
#include <yieldpoint/isa.h>

struct ypi_counters;

/* Opens what the kernel gives, for this process and the threads it has and will have; what it does
 * not give is named by ypi_counters_absent. Never NULL. */
struct ypi_counters *ypi_counters_open(void);

/* Threads that were there before ypi_counters_open are counted too. Reads into `out` the counts
 * since the start, with their sources; scaled when the hardware had to take turns, NaN where
 * nothing was counted. A start may follow a stop. */
void ypi_counters_start(struct ypi_counters *counters);
void ypi_counters_stop(struct ypi_counters *counters, struct ypi_count out[YP_COUNTERS]);
void ypi_counters_close(struct ypi_counters *counters); /* takes NULL */

/* Why a counter of the hardware cannot be read here: "perf_event_open: No such file or directory
 * (the processor or its virtual machine has none)"; static text, "" when all can be. */
const char *ypi_counters_absent(void);

/* Where declared work and counts contradict each other, one sentence; false when they do not, or
 * when there is nothing to hold them against. Only for work that the processor does itself: what
 * runs on an accelerator or in another process executes no instruction here. */
bool ypi_counts_contradict(const struct ypi_measured *m, char *out, size_t size);

/* -- what these are made of, for tests ----------------------------------------------------- */

struct ypi_counter_event {
    enum yp_counter counter;
    uint32_t type; /* of struct perf_event_attr, like config */
    uint64_t config;
};

/* ypi_counters_open with these events, which have to outlive it, for those of the hardware. */
struct ypi_counters *ypi_counters_open_events(const struct ypi_counter_event *events, int count);

/* What an event says when it is read, in the kernel's order; times in ns. */
struct ypi_counter_reading {
    uint64_t value, enabled, running;
};

/* The count between two readings, for all the time it was enabled; NaN when the hardware never
 * counted it. */
double ypi_counter_between(struct ypi_counter_reading begin, struct ypi_counter_reading end);

/* "perf_event_open: <error> (<what that means>)". */
void ypi_counters_reason(int error, char *out, size_t size);

/* ypi_counts_contradict for work that may use `isa`. */
bool ypi_counts_contradict_on(enum yp_isa isa, const struct ypi_measured *m, char *out,
                              size_t size);
