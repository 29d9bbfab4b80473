/*
 * The history: every result with all that is needed to judge it again and to run it again.
 *
 * SQLite in WAL mode with synchronous=NORMAL: a transaction that was committed survives the death
 * of any process. A result is committed before it is printed.
 */
#pragma once

#include "harness/record/environment.h"
#include "harness/record/schema.h"
#include "harness/vocabulary/result.h"

struct ypi_history; /* an open database */

/* Opens or creates the file (not its directory), brings an older schema up to date inside one
 * transaction, refuses a newer one. NULL with yp_last_error() set: the path, what is wrong. Waits
 * up to 30 s for another process's lock. */
struct ypi_history *ypi_history_open(const char *path);

/* Each of these is one transaction: unless it is YP_OK nothing of it is stored, and what was
 * stored before stays. YP_INVALID: the run was not begun, or has this case, repeat and attempt
 * already. A result without an id gets one. */
enum yp_status ypi_history_begin(struct ypi_history *h, const struct ypi_run *run);
enum yp_status ypi_history_add(struct ypi_history *h, const char *run_id,
                               const struct ypi_result *result);
enum yp_status ypi_history_finish(struct ypi_history *h, const char *run_id, double ended,
                                  int exit_code);

/* Fresh UUID (version 4) from the kernel's random source, 36 characters and a NUL. */
void ypi_uuid(char out[37]);

/* NULL is allowed. */
void ypi_history_close(struct ypi_history *h);
