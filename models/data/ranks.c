/* What the ranks of a communicator have to settle, whatever they work on. */
#include "models/data/ranks.h"

#include <assert.h>
#include <stdio.h>

struct data_share data_share_of(size_t items, int rank, int size)
{
    const size_t each = items / (size_t)size, more = items % (size_t)size, at = (size_t)rank;
    return (struct data_share){at * each + (at < more ? at : more), each + (at < more)};
}

enum { MESSAGE = 512 };

enum yp_status ypi_ranks_agree(struct ypk_communicator *ranks, enum yp_status mine)
{
    struct {
        int64_t status;
        char message[MESSAGE];
    } failure = {.status = mine};
    int64_t failing = mine == YP_OK ? ypk_size(ranks) : ypk_rank(ranks);
    if (ypk_size(ranks) == 1)
        return mine;
    if (mine != YP_OK)
        snprintf(failure.message, sizeof failure.message, "%s", yp_last_error());
    enum yp_status status = ypk_all_reduce(ranks, &failing, 1, YPK_INT64, YPK_MIN);
    if (status != YP_OK || failing == ypk_size(ranks))
        return status;
    status = ypk_broadcast(ranks, &failure, sizeof failure, (int)failing);
    return status != YP_OK ? status
                           : yp_set_error((enum yp_status)failure.status, "rank %d: %s",
                                          (int)failing, failure.message);
}

enum yp_status ypi_ranks_alike(struct ypk_communicator *ranks, const char *what,
                               const struct ypi_alike *numbers, size_t count)
{
    uint64_t of_first[YPI_ALIKE];
    assert(count <= YPI_ALIKE);
    for (size_t i = 0; i < count; i++)
        of_first[i] = numbers[i].value;
    enum yp_status status = ypk_broadcast(ranks, of_first, count * sizeof *of_first, 0);
    if (status != YP_OK)
        return status;
    for (size_t i = 0; i < count && status == YP_OK; i++)
        if (of_first[i] != numbers[i].value)
            status = yp_set_error(YP_INVALID, "%s: %s is %llu here and %llu on rank 0", what,
                                  numbers[i].name, (unsigned long long)numbers[i].value,
                                  (unsigned long long)of_first[i]);
    return ypi_ranks_agree(ranks, status);
}
