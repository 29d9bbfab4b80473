/* models/data/pass.h: each item once, merged in order, the first failure's message. */
#include "models/data/pass.h"

#include <criterion/criterion.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ITEMS = 200, WORKERS = 4 };

struct subject {
    size_t fail_from; /* items from here on fail; ITEMS: none */
    bool naps;        /* items end in another order than they begin */
    int spare;
    atomic_int times[ITEMS];
    size_t slots[2 * WORKERS]; /* the item that a slot holds */
    size_t merged;
    bool in_order;
};

static enum yp_status work(void *arg, struct ypi_work_item item)
{
    struct subject *s = arg;
    atomic_fetch_add(&s->times[item.index], 1);
    cr_expect(item.worker >= 0 && item.worker < WORKERS);
    cr_expect_eq(item.slot / (1 + s->spare), item.worker, "a slot of another worker");
    cr_expect_eq(omp_get_max_threads(), 1);
    if (s->naps)
        usleep((useconds_t)(item.index * 7 % 5 * 100));
    s->slots[item.slot] = item.index;
    if (item.index >= s->fail_from)
        return yp_set_error(YP_IO, "item %zu is torn", item.index);
    return YP_OK;
}

static void merge(void *arg, int slot)
{
    struct subject *s = arg;
    s->in_order = s->in_order && s->slots[slot] == s->merged;
    s->merged++;
}

static struct ypi_pass pass_of(struct subject *s, int workers)
{
    return (struct ypi_pass){.items = ITEMS,
                             .workers = workers,
                             .spare = s->spare,
                             .work = work,
                             .merge = merge,
                             .arg = s};
}

Test(pass, each_item_is_worked_on_once_and_merged_in_order)
{
    for (int variant = 0; variant < 4; variant++)
        for (int workers = 1; workers <= WORKERS; workers++) {
            struct subject s = {.fail_from = ITEMS,
                                .naps = (variant & 1) != 0,
                                .spare = variant >> 1,
                                .in_order = true};
            struct ypi_pass pass = pass_of(&s, workers);
            cr_assert_eq(ypi_pass_run(&pass), YP_OK);
            cr_expect(s.in_order && s.merged == ITEMS, "%d workers: %zu", workers, s.merged);
            for (size_t i = 0; i < ITEMS; i++)
                cr_expect_eq(atomic_load(&s.times[i]), 1, "item %zu", i);
        }
}

Test(pass, the_first_failure_in_order_is_reported_and_nothing_behind_it_is_merged)
{
    for (size_t first = 0; first < ITEMS; first += 33)
        for (int workers = 1; workers <= WORKERS; workers++) {
            struct subject s = {.fail_from = first, .naps = true, .spare = 1, .in_order = true};
            struct ypi_pass pass = pass_of(&s, workers);
            char wanted[64];
            snprintf(wanted, sizeof wanted, "item %zu is torn", first);
            cr_expect_eq(ypi_pass_run(&pass), YP_IO);
            cr_expect_str_eq(yp_last_error(), wanted);
            cr_expect(s.in_order && s.merged == first, "%zu merged, %zu fails", s.merged, first);
        }
}

Test(pass, nothing_to_merge_or_to_do_is_a_pass_too)
{
    struct subject s = {.fail_from = ITEMS};
    struct ypi_pass pass = pass_of(&s, WORKERS);
    pass.merge = NULL;
    cr_expect_eq(ypi_pass_run(&pass), YP_OK);
    cr_expect_eq(s.merged, 0);
    for (size_t i = 0; i < ITEMS; i++)
        cr_expect_eq(atomic_load(&s.times[i]), 1);
    pass = pass_of(&s, WORKERS);
    pass.items = 0;
    cr_expect_eq(ypi_pass_run(&pass), YP_OK);
}
