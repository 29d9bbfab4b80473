/* What the ranks' operations cost, beside those of MPI itself: see docs/results/ranks.md.
 * usage: mpirun -n N ranks-mpi [MB [REPEATS]] */
#include "ranks/communicator.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 15, CALLS = 20000, WARM = 3 };

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The time of the slowest rank. */
static double slowest(double seconds)
{
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return seconds;
}

struct subject {
    struct ypk_communicator *c;
    float *data, *result;
    size_t count;
};

static void ours(struct subject *s)
{
    if (ypk_all_reduce(s->c, s->data, s->count, YPK_FLOAT, YPK_SUM) != YP_OK) {
        fprintf(stderr, "%s\n", yp_last_error());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void of_mpi(struct subject *s)
{
    MPI_Allreduce(s->data, s->result, (int)s->count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void our_barrier(struct subject *s)
{
    if (ypk_barrier(s->c) != YP_OK)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

static void barrier_of_mpi(struct subject *s)
{
    (void)s;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void bandwidth(const char *name, void (*call)(struct subject *), struct subject *s,
                      int repeats)
{
    double *times = calloc((size_t)repeats, sizeof *times);
    const int size = ypk_size(s->c);
    const float wanted = (float)size * (float)(size + 1) / 2;
    for (int i = -WARM; i < repeats; i++) {
        for (size_t k = 0; k < s->count; k++)
            s->data[k] = (float)(ypk_rank(s->c) + 1);
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = MPI_Wtime();
        call(s);
        const double seconds = slowest(MPI_Wtime() - begin);
        const float *result = call == of_mpi ? s->result : s->data;
        if (result[s->count / 3] != wanted)
            MPI_Abort(MPI_COMM_WORLD, 1);
        if (i >= 0)
            times[i] = seconds;
    }
    qsort(times, (size_t)repeats, sizeof *times, compare);
    const double median = times[repeats / 2];
    if (ypk_rank(s->c) == 0)
        printf("%-34s %8.2f ms [%.2f, %.2f]  bus %6.2f GB/s\n", name, median * 1e3, times[0] * 1e3,
               times[repeats - 1] * 1e3,
               (double)(s->count * sizeof(float)) / median * 2 * (size - 1) / size / 1e9);
    free(times);
}

static void latency(const char *name, void (*call)(struct subject *), struct subject *s)
{
    const int calls = ypk_size(s->c) > 2 ? CALLS / 10 : CALLS;
    for (int i = 0; i < calls / 10; i++)
        call(s);
    const double begin = MPI_Wtime();
    for (int i = 0; i < calls; i++)
        call(s);
    const double each = slowest(MPI_Wtime() - begin) / calls;
    if (ypk_rank(s->c) == 0)
        printf("%-34s %8.2f us\n", name, each * 1e6);
}

int main(int argc, char **argv)
{
    struct ypk_place place;
    struct subject s = {.c = NULL};
    MPI_Init(&argc, &argv);
    if (ypk_place_of_launcher(&place, NULL) != YP_OK || place.size < 2 ||
        ypk_join(&s.c, &place, "", 60) != YP_OK) {
        fprintf(stderr, "%s\n", place.size < 2 ? "2 ranks are needed" : yp_last_error());
        return 1;
    }
    const size_t bytes = (argc > 1 ? strtoul(argv[1], NULL, 10) : 64) * 1000000;
    const int repeats = argc > 2 ? (int)strtol(argv[2], NULL, 10) : REPEATS;
    float *private = malloc(bytes + 64);
    float *shared = ypk_allocate(s.c, bytes + 64);
    s.result = malloc(bytes + 64);
    if (private == NULL || shared == NULL || s.result == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 1);
        exit(1);
    }
    memset(s.result, 0, bytes);
    s.count = bytes / sizeof(float);
    if (ypk_rank(s.c) == 0)
        printf("%d ranks, %zu MB of floats, median of %d [least, most]\n", place.size,
               bytes / 1000000, repeats);
    s.data = private;
    if (bytes > 0)
        bandwidth("MPI_Allreduce", of_mpi, &s, repeats);
    s.data = shared;
    if (bytes > 0)
        bandwidth("all-reduce, ypk_allocate()", ours, &s, repeats);
    s.data = private;
    if (bytes > 0)
        bandwidth("all-reduce, private memory", ours, &s, repeats);
    s.count = 2;
    latency("MPI_Allreduce of 8 bytes", of_mpi, &s);
    latency("all-reduce of 8 bytes", ours, &s);
    latency("MPI_Barrier", barrier_of_mpi, &s);
    latency("barrier", our_barrier, &s);
    ypk_free(s.c, shared);
    ypk_leave(s.c);
    free(private);
    free(s.result);
    MPI_Finalize();
    return 0;
}
