/*===- sccl-mpi.h - Communicators of MPI ------------------------*- C -*-===*\
|*                                                                            *|
|* Part of sccl, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Link libsccl-openmpi or libsccl-mpich, whichever MPI the program has, and  *|
|* libsccl. Plans are the same for both.                                      *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef SCCL_SCCL_MPI_H
#define SCCL_SCCL_MPI_H

#include "sccl/sccl.h"

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Collective. scclCommInitTransport for the ranks of an intracommunicator, with
 * the numbers that they have there. Its messages go through a duplicate, so
 * that they never meet those of the caller. Errors of MPI become result codes:
 * while libsccl polls, those that MPICH raises on MPI_COMM_WORLD are returned;
 * when it is done, the handler there is that of the program again. Destroy it
 * before MPI_Finalize; after that all calls for it but scclCommDestroy fail.
 *
 * MPI is called by threads that call functions for the communicator, and by no
 * others: MPI_THREAD_FUNNELED or less will do for one thread. With
 * MPI_THREAD_MULTIPLE scclLaunchAsync starts one that calls MPI, too. Returns
 * scclErrorInvalidArgument if MPI is not initialized, or `comm` is an
 * intercommunicator or null, and scclErrorTimeout if not all ranks come within
 * `timeoutSeconds`.
 */
SCCL_API scclResult scclCommInitMPI(MPI_Comm comm, const scclConfig *config,
                                    scclComm *result);

/**
 * Collective; the last thing that a process does with MPI. Returns 0, or 1 if
 * MPI reports an error. MPI_Finalize, but for MPICH with several hosts: 4.0 may
 * wait there for ever over UCX and TCP, in any program. With one rank on each
 * host it is left out; else a handler of SIGALRM ends the process with `code`
 * after 5 s, which mpirun may report as an error.
 */
SCCL_API int scclFinalizeMPI(int code);

#ifdef __cplusplus
}
#endif

#endif /* SCCL_SCCL_MPI_H */
