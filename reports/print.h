/* Parts of documents (harness/history/history.h), printed for a person. */
#pragma once

#include "base/text/figures.h"
#include "base/text/text.h"

#include <cJSON.h>
#include <stdbool.h>
#include <stddef.h>

void ypi_describe_result(const cJSON *document);
void ypi_describe_run(const cJSON *run);
void ypi_describe_measurement(const cJSON *measurement);

/* An element of "bounds": "copy from memory: 12.3 GB/s, from 12.1 GB/s to 12.4 GB/s in 3 probes".
 */
void ypi_ceiling_text(char out[256], const cJSON *bound);

/* The figures beside a measurement that are above 0, one after the other. */
void ypi_noise_text(struct ypi_text *out, const cJSON *measurement);
/* The figures beside a measurement that are above 0, and the likely cause of noise. */
void ypi_noise_print(const cJSON *measurement);

/* The time that the declared work takes at the ceiling, in seconds; 0: it was not probed, or there
 * is no such work. */
double ypi_bound_seconds(const cJSON *bound);
/* Of the bounds of a step, -1: of all, the one that allows the work the longest time, other than
 * `skip`, which may be NULL; NULL: none that was probed. */
const cJSON *ypi_nearest_bound(const cJSON *bounds, int stage, const cJSON *skip);

/* Runs with their results, in one line each. */
void ypi_runs_print(const cJSON *runs);
/* What there is to say of a result, which may be several lines; "" when there is nothing. */
void ypi_result_headline(const cJSON *result, char *out, size_t size);

/* The name of the device and of what it is. `facts`: of the run. */
void ypi_accelerator_name(char out[128], const char *device, const cJSON *facts);
/* A figure of the column of a series. */
void ypi_accelerator_figure(char out[YPI_FIGURE_MAX], const char *column, double value);
/* What it did in a measurement, and over time beside the case. */
void ypi_accelerator_print(const cJSON *measurement);
void ypi_accelerator_print_series(const cJSON *series);
/* The series with its rows as CSV, a column each; false when there is none. */
bool ypi_accelerator_put_csv(const cJSON *series);
