/* Processors and levels of memory, from what the kernel tells of them. */
#pragma once

#include <sched.h>
#include <stddef.h>

enum { YPI_PROCESSORS_MAX = 1024, YPI_CACHE_LEVELS = 4, YPI_LEVELS_MAX = 6 };

/* A level of memory as `threads` processors of this process see it. */
struct ypi_level {
    char name[8];   /* "L1", "L2", "L3", "memory" */
    size_t size;    /* bytes of one instance; memory: 0 */
    size_t total;   /* of all instances that these processors have; memory: four times the caches */
    size_t working; /* bytes that a probe of this level touches on each thread */
};

/* The caches from the nearest on and, last, memory; returns how many (at most `capacity`). Read
 * from the kernel's files once and kept. */
int ypi_levels(int threads, struct ypi_level *out, int capacity);

/* The nearest level whose caches hold `footprint` bytes spread over `threads` processors (a cache
 * that several of them share counts once); 0 bytes: memory. */
struct ypi_level ypi_level_of(double footprint, int threads);

/* Data caches of one processor, 0: there is none. A cache that processors share has the number of
 * the first of them as its owner. */
struct ypi_caches {
    size_t size[YPI_CACHE_LEVELS];
    int owner[YPI_CACHE_LEVELS];
};

/* Below `root`, /sys/devices/system/cpu, or from sysconf() when that tells nothing: private caches
 * then, but for the third level. */
void ypi_caches_read(const char *root, int cpu, struct ypi_caches *out);

/* Those of `allowed`, one of each core before the second of any; `out` has YPI_PROCESSORS_MAX
 * places. Returns how many there are. */
int ypi_cores_first(const char *root, const cpu_set_t *allowed, int *out);

/* The processors that this process was given when it was started, in that order: threads that were
 * bound since do not change them. `*count` is 0 when the system does not tell. Static. */
const int *ypi_own_processors(int *count);

/* As ypi_levels, of processors with these caches. */
int ypi_levels_from(const struct ypi_caches *caches, int cpus, struct ypi_level *out, int capacity);
