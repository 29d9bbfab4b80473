/* Hardware and kernel counters of this process and all its threads. */
#ifndef YPI_COUNTERS_H
#define YPI_COUNTERS_H

#include "result.h"

struct ypi_counters;

/* Opens what the kernel gives, for this process and the threads it has and will have; what it does
 * not give is told by ypi_counters_absent. Never NULL. */
struct ypi_counters *ypi_counters_open(void);

/* Threads that were there before ypi_counters_open are counted too. Reads into `out` the counts
 * since the start, with their sources; scaled when the hardware had to take turns. */
void ypi_counters_start(struct ypi_counters *counters);
void ypi_counters_stop(struct ypi_counters *counters, struct ypi_count out[YP_COUNTERS]);
void ypi_counters_close(struct ypi_counters *counters); /* takes NULL */

/* Why a counter of the hardware cannot be read here: "perf_event_open: No such file or directory
 * (the processor or its virtual machine has none)"; static text. */
const char *ypi_counters_absent(void);

/* Where declared work and counts contradict each other, one sentence; false when they do not, or
 * when there is nothing to hold them against. */
bool ypi_counts_contradict(const struct ypi_measured *m, char *out, size_t size);

#endif
