/* What went on beside a measurement. */
#ifndef YPI_BESIDE_H
#define YPI_BESIDE_H

#include <cJSON.h>

/* The figures of a document's measurement that tell something, and what they come to. */
void ypi_beside_print(const cJSON *measurement);

#endif
