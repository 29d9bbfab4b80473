/* What came of a case: filled by the runner from the case's channel, judged, stored, printed. */
#pragma once

#include "base/numbers/stats.h"
#include "harness/vocabulary/case.h"

#include <yieldpoint/gradient.h>
#include <yieldpoint/measure.h>

/* The element of a list of names that ends with NULL; "?" beyond it. */
const char *ypi_name_of(const char *const *names, int value);

enum ypi_outcome {
    YPI_PASSED = 0,
    YPI_FAILED,
    YPI_ERROR, /* setup failed, so the body did not run */
    YPI_SKIPPED,
    YPI_XFAILED, /* failed, as declared */
    YPI_XPASSED, /* passed in spite of .xfail */
    YPI_NOISY,   /* a budget could not be decided */
    YPI_OUTCOMES
};

extern const char *const ypi_outcome_names[]; /* "passed", ... */
const char *ypi_outcome_name(enum ypi_outcome outcome);
bool ypi_is_failure(enum ypi_outcome outcome); /* one that makes the run fail */

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
    YPI_CAUSE_DEVICE,      /* the accelerator or its driver failed */
    YPI_CAUSE_XPASS,       /* strict xfail that passed */
    YPI_CAUSE_INTERRUPTED,
    YPI_CAUSE_FORKED,  /* a process that the body forked went on as the case */
    YPI_CAUSE_OVERRUN, /* wrote outside of a block of memory */
    YPI_CAUSE_FIXTURE, /* one that it is given has failed */
    YPI_CAUSE_RANKS,   /* a rank is missing, or they do not go the same way */
    YPI_CAUSES
};

extern const char *const ypi_cause_names[]; /* "expectation", "out of memory", ... */
const char *ypi_cause_name(enum ypi_cause cause);

struct ypi_failure {
    enum ypi_cause cause;
    char *message; /* owned, like file and stack */
    char *file;    /* NULL: no place in the source */
    int line;
    char *stack; /* where it happened, a frame a line, of each thread; NULL: not known */
};

/* Why a measurement stopped. */
enum ypi_stop {
    YPI_STOP_FIXED = 0, /* the declared number of samples or requests */
    YPI_STOP_DECIDED,   /* every speed budget of it is decided */
    YPI_STOP_PRECISION, /* the interval is narrow enough */
    YPI_STOP_SETTLED,   /* the interval narrows no more: the noise is not of the kind that averages
                           out */
    YPI_STOP_SAMPLES,   /* max_samples */
    YPI_STOP_TIME,      /* max_seconds */
    YPI_STOP_BREAK,     /* the body left the block */
    YPI_STOPS
};

extern const char *const ypi_stop_names[]; /* "fixed", ... */
const char *ypi_stop_name(enum ypi_stop stop);

#define YPI_NAME_MAX 64
#define YPI_PHASES_MAX 8

struct ypi_phase {
    char name[YPI_NAME_MAX];
    double seconds; /* mean a iteration, over all samples */
};

enum ypi_measured_kind {
    YPI_MEASURED_WORK = 0,
    YPI_MEASURED_SERVE,
    YPI_MEASURED_COUNT, /* instructions, nothing timed */
    YPI_MEASURED_RUN    /* `warmup` iterations, nothing timed */
};

extern const char *const ypi_measured_kind_names[]; /* "work", ... */

/* Whether there are samples, and figures made of them, on purpose. */
static inline bool ypi_is_timed(enum ypi_measured_kind kind)
{
    return kind == YPI_MEASURED_WORK || kind == YPI_MEASURED_SERVE;
}

/* One ceiling as it was probed beside the samples. */
struct ypi_ceiling {
    enum yp_ceiling ceiling;
    char level[8]; /* "L1", "L2", "L3", "memory"; "" for arithmetic; of an exchange "bus" or, where
                      it is small, "latency" */
    int threads;   /* of an exchange: ranks */
    int probes;    /* how often; 0: not probed */
    double rate, low, high; /* median, least and most of the probes: bytes or operations a second */
    double work;            /* what the measurement declared of it, an iteration; of an exchange:
                               bytes that a rank's bus carries, 0 with one rank */
    double footprint;       /* of traffic, as declared: bytes; 0: not known; below: memory. Of an
                               exchange: its size */
    int stage;              /* of work that is done in steps, from 0 */
};
/* .flops and .bytes come first, then those of .bounds. */
enum { YPI_BOUND_ARITHMETIC = 0, YPI_BOUND_TRAFFIC, YPI_BOUND_MORE };
enum { YPI_BOUNDS = YPI_BOUND_MORE + YP_MAX_BOUNDS };

/* What went on beside a measurement, as the kernel reports it; NaN: it does not. Times in seconds
 * of all processors together, over `wall`. */
struct ypi_noise {
    double wall;
    double own;       /* processor time of this process */
    double others;    /* of all other processes */
    double stolen;    /* by the hypervisor */
    double throttled; /* held back by a cgroup's quota */
    double minor_faults, major_faults;
    double waits, preemptions;         /* context switches, of its own will and not */
    double migrations;                 /* to another processor */
    double frequency, frequency_least; /* Hz: before and after, mean and least of the processors */
    double hot;                        /* thermal throttling events of the processors */
    int processors;                    /* that it may use */
    double began;                      /* seconds since 1970 */
};

/* What the accelerator reported of itself while it was measured; NaN: it did not. */
struct ypi_on_device {
    bool there;                         /* measured on one */
    bool replayed;                      /* from a graph */
    bool held;                          /* work was launched before it ran */
    double opening;                     /* s: what it took to open the device, its context made */
    double launching;                   /* s, mean: that a batch was held for its launches */
    double clock, clock_min, clock_max; /* Hz: mean and least seen, the highest it may have */
    double temperature, power, utilisation; /* most, in degrees Celsius; mean, W; mean, 0 to 1 */
    double used;                            /* bytes of its memory by all processes, most */
    double reserved;                        /* by its pool, over what was allocated: peaks */
    double granule;                         /* bytes that its pool takes at a time */
    double cache;                           /* bytes of its second-level cache; 0: not known */
    uint64_t throttled;                     /* NVML's reasons, all that were seen */
    uint64_t power_capped;                  /* samples kept though the power cap held it back */
};

enum ypi_counter_source {
    YPI_NOT_COUNTED = 0,
    YPI_COUNTED_KERNEL,
    YPI_COUNTED_HARDWARE,
    YPI_COUNTED_CALLGRIND,
    YPI_COUNTED_CUPTI
};
struct ypi_count {
    enum ypi_counter_source source;
    double count; /* an iteration */
};

struct ypi_measured {
    enum ypi_measured_kind kind;
    char name[YPI_NAME_MAX];
    char unit[YPI_NAME_MAX];    /* of items; "" when none was given */
    double items, flops, bytes; /* an iteration; 0: unknown */
    double footprint;           /* bytes; 0: memory */
    int threads;                /* that the work uses at most, or that there were in the end */
    bool cold;
    double rate;     /* YPI_MEASURED_SERVE: requests a second that were due */
    uint64_t batch;  /* iterations a sample */
    uint64_t warmup; /* iterations before the first sample */
    enum ypi_stop stop;
    struct ypi_phase phases[YPI_PHASES_MAX];
    int phase_count;
    struct ypi_ceiling bounds[YPI_BOUNDS]; /* work 0: none */
    int bound; /* the nearest of the longest step; -1: no work declared, or it is not known */
    struct ypi_noise noise;
    struct ypi_on_device on_device;
    struct ypi_count counts[YP_COUNTERS];
    /* Over the samples, bytes an iteration; NaN with fewer than 3. */
    double growth_accounted, growth_resident;
    size_t count;
    double *samples; /* owned; seconds an iteration, in the order taken */
    double *cpu;     /* owned; `count` of them: processor seconds an iteration; NULL: none */
    /* Samples that were taken while the device was slowed down, and were taken again; owned. */
    size_t slowed_count;
    double *slowed;
    size_t share_count;
    double *shares;               /* owned; of the bound, one for each stretch between two probes */
    struct ypi_estimate estimate; /* of samples */
    struct ypi_estimate cpu_estimate;   /* of cpu */
    struct ypi_estimate share_estimate; /* of shares */
};

struct ypi_value {
    char name[YPI_NAME_MAX];
    char unit[YPI_NAME_MAX];
    double value;
    double low, high; /* the same where the value is exact */
    bool of_speed;    /* what it was made of is noisy: judged as speed is */
    bool crowded;     /* of times some of which were taken while the work had to share its
                         processors: it may meet a budget, and not fail it */
};

/* The cause of an error, if known. `index` is that of an element of x, y or g. */
enum yp_gradient_finding {
    YP_GRADIENT_NOTHING = 0,
    YP_GRADIENT_X_NOT_FINITE,
    YP_GRADIENT_F_NOT_FINITE, /* at x, or at a point of the differences */
    YP_GRADIENT_F_UNWRITTEN,  /* an output was not written, or only added to */
    YP_GRADIENT_F_OUTSIDE,    /* f wrote just before or after its outputs */
    YP_GRADIENT_VJP_NOT_FINITE,
    YP_GRADIENT_VJP_UNWRITTEN,
    YP_GRADIENT_VJP_OUTSIDE,
    YP_GRADIENT_KINK,     /* the slopes on both sides of x differ at any step */
    YP_GRADIENT_IN_FLOAT, /* every output of f is a float: differences show its rounding */
};

struct ypi_gradient {
    char name[YPI_NAME_MAX];
    bool precision; /* of yp_check_precision: error is the ratio, slope etc. are NaN */
    double error, limit, slope, expected, got;
    char tensor[YPI_NAME_MAX];
    int checked;
    double resolution; /* that rounding left; NaN for a precision */
    enum yp_gradient_finding finding;
    size_t index; /* of the finding's element */
};

enum ypi_met {
    YPI_MET = 0,
    YPI_NOT_MET,
    YPI_UNDECIDED,  /* the interval holds the limit */
    YPI_RECORDED,   /* --speed=record: stored, not judged */
    YPI_NOT_JUDGED, /* not measured on purpose: --speed=off, --instructions */
    YPI_ABSENT,     /* cannot be had here (a counter): skips the case */
    YPI_UNMEASURED, /* never measured: not met, unless the case ended early for another reason */
};

extern const char *const ypi_met_names[]; /* "met", ... */
const char *ypi_met_name(enum ypi_met met);

struct ypi_verdict {
    const struct yp_budget *budget;
    enum ypi_met met;
    double measured, low, high; /* in the budget's unit; low = high = measured when exact */
    double distance; /* (measured - limit) / limit, positive when on the good side; NaN: none */
    int asked, confirmed; /* fresh processes, or rounds, and those of them that said the same */
    const struct ypi_baseline *baseline; /* of YP_BUDGET_MAX_REGRESSION, not owned; NULL: none */
};

struct ypi_memory {
    struct yp_memory host;   /* as it was at the end of the case */
    struct yp_memory device; /* the accelerator's, if the case ran on one */
    bool has_device;
    /* What the case requested of malloc and the like, in its own functions; `reserved` is the same.
     * It is there where the test has .heap and nothing kept it from being counted. */
    struct yp_memory heap;
    bool has_heap;
    uint64_t leaked_bytes, leaked_blocks; /* of the host's */
    uint64_t heap_leaked_bytes, heap_leaked_blocks;
    uint64_t heap_leak_number, heap_leak_bytes; /* of the first: see struct ypi_heap_counts */
    /* Bytes of anonymous and shared memory, the framework's apart: just before setup, and the peak
     * since then. Of a command: of all its memory. */
    uint64_t resident_before, resident_peak;
    uint64_t resident_huge;  /* of the peak, at most, in huge pages that nobody asked for */
    uint64_t resident_files; /* growth of the pages of files that are mapped, at most */
    /* Growth of the case's process and its descendants together, at most. It is there where a
     * budget asks for it and it could be looked at. */
    uint64_t resident_tree;
    bool has_tree;
};

enum ypi_stack_kind {
    YPI_STACK_CRASH, /* of the thread that crashed */
    YPI_STACK_STUCK, /* of a thread of a case that is too slow */
    YPI_STACK_LEFT,  /* of a thread that is there when the case is over */
    YPI_STACK_LEAK,  /* of the allocation whose block was not freed */
    YPI_STACK_BEFORE /* none: of a thread that was there before the case */
};

#define YPI_FRAMES_MAX 32
#define YPI_MODULE_MAX 160
struct ypi_frame {
    uint64_t offset;             /* of the instruction, from where the module is loaded */
    char module[YPI_MODULE_MAX]; /* path; "": the program, or not known */
};

/* The end of a path that is longer, so that files still differ. Calls nothing that a handler of
 * signals may not. */
void ypi_module_name(char out[YPI_MODULE_MAX], const char *path);

/* Of one thread of the case's process. */
struct ypi_stack {
    enum ypi_stack_kind kind;
    int thread;   /* its number in the system */
    bool of_case; /* it runs the body */
    char name[16];
    int count;
    struct ypi_frame frames[YPI_FRAMES_MAX]; /* innermost first */
};

/* A row: monotonic seconds since the series began, then these of enum ypi_series_column. */
enum ypi_series_column {
    YPI_SERIES_AT,
    YPI_SERIES_CLOCK,       /* Hz */
    YPI_SERIES_TEMPERATURE, /* degrees Celsius */
    YPI_SERIES_POWER,       /* W */
    YPI_SERIES_UTILISATION, /* 0 to 1 */
    YPI_SERIES_USED,        /* bytes of the device's memory, by all processes */
    YPI_SERIES_THROTTLED,   /* NVML's reasons */
    YPI_SERIES_COLUMNS
};

const char *ypi_series_name(enum ypi_series_column column); /* "clock", ... */

struct ypi_result {
    const struct yp_case *c; /* not owned */
    char id[37];             /* UUID in the history, made when it is begun */
    int attempt; /* 0: the case; above: a fresh process that confirms or fails allocation `attempt`
                  */
    uint64_t fail_allocation; /* the request that was refused on purpose; 0: none */
    enum ypi_outcome outcome;
    char *note;     /* owned: what a reader should know beside the verdict; NULL: nothing */
    char *reason;   /* owned: of a skip or an xfail; NULL: none */
    double started; /* seconds since 1970 */
    double setup, body, teardown; /* seconds; 0 when not reached */
    double duration;              /* of the process, seen from outside */
    bool ended;                   /* the case reported its end */
    bool skipped;                 /* the body said so */
    bool crowded;          /* more ranks than processors: its speed is recorded, and not judged */
    int exit_code, signal; /* of the process, where known */
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
    char *leak_stack;         /* owned: of the first block of the heap that was not freed; NULL */
    struct ypi_stack *stacks; /* owned: as they came, until they are text */
    int stack_count;
    double *series; /* owned: rows of what the accelerator did over time */
    size_t series_count;
    char *tail; /* owned: the end of what the case wrote; "" when nothing */
    uint64_t output_bytes;
};

/* Requests for memory that were granted, of the host, the device and the heap. */
static inline uint64_t ypi_allocations(const struct ypi_memory *m)
{
    return m->host.allocations + (m->has_device ? m->device.allocations : 0) +
           (m->has_heap ? m->heap.allocations : 0);
}

/* Adds a failure; the message is formatted. `file` NULL: no place in the source. */
void ypi_result_fail(struct ypi_result *r, enum ypi_cause cause, const char *file, int line,
                     const char *format, ...) __attribute__((format(printf, 5, 6)));

const char *ypi_counter_name(enum yp_counter counter); /* "instructions", ... */
extern const char *const ypi_counter_source_names[];   /* "kernel", ... */

void ypi_measured_clear(struct ypi_measured *m); /* frees its arrays */
/* Frees what is large, once it is stored: what a relation reads stays. */
void ypi_result_drop_samples(struct ypi_result *r);

/* The nearest bound of each step, by index, where seconds[i] is what bound i takes at least (0: no
 * such bound); -1 where a step has none. Returns the sum of their times, NaN where one is NaN. */
double ypi_nearest_bounds(const struct ypi_measured *m, const double seconds[YPI_BOUNDS],
                          int nearest[YPI_BOUNDS]);

#define YPI_BOUND_MAX 128
/* "L2 read", of work in steps "int32 + fp32": what a share is of. "" where `bound` is -1. */
void ypi_bound_text(const struct ypi_measured *m, bool levels, char *out, size_t size);

/* Adds a sentence to the note. */
void ypi_result_note(struct ypi_result *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Frees what the result owns, not the result. */
void ypi_result_clear(struct ypi_result *r);
