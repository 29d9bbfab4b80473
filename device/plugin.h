/* Where plugins lie. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <yieldpoint/plugin.h>

/* The path of `libyieldpoint-NAME.so` in `out`, or false with yp_last_error() naming where it was
 * looked for. Nothing is loaded. */
bool ypi_plugin_find(const char *name, char out[PATH_MAX]);

/* The device that this process has opened, for plugins that are loaded from now on and those that
 * were before: what the first that cannot be opened returned. */
enum yp_status ypi_plugins_open(struct yp_device *device);
/* Closes those that are open, the last first; yp_plugin_table() would open them again. */
void ypi_plugins_close(void);
