/* Where plugins lie. */
#ifndef YPI_PLUGIN_FILE_H
#define YPI_PLUGIN_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <yieldpoint/plugin.h>

/* The path of `libyieldpoint-NAME.so` in `out`, or false with yp_last_error() naming where it was
 * looked for. Nothing is loaded. */
bool ypi_plugin_find(const char *name, char out[PATH_MAX]);

#endif
