/* Heapsort in place, and arrays in one block. */
#include "base/numbers/sort.h"
#include "base/numbers/splitmix.h"
#include "base/system/arena.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

Test(sort, floats_of_every_sign_and_size_ascend)
{
    static const float special[] = {INFINITY, -INFINITY, 0, -0.0F, 1e-45F, -1e-45F, 3e38F, -3e38F};
    enum { CAPACITY = 500 };
    struct ypi_seed seed = ypi_seed_of(3, 1, 4);
    for (size_t n = 0; n <= CAPACITY; n += n < 20 ? 1 : 97) {
        float got[CAPACITY], wanted[CAPACITY];
        for (size_t i = 0; i < n; i++)
            got[i] = i % 3 == 0 ? special[ypi_seed_next(&seed) % 8] : (float)ypi_seed_normal(&seed);
        for (size_t i = 0; i < n; i++)
            wanted[i] = got[i];
        qsort(wanted, n, sizeof *wanted, by_value);
        ypi_sort_f32(got, n);
        for (size_t i = 0; i < n; i++)
            cr_assert(got[i] == wanted[i], "%zu of %zu: %g, not %g", i, n, (double)got[i],
                      (double)wanted[i]);
    }
}

static bool later_first(const void *arg, uint32_t a, uint32_t b)
{
    cr_assert_not_null(arg);
    return a > b;
}

Test(sort, items_come_as_their_order_says)
{
    uint32_t items[] = {5, UINT32_MAX, 0, 17, 3, 1U << 31};
    const uint32_t wanted[] = {UINT32_MAX, 1U << 31, 17, 5, 3, 0};
    ypi_sort_items(items, 6, later_first, items);
    cr_expect_arr_eq(items, wanted, sizeof wanted);
}

Test(arena, counts_what_it_hands_out_and_says_when_that_is_too_much)
{
    struct ypi_arena counted = {0};
    cr_expect_null(ypi_arena_take(&counted, 1, 1));
    cr_expect_null(ypi_arena_take(&counted, 3, 40));
    cr_expect_eq(counted.used, 64 + 128);
    cr_expect_not(counted.overflow);
    _Alignas(64) char block[64 + 128];
    struct ypi_arena arena = {.base = block};
    cr_expect_eq(ypi_arena_take(&arena, 1, 1), (void *)block);
    cr_expect_eq(ypi_arena_take(&arena, 3, 40), (void *)(block + 64));
    cr_expect_eq(arena.used, sizeof block);
    const size_t wrong[][2] = {{SIZE_MAX / 2 + 1, 2}, {SIZE_MAX, 1}, {SIZE_MAX - 100, 1}};
    for (size_t i = 0; i < 3; i++) {
        struct ypi_arena full = counted;
        ypi_arena_take(&full, wrong[i][0], wrong[i][1]);
        cr_expect(full.overflow, "%zu of %zu bytes", wrong[i][0], wrong[i][1]);
    }
}
