/* What an accelerator did beside a case and in its measurements. */
#pragma once

#include <cJSON.h>
#include <stdbool.h>

/* The name of the device and of what it is. `facts`: of the run. */
void ypi_accelerator_name(char out[128], const char *device, const cJSON *facts);

/* Of a document's measurement, and of its series. */
void ypi_accelerator_print(const cJSON *measurement);
void ypi_accelerator_print_series(const cJSON *series);

/* The series with its rows as CSV, a column each; false when there is none. */
bool ypi_accelerator_put_csv(const cJSON *series);
