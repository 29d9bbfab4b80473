/* What stands in the messages of a case to the runner. */
#pragma once

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
    YPI_MESSAGE_TRACE,    /* the stack of the failure before it as text, NUL-terminated */
    YPI_MESSAGE_PLACE,    /* struct ypi_rank_place: of a rank */
    YPI_MESSAGE_REAPED,   /* struct ypi_reaped: of a rank, by the process that started it */
    YPI_MESSAGE_STAYS,    /* struct ypi_rank_stays: of a rank */
    YPI_MESSAGE_CROWDED,  /* nothing: more ranks than processors, so speed is not judged */
    YPI_MESSAGE_RANK_DEVICE, /* struct ypi_rank_device: of a rank that has one */
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

/* Where a rank is. */
struct ypi_rank_place {
    char node[64];  /* its host's name, cut off at the end */
    char queue[64]; /* the node's name in the queue, which messages use; "": no queue started it */
    pid_t beside;   /* the process that started the rank and stays beside it */
    int local_rank; /* among the ranks of the launcher's node; -1: not known */
    int processors; /* of its node, that the ranks there may use */
};

/* The processors that the thread of a rank's body may use as it begins. */
struct ypi_rank_stays {
    int count;               /* 0: not known */
    int processor;           /* the first of them in hwloc's order, as the kernel numbers it */
    int core, numa, package; /* that it is in, as hwloc numbers them; -1: in none */
};

/* The device of a rank. */
struct ypi_rank_device {
    char name[16];  /* "cuda:1", as its process counts them; "": none */
    char place[32]; /* on its node's bus; "": not known */
};

/* How the process of a rank ended. */
struct ypi_reaped {
    int status;   /* as of waitpid() */
    bool ordered; /* killed since the case was over, or since its launcher wanted it */
};
