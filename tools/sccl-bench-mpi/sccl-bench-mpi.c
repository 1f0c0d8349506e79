/*===- sccl-bench-mpi.c - libsccl and MPI side by side ----------*- C -*-===*\
|*                                                                            *|
|* Part of sccl, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* usage: mpirun -n RANKS sccl-bench-MPI [--messages] PLAN                    *|
|*            [MAX_BYTES [BATCHES [MIN_BYTES]]]                               *|
|*                                                                            *|
|* MPI is openmpi or mpich, as mpirun is.                                     *|
|*                                                                            *|
|* Times all_gather, all_reduce, all_to_all or broadcast of floats, whichever *|
|* the plan is for, in interleaved batches: MPI with memory of malloc,        *|
|* libsccl with memory of scclMemAlloc and of malloc. Prints for each size    *|
|* the best batch of each, as the mean of a launch on the slowest rank, and   *|
|* checks that all give the same result. A size is the bytes of the larger of *|
|* one rank's send and receive buffers; sizes are powers of 2, with MIN_BYTES *|
|* all from there on.                                                         *|
|*                                                                            *|
|* Ranks on several hosts, or with --messages, exchange messages: then the    *|
|* median batch counts, of four launches from 1 MiB on and one from 4 MiB on, *|
|* and there is one kind of memory.                                           *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "sccl/sccl-mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MPI_LIBRARY, SCCL_REGISTERED, SCCL_ANY, NUM_WAYS };

struct Bench {
  scclComm comm;
  scclPlan plan;
  const char *collective;
  int rank, ranks;
  int usesMessages;
  size_t sendSegments, recvSegments;
  float *send[NUM_WAYS], *recv[NUM_WAYS];
};

static int allGather(void *context, const void *mine, void *all, size_t bytes) {
  (void)context;
  return MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE,
                       MPI_COMM_WORLD) != MPI_SUCCESS;
}

static void require(scclResult result) {
  if (result == scclSuccess)
    return;
  fprintf(stderr, "sccl-bench-mpi: error: %s: %s\n", scclErrorString(result),
          scclGetLastErrorMessage());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void *allocate(size_t bytes) {
  void *memory = NULL;
  if (posix_memalign(&memory, 4096, bytes) != 0)
    MPI_Abort(MPI_COMM_WORLD, 1);
  memset(memory, 0, bytes);
  return memory;
}

static int isBroadcast(const struct Bench *bench) {
  return strcmp(bench->collective, "broadcast") == 0;
}

static void launch(struct Bench *bench, int way, int count) {
  float *send = bench->send[way], *recv = bench->recv[way];
  if (way != MPI_LIBRARY)
    require(scclLaunch(bench->comm, bench->plan, send, recv, (size_t)count,
                       scclFloat32, scclSum, NULL));
  else if (strcmp(bench->collective, "all_gather") == 0)
    MPI_Allgather(send, count, MPI_FLOAT, recv, count, MPI_FLOAT,
                  MPI_COMM_WORLD);
  else if (strcmp(bench->collective, "all_reduce") == 0)
    MPI_Allreduce(send, recv, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  else if (isBroadcast(bench)) {
    if (bench->rank == 0)
      memcpy(recv, send, (size_t)count * sizeof(float));
    MPI_Bcast(recv, count, MPI_FLOAT, 0, MPI_COMM_WORLD);
  } else
    MPI_Alltoall(send, count, MPI_FLOAT, recv, count, MPI_FLOAT,
                 MPI_COMM_WORLD);
}

/* Ranks sleep while they wait: those that poll in MPI_Barrier take the
 * processor from those that still have to send, where they share one. */
static void barrier(void) {
  MPI_Request request;
  int isOver = 0;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  while (MPI_Test(&request, &isOver, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
         !isOver) {
    struct timespec nap = {0, 50 * 1000};
    nanosleep(&nap, NULL);
  }
}

/* Seconds of one launch: the mean of a batch on the slowest rank. In a
 * broadcast nobody answers the root, which would run ahead of the first launch:
 * there ranks start their clocks together, within a message of each other. */
static double runBatch(struct Bench *bench, int way, int count, int launches) {
  double mine, slowest;
  barrier();
  launch(bench, way, count);
  if (isBroadcast(bench))
    barrier();
  mine = MPI_Wtime();
  for (int i = 0; i < launches; ++i)
    launch(bench, way, count);
  mine = (MPI_Wtime() - mine) / launches;
  barrier();
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

static void compareResults(struct Bench *bench, size_t count) {
  for (int way = 0; way < NUM_WAYS; ++way) {
    if (way == SCCL_REGISTERED && bench->usesMessages)
      continue;
    for (size_t i = 0; i < bench->sendSegments * count; ++i)
      bench->send[way][i] = (float)((i * 7 + (size_t)bench->rank * 13) % 1024);
    memset(bench->recv[way], 0xff, bench->recvSegments * count * sizeof(float));
    launch(bench, way, (int)count);
    if (memcmp(bench->recv[way], bench->recv[MPI_LIBRARY],
               bench->recvSegments * count * sizeof(float)) != 0) {
      fprintf(stderr, "sccl-bench-mpi: error: rank %d: results differ\n",
              bench->rank);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
}

static int compareTimes(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Medians of messages, whose time depends on what else the network does. */
static void measureMessages(struct Bench *bench, size_t bytes, size_t count,
                            int batches) {
  double *times[2] = {calloc((size_t)batches, sizeof(double)),
                      calloc((size_t)batches, sizeof(double))};
  /* Long enough that little of it is the ranks' starting one after the other.
   */
  int launches = bytes < (64 << 10)  ? 50
                 : bytes < (1 << 20) ? 10
                 : bytes < (4 << 20) ? 4
                                     : 1;
  if (!times[0] || !times[1])
    MPI_Abort(MPI_COMM_WORLD, 1);
  compareResults(bench, count);
  for (int batch = 0; batch < batches; ++batch)
    for (int i = 0; i < 2; ++i)
      times[i][batch] =
          runBatch(bench, i ? SCCL_ANY : MPI_LIBRARY, (int)count, launches);
  for (int i = 0; i < 2; ++i)
    qsort(times[i], (size_t)batches, sizeof(double), compareTimes);
  if (bench->rank == 0) {
    double mpi = times[0][batches / 2], sccl = times[1][batches / 2];
    printf("%10zu %12.1f %12.1f %12.1f %12.1f %12.2f\n", bytes, mpi * 1e6,
           sccl * 1e6, times[0][0] * 1e6, times[1][0] * 1e6, mpi / sccl);
    fflush(stdout);
  }
  free(times[0]);
  free(times[1]);
}

static void measure(struct Bench *bench, size_t bytes, size_t count,
                    int batches) {
  double best[NUM_WAYS] = {0};
  /* A batch that the scheduler interrupts is lost, so batches are short. */
  int launches = bytes >= (2 << 20) ? 1 : (int)((2 << 20) / bytes);
  if (launches > 500)
    launches = 500;
  compareResults(bench, count);
  for (int batch = 0; batch < batches; ++batch)
    for (int way = 0; way < NUM_WAYS; ++way) {
      double seconds = runBatch(bench, way, (int)count, launches);
      if (batch == 0 || seconds < best[way])
        best[way] = seconds;
    }
  if (bench->rank == 0) {
    printf("%10zu %12.2f %12.2f %12.2f %12.2f %12.2f\n", bytes,
           best[MPI_LIBRARY] * 1e6, best[SCCL_REGISTERED] * 1e6,
           best[SCCL_ANY] * 1e6, best[MPI_LIBRARY] / best[SCCL_REGISTERED],
           best[MPI_LIBRARY] / best[SCCL_ANY]);
    fflush(stdout);
  }
}

static void prepare(struct Bench *bench, size_t bytes) {
  int isReduce = strcmp(bench->collective, "all_reduce") == 0;
  int isGather = strcmp(bench->collective, "all_gather") == 0;
  if (isBroadcast(bench))
    isReduce = 1; /* buffers are alike */
  if (!isReduce && !isGather && strcmp(bench->collective, "all_to_all") != 0) {
    fprintf(stderr,
            "sccl-bench-mpi: error: the plan is for %s, expected "
            "all_gather, all_reduce, all_to_all or broadcast\n",
            bench->collective);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  bench->sendSegments = isReduce || isGather ? 1 : (size_t)bench->ranks;
  bench->recvSegments = isReduce ? 1 : (size_t)bench->ranks;
  for (int way = 0; way < NUM_WAYS; ++way) {
    void *memory[2];
    for (int i = 0; i < 2; ++i)
      if (way == SCCL_REGISTERED)
        require(scclMemAlloc(bench->comm, bytes, &memory[i]));
      else
        memory[i] = allocate(bytes);
    bench->send[way] = memory[0];
    bench->recv[way] = memory[1];
  }
}

/* Whether some ranks are on other hosts than this one. */
static int isOnSeveralHosts(int ranks) {
  MPI_Comm host;
  int here;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                      &host);
  MPI_Comm_size(host, &here);
  MPI_Comm_free(&host);
  return here < ranks;
}

static void join(struct Bench *bench, const char *path) {
  scclPlanInfo info;
  MPI_Comm_rank(MPI_COMM_WORLD, &bench->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &bench->ranks);
  bench->usesMessages |= isOnSeveralHosts(bench->ranks);
  require(scclPlanLoad(path, &bench->plan));
  info.size = sizeof(info);
  require(scclPlanGetInfo(bench->plan, &info));
  bench->collective = info.collective;
  if (bench->usesMessages)
    require(scclCommInitMPI(MPI_COMM_WORLD, NULL, &bench->comm));
  else
    require(scclCommInit(bench->rank, bench->ranks, allGather, NULL, NULL,
                         &bench->comm));
  require(scclCommLoad(bench->comm, bench->plan));
}

static void printHead(const struct Bench *bench, int batches) {
  if (bench->rank != 0)
    return;
  if (bench->usesMessages)
    printf("# %s, %d ranks, float, median and best of %d interleaved batches, "
           "us\n"
           "#    bytes   MPI median  sccl median     MPI best    sccl best     "
           "MPI/sccl\n",
           bench->collective, bench->ranks, batches);
  else
    printf(
        "# %s, %d ranks, float, best of %d interleaved batches, us\n"
        "#    bytes          MPI   registered          any  MPI/regist.      "
        "MPI/any\n",
        bench->collective, bench->ranks, batches);
}

/* The numbers behind the plan. */
static size_t numberAt(int argc, char **argv, int index, size_t otherwise) {
  return index < argc ? (size_t)strtoull(argv[index], NULL, 10) : otherwise;
}

static void finish(struct Bench *bench) {
  require(scclCommDestroy(bench->comm));
  require(scclPlanDestroy(bench->plan));
  scclFinalizeMPI(0);
}

int main(int argc, char **argv) {
  struct Bench bench;
  size_t most, least;
  int batches, first = 1;
  MPI_Init(&argc, &argv);
  memset(&bench, 0, sizeof(bench));
  if (argc > 1 && strcmp(argv[1], "--messages") == 0)
    bench.usesMessages = first++;
  if (argc <= first || argc > first + 4) {
    fprintf(stderr, "usage: sccl-bench-MPI [--messages] PLAN [MAX_BYTES "
                    "[BATCHES [MIN_BYTES]]]\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  most = numberAt(argc, argv, first + 1, (size_t)64 << 20);
  batches = (int)numberAt(argc, argv, first + 2, 50);
  least = numberAt(argc, argv, first + 3, 0);
  join(&bench, argv[first]);
  prepare(&bench, most);
  printHead(&bench, batches);
  for (size_t bytes = 8; bytes <= most; bytes *= 2) {
    size_t segments = bench.recvSegments;
    size_t count = bytes / segments / sizeof(float);
    int listed = least > 0 || bytes >= 65536 || bytes == 8 || bytes == 1024 ||
                 bytes == 8192;
    if (!listed || count == 0 || bytes < least)
      continue;
    if (bench.usesMessages)
      measureMessages(&bench, count * segments * sizeof(float), count, batches);
    else
      measure(&bench, count * segments * sizeof(float), count, batches);
  }
  finish(&bench);
  return 0;
}
