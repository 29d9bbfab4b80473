/* The threads of this process, as the kernel numbers them. */
#pragma once

#include <sys/types.h>

/* Those under `root`/proc/self/task ("" is this machine), `capacity` of them at most; returns how
 * many there are in all, 0 when that cannot be read. No memory from the heap. */
int ypi_tasks(const char *root, pid_t *out, int capacity);
