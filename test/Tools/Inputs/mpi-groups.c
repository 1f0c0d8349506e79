/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Splits ranks of MPI that exchange messages, and launches without waiting:
 * mpirun -n 5 mpi-groups all_reduce.sccl multiple|funneled */
#include <sccl/sccl-mpi.h>

#include <stdio.h>
#include <string.h>

static int rank;

static void require(int isRight, const char *what) {
  if (isRight)
    return;
  printf("rank %d: %s: %s\n", rank, what, scclGetLastErrorMessage());
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* One rank has a bad argument: all get an error, and go on. */
static void splitWrongly(scclComm all) {
  scclComm none = NULL;
  scclConfig config = SCCL_CONFIG_INITIALIZER;
  config.timeoutSeconds = rank == 1 ? -1 : 10;
  require(scclCommSplit(all, 0, 0, &config, &none) == scclErrorInvalidArgument,
          "an error for all");
  require(strstr(scclGetLastErrorMessage(), "timeoutSeconds is -1") != NULL,
          "the reason");
}

static void launchMany(scclComm pair, scclPlan plan) {
  enum { LAUNCHES = 200, COUNT = 1000 };
  static float send[LAUNCHES][COUNT], recv[LAUNCHES][COUNT];
  uint64_t tickets[LAUNCHES];
  int sum = rank == 0 || rank == 3 ? 3 : 5;
  for (int i = 0; i < LAUNCHES; ++i)
    for (int j = 0; j < COUNT; ++j)
      send[i][j] = (float)(rank + i);
  for (int i = 0; i < LAUNCHES; ++i)
    require(!scclLaunchAsync(pair, plan, send[i], recv[i], COUNT, scclFloat32,
                             scclSum, &tickets[i]),
            "launch");
  require(!scclWait(pair, tickets[9]), "wait for the tenth");
  require(recv[9][COUNT - 1] == (float)(sum + 18), "the tenth");
  /* One that is not enqueued comes after all that are. */
  require(!scclAllReduce(recv[LAUNCHES - 1], send[0], COUNT, scclFloat32,
                         scclSum, pair, NULL),
          "launch at once");
  require(send[0][0] == (float)(2 * (sum + 2 * (LAUNCHES - 1))), "at once");
  require(!scclWait(pair, tickets[LAUNCHES - 1]), "wait for all");
  for (int i = 0; i < LAUNCHES; ++i)
    require(recv[i][0] == (float)(sum + 2 * i), "sum");
}

int main(int argc, char **argv) {
  scclComm all = NULL, pair = NULL;
  scclPlan plan = NULL;
  int wanted = argc == 3 && strcmp(argv[2], "multiple") == 0
                   ? MPI_THREAD_MULTIPLE
                   : MPI_THREAD_FUNNELED;
  int provided, mine, color;
  MPI_Init_thread(&argc, &argv, wanted, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  require(argc == 3 && provided >= wanted, "threads");
  require(!scclPlanLoad(argv[1], &plan), "plan");
  require(!scclCommInitMPI(MPI_COMM_WORLD, NULL, &all), "init");
  splitWrongly(all);
  /* 0 and 3 make a pair, 4 and 1 another in reverse, 2 none. */
  color = rank == 2 ? SCCL_SPLIT_NOCOLOR : rank % 3;
  require(!scclCommSplit(all, color, -(rank % 3) * rank, NULL, &pair), "split");
  /* The new group stays when the old one goes. */
  require(!scclCommDestroy(all), "destroy");
  require((pair == NULL) == (rank == 2), "a group");
  if (pair) {
    require(!scclCommRank(pair, &mine) && mine == (rank == 3 || rank == 1),
            "rank");
    require(!scclCommLoad(pair, plan), "load");
    launchMany(pair, plan);
    require(!scclCommDestroy(pair), "destroy the pair");
  }
  scclPlanDestroy(plan);
  printf("rank %d: done\n", rank);
  return scclFinalizeMPI(0);
}
