/* A document of document.h, for a person. */
#ifndef YPI_DESCRIBE_H
#define YPI_DESCRIBE_H

#include <cJSON.h>

void ypi_describe_result(const cJSON *document);
void ypi_describe_run(const cJSON *run);

#endif
