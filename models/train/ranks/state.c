/* The optimiser's state of all ranks, for a checkpoint. */
#include "models/train/internal.h"

/* One rank's piece to rank 0, which takes it. By way of the host's copy of an array where the piece
 * is a device's. */
static enum yp_status gather_piece(const struct train *train, size_t bucket, int rank,
                                   const float *own, ypi_train_take *take, void *arg)
{
    const struct ypi_train_shards *s = train->shards;
    const struct ypi_train_piece piece = ypi_train_piece(s, bucket, rank);
    const size_t bytes = piece.count * sizeof *own;
    const bool on_device = train->at.host != NULL;
    const float *mine = on_device ? train->at.host : own + s->place[bucket];
    float *theirs = on_device ? train->at.host : s->received;
    enum yp_status status = YP_OK;
    if (piece.count == 0 || (rank != s->rank && s->rank > 0))
        return YP_OK;
    if (on_device && rank == s->rank)
        status = yp_device_copy(train->device, train->at.host, own + s->place[bucket], bytes);
    if (status == YP_OK && rank == s->rank && rank > 0)
        return ypk_send(s->all, mine, bytes, 0);
    if (status == YP_OK && rank > 0)
        status = ypk_receive(s->all, theirs, bytes, rank);
    if (status == YP_OK)
        take(arg, rank > 0 ? theirs : mine, piece.count);
    return status;
}

enum yp_status ypi_train_gather_state(const struct train *train, const float *own,
                                      ypi_train_take *take, void *arg)
{
    const struct ypi_train_shards *s = train->shards;
    enum yp_status status = YP_OK;
    size_t done = 0;
    for (size_t b = 0; b < s->n_buckets && status == YP_OK; b++) {
        const size_t first = s->units[s->cuts[b * (size_t)(s->size + 1)]].first;
        if (s->rank == 0 && first > done)
            take(arg, NULL, first - done);
        done = first;
        for (int rank = 0; rank < s->size && status == YP_OK; rank++) {
            status = gather_piece(train, b, rank, own, take, arg);
            done += ypi_train_piece(s, b, rank).count;
        }
    }
    if (s->rank == 0 && done < train->at.count)
        take(arg, NULL, train->at.count - done);
    return status;
}
