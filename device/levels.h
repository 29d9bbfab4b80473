/* Levels of memory from what the kernel tells of the caches. */
#ifndef YPI_LEVELS_H
#define YPI_LEVELS_H

#include "ceiling.h"

enum { YPI_CACHES_MAX = 8192, YPI_PROCESSORS_MAX = 1024 };

struct ypi_cache {
    int cpu, level;
    size_t size;
    char shared[64]; /* processors it belongs to, "0-3"; "" when that is not told */
};

/* The data caches of `cpus` below the directory `root`, /sys/devices/system/cpu. */
int ypi_caches_read(const char *root, const int *cpus, int cpu_count, struct ypi_cache *out,
                    int most);

/* The processors that this process could use when it was first asked: a thread that was bound to
 * one since does not change them. Static. */
int ypi_own_processors(const int **out);

/* As ypi_levels, for the first `threads` of `cpus`. */
int ypi_levels_from(const struct ypi_cache *all, int count, const int *cpus, int threads,
                    struct ypi_level *out, int most);

#endif
