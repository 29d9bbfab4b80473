/* What an accelerator did beside a case and in its measurements. */
#ifndef YPI_ACCELERATOR_H
#define YPI_ACCELERATOR_H

#include <cJSON.h>
#include <sqlite3.h>
#include <stdbool.h>

/* An object by column of table `series`: how many rows there are and their least, median and most;
 * of `throttled` in how many of them the device was slowed down, and by what. `samples`: the rows
 * too. Empty where nothing was told; *ok false when it cannot be read. */
cJSON *ypi_accelerator_series(sqlite3 *db, bool *ok, const char *result_id, bool samples);

/* {"count", "least", "median", "most"} of samples that were set aside. */
cJSON *ypi_accelerator_summary(const cJSON *values);

/* The name of the device and of what it is. `facts`: of the run. */
void ypi_accelerator_name(char out[128], const char *device, const cJSON *facts);

/* For a person: of a document's measurement, and of its series. */
void ypi_accelerator_print(const cJSON *measurement);
void ypi_accelerator_print_series(const cJSON *series);

/* The series with its rows as CSV, a column each; false when there is none. */
bool ypi_accelerator_put_csv(const cJSON *series);

#endif
