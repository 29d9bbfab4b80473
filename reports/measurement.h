/* One measurement of a document, for a person. */
#pragma once

#include <cJSON.h>

void ypi_describe_measurement(const cJSON *measurement);
