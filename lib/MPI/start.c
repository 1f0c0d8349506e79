/*===- start.c - Ranks that mpirun has started --------------------*- C -*-===*\
|*                                                                            *|
|* Part of sccl, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* For the tools, which load this library at run time, so that everything     *|
|* else works without MPI.                                                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "transport.h"

#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

SCCL_API int scclMpiStart(unsigned *rank, unsigned *numRanks,
                          unsigned *ranksHere, double limitSeconds);
SCCL_API int scclMpiAllGather(void *context, const void *mine, void *all,
                              size_t bytes);
SCCL_API scclResult scclMpiWorld(scclTransport *transport);
SCCL_API int scclMpiFinish(int code, int isCut);

static double limit; /* seconds to wait for others; 0: no limit */
static int worldSize;
static int isStuck; /* somebody has not come */

/* Joins the ranks; `ranksHere` of them are on this host. All-gathers wait no
 * longer than the limit, if there is one. Returns 0 on success. */
int scclMpiStart(unsigned *rank, unsigned *numRanks, unsigned *ranksHere,
                 double limitSeconds) {
  int number, count, here;
  MPI_Comm host;
  if (MPI_Init(NULL, NULL) != MPI_SUCCESS ||
      MPI_Comm_rank(MPI_COMM_WORLD, &number) != MPI_SUCCESS ||
      MPI_Comm_size(MPI_COMM_WORLD, &count) != MPI_SUCCESS ||
      MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0,
                          MPI_INFO_NULL, &host) != MPI_SUCCESS ||
      MPI_Comm_size(host, &here) != MPI_SUCCESS ||
      MPI_Comm_free(&host) != MPI_SUCCESS)
    return 1;
  limit = limitSeconds;
  worldSize = count;
  *rank = (unsigned)number;
  *numRanks = (unsigned)count;
  *ranksHere = (unsigned)here;
  return 0;
}

/* An scclAllGatherFn. */
int scclMpiAllGather(void *context, const void *mine, void *all, size_t bytes) {
  MPI_Request request;
  int error;
  (void)context;
  if (isStuck ||
      MPI_Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE,
                     MPI_COMM_WORLD, &request) != MPI_SUCCESS)
    return 1;
  error = scclMpiAwait(&request, limit);
  isStuck |= error == SCCL_ERROR_LATE;
  return error != MPI_SUCCESS;
}

/* A transport for all of them. */
scclResult scclMpiWorld(scclTransport *transport) {
  return scclMpiTransport(MPI_COMM_WORLD, limit, transport);
}

static void endNow(int number) {
  (void)number;
  _exit(1);
}

/* Where somebody has not come, MPI would wait for him, too. */
int scclMpiFinish(int code, int isCut) {
  char nothing = 0, *all = malloc((size_t)worldSize);
  isStuck |= isCut;
  if (!isStuck && all)
    (void)scclMpiAllGather(NULL, &nothing, all, 1);
  free(all);
  if (isStuck) {
    /* Whoever has to end the others may not be reached either. */
    const unsigned patience = 3;
    if (signal(SIGALRM, endNow) != SIG_ERR)
      alarm(patience);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return scclFinalizeMPI(code);
}
