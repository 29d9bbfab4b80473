/* models/data/pass.h: items are merged in order up to the first that fails, whose message stays.
 * suites/stress/formulas has passes over tiles. */
#include "models/data/pass.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { ITEMS = 200, WORKERS = 4 };

struct subject {
    size_t fail_from; /* items from here on fail; ITEMS: none */
    int spare;
    atomic_int times[ITEMS];
    size_t slots[2 * WORKERS]; /* the item that a slot holds */
    size_t merged;
    bool in_order;
};

/* Items end in another order than they begin. */
static enum yp_status work(void *arg, struct ypi_work_item item)
{
    struct subject *s = arg;
    atomic_fetch_add(&s->times[item.index], 1);
    cr_expect_eq(item.slot / (1 + s->spare), item.worker, "a slot of another worker");
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

Test(pass, items_are_merged_in_order_up_to_the_first_that_fails)
{
    for (size_t first = 2; first <= ITEMS; first += 33)
        for (int variant = 0; variant < 2 * WORKERS; variant++) {
            struct subject s = {.fail_from = first, .spare = variant % 2, .in_order = true};
            const struct ypi_pass pass = {.items = ITEMS,
                                          .workers = 1 + variant / 2,
                                          .spare = s.spare,
                                          .work = work,
                                          .merge = first == 2 ? NULL : merge,
                                          .arg = &s};
            char wanted[64];
            snprintf(wanted, sizeof wanted, "item %zu is torn", first);
            cr_expect_eq(ypi_pass_run(&pass), first < ITEMS ? YP_IO : YP_OK);
            if (first < ITEMS)
                cr_expect_str_eq(yp_last_error(), wanted);
            cr_expect(s.in_order && s.merged == (first == 2 ? 0 : first), "%zu merged", s.merged);
            for (size_t i = 0; i < first; i++)
                cr_expect_eq(atomic_load(&s.times[i]), 1, "item %zu", i);
        }
}
