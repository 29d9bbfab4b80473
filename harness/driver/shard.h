/* One part of the cases of several (--shard, --shard-by). */
#pragma once

#include "base/text/text.h"
#include "harness/collect/collect.h"

/* Clears runs[i] of each case that belongs to another part. A relation and the cases that it reads
 * are in one part. Without `shard_by` each part gets as many cases as the others; with it the
 * parts take equally long by that history: the longest first, each to the part with the least so
 * far; a case that is not known there counts as the median of the others. The division depends on
 * the cases and on that history alone. `told` gets a line. YP_IO with yp_last_error() set where
 * that history cannot be read. */
enum yp_status ypi_shard_keep(struct yp_case *const *cases, bool *runs, int count,
                              const struct ypi_options *o, struct ypi_text *told);
