/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What goes wrong around communicators of MPI, on two ranks:
 * mpirun -n 2 mpi-corners all_reduce.sccl */
#include <sccl/sccl-mpi.h>

#include <stdio.h>
#include <string.h>

/* Of the library, for the tools. */
SCCL_API scclResult scclMpiWorld(scclTransport *transport);

static int rank;

static void require(int isRight, const char *what) {
  if (isRight)
    return;
  printf("rank %d: %s: %s\n", rank, what, scclGetLastErrorMessage());
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
static int says(const char *text) {
  return strstr(scclGetLastErrorMessage(), text) != NULL;
}

static void joinWrongly(void) {
  scclComm comm = NULL;
  MPI_Comm other;
  require(scclCommInitMPI(MPI_COMM_NULL, NULL, &comm) ==
                  scclErrorInvalidArgument &&
              says("MPI_COMM_NULL"),
          "no communicator");
  MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - rank, 7, &other);
  require(scclCommInitMPI(other, NULL, &comm) == scclErrorInvalidArgument &&
              says("intercommunicator"),
          "an intercommunicator");
  MPI_Comm_free(&other);
}

/* MPICH has 2,046 communicators at a time, which leaves few here. */
static void joinWithoutAResult(void) {
#ifdef MPICH_VERSION
  enum { TAKEN = 1950, TURNS = 100 };
#else
  enum { TAKEN = 1, TURNS = 10 };
#endif
  static MPI_Comm taken[TAKEN];
  for (int i = 0; i < TAKEN; ++i)
    MPI_Comm_dup(MPI_COMM_SELF, &taken[i]);
  for (int i = 0; i < TURNS; ++i) {
    scclComm comm = NULL;
    require(scclCommInitMPI(MPI_COMM_WORLD, NULL, rank == 1 ? NULL : &comm) ==
                    scclErrorInvalidArgument &&
                says("comm is null"),
            "a null result on one rank");
  }
  for (int i = 0; i < TAKEN; ++i)
    MPI_Comm_free(&taken[i]);
}

/* The first of two messages is longer than there is room for. */
static void receiveTooMuch(size_t room) {
  static char data[200000];
  scclTransport wire;
  scclCompletion ended;
  int count = 0, error = 0, isTaken = 0;
  require(!scclMpiWorld(&wire) && !wire.reserve(wire.context, 2), "transport");
  if (rank == 0)
    error = wire.send(wire.context, 0, data, 2 * room, 1, 3);
  else
    error = wire.receive(wire.context, 0, data, room, 0, 3);
  require(!error, "a message");
  while (!error && !isTaken) {
    error = wire.poll(wire.context, &ended, 1, &count);
    isTaken = count == 1;
  }
  require(!error && (rank == 0 || (!ended.error && ended.bytes > room)),
          "a message that is too long");
  MPI_Barrier(MPI_COMM_WORLD);
  wire.close(wire.context, 0);
}

int main(int argc, char **argv) {
  static float send[1000], recv[1000];
  scclComm comm = NULL, late = NULL;
  scclPlan plan = NULL;
  MPI_Errhandler handler;
  require(scclCommInitMPI(MPI_COMM_WORLD, NULL, &comm) ==
                  scclErrorInvalidArgument &&
              says("MPI is not initialized"),
          "before MPI_Init");
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  joinWrongly();
  joinWithoutAResult();
  receiveTooMuch(100);
  receiveTooMuch(100000);
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
  require(handler == MPI_ERRORS_ARE_FATAL, "the program's handler");
  require(
      argc == 2 && !scclPlanLoad(argv[1], &plan) &&
          !scclCommInitMPI(MPI_COMM_WORLD, NULL, &comm) &&
          !scclCommLoad(comm, plan) &&
          !scclLaunch(comm, plan, send, recv, 1000, scclFloat32, scclSum, NULL),
      "a launch");
  require(MPI_Finalize() == MPI_SUCCESS, "MPI_Finalize");
  require(scclCommInitMPI(MPI_COMM_WORLD, NULL, &late) ==
                  scclErrorInvalidArgument &&
              says("MPI_Finalize was called"),
          "joins after MPI_Finalize");
  require(scclLaunch(comm, plan, send, recv, 1000, scclFloat32, scclSum,
                     NULL) == scclErrorSystem &&
              says("MPI_Finalize was called"),
          "launches after MPI_Finalize");
  require(!scclCommDestroy(comm), "destroys after MPI_Finalize");
  printf("rank %d: done\n", rank);
  return 0;
}
