/* The timed measurements of a run as Google Benchmark writes its own (its JSON of schema 1), for
 * the tools that read that: an entry a measurement, `real_time` being its median.
 * docs/google-benchmark.md says what stands where. */
#ifndef YPI_BENCHMARK_H
#define YPI_BENCHMARK_H

#include "harness/tell/tell.h"

struct ypi_benchmark;

/* NULL with yp_last_error() set. */
struct ypi_benchmark *ypi_benchmark_begin(const char *path, const struct ypi_session *s);

/* Adds an entry for each measurement of the case, or one that says why there is none. */
void ypi_benchmark_case(struct ypi_benchmark *b, const struct ypi_result *r);

/* Adds mean, median, standard deviation and their ratio of what --repeat did more than once, ends
 * and frees it; takes NULL. YP_IO with yp_last_error() set when something was not written. */
enum yp_status ypi_benchmark_end(struct ypi_benchmark *b);

/* Frees it and leaves what was there; takes NULL. */
void ypi_benchmark_abandon(struct ypi_benchmark *b);

#endif
