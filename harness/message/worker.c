#include "harness/message/worker.h"

#include "base/system/process.h"

#include <stdio.h>

bool ypi_started_by(pid_t pid, pid_t worker)
{
    char mark[64];
    snprintf(mark, sizeof mark, YPI_MARK_OF_CRITERION "=/bxfi_%d", (int)worker);
    if (ypi_environment_has(pid, mark))
        return true;
    snprintf(mark, sizeof mark, YPI_MARK "=%d", (int)worker);
    return ypi_environment_has(pid, mark);
}
