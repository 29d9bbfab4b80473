/* Parts of documents (harness/history/history.h), printed for a person. */
#pragma once

#include <cJSON.h>
#include <stdbool.h>
#include <stddef.h>

void ypi_describe_result(const cJSON *document);
void ypi_describe_run(const cJSON *run);
void ypi_describe_measurement(const cJSON *measurement);

/* The figures beside a measurement that are above 0, and the likely cause of noise. */
void ypi_noise_print(const cJSON *measurement);

/* Runs with their results, in one line each. */
void ypi_runs_print(const cJSON *runs);
/* What there is to say of a result, which may be several lines; "" when there is nothing. */
void ypi_result_headline(const cJSON *result, char *out, size_t size);

/* The name of the device and of what it is. `facts`: of the run. */
void ypi_accelerator_name(char out[128], const char *device, const cJSON *facts);
/* What it did in a measurement, and over time beside the case. */
void ypi_accelerator_print(const cJSON *measurement);
void ypi_accelerator_print_series(const cJSON *series);
/* The series with its rows as CSV, a column each; false when there is none. */
bool ypi_accelerator_put_csv(const cJSON *series);
