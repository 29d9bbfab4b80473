/* Values that parameters start from. */
#pragma once

#include "base/random/stream.h"

#include <stddef.h>

/* Elements `first` on of a stream of values uniform within +-bound; the same bits everywhere. */
void nn_start_uniform(struct ypi_stream stream, size_t first, size_t count, float bound,
                      float *out);
