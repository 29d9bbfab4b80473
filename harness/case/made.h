/* The case that a process runs, and the fixtures that it makes for itself. */
#pragma once

#include "harness/message/job.h"

struct yp_case ypi_case_of_job(const struct ypi_job *job);

/* For the functions of a fixture of the running case `t`, whose process and output it has. Its seed
 * is the rank's own. */
struct yp_case ypi_case_of_fixture(const struct yp_case *t, const struct ypi_own_fixture *own);
