#include "harness/report/repeats.h"

#include "base/text/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void ypi_repeats_add(struct ypi_repeats *all, const struct ypi_result *r)
{
    for (int i = 0; i < r->measured_count; i++) {
        const struct ypi_measured *m = &r->measured[i];
        if (!ypi_is_timed(m->kind) || m->count == 0)
            continue;
        all->list = ypi_realloc(all->list, all->count + 1, sizeof *all->list);
        struct ypi_repeat *new = &all->list[all->count];
        *new = (struct ypi_repeat){.id = ypi_strdup(r->c->id),
                                   .seconds = m->estimate.median,
                                   .cpu = m->cpu != NULL ? m->cpu_estimate.median : NAN,
                                   .items = m->items,
                                   .bytes = m->bytes,
                                   .flops = m->flops,
                                   .threads = m->threads,
                                   .order = all->count++};
        memcpy(new->name, m->name, sizeof new->name);
        memcpy(new->unit, m->unit, sizeof new->unit);
    }
}

static int by_what(const struct ypi_repeat *a, const struct ypi_repeat *b)
{
    int order = strcmp(a->id, b->id);
    return order != 0 ? order : strcmp(a->name, b->name);
}

static int by_what_and_order(const void *a, const void *b)
{
    const struct ypi_repeat *x = a;
    const struct ypi_repeat *y = b;
    int order = by_what(x, y);
    return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

struct group {
    size_t begin, count, first; /* first: the order of its first */
};

static int by_first(const void *a, const void *b)
{
    size_t x = ((const struct group *)a)->first;
    size_t y = ((const struct group *)b)->first;
    return (x > y) - (x < y);
}

void ypi_repeats_each(struct ypi_repeats *all,
                      void (*take)(void *arg, const struct ypi_repeat *repeats, size_t count),
                      void *arg)
{
    if (all->count == 0)
        return;
    struct group *groups = ypi_calloc(all->count, sizeof *groups);
    size_t group_count = 0;
    qsort(all->list, all->count, sizeof *all->list, by_what_and_order);
    for (size_t begin = 0, end = 0; begin < all->count; begin = end) {
        while (end < all->count && by_what(&all->list[begin], &all->list[end]) == 0)
            end++;
        if (end - begin > 1)
            groups[group_count++] = (struct group){begin, end - begin, all->list[begin].order};
    }
    qsort(groups, group_count, sizeof *groups, by_first);
    for (size_t g = 0; g < group_count; g++)
        take(arg, &all->list[groups[g].begin], groups[g].count);
    free(groups);
}

void ypi_repeats_clear(struct ypi_repeats *all)
{
    for (size_t i = 0; i < all->count; i++)
        free(all->list[i].id);
    free(all->list);
    *all = (struct ypi_repeats){0};
}
