/* Hashes of data: one definition, that of every version; sums of terms depend on nobody's order. */
#include <criterion/criterion.h>

/* The versions that the processor here would not choose are tested too. */
#define yp_hash_f32 included_hash_f32
#define yp_hash_bytes included_hash_bytes
#include "base/numbers/hash.c"
#undef yp_hash_f32
#undef yp_hash_bytes
uint64_t yp_hash_f32(uint64_t first, const float *values, size_t count);
uint64_t yp_hash_bytes(uint64_t first, const void *data, size_t bytes);

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

static uint64_t mixed(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return z ^ z >> 31;
}

/* The definition, byte by byte. */
static uint64_t bytes_by_definition(uint64_t first, const unsigned char *data, size_t bytes)
{
    uint64_t sum = bytes * 0x9e3779b97f4a7c15ULL;
    uint64_t word = 0;
    for (size_t i = 0; i < bytes; i++) {
        word |= (uint64_t)data[i] << 8 * (i % 8);
        if (i % 8 != 7 && i + 1 < bytes)
            continue;
        sum += mixed(word ^ mixed((first + i / 8 + 1) * 0x9e3779b97f4a7c15ULL));
        word = 0;
    }
    return sum;
}

Test(hash, bytes)
{
    const unsigned char *data = (const unsigned char *)values();
    cr_expect_eq(yp_hash_bytes(0, "yieldpoint", 10), UINT64_C(0x7afbcf8910ff1d60), "%#lx",
                 (unsigned long)yp_hash_bytes(0, "yieldpoint", 10));
    for (size_t bytes = 0; bytes < 100; bytes++) {
        const uint64_t whole = yp_hash_bytes(3, data + 1, bytes);
        cr_expect_eq(whole, bytes_by_definition(3, data + 1, bytes));
        for (size_t tile = 0; tile <= bytes; tile += 8)
            cr_expect_eq(yp_hash_bytes(3, data + 1, tile) +
                             yp_hash_bytes(3 + tile / 8, data + 1 + tile, bytes - tile),
                         whole, "tiles add up");
    }
    cr_expect_neq(yp_hash_bytes(0, "a", 2), yp_hash_bytes(0, "a", 1), "zeros at the end count");
    cr_expect_neq(yp_hash_bytes(0, "aaaaaaaabbbbbbbb", 16),
                  yp_hash_bytes(0, "bbbbbbbbaaaaaaaa", 16), "the order counts");
}
