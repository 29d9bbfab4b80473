/* In which control group this process is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The group of this process in the hierarchy that `root`/proc/self/cgroup lists with `controller`;
 * a `controller` of "" stands for version 2, a `root` of "" for this machine. The top of a
 * hierarchy is "". Inside a container the path may be the host's, and the container's own group is
 * then the top. No memory from the heap. */
bool ypi_cgroup_path(const char *root, const char *controller, char *out, size_t size);

/* Shortens it to the group above; false when there is none. */
bool ypi_cgroup_above(char *group);
