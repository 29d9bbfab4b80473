/* A document of document.h, for a person. */
#pragma once

#include <cJSON.h>

void ypi_describe_result(const cJSON *document);
void ypi_describe_run(const cJSON *run);
