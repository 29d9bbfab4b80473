/* What came of a case: filled by the runner from the case's channel, judged, stored, told. */
#ifndef YPI_RESULT_H
#define YPI_RESULT_H

#include "case.h"
#include "stats.h"

enum ypi_outcome {
    YPI_PASSED = 0,
    YPI_FAILED,
    YPI_ERROR, /* setup failed, so the body did not run */
    YPI_SKIPPED,
    YPI_XFAILED, /* failed, as declared */
    YPI_XPASSED, /* passed in spite of .xfail */
    YPI_NOISY,   /* a speed budget could not be decided */
    YPI_OUTCOMES
};

const char *ypi_outcome_name(enum ypi_outcome outcome); /* "passed", ... */

/* Why a case failed; the first one found is the reason that is printed first. */
enum ypi_cause {
    YPI_CAUSE_EXPECTATION = 0, /* yp_expect, yp_require, yp_fail, yp_ok */
    YPI_CAUSE_USAGE,           /* the body misused the interface: unknown axis, name used twice */
    YPI_CAUSE_BUDGET,
    YPI_CAUSE_GRADIENT,
    YPI_CAUSE_SIGNAL, /* crash, abort, kill from outside */
    YPI_CAUSE_EXIT,   /* the process ended before the case did */
    YPI_CAUSE_TIMEOUT,
    YPI_CAUSE_OUT_OF_MEMORY, /* an allocation was refused */
    YPI_CAUSE_OOM_KILL,      /* the kernel killed it for memory */
    YPI_CAUSE_LEAK,
    YPI_CAUSE_OUTPUT,      /* wrote too much */
    YPI_CAUSE_ORPHANS,     /* left processes running */
    YPI_CAUSE_FORKS,       /* too many processes */
    YPI_CAUSE_DESCRIPTORS, /* closed descriptors that were not its own */
    YPI_CAUSE_XPASS,       /* strict xfail that passed */
    YPI_CAUSE_INTERRUPTED,
    YPI_CAUSES
};

const char *ypi_cause_name(enum ypi_cause cause); /* "expectation", "out of memory", ... */

struct ypi_failure {
    enum ypi_cause cause;
    char *message; /* owned, like file */
    char *file;    /* NULL: no place in the source */
    int line;
};

/* Why a measurement stopped. */
enum ypi_stop {
    YPI_STOP_FIXED = 0, /* the declared number of samples */
    YPI_STOP_PRECISION, /* the interval is narrow enough */
    YPI_STOP_SAMPLES,   /* max_samples */
    YPI_STOP_TIME,      /* max_seconds */
    YPI_STOP_BREAK,     /* the body left the block */
    YPI_STOPS
};

const char *ypi_stop_name(enum ypi_stop stop);

#define YPI_NAME_MAX 64
#define YPI_PHASES_MAX 8

struct ypi_phase {
    char name[YPI_NAME_MAX];
    double seconds; /* mean a iteration, over all samples */
};

struct ypi_measured {
    char name[YPI_NAME_MAX];
    char unit[YPI_NAME_MAX];    /* of items; "" when none was given */
    double items, flops, bytes; /* an iteration; 0: unknown */
    uint64_t batch;             /* iterations a sample */
    uint64_t warmup;            /* iterations before the first sample */
    enum ypi_stop stop;
    struct ypi_phase phases[YPI_PHASES_MAX];
    int phase_count;
    size_t count;
    double *samples;              /* owned; seconds an iteration, in the order taken */
    struct ypi_estimate estimate; /* of samples */
};

struct ypi_value {
    char name[YPI_NAME_MAX];
    char unit[YPI_NAME_MAX];
    double value;
};

struct ypi_gradient {
    char name[YPI_NAME_MAX];
    bool precision; /* of yp_check_precision: error is the ratio, slope etc. are NaN */
    double error, limit, slope, expected, got;
    char tensor[YPI_NAME_MAX];
    int checked;
};

enum ypi_met {
    YPI_MET = 0,
    YPI_NOT_MET,
    YPI_UNDECIDED,  /* the interval holds the limit */
    YPI_RECORDED,   /* --speed=record: stored, not judged */
    YPI_UNMEASURED, /* the case ended before it was measured; counts as not met */
};

const char *ypi_met_name(enum ypi_met met);

struct ypi_verdict {
    const struct yp_budget *budget;
    enum ypi_met met;
    double measured, low, high; /* in the budget's unit; low = high = measured when exact */
    double distance; /* (measured - limit) / limit, positive when on the good side; NaN: none */
};

struct ypi_memory {
    struct yp_memory host; /* as it was at the end of the case */
    uint64_t leaked_bytes, leaked_blocks;
    uint64_t resident_before, resident_peak; /* bytes; peak since just before setup */
};

struct ypi_result {
    const struct yp_case *c; /* not owned */
    enum ypi_outcome outcome;
    char *reason;                 /* owned: of a skip or an xfail; NULL: none */
    double started;               /* seconds since 1970 */
    double setup, body, teardown; /* seconds; 0 when not reached */
    double duration;              /* of the process, seen from outside */
    bool ended;                   /* the case told its end */
    int exit_code, signal;        /* of the process, where known */
    bool has_hash;
    uint64_t hash; /* of the data */
    struct ypi_memory memory;
    bool has_memory;
    struct ypi_failure *failures;
    int failure_count;
    struct ypi_measured *measured;
    int measured_count;
    struct ypi_value *values;
    int value_count;
    struct ypi_gradient *gradients;
    int gradient_count;
    struct ypi_verdict *verdicts; /* one a budget, in declared order */
    int verdict_count;
    char *tail; /* owned: the end of what the case wrote; "" when nothing */
    uint64_t output_bytes;
};

/* Adds a failure; the message is formatted. `file` NULL: no place in the source. */
void ypi_result_fail(struct ypi_result *r, enum ypi_cause cause, const char *file, int line,
                     const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Frees what the result owns, not the result. */
void ypi_result_clear(struct ypi_result *r);

#endif
