/* The values of a patch of SYNTH_SCENE, from the coefficients of its pixels (scene_pixel.h). */
#pragma once

#include "synth/cuda/scene_pixel.h"

#define SYNTH_NAN_BITS 0x7fc00000

/* A thread's part of the tables: its four channels. */
struct synth_kept {
    struct synth_quad quad;
    struct rows_cuda rows[4];
    uint32_t blank;          /* bit i: channel i is blanked */
    uint32_t noise[2];       /* the subsequence of its words */
    const uint32_t *columns; /* sensor words of the patch's first column, from the first of these
                                channels on; from channel 0 on for a quad of several pixels */
};

/* Loads the tables for value i of the quad, which is of channel c. */
YPI_INLINE void synth_keep_channel(const struct synth_cuda_scene *s, int materials, int i, size_t c,
                                   struct synth_kept *kept)
{
    kept->rows[i].path = s->path[c];
    kept->rows[i].target = 0.0f;
    YPI_UNROLL
    for (int k = 0; k < materials; k++) {
        kept->rows[i].level[k] = s->levels[(size_t)k * s->stride + c];
        kept->rows[i].slope[k] = s->slopes[(size_t)k * s->stride + c];
    }
    kept->blank |= (uint32_t)(s->blank && !s->good[c]) << i;
}

/* Loads the tables for channels c .. c + 3, c a multiple of 4: 16-byte loads. */
YPI_INLINE void synth_keep_four(const struct synth_cuda_scene *s, int materials, uint32_t c,
                                struct synth_kept *kept)
{
    struct synth_four path = *(const struct synth_four *)(const void *)(s->path + c);
    YPI_UNROLL
    for (int i = 0; i < 4; i++) {
        kept->rows[i].path = path.v[i];
        kept->rows[i].target = 0.0f;
        kept->blank |= (uint32_t)(s->blank && !s->good[c + (uint32_t)i]) << i;
    }
    YPI_UNROLL
    for (int k = 0; k < materials; k++) {
        size_t at = (size_t)k * s->stride + c;
        struct synth_four level = *(const struct synth_four *)(const void *)(s->levels + at);
        struct synth_four slope = *(const struct synth_four *)(const void *)(s->slopes + at);
        YPI_UNROLL
        for (int i = 0; i < 4; i++) {
            kept->rows[i].level[k] = level.v[i];
            kept->rows[i].slope[k] = slope.v[i];
        }
    }
}

YPI_INLINE void synth_keep(const struct synth_cuda_job *job, const struct synth_patch *patch,
                           uint32_t quad, int materials, bool whole, struct synth_kept *kept)
{
    const struct synth_cuda_scene *s = &job->scene;
    kept->quad = synth_quad(job, quad, whole);
    kept->blank = 0;
    uint64_t noise = patch->cube * SYNTH_PURPOSES + SYNTH_NOISE;
    kept->noise[0] = (uint32_t)noise;
    kept->noise[1] = (uint32_t)(noise >> 32);
    SYNTH_KEPT(kept->noise[0]);
    SYNTH_KEPT(kept->noise[1]);
    uint32_t c = kept->quad.channel;
    kept->columns =
        s->columns + ypi_wide(patch->column, s->column_stride) + (kept->quad.split < 4 ? 0 : c);
    if (whole) {
        synth_keep_four(s, materials, c, kept);
    } else if (kept->quad.split < 4) {
        YPI_UNROLL
        for (int i = 0; i < 4; i++)
            synth_keep_channel(s, materials, i, synth_quad_channel(s, &kept->quad, i), kept);
    } else {
        YPI_UNROLL
        for (int i = 0; i < 4; i++)
            synth_keep_channel(s, materials, i, (size_t)c + (size_t)i, kept);
    }
}

/* Applies gains and offsets of the sensor's columns, then rounds and clips. */
YPI_INLINE void synth_read_out(const struct synth_cuda_scene *s,
                               const struct synth_four_words *columns, float x[4])
{
    if (s->striped) {
        YPI_UNROLL
        for (int i = 0; i < 4; i++)
            x[i] = striped_cuda(x[i], (int32_t)columns->w[i]);
    }
    YPI_UNROLL
    for (int i = 0; i < 4; i++)
        x[i] = stored_cuda(&s->sensor, x[i]);
}

/* Sensor words of a quad of one pixel, number x of the patch's row. */
YPI_INLINE struct synth_four_words synth_columns(const struct synth_cuda_scene *s,
                                                 const struct synth_kept *kept, int32_t x,
                                                 bool whole)
{
    struct synth_four_words four;
    const uint32_t *at = kept->columns + ypi_wide((uint32_t)x, s->column_stride);
    if (whole)
        return *(const struct synth_four_words *)(const void *)at;
    YPI_UNROLL
    for (int i = 0; i < 4; i++)
        four.w[i] = at[i];
    return four;
}

/* For a quad of several pixels: replaces light and sensor words of the values that are not of
 * `pixel`, the first. With a single channel three more pixels follow, each overwriting the values
 * behind the one before it. Returns the kinds of these pixels, or-ed. */
YPI_INLINE uint32_t synth_cross_border(const struct synth_cuda_scene *s,
                                       const struct synth_pixel *pixels,
                                       const struct synth_patch_row *row, int32_t pixel,
                                       const struct synth_kept *kept, int materials, float light[4],
                                       struct synth_four_words *columns)
{
    const struct synth_quad *quad = &kept->quad;
    uint32_t rare = 0, near_pixel = (uint32_t)synth_near_pixel(row, pixel);
    const uint32_t *at = kept->columns + ypi_wide(near_pixel, s->column_stride) + quad->channel;
    YPI_UNROLL
    for (int i = 0; i < 3; i++)
        columns->w[i] = i < quad->split ? at[i] : 0;
    YPI_UNROLL
    for (int32_t p = 1; p < 4; p++) {
        if (p > 1 && s->channels > 1)
            break;
        int32_t x = synth_near_pixel(row, pixel + p), from = p > 1 ? p : quad->split;
        struct synth_pixel next = pixels[x];
        at = kept->columns + ypi_wide((uint32_t)x, s->column_stride);
        YPI_UNROLL
        for (int i = p; i < 4; i++) {
            float other = mixed_cuda(&next.mixture, &kept->rows[i], materials, false, true);
            light[i] = i >= from ? other : light[i];
            columns->w[i] = i >= from ? at[i - from] : columns->w[i];
        }
        rare |= next.kind;
    }
    return rare;
}

/* The values of a quad with a target (whose row is not in registers), a dead pixel or a blanked
 * channel. x: in, the light without targets; out, values. */
YPI_INLINE void synth_rare_values(const struct synth_cuda_scene *s,
                                  const struct synth_pixel *pixels,
                                  const struct synth_patch_row *row, int32_t first,
                                  const struct synth_kept *kept, int materials,
                                  const struct synth_four *z,
                                  const struct synth_four_words *columns, float x[4])
{
    uint32_t dead = 0;
    YPI_UNROLL
    for (int i = 0; i < 4; i++) {
        int32_t at = synth_near_pixel(row, first + synth_quad_pixel(s, &kept->quad, i));
        const struct synth_pixel *own = &pixels[at];
        uint32_t target = own->kind & ~SYNTH_IS_DEAD;
        if (target != 0) {
            struct rows_cuda rows = kept->rows[i];
            rows.target = s->levels[(size_t)(SYNTH_LAST + target - 1) * s->stride +
                                    synth_quad_channel(s, &kept->quad, i)];
            x[i] = mixed_cuda(&own->mixture, &rows, materials, true, true);
        }
        x[i] = noisy_cuda(x[i], YPI_SQRT(variance_cuda(&s->sensor, x[i])), z->v[i]);
        dead |= own->kind >> 31 << i;
    }
    synth_read_out(s, columns, x);
    YPI_UNROLL
    for (int i = 0; i < 4; i++) {
        x[i] = kept->blank >> i & 1 ? 0.0f : x[i];
        x[i] = dead >> i & 1 ? ypi_float_of(SYNTH_NAN_BITS) : x[i];
    }
}

YPI_INLINE void synth_make_quad(const struct synth_cuda_job *job, struct synth_shared *shared,
                                const struct synth_walk *walk, const struct synth_kept *kept,
                                int materials, bool whole)
{
    const struct synth_cuda_scene *s = &job->scene;
    const struct synth_patch_row own_row = shared->rows[walk->y], *row = &own_row;
    if ((int32_t)walk->k >= row->units)
        return;
    uint64_t after = ypi_wide(walk->k, s->quads) + walk->quad;
    struct synth_four z = synth_four_normals(
        &s->keys, (uint64_t)kept->noise[1] << 32 | kept->noise[0], row->block + after);
    int32_t first = row->shift + (int32_t)(walk->k * s->group);
    int32_t pixel = first + (whole ? 0 : kept->quad.pixel);
    int32_t near_pixel = whole ? pixel : synth_near_pixel(row, pixel);
    const struct synth_pixel *pixels = synth_pixels(shared) + walk->y * SIDE;
    struct synth_pixel own = pixels[near_pixel];
    struct synth_four_words columns = synth_columns(s, kept, near_pixel, whole);
    uint32_t rare = own.kind | kept->blank;
    struct synth_four x;
    YPI_UNROLL
    for (int i = 0; i < 4; i++)
        x.v[i] = mixed_cuda(&own.mixture, &kept->rows[i], materials, false, true);
    if (!whole && kept->quad.split < 4)
        rare |= synth_cross_border(s, pixels, row, pixel, kept, materials, x.v, &columns);
    if (rare == 0) {
        YPI_UNROLL
        for (int i = 0; i < 4; i++)
            x.v[i] = noisy_cuda(x.v[i], YPI_SQRT(variance_cuda(&s->sensor, x.v[i])), z.v[i]);
        synth_read_out(s, &columns, x.v);
    } else {
        synth_rare_values(s, pixels, row, first, kept, materials, &z, &columns, x.v);
    }
    synth_store_quad(job, row, after, first, &kept->quad, whole, &x);
}

/* `materials` 6 or 7: unused rows are 0. `whole`: each quad belongs to one pixel and lies at a
 * multiple of 16 bytes, so it is wanted as a whole or not at all. */
YPI_INLINE void synth_make_values(const struct synth_cuda_job *job, const struct synth_patch *patch,
                                  struct synth_shared *shared, uint32_t thread, int materials,
                                  bool whole)
{
    struct synth_walk walk = synth_walk(&job->scene, patch, thread, whole);
    struct synth_kept kept;
    if (walk.idle)
        return;
    synth_keep(job, patch, walk.quad, materials, whole, &kept);
    for (; walk.y < job->scene.patch_rows; synth_walk_on(&job->scene, &walk, SIDE, whole))
        synth_make_quad(job, shared, &walk, &kept, materials, whole);
}
