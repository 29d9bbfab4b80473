/* What the runner hands to the process of a case. */
#pragma once

#include "device/cpu/binding.h"
#include "device/cpu/topology.h"
#include "harness/vocabulary/budget.h"
#include "harness/vocabulary/case.h"

#include <stdint.h>
#include <sys/types.h>
#include <yieldpoint/fixture.h>

/* A fixture that each process of the case makes for itself. */
struct ypi_own_fixture {
    int number; /* among those of the case */
    size_t test;
    int decl; /* as in the job, like */
    struct ypi_setting settings[YPI_MAX_SETTINGS];
    int setting_count;
    char *id;
};

/* Which case, and how it is run. It lives in memory that
 * Criterion maps into the case's process at the same address, together with every text it points
 * to. */
struct ypi_job {
    size_t test; /* index among all tests of the program */
    int decl;    /* index among the test's cases, -1: none */
    struct ypi_setting settings[YPI_MAX_SETTINGS];
    int setting_count;
    struct yp_budget budgets[YPI_MAX_BUDGETS + 1]; /* ended by one of YP_BUDGET_NONE */
    char device[16];
    uint64_t seed;
    int repeat;
    uint64_t memory_limit;
    uint64_t device_memory_limit;
    bool speed_judged;
    double max_seconds;          /* that a measurement takes at most; 0: as long as it asks for */
    double slowdown;             /* factor on every timed sample; 1: none */
    bool instructions;           /* count them by Callgrind */
    bool audit;                  /* count the device's work by CUPTI */
    uint64_t fail_allocation;    /* the request to refuse, of all ranks; 0: none */
    uint64_t watched_allocation; /* of the heap: its stack is asked for; 0: none */
    bool untimed;                /* measured bodies run, and nothing is timed */
    bool once;                   /* each body runs once: how it fails is what matters */
    enum ypi_bind bind;
    struct ypi_places places; /* none where nothing is bound */
    int attempt;              /* see ypi_result */
    int ranks;                /* processes that work together in the case; 1: it is alone */
    int rank;                 /* this one's number; -1: it is the case's own process */
    int pack_nodes;           /* its ranks take one of so many nodes; 1: all there are */
    double timeout;           /* seconds, of the case */
    uint64_t output_limit;    /* bytes the case may write */
    pid_t runner;
    int provided, given[YP_MAX_FIXTURES]; /* descriptors of the runner, see fixture.h; -1: none */
    struct ypi_own_fixture *own;          /* `own_count` of them; NULL: none */
    int own_count;
    int memory, number; /* of the runner and in it: see channel_memory.h */
    char *id;
    char *tags;
    char *root;     /* path: the project's, where commands run */
    char *channel;  /* path */
    char *output;   /* path, NULL: not captured */
    char *turns;    /* path of the socket by which batches get their turns; NULL: none */
    char *launcher; /* path: what starts the ranks; NULL where there is one */
    char *host;     /* name of the node of the case's own process; NULL before ranks are started */
    bool bound;     /* the user's environment has the launcher bind the ranks */
    char *cannot;   /* why there is no place for this rank as .placement wants it; NULL: there is */
    char *meeting;  /* path: a directory where the ranks meet; NULL before they are started */
};

/* A job for a program that is executed anew, as a file. Both ends are the same build of a program,
 * whose id stands in front. Its turns are left out. YP_IO with
 * yp_last_error() set. */
enum yp_status ypi_job_write(const struct ypi_job *job, const char *path);
/* NULL with yp_last_error() set: YP_UNSUPPORTED where another build has written it. The caller
 * keeps it as long as the process lives. */
struct ypi_job *ypi_job_read(const char *path);
