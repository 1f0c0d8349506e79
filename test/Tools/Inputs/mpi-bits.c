/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Adds up numbers that round, and prints a hash of all bits, which threads can
 * have as well: mpi-bits PLAN f32|bf16, on ranks of MPI; mpi_bits.py on
 * threads. */
#include <sccl/sccl-mpi.h>

#include <stdio.h>
#include <string.h>

enum { COUNT = 100003 };

static void require(int isRight, const char *what) {
  if (isRight)
    return;
  printf("%s: %s\n", what, scclGetLastErrorMessage());
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv) {
  static uint32_t send[COUNT], recv[COUNT];
  static uint16_t shortSend[COUNT], shortRecv[COUNT];
  scclComm comm = NULL;
  scclPlan plan = NULL;
  int rank, isShort;
  uint32_t state, hash = 2166136261u;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  require(argc == 3, "arguments");
  isShort = strcmp(argv[2], "bf16") == 0;
  state = 12345u + 7919u * (uint32_t)rank;
  for (int i = 0; i < COUNT; ++i) {
    state = state * 1664525u + 1013904223u;
    /* From 2^-7 to 2^9, of either sign. */
    send[i] = (state & 0x87ffffffu) | 0x3c000000u;
    shortSend[i] = (uint16_t)(send[i] >> 16);
  }
  require(!scclPlanLoad(argv[1], &plan), "plan");
  require(!scclCommInitMPI(MPI_COMM_WORLD, NULL, &comm), "init");
  require(!scclCommLoad(comm, plan), "load");
  require(!scclAllReduce(isShort ? (void *)shortSend : (void *)send,
                         isShort ? (void *)shortRecv : (void *)recv, COUNT,
                         isShort ? scclBfloat16 : scclFloat32, scclSum, comm,
                         NULL),
          "launch");
  for (int i = 0; i < COUNT; ++i)
    hash = (hash ^ (isShort ? shortRecv[i] : recv[i])) * 16777619u;
  printf("%s: %08x\n", argv[2], (unsigned)hash);
  require(!scclCommDestroy(comm), "destroy");
  scclPlanDestroy(plan);
  return scclFinalizeMPI(0);
}
