/* What went on beside a measurement. */
#ifndef YPI_REPORT_NOISE_H
#define YPI_REPORT_NOISE_H

#include <cJSON.h>

/* The figures of a document's measurement that are above 0, and the likely cause of noise. */
void ypi_noise_print(const cJSON *measurement);

#endif
