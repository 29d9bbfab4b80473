/* In: pieces and how long they are needed. Out: their places in the arena.
 *
 * The largest first, each at the lowest place that is free as long as it is needed (Pisarchyk and
 * Lee, "Efficient memory management for deep neural net inference", 2020, "greedy by size"). */
#include "models/nn/model/internal.h"

#include <stdlib.h>

/* Larger ones first, and of the same size the earlier number. */
static void sort_by_size(struct nn_model *model)
{
    const struct ypi_piece *pieces = model->pieces;
    for (int i = 0; i < model->piece_count; i++) {
        int k = i;
        for (; k > 0 && pieces[model->order[k - 1]].bytes < pieces[i].bytes; k--)
            model->order[k] = model->order[k - 1];
        model->order[k] = i;
    }
}

static bool meet(const struct ypi_piece *a, const struct ypi_piece *b)
{
    return a->from <= b->to && b->from <= a->to;
}

/* Those placed before are the first `count` of the order, by ascending offset. */
static void place(struct nn_model *model, int count)
{
    int number = model->order[count], k = count;
    struct ypi_piece *piece = &model->pieces[number];
    for (int i = 0; i < count; i++) {
        const struct ypi_piece *other = &model->pieces[model->order[i]];
        if (!meet(piece, other))
            continue;
        if (other->offset >= piece->offset + piece->bytes)
            break;
        if (other->offset + other->bytes > piece->offset)
            piece->offset = other->offset + other->bytes;
    }
    for (; k > 0 && model->pieces[model->order[k - 1]].offset > piece->offset; k--)
        model->order[k] = model->order[k - 1];
    model->order[k] = number;
}

/* -- sums -------------------------------------------------------------------------------------- */

/* Bytes that are needed at a place of the schedule. */
static size_t needed_at(const struct nn_model *model, int at)
{
    size_t bytes = 0;
    for (int i = 0; i < model->piece_count; i++)
        bytes +=
            model->pieces[i].from <= at && at <= model->pieces[i].to ? model->pieces[i].bytes : 0;
    return bytes;
}

/* Activations that the last forward call leaves for the first vjp. */
static size_t kept(const struct nn_model *model)
{
    size_t bytes = 0;
    for (int i = 0; i < model->tensor_count && model->call_count > model->forward_calls; i++) {
        const struct ypi_tensor *tensor = &model->tensors[i];
        bytes += tensor->origin == YPI_MADE && !tensor->result &&
                         model->pieces[tensor->value].to >= model->forward_calls
                     ? model->pieces[tensor->value].bytes
                     : 0;
    }
    return bytes;
}

static void sum_up(struct nn_model *model)
{
    struct nn_model_bytes *bytes = &model->bytes;
    *bytes = (struct nn_model_bytes){.kept = kept(model)};
    for (int i = 0; i < model->tensor_count; i++) {
        const struct ypi_tensor *tensor = &model->tensors[i];
        size_t of = tensor->value != YPI_NONE ? model->pieces[tensor->value].bytes : 0;
        bytes->constants += tensor->origin == YPI_CONSTANT ? of : 0;
        bytes->copies += tensor->origin == YPI_PARAMETER ? of : 0;
    }
    for (int i = 0; i < model->call_count; i++) {
        size_t needed = needed_at(model, i);
        const struct ypi_call *call = &model->calls[i];
        size_t work = call->work != YPI_NONE ? model->pieces[call->work].bytes : 0;
        bytes->prepared += call->prepared != YPI_NONE ? model->pieces[call->prepared].bytes : 0;
        bytes->peak = needed > bytes->peak ? needed : bytes->peak;
        bytes->workspace = work > bytes->workspace ? work : bytes->workspace;
    }
    for (int i = 0; i < model->piece_count; i++) {
        size_t end = model->pieces[i].offset + model->pieces[i].bytes;
        bytes->arena = end > bytes->arena ? end : bytes->arena;
    }
}

void ypi_model_lay_out(struct nn_model *model)
{
    sort_by_size(model);
    for (int i = 0; i < model->piece_count; i++)
        place(model, i);
    sum_up(model);
}
