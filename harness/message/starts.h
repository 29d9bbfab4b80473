/* Processes that Criterion has started, and of which it does not speak: one that ends before it
 * begins with its case. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct ypi_starts {
    void (*clear)(void);
    void (*begun)(pid_t pid); /* it has begun with its case: Criterion speaks of it from now on */
    /* Whether it may still begin, or has ended and is still Criterion's to reap. */
    bool (*has)(pid_t pid);
    /* Removes the first, in the order in which they were started, that ended before it began. To
     * *status goes what waitpid() says of it. False: there is none. */
    bool (*take)(int *status);
};

/* A part of the program itself (criterion/shims.c); absent where the program has none. */
extern const struct ypi_starts ypi_starts __attribute__((weak, visibility("default")));
