/* The engine that uses MPI: joins its world, and leaves it in order. */
#include "ranks/mpi/node.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOR_EVER 1e9 /* seconds */

static void set_limit(void *state, double seconds)
{
    ((struct ypk_node *)state)->limit = seconds;
}

static void *native(void *state)
{
    return &((struct ypk_node *)state)->users;
}

/* The library's first line: "Open MPI v4.1.4". */
static void library(char out[96])
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(text, &length);
    snprintf(out, 96, "%.90s", text);
    out[strcspn(out, ",\n")] = '\0';
    for (char *c = out; *c != '\0'; c++)
        *c = *c == '\t' ? ' ' : *c;
}

static enum yp_status check_world(const struct ypk_place *place)
{
    char name[96];
    int size;
    int rank;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (size == place->size && rank == place->rank)
        return YP_OK;
    library(name);
    return yp_set_error(YP_INVALID,
                        "ranks: this process is rank %d of %d for its launcher and rank %d of %d "
                        "for MPI (%s); was it started by the launcher of another MPI?",
                        place->rank, place->size, rank, size, name);
}

/* Ranks of a node that share processors; each may be bound to some. */
static bool shares_processors(struct ypk_node *node)
{
    cpu_set_t all;
    cpu_set_t *sets = calloc((size_t)node->ranks, sizeof *sets);
    int taken = 0;
    CPU_ZERO(&all);
    if (sets == NULL || sched_getaffinity(0, sizeof sets[0], &sets[node->me]) != 0) {
        free(sets);
        return true;
    }
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_BYTE, sets, (int)sizeof sets[0], MPI_BYTE, node->local);
    for (int i = 0; i < node->ranks; i++)
        CPU_OR(&all, &all, &sets[i]);
    taken = CPU_COUNT(&all);
    free(sets);
    return node->ranks > taken;
}

static enum yp_status no_node(const char *what, int code)
{
    return code == MPI_SUCCESS ? YP_OK : ypk_mpi_failed(what, code);
}

/* As MPI_Abort() of body.c: this rank alone ends, and the case finds out. */
static void end_by_error(MPI_Comm *communicator, int *code, ...)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    (void)communicator;
    MPI_Error_string(*code, text, &length);
    fflush(NULL);
    fprintf(stderr, "an operation of MPI failed: %s\n", text);
    _exit(EXIT_FAILURE);
}

static void end_by_errors(MPI_Comm communicator)
{
    MPI_Errhandler handler;
    if (MPI_Comm_create_errhandler(end_by_error, &handler) != MPI_SUCCESS)
        return;
    MPI_Comm_set_errhandler(communicator, handler);
    MPI_Errhandler_free(&handler);
}

/* The node's ranks and memory. */
static enum yp_status make_node(struct ypk_node *node)
{
    MPI_Comm together;
    int code = MPI_Comm_split_type(node->all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &together);
    if (code != MPI_SUCCESS)
        return no_node("MPI_Comm_split_type", code);
    /* Two nodes of a launcher may be on one machine. */
    code = MPI_Comm_split(together, node->place.node + 1, 0, &node->local);
    MPI_Comm_free(&together);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_dup(node->all, &node->users);
    if (code != MPI_SUCCESS)
        return no_node("MPI_Comm_dup", code);
    end_by_errors(node->users);
    MPI_Comm_size(node->local, &node->ranks);
    MPI_Comm_rank(node->local, &node->me);
    code = MPI_Comm_split(node->all, node->me == 0 ? 0 : MPI_UNDEFINED, 0, &node->leaders);
    if (code != MPI_SUCCESS)
        return no_node("MPI_Comm_split", code);
    int about[2] = {0, 0}; /* the number of nodes, and of this one */
    if (node->me == 0) {
        MPI_Comm_size(node->leaders, &about[0]);
        MPI_Comm_rank(node->leaders, &about[1]);
    }
    MPI_Bcast(about, 2, MPI_INT, 0, node->local);
    node->leader_ranks = calloc((size_t)about[0], sizeof *node->leader_ranks);
    if (node->leader_ranks != NULL && node->me == 0)
        MPI_Allgather(&node->place.rank, 1, MPI_INT, node->leader_ranks, 1, MPI_INT, node->leaders);
    node->nodes = about[0];
    node->place.node = about[1];
    node->place.local_rank = node->me;
    node->place.local_size = node->ranks;
    node->world = calloc((size_t)node->ranks, sizeof *node->world);
    node->segments = calloc((size_t)node->ranks, sizeof *node->segments);
    if (node->world == NULL || node->segments == NULL || node->leader_ranks == NULL)
        return yp_set_error(YP_OUT_OF_MEMORY, "ranks: out of memory");
    MPI_Allgather(&node->place.rank, 1, MPI_INT, node->world, 1, MPI_INT, node->local);
    node->busy = shares_processors(node);
    char **base = calloc((size_t)node->ranks, sizeof *base);
    if (base == NULL)
        return yp_set_error(YP_OUT_OF_MEMORY, "ranks: out of memory");
    const enum yp_status status =
        ypk_window_make(node, sizeof(struct ypk_segment), &node->win, base);
    for (int i = 0; i < node->ranks && status == YP_OK; i++)
        node->segments[i] = (void *)base[i];
    free(base);
    if (status != YP_OK) {
        free(node->segments);
        node->segments = NULL;
        return status;
    }
    struct stat space = {.st_ino = 0};
    stat("/proc/self/ns/pid", &space);
    node->segments[node->me]->process = getpid();
    node->segments[node->me]->process_space = space.st_ino;
    MPI_Barrier(node->local);
    return YP_OK;
}

/* MPI's own collectives wait for ever: all ranks are here before the first of them. */
static enum yp_status meet_all(struct ypk_node *node)
{
    MPI_Request request;
    int code = MPI_Comm_idup(MPI_COMM_WORLD, &node->all, &request);
    if (code != MPI_SUCCESS)
        return ypk_mpi_failed("MPI_Comm_idup", code);
    const struct ypk_call call = {.kind = YPK_BARRIER};
    if (ypk_wait_mpi(node, &call, &request, 1, NULL) != YP_OK)
        return yp_set_error(YP_IO, "ranks: not all of %d ranks joined within %g s",
                            node->place.size, node->limit);
    MPI_Comm_set_errhandler(node->all, MPI_ERRORS_RETURN);
    MPI_Ibarrier(node->all, &request);
    if (ypk_wait_mpi(node, &call, &request, 1, NULL) != YP_OK)
        return yp_set_error(YP_IO, "ranks: not all of %d ranks joined within %g s",
                            node->place.size, node->limit);
    return YP_OK;
}

/* Everything that needs no other rank. */
static void forget(struct ypk_node *node)
{
    for (uint32_t i = 0; i < node->window_count; i++)
        free(node->windows[i].base);
    free(node->windows);
    free(node->flights);
    free(node->segments);
    free(node->world);
    free(node->leader_ranks);
    free(node);
}

static enum yp_status join(void **state, struct ypk_place *place, const char *directory,
                           double seconds)
{
    struct ypk_node *node = calloc(1, sizeof *node);
    int flag = 0;
    (void)directory;
    if (node == NULL)
        return yp_set_error(YP_OUT_OF_MEMORY, "ranks: out of memory");
    *node = (struct ypk_node){.place = *place,
                              .limit = seconds,
                              .busy = true,
                              .all = MPI_COMM_NULL,
                              .users = MPI_COMM_NULL,
                              .local = MPI_COMM_NULL,
                              .leaders = MPI_COMM_NULL,
                              .win = MPI_WIN_NULL};
    MPI_Finalized(&flag);
    enum yp_status status = YP_OK;
    if (flag)
        status = yp_set_error(YP_INVALID, "ranks: MPI has been ended in this process");
    else
        MPI_Initialized(&flag);
    if (status == YP_OK && !flag) {
        const int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &flag);
        status = no_node("MPI_Init_thread", code);
        node->initialised = code == MPI_SUCCESS;
    }
    if (status == YP_OK)
        status = check_world(place);
    if (status != YP_OK) {
        forget(node);
        return status;
    }
    status = meet_all(node);
    if (status == YP_OK)
        status = make_node(node);
    if (status != YP_OK) /* the node stays: MPI may still write into it */
        return status;
    *place = node->place;
    *state = node;
    return YP_OK;
}

static bool works(struct ypk_node *node, int rank, const void *argument)
{
    (void)argument;
    return atomic_load(&node->segments[rank]->state.value) == YPK_WORKS;
}

static bool all_leave(struct ypk_node *node, const void *argument)
{
    for (int i = 0; i < node->ranks; i++)
        if (works(node, i, argument))
            return false;
    return true;
}

/* As long as MPI would wait for those that still work; not for those that ended. */
static bool in_order(struct ypk_node *node)
{
    MPI_Request request;
    const struct ypk_call call = {.kind = YPK_BARRIER};
    if (node->broken)
        return false;
    node->limit = FOR_EVER;
    atomic_store(&node->segments[node->me]->state.value, YPK_LEAVES);
    if (ypk_wait(node, &call, all_leave, works, NULL) != YP_OK)
        return false;
    for (int i = 0; i < node->ranks; i++)
        if (atomic_load(&node->segments[i]->state.value) != YPK_LEAVES)
            return false;
    MPI_Ibarrier(node->all, &request);
    return ypk_wait_mpi(node, &call, &request, 1, NULL) == YP_OK;
}

/* MPI waits for all ranks when it frees what is shared and when it ends. Where one of them is not
 * in order that would be for ever, so that is left to the end of the process. */
static void leave(void *state)
{
    struct ypk_node *node = state;
    if (!in_order(node))
        return; /* requests that were given up may still use it */
    for (uint32_t i = 0; i < node->window_count; i++)
        if (node->windows[i].base != NULL) {
            MPI_Win_unlock_all(node->windows[i].win);
            MPI_Win_free(&node->windows[i].win);
        }
    MPI_Win_unlock_all(node->win);
    MPI_Win_free(&node->win);
    if (node->leaders != MPI_COMM_NULL)
        MPI_Comm_free(&node->leaders);
    MPI_Comm_free(&node->local);
    MPI_Comm_free(&node->users);
    MPI_Comm_free(&node->all);
    if (node->initialised)
        MPI_Finalize();
    forget(node);
}

const struct ypk_engine ypk_mpi_engine __attribute__((visibility("default"))) = {
    .name = "mpi",
    .join = join,
    .leave = leave,
    .set_limit = set_limit,
    .collective = ypk_node_collective,
    .exchange = ypk_node_exchange,
    .allocate = ypk_window_allocate,
    .release = ypk_window_release,
    .native = native,
    .begin = ypk_node_begin,
    .progress = ypk_node_progress,
    .end = ypk_node_end,
    .drop = ypk_node_drop,
};
