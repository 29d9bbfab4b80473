/* One timed case at a time on the whole machine: two suites, two shells or two builds wait for
 * each other. The lock is flock's on /tmp/yieldpoint.lock, or on the file that YIELDPOINT_LOCK
 * names: containers with /tmp of their own then share one. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* Waits for the lock, saying so on `tell` when it is held by another; polls `*stop`. Returns a
 * descriptor to close, or -1 when there is none to be had (reported on `tell`) or `*stop` is set.
 */
int ypi_machine_lock(FILE *tell, const volatile bool *stop);
