/*
 * Any range of a stream's words or normals, at any offset: bulk forms of philox.h and normal.h.
 *
 * The *_body() functions are for kernels, which inline them into their own instruction set; the
 * plain functions choose it at run time.
 */
#ifndef YIELDPOINT_SYNTH_STREAM_H
#define YIELDPOINT_SYNTH_STREAM_H

#include "level.h"
#include "normal.h"

/* out[i] = word (first + i) of the stream, i < count. */
void synth_words(enum synth_level level, struct synth_stream stream, uint64_t first, size_t count,
                 uint32_t *out);

/* out[i] = normal (first + i) of the stream, i < count. */
void synth_normals(enum synth_level level, struct synth_stream stream, uint64_t first, size_t count,
                   float *out);

/* Whole groups go straight to `out`; what is left over at either end goes through `group`. */
SYNTH_INLINE void synth_normals_body(struct synth_stream stream, uint64_t first, size_t count,
                                     float *out)
{
    enum { GROUP = 4 * SYNTH_GROUP };
    float group[GROUP] __attribute__((aligned(64)));
    uint64_t block = first / 4;
    size_t skip = first % 4;
    while (count > 0) {
        size_t take = GROUP - skip < count ? GROUP - skip : count;
        if (take == GROUP) {
            synth_group_normals(stream, block, out);
        } else {
            synth_group_normals(stream, block, group);
            memcpy(out, group + skip, take * sizeof *out);
        }
        out += take;
        count -= take;
        block += SYNTH_GROUP;
        skip = 0;
    }
}

SYNTH_INLINE void synth_words_body(struct synth_stream stream, uint64_t first, size_t count,
                                   uint32_t *out)
{
    enum { GROUP = 4 * SYNTH_GROUP };
    uint32_t group[GROUP] __attribute__((aligned(64)));
    uint64_t block = first / 4;
    size_t skip = first % 4;
    while (count > 0) {
        size_t take = GROUP - skip < count ? GROUP - skip : count;
        struct synth_group words;
        synth_blocks(stream, block, &words);
        for (int b = 0; b < SYNTH_GROUP; b++)
            for (int lane = 0; lane < 4; lane++)
                group[4 * b + lane] = words.words[lane][b];
        memcpy(out, group + skip, take * sizeof *out);
        out += take;
        count -= take;
        block += SYNTH_GROUP;
        skip = 0;
    }
}

#endif
