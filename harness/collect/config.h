/* yieldpoint.ini: the project's own tags and standing options. */
#ifndef YPI_CONFIG_H
#define YPI_CONFIG_H

#include "harness/collect/options.h"

/* Fills root, history, and tags: the built-in ones, then those of [tags]. *options: those of
 * [yieldpoint], the caller's to free; NULL: none. False after telling stderr which line is wrong
 * and what is allowed. */
bool ypi_config_read(struct ypi_options *o, char **options);

#endif
