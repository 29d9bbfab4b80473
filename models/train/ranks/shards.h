/* Training by many ranks: which of them updates which parameters, and what they exchange.
 *
 * The parameters that are trained lie in buckets, each a piece of the vector; of every bucket each
 * rank owns one piece. It adds up the gradients of all ranks for its pieces, keeps the optimiser's
 * state of them alone (ZeRO-1: Rajbhandari et al., 2020), updates them and sends them to the
 * others. Pieces consist of whole parts of tensors, of which nn_squared_norm() makes its sums, so
 * that the norm has the bits of one process. */
#pragma once

#include "base/system/arena.h"
#include "models/data/ranks.h"
#include "models/train/trainer.h"
#include "ranks/nccl/devices.h"

struct train;

/* A part of a tensor: elements first .. first + count - 1 of the vector. */
struct ypi_train_unit {
    size_t first, count, tensor;
};

struct ypi_train_piece {
    size_t first, count; /* elements */
    size_t unit, units;
};

/* What a rank has computed for one batch, or its share of one. */
struct ypi_train_record {
    double weight, mean;
};

struct ypi_train_shards {
    struct ypk_communicator *all;
    struct ypk_devices *devices; /* NULL: gradients lie in the host's memory. Else `total` and
                                    `received` are the device's */
    int rank, size;
    bool whole;     /* a rank computes whole batches; else a share of each */
    size_t rounds;  /* exchanges of a step */
    size_t batches; /* of a rank in a round */
    size_t n_units, n_buckets;
    size_t own, largest, widest; /* elements: of the rank's pieces, of the largest piece of any
                                    rank, of the largest bucket */
    struct ypi_train_unit *units;
    size_t *cuts;  /* (n_buckets, size + 1): the unit with which a rank's piece begins */
    size_t *place; /* (n_buckets): of the rank's piece in its arrays */
    double *total; /* (own): weighted gradients of the step */
    /* Of one bucket (size - 1, largest); with overlap of all, those of a bucket together:
     * (size - 1) own. */
    float *received;
    double *squares;                  /* (n_units) */
    double *unit_sums;                /* (n_units): the same on the device; or NULL */
    double *weights;                  /* (size) */
    struct ypi_train_record *records; /* (size, 1 + batches): the first one is the status */
    struct train_exchange times;      /* of the step */
    double last_weight;               /* of the rank's last batch */
    /* With overlap, of the round: */
    bool overlap;
    size_t *left;             /* (n_buckets): elements that are not final */
    size_t begun;             /* buckets, from the last one on */
    double weight_before;     /* of its batches before the last one */
    enum yp_status under_way; /* of what began while the objective was at work */
};

/* Whether the configuration has more than one rank. */
static inline bool ypi_train_is_shared(const struct train_config *config)
{
    return ypk_size(config->ranks.all) > 1;
}

enum yp_status ypi_train_check_ranks(const char *what, const struct train_config *config);

/* Sizes, and in the arena's second pass the memory. */
void ypi_train_lay_out_shards(struct ypi_train_shards *shards, struct ypi_arena *arena,
                              const struct train_objective *objective,
                              const struct train_config *config, bool on_host);
/* What of it is the device's where it is not on the host. */
void ypi_train_lay_out_device_shards(struct ypi_train_shards *shards, struct ypi_arena *arena);

struct ypi_train_piece ypi_train_piece(const struct ypi_train_shards *shards, size_t bucket,
                                       int rank);

/* Where this rank has the piece of the k-th rank before it. */
static inline float *ypi_train_received(const struct ypi_train_shards *s, size_t bucket, int k)
{
    const size_t before = (size_t)(k - 1);
    return s->received + (s->overlap ? (size_t)(s->size - 1) * s->place[bucket] +
                                           before * ypi_train_piece(s, bucket, s->rank).count
                                     : before * s->largest);
}

/* total += weight gradient of every rank for this rank's piece, in their order: as one process adds
 * batches. */
void ypi_train_add_bucket(const struct train *train, size_t bucket);

/* A round with overlap: at its beginning, before the rank's last batch (weight of those before it),
 * after it. Every rank begins all buckets, whatever has failed, and ends them. */
void ypi_train_overlap_round(struct train *train);
void ypi_train_overlap_batch(struct train *train, double weight_before);
enum yp_status ypi_train_overlap_rest(struct train *train);
/* Adds what has come, unless `status` is an error, which is the result. */
enum yp_status ypi_train_overlap_end(struct train *train, enum yp_status status);

/* -- on a device (device.c): what the functions below do there; all of them are collective ------
 */

/* Exchanges all buckets, and adds them up. */
enum yp_status ypi_train_device_round(const struct train *train);
/* gradient = total / weight, of the rank's piece. */
enum yp_status ypi_train_device_mean(const struct train *train, size_t bucket, double weight);
/* The sums of squares of the rank's units to `squares`, of the others' 0. */
enum yp_status ypi_train_device_squares(const struct train *train);
enum yp_status ypi_train_device_spread(const struct train *train);
enum yp_status ypi_train_device_broadcast(const struct train *train, float *parameters);

/* -- all of these are collective -------------------------------------------------------------- */

/* After train_create() on this rank: whether it went well on all, and with the same training. */
enum yp_status ypi_train_meet(const struct train *train, struct ypk_communicator *all,
                              enum yp_status mine);
/* The same parameters on all: rank 0's. */
enum yp_status ypi_train_spread(struct train *train, float *parameters);
/* The gradients of a step's batches; leaves the mean gradient of the rank's pieces in at.gradient,
 * as add_batches() of run.c does of all. */
enum yp_status ypi_train_share_batches(struct train *train, struct train_items step, double *loss,
                                       double *weight);
/* As ypi_train_squares(), from the pieces of all. */
enum yp_status ypi_train_share_squares(struct train *train, double *sum);
/* A step of the optimiser: each rank its pieces, then all have all parameters. */
enum yp_status ypi_train_share_step(struct train *train, double factor, uint64_t t);
/* Whether all want to go on. */
enum yp_status ypi_train_all_go_on(struct train *train, bool *go_on);
/* Consecutive elements of a whole array of state, the next ones; NULL: zeros, of what is frozen. */
typedef void ypi_train_take(void *arg, const float *values, size_t count);
/* From every rank's `own` elements; rank 0 takes all, in their order. */
enum yp_status ypi_train_gather_state(const struct train *train, const float *own,
                                      ypi_train_take *take, void *arg);
/* All ranks have judged; what rank 0 has found, with the metrics, is what counts. */
enum yp_status ypi_train_agree_on_judgement(struct train *train, enum yp_status mine, double *loss);
