/* RX's training, on top of models/train: cubes of a source as items, their tiles' logits as
 * metrics.
 *
 * Statistical phase: the caller fits its model to rx_training_source(training, TRAIN_TRAINING) and
 * hands the parameters to train_begin(). Gradient phase: train_run(). */
#pragma once

#include "models/metrics/metrics.h"
#include "models/rx/pipeline/nodes.h"
#include "models/train/trainer.h"

/* -- an objective over sources ----------------------------------------------------------------- */

/* Writes the mean loss over the pixels of the source that count, how many those are (or the sum of
 * their weights), and `scale` times the gradient of the mean, `parameters` floats, as
 * train_gradient says. */
typedef enum yp_status rx_source_gradient(void *arg, const struct rx_source *source,
                                          const float *parameters, double scale, double *mean,
                                          double *weight, float *gradient);

/* The same mean and weight without a gradient, unless `mean` and `weight` are NULL; and each tile's
 * logits to `take`, one call at a time and in the order of tiles, unless that is NULL. */
typedef enum yp_status rx_source_evaluate(void *arg, const struct rx_source *source,
                                          const float *parameters, double *mean, double *weight,
                                          rx_take *take, void *take_arg);

struct rx_objective {
    size_t parameters;
    const struct yp_tensor *tensors; /* this, n_tensors and identity as struct train_objective */
    size_t n_tensors;
    uint64_t identity;
    rx_source_gradient *gradient;
    rx_source_evaluate *evaluate; /* NULL: the loss is gradient's, and there are no metrics */
    bool no_logits;               /* evaluate gives the loss alone */
    bool whole_cubes;             /* a tile must be a cube: tiles_per_cube is 1 */
    train_epoch *epoch;           /* as struct train_objective; NULL: nothing changes with epochs */
    struct train_set frozen; /* tensors that the trainer leaves alone, beside the configuration's */
    size_t targets;          /* a judgement keeps the scores of so many targets, in two passes
                                over the items; 0: only counts, in one */
    void *arg;
};

/* A pipeline of nodes.h as an objective, which refers to the pipeline and to `tensors`; both must
 * outlive it. identity and targets are 0: the caller sets what tells his model and data from
 * others. */
struct rx_objective rx_pipeline_objective(struct rx_pipeline *pipeline,
                                          struct yp_tensor tensors[RX_PIPELINE_TENSORS]);

/* -- its metrics ------------------------------------------------------------------------------- */

struct rx_judgement {
    struct metrics_confusion confusion;
    struct metrics_ranked ranked; /* NaN where objective.targets is 0 */
};

/* precision, recall, f1, iou, average_precision, roc_auc, detection_1e3, detection_1e4: the order
 * of struct train_event's metrics, and columns of the log. */
#define RX_METRICS 8
extern const char *const rx_metric_names[RX_METRICS];

/* train_log_create() with these columns. */
struct train_log *rx_log_create(struct yp_device *device, const char *path,
                                const struct train_state *after);

/* -- cubes as items ---------------------------------------------------------------------------- */

/* A trainer whose items are the cubes of a source: `tiles_per_cube` tiles that follow each other.
 */
struct rx_training;

/* Bytes of accounted memory that rx_training_create() takes with the same arguments, with its
 * trainer's. 0 with yp_last_error() set when an argument is not allowed. */
size_t rx_training_bytes(const struct rx_objective *objective, const struct rx_source *source,
                         size_t tiles_per_cube, const struct train_config *config);

/* objective and source are copied, what they point to stays the caller's. The source has a whole
 * number of cubes, fewer than 2^32. A checkpoint of another number of channels, pixels of a tile,
 * tiles, or tiles of a cube is refused. `device` is the CPU, whatever works on tiles: parameters
 * are the host's. NULL with yp_last_error() set. */
struct rx_training *rx_training_create(struct yp_device *device,
                                       const struct rx_objective *objective,
                                       const struct rx_source *source, size_t tiles_per_cube,
                                       const struct train_config *config);
void rx_training_destroy(struct rx_training *training); /* with its trainer; NULL is allowed */

struct train *rx_training_trainer(const struct rx_training *training);

/* The cubes of one part, in ascending order; the object's, without tiles when the part is empty. */
const struct rx_source *rx_training_source(const struct rx_training *training,
                                           enum train_part part);

/* train_judge() of one part; `out` may be NULL. YP_UNSUPPORTED when it is wanted of an objective
 * without logits. YP_INVALID: there are more targets than objective.targets. */
enum yp_status rx_training_judge(struct rx_training *training, enum train_part part,
                                 const float *parameters, double *loss, struct rx_judgement *out);
