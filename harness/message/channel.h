/*
 * What a case sends to the runner: an append-only file of checksummed messages, one file a case.
 *
 * The file is opened anew by its path for every message, so it goes on working when a body closes
 * descriptors that are not its own, and what was sent before a crash can be read after it. What it
 * does not take, because of what the body did, goes to memory that is shared with the runner. Both
 * ends are the same program, so messages are plain structures.
 */
#pragma once

#include "harness/message/channel_memory.h"
#include "harness/message/content.h"
#include "harness/vocabulary/result.h"

#include <sys/types.h>

/* Makes an empty file, and its directory where that is gone. False when it cannot. */
bool ypi_channel_create(const char *path);

/* Where this process's messages go once its file cannot be written; NULL: nowhere. */
void ypi_channel_set_memory(struct ypi_channel_memory *shared);

/* One message of two parts, written whole. False when neither the file, which must be there, nor
 * the memory takes it. Async-signal-safe; of what the body set RLIMIT_FSIZE to, no signal comes. */
bool ypi_channel_send(const char *path, enum ypi_message kind, const void *first, size_t first_size,
                      const void *second, size_t second_size);

/* What the messages of `path` say, into a cleared result; messages after a damaged one are not
 * read, and one that is whole and cannot be is a failure of the case. Of a process that says it
 * RETURNED nothing else is believed: it went on as the case. `*pid` is 0 and `*stage`
 * YPI_STAGE_DONE where nothing was sent. */
struct ypi_report {
    pid_t pid;
    struct ypi_addresses addresses;
    bool staged; /* a stage was sent */
    enum ypi_stage_name stage;
    double began, entered; /* monotonic seconds: the first stage, the last one; 0: none */
    bool skipped, ended, exited;
    /* Of a rank. */
    struct ypi_rank_place place; /* node "": it has not begun */
    struct ypi_rank_device device;
    struct ypi_rank_stays stays; /* count 0: not known */
    bool is_reaped;
    struct ypi_reaped reaped;
};
struct ypi_report ypi_channel_read(const char *path, struct ypi_result *result);

/* The same of a file that was opened, by `fd` where it is not negative, since its path may be gone;
 * then of slot `number` of the run's memory, -1: none. */
struct ypi_channel_source {
    const char *path;
    int fd, memory, number;
};
struct ypi_report ypi_channel_read_from(const struct ypi_channel_source *source,
                                        struct ypi_result *result);
