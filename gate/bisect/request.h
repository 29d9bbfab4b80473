/* What a bisection is asked for. */
#pragma once

#include "gate/report.h"

/* Texts are those of the command line. */
struct ypi_bisect_request {
    const char *id; /* of the case */
    const char *good, *bad;
    double threshold, error, budget; /* as of the gate; of all steps together */
    const char *options;             /* words for the suites; NULL: none */
    bool first_parent;
    struct ypi_report report;
};

/* False after telling stderr what is wrong, where, and what is allowed. */
bool ypi_bisect_request_read(struct ypi_bisect_request *request, int argc, char **argv);
