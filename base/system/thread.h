/* Threads of the framework's own, beside those of a case. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Begins a thread that gets no signal: those are for the threads of the case. `stack` bytes
 * or more, 0: as many as the system gives. False when it does not
 * come to life. */
bool ypi_thread_begin(pthread_t *thread, void *(*work)(void *), void *argument, size_t stack);

/* Makes 64 KiB of the calling thread's stack resident, so that calls that are not deeper take no
 * new memory later. */
void ypi_touch_stack(void);
