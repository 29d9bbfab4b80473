/* What went on beside a measurement. */
#ifndef YPI_BESIDE_H
#define YPI_BESIDE_H

#include "harness/result.h"

#include <cJSON.h>

/* From the figures by name, as they are in a document; what is not there, or null, is unknown. */
struct ypi_noise ypi_beside_noise(const cJSON *figures);

/* The figures of a document's measurement that tell something, and what they come to. */
void ypi_beside_print(const cJSON *measurement);

#endif
