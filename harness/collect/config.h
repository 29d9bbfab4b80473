/* yieldpoint.ini: the project's own tags and standing options. */
#ifndef YPI_CONFIG_H
#define YPI_CONFIG_H

#include "harness/collect/options.h"

/* Finds the project's root, registers the built-in tags and those of [tags], takes `history` and
 * `options` of [yieldpoint] (*options is the caller's to free). False after telling stderr which
 * line is wrong and what is allowed. No file is no error. */
bool ypi_config_read(struct ypi_options *o, char **options);

#endif
