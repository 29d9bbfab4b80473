/* Items of a pass and the slots that hold them. */
#include "models/data/loader_internal.h"

#include "base/system/clock.h"

#include <stdio.h>
#include <string.h>

void ypi_loader_begin_pass(struct data_loader *l)
{
    size_t words = (l->o.items + 63) / 64;
    memset(l->begun, 0, words * sizeof *l->begun);
    if (l->o.items % 64 != 0)
        l->begun[words - 1] = ~UINT64_C(0) << (l->o.items % 64);
    for (size_t i = 0; i < l->slot_count; i++)
        l->slots[i].state = YPI_EMPTY;
    l->begun_count = 0;
    l->cursor = 0;
    l->ahead = 0;
}

size_t ypi_loader_next(const struct data_loader *l)
{
    size_t words = (l->o.items + 63) / 64, word = l->cursor / 64;
    uint64_t open = ~l->begun[word] & ~UINT64_C(0) << (l->cursor % 64);
    while (open == 0) {
        word = (word + 1) % words;
        open = ~l->begun[word];
    }
    return word * 64 + (size_t)__builtin_ctzll(open);
}

void ypi_loader_stop_clock(struct ypi_loader_worker *w)
{
    if (w->waits_since > 0)
        w->loader->seen.worker_waiting += ypi_now() - w->waits_since;
    w->waits_since = 0;
}

size_t ypi_loader_find_slot(const struct data_loader *l, size_t index)
{
    for (size_t i = 0; i < l->slot_count; i++)
        if (l->slots[i].state != YPI_EMPTY && l->slots[i].index == index)
            return i;
    return YPI_NO_SLOT;
}

size_t ypi_loader_begin(struct data_loader *l, size_t index, enum ypi_loader_state state)
{
    size_t used = 0, at = YPI_NO_SLOT;
    for (size_t i = 0; i < l->slot_count; i++) {
        used += l->slots[i].state != YPI_EMPTY;
        if (at == YPI_NO_SLOT && l->slots[i].state == YPI_EMPTY)
            at = i;
    }
    if (used + 1 > l->seen.max_items)
        l->seen.max_items = used + 1;
    l->slots[at].state = state;
    l->slots[at].index = index;
    l->begun[index / 64] |= UINT64_C(1) << (index % 64);
    if (++l->begun_count ==
        l->o.items) /* from here on they wait for the next pass, not for capacity */
        for (int i = 0; i < l->workers; i++)
            ypi_loader_stop_clock(&l->worker[i]);
    return at;
}

double ypi_loader_make(struct data_loader *l, size_t at)
{
    struct ypi_loader_slot *s = &l->slots[at];
    double begin = ypi_now();
    s->count = 0;
    s->status = l->o.fill(l->o.arg, s->index, ypi_loader_data_of(l, at),
                          ypi_loader_labels_of(l, at), &s->count);
    if (s->status == YP_OK && s->count > l->o.elements)
        s->status = yp_set_error(YP_INVALID,
                                 "data_loader: fill gave item %zu %zu elements: must be 0 to %zu",
                                 s->index, s->count, l->o.elements);
    if (s->status != YP_OK)
        snprintf(s->message, sizeof s->message, "%s", yp_last_error());
    return ypi_now() - begin;
}
