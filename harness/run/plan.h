/* What runs, in which order, and where its traces are kept while it does. */
#pragma once

#include "base/system/process.h"
#include "base/text/text.h"
#include "harness/collect/collect.h"
#include "harness/message/case_list.h"
#include "harness/message/channel.h"
#include "harness/message/job.h"

#include <criterion/types.h>
#include <stdatomic.h>
#include <yieldpoint/fixture.h>

enum ypi_state { YPI_WAITING = 0, YPI_RUNNING, YPI_FINISHED, YPI_DROPPED };

enum { YPI_THREADS_MAX = 32 };

/* One run of one case. */
struct ypi_item {
    struct yp_case c; /* shares its texts with the collection */
    int number;       /* from 1, in the order of the plan */
    _Atomic int state;
    /* Criterion's side. `extra` is found again from its events. */
    struct criterion_test test;
    struct criterion_test_extra_data extra;
    char *criterion_name, *criterion_suite;
    /* Files of the case's process. */
    char *channel, *output;
    int channel_fd, output_fd;   /* opened while it runs, since a case may remove them; -1 */
    int memory;                  /* of the plan */
    int provided;                /* memory of a fixture, shared with its users; -1: none yet */
    int given[YP_MAX_FIXTURES];  /* that of its fixtures; -1: none */
    struct ypi_own_fixture *own; /* owned: see ypi_job, NULL where there is none */
    int own_count;
    char *skip; /* owned: the reason, where a fixture's is the case's; NULL */
    /* Written by the runner's thread, read by the watchdog's. */
    double started_wall, started;   /* monotonic, the kernel's */
    struct ypi_addresses addresses; /* of its process */
    uint64_t oom_kills;             /* by the kernel, and refusals by the cgroup, before it began */
    uint64_t refusals;
    /* Its processes so far: the case itself first; owned. */
    int attempt; /* 0: the case itself; above: see ypi_result */
    struct ypi_result *results;
    int result_count;
    bool over;                /* this attempt's end was seen */
    uint64_t watched;         /* this process looks for the stack of that allocation; 0: of none */
    bool in_round;            /* this attempt is of a round that relations ask for */
    struct ypi_result *fresh; /* what it brought; NULL: nothing yet */
    /* Written by the watchdog. */
    _Atomic int pid;
    _Atomic int killed; /* a cause + 1; 0: not by us */
    double killed_at;
    double paused; /* seconds for which it was stopped together with the runner */
    struct ypi_thread threads[YPI_THREADS_MAX]; /* of a case that was too slow, and */
    struct ypi_stack *stacks;                   /* what they did; owned, NULL: not looked at */
    int untraced;                               /* errno, where ptrace was refused; 0 */
    _Atomic int stack_count;
};

struct ypi_plan {
    struct ypi_item *items;
    int count;
    char *directory;       /* of channels and outputs; removed at the end */
    int directory_fd;      /* locked as long as the run lives */
    char *libraries;       /* that the run began with */
    struct ypi_text cases; /* what the file for onlookers holds: see case_list.h */
    int memory;            /* shared with the cases, see channel_memory.h; -1: none */
    char *cgroup;          /* that bounds the number of processes; NULL: none */
};

/* How many items the first `selected` cases make: `repeat` each, one of a fixture. */
int ypi_plan_runs(const struct ypi_collection *c, int selected, const struct ypi_options *o);

/* Every selected case `repeat` times. The directory is made beside the history; those of runs
 * that died are removed. YP_IO with yp_last_error() set. */
enum yp_status ypi_plan_make(struct ypi_plan *plan, struct ypi_collection *c, int selected,
                             const struct ypi_options *o, const char *run_id);
void ypi_plan_clear(struct ypi_plan *plan);

/* Makes the directory again where a case has removed it. */
void ypi_plan_keep_directory(struct ypi_plan *plan);

/* What the item's process has sent so far, into a cleared result. */
struct ypi_report ypi_item_read(const struct ypi_item *item, struct ypi_result *result);

/* Opens the files of its process, which has begun; closes them, and removes what is in them. */
void ypi_item_open_files(struct ypi_item *item);
void ypi_item_remove_files(struct ypi_item *item);

/* Ready for one more process. */
void ypi_item_renew(struct ypi_item *item);

/* The allocation that is refused in this attempt; 0: none. */
uint64_t ypi_item_fails(const struct ypi_item *item, const struct ypi_options *o);

/* What the case's process needs; its texts are the item's and the options'. */
struct ypi_job ypi_job_of(const struct ypi_item *item, const struct ypi_options *o);

/* Where this machine's processors are, in memory that the cases' processes will share, so that none
 * has to read the machine itself; none where nothing is bound. Of one pass, from PRE_ALL on. */
struct ypi_places ypi_plan_places(const struct ypi_options *o);

/* What has not begun does not begin any more. */
void ypi_plan_end(struct ypi_plan *plan);

/* Copies what the case's process needs into memory it will share; from PRE_ALL on. */
void ypi_plan_job(struct ypi_item *item, const struct ypi_options *o, struct ypi_places places);

static inline bool ypi_item_needs_process(const struct ypi_item *item)
{
    return item->c.skip == NULL && !ypi_is_relation(&item->c);
}
