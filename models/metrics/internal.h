/* What an object that contains a ranking uses. */
#pragma once

#include "base/system/arena.h"
#include "models/metrics/metrics.h"

/* A ranking inside a block that is somebody else's, who must not destroy it; NULL while the arena
 * only counts. */
struct metrics_ranking *ypi_metrics_ranking_take(struct ypi_arena *arena, size_t targets);
