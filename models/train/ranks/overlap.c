/* Exchanges that go on during the backward pass: a bucket's begins when its last gradient is final.
 *
 * All ranks begin buckets in the same order, from the last one to the first, since messages of a
 * pair arrive in the order in which they were begun. Backward passes end with the first layers,
 * whose parameters come first. */
#include "models/train/internal.h"

#include "base/system/clock.h"

/* Where a bucket begins in the vector, and how many elements it has. */
static struct ypi_train_piece whole_bucket(const struct ypi_train_shards *s, size_t bucket)
{
    const size_t *cut = s->cuts + bucket * (size_t)(s->size + 1);
    const struct ypi_train_unit *first = &s->units[cut[0]], *last = &s->units[cut[s->size] - 1];
    return (struct ypi_train_piece){.first = first->first,
                                    .count = last->first + last->count - first->first};
}

/* The bucket that begins next, of those that have not. */
static size_t next_of(const struct ypi_train_shards *s)
{
    return s->n_buckets - 1 - s->begun;
}

/* Of several batches, the mean gradient: the last one's is added to those before. */
static enum yp_status add_last(const struct train *train, struct ypi_train_piece bucket)
{
    const struct ypi_train_shards *s = train->shards;
    struct ypi_train_arrays part = train->at;
    enum yp_status status = YP_OK;
    if (part.sum == NULL)
        return YP_OK;
    part.count = bucket.count;
    part.gradient += bucket.first;
    part.sum += bucket.first;
    if (s->last_weight > 0)
        status = ypi_train_add(&part, s->last_weight);
    return status == YP_OK && s->weight_before + s->last_weight > 0
               ? ypi_train_divide(&part, s->weight_before + s->last_weight)
               : status;
}

static enum yp_status begin_bucket(const struct train *train, size_t bucket)
{
    const struct ypi_train_shards *s = train->shards;
    const struct ypi_train_piece mine = ypi_train_piece(s, bucket, s->rank);
    enum yp_status status = add_last(train, whole_bucket(s, bucket));
    for (int k = 1; k < s->size && status == YP_OK; k++) {
        const int to = (s->rank + k) % s->size, from = (s->rank + s->size - k) % s->size;
        const struct ypi_train_piece theirs = ypi_train_piece(s, bucket, to);
        status = ypk_begin_exchange(s->all, train->at.gradient + theirs.first,
                                    theirs.count * sizeof(float), theirs.count > 0 ? to : -1,
                                    ypi_train_received(s, bucket, k), mine.count * sizeof(float),
                                    mine.count > 0 ? from : -1);
    }
    return status;
}

static void ready(void *arg, size_t first, size_t count)
{
    const struct train *train = arg;
    struct ypi_train_shards *s = train->shards;
    const double begun = ypi_now();
    for (size_t b = 0; b < s->n_buckets && count > 0; b++) {
        const struct ypi_train_piece all = whole_bucket(s, b);
        const size_t from = first > all.first ? first : all.first;
        const size_t end = first + count, all_end = all.first + all.count;
        const size_t to = end < all_end ? end : all_end;
        const size_t now = from < to ? to - from : 0;
        if (now > s->left[b] && s->under_way == YP_OK)
            s->under_way = yp_set_error(YP_INVALID,
                                        "train_run: the objective tells elements %zu to %zu of the "
                                        "gradient again; allowed is once a call",
                                        first, end - 1);
        s->left[b] -= now < s->left[b] ? now : s->left[b];
    }
    while (s->under_way == YP_OK && s->begun < s->n_buckets && s->left[next_of(s)] == 0) {
        s->under_way = begin_bucket(train, next_of(s));
        s->begun++;
    }
    if (s->under_way == YP_OK && s->begun > 0)
        s->under_way = ypk_progress(s->all);
    if (s->begun > 0)
        s->times.hidden += ypi_now() - begun;
}

void ypi_train_overlap_round(struct train *train)
{
    struct ypi_train_shards *s = train->shards;
    for (size_t b = 0; b < s->n_buckets; b++)
        s->left[b] = whole_bucket(s, b).count;
    s->begun = 0;
    s->last_weight = 0;
    s->under_way = YP_OK;
}

void ypi_train_overlap_batch(struct train *train, double weight_before)
{
    const struct train_objective *o = &train->objective;
    train->shards->weight_before = weight_before;
    o->tell(o->arg, ready, train);
}

enum yp_status ypi_train_overlap_rest(struct train *train)
{
    const struct train_objective *o = &train->objective;
    struct ypi_train_shards *s = train->shards;
    const double begun = ypi_now();
    enum yp_status status = YP_OK;
    o->tell(o->arg, NULL, NULL);
    for (; s->begun < s->n_buckets && status == YP_OK; s->begun++)
        status = begin_bucket(train, next_of(s));
    s->times.open += ypi_now() - begun;
    return s->under_way != YP_OK ? s->under_way : status;
}

enum yp_status ypi_train_overlap_end(struct train *train, enum yp_status status)
{
    struct ypi_train_shards *s = train->shards;
    enum yp_status ended = YP_OK;
    for (size_t b = s->n_buckets; b-- > 0 && ended == YP_OK;) {
        const double begun = ypi_now();
        for (int k = 1; k < s->size && ended == YP_OK; k++)
            ended = ypk_end_exchange(s->all);
        s->times.open += ypi_now() - begun;
        if (status == YP_OK && ended == YP_OK)
            ypi_train_add_bucket(train, b);
    }
    return status != YP_OK ? status : ended;
}
