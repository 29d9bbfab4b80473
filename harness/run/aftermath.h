/* What became of a case's process. */
#ifndef YPI_AFTERMATH_H
#define YPI_AFTERMATH_H

#include "harness/run/channel.h"
#include "harness/run/plan.h"

struct ypi_ending {
    int signal, exit_code; /* of the process, where known */
    bool alone;            /* nothing else was running: whatever is left over is the case's */
};

/* Whether the process was ended by an interrupt, and did not come to its own end before that. */
bool ypi_was_interrupted(const struct ypi_item *item, const struct ypi_told *told, int signal);

/* Reads what the process told, explains how it ended, ends what it left running and removes its
 * files. *r is made anew; it is not judged. */
struct ypi_told ypi_aftermath(const struct ypi_item *item, const struct ypi_ending *ending,
                              const struct ypi_options *o, struct ypi_result *r);

#endif
