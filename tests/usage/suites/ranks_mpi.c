/* Cases of several ranks that use MPI, good and bad. */
#include <math.h>
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

struct floats {
    float *data;
    int count;
};

/* As a step of training does it before each sum. */
static void write_floats(void *arg)
{
    const struct floats *f = arg;
    for (int i = 0; i < f->count; i++)
        f->data[i] = 1;
}

YP_TEST(good, mpi_exchanges, .ranks = "2", .axes = YP_AXES(yp_axis_int("bytes", 8, 65536, 1 << 20)))
{
    const size_t bytes = (size_t)yp_int(t, "bytes");
    struct floats f = {yp_alloc(t, bytes), (int)(bytes / sizeof(float))};
    yp_measure (t, "sum", .bounds = YP_WORK(yp_exchange(YP_ALL_REDUCE, bytes)), .threads = 1,
                .reset = write_floats, .arg = &f, .max_seconds = 0.2)
        MPI_Allreduce(MPI_IN_PLACE, f.data, f.count, MPI_FLOAT, MPI_SUM, yp_mpi_communicator(t));
    yp_expect(t, f.data[0] == 2, "%g", (double)f.data[0]);
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

YP_TEST(bad, mpi_waits_alone, .ranks = "3", .timeout = 2)
{
    if (yp_rank(t) == 1)
        MPI_Barrier(yp_mpi_communicator(t));
}

YP_TEST(bad, mpi_waits_in_barrier, .ranks = "3", .timeout = 10)
{
    if (yp_rank(t) == 1)
        yp_barrier(t);
}

YP_TEST(bad, mpi_leaks, .ranks = "3")
{
    if (yp_rank(t) == 1 && yp_device_alloc(yp_device(t), 4096) == NULL)
        yp_fail(t, "no memory");
    MPI_Barrier(yp_mpi_communicator(t));
}

YP_TEST(bad, mpi_finds_nan, .ranks = "3", .budgets = YP_BUDGETS(yp_max_value("loss", 1)))
{
    const float want[4] = {1, 2, 3, 4};
    const float got[4] = {1, 2, yp_rank(t) == 1 ? nanf("") : 3, 4};
    yp_value(t, "loss", (double)got[2] / 4);
    yp_expect_close(t, "sums", .got = got, .want = want, .count = 4, .number = YP_NUMBER_FLOAT32,
                    .absolute = 1e-6);
    MPI_Barrier(yp_mpi_communicator(t));
}
