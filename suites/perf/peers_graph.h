/* Graphs of 22 players that suites/perf/peers/graph.py makes with the same bits but for the last
 * ones of sines, roots and angles. */
#pragma once

#include "models/graph/graph.h"

#include <yieldpoint/yieldpoint.h>

/* In the case's memory, by its seed; sets the data hash. */
void peers_graphs(struct yp_case *t, size_t graphs, struct graph_batch *out);
