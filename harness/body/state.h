/* What the process of a case keeps while it runs: for the files of this folder that make it up. */
#pragma once

#include "base/text/text.h"
#include "harness/body/child.h"
#include "harness/body/modes.h"
#include "harness/message/tmp_path.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <sys/resource.h>

struct ypk_communicator;
struct ypi_block; /* of yp_alloc, see memory.c */
struct ypi_tree;  /* the case's processes, see tree.c */

/* Of what a fixture provides. */
struct ypi_mapped {
    void *at; /* NULL: not mapped */
    size_t bytes;
};

/* Bytes. "Own" is anonymous and shared memory. */
struct ypi_resident {
    uint64_t before, files_before; /* just before setup */
    uint64_t peak;                 /* growth of the case's own */
    uint64_t huge;                 /* of it, at most, in huge pages that nobody asked for */
    uint64_t files_peak;
    uint64_t own, files;   /* when it was last looked at */
    uint64_t stretch_peak; /* of both together, as the kernel had it at the stretch's begin */
    int64_t framework;     /* own memory that the framework took since `before` */
    int depth;             /* of functions of the framework that run; 0: the case's own do */
    struct ypi_tree *tree; /* NULL: no budget asks for it, or it cannot be looked at */
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
    const struct ypi_own_fixture *making; /* whose functions run; NULL: the case's do */
    struct ypi_text names;                /* used ones, each between newlines */
    struct yp_measurement *measurement;
    bool captured;             /* the body is being: see ypi_child_captures() */
    struct ypi_series *series; /* of the accelerator; NULL: it reports nothing */
    char *descriptors;         /* as they were before the case began */
    struct rlimit descriptor_limit;
    struct ypi_modes modes;       /* as they were then too */
    uint64_t resident_of_command; /* its peak; 0: there is no command */
    struct ypi_resident resident;
    uint64_t tree_peak; /* growth of all processes of the case, bytes */
    bool heap;          /* is counted */
    /* Of a case of several ranks. */
    struct ypk_communicator *communicator; /* NULL: it has not joined them, or is not one of them */
    bool left_early;                       /* a function of the test */
    bool conducts; /* it runs no body, and its figures are those of the ranks */
};

/* From now on a block of the accounted allocator that was written outside of fails the case when it
 * is freed. */
void ypi_child_watch_blocks(const struct yp_case *t);

/* Begins to watch: until the first ypi_child_framework_ends() everything is the framework's. */
void ypi_resident_begin(struct ypi_resident *r);
/* What the case's processes have together, where a budget asks for it; before ypi_resident_begin(),
 * and before threads are the case's. `own` is what this one has then. */
void ypi_tree_open(struct yp_case *t);
void ypi_tree_begin(struct ypi_tree *tree, uint64_t own);
/* The case's own functions begin to run, and end. */
void ypi_tree_enter(struct ypi_tree *tree, int64_t framework);
void ypi_tree_leave(struct ypi_tree *tree);
uint64_t ypi_tree_close(struct ypi_tree *tree); /* the peak of the growth, bytes */

/* A function of the test is over, or was left from wherever it was. */
void ypi_child_framework_returns(struct yp_case *t);

/* Begins to count, or sends why it cannot. The framework's last step before setup. */
void ypi_child_open_heap(struct yp_case *t);
/* From now on this thread's allocations are the case's own, or the framework's. */
void ypi_child_heap_is(const struct yp_case *t, bool own);
/* Ends counting. */
void ypi_child_close_heap(const struct yp_case *t, struct ypi_memory *out);

/* Gives back what yp_alloc() took. */
void ypi_child_free_blocks(struct ypi_child *child);

/* Gives back what yp_provide() and yp_fixture() mapped. */
void ypi_child_leave_fixtures(struct ypi_child *child);

/* Frees the names of the case's directories, which stay the runner's to remove. */
void ypi_child_forget_tmp_paths(struct ypi_child *child);

/* Sends the runner what was accounted and what is resident, at the end of the case. */
void ypi_child_send_memory(struct yp_case *t);
