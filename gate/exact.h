/* What repeats exactly: outcomes, accounted memory, allocations, values, errors of gradients,
 * hashes of data; and the resident set, which nearly does. From processes that time nothing. */
#pragma once

#include "gate/comparison.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <yieldpoint/device.h>

/* How often each side runs a case whose figures differ at most: what a side does not repeat itself
 * proves nothing. */
enum { YPI_EXACT_REPEATS = 8 };

struct ypi_exact; /* the figures of all cases of one side */

/* All results of the history at `path`; NULL with yp_last_error() set. */
struct ypi_exact *ypi_exact_read(const char *path);
/* Those of the runs whose UUIDs are the elements of a JSON array. */
struct ypi_exact *ypi_exact_read_runs(sqlite3 *db, const char *runs);
void ypi_exact_close(struct ypi_exact *e);

/* The fingerprint of the machine of ypi_exact_read(); "" where it is not known. `e`'s. */
const char *ypi_exact_machine(const struct ypi_exact *e);

bool ypi_exact_has(const struct ypi_exact *e, const char *id);

/* The measurements of a case, in its order; the texts are `e`'s, the list the caller's. */
const char **ypi_exact_measurements(const struct ypi_exact *e, const char *id, int *count);

/* How many threads its measurements have at most; 0: it has none. */
int ypi_exact_threads(const struct ypi_exact *e, const char *id);

/* Whether the case failed in any process of the side. */
bool ypi_exact_failed(const struct ypi_exact *e, const char *id);

/* Whether more processes of the case may show that a figure is another one: so far it is, be it by
 * chance. */
bool ypi_exact_is_open(const struct ypi_exact *base, const struct ypi_exact *head, const char *id);

/* Adds what differs, with a verdict; and, where nothing does, one comparison of the outcome. The
 * more processes there are of each side, the surer it is: with one it says what they show. */
void ypi_exact_compare(const struct ypi_exact *base, const struct ypi_exact *head, const char *id,
                       struct ypi_comparisons *all);
/* The same of counts of instructions alone. */
void ypi_exact_compare_instructions(const struct ypi_exact *base, const struct ypi_exact *head,
                                    const char *id, struct ypi_comparisons *all);
