/*
 * The history: every result with all that is needed to judge it again and to run it again.
 *
 * SQLite in WAL mode with synchronous=NORMAL: a transaction that was committed survives the death
 * of any process. A result is committed before it is printed.
 */
#ifndef YPI_RECORD_H
#define YPI_RECORD_H

#include "harness/record/environment.h"
#include "harness/record/schema.h"
#include "harness/vocabulary/result.h"

struct ypi_run {
    char id[37];    /* UUID, version 4 */
    double started; /* seconds since 1970 */
    uint64_t seed;
    const char *command; /* the command line, quoted so that a shell takes it */
    const char *program; /* path of the executable */
    bool speed_judged;
    double slowdown;                           /* factor of --slowdown, 0: none */
    bool no_fork;                              /* its cases had no processes of their own */
    uint64_t memory_limit;                     /* bytes, 0: none */
    const struct ypi_environment *environment; /* NULL: none */
    /* Arguments that a reproduction must repeat: "--memory-limit", "1G", ... */
    const char *const *reproduce_options;
    int reproduce_option_count;
};

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

#endif
