/*
 * Memory that a case shares with the runner, for messages that its channel's file does not take any
 * more: the body lowered a limit, used up the descriptors, became another user, or removed the
 * file.
 *
 * One anonymous file a run, of one slot an item; slots that are not written take no memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct ypi_channel_memory; /* a mapped slot */

/* In the runner: the descriptor of the run's memory, which the caller closes; -1: there is none. */
int ypi_channel_memory_create(void);

/* In the case's process, which keeps no descriptor of it: slot `number` of the memory that `runner`
 * has as `fd`. NULL when it cannot be had. Stays mapped as long as the process lives. */
struct ypi_channel_memory *ypi_channel_memory_map(pid_t runner, int fd, int number);

/* Appends one message of three parts; false when it does not fit. Async-signal-safe. */
bool ypi_channel_memory_append(struct ypi_channel_memory *memory, const void *const parts[3],
                               const size_t sizes[3]);

/* In the runner: a copy of what is in a slot, which the caller frees; NULL: nothing. */
char *ypi_channel_memory_read(int fd, int number, size_t *size);

/* Gives the slot's memory back; it is empty then. */
void ypi_channel_memory_clear(int fd, int number);
