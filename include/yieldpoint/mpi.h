/*
 * MPI in the body of a case of several ranks (ranks.h). The program is linked to yieldpoint-mpi
 * (pkg-config --libs yieldpoint-mpi), which is built for one MPI; the launcher has to be that
 * MPI's. MPI is initialised before setup, with MPI_THREAD_FUNNELED, and finalised after teardown: a
 * body calls neither MPI_Init nor MPI_Finalize. In a case of one rank yp_mpi_communicator()
 * initialises it.
 */
#ifndef YIELDPOINT_MPI_H
#define YIELDPOINT_MPI_H

#include <mpi.h>
#include <yieldpoint/ranks.h>

YPI_BEGIN_C

/* The ranks of the case; of one rank MPI_COMM_SELF. A communicator of the case's own, whose errors
 * are fatal; it is valid until teardown has returned. */
MPI_Comm yp_mpi_communicator(struct yp_case *t);

YPI_END_C

#endif
