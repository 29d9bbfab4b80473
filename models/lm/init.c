/* Where training begins. */
#include "base/numbers/splitmix.h"
#include "base/random/stream.h"
#include "models/lm/lm.h"

#include <math.h>

/* A value is the first of so many normals within the bounds; all outside has probability 1e-41. */
enum { ATTEMPTS = 16, CHUNK = 4096 };
#define BOUND 3.0F

/* The subsequences of a tensor. Other users of the same seed have other words. */
static struct ypi_stream stream_of(uint64_t seed, size_t tensor, unsigned attempt)
{
    return (struct ypi_stream){ypi_mix64(seed + YPI_GOLDEN), tensor * ATTEMPTS + attempt};
}

static void draw(uint64_t seed, size_t tensor, size_t first, size_t count, float deviation,
                 float *out)
{
    ypi_random_normals(YPI_LEVEL_AUTO, stream_of(seed, tensor, 0), first, count, out);
    for (size_t i = 0; i < count; i++) {
        for (unsigned a = 1; fabsf(out[i]) > BOUND && a < ATTEMPTS; a++)
            out[i] = ypi_random_normal(stream_of(seed, tensor, a), first + i);
        out[i] *= deviation;
    }
}

void lm_initialise(const struct lm_config *config, uint64_t seed, float *parameters)
{
    struct lm_tensor tensor;
    for (size_t t = 0; lm_tensor(config, t, &tensor); t++) {
        size_t count = (tensor.rows > 0 ? tensor.rows : 1) * tensor.columns;
        float deviation = t == 0 ? 1 : (float)sqrt(2.0 / (double)(tensor.rows + tensor.columns));
        float *out = parameters + tensor.offset;
#pragma omp parallel for schedule(static) if (count > CHUNK)
        for (size_t at = 0; at < count; at += CHUNK) {
            size_t some = count - at < CHUNK ? count - at : CHUNK;
            if (tensor.rows > 0)
                draw(seed, t, at, some, deviation, out + at);
            for (size_t i = 0; i < some && tensor.rows == 0; i++)
                out[at + i] = 1;
        }
    }
}
