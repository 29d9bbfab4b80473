/* Runs with their results, in one line each. */
#pragma once

#include <cJSON.h>
#include <stddef.h>

void ypi_runs_print(const cJSON *runs);

/* What there is to say of a result, which may have more lines than one; "" when there is nothing.
 */
void ypi_result_headline(const cJSON *result, char *out, size_t size);
