/* --repeat: what the processes of one case measured, beside each other. They differ by more than
 * the interval from inside one of them says: memory lands elsewhere, other things run. */
#pragma once

#include "harness/vocabulary/result.h"

struct ypi_repeat {
    char *id; /* of the case; owned */
    char name[YPI_NAME_MAX];
    double seconds, cpu; /* medians, an iteration's; cpu is NaN where it is not known */
    double items, bytes, flops;
    char unit[YPI_NAME_MAX];
    int threads;
    size_t order; /* in which it came */
};

/* Begins as {0}. */
struct ypi_repeats {
    struct ypi_repeat *list;
    size_t count;
};

/* Takes the timed measurements of a case; those of fresh processes that confirm one are none. */
void ypi_repeats_add(struct ypi_repeats *all, const struct ypi_result *r);

/* Calls `take` for each measurement of each case that there are two of at least: its `count`
 * repeats, in the order in which they came. Those that came first are first. */
void ypi_repeats_each(struct ypi_repeats *all,
                      void (*take)(void *arg, const struct ypi_repeat *repeats, size_t count),
                      void *arg);

void ypi_repeats_clear(struct ypi_repeats *all);
