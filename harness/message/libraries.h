/* The shared libraries of one run. Each process of a case opens them anew, and a rebuild may have
 * replaced them since: its program is then no more the run's. */
#pragma once

#include <yieldpoint/device.h>

/* Which files this process has loaded, and their state. The caller frees. */
char *ypi_libraries_list(void);

/* Writes such a list into a run's directory. YP_IO with yp_last_error() set. */
enum yp_status ypi_libraries_write(const char *list, const char *directory);

/* The path of one that is another file by now, in a process of a case whose channel is `channel`.
 * NULL: none is. The caller frees. */
char *ypi_libraries_replaced(const char *channel);
