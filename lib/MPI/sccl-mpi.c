/*===- sccl-mpi.c - Ranks that mpirun has started ----------------*- C -*-===*\
|*                                                                            *|
|* Part of sccl, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* The only part of the tools that links MPI. They load it at run time, so    *|
|* that everything else works without.                                        *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include <mpi.h>

#include <stddef.h>

/* Joins the ranks; returns 0 on success. */
int scclMpiStart(unsigned *rank, unsigned *numRanks) {
  int number, count;
  if (MPI_Init(NULL, NULL) != MPI_SUCCESS ||
      MPI_Comm_rank(MPI_COMM_WORLD, &number) != MPI_SUCCESS ||
      MPI_Comm_size(MPI_COMM_WORLD, &count) != MPI_SUCCESS)
    return 1;
  *rank = (unsigned)number;
  *numRanks = (unsigned)count;
  return 0;
}

/* An scclAllGatherFn. */
int scclMpiAllGather(void *context, const void *mine, void *all, size_t bytes) {
  (void)context;
  return MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE,
                       MPI_COMM_WORLD) != MPI_SUCCESS;
}

int scclMpiFinish(void) { return MPI_Finalize() != MPI_SUCCESS; }
