/* Buckets and pieces: where they begin, and the memory for them. */
#include "models/train/internal.h"

#include "models/data/order.h"
#include "models/nn/operators/sum_squares.h"

#define BUCKET ((size_t)25 << 20) /* bytes of a bucket, where nothing is said */

/* -- units ------------------------------------------------------------------------------------ */

struct cursor {
    const struct yp_tensor *tensors;
    size_t n_tensors;
    const struct train_set *frozen;
    size_t tensor, done; /* elements of it */
};

static bool next_unit(struct cursor *at, struct ypi_train_unit *unit)
{
    while (at->tensor < at->n_tensors &&
           (train_set_has(at->frozen, at->tensor) || at->done == at->tensors[at->tensor].count)) {
        at->tensor++;
        at->done = 0;
    }
    if (at->tensor == at->n_tensors)
        return false;
    const struct yp_tensor *tensor = &at->tensors[at->tensor];
    const size_t part = nn_squared_part(tensor->count), left = tensor->count - at->done;
    *unit =
        (struct ypi_train_unit){tensor->offset + at->done, left < part ? left : part, at->tensor};
    at->done += unit->count;
    return true;
}

/* -- buckets ---------------------------------------------------------------------------------- */

/* The next units side by side, up to the size of a bucket; how many. */
static size_t next_bucket(struct cursor *at, size_t limit, size_t *elements)
{
    struct ypi_train_unit unit;
    struct cursor before = *at;
    size_t units = 0, end = 0;
    *elements = 0;
    while (next_unit(at, &unit) &&
           (units == 0 || (unit.first == end && *elements + unit.count <= limit))) {
        units++;
        *elements += unit.count;
        end = unit.first + unit.count;
        before = *at;
    }
    *at = before;
    return units;
}

/* Divides a bucket: rank r begins where r / size of the elements are before it, or a little later.
 */
static void divide(struct ypi_train_shards *s, struct cursor at, size_t bucket, size_t units,
                   size_t elements)
{
    struct ypi_train_unit unit;
    size_t before = 0, piece = 0;
    int rank = 0;
    for (size_t u = 0; u < units && next_unit(&at, &unit); u++) {
        while (rank < s->size && before * (size_t)s->size >= elements * (size_t)rank) {
            if (s->cuts != NULL)
                s->cuts[bucket * (size_t)(s->size + 1) + (size_t)rank] = s->n_units + u;
            piece = 0;
            rank++;
        }
        if (s->units != NULL)
            s->units[s->n_units + u] = unit;
        before += unit.count;
        piece += unit.count;
        s->own += rank - 1 == s->rank ? unit.count : 0;
        s->largest = piece > s->largest ? piece : s->largest;
    }
    for (; s->cuts != NULL && rank <= s->size; rank++)
        s->cuts[bucket * (size_t)(s->size + 1) + (size_t)rank] = s->n_units + units;
}

static void plan(struct ypi_train_shards *s, const struct train_objective *objective,
                 const struct train_config *config)
{
    const struct yp_tensor whole = {"x", 0, objective->parameters};
    const bool named = objective->n_tensors > 0;
    const size_t bytes = config->ranks.bucket > 0 ? config->ranks.bucket : BUCKET;
    struct cursor at = {.tensors = named ? objective->tensors : &whole,
                        .n_tensors = named ? objective->n_tensors : 1,
                        .frozen = &config->frozen};
    s->n_units = s->n_buckets = s->own = s->largest = s->widest = 0;
    for (;;) {
        const struct cursor begin = at;
        size_t elements, units = next_bucket(&at, bytes / sizeof(float), &elements);
        if (units == 0)
            return;
        if (s->place != NULL)
            s->place[s->n_buckets] = s->own;
        divide(s, begin, s->n_buckets, units, elements);
        s->widest = elements > s->widest ? elements : s->widest;
        s->n_units += units;
        s->n_buckets++;
    }
}

void ypi_train_lay_out_shards(struct ypi_train_shards *s, struct ypi_arena *arena,
                              const struct train_objective *objective,
                              const struct train_config *config, bool on_host)
{
    const size_t size = (size_t)ypk_size(config->ranks.all), accumulate = config->accumulate;
    *s = (struct ypi_train_shards){.all = config->ranks.all,
                                   .rank = ypk_rank(config->ranks.all),
                                   .size = (int)size,
                                   .whole = accumulate % size == 0};
    s->rounds = s->whole && !config->ranks.once ? accumulate / size : 1;
    s->batches = (s->whole ? accumulate / size : accumulate) / s->rounds;
    plan(s, objective, config);
    s->units = ypi_arena_take(arena, s->n_units, sizeof *s->units);
    s->cuts = ypi_arena_take(arena, s->n_buckets * (size + 1), sizeof *s->cuts);
    s->place = ypi_arena_take(arena, s->n_buckets, sizeof *s->place);
    s->overlap = on_host && objective->tell != NULL && !config->ranks.no_overlap;
    const size_t pieces = (size - 1) * (s->overlap ? s->own : s->largest);
    if (on_host) {
        s->total = ypi_arena_take(arena, s->own, sizeof *s->total);
        s->received =
            ypi_arena_take(arena, pieces > s->largest ? pieces : s->largest, sizeof *s->received);
    }
    s->left = ypi_arena_take(arena, s->overlap ? s->n_buckets : 0, sizeof *s->left);
    s->squares = ypi_arena_take(arena, s->n_units, sizeof *s->squares);
    s->weights = ypi_arena_take(arena, size, sizeof *s->weights);
    s->records = ypi_arena_take(arena, size * (1 + s->batches), sizeof *s->records);
    if (arena->base != NULL)
        plan(s, objective, config);
}

struct ypi_train_piece ypi_train_piece(const struct ypi_train_shards *s, size_t bucket, int rank)
{
    const size_t *cut = s->cuts + bucket * (size_t)(s->size + 1) + (size_t)rank;
    struct ypi_train_piece piece = {.unit = cut[0], .units = cut[1] - cut[0]};
    if (piece.units == 0)
        return piece;
    const struct ypi_train_unit *first = &s->units[piece.unit], *last = first + piece.units - 1;
    piece.first = first->first;
    piece.count = last->first + last->count - first->first;
    return piece;
}

/* -- arguments -------------------------------------------------------------------------------- */

enum yp_status ypi_train_check_ranks(const char *what, const struct train_config *config)
{
    const size_t bucket = config->ranks.bucket;
    if (bucket > 0 && (bucket < 4096 || bucket > (size_t)1 << 40))
        return yp_set_error(YP_INVALID,
                            "%s: ranks.bucket is %zu bytes, allowed are 0 and 4096 to 2^40", what,
                            bucket);
    return YP_OK;
}

/* One number of the settings that a checkpoint has. */
static uint64_t number_of(const struct train *train)
{
    const struct ypi_train_settings all = ypi_train_settings_of(train);
    uint64_t number = all.count;
    for (size_t i = 0; i < all.count; i++)
        number = data_order_key(number, i, all.list[i].bits);
    return number;
}

enum yp_status ypi_train_meet(const struct train *train, struct ypk_communicator *all,
                              enum yp_status mine)
{
    enum yp_status status = ypi_ranks_agree(all, mine);
    if (status != YP_OK)
        return status;
    const struct train_config *c = &train->config;
    const struct train_objective *o = &train->objective;
    const struct ypi_alike alike[] = {
        {"objective->parameters", o->parameters},
        {"objective->items", o->items},
        {"seed", c->seed},
        {"batch", c->batch},
        {"accumulate", c->accumulate},
        {"epochs", c->epochs},
        {"max_skipped", c->max_skipped},
        {"a number of all that a checkpoint depends on", number_of(train)},
        {"checkpoint's being there", c->checkpoint != NULL},
        {"checkpoint_every", c->checkpoint_every},
        {"ranks.bucket", c->ranks.bucket},
        {"ranks.once", c->ranks.once},
        {"ranks.no_overlap", c->ranks.no_overlap},
        {"objective->tell's being there", o->tell != NULL}};
    return ypi_ranks_alike(all, "train_create", alike, sizeof alike / sizeof *alike);
}
