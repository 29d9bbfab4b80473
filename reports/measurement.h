/* One measurement of a document, for a person. */
#ifndef YPI_MEASUREMENT_H
#define YPI_MEASUREMENT_H

#include <cJSON.h>

void ypi_describe_measurement(const cJSON *measurement);

#endif
