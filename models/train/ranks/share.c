/* A step by many ranks: batches, sums of their gradients, updates. */
#include "models/train/internal.h"

#include "base/system/clock.h"
#include "models/nn/operators/sum_squares.h"

#include <math.h>
#include <string.h>

/* -- exchange --------------------------------------------------------------------------------- */

/* Rank `to` gets its piece of `values`, and `in` is this rank's piece of rank `from`. */
static enum yp_status swap(const struct ypi_train_shards *s, const float *out,
                           struct ypi_train_piece theirs, int to, float *in, size_t count, int from)
{
    const size_t out_bytes = theirs.count * sizeof *out, in_bytes = count * sizeof *in;
    if (out_bytes > 0 && in_bytes > 0)
        return ypk_exchange(s->all, out + theirs.first, out_bytes, to, in, in_bytes, from);
    if (out_bytes > 0)
        return ypk_send(s->all, out + theirs.first, out_bytes, to);
    return in_bytes > 0 ? ypk_receive(s->all, in, in_bytes, from) : (enum yp_status)YP_OK;
}

static void add(double *restrict total, double weight, const float *restrict gradient, size_t count)
{
    for (size_t i = 0; i < count; i++)
        total[i] += weight * (double)gradient[i];
}

void ypi_train_add_bucket(const struct train *train, size_t bucket)
{
    const struct ypi_train_shards *s = train->shards;
    const struct ypi_train_piece mine = ypi_train_piece(s, bucket, s->rank);
    for (int rank = 0; rank < s->size; rank++) {
        const int k = (s->rank - rank + s->size) % s->size;
        if (s->weights[rank] > 0)
            add(s->total + s->place[bucket], s->weights[rank],
                k == 0 ? train->at.gradient + mine.first : ypi_train_received(s, bucket, k),
                mine.count);
    }
}

static enum yp_status exchange_bucket(const struct train *train, size_t bucket)
{
    struct ypi_train_shards *s = train->shards;
    const double begun = ypi_now();
    const struct ypi_train_piece mine = ypi_train_piece(s, bucket, s->rank);
    enum yp_status status = YP_OK;
    for (int k = 1; k < s->size && status == YP_OK; k++) {
        const int to = (s->rank + k) % s->size, from = (s->rank + s->size - k) % s->size;
        status = swap(s, train->at.gradient, ypi_train_piece(s, bucket, to), to,
                      ypi_train_received(s, bucket, k), mine.count, from);
    }
    s->times.open += ypi_now() - begun;
    if (status == YP_OK)
        ypi_train_add_bucket(train, bucket);
    return status;
}

static enum yp_status add_round(const struct train *train)
{
    enum yp_status status = YP_OK;
    if (train->shards->devices != NULL)
        return ypi_train_device_round(train);
    for (size_t b = 0; b < train->shards->n_buckets && status == YP_OK; b++)
        status = exchange_bucket(train, b);
    return status;
}

/* -- batches ---------------------------------------------------------------------------------- */

/* The items of batch `number` of a step, or the rank's share of them; none behind the end. */
static struct train_items items_of(const struct train *train, struct train_items step,
                                   size_t number)
{
    const struct ypi_train_shards *s = train->shards;
    const size_t batch = train->config.batch, first = number * batch;
    struct train_items items = {step.index + first, 0};
    if (first >= step.count)
        return (struct train_items){0};
    items.count = step.count - first < batch ? step.count - first : batch;
    if (s->whole)
        return items;
    const struct data_share share = data_share_of(items.count, s->rank, s->size);
    return (struct train_items){items.index + share.first, share.count};
}

static enum yp_status compute(struct train *train, struct train_items items,
                              struct ypi_train_record *record)
{
    const struct train_objective *o = &train->objective;
    double mean = NAN, *last = &train->shards->last_weight; /* overlap needs it before the end */
    enum yp_status status = YP_OK;
    *record = (struct ypi_train_record){0};
    *last = 0;
    if (items.count > 0)
        status = o->gradient(o->arg, items, train->at.parameters, train->progress.scaling.scale,
                             &mean, last, train->at.gradient);
    const double weight = *last;
    if (status == YP_OK && !(weight >= 0 && isfinite(weight)))
        status = yp_set_error(
            YP_INVALID, "train_run: the objective's weight is %g, allowed is 0 and more", weight);
    if (status == YP_OK && weight > 0)
        *record = (struct ypi_train_record){weight, mean};
    return status;
}

/* The rank's batches of a round; of several the mean gradient. */
static enum yp_status compute_round(struct train *train, struct train_items step, size_t round,
                                    struct ypi_train_record *records, double *weight)
{
    const struct ypi_train_shards *s = train->shards;
    const struct ypi_train_arrays *at = &train->at;
    enum yp_status status = YP_OK;
    *weight = 0;
    if (s->overlap)
        ypi_train_overlap_round(train);
    if (at->sum != NULL)
        status = ypi_train_zero(at, at->sum, at->count * sizeof *at->sum);
    for (size_t i = 0; i < s->batches && status == YP_OK; i++) {
        size_t number = round * s->batches + i;
        if (s->whole)
            number = number * (size_t)s->size + (size_t)s->rank;
        const bool overlaps = s->overlap && i + 1 == s->batches;
        if (overlaps)
            ypi_train_overlap_batch(train, *weight);
        status = compute(train, items_of(train, step, number), &records[i]);
        *weight += records[i].weight;
        if (status == YP_OK && records[i].weight > 0 && at->sum != NULL && !overlaps)
            status = ypi_train_add(at, records[i].weight);
    }
    if (status == YP_OK && at->sum != NULL && *weight > 0 && !s->overlap)
        status = ypi_train_divide(at, *weight);
    return status;
}

/* Losses in the order of batches, and the weight of each rank. */
static void add_records(const struct ypi_train_shards *s, double *loss, double *weight)
{
    for (int rank = 0; rank < s->size; rank++)
        s->weights[rank] = 0;
    for (size_t i = 0; i < s->batches; i++)
        for (int rank = 0; rank < s->size; rank++) {
            const struct ypi_train_record r = s->records[(size_t)rank * (1 + s->batches) + 1 + i];
            s->weights[rank] += r.weight;
            if (r.weight > 0) {
                *loss += r.weight * r.mean;
                *weight += r.weight;
            }
        }
}

static enum yp_status gather_records(const struct ypi_train_shards *s, enum yp_status mine)
{
    struct ypi_train_record *own = s->records + (size_t)s->rank * (1 + s->batches);
    own->weight = mine == YP_OK ? 0 : 1;
    own->mean = 0;
    enum yp_status status = ypk_all_gather(s->all, own, (1 + s->batches) * sizeof *own, s->records);
    bool failed = false;
    for (int rank = 0; rank < s->size; rank++)
        failed |= s->records[(size_t)rank * (1 + s->batches)].weight != 0;
    return status == YP_OK && failed ? ypi_ranks_agree(s->all, mine) : status;
}

static enum yp_status first_of(enum yp_status a, enum yp_status b)
{
    return a != YP_OK ? a : b;
}

enum yp_status ypi_train_share_batches(struct train *train, struct train_items step, double *loss,
                                       double *weight)
{
    struct ypi_train_shards *s = train->shards;
    struct ypi_train_record *own = s->records + (size_t)s->rank * (1 + s->batches);
    const double scale = train->progress.scaling.scale;
    enum yp_status status = YP_OK;
    *loss = *weight = 0;
    s->times = (struct train_exchange){0};
    status = ypi_train_zero(&train->at, s->total, s->own * sizeof *s->total);
    for (size_t round = 0; round < s->rounds && status == YP_OK; round++) {
        double local;
        status = compute_round(train, step, round, own + 1, &local);
        if (s->overlap)
            status = first_of(status, ypi_train_overlap_rest(train));
        const double begun = ypi_now();
        status = gather_records(s, status);
        s->times.wait += ypi_now() - begun;
        if (status == YP_OK)
            add_records(s, loss, weight);
        if (s->overlap)
            status = ypi_train_overlap_end(train, status);
        else if (status == YP_OK)
            status = add_round(train);
    }
    *loss /= *weight;
    for (size_t b = 0; b < s->n_buckets && status == YP_OK; b++) {
        const struct ypi_train_piece mine = ypi_train_piece(s, b, s->rank);
        const double *total = s->total + s->place[b];
        if (s->devices != NULL)
            status = ypi_train_device_mean(train, b, *weight);
        for (size_t i = 0; i < mine.count && s->devices == NULL; i++)
            train->at.gradient[mine.first + i] = (float)(total[i] / *weight);
        if (status == YP_OK && scale != 1)
            status = ypi_train_scale(&train->at, mine.first, mine.count, 1 / scale);
    }
    return status;
}

/* -- the norm --------------------------------------------------------------------------------- */

enum yp_status ypi_train_share_squares(struct train *train, double *sum)
{
    const struct ypi_train_shards *s = train->shards;
    enum yp_status status = YP_OK;
    memset(s->squares, 0, s->n_units * sizeof *s->squares);
    if (s->devices != NULL)
        status = ypi_train_device_squares(train);
    for (size_t b = 0; b < s->n_buckets && s->devices == NULL; b++) {
        const struct ypi_train_piece mine = ypi_train_piece(s, b, s->rank);
        for (size_t u = mine.unit; u < mine.unit + mine.units; u++)
            s->squares[u] =
                nn_squared_norm_of_part(train->at.gradient + s->units[u].first, s->units[u].count);
    }
    if (s->devices != NULL)
        status = ypi_ranks_agree(s->all, status);
    if (status == YP_OK)
        status = ypk_all_reduce(s->all, s->squares, s->n_units, YPK_DOUBLE, YPK_SUM);
    *sum = 0;
    for (size_t u = 0; u < s->n_units;) {
        const size_t tensor = s->units[u].tensor;
        double squares = 0;
        for (; u < s->n_units && s->units[u].tensor == tensor; u++)
            squares += s->squares[u];
        *sum += squares;
    }
    return status;
}

/* -- the update ------------------------------------------------------------------------------- */

/* The rank's elements of one tensor, side by side in a piece. */
static enum yp_status step_span(struct train *train, size_t tensor, size_t first, size_t count,
                                size_t place, double factor, uint64_t t)
{
    const struct train_config *config = &train->config;
    struct ypi_train_arrays at = train->at;
    at.parameters += first;
    at.gradient += first;
    for (size_t i = 0; i < ypi_train_states(config); i++)
        at.state[i] += place;
    return ypi_train_step(&at, config, train->progress.lr,
                          !train_set_has(&config->no_decay, tensor), factor, t,
                          &(struct yp_tensor){train->objective.tensors[tensor].name, 0, count});
}

static enum yp_status step_piece(struct train *train, size_t bucket, double factor, uint64_t t)
{
    const struct ypi_train_shards *s = train->shards;
    const struct ypi_train_piece mine = ypi_train_piece(s, bucket, s->rank);
    const struct ypi_train_unit *unit = s->units + mine.unit, *end = unit + mine.units;
    size_t place = s->place[bucket];
    enum yp_status status = YP_OK;
    while (unit < end && status == YP_OK) {
        const struct ypi_train_unit *first = unit;
        size_t count = 0;
        for (; unit < end && unit->tensor == first->tensor; unit++)
            count += unit->count;
        status = step_span(train, first->tensor, first->first, count, place, factor, t);
        place += count;
    }
    return status;
}

/* Each rank's piece of the bucket to all others. */
static enum yp_status spread_bucket(const struct ypi_train_shards *s, float *parameters,
                                    size_t bucket)
{
    const struct ypi_train_piece mine = ypi_train_piece(s, bucket, s->rank);
    enum yp_status status = YP_OK;
    for (int k = 1; k < s->size && status == YP_OK; k++) {
        const int to = (s->rank + k) % s->size, from = (s->rank + s->size - k) % s->size;
        const struct ypi_train_piece theirs = ypi_train_piece(s, bucket, from);
        status = swap(s, parameters, mine, to, parameters + theirs.first, theirs.count, from);
    }
    return status;
}

enum yp_status ypi_train_share_step(struct train *train, double factor, uint64_t t)
{
    enum yp_status status = YP_OK;
    for (size_t b = 0; b < train->shards->n_buckets && status == YP_OK; b++)
        status = step_piece(train, b, factor, t);
    status = ypi_ranks_agree(train->shards->all, status);
    const double begun = ypi_now();
    const bool on_devices = train->shards->devices != NULL;
    if (status == YP_OK && on_devices)
        status = ypi_train_device_spread(train);
    for (size_t b = 0; b < train->shards->n_buckets && status == YP_OK && !on_devices; b++)
        status = spread_bucket(train->shards, train->at.parameters, b);
    train->shards->times.spread = ypi_now() - begun;
    return status;
}

/* -- what all must know ----------------------------------------------------------------------- */

enum yp_status ypi_train_spread(struct train *train, float *parameters)
{
    if (train->shards->devices != NULL)
        return ypi_train_device_broadcast(train, parameters);
    return ypk_broadcast(train->shards->all, parameters, train->at.count * sizeof *parameters, 0);
}

enum yp_status ypi_train_all_go_on(struct train *train, bool *go_on)
{
    int64_t all = *go_on ? 1 : 0;
    enum yp_status status = ypk_all_reduce(train->shards->all, &all, 1, YPK_INT64, YPK_MIN);
    *go_on = all != 0;
    return status;
}

enum yp_status ypi_train_agree_on_judgement(struct train *train, enum yp_status mine, double *loss)
{
    struct ypk_communicator *all = train->shards->all;
    const size_t metrics = train->objective.n_metrics;
    enum yp_status status = ypi_ranks_agree(all, mine);
    if (status == YP_OK)
        status = ypk_broadcast(all, loss, sizeof *loss, 0);
    if (status == YP_OK && metrics > 0)
        status = ypk_broadcast(all, train->metrics, metrics * sizeof *train->metrics, 0);
    return status;
}
