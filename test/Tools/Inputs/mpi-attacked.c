/*===- mpi-attacked.c - Ranks of MPI to whom something happens ----*- C -*-===*\
|*                                                                            *|
|* Part of sccl, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* mpirun -n 2 mpi-attacked PLAN FOLDER LIMIT ELEMENTS messages|memory        *|
|*                                                                            *|
|* Through messages of MPI, or through memory that MPI only helps to find.    *|
|* Launches all_reduces until one fails or there is a file FOLDER/end. Rank R *|
|* writes its process to FOLDER/R.pid when it begins, and how its last launch *|
|* ended to FOLDER/R.result. With a file FOLDER/R.abort or FOLDER/R.leave it  *|
|* does so between two launches. After an error it uses its buffers for other *|
|* things, and looks at them when there is FOLDER/end.                        *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include <sccl/sccl-mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *folder;
static int rank;

static void pathOf(char *path, const char *what) {
  snprintf(path, 4096, "%s/%d.%s", folder, rank, what);
}
static int isAskedTo(const char *what) {
  char path[4096];
  pathOf(path, what);
  return access(path, F_OK) == 0;
}
static int isOver(void) {
  char path[4096];
  snprintf(path, sizeof(path), "%s/end", folder);
  return access(path, F_OK) == 0;
}

/* Whoever sees the file sees all of it. */
static void tell(const char *what, int number, const char *text) {
  char path[4096], whole[4096];
  pathOf(path, "part");
  pathOf(whole, what);
  FILE *file = fopen(path, "w");
  fprintf(file, "%d %s\n", number, text);
  fclose(file);
  rename(path, whole);
}

static void require(int isRight, const char *what) {
  if (isRight)
    return;
  char text[1024];
  snprintf(text, sizeof(text), "%s: %s", what, scclGetLastErrorMessage());
  tell("result", -1, text);
  _exit(1);
}

/* Launches as long as all goes well; the first element tells all ranks when it
 * is over. */
static scclResult launchOn(scclComm comm, float *send, float *recv, int count) {
  scclResult result = scclSuccess;
  recv[0] = 0;
  while (result == scclSuccess && recv[0] == 0 && !isAskedTo("leave")) {
    if (isAskedTo("abort"))
      scclCommAbort(comm);
    send[0] = (float)isOver();
    result = scclAllReduce(send, recv, (size_t)count, scclFloat32, scclSum,
                           comm, NULL);
  }
  return result;
}

/* Nobody writes to `recv` any more. MPI takes no message back. */
static int staysAsItIs(float *recv, int count) {
  int isSame = 1;
  for (int i = 0; i < count; ++i)
    recv[i] = -7;
  while (!isOver())
    usleep(1000);
  usleep(20000);
  for (int i = 0; i < count; ++i)
    isSame &= recv[i] == -7;
  return isSame;
}

static int gather(void *context, const void *send, void *recv, size_t bytes) {
  (void)context;
  return MPI_Allgather(send, (int)bytes, MPI_BYTE, recv, (int)bytes, MPI_BYTE,
                       MPI_COMM_WORLD);
}

static scclResult init(scclComm *comm, const scclConfig *config, int isMemory) {
  return isMemory ? scclCommInit(rank, 2, gather, NULL, config, comm)
                  : scclCommInitMPI(MPI_COMM_WORLD, config, comm);
}

int main(int argc, char **argv) {
  scclPlan plan = NULL;
  scclComm comm = NULL;
  scclConfig config = SCCL_CONFIG_INITIALIZER;
  scclResult result;
  int provided, count;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 6)
    return 1;
  folder = argv[2];
  config.timeoutSeconds = atof(argv[3]);
  count = atoi(argv[4]);
  float *send = calloc((size_t)count, 4), *recv = calloc((size_t)count, 4);
  require(!scclPlanLoad(argv[1], &plan), "plan");
  require(!init(&comm, &config, strcmp(argv[5], "memory") == 0), "init");
  require(!scclCommLoad(comm, plan), "load");
  tell("pid", getpid(), "");
  result = launchOn(comm, send, recv, count);
  tell("result", result, result ? scclGetLastErrorMessage() : "");
  if (result == scclSuccess) {
    int isWell = scclCommDestroy(comm) == scclSuccess;
    while (isAskedTo("leave"))
      if (isOver())
        _exit(!isWell);
    return scclFinalizeMPI(!isWell);
  }
  tell("memory", staysAsItIs(recv, count), "");
  /* Nobody is left to finalize MPI with. */
  _exit(0);
}
