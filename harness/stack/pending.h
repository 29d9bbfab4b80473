/* What a case has printed and its C library has not written yet: a line without an end. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Where `*stream`, a copy of a stream, has such bytes in its process's memory, and how many. */
const void *ypi_pending(const FILE *stream, size_t *size);

/* Writes those of a case's process, which was stopped and has its stdout at that address, to where
 * its output goes (NULL: to this process's own); not those of a body that has put something else in
 * that place. */
void ypi_pending_rescue(pid_t pid, uint64_t address, const char *output);
