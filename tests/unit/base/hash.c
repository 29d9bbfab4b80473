/* Hashes of data: sums that do not depend on who adds them, or with which instructions. */
#include <criterion/criterion.h>

/* The versions that the processor here would not choose are tested too. */
#define yp_hash_f32 included_hash_f32
#include "base/numbers/hash.c"
#undef yp_hash_f32
uint64_t yp_hash_f32(uint64_t first, const float *values, size_t count);

#include <math.h>
#include <stdlib.h>

enum { COUNT = 5000 };

static const float *values(void)
{
    static float data[COUNT];
    struct ypi_seed random = ypi_seed_of(1, 1, 1);
    for (int i = 0; i < COUNT; i++)
        data[i] = (float)ypi_seed_normal(&random);
    return data;
}

/* Written out once more, from the definition. */
static uint64_t by_definition(uint64_t first, const float *data, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        union {
            float value;
            uint32_t bits;
        } u = {.value = data[i]};
        uint64_t z = (first + i) * 0x9e3779b97f4a7c15ULL + u.bits;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
        sum += z ^ z >> 31;
    }
    return sum;
}

/* Stored hashes stay comparable from version to version. */
Test(hash, known_answers)
{
    const float three[3] = {0.0F, 1.0F, -2.5F};
    cr_expect_eq(yp_hash_f32(0, three, 0), 0);
    cr_expect_eq(yp_hash_f32(0, three, 1), 0, "index 0 and bits 0: the finaliser keeps 0");
    cr_expect_eq(yp_hash_f32(0, three, 3), UINT64_C(0x5c8590c16434e8a6), "%#lx",
                 (unsigned long)yp_hash_f32(0, three, 3));
    cr_expect_eq(yp_hash_f32(1000000007, three, 3), UINT64_C(0x67996687bf476644), "%#lx",
                 (unsigned long)yp_hash_f32(1000000007, three, 3));
}

Test(hash, every_version_gives_the_same_sum)
{
    const float *data = values();
    const size_t counts[] = {0, 1, 7, 8, 255, 256, 257, 511, 512, 1000, COUNT - 1};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (size_t offset = 0; offset < 2; offset++) {
            uint64_t first = UINT64_C(0xfffffffffffffff0) * offset + 12345; /* wraps too */
            uint64_t expected = by_definition(first, data + offset, counts[i]);
            cr_expect_eq(yp_hash_f32(first, data + offset, counts[i]), expected);
            cr_expect_eq(included_hash_f32(first, data + offset, counts[i]), expected);
            cr_expect_eq(hash_baseline(first, data + offset, counts[i]), expected);
#if defined(__x86_64__)
            if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
                cr_expect_eq(hash_avx512(first, data + offset, counts[i]), expected);
#endif
        }
}

Test(hash, tiles_add_up_in_any_order)
{
    const float *data = values();
    uint64_t whole = yp_hash_f32(77, data, COUNT);
    const size_t tiles[] = {1, 3, 64, 256, 1000, 4999};
    for (size_t t = 0; t < sizeof tiles / sizeof *tiles; t++) {
        uint64_t forwards = 0, backwards = 0;
        size_t count = (COUNT + tiles[t] - 1) / tiles[t];
        for (size_t i = 0; i < count; i++) {
            size_t a = i * tiles[t], b = (count - 1 - i) * tiles[t];
            size_t na = COUNT - a < tiles[t] ? COUNT - a : tiles[t];
            size_t nb = COUNT - b < tiles[t] ? COUNT - b : tiles[t];
            forwards += yp_hash_f32(77 + a, data + a, na);
            backwards += yp_hash_f32(77 + b, data + b, nb);
        }
        cr_expect_eq(forwards, whole);
        cr_expect_eq(backwards, whole);
    }
}

static uint64_t with_bits(uint32_t flip, size_t at)
{
    float data[64];
    memcpy(data, values(), sizeof data);
    uint32_t bits;
    memcpy(&bits, data + at, sizeof bits);
    bits ^= flip;
    memcpy(data + at, &bits, sizeof bits);
    return yp_hash_f32(0, data, 64);
}

/* A bit of one value moves half the bits of its term. The change of the sum is a difference of
 * two such terms, whose bits are fair too: of 2048 changes, 32 bits on average, each of standard
 * deviation 4; the mean of all within five of its own. */
Test(hash, every_bit_of_every_value_counts)
{
    uint64_t original = with_bits(0, 0);
    double moved = 0;
    for (size_t at = 0; at < 64; at++)
        for (int bit = 0; bit < 32; bit++) {
            uint64_t change = with_bits(1u << bit, at) ^ original;
            cr_expect(change != 0, "value %zu, bit %d", at, bit);
            moved += __builtin_popcountll(change);
        }
    cr_expect_float_eq(moved / 2048, 32, 5 * 4 / sqrt(2048));
}

Test(hash, order_place_and_sign_of_zero_count)
{
    const float *data = values();
    float swapped[COUNT];
    memcpy(swapped, data, sizeof swapped);
    swapped[10] = data[11];
    swapped[11] = data[10];
    cr_expect(yp_hash_f32(0, swapped, COUNT) != yp_hash_f32(0, data, COUNT), "neighbours");
    memcpy(swapped, data, sizeof swapped);
    swapped[0] = data[COUNT - 1];
    swapped[COUNT - 1] = data[0];
    cr_expect(yp_hash_f32(0, swapped, COUNT) != yp_hash_f32(0, data, COUNT), "ends");
    cr_expect(yp_hash_f32(1, data, COUNT) != yp_hash_f32(0, data, COUNT), "place");

    const float zeros[2] = {0.0F, 0.0F}, signs[2] = {0.0F, -0.0F};
    cr_expect(yp_hash_f32(0, zeros, 2) != yp_hash_f32(0, signs, 2), "sign of zero");
    cr_expect(yp_hash_f32(0, zeros, 2) != yp_hash_f32(0, zeros, 1), "one zero more");
}

static int by_word(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* A million pairs of index and value, the values close together as in real data: none may meet
 * (by chance two would with 3e-8). */
Test(hash, terms_do_not_meet)
{
    enum { INDICES = 1000, VALUES = 1000 };
    uint64_t *terms = malloc(sizeof *terms * INDICES * VALUES);
    cr_assert(terms != NULL);
    for (int i = 0; i < INDICES; i++)
        for (int v = 0; v < VALUES; v++) {
            float value = (float)v / 1024;
            terms[i * VALUES + v] = yp_hash_f32((uint64_t)i * 65536, &value, 1);
        }
    qsort(terms, INDICES * VALUES, sizeof *terms, by_word);
    for (int i = 1; i < INDICES * VALUES; i++)
        cr_assert(terms[i] != terms[i - 1]);
    free(terms);
}
