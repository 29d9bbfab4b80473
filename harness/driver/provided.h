/* Memory that fixtures share with the cases that are given them: in the runner, which has it as
 * long as the run. Processes of cases open it by the runner's descriptor, as they do their
 * channel's. */
#pragma once

#include "harness/driver/runner.h"

/* Before the items of this depth (ypi_case) run: opens memory for those that are fixtures, hands
 * the others' fixtures over, and concludes those that wait for one that has not passed. */
void ypi_provide_for(struct ypi_runner *run, int depth);
