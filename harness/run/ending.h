/* What became of a case's process. */
#pragma once

#include "harness/message/channel.h"
#include "harness/run/plan.h"

struct ypi_ending {
    int signal, exit_code; /* of the process, where known */
    bool alone;            /* nothing else was running: whatever is left over is the case's */
};

/* Whether the process was ended by an interrupt, and did not come to its own end before that. */
bool ypi_was_interrupted(const struct ypi_item *item, const struct ypi_report *report, int signal);

/* Reads what the process sent, adds a failure where it ended badly, kills what it left running and
 * removes its files. *r is overwritten; it is not judged. */
struct ypi_report ypi_ending_result(struct ypi_item *item, const struct ypi_ending *ending,
                                    const struct ypi_options *o, struct ypi_result *r);
