/* One rank over MPI, started by mpirun: tests/usage/ranks_mpi.py reads what it prints.
 * usage: mpi_ranks MODE [LIMIT [NODES [SIZE]]]: as if on so many nodes, and one of SIZE ranks */
#include "tests/unit/ranks/collectives.h"

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static enum yp_status everything(struct ypk_communicator *c)
{
    int rank = -1;
    const MPI_Comm *users = ypk_native(c);
    CHECK(strcmp(ypk_engine_of(c), ypk_size(c) == 1 ? "none" : "mpi") == 0, "engine %s",
          ypk_engine_of(c));
    if (ypk_size(c) > 1)
        MPI_Comm_rank(*users, &rank);
    CHECK(ypk_size(c) == 1 || rank == ypk_rank(c), "rank %d of the communicator of MPI", rank);
    return try_all(c);
}

/* Two allocations, parts of which are data, and one that is given back before the other. */
static enum yp_status parts(struct ypk_communicator *c)
{
    enum { COUNT = 50000, SKIP = 24 };
    double *one = ypk_allocate(c, (COUNT + SKIP) * sizeof(double));
    double *two = ypk_allocate(c, (COUNT + SKIP) * sizeof(double));
    CHECK(one != NULL && two != NULL, "%s", yp_last_error());
    for (int round = 0; round < 3; round++) {
        double *data = ypk_rank(c) % 2 == 0 ? two + SKIP : two; /* elsewhere on each rank */
        double *want = plain_reduced(COUNT, YPK_DOUBLE, YPK_SUM, ypk_size(c), round);
        fill(data, COUNT, YPK_DOUBLE, ypk_rank(c), round);
        YPK_TRY(ypk_all_reduce(c, data, COUNT, YPK_DOUBLE, YPK_SUM));
        CHECK(memcmp(data, want, COUNT * sizeof(double)) == 0, "round %d", round);
        free(want);
        if (round == 0)
            YPK_TRY(ypk_free(c, one));
    }
    /* Some ranks' data is private. */
    double *mixed = ypk_rank(c) % 2 == 0 ? two : malloc(COUNT * sizeof(double));
    double *want = plain_reduced(COUNT, YPK_DOUBLE, YPK_SUM, ypk_size(c), 7);
    fill(mixed, COUNT, YPK_DOUBLE, ypk_rank(c), 7);
    YPK_TRY(ypk_all_reduce(c, mixed, COUNT, YPK_DOUBLE, YPK_SUM));
    CHECK(memcmp(mixed, want, COUNT * sizeof(double)) == 0, "private data of some ranks");
    free(want);
    if (mixed != two)
        free(mixed);
    return ypk_free(c, two);
}

static enum yp_status body(struct ypk_communicator *c, const char *mode)
{
    char data[16] = "";
    const int rank = ypk_rank(c);
    const bool last = rank == ypk_size(c) - 1;
    if (strcmp(mode, "all") == 0) {
        YPK_TRY(everything(c));
        YPK_TRY(parts(c));
        if (ypk_size(c) > 1)
            YPK_TRY(try_links(c, ypk_place_of(c).local_size == ypk_size(c)));
        return ypk_size(c) == 1 ? YP_OK : try_probes(c);
    }
    YPK_TRY(ypk_barrier(c));
    if (strcmp(mode, "order") == 0 && last)
        return ypk_broadcast(c, data, sizeof data, 0);
    if (strcmp(mode, "late") == 0 && last)
        usleep(1500000);
    if (strcmp(mode, "dies") == 0 && last)
        kill(getpid(), SIGKILL);
    if (strcmp(mode, "leaves") == 0 && last)
        return YP_OK;
    if (strcmp(mode, "message") == 0 && rank < 2)
        return rank == 0 ? ypk_send(c, data, 4, 1) : ypk_receive(c, data, 8, 0);
    if (strcmp(mode, "silence") == 0 && rank == 0)
        return ypk_receive(c, data, 8, 1);
    if (strcmp(mode, "under-way") == 0 && rank == 0) {
        YPK_TRY(ypk_begin_exchange(c, data, 8, 1, data + 8, 8, 1));
        YPK_TRY(ypk_progress(c));
        return ypk_end_exchange(c);
    }
    if (strcmp(mode, "free") == 0)
        return ypk_free(c, data);
    return ypk_barrier(c);
}

int main(int argc, char **argv)
{
    struct ypk_place place;
    struct ypk_communicator *c = NULL;
    char limit[] = "20";
    const double seconds = strtod(argc > 2 ? argv[2] : limit, NULL);
    enum yp_status status = ypk_place_of_launcher(&place, NULL);
    if (argc > 3 && strtol(argv[3], NULL, 10) > 1)
        place.node = place.rank % (int)strtol(argv[3], NULL, 10);
    if (argc > 4)
        place.size = (int)strtol(argv[4], NULL, 10);
    if (status == YP_OK)
        status = ypk_join(&c, &place, "/nonexistent", seconds);
    if (status == YP_OK)
        status = body(c, argc > 1 ? argv[1] : "all");
    printf("rank %d of %d: %s\n", place.rank, place.size, status == YP_OK ? "ok" : yp_last_error());
    fflush(stdout);
    ypk_leave(c);
    if (status != YP_OK)
        usleep(300000); /* a launcher ends the others at once */
    return status == YP_OK ? 0 : 1;
}
