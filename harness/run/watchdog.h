/* Watches the running cases from a thread of the runner: time, output, number of processes, and
 * processes that lost their parent. */
#pragma once

#include "harness/run/plan.h"
#include "harness/run/signals.h"

struct ypi_watchdog;

/* Called in the watchdog's thread when a case's process has sent nothing for so long that it never
 * will. The runner's own thread waits for it inside Criterion and cannot be woken. */
typedef void ypi_never_started(pid_t pid, double seconds);

/* It does what `*requests` says. Its thread has all signals blocked. */
struct ypi_watchdog *ypi_watchdog_start(struct ypi_plan *plan, const struct ypi_options *o,
                                        struct ypi_requests *requests,
                                        ypi_never_started *never_started);
void ypi_watchdog_stop(struct ypi_watchdog *watchdog);

/* Kills and reaps what is left of a case whose process has ended; returns how many there were
 * and the name of one. With `alone` no other case is running. */
int ypi_kill_leftovers(pid_t worker, bool alone, char name[64]);
