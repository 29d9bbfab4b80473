/* A launched suite: its shards, each with the cases it runs, its place in the queue, and how it
 * ended. */
#pragma once

#include "base/options/option.h"
#include "base/text/text.h"

#include <cJSON.h>
#include <stdbool.h>
#include <stdio.h>
#include <yieldpoint/device.h>

/* What the command ends with. */
enum ypi_launch_exit {
    YPI_LAUNCH_OK = 0,
    YPI_LAUNCH_FAILED = 1,      /* cases failed */
    YPI_LAUNCH_INTERRUPTED = 2, /* by a signal: the jobs are cancelled */
    YPI_LAUNCH_LOST = 3,        /* cases were not run, or something else went wrong */
    YPI_LAUNCH_USAGE = 4,
    YPI_LAUNCH_UNSELECTED = 5,
};

/* Texts are those of the command line, not owned. */
struct ypi_launch_request {
    bool slurm;        /* said, and what is done anyway: there is no other queue */
    int nodes;         /* at most so many work at once */
    int nodes_per_job; /* those of one shard; cases of several ranks run on all of them */
    int jobs;          /* at most so many at once, from both */
    int shards;        /* as many as jobs where it is not given */
    const char *partition, *gres, *history;
    const char *sbatch; /* words more for sbatch; NULL: none */
    bool shared;        /* a node may have other jobs, too */
    bool keep;          /* the folder stays when all went well */
    const char *attach; /* a launch to wait for, by its folder or its job; NULL: a new one */
    const char *suite;
    char *const *options; /* the suite's own, ended by NULL */
};

/* What the suite's options ask for of all shards together. */
struct ypi_launch_outputs {
    char *junit, *benchmark, *rows; /* paths; NULL: not asked for. Owned */
    bool tap;                       /* on standard output */
};

enum ypi_shard_phase { YPI_SHARD_WAITS, YPI_SHARD_RUNS, YPI_SHARD_IS_OVER };

struct ypi_shard {
    char **ids; /* owned */
    int id_count;
    enum ypi_shard_phase phase;
    char state[32], node[64], reason[64]; /* as the queue says them; "": not yet seen */
    int restarts;
    int releases;    /* of a job that Slurm held */
    double released; /* when, by ypi_kernel_now() */
    int looks;       /* in a row that found it over, or not at all */
    bool ended;      /* the suite came to an end by itself, with `code` */
    int code;
    int missing; /* cases without a result */
};

struct ypi_launch {
    const struct ypi_launch_request *r;
    const volatile bool *stop; /* set by a signal */
    char *program;             /* the suite's whole path; this and all below are owned */
    char *history;             /* of the project: takes the results */
    char *folder;              /* of this launch, beside the history */
    struct ypi_launch_outputs outputs;
    struct ypi_shard *shards;
    int count;
    char *job;        /* its number in the queue; NULL: not submitted */
    int lock;         /* open on its notes as long as a command waits for it; -1 */
    double submitted; /* by ypi_kernel_now(); 0: now */
};

enum { YPI_SHARDS_MAX = 1000 };
#define YPI_LAUNCH_PREFIX "launch-"    /* of the folder's name */
#define YPI_LAUNCH_NOTES "launch.json" /* in it */
#define YPI_LAUNCH_JOB "job"           /* the job's number; written by each job, too */

/* "FOLDER/shard-3" and what else stands behind it; the caller frees. */
char *ypi_shard_file(const struct ypi_launch *l, int shard, const char *end);
/* The history of a shard's start, from 0; the caller frees. */
char *ypi_shard_history(const struct ypi_launch *l, int shard, int start);

/* -- before -------------------------------------------------------------------------------- */

/* Finds the suite, the history, and which case belongs to which shard. Shards without a case are
 * left out. False after telling stderr; *code is then what the command ends with. */
bool ypi_launch_divide(struct ypi_launch *l, int *code);

/* The value of an option, without quotes, in what the suite's --show-config prints; NULL: it has
 * none. The caller frees. */
char *ypi_launch_configured(const char *configuration, const char *name);

/* The outputs, from there; into the notes of a launch, and from them. */
void ypi_launch_outputs_read(struct ypi_launch_outputs *outputs, const char *configuration);
void ypi_launch_outputs_note(const struct ypi_launch_outputs *outputs, cJSON *notes);
void ypi_launch_outputs_recall(struct ypi_launch_outputs *outputs, const cJSON *notes);
void ypi_launch_outputs_clear(struct ypi_launch_outputs *outputs);
/* How many words of the suite's options, which begin here, ask for one; 0: none. */
int ypi_launch_output_words(char *const *option);
/* A shard's own in their place: each start has files of its own in the folder. */
void ypi_launch_output_options(struct ypi_text *script, const struct ypi_launch_outputs *outputs);

/* Makes the folder with the lists of ids and the job's script. False after telling stderr. */
bool ypi_launch_prepare(struct ypi_launch *l);

/* Writes what ypi_launch_attach() reads, and holds it for this command. False after telling stderr.
 */
bool ypi_launch_note(struct ypi_launch *l);
void ypi_launch_note_job(const struct ypi_launch *l);
/* Instead of dividing, preparing and submitting: finds a launch that was begun before, and holds it
 * for this command. False after telling stderr. */
bool ypi_launch_attach(struct ypi_launch *l, struct ypi_launch_request *r);

/* -- the queue ----------------------------------------------------------------------------- */

/* Hands the script to Slurm as an array of jobs. False after telling stderr. */
bool ypi_queue_submit(struct ypi_launch *l);
/* Looks once where the shards are. False where the queue did not answer, *silent. */
bool ypi_queue_look(struct ypi_launch *l);
/* Whether Slurm holds it since a node failed to start it, as where its slurmstepd was killed. */
bool ypi_queue_holds(const struct ypi_shard *s);
/* Has it start again, or cancels it. */
void ypi_queue_release(const struct ypi_launch *l, int shard, bool go_on);
void ypi_queue_cancel(const struct ypi_launch *l);

/* Waits until all shards are over, and tells stderr how far they are. Cancels them once *stop. */
void ypi_launch_watch(struct ypi_launch *l);

/* -- after --------------------------------------------------------------------------------- */

/* What all shards came to. */
struct ypi_launch_outcome {
    struct ypi_launched_case *list; /* owned, one for each case and repetition, in its order */
    int count;
    bool broken; /* a history could not be read or added */
};

/* Puts the results of all shards into the project's history, each once however often this is done,
 * and into `out`. Tells stderr what cannot be. */
void ypi_launch_merge(struct ypi_launch *l, struct ypi_launch_outcome *out);
void ypi_launch_outcome_clear(struct ypi_launch_outcome *out);

/* Writes what is asked for. False after telling stderr. */
bool ypi_launch_put_outputs(const struct ypi_launch *l, const struct ypi_launch_outcome *found);

/* By its own options a suite may leave cases out, as after --maxfail: that is an end like any. */
bool ypi_launch_is_whole(const struct ypi_shard *s);

/* Prints what failed, what was not run and the counts; what the command ends with. */
int ypi_launch_summary(struct ypi_launch *l, const struct ypi_launch_outcome *found);
