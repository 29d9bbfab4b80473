#include "ranks/place.h"

#include "base/text/text.h"

#include <stdlib.h>
#include <string.h>

/* The variables of a launcher; NULL: it has none for that. */
struct launcher {
    const char *name;
    const char *rank, *size, *local_rank, *local_size, *node;
    const char *local_sizes; /* of all nodes in their order: "2(x3),1" */
};

/* SLURM_NTASKS is the allocation's and is in a batch script, too, which is one process; the step's
 * number of tasks is in the processes of a step alone. */
static const struct launcher launchers[] = {
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", NULL, NULL},
    {"hydra", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", NULL, NULL},
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", NULL, "SLURM_NODEID",
     "SLURM_STEP_TASKS_PER_NODE"},
};

/* -1 where it is not set. */
static enum yp_status number_of(const char *launcher, const char *name, long long most, int *out)
{
    const char *text = name != NULL ? getenv(name) : NULL;
    long long value;
    *out = -1;
    if (text == NULL)
        return YP_OK;
    if (!ypi_parse_i64(text, &value) || value < 0 || value > most)
        return yp_set_error(YP_INVALID,
                            "the environment of %s: %s is '%s'; it can be a number from 0 to %lld",
                            launcher, name, text, most);
    *out = (int)value;
    return YP_OK;
}

/* That of a node in "2(x3),1"; -1: it does not say. */
static int local_size_of(const char *sizes, int node)
{
    while (sizes != NULL && *sizes != '\0' && node >= 0) {
        char *end = NULL;
        const long size = strtol(sizes, &end, 10);
        const long nodes = strncmp(end, "(x", 2) == 0 ? strtol(end + 2, NULL, 10) : 1;
        if (end == sizes || size < 1 || size > YPK_RANKS_MAX || nodes < 1)
            return -1;
        if (node < nodes)
            return (int)size;
        node -= (int)nodes;
        sizes = end + strcspn(end, ",");
        sizes += *sizes == ',';
    }
    return -1;
}

static enum yp_status place_of(const struct launcher *from, struct ypk_place *out)
{
    const struct {
        const char *variable;
        int *number;
    } all[] = {{from->rank, &out->rank},
               {from->size, &out->size},
               {from->local_rank, &out->local_rank},
               {from->local_size, &out->local_size},
               {from->node, &out->node}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const enum yp_status status =
            number_of(from->name, all[i].variable, YPK_RANKS_MAX, all[i].number);
        if (status != YP_OK)
            return status;
    }
    if (out->rank < 0 || out->size < 1 || out->rank >= out->size)
        return yp_set_error(YP_INVALID,
                            "the environment of %s: %s is '%s' and %s is '%s'; a rank is a number "
                            "from 0 to the number of ranks less one",
                            from->name, from->rank, out->rank < 0 ? "" : getenv(from->rank),
                            from->size, out->size < 0 ? "" : getenv(from->size));
    if (from->local_sizes != NULL)
        out->local_size = local_size_of(getenv(from->local_sizes), out->node);
    if (out->local_size == out->size || out->size == 1)
        out->node = 0;
    return ypk_place_check(out);
}

enum yp_status ypk_place_check(const struct ypk_place *place)
{
    if (place->size < 1 || place->size > YPK_RANKS_MAX || place->rank < 0 ||
        place->rank >= place->size)
        return yp_set_error(YP_INVALID, "rank %d of %d: there are 1 to %d ranks, the first is 0",
                            place->rank, place->size, YPK_RANKS_MAX);
    if (place->local_rank < -1 || place->local_size < -1 || place->local_size == 0 ||
        place->local_size > place->size || place->local_rank >= place->size ||
        (place->local_size > 0 && place->local_rank >= place->local_size))
        return yp_set_error(YP_INVALID, "rank %d of %d: local rank %d of %d on its node",
                            place->rank, place->size, place->local_rank, place->local_size);
    return YP_OK;
}

enum yp_status ypk_place_of_launcher(struct ypk_place *out, const char **launcher)
{
    *out = (struct ypk_place){.size = 1, .local_size = 1};
    if (launcher != NULL)
        *launcher = NULL;
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        const struct launcher *from = &launchers[i];
        if (getenv(from->size) == NULL)
            continue;
        if (launcher != NULL)
            *launcher = from->name;
        return place_of(from, out);
    }
    return YP_OK;
}
