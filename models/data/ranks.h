/* Items and failures of processes that work together (ranks/communicator.h). */
#pragma once

#include "ranks/communicator.h"

#include <stddef.h>

/* Items `first` to `first + count - 1`. */
struct data_share {
    size_t first, count;
};

/* Which of `items` a rank of `size` has: one behind the other in the order of ranks, none twice and
 * none left out, and no rank has more than one more than another. */
struct data_share data_share_of(size_t items, int rank, int size);

/* A failure of any rank is the result of all: that of the lowest rank that has one, with its
 * message behind "rank N: ". `mine` is this rank's, with yp_last_error() set. Collective. An error
 * of the communicator, such as a missing rank, is the result, too. One rank: `mine`. */
enum yp_status ypi_ranks_agree(struct ypk_communicator *ranks, enum yp_status mine);

/* A number that all ranks must have alike. */
struct ypi_alike {
    const char *name;
    uint64_t value;
};

enum { YPI_ALIKE = 16 }; /* numbers at most */

/* YP_INVALID on every rank, with `what` and the name of the first that differs. Collective. */
enum yp_status ypi_ranks_alike(struct ypk_communicator *ranks, const char *what,
                               const struct ypi_alike *numbers, size_t count);
