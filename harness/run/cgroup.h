/* A cgroup that bounds the number of processes. */
#pragma once

#include <stdint.h>

/* Moves this process into a fresh group below its own, where it and all it starts from now on may
 * have `limit` processes and threads more than it has now. NULL when that cannot be done (not
 * root, no pids controller); else the group's path, for the others. Removes groups that dead
 * processes left. */
char *ypi_cgroup_enter(int limit);
/* How often the kernel has refused a process or thread for the limit. */
uint64_t ypi_cgroup_refusals(const char *group);
void ypi_cgroup_leave(char *group); /* frees the path; NULL is allowed */
