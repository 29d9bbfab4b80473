/* Training of any model over items, resumable to the same bits.
 *
 * An item is whatever the workload says: a sequence, an image, a graph. The trainer knows items by
 * their indices alone: it splits them, orders them, and hands lists of them to an objective, which
 * answers with a loss and its gradient. train_run() walks the items for training once per epoch, in
 * another order each time, a step for `batch * accumulate` items, and judges the items for
 * validation before the first epoch and after each. With epochs = 0 that first judgement is all.
 *
 * Parameters, gradient and the optimiser's state lie on the trainer's device.
 *
 * The result is a function of the configuration, the objective and the parameters at the beginning:
 * not of threads (as far as the objective's is not), of logging, of checkpoints, or of how often
 * the run was stopped, killed and resumed. Steps and the end of an epoch are whole or have not
 * happened. Times go to the watcher only. */
#pragma once

#include "models/train/optimiser.h"
#include "models/train/schedule.h"

#include <yieldpoint/gradient.h>

#define TRAIN_TENSORS 512 /* at most */
#define TRAIN_METRICS 32  /* at most */
#define TRAIN_SETTINGS 24 /* at most */

/* -- what is trained -------------------------------------------------------------------------- */

struct train_items {
    const uint32_t *index; /* (count) */
    size_t count;
};

/* Writes the mean loss over what counts in these items (pixels, tokens, ...), how many those are
 * (or the sum of their weights), and `scale` times the gradient of the mean, `parameters` floats.
 * Where scale is not 1 (loss scaling), the objective multiplies its loss by it before it goes back
 * through the model, so that small gradients are not lost in 16 bits. When nothing counts that is
 * no error: weight 0, mean and gradient are then not read. What is not YP_OK ends the run and is
 * its result; the run may be taken up again. Parameters and gradient are on the trainer's
 * device. */
typedef enum yp_status train_gradient(void *arg, struct train_items items, const float *parameters,
                                      double scale, double *mean, double *weight, float *gradient);

/* Elements first .. first + count - 1 of the gradient have the value that train_gradient leaves;
 * count = 0: none more, and time to do something else. Each element at most once a call. */
typedef void train_ready(void *arg, size_t first, size_t count);

/* Whom the next calls of train_gradient tell while they go on, by the thread that called them;
 * NULL: nobody. Before the first time they have written *weight. Elements that are not told are
 * final when the call returns. */
typedef void train_tell(void *arg, train_ready *ready, void *ready_arg);

/* The same mean and weight without a gradient, and, unless it is NULL, the workload's measures to
 * `metrics` (n_metrics), on the host; NaN: there is none. */
typedef enum yp_status train_evaluate(void *arg, struct train_items items, const float *parameters,
                                      double *mean, double *weight, double *metrics);

/* Called before the first step of epoch number `epoch`, from 0, by the thread that called
 * train_run: changes what follows a schedule of the workload's, in frozen tensors. The parameters
 * are on the trainer's device. It is called again where a run that stopped there goes on, so what
 * it writes is a function of the epoch alone. */
typedef void train_epoch(void *arg, uint64_t epoch, float *parameters);

/* A number of the workload's that a run depends on, such as the length of sequences. */
struct train_setting {
    const char *name;
    uint64_t value;
};

/* Copied, with settings; all else that it points to stays the caller's and unchanged. */
struct train_objective {
    size_t parameters;
    size_t items; /* 1 to 2^32 - 1; their indices are 0 .. items - 1 */
    /* (items): numbers of groups, as the play that an image is of. All items of a group are for
     * training, or all for validation. NULL: each item is one of its own. */
    const uint32_t *group;
    /* They ascend and leave nothing out; none: one tensor "x". */
    const struct yp_tensor *tensors;
    size_t n_tensors;
    const char *const *metrics; /* (n_metrics): names, columns of a log */
    size_t n_metrics;
    /* A checkpoint of other settings is refused with the name of the first. */
    const struct train_setting *settings;
    size_t n_settings;
    uint64_t identity; /* of model and data, whatever the caller hashes: a checkpoint of another
                          identity is refused */
    train_gradient *gradient;
    train_evaluate *evaluate; /* NULL: the loss is gradient's, and there are no metrics */
    train_tell *tell;         /* NULL: the gradient is final when gradient returns */
    train_epoch *epoch;       /* NULL: nothing changes with epochs */
    bool any_device; /* it takes parameters and gradient where the trainer's device has them; else
                        in the host's memory alone */
    void *arg;
};

/* -- how -------------------------------------------------------------------------------------- */

/* TRAIN_SAVING: before a checkpoint is written; a watcher that keeps something writes it out. */
enum train_event_kind { TRAIN_STEP, TRAIN_EPOCH, TRAIN_SAVING, TRAIN_SAVED };

/* Of many ranks, seconds of a step of this rank: */
struct train_exchange {
    double wait;   /* for the slowest rank's batches */
    double hidden; /* moving gradients while the backward passes went on */
    double open;   /* moving gradients, or waiting for them, after them */
    double spread; /* moving parameters */
};

/* What happened. Epochs count from 1; epoch 0 is the judgement before the first. */
struct train_event {
    enum train_event_kind kind;
    uint64_t epoch;
    uint64_t place; /* steps done in the epoch, skipped ones too */
    uint64_t step;  /* steps made in all, skipped ones not */
    double seconds; /* it took */
    /* TRAIN_STEP: */
    double loss, weight; /* of the batches of the step */
    double norm;         /* of their gradient before clipping */
    double lr;           /* the step was made with; of TRAIN_EPOCH: from now on */
    double scale;        /* of the loss; 1 without loss scaling */
    bool skipped;        /* the loss or the gradient was not finite, or nothing counted */
    struct train_exchange exchange; /* zeros: one process */
    /* TRAIN_EPOCH: */
    double train_loss;      /* mean over the steps of the epoch; NaN without one */
    double validation_loss; /* NaN without items for validation */
    const double *metrics;  /* (n_metrics) of the objective; NULL: no items, or no metrics */
    bool best;
};

/* Called by the thread that called train_run. false: stop here; running again goes on. */
typedef bool train_watch(void *arg, const struct train_event *event);

/* Some of the objective's tensors: bit i % 64 of word i / 64 is tensor i. */
struct train_set {
    uint64_t word[TRAIN_TENSORS / 64];
};

static inline void train_set_add(struct train_set *set, size_t tensor)
{
    set->word[tensor / 64] |= UINT64_C(1) << (tensor % 64);
}

static inline bool train_set_has(const struct train_set *set, size_t tensor)
{
    return (set->word[tensor / 64] >> (tensor % 64) & 1) != 0;
}

struct ypk_communicator;

/* Training by many processes at once, each of which has the same objective, configuration and data
 * and calls train_create, train_begin, train_resume, train_save and train_run alike; in
 * train_judge each is by itself. A step has the same items as that of one process. Where
 * `accumulate` is a multiple of the ranks each computes the gradients of whole batches, rank r
 * batches r, r + ranks, ... of a step; else it computes a share of the items of every batch. Each
 * rank adds up the gradients for its part of the parameters, keeps the optimiser's state of that
 * part alone (ZeRO-1), updates it and sends it to the others.
 *
 * Where the objective tells which parts of the gradient are final, a bucket goes to the other ranks
 * while the backward pass goes on, on the CPU alone; no bit depends on that.
 *
 * With whole batches, and `once` not set, loss and parameters have the bits of one process: sums
 * are double, in the order of batches. Else a rank's batches are summed first, or divided, and the
 * gradient is that of one process within the rounding of float.
 *
 * Rank 0 writes checkpoints, which are those of one process: any number of ranks goes on with them.
 * `checkpoint` is not NULL on all ranks or on none. A failure of one rank is the result of all, a
 * watcher that stops one rank stops all. Best and average are on every rank. */
struct train_ranks {
    struct ypk_communicator *all; /* NULL: one process */
    size_t bucket;                /* bytes of gradient that are exchanged at once; 0: 25 MiB */
    bool once;                    /* one exchange a step instead of one for each batch of a rank */
    /* No exchange begins before a batch's gradient is whole. It takes the received pieces of one
     * bucket, and not of all: 4 (ranks - 1) / ranks bytes a parameter less. */
    bool no_overlap;
};

struct train_config {
    uint64_t seed;     /* of split and orders */
    double validation; /* part of the items, in [0, 1); see data_validation_count() and, of groups,
                          data_split() */
    uint64_t epochs;   /* at most; 0: the first judgement alone */
    size_t batch;      /* items that the objective sees at once */
    size_t accumulate; /* batches a step; their gradients weighted, in double */
    enum train_optimiser optimiser;
    struct train_adamw adamw; /* where it is TRAIN_ADAMW; lr: at the beginning, or of the cosine */
    struct train_sgd sgd;     /* where it is TRAIN_SGD */
    double clip;              /* of the global norm; 0: none */
    /* Of an average of the parameters, which is judged in their place: after step t it becomes d
     * average + (1 - d) parameters, d = min(average, (1 + t) / (10 + t)), so that it soon forgets
     * the beginning. Below 1; 0: none. */
    double average;
    enum train_schedule schedule;
    struct train_plateau plateau; /* of the watched loss: validation, or training without one */
    struct train_cosine cosine; /* where it is TRAIN_COSINE; with steps = 0 a checkpoint of so many
                                   epochs is refused by a run of another number */
    struct train_scaling scaling; /* of the loss; initial = 0: none */
    uint64_t patience;            /* epochs without a better watched loss that are borne; 0: all */
    struct train_set no_decay;    /* tensors without weight decay */
    struct train_set frozen;      /* tensors that stay; they are not in the norm either */
    uint64_t max_skipped;         /* steps skipped in a row; one more is an error. 0: any number */
    bool keep_best;               /* keeps the parameters with the best watched loss */
    const char *checkpoint;       /* file; NULL: none. Kept by reference */
    uint64_t checkpoint_every;    /* steps; 0: at the ends of epochs and where a run stops */
    train_watch *watch;           /* NULL: none */
    void *watch_arg;
    struct train_ranks ranks; /* zeros: one process */
};

/* AdamW with its defaults, clip 1, 10 epochs, validation 0.2, batch 1, accumulate 1, plateau factor
 * 0.1 with patience 2, no early stop, no loss scaling, 10 skipped steps, keep_best. SGD, cosine and
 * scaling have their defaults too, for callers that choose them. */
struct train_config train_defaults(void);

/* -- the trainer ------------------------------------------------------------------------------ */

struct train;

/* Bytes of the CPU's accounted memory that train_create() takes with the same arguments, all that a
 * trainer of the CPU ever takes. 0 with yp_last_error() set when an argument is not allowed. */
size_t train_bytes(const struct train_objective *objective, const struct train_config *config);
/* With another device: bytes of its memory, and of the CPU's. */
size_t train_device_bytes(const struct train_objective *objective,
                          const struct train_config *config);
size_t train_host_bytes(const struct train_objective *objective, const struct train_config *config);

/* NULL with yp_last_error() set: an argument is not allowed, the device is not the CPU and the
 * objective does not take any_device (YP_UNSUPPORTED), out of memory. */
struct train *train_create(struct yp_device *device, const struct train_objective *objective,
                           const struct train_config *config);
void train_destroy(struct train *train); /* NULL is allowed */

/* The items of one part, in ascending order; the trainer's. */
enum train_part { TRAIN_TRAINING, TRAIN_VALIDATION };
struct train_items train_part_items(const struct train *train, enum train_part part);

/* Where training starts. Copies the parameters, which are on the host; forgets an earlier run.
 * YP_INVALID, naming the tensor, when one is not finite. */
enum yp_status train_begin(struct train *train, const float *parameters);

/* Or goes on where the file was written. YP_IO: there is none, it cannot be read, is torn or
 * damaged. YP_INVALID: it is of another version or configuration, with the first setting that
 * differs; `epochs`, `max_skipped`, the watcher and checkpoints may. Nothing is taken over from a
 * file that is refused. */
enum yp_status train_resume(struct train *train, const char *path);

/* Replaces the file at once: writes a nameless one (PATH.*.part where the file system has none),
 * flushes it to the disk, gives it its name and flushes the directory. A failure (YP_IO) leaves the
 * old file, or, when the directory alone cannot be flushed, the new one, which a crash may then
 * take back. One writer a path. */
enum yp_status train_save(struct train *train, const char *path);

enum train_end {
    TRAIN_NOT_ENDED,  /* stopped by `steps` or the watcher, or failed */
    TRAIN_ALL_EPOCHS, /* done */
    TRAIN_NO_BETTER,  /* stopped early */
    TRAIN_SKIPPED     /* more than max_skipped steps in a row were skipped: train_run() failed; a
                       * further one goes on */
};

/* Trains to the end, or for `steps` steps (0: no limit; skipped ones count). YP_INVALID before
 * train_begin or train_resume, or when more than max_skipped steps in a row were skipped. */
enum yp_status train_run(struct train *train, uint64_t steps);

struct train_state {
    enum train_end end;
    bool judged;              /* before the first epoch */
    uint64_t epoch;           /* whole epochs done */
    uint64_t place;           /* steps done in the one that is on, skipped ones too */
    uint64_t steps_per_epoch; /* ceil(items for training / (batch accumulate)) */
    uint64_t step, skipped;   /* steps made, and not made, in all */
    double lr;
    double scale;     /* of the loss */
    double best_loss; /* infinity before the first judgement */
    uint64_t best_epoch;
};
void train_state(const struct train *train, struct train_state *out);

/* (parameters), the trainer's, on its device: now, their average, which is what is judged (now,
 * without one), and that with the best watched loss (the last one, without keep_best). Before begin
 * or resume NULL. */
const float *train_parameters(const struct train *train);
const float *train_average(const struct train *train);
const float *train_best(const struct train *train);

/* Judges any items by the objective, as validation does, with parameters on the trainer's device;
 * `metrics` (n_metrics) may be NULL. YP_INVALID: one of the others is NULL. YP_UNSUPPORTED when
 * metrics are wanted of an objective without them. */
enum yp_status train_judge(struct train *train, struct train_items items, const float *parameters,
                           double *loss, double *metrics);

/* -- a log ------------------------------------------------------------------------------------ */

/* A CSV file with a row for each event:
 *     kind,epoch,place,step,loss,weight,norm,lr,scale,skipped,train_loss,validation_loss,METRICS,
 *     best,seconds
 * with a column for each of the workload's metrics, without values where an event has none. Rows
 * are gathered in 64 KiB of accounted memory and written when it is full, at the end of epochs and
 * before a checkpoint becomes valid. */
struct train_log;

/* A new file; or with `after` the rows of an existing one up to and including the state that was
 * resumed, so that the log of a resumed run has each row once. `metrics`, (n_metrics), are the
 * names of the objective's; up to TRAIN_METRICS, kept by reference. NULL with yp_last_error() set;
 * with `after` also when the file cannot be read (YP_IO), or is neither empty nor a log with these
 * columns (YP_INVALID): it then stays as it is. */
struct train_log *train_log_create(struct yp_device *device, const char *path,
                                   const char *const *metrics, size_t n_metrics,
                                   const struct train_state *after);
/* Writes what is left. YP_IO when any row was lost. NULL is allowed. */
enum yp_status train_log_destroy(struct train_log *log);

bool train_log_watch(void *log, const struct train_event *event); /* for config.watch */
