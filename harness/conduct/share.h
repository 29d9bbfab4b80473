/* Which processors of its node a rank stays on. */
#pragma once

#include "device/cpu/topology.h"
#include "harness/vocabulary/placement.h"

/* For rank `number` of `count` on one node, into `out` (YPI_CPUS_MAX bytes): the cores that are
 * allowed, or the NUMA nodes or packages that `wanted` spreads the ranks over, are dealt out in
 * hwloc's order, each rank's beside each other; where cores are too few, processors are. False
 * where there are too few of these: each rank may then use all; where `wanted` asks for them,
 * *cannot says so ("2 ranks on a NUMA node each, and there is 1"); the caller frees it. */
bool ypi_share(const struct ypi_places *places, const unsigned char *allowed,
               const struct ypi_placement *wanted, int number, int count, unsigned char *out,
               char **cannot);
