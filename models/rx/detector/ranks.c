/* A fit by many processes, each of which has a part of the blocks. */
#include "models/data/ranks.h"
#include "models/rx/detector/fit.h"

/* The tiles of a rank's blocks. */
static struct data_share blocks_of(size_t tiles, int rank, int size)
{
    size_t per_block = ypi_rx_block_tiles(tiles);
    return data_share_of((tiles + per_block - 1) / per_block, rank, size);
}

size_t rx_fit_over_bytes(size_t channels, size_t tiles, int rank, int size)
{
    return size > 1 ? (1 + blocks_of(tiles, rank, size).count) * ypi_rx_record_bytes(channels) : 0;
}

static void read_record(struct rx *rx, char *record)
{
    const struct ypi_rx_merged from = ypi_rx_in_record(record, rx->channels);
    ypi_rx_copy_sums(rx, &rx->all, &from);
}

/* The sums go from rank to rank, each of which adds its blocks, and from the last one to all. */
static enum yp_status pass_on(struct ypi_rx_fit *fit, struct ypk_communicator *ranks, char *message)
{
    struct rx *rx = fit->rx;
    const size_t bytes = ypi_rx_record_bytes(rx->channels);
    const int rank = ypk_rank(ranks), last = ypk_size(ranks) - 1;
    enum yp_status status = YP_OK;
    if (rank > 0) {
        status = ypk_receive(ranks, message, bytes, rank - 1);
        if (status == YP_OK)
            read_record(rx, message);
    }
    for (size_t b = 0; status == YP_OK && b < fit->blocks; b++) {
        const struct ypi_rx_merged block = ypi_rx_in_record(fit->kept + b * bytes, rx->channels);
        ypi_rx_add_sums(rx, &rx->all, &block);
    }
    if (status == YP_OK)
        ypi_rx_write_record(rx, message, &rx->all);
    if (status == YP_OK && rank < last)
        status = ypk_send(ranks, message, bytes, rank + 1);
    if (status == YP_OK)
        status = ypk_broadcast(ranks, message, bytes, last);
    if (status == YP_OK && rank < last)
        read_record(rx, message);
    return status;
}

/* Keeps the sums of the rank's blocks. */
static enum yp_status fit_own(struct ypi_rx_fit *fit, const struct rx_source *source,
                              struct ypk_communicator *ranks, char **memory)
{
    const int rank = ypk_rank(ranks), size = ypk_size(ranks);
    struct rx *rx = fit->rx;
    size_t tiles = source->tiles;
    *memory = yp_device_alloc(rx->device, rx_fit_over_bytes(rx->channels, tiles, rank, size));
    if (*memory == NULL)
        return yp_last_status();
    fit->kept = *memory + ypi_rx_record_bytes(rx->channels);
    fit->per_block = ypi_rx_block_tiles(tiles);
    const struct data_share blocks = blocks_of(tiles, rank, size);
    size_t first = blocks.first * fit->per_block, count = blocks.count * fit->per_block;
    first = first < tiles ? first : tiles;
    return ypi_rx_fit_tiles(fit, "rx_fit_over", source, first,
                            count < tiles - first ? count : tiles - first);
}

enum yp_status rx_fit_over(struct rx *rx, const struct rx_source *source,
                           struct ypk_communicator *ranks)
{
    if (ypk_size(ranks) == 1 || rx == NULL)
        return rx_fit(rx, source);
    struct ypi_rx_fit fit = {.rx = rx};
    char *memory = NULL;
    const struct ypi_alike alike[] = {{"channels", rx->channels},
                                      {"source->tiles", source != NULL ? source->tiles : 0},
                                      {"pixels fitted before", rx->all.pixels}};
    enum yp_status status =
        ypi_ranks_alike(ranks, "rx_fit_over", alike, sizeof alike / sizeof *alike);
    if (status != YP_OK)
        return status;
    if (source == NULL)
        status = yp_set_error(YP_INVALID, "rx_fit_over: source is NULL");
    else if (rx->on != NULL)
        status = yp_set_error(YP_UNSUPPORTED, "rx_fit_over: the object is on a GPU; ranks share "
                                              "the tiles of objects of the CPU alone");
    else
        status = fit_own(&fit, source, ranks, &memory);
    status = ypi_ranks_agree(ranks, status);
    if (status == YP_OK) {
        status = pass_on(&fit, ranks, memory);
        rx->failed |= status != YP_OK;
    }
    yp_device_free(rx->device, memory);
    return status;
}
