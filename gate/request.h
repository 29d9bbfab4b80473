/* What a gate is asked for. */
#pragma once

#include "gate/report.h"
#include "gate/suite.h"

/* Texts are those of the command line. */
struct ypi_request {
    const char *base, *head; /* revisions */
    const char *baseline;    /* in the place of base: stored runs, as `compare` names them */
    struct ypi_choice cases; /* its list of ids is to be freed */
    struct ypi_report report;
    double threshold;         /* 0.03: slower by more than 3 % is worse */
    double error;             /* of the whole gate */
    double budget;            /* seconds for all cases; infinite: as long as it takes */
    const char *options;      /* words for the suites of both; NULL: none */
    const char *head_options; /* for the head's alone */
    bool instructions;        /* are counted too */
    int missing_fails;        /* bool: a case or figure that only the base has is worse */
    bool always_time;         /* where both builds are the same, too */
};

/* False after telling stderr what is wrong, where, and what is allowed. */
bool ypi_request_read(struct ypi_request *request, int argc, char **argv);
