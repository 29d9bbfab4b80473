/* What share.c and state.c do, where gradients and parameters lie on a GPU of each rank: messages
 * from GPU to GPU by NCCL, sums by the trainer's own kernels in the order of ranks. Small numbers
 * go by the ranks' own communicator. */
#include "models/train/internal.h"

#include "models/nn/operators/sum_squares.h"
#include "models/train/cuda/train_cuda.h"

void ypi_train_lay_out_device_shards(struct ypi_train_shards *s, struct ypi_arena *arena)
{
    s->total = ypi_arena_take(arena, s->own, sizeof *s->total);
    s->received = ypi_arena_take(arena, (size_t)(s->size - 1) * s->largest, sizeof *s->received);
    s->unit_sums = ypi_arena_take(arena, s->n_units, sizeof *s->unit_sums);
}

/* -- messages -----------------------------------------------------------------------------------
 */

/* Rank `to` gets its piece of `values`, and `in` is this rank's piece of rank `from`; between begin
 * and end. */
static enum yp_status swap(const struct ypi_train_shards *s, const float *out,
                           struct ypi_train_piece theirs, int to, float *in, size_t count, int from)
{
    const enum yp_status status =
        ypk_devices_send(s->devices, out + theirs.first, theirs.count * sizeof *out, to);
    return status == YP_OK ? ypk_devices_receive(s->devices, in, count * sizeof *in, from) : status;
}

static enum yp_status exchange_bucket(const struct train *train, size_t bucket)
{
    const struct ypi_train_shards *s = train->shards;
    const struct ypi_train_piece mine = ypi_train_piece(s, bucket, s->rank);
    enum yp_status status = ypk_devices_begin(s->devices);
    for (int k = 1; k < s->size && status == YP_OK; k++) {
        const int to = (s->rank + k) % s->size, from = (s->rank + s->size - k) % s->size;
        status = swap(s, train->at.gradient, ypi_train_piece(s, bucket, to), to,
                      ypi_train_received(s, bucket, k), mine.count, from);
    }
    return status == YP_OK ? ypk_devices_end(s->devices) : status;
}

/* -- gradients ----------------------------------------------------------------------------------
 */

/* What was received is read before the next bucket's messages arrive there: all is the work of one
 * stream. */
static enum yp_status add_bucket(const struct train *train, size_t bucket)
{
    const struct ypi_train_shards *s = train->shards;
    const struct ypi_train_piece mine = ypi_train_piece(s, bucket, s->rank);
    enum yp_status status = YP_OK;
    for (int rank = 0; rank < s->size && status == YP_OK; rank++) {
        const int k = (s->rank - rank + s->size) % s->size;
        const struct train_cuda_sum job = {.count = mine.count,
                                           .weight = s->weights[rank],
                                           .gradient = k == 0 ? train->at.gradient + mine.first
                                                              : ypi_train_received(s, bucket, k),
                                           .sum = s->total + s->place[bucket]};
        if (s->weights[rank] > 0)
            status = train->at.cuda->sum(train->device, &job);
    }
    return status;
}

enum yp_status ypi_train_device_round(const struct train *train)
{
    enum yp_status status = YP_OK;
    for (size_t b = 0; b < train->shards->n_buckets && status == YP_OK; b++) {
        status = exchange_bucket(train, b);
        if (status == YP_OK)
            status = add_bucket(train, b);
    }
    return status;
}

enum yp_status ypi_train_device_mean(const struct train *train, size_t bucket, double weight)
{
    const struct ypi_train_shards *s = train->shards;
    const struct ypi_train_piece mine = ypi_train_piece(s, bucket, s->rank);
    const struct train_cuda_sum job = {.count = mine.count,
                                       .divide = true,
                                       .weight = weight,
                                       .gradient = train->at.gradient + mine.first,
                                       .sum = s->total + s->place[bucket]};
    return train->at.cuda->sum(train->device, &job);
}

/* -- the norm -----------------------------------------------------------------------------------
 */

/* The units of one tensor, side by side in a piece, each its own sum. */
static enum yp_status square_span(const struct train *train, size_t unit, size_t end)
{
    const struct ypi_train_shards *s = train->shards;
    const struct ypi_train_unit *first = &s->units[unit], *last = &s->units[end - 1];
    const struct train_cuda_squares job = {
        .count = last->first + last->count - first->first,
        .part = nn_squared_part(train->objective.tensors[first->tensor].count),
        .values = train->at.gradient + first->first,
        .parts = s->unit_sums + unit};
    return train->at.cuda->squares(train->device, &job);
}

enum yp_status ypi_train_device_squares(const struct train *train)
{
    const struct ypi_train_shards *s = train->shards;
    const size_t bytes = s->n_units * sizeof *s->unit_sums;
    enum yp_status status = ypi_train_zero(&train->at, s->unit_sums, bytes);
    for (size_t b = 0; b < s->n_buckets && status == YP_OK; b++) {
        const struct ypi_train_piece mine = ypi_train_piece(s, b, s->rank);
        const size_t end = mine.unit + mine.units;
        for (size_t u = mine.unit, next = u; u < end && status == YP_OK; u = next) {
            while (next < end && s->units[next].tensor == s->units[u].tensor)
                next++;
            status = square_span(train, u, next);
        }
    }
    if (status == YP_OK)
        status = ypk_devices_wait(s->devices);
    return status == YP_OK ? yp_device_copy(train->device, s->squares, s->unit_sums, bytes)
                           : status;
}

/* -- parameters and state ------------------------------------------------------------------------
 */

enum yp_status ypi_train_device_spread(const struct train *train)
{
    const struct ypi_train_shards *s = train->shards;
    float *parameters = train->at.parameters;
    enum yp_status status = YP_OK;
    for (size_t b = 0; b < s->n_buckets && status == YP_OK; b++) {
        const struct ypi_train_piece mine = ypi_train_piece(s, b, s->rank);
        status = ypk_devices_begin(s->devices);
        for (int k = 1; k < s->size && status == YP_OK; k++) {
            const int to = (s->rank + k) % s->size, from = (s->rank + s->size - k) % s->size;
            const struct ypi_train_piece theirs = ypi_train_piece(s, b, from);
            status = swap(s, parameters, mine, to, parameters + theirs.first, theirs.count, from);
        }
        if (status == YP_OK)
            status = ypk_devices_end(s->devices);
    }
    /* Else the objective would wait for a rank that is gone, and have no limit. */
    return status == YP_OK ? ypk_devices_wait(s->devices) : status;
}

enum yp_status ypi_train_device_broadcast(const struct train *train, float *parameters)
{
    struct ypk_devices *devices = train->shards->devices;
    const enum yp_status status =
        ypk_devices_broadcast(devices, parameters, train->at.count * sizeof *parameters, 0);
    return status == YP_OK ? ypk_devices_wait(devices) : status;
}
