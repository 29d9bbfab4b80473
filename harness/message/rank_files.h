/* The files of a case's ranks, beside its channel: of each rank a channel, an output and a page on
 * which it notes where it stands. */
#pragma once

#include "harness/vocabulary/result.h"
#include "ranks/engine.h"

struct ypi_job;

/* "DIR/12.channel" to "DIR/12-rank3.ENDING". The caller frees. */
char *ypi_rank_file(const char *channel, int rank, const char *ending);
/* That of the rank that the job is for. The caller frees. */
char *ypi_ranks_file_of(const struct ypi_job *job, const char *ending);
/* "DIR/12-ENDING", of all ranks together. The caller frees. */
char *ypi_ranks_file(const char *channel, const char *ending);

enum ypi_over { YPI_NOT_OVER = 0, YPI_OVER, YPI_OVER_EARLY /* it left its body early */ };
enum ypi_in_call { YPI_NOT_IN_CALL = 0, YPI_IN_COLLECTIVE, YPI_IN_EXCHANGE };

/* Where a rank stands. Written by its process alone, read by others at any time: a text may then be
 * half a new one. */
struct ypi_standing {
    char stage[32];                    /* "the body" */
    char phase[YPI_NAME_MAX];          /* of a measured block; "": in none */
    struct ypk_call call;              /* the last collective operation */
    int to, from;                      /* the last message to and from other ranks; -1: none */
    uint64_t exchanges;                /* of messages so far */
    volatile enum ypi_in_call in_call; /* it waits in one of them */
    volatile enum ypi_over over;       /* setup, body and teardown are */
    volatile bool unfinished;          /* MPI is initialised, and not finalised */
};

/* The page of a rank in a file, which `create` makes anew. NULL with yp_last_error() set. */
struct ypi_standing *ypi_standing_map(const char *path, bool create);
void ypi_standing_unmap(struct ypi_standing *standing); /* NULL does nothing */

#define YPI_STANDING_MAX 256
/* "in barrier (call 3) in phase exchange in the body", "before the start" */
void ypi_standing_text(const struct ypi_standing *standing, char out[YPI_STANDING_MAX]);
