/*
 * Cases of several processes. `.ranks = "1 2 4"` is an axis of a test: a case with 2 ranks is run
 * by two processes, which `mpirun`, or `srun` inside an allocation of Slurm, starts (--launcher).
 * All of them run setup, body and teardown:
 *
 *     YP_TEST(exchange, halves, .ranks = "2 4")
 *     {
 *         double mine = work_on_part(yp_rank(t), yp_ranks(t));
 *         yp_barrier(t);
 *         yp_value(t, "sum", mine);
 *     }
 *
 * The results of all ranks are one result of the case. A rank that fails, crashes, hangs or leaves
 * fails the case: the message says which rank it was, and where the others stood. Where the ranks
 * give one value differently, each is stored under "NAME rank R" too, and under NAME the one that
 * is judged: the first that does not meet a budget of it, else the first rank's. Budgets of memory
 * judge the largest rank. Hashes of data (yp_data_hash) are added up: each rank hashes its own
 * part.
 *
 * `.placement` requires where the ranks are: words, separated by blanks, of "spread:core",
 * "spread:numa", "spread:package", "spread:node" (no two ranks may use the same one),
 * "spread:device" (no two have the same GPU; of a case on one) and "together:numa",
 * "together:package", "together:node" (all ranks are in one). Each rank's affinity is looked at
 * before setup. Where there are too few, a case of several ranks is skipped; where the
 * launcher did otherwise, it fails.
 *
 * A test with .ranks needs a launcher for its cases of more than one rank, which are else skipped.
 * A program whose bodies use MPI is linked to yieldpoint-mpi (mpi.h).
 */
#ifndef YIELDPOINT_RANKS_H
#define YIELDPOINT_RANKS_H

#include <yieldpoint/case.h>

YPI_BEGIN_C

struct ypk_communicator;

/* This process's number, from 0; 0 in a case of one rank. */
int yp_rank(const struct yp_case *t);
/* How many there are; also at collection. */
int yp_ranks(const struct yp_case *t);

/* A seed of this rank's own, for data that differ between ranks: a function of yp_seed(), which is
 * the same for all ranks, and of the rank, not of the number of ranks. SplitMix64's output function
 * of seed + (rank + 1) * 0x9e3779b97f4a7c15. */
uint64_t yp_rank_seed(const struct yp_case *t);

/* Waits until all ranks have come here. Ends the body where one cannot come any more. */
void yp_barrier(struct yp_case *t);

/* What carries data between the ranks of the case (ranks/communicator.h of Yieldpoint's sources);
 * NULL where there is one rank. Owned by the case. */
struct ypk_communicator *yp_ranks_communicator(const struct yp_case *t);

/* Behind it, for libraries that carry the data: of yieldpoint-mpi a pointer to an MPI_Comm. NULL:
 * nothing of that kind. */
void *yp_ranks_native(const struct yp_case *t);

YPI_END_C

#endif
