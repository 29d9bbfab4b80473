/* Which processor two processes share that take turns. */
#pragma once

#include "base/numbers/splitmix.h"

#include <sys/types.h>

/* One of those that this process may use, by lot. */
int ypi_processor_pick(struct ypi_seed *coin);

/* All threads of the process run on that processor alone; with -1 on all that this process may use.
 * Where that is refused they stay as they are. */
void ypi_processor_hold(pid_t process, int processor);
