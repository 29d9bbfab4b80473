/* The processors, caches and memory of this machine, as hwloc finds them. */
#ifndef YPI_TOPOLOGY_H
#define YPI_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

struct ypi_topology {
    char model[128];      /* of the processor; "" when it does not tell */
    char synthetic[512];  /* hwloc's notation: lstopo --input "..." draws it */
    char fingerprint[33]; /* see ypi_environment */
    int packages, cores, threads, numa_nodes;
    uint64_t memory; /* bytes */
};

/* False when the machine cannot be read; `out` is then all zero. Takes some milliseconds. Devices
 * are not looked for. */
bool ypi_topology_read(struct ypi_topology *out);

struct hwloc_topology;

/* The same for hwloc's functions: what this process may use, or all of the machine. NULL when it
 * cannot be read. The caller destroys it. */
struct hwloc_topology *ypi_topology_load(bool all);

/* Fowler, Noll and Vo's FNV-1a with 128 bits, as 32 hexadecimal digits and a NUL. */
void ypi_fnv128(const char *text, char out[33]);

#endif
