/* A directory for what a gate needs while it runs: sockets, logs and histories. */
#pragma once

#include <yieldpoint/device.h>

struct ypi_workplace {
    char path[64]; /* short, for sockets lie in it */
    int lock;      /* held as long as the process lives; -1: none */
};

/* In $TMPDIR, or /tmp where that is too long a name. Removes what killed processes of this user
 * left there. */
enum yp_status ypi_workplace_open(struct ypi_workplace *w);
void ypi_workplace_close(struct ypi_workplace *w); /* removes it; a second time does nothing */
