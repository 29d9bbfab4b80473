/* The processors, caches and memory of this machine, as hwloc finds them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ypi_topology {
    char model[128];      /* of the processor; "" when it does not tell */
    char synthetic[512];  /* hwloc's notation: lstopo --input "..." draws it */
    char fingerprint[33]; /* see ypi_environment */
    int packages, cores, threads, numa_nodes;
    uint64_t memory; /* bytes */
    struct ypi_places {
        struct ypi_place {
            int cpu;                 /* as the kernel numbers it */
            int core, node, package; /* hwloc's logical numbers, from 0; -1: in none */
        } * list;                    /* core by core */
        int count;
    } places;
};

/* All of the machine, devices apart. False when it cannot be read; `out` is then all zero. Takes
 * some milliseconds. No plugin of hwloc is loaded. */
bool ypi_topology_read(struct ypi_topology *out);
void ypi_topology_clear(struct ypi_topology *topology);

/* The same, read once for the process; NULL when it cannot be read. */
const struct ypi_topology *ypi_topology(void);

struct hwloc_topology;

/* The same for hwloc's functions. NULL when it cannot be read. The caller destroys it. */
struct hwloc_topology *ypi_topology_load(void);

/* Where its processors are. The caller frees the list. */
struct ypi_places ypi_places_of(struct hwloc_topology *topology);
