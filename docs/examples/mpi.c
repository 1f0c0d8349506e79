/* Sums a vector over all ranks: mpirun -n 2 ./mpi all_reduce.sccl */
#include <mpi.h>
#include <sccl/sccl.h>
#include <stdio.h>

static int gather(void *comm, const void *mine, void *all, size_t bytes) {
  return MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE,
                       *(MPI_Comm *)comm) != MPI_SUCCESS;
}

int main(int argc, char **argv) {
  MPI_Comm world = MPI_COMM_WORLD;
  int rank, ranks;
  scclPlan plan = NULL;
  scclComm comm = NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &ranks);
  float send[] = {1, 2, 3, (float)rank}, recv[4];
  if (argc != 2 || scclPlanLoad(argv[1], &plan) ||
      scclCommInit(rank, ranks, gather, &world, NULL, &comm) ||
      scclCommLoad(comm, plan) ||
      scclAllReduce(send, recv, 4, scclFloat32, scclSum, comm, NULL)) {
    fprintf(stderr, "rank %d: %s\n", rank, scclGetLastErrorMessage());
    MPI_Abort(world, 1);
  }
  printf("rank %d: %g %g %g %g\n", rank, recv[0], recv[1], recv[2], recv[3]);
  scclCommDestroy(comm);
  scclPlanDestroy(plan);
  return MPI_Finalize();
}
