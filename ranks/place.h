/* Which of the processes that work together this one is. */
#pragma once

#include <yieldpoint/device.h>

#define YPK_RANKS_MAX 65536

struct ypk_place {
    int rank, size;             /* 0 <= rank < size */
    int local_rank, local_size; /* among the ranks of its node; -1: not known yet */
    int node;                   /* 0 for the first; -1: not known yet */
};

/* From the environment that mpirun (Open MPI or MPICH's hydra) or srun gives each process. Where a
 * process has the variables of several launchers the order is Open MPI, hydra, Slurm: mpirun is
 * started inside an allocation, and not the other way. A batch script of Slurm is no rank. Without
 * a launcher *launcher is NULL and the place is rank 0 of 1. *launcher is a static text ("Open
 * MPI", "hydra", "Slurm"); the argument may be NULL. YP_INVALID when the variables contradict each
 * other, with their names and values. */
enum yp_status ypk_place_of_launcher(struct ypk_place *out, const char **launcher);

/* YP_INVALID when it is no place: what ypk_join() takes. */
enum yp_status ypk_place_check(const struct ypk_place *place);
