/*===- await.c - Waiting for a request of MPI ---------------------*- C -*-===*\
|*                                                                            *|
|* Part of sccl, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "transport.h"

#include "Runtime/Messages/Rest.h"

int scclMpiAwait(MPI_Request *request, double limit) {
  double begin = MPI_Wtime();
  int isDone = 0;
  while (!isDone) {
    int error = MPI_Test(request, &isDone, MPI_STATUS_IGNORE);
    if (error != MPI_SUCCESS)
      return error;
    if (!isDone && limit > 0 && MPI_Wtime() - begin > limit)
      return SCCL_ERROR_LATE;
    if (!isDone)
      scclRest(MPI_Wtime() - begin);
  }
  return MPI_SUCCESS;
}
