/* What is called in the process of a case while its functions run. */
#pragma once

#include "harness/message/channel.h"
#include "harness/message/job.h"
#include "harness/vocabulary/case.h"

struct ypi_child;

void ypi_child_send(const struct yp_case *t, enum ypi_message kind, const void *first,
                    size_t first_size, const void *second, size_t second_size);

/* Sends a failure; ending the body is up to the caller. */
void ypi_child_fail(const struct yp_case *t, enum ypi_cause cause, const char *file, int line,
                    const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Sends a failure of the body and leaves it at once. */
void ypi_child_quit(const struct yp_case *t, enum ypi_cause cause, const char *format, ...)
    __attribute__((format(printf, 3, 4), noreturn));

/* Leaves the body at once; only from the thread that runs it. */
void ypi_child_leave(const struct yp_case *t) __attribute__((noreturn));

/* Names of measurements, values and checks are used once a case; sends a usage failure and leaves
 * the body when `name` is missing, too long or was used before. */
void ypi_child_name(struct yp_case *t, const char *what, const char *name);

/* The same without sending and leaving: what is wrong, which the caller frees; NULL: the name is
 * noted as used. */
char *ypi_child_name_problem(struct yp_case *t, const char *what, const char *name);

/* Sends a measurement with its samples, processor times and shares. */
void ypi_child_send_measured(const struct yp_case *t, const struct ypi_measured *measured);
/* A value of the case, whose name has been checked. */
void ypi_child_send_value(const struct yp_case *t, const char *name, double value,
                          const char *unit);
/* Values: the peaks of accounted memory of all ranks together, by the one that knows them all.
 * `device` NAN: there is none. */
void ypi_child_send_peaks(const struct yp_case *t, double host, double device);

/* Memory that becomes resident, or that this thread allocates, between the two is the framework's:
 * it counts for no budget. They nest. Both read the process's counters, which takes some
 * microseconds: not in what is timed. */
void ypi_child_framework_begins(struct yp_case *t);
void ypi_child_framework_ends(struct yp_case *t);

/* From one call to the other new blocks of the heap do not count, of any thread. */
void ypi_child_heap_pauses(const struct yp_case *t, bool pauses);

/* Bytes that are resident now, without pages of files and without the framework's. */
uint64_t ypi_child_resident(const struct yp_case *t);

const struct ypi_job *ypi_child_job(const struct yp_case *t);

/* The resident set that is judged is then `peak` bytes: that of a command, not of this process. */
void ypi_child_set_resident(struct yp_case *t, uint64_t peak);

/* From now on functions of this fixture run, which the case gets and whose failures are its own;
 * NULL: the case's do. The memory of the one before may only be read. */
void ypi_child_makes(struct yp_case *t, const struct ypi_own_fixture *fixture);

/* Notes where the rank is, and whether all are where .placement wants them. False: they are not,
 * which is sent. */
bool ypi_child_place(struct yp_case *t);

/* The rank writes down where it stands, for the roll call: a stage, such as "in the body", and a
 * phase of it (NULL: none). In a case of one rank these do nothing. */
void ypi_child_stands(const char *stage);
void ypi_child_stands_in(const char *phase);
/* The rank's functions are over. */
void ypi_child_leaves(bool early);

/* Joins the other ranks, where the job is for one; false: it cannot, which is sent. Then leaves
 * them. */
bool ypi_child_join(struct yp_case *t);
void ypi_child_part(struct yp_case *t);

/* The measurement that is going on, for phases; NULL: none. */
struct yp_measurement **ypi_child_measurement(struct yp_case *t);

/* From one call to the other the body is being captured: what it may not do then is a mistake in
 * it. */
void ypi_child_captures(const struct yp_case *t, bool captures);
