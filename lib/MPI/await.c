/*===- await.c - Waiting for a request of MPI ---------------------*- C -*-===*\
|*                                                                            *|
|* Part of sccl, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "transport.h"

#include <sched.h>
#include <time.h>

/* Waits in naps of a quarter of what has been waited, up to 1 ms: whoever polls
 * takes the processor from ranks that are measured meanwhile. */
static void rest(double waited) {
  const double least = 1e-5, most = 1e-3;
  double nap = waited / 4 < most ? waited / 4 : most;
  struct timespec time = {0, (long)(nap * 1e9)};
  if (nap < least)
    sched_yield();
  else
    nanosleep(&time, NULL);
}

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
      rest(MPI_Wtime() - begin);
  }
  return MPI_SUCCESS;
}
