#include "stream.h"

SYNTH_VERSIONS(synth_words,
               (struct synth_stream stream, uint64_t first, size_t count, uint32_t *out),
               (stream, first, count, out));

SYNTH_VERSIONS(synth_normals,
               (struct synth_stream stream, uint64_t first, size_t count, float *out),
               (stream, first, count, out));

void synth_words(enum synth_level level, struct synth_stream stream, uint64_t first, size_t count,
                 uint32_t *out)
{
    synth_words_versions[synth_level_resolve(level)](stream, first, count, out);
}

void synth_normals(enum synth_level level, struct synth_stream stream, uint64_t first, size_t count,
                   float *out)
{
    synth_normals_versions[synth_level_resolve(level)](stream, first, count, out);
}
