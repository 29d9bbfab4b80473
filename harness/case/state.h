/* What the process of a case keeps while it runs: for the files of this folder that make it up. */
#ifndef YPI_STATE_H
#define YPI_STATE_H

#include "base/text/text.h"
#include "harness/case/child.h"
#include "harness/case/modes.h"
#include "harness/run/tmp_path.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <sys/resource.h>

struct ypi_block; /* of yp_alloc, see memory.c */

/* Of what a fixture provides. */
struct ypi_mapped {
    void *at; /* NULL: not mapped */
    size_t bytes;
};

struct ypi_child {
    const struct ypi_job *job;
    struct yp_device *device;
    pthread_t thread;
    pid_t pid;                 /* of the case: a process that the body forks has another */
    enum ypi_stage_name stage; /* whose function was entered last */
    jmp_buf leave;
    bool leaving_allowed;
    void (*unwind)(void); /* throws, where the function that runs is C++; NULL: longjmp */
    int unwound;          /* how often it has thrown since that function was entered */
    atomic_bool failed;
    void *data;
    struct ypi_block *blocks; /* of yp_alloc */
    char *tmp_paths[YPI_TMP_PLACES];
    struct ypi_mapped provided, given[YP_MAX_FIXTURES];
    struct ypi_text names; /* used ones, each between newlines */
    struct yp_measurement *measurement;
    struct ypi_series *series; /* of the accelerator; NULL: it reports nothing */
    char *descriptors;         /* as they were before the case began */
    struct rlimit descriptor_limit;
    struct ypi_modes modes; /* as they were then too */
    uint64_t resident_before, resident_peak;
    uint64_t resident_huge;       /* of it, in huge pages that nobody asked for */
    uint64_t resident_of_command; /* its peak; 0: there is no command */
    size_t own;                   /* bytes of what is resident that are the framework's */
};

/* From now on a block of the accounted allocator that was written outside of fails the case when it
 * is freed. */
void ypi_child_watch_blocks(const struct yp_case *t);

/* Gives back what yp_alloc() took. */
void ypi_child_free_blocks(struct ypi_child *child);

/* Gives back what yp_provide() and yp_fixture() mapped. */
void ypi_child_leave_fixtures(struct ypi_child *child);

/* Frees the names of the case's directories, which stay the runner's to remove. */
void ypi_child_forget_tmp_paths(struct ypi_child *child);

/* Sends the runner what was accounted and what is resident, at the end of the case. */
void ypi_child_send_memory(struct yp_case *t);

#endif
