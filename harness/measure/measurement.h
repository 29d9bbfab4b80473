/* A measurement that is going on, in the case's process: what the loop and its parts share. */
#pragma once

#include "harness/body/child.h"
#include "harness/measure/count/counters.h"
#include "harness/measure/noise.h"
#include "ranks/probe.h"

#include <yieldpoint/measure.h>
#include <yieldpoint/serve.h>

enum ypi_measure_state {
    YPI_MEASURE_STARTING,
    YPI_MEASURE_AUDITING, /* a device counts its own work, nothing is timed */
    YPI_MEASURE_WARMING,
    YPI_MEASURE_CAPTURING, /* one batch that becomes a graph */
    YPI_MEASURE_SETTLING,  /* one batch whose time is not kept, after a probe */
    YPI_MEASURE_SAMPLING,
    YPI_MEASURE_UNTIMED, /* bodies run; under Callgrind their instructions are counted */
};

struct ypi_roofline;
struct ypi_accelerated;
struct ypi_growth;
struct ypi_arrivals;
struct ypi_tallies;
struct ypi_together;

struct yp_measurement {
    struct yp_case *t;
    struct yp_measure_options options;
    struct yp_device *device;
    struct yp_stream *stream;
    struct yp_event *begin, *end;
    enum ypi_measure_state state;
    bool whole;     /* the batch ran to its end */
    uint64_t batch; /* iterations */
    double warm_seconds;
    double started;       /* the sampling, or the warm-up before it */
    double stretch;       /* since the last probe */
    double cpu;           /* processor seconds, of the batch */
    double served;        /* seconds that the request itself took, without waiting for others */
    bool threads_unknown; /* how many the work runs on was not declared */
    bool judged;          /* speed is */
    bool each;            /* a share is asked for: probes between stretches */
    bool untimed;         /* nothing is timed, probed or warmed up */
    uint64_t iterations;  /* those that ran, where nothing is timed, and those that should */
    uint64_t iterations_wanted;
    struct yp_serve_options serve;
    size_t capacity, next_check;
    struct ypi_stopping {
        double half;  /* the interval's relative half-width when it was last looked at ... */
        size_t count; /* ... with so many samples */
    } stopping;
    double phase_seconds[YPI_PHASES_MAX + 1]; /* of the current batch; the last: of pauses */
    double phase_begun;
    int phase;         /* being timed, -1: none */
    double paused_cpu; /* processor seconds of the batch's pauses, and at its last begin */
    double pause_cpu_begun;
    bool pauses;           /* there was one */
    double manual_seconds; /* of the batch, as the body told them, and how often it did */
    uint64_t manual_count;
    struct ypi_mark *marks; /* of phases on a device: the batch's, or the graph's */
    size_t marks_made, marks_used;
    void *scratch;                       /* for emptying the caches */
    struct ypi_roofline *roofline;       /* NULL: no work is declared */
    struct ypi_accelerated *accelerated; /* NULL: on the CPU */
    struct ypi_growth *growth;
    struct ypi_arrivals *arrivals; /* of yp_serve */
    struct ypi_tallies *tallies;   /* of yp_average and yp_rate; NULL: none */
    struct ypi_counters *counters;
    bool counting;
    struct ypi_turn {
        bool open;           /* the gate waits for this measurement */
        uint64_t left;       /* iterations of the turn */
        uint64_t iterations; /* that it ran */
        double seconds;      /* that they took */
    } turn;
    struct ypi_together *together; /* NULL: the case has one rank, or each measures for itself */
    bool audited;                  /* the device counts its own work */
    int audit_runs;                /* bodies that ran for it */
    struct ypi_noise_mark noise;
    struct ypi_measured measured;
};

/* -- declared.c ---------------------------------------------------------------------------- */

/* Leave the body where an option is not what is allowed. */
void ypi_measure_check(struct yp_case *t, const struct yp_measure_options *o);
void ypi_serve_check(struct yp_case *t, struct yp_serve_options *o); /* sets defaults too */
void ypi_measure_defaults(struct yp_measure_options *o);
/* How often a body runs where nothing is timed. */
uint64_t ypi_measure_iterations(const struct yp_case *t, const struct yp_measure_options *o,
                                bool growth);

/* -- bounds.c ------------------------------------------------------------------------------- */

/* The declared work as bounds that nothing was probed of yet; after ypi_measure_defaults(). */
void ypi_measure_bounds(const struct yp_measure_options *o, int ranks,
                        struct ypi_measured *measured);

enum ypk_probed ypi_probe_of_exchange(enum yp_ceiling ceiling);

/* -- measurement.c ------------------------------------------------------------------------- */

/* --turns, and the measurement is of a kind that can wait in between: a served one cannot. */
bool ypi_measure_in_turns(const struct yp_measurement *m);
void ypi_measure_capacity(struct yp_measurement *m, size_t capacity); /* samples, more than now */
/* Closes the measurement: false, for ypi_measure_next() to return. */
bool ypi_measure_finish(struct yp_measurement *m, enum ypi_stop stop);

/* -- loop.c -------------------------------------------------------------------------------- */

/* What happens until the next batch begins, or counting goes on, is not counted. */
void ypi_counting_pause(struct yp_measurement *m);
void ypi_counting_go_on(struct yp_measurement *m);

/* Empties the caches and resets, as was asked for, before a batch. */
void ypi_measure_prepare(struct yp_measurement *m);
/* Prepares one and begins it; for ypi_measure_next() to return. */
bool ypi_measure_batch_begin(struct yp_measurement *m);

/* -- together.c ---------------------------------------------------------------------------- */

/* NULL: the case has one rank. */
struct ypi_together *ypi_together_open(const struct yp_case *t);
/* All of these leave the body where a rank is missing; without m->together they do nothing. */
void ypi_together_start(struct yp_measurement *m); /* waits until all ranks are here */
/* The seconds of the slowest rank's batch, which counts where it does in all of them. */
double ypi_together_slowest(struct yp_measurement *m, double seconds, bool *counts);
void ypi_together_keep(struct yp_measurement *m, double slowest); /* the batch is a sample */
int ypi_together_decide(struct yp_measurement *m, int decision);  /* the first rank's decision */
/* Tells how long each rank waited, as values. */
void ypi_together_close(struct yp_measurement *m);

/* -- slowdown.c ---------------------------------------------------------------------------- */

/* --slowdown FACTOR: spins after a sample, FACTOR - 1 times as long as its work took, and gives the
 * seconds of both; of a request with what it waited for others. Its processor time and its phases
 * become FACTOR times what they were; what is counted is that of the work alone. Without the option
 * it does nothing. */
double ypi_slow_down(struct yp_measurement *m, double seconds);

/* -- untimed.c, audited.c ------------------------------------------------------------------ */

/* What ypi_measure_next() is where nothing is timed: at first, and after each iteration. */
bool ypi_untimed_start(struct yp_measurement *m);
bool ypi_untimed_ran(struct yp_measurement *m);
bool ypi_audited_next(struct yp_measurement *m);

/* Gets the case's device ready. YP_UNSUPPORTED with the reason where it may not count. */
enum yp_status ypi_audit_open(struct yp_device *device);

/* -- tally.c ------------------------------------------------------------------------------- */

void ypi_tallies_forget(struct yp_measurement *m); /* of the batch that begins */
void ypi_tallies_keep(struct yp_measurement *m);   /* of the batch that is a sample */
/* Tells the values and frees them. */
void ypi_tallies_close(struct yp_measurement *m);

/* -- phase.c ------------------------------------------------------------------------------- */

/* The index of pauses among the seconds of phases. */
#define YPI_PAUSE YPI_PHASES_MAX

/* A phase that the body left by break or goto is a mistake: its time would be any. */
void ypi_phase_check(struct yp_measurement *m);

/* On a device phases are events. Forgets those of the last batch, unless a graph records them;
 * reads them once the batch is over; gives them back. */
void ypi_phase_forget(struct yp_measurement *m);
void ypi_phase_read(struct yp_measurement *m);
void ypi_phase_close(struct yp_measurement *m);

/* -- roofline.c: ceilings beside the samples ---------------------------------------------- */

/* Gets probes for the declared work ready, measured->bounds. `each`: for a share that is judged,
 * between stretches of samples; else before and after only. Without work, or where nothing can be
 * probed, it does nothing from then on. With an exchange among the work, this and each probe are
 * collective calls of `ranks`, which lives longer; NULL: one rank. */
struct ypi_roofline *ypi_roofline_open(struct yp_device *device, struct ypi_measured *measured,
                                       bool each, struct ypk_communicator *ranks);

/* Probes, unless no sample was taken since the last time. What the bound allows over the median of
 * those that were is one more share. */
void ypi_roofline_probe(struct ypi_roofline *r, struct ypi_measured *measured);

/* Whether `stretch` seconds of samples are enough to probe again. */
bool ypi_roofline_due(const struct ypi_roofline *r, double stretch);

/* Adds the ceilings' medians and which bound is the nearer. */
void ypi_roofline_close(struct ypi_roofline *r, struct ypi_measured *measured);

/* -- accelerated.c: what an accelerator's work needs beside its events ----------------------- */

/* `name`: of the measurement, for profilers. */
struct ypi_accelerated *ypi_accelerated_open(struct yp_device *device, const char *name);
/* Before and after a batch, around its events. */
void ypi_accelerated_begin(struct yp_measurement *m);
void ypi_accelerated_end(struct yp_measurement *m);
/* After the events were read: whether the batch counts. One that does not is to be taken again. */
bool ypi_accelerated_counts(struct yp_measurement *m, double seconds);
/* After a warm-up of which the stream saw next to nothing: looks at other streams once more. */
void ypi_accelerated_look_again(struct yp_measurement *m);
/* Whether the batch was the first one, in which kernels are loaded: it warms the device up, and its
 * time says nothing of the next. */
bool ypi_accelerated_was_first(const struct yp_measurement *m);
/* Whether a stretch of samples is to be taken again, for the device was slowed down in it. */
bool ypi_accelerated_slowed(struct yp_measurement *m);
/* Whether a batch is to become a graph first; then its begin and end, which leaves the body when it
 * cannot be one. */
bool ypi_accelerated_wants_graph(const struct yp_measurement *m);
void ypi_accelerated_capture_begin(struct yp_measurement *m);
void ypi_accelerated_capture_end(struct yp_measurement *m);
/* Whether the body is being captured: what it may not do then is a mistake in it. */
bool ypi_accelerated_captures(const struct yp_measurement *m);
/* Launches the graph in place of the body; false when there is none. */
bool ypi_accelerated_replays(const struct yp_measurement *m);
void ypi_accelerated_replay(struct yp_measurement *m);
void ypi_accelerated_close(struct yp_measurement *m);

/* -- stopping.c ---------------------------------------------------------------------------- */

/* Whether to stop, and why. The interval costs a sort, so it is looked at ever more rarely. */
bool ypi_stop_now(struct yp_measurement *m, enum ypi_stop *why);

/* -- growth.c: what the samples leave behind ----------------------------------------------- */

struct ypi_growth *ypi_growth_open(void);
void ypi_growth_look(struct ypi_growth *g, uint64_t iteration, const struct yp_measurement *m);
void ypi_growth_close(struct ypi_growth *g, struct ypi_measured *measured);

/* -- serve.c ------------------------------------------------------------------------------- */

struct ypi_arrivals *ypi_arrivals_open(const struct yp_serve_options *options, uint64_t seed,
                                       double begin);
/* Waits until the next request is due; false when there are no more. */
bool ypi_arrivals_wait(struct ypi_arrivals *a);
/* Seconds from when the request was due. */
double ypi_arrivals_latency(const struct ypi_arrivals *a);
void ypi_arrivals_close(struct ypi_arrivals *a);
