/* Conversion of stored values to floats and back, and between the orders of bands and pixels.
 * Compiled with -O3. */
#include "synth/cube/internal.h"

#include <math.h>
#include <string.h>

#define SWAPPED_VALUES 4096

static const struct {
    const char *name;
    size_t size;
    bool is_float;
    double low, high;
} types[SYNTH_TYPES] = {
    [SYNTH_F32] = {"float32", 4, true, 0, 0},
    [SYNTH_F64] = {"float64", 8, true, 0, 0},
    [SYNTH_U8] = {"uint8", 1, false, 0, UINT8_MAX},
    [SYNTH_I8] = {"int8", 1, false, INT8_MIN, INT8_MAX},
    [SYNTH_U16] = {"uint16", 2, false, 0, UINT16_MAX},
    [SYNTH_I16] = {"int16", 2, false, INT16_MIN, INT16_MAX},
    [SYNTH_U32] = {"uint32", 4, false, 0, UINT32_MAX},
    [SYNTH_I32] = {"int32", 4, false, INT32_MIN, INT32_MAX},
    /* The largest doubles within the type's range. */
    [SYNTH_U64] = {"uint64", 8, false, 0, 0x1.fffffffffffffp63},
    [SYNTH_I64] = {"int64", 8, false, -0x1p63, 0x1.fffffffffffffp62},
};

size_t ypi_type_size(enum synth_type type)
{
    return types[type].size;
}

const char *ypi_type_name(enum synth_type type)
{
    return types[type].name;
}

bool ypi_type_is_float(enum synth_type type)
{
    return types[type].is_float;
}

void ypi_type_range(enum synth_type type, double *low, double *high)
{
    *low = types[type].low;
    *high = types[type].high;
}

bool ypi_big_endian(void)
{
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
}

/* ---- from a file ---- */

static void swap_bytes(size_t size, const void *from, size_t count, void *to)
{
    const unsigned char *in = from;
    unsigned char *out = to;
    if (size == 2) {
        for (size_t i = 0; i < count; i++) {
            uint16_t word;
            memcpy(&word, in + 2 * i, 2);
            word = __builtin_bswap16(word);
            memcpy(out + 2 * i, &word, 2);
        }
    } else if (size == 4) {
        for (size_t i = 0; i < count; i++) {
            uint32_t word;
            memcpy(&word, in + 4 * i, 4);
            word = __builtin_bswap32(word);
            memcpy(out + 4 * i, &word, 4);
        }
    } else {
        for (size_t i = 0; i < count; i++) {
            uint64_t word;
            memcpy(&word, in + 8 * i, 8);
            word = __builtin_bswap64(word);
            memcpy(out + 8 * i, &word, 8);
        }
    }
}

/* The codes for no data are compared before conversion: two stored values may give the same float.
 */
#define LOAD(name, stored) \
    static void load_##name(const struct ypi_loading *how, const void *from, size_t count, \
                            float *to) \
    { \
        const unsigned char *in = from; \
        const stored low = how->ignore ? (stored)how->nodata.low : (stored)0; \
        const stored high = how->ignore ? (stored)how->nodata.high : (stored)0; \
        const double scale = how->scale; \
        const float times = how->times; \
        for (size_t i = 0; i < count; i++) { \
            stored value; \
            memcpy(&value, in + i * sizeof value, sizeof value); \
            float result = times != 0 ? (float)value * times : (float)((double)value / scale); \
            to[i] = how->ignore && value >= low && value <= high ? NAN : result; \
        } \
    }

LOAD(u8, uint8_t)
LOAD(i8, int8_t)
LOAD(u16, uint16_t)
LOAD(i16, int16_t)
LOAD(u32, uint32_t)
LOAD(i32, int32_t)
LOAD(u64, uint64_t)
LOAD(i64, int64_t)
LOAD(f32, float)
LOAD(f64, double)

void ypi_load(const struct ypi_loading *how, const void *from, size_t count, float *to)
{
    static void (*const loads[SYNTH_TYPES])(const struct ypi_loading *, const void *, size_t,
                                            float *) = {
        [SYNTH_F32] = load_f32, [SYNTH_U16] = load_u16, [SYNTH_I16] = load_i16,
        [SYNTH_U8] = load_u8,   [SYNTH_F64] = load_f64, [SYNTH_I32] = load_i32,
        [SYNTH_U32] = load_u32, [SYNTH_I64] = load_i64, [SYNTH_U64] = load_u64,
        [SYNTH_I8] = load_i8,
    };
    size_t size = types[how->type].size;
    bool plain = how->type == SYNTH_F32 && !how->ignore && how->times == 1.0F;
    if (!how->swap || size == 1) {
        if (!plain)
            loads[how->type](how, from, count, to);
        else if (from != to)
            memcpy(to, from, count * sizeof *to);
        return;
    }
    if (plain) {
        swap_bytes(size, from, count, to);
        return;
    }
    uint64_t swapped[SWAPPED_VALUES / 8];
    size_t capacity = sizeof swapped / size;
    const unsigned char *in = from;
    for (size_t i = 0; i < count; i += capacity) {
        size_t part = count - i < capacity ? count - i : capacity;
        swap_bytes(size, in + i * size, part, swapped);
        loads[how->type](how, swapped, part, to + i);
    }
}

void ypi_apply_gains(const double *gains, const double *offsets, size_t pixels, size_t channels,
                     float *values)
{
    for (size_t i = 0; i < pixels; i++)
        for (size_t c = 0; c < channels; c++) {
            float *value = &values[i * channels + c];
            *value = (float)((double)*value * gains[c] + offsets[c]);
        }
}

/* ---- to a file ---- */

/* Rounds to the nearest, ties to even, where |x| is below 2^22: a call of rintf() for each value
 * would take longer than all the rest. */
static inline float nearest(float x)
{
    const float magic = 0x1.8p23F;
    return (x + magic) - magic;
}

/* low and high are whole numbers in the type's range, so that the conversion is defined. */
#define STORE(name, stored) \
    static size_t store_##name(const struct ypi_storing *how, const float *from, size_t count, \
                               void *to) \
    { \
        unsigned char *out = to; \
        const float low = how->low, high = how->high, scale = how->scale; \
        const stored nodata = (stored)how->nodata; \
        size_t clipped = 0; \
        for (size_t i = 0; i < count; i++) { \
            float value = from[i] * scale; \
            float inside = value > low ? value : low; \
            inside = inside < high ? inside : high; \
            clipped += (size_t)(value < low - 0.5F) + (size_t)(value > high + 0.5F); \
            stored result = (stored)(int32_t)nearest(inside); \
            result = value != value ? nodata : result; \
            memcpy(out + i * sizeof result, &result, sizeof result); \
        } \
        return clipped; \
    }

STORE(u8, uint8_t)
STORE(u16, uint16_t)
STORE(i16, int16_t)

size_t ypi_store(const struct ypi_storing *how, const float *from, size_t count, void *to)
{
    size_t clipped = 0;
    switch (how->type) {
    case SYNTH_F32:
        if (how->swap)
            swap_bytes(sizeof *from, from, count, to);
        else
            memcpy(to, from, count * sizeof *from);
        return 0;
    case SYNTH_U8:
        return store_u8(how, from, count, to);
    case SYNTH_U16:
        clipped = store_u16(how, from, count, to);
        break;
    default:
        clipped = store_i16(how, from, count, to);
        break;
    }
    if (how->swap)
        swap_bytes(2, to, count, to);
    return clipped;
}

/* ---- order ---- */

typedef float quad __attribute__((vector_size(16)));

/* Transposes 4 x 4 floats; rows begin every `stride` floats in `from`, every `pitch` in `to`. */
static inline void transpose_4x4(const float *from, size_t stride, float *to, size_t pitch)
{
    quad a, b, c, d;
    memcpy(&a, from, sizeof a);
    memcpy(&b, from + stride, sizeof b);
    memcpy(&c, from + 2 * stride, sizeof c);
    memcpy(&d, from + 3 * stride, sizeof d);
    const quad ab = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    const quad cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    const quad ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const quad cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    a = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    b = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    c = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
    d = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
    memcpy(to, &a, sizeof a);
    memcpy(to + pitch, &b, sizeof b);
    memcpy(to + 2 * pitch, &c, sizeof c);
    memcpy(to + 3 * pitch, &d, sizeof d);
}

/* Transposes rows x columns with row stride `stride` into columns x rows with row stride `pitch`.
 * Sixteen columns at a time, so that each cache line of either side is used whole. */
static void transpose(const float *from, size_t stride, size_t rows, size_t columns, float *to,
                      size_t pitch)
{
    for (size_t first = 0; first < columns; first += YPI_BAND_GROUP) {
        size_t group = columns - first < YPI_BAND_GROUP ? columns - first : YPI_BAND_GROUP;
        size_t row = 0;
        for (; row + 4 <= rows; row += 4) {
            size_t column = 0;
            for (; column + 4 <= group; column += 4)
                transpose_4x4(from + row * stride + first + column, stride,
                              to + (first + column) * pitch + row, pitch);
            for (; column < group; column++)
                for (size_t i = 0; i < 4; i++)
                    to[(first + column) * pitch + row + i] =
                        from[(row + i) * stride + first + column];
        }
        for (; row < rows; row++)
            for (size_t column = 0; column < group; column++)
                to[(first + column) * pitch + row] = from[row * stride + first + column];
    }
}

void ypi_bands_to_pixels(const float *from, size_t pitch, size_t pixels, size_t bands, float *to,
                         size_t stride)
{
    for (size_t first = 0; first < bands; first += YPI_BAND_GROUP)
        transpose(from + first * pitch, pitch,
                  bands - first < YPI_BAND_GROUP ? bands - first : YPI_BAND_GROUP, pixels,
                  to + first, stride);
}

void ypi_pixels_to_bands(const float *from, size_t stride, size_t pixels, size_t bands, float *to,
                         size_t pitch)
{
    transpose(from, stride, pixels, bands, to, pitch);
}
