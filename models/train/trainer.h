/*
 * Training in two phases, resumable to the same bits.
 *
 * Statistical phase: the caller fits its model to rx_train_source(train, RX_FOR_TRAINING) and hands
 * the parameters to rx_train_begin(). Gradient phase: rx_train_run() walks the cubes for training
 * once per epoch, in an order of its own each time, a step for `batch * accumulate` cubes, and
 * judges the cubes for validation before the first epoch and after each. With epochs = 0 that first
 * judgement is all: the statistical phase alone.
 *
 * The result is a function of the configuration, the source, the objective and the parameters at
 * the beginning: not of threads (as far as the objective's is not), of logging, of checkpoints, or
 * of how often the run was stopped, killed and resumed. Steps and the end of an epoch are whole or
 * have not happened. Times are told to the watcher only.
 */
#ifndef RX_TRAIN_H
#define RX_TRAIN_H

#include "models/data/order.h"
#include "models/metrics/metrics.h"
#include "models/rx/detector/cubes.h"
#include "models/rx/pipeline/nodes.h"
#include "models/train/optimiser.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RX_TRAIN_TENSORS 64

/* -- what is trained -------------------------------------------------------------------------- */

/*
 * Writes the mean loss over the pixels of the source that count, how many those are (or the sum of
 * their weights), and the gradient of the mean, `parameters` floats. A source of which no pixel
 * counts is no error: weight 0, mean and gradient are then not read. What is not YP_OK ends the run
 * and is its result; the run may be taken up again.
 */
typedef enum yp_status rx_train_gradient(void *arg, const struct rx_source *source,
                                         const float *parameters, double *mean, double *weight,
                                         float *gradient);

/* The same mean and weight without a gradient, unless `mean` and `weight` are NULL; and each tile's
 * logits to `take`, one call at a time and in the order of tiles, unless that is NULL. */
typedef enum yp_status rx_train_evaluate(void *arg, const struct rx_source *source,
                                         const float *parameters, double *mean, double *weight,
                                         rx_take *take, void *take_arg);

struct rx_objective {
    size_t parameters;
    /* They ascend and leave nothing out; none: one tensor "x". Kept by reference, as is arg. */
    const struct yp_tensor *tensors;
    size_t n_tensors;
    uint64_t identity; /* of model and data, whatever the caller hashes: a checkpoint of another
                          identity is refused */
    rx_train_gradient *gradient;
    rx_train_evaluate *evaluate; /* NULL: the loss is gradient's, and there are no metrics */
    bool no_logits;              /* evaluate gives the loss alone */
    void *arg;
};

/*
 * A pipeline of nodes.h as an objective, which refers to the pipeline and to `tensors`; both must
 * outlive it. identity is 0: the caller sets what tells his model and data from others.
 */
struct rx_objective rx_pipeline_objective(struct rx_pipeline *pipeline,
                                          struct yp_tensor tensors[RX_PIPELINE_TENSORS]);

/* -- how -------------------------------------------------------------------------------------- */

/* RX_SAVING: before a checkpoint is written; a watcher that keeps something writes it out. */
enum rx_event_kind { RX_STEP, RX_EPOCH, RX_SAVING, RX_SAVED };

struct rx_judgement {
    struct metrics_confusion confusion;
    struct metrics_ranked ranked; /* NaN where config.targets is 0 */
};

/* What happened. Epochs count from 1; epoch 0 is the judgement before the first. */
struct rx_train_event {
    enum rx_event_kind kind;
    uint64_t epoch;
    uint64_t place; /* steps done in the epoch, skipped ones too */
    uint64_t step;  /* steps made in all, skipped ones not */
    double seconds; /* it took */
    /* RX_STEP: */
    double loss, weight; /* of the batches of the step */
    double norm;         /* of their gradient before clipping */
    double lr;           /* the step was made with; of RX_EPOCH: from now on */
    bool skipped;        /* the loss or the gradient was not finite, or no pixel counted */
    /* RX_EPOCH: */
    double train_loss;                     /* mean over the steps of the epoch; NaN without one */
    double validation_loss;                /* NaN without cubes for validation */
    const struct rx_judgement *validation; /* NULL: no cubes, or no evaluate */
    bool best;
};

/* Called by the thread that called rx_train_run. false: stop here; running again goes on. */
typedef bool rx_train_watch(void *arg, const struct rx_train_event *event);

struct rx_train_config {
    uint64_t seed;             /* of split and orders */
    double validation;         /* part of the cubes, in [0, 1); see data_validation_count */
    uint64_t epochs;           /* at most; 0: the statistical phase alone */
    size_t batch;              /* cubes that the objective sees at once */
    size_t accumulate;         /* batches a step; their gradients weighted by pixels, in double */
    struct rx_adamw adamw;     /* lr: at the beginning */
    double clip;               /* of the global norm; 0: none */
    struct rx_plateau plateau; /* of the watched loss: validation, or training without one */
    uint64_t patience;         /* epochs without a better watched loss that are borne; 0: all */
    double min_delta;          /* better: below best - min_delta */
    uint64_t no_decay;         /* bit i: tensor i without weight decay */
    uint64_t frozen;           /* bit i: tensor i stays; it is not in the norm either */
    uint64_t max_skipped;      /* steps skipped in a row; one more is an error. 0: any number */
    bool keep_best;            /* keeps the parameters with the best watched loss */
    size_t targets;            /* room for the scores of so many targets in validation; 0: only
                                  counts. Judging takes two passes then instead of one */
    const char *checkpoint;    /* file; NULL: none. Kept by reference */
    uint64_t checkpoint_every; /* steps; 0: at the ends of epochs and where a run stops */
    rx_train_watch *watch;     /* NULL: none */
    void *watch_arg;
};

/* As the system this follows: AdamW's defaults, clip 1, 10 epochs, validation 0.2, batch 1,
 * accumulate 1, plateau factor 0.1 with patience 2, no early stop, 10 skipped steps, keep_best. */
struct rx_train_config rx_train_defaults(void);

/* -- the trainer ------------------------------------------------------------------------------ */

struct rx_train;

/* Bytes of accounted memory that rx_train_create() takes with the same arguments, all that the
 * trainer ever takes. 0 with yp_last_error() set when an argument is not allowed. */
size_t rx_train_bytes(const struct rx_objective *objective, const struct rx_source *source,
                      size_t tiles_per_cube, const struct rx_train_config *config);

/* objective and source are copied, what they point to stays the caller's. The source has a whole
 * number of cubes, fewer than 2^32. NULL with yp_last_error() set. */
struct rx_train *rx_train_create(struct yp_device *device, const struct rx_objective *objective,
                                 const struct rx_source *source, size_t tiles_per_cube,
                                 const struct rx_train_config *config);
void rx_train_destroy(struct rx_train *train); /* NULL is allowed */

/* The cubes of one part, in ascending order; the trainer's, without tiles when the part is empty.
 */
enum rx_part { RX_FOR_TRAINING, RX_FOR_VALIDATION };
const struct rx_source *rx_train_source(const struct rx_train *train, enum rx_part part);

/* Where the gradient phase starts. Copies the parameters; forgets an earlier run. YP_INVALID,
 * naming the tensor, when one is not finite. */
enum yp_status rx_train_begin(struct rx_train *train, const float *parameters);

/* Or goes on where the file was written. YP_IO: there is none, it cannot be read, is torn or
 * damaged. YP_INVALID: it is of another version or configuration, with the first setting that
 * differs; `epochs`, `max_skipped`, `targets`, the watcher and checkpoints may. Nothing is taken
 * over from a file that is refused. */
enum yp_status rx_train_resume(struct rx_train *train, const char *path);

/* Replaces the file at once: writes PATH.tmp, flushes it to the disk, renames it and flushes the
 * directory. A failure (YP_IO) leaves the old file, or, when the directory alone cannot be flushed,
 * the new one, which a crash may then take back. One writer a path. */
enum yp_status rx_train_save(struct rx_train *train, const char *path);

enum rx_train_end {
    RX_NOT_ENDED,  /* stopped by `steps` or the watcher, or failed */
    RX_ALL_EPOCHS, /* done */
    RX_NO_BETTER   /* stopped early */
};

/* Trains to the end, or for `steps` steps (0: no limit; skipped ones count). YP_INVALID before
 * rx_train_begin or rx_train_resume, or when more than max_skipped steps in a row were skipped. */
enum yp_status rx_train_run(struct rx_train *train, uint64_t steps);

struct rx_train_state {
    enum rx_train_end end;
    bool judged;              /* before the first epoch */
    uint64_t epoch;           /* whole epochs done */
    uint64_t place;           /* steps done in the one that is on, skipped ones too */
    uint64_t steps_per_epoch; /* ceil(cubes for training / (batch accumulate)) */
    uint64_t step, skipped;   /* steps made, and not made, in all */
    double lr;
    double best_loss; /* infinity before the first judgement */
    uint64_t best_epoch;
};
void rx_train_state(const struct rx_train *train, struct rx_train_state *out);

/* (parameters), the trainer's: now, and with the best watched loss (now, without keep_best).
 * Before begin or resume NULL. */
const float *rx_train_parameters(const struct rx_train *train);
const float *rx_train_best(const struct rx_train *train);

/* Judges any source by the objective, as validation does; `out` may be NULL. Takes the memory of
 * the trainer's own judgement. YP_INVALID: one of the others is NULL. YP_UNSUPPORTED when `out` is
 * wanted of an objective without evaluate. */
enum yp_status rx_train_judge(struct rx_train *train, const struct rx_source *source,
                              const float *parameters, double *loss, struct rx_judgement *out);

/* -- a log ------------------------------------------------------------------------------------ */

/*
 * A CSV file with a row for each event:
 *     kind,epoch,place,step,loss,weight,norm,lr,skipped,train_loss,validation_loss,precision,recall,f1,
 *     iou,average_precision,roc_auc,detection_1e3,detection_1e4,best,seconds
 * without values where an event has none. Rows are gathered in 64 KiB of accounted memory and
 * written when it is full, at the end of epochs and before a checkpoint becomes valid.
 */
struct rx_log;

/* A new file; or with `after` the rows of an existing one up to and including the state that was
 * resumed, so that the log of a resumed run has each row once. NULL with yp_last_error() set; with
 * `after` also when the file cannot be read (YP_IO), or is neither empty nor a log (YP_INVALID):
 * it then stays as it is. */
struct rx_log *rx_log_create(struct yp_device *device, const char *path,
                             const struct rx_train_state *after);
/* Writes what is left. YP_IO when any row was lost. NULL is allowed. */
enum yp_status rx_log_destroy(struct rx_log *log);

bool rx_log_watch(void *log, const struct rx_train_event *event); /* for config.watch */

#ifdef __cplusplus
}
#endif

#endif
