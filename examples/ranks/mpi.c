/* The same over MPI: a body has a communicator of its ranks. */
#include <yieldpoint/mpi.h>
#include <yieldpoint/yieldpoint.h>

YP_TEST(sums, all, .ranks = "1 2")
{
    int sum = yp_rank(t);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, yp_mpi_communicator(t));
    yp_expect(t, sum == yp_ranks(t) * (yp_ranks(t) - 1) / 2, "%d", sum);
}
