/* The socket at which Criterion listens to its cases: /tmp/criterion_PID.sock. */
#pragma once

#include <yieldpoint/device.h>

/* Returns in a process in which that path can be had, and must therefore be called before anything
 * that belongs to this process alone (threads, locks, open files of records). Usually that is this
 * process. Where a runner listens there, or a file stands that only another user may remove, it is
 * a child; this process then waits for it, passes signals on to it, and ends as it ends. Any other
 * status: no socket can be in /tmp, or no process could be had; yp_last_error() says why. */
enum yp_status ypi_socket_secure(void);
