/* Cases of several ranks that use MPI, good and bad. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <yieldpoint/mpi.h>
#include <yieldpoint/yieldpoint.h>

YP_TEST(good, mpi_sums, .ranks = "1 2 3")
{
    int sum = yp_rank(t) + 1;
    int size = 0;
    MPI_Comm_size(yp_mpi_communicator(t), &size);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, yp_mpi_communicator(t));
    yp_expect(t, size == yp_ranks(t), "MPI has %d ranks", size);
    yp_value(t, "sum", sum);
    yp_barrier(t);
}

/* Each in a barrier of MPI itself, of which nobody knows but the stack. */
YP_TEST(bad, mpi_leaves, .ranks = "3")
{
    yp_require(t, yp_rank(t) != 1, "this one goes");
    MPI_Barrier(yp_mpi_communicator(t));
}

YP_TEST(bad, mpi_returns_early, .ranks = "3", .timeout = 2)
{
    if (yp_rank(t) != 1)
        MPI_Barrier(yp_mpi_communicator(t));
}

YP_TEST(bad, mpi_returns_before_barrier, .ranks = "3", .timeout = 10)
{
    if (yp_rank(t) != 1)
        yp_barrier(t);
}

YP_TEST(bad, mpi_is_killed, .ranks = "3")
{
    if (yp_rank(t) == 0)
        raise(SIGKILL);
    MPI_Barrier(yp_mpi_communicator(t));
}

YP_TEST(bad, mpi_exits_0, .ranks = "3")
{
    if (yp_rank(t) == 1)
        exit(0);
    MPI_Barrier(yp_mpi_communicator(t));
}

YP_TEST(bad, mpi_aborts, .ranks = "3")
{
    if (yp_rank(t) == 1)
        MPI_Abort(yp_mpi_communicator(t), 7);
    MPI_Barrier(yp_mpi_communicator(t));
}

YP_TEST(bad, mpi_errs, .ranks = "3")
{
    int nothing = 0;
    if (yp_rank(t) == 1)
        MPI_Send(&nothing, 1, MPI_INT, 77, 0, yp_mpi_communicator(t));
    MPI_Barrier(yp_mpi_communicator(t));
}
