/*
 * What a case sends to the runner: an append-only file of checksummed messages, one file a case.
 *
 * The file is opened anew by its path for every message, so it goes on working when a body closes
 * descriptors that are not its own, and what was sent before a crash can be read after it. What it
 * does not take, because of what the body did, goes to memory that is shared with the runner. Both
 * ends are the same program, so messages are plain structures.
 */
#ifndef YPI_CHANNEL_H
#define YPI_CHANNEL_H

#include "harness/message/channel_memory.h"
#include "harness/vocabulary/result.h"

#include <sys/types.h>

enum ypi_message {
    YPI_MESSAGE_HELLO = 1, /* struct ypi_hello */
    YPI_MESSAGE_STAGE,     /* struct ypi_stage */
    YPI_MESSAGE_FAILURE,   /* struct ypi_failure_message, then file and message, NUL-terminated */
    YPI_MESSAGE_SKIP,      /* the reason, NUL-terminated */
    YPI_MESSAGE_VALUE,     /* struct ypi_value */
    YPI_MESSAGE_MEASURED,  /* struct ypi_measured, then its samples, processor times and shares */
    YPI_MESSAGE_GRADIENT,  /* struct ypi_gradient */
    YPI_MESSAGE_HASH,      /* uint64_t */
    YPI_MESSAGE_MEMORY,    /* struct ypi_memory */
    YPI_MESSAGE_SERIES,    /* rows of doubles, see series.h */
    YPI_MESSAGE_END,       /* nothing: the case is over */
    YPI_MESSAGE_EXIT,      /* nothing: the process ended in the ordinary way */
    YPI_MESSAGE_RETURNED, /* enum ypi_stage_name: a process that the body forked returned from it */
    YPI_MESSAGE_NOTE,     /* a sentence, NUL-terminated */
    YPI_MESSAGE_STACK,    /* struct ypi_stack, of its frames those that are there */
};

/* Addresses in a case's process, whose memory the runner may read; 0: not known. */
struct ypi_addresses {
    uint64_t below;  /* of what ypi_stack_below() sets */
    uint64_t output; /* of the stream stdout */
};

struct ypi_hello {
    pid_t pid;
    struct ypi_addresses addresses;
};

enum ypi_stage_name { YPI_STAGE_SETUP, YPI_STAGE_BODY, YPI_STAGE_TEARDOWN, YPI_STAGE_DONE };

struct ypi_stage {
    enum ypi_stage_name stage; /* entered now */
    double at;                 /* monotonic seconds */
};

struct ypi_failure_message {
    enum ypi_cause cause;
    int line;
    bool has_file;
};

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
    bool skipped, ended, exited;
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

#endif
