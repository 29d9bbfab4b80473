/* A case that was launched, as its shard ended it. */
#pragma once

#include "launch/shards.h"

struct ypi_launched_case {
    char *id; /* owned */
    int repeat;
    int outcome;        /* its place in ypi_store_outcome() */
    char *result, *run; /* owned: their UUIDs */
    char *reason;       /* owned: the first failure, or why it was skipped; "" */
};

/* The case of this id; NULL: none has a result. */
const struct ypi_launched_case *ypi_launched_find(const struct ypi_launch_outcome *found,
                                                  const char *id);
