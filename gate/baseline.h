/* A built revision beside stored runs, of this machine or another one. */
#pragma once

#include "gate/comparison.h"
#include "gate/revision.h"
#include "gate/suite.h"

struct ypi_baseline_task {
    const struct ypi_revision *head; /* built */
    const char *baseline;            /* stored runs, by a word of gate/stored/stored.h */
    const char *history;             /* that they are in; NULL: the nearest */
    struct ypi_choice cases;
    const char *options, *head_options; /* words for the suites; NULL: none */
    double budget;                      /* seconds; infinite: as long as it takes */
    const volatile bool *stop;
};

/* Times the chosen cases of the head some times and compares them with the stored runs as
 * ypi_stored_compare() does, into `found`, whose head, threshold and error are set. None is no
 * error. YP_INVALID: the word names no runs, or the choice is malformed; YP_IO; YP_UNSUPPORTED:
 * stopped. yp_last_error() is set. */
enum yp_status ypi_baseline_compare(const struct ypi_baseline_task *task,
                                    struct ypi_comparisons *found);
