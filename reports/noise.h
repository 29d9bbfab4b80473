/* What went on beside a measurement. */
#pragma once

#include <cJSON.h>

/* The figures of a document's measurement that are above 0, and the likely cause of noise. */
void ypi_noise_print(const cJSON *measurement);
