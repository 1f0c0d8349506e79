/*===- mpi-mismatch.c - Ranks of MPI that make different calls ----*- C -*-===*\
|*                                                                            *|
|* Part of sccl, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* mpirun -n 4 mpi-mismatch HOSTS FIRST COUNT PLAN...                         *|
|*                                                                            *|
|* In each of COUNT cases, from number FIRST on, the ranks make some calls of *|
|* collectives, and in all but one of eight cases one rank makes one of them  *|
|* in another way. Then all ranks have to get scclErrorMismatch, before the   *|
|* limit of time; until then, and without a fault, all data have to be right. *|
|* HOSTS tells where ranks are as far as sccl knows: 1, all share memory; 2,  *|
|* every two of them; 4, none; 0, as MPI says.                                *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include <sccl/sccl-mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS = 4, CALLS = 5, MOST = 40000, PLANS = 8 };
enum Fault {
  None,
  OtherCount,
  NoElements,
  OtherType,
  OtherPlan,
  OtherReduction,
  OtherOrder,
  FailedCall,
  LoadInstead,
  FAULTS
};
static const char *const faultNames[] = {"none",  "count",       "no elements",
                                         "type",  "collective",  "reduction",
                                         "order", "failed call", "load"};

struct Call {
  int plan;
  size_t count;
  scclDataType type;
  scclRedOp op;
};

struct Case {
  enum Fault fault;
  int victim, at, numCalls;
  struct Call calls[CALLS + 1]; /* of all, and the one of the victim */
};

static int rank, hosts, numPlans;
static scclPlan plans[PLANS];
static const char *kinds[PLANS];
static unsigned roots[PLANS];
static int made[FAULTS], wrong;
static const double limit = 20;

/* Each rank that shares memory with no other is a host of its own. */
int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info,
                        MPI_Comm *part) {
  int own;
  if (type != MPI_COMM_TYPE_SHARED || hosts == 0)
    return PMPI_Comm_split_type(comm, type, key, info, part);
  MPI_Comm_rank(comm, &own);
  return PMPI_Comm_split(comm, own * hosts / RANKS, key, part);
}

static unsigned draw(uint64_t *state, unsigned below) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(*state >> 33) % below;
}

static size_t sizeOf(scclDataType type) {
  return type == scclInt64 || type == scclFloat64 ? 8 : 4;
}

/* Small values, so that sums and products are exact in all types. */
static double valueOf(int from, int call, size_t element) {
  return (double)((element * 7 + (size_t)from * 3 + (size_t)call * 5) % 11);
}

static void put(void *buffer, size_t at, scclDataType type, double value) {
  if (type == scclInt32)
    ((int32_t *)buffer)[at] = (int32_t)value;
  else if (type == scclFloat32)
    ((float *)buffer)[at] = (float)value;
  else
    ((double *)buffer)[at] = value;
}

static double get(const void *buffer, size_t at, scclDataType type) {
  if (type == scclInt32)
    return ((const int32_t *)buffer)[at];
  return type == scclFloat32 ? (double)((const float *)buffer)[at]
                             : ((const double *)buffer)[at];
}

static int isKind(const struct Call *call, const char *kind) {
  return strcmp(kinds[call->plan], kind) == 0;
}
static int reduces(const struct Call *call) {
  return isKind(call, "all_reduce") || isKind(call, "reduce") ||
         isKind(call, "reduce_scatter");
}

static double reduced(const struct Call *call, int number, size_t element) {
  double result = valueOf(0, number, element);
  for (int from = 1; from < RANKS; ++from) {
    double other = valueOf(from, number, element);
    if (call->op == scclSum)
      result += other;
    else if (other > result)
      result = other;
  }
  return result;
}

/* What element `i` of the receive buffer has to be. */
static double expected(const struct Call *call, int number, size_t i) {
  size_t count = call->count;
  int root = (int)roots[call->plan];
  if (isKind(call, "reduce_scatter"))
    return reduced(call, number, (size_t)rank * count + i);
  if (reduces(call))
    return reduced(call, number, i);
  if (isKind(call, "broadcast"))
    return valueOf(root, number, i);
  if (isKind(call, "all_gather"))
    return valueOf((int)(i / count), number, i % count);
  return valueOf((int)(i / count), number, (size_t)rank * count + i % count);
}

static size_t sendElements(const struct Call *call) {
  int isWhole = isKind(call, "all_to_all") || isKind(call, "reduce_scatter");
  int isRoot = !isKind(call, "broadcast") || rank == (int)roots[call->plan];
  return isRoot ? call->count * (isWhole ? RANKS : 1) : 0;
}
static size_t recvElements(const struct Call *call) {
  int isWhole = isKind(call, "all_to_all") || isKind(call, "all_gather");
  int isRoot = !isKind(call, "reduce") || rank == (int)roots[call->plan];
  return isRoot ? call->count * (isWhole ? RANKS : 1) : 0;
}

static struct Call drawCall(uint64_t *state) {
  static const scclDataType types[] = {scclInt32, scclFloat32, scclFloat64};
  struct Call call;
  call.plan = (int)draw(state, (unsigned)numPlans);
  call.count = 1 + draw(state, 1u << (1 + draw(state, 14)));
  call.type = types[draw(state, 3)];
  call.op = draw(state, 2) ? scclMax : scclSum;
  return call;
}

static int isSame(const struct Call *a, const struct Call *b) {
  return a->plan == b->plan && a->count == b->count && a->type == b->type &&
         (a->op == b->op || !reduces(a));
}

static void spoil(struct Case *made, uint64_t *state) {
  struct Call *own = &made->calls[made->at], *bad = &made->calls[CALLS];
  *bad = *own;
  switch (made->fault) {
  case OtherCount:
    bad->count += 1 + draw(state, 3) * draw(state, 1000);
    break;
  case NoElements:
    bad->count = 0;
    break;
  case OtherType:
    bad->type = own->type == scclInt32 ? scclFloat32
                : draw(state, 2)       ? scclInt32
                                       : scclFloat64;
    if (bad->type == own->type)
      bad->type = scclInt32;
    break;
  case OtherPlan:
    bad->plan = (own->plan + 1) % numPlans;
    break;
  case OtherReduction:
    bad->op = own->op == scclSum ? scclMax : scclSum;
    break;
  default:
    break;
  }
}

static struct Case drawCase(unsigned number) {
  uint64_t state = number * 2654435761u + 12345;
  struct Case made;
  for (int i = 0; i < 4; ++i)
    draw(&state, 2);
  made.fault = (enum Fault)(number % FAULTS);
  made.victim = (int)draw(&state, RANKS);
  made.numCalls = 2 + (int)draw(&state, CALLS - 1);
  made.at = (int)draw(&state, (unsigned)made.numCalls);
  /* Two calls alike in a row are the hardest to tell apart. */
  for (int i = 0; i < made.numCalls; ++i)
    made.calls[i] =
        i > 0 && draw(&state, 2) ? made.calls[i - 1] : drawCall(&state);
  while (made.fault == OtherReduction && !reduces(&made.calls[made.at]))
    made.calls[made.at] = drawCall(&state);
  if (made.fault == OtherOrder) {
    made.at = (int)draw(&state, (unsigned)made.numCalls - 1);
    while (isSame(&made.calls[made.at], &made.calls[made.at + 1]))
      made.calls[made.at + 1] = drawCall(&state);
  }
  spoil(&made, &state);
  return made;
}

static void report(unsigned number, const struct Case *what,
                   const char *problem) {
  printf("case %u, %s of rank %d in call %d of %d: rank %d: %s\n", number,
         faultNames[what->fault], what->victim, what->at, what->numCalls, rank,
         problem);
  fflush(stdout);
  ++wrong;
}

/* The call that this rank makes in place of number `i`. */
static struct Call callOf(const struct Case *what, int i) {
  int isFaulty = rank == what->victim && what->fault != None;
  if (isFaulty && what->fault == OtherOrder) {
    if (i == what->at || i == what->at + 1)
      return what->calls[2 * what->at + 1 - i];
  } else if (isFaulty && i == what->at) {
    return what->calls[CALLS];
  }
  return what->calls[i];
}

static scclResult make(const struct Case *what, int i, scclComm comm,
                       const void *send, void *recv) {
  struct Call call = callOf(what, i);
  int isFaulty = rank == what->victim && i == what->at;
  if (isFaulty && what->fault == LoadInstead)
    return scclCommLoad(comm, plans[call.plan]);
  /* A type that does not exist fails on all ranks, if they have buffers or
   * not. */
  if (isFaulty && what->fault == FailedCall)
    call.type = (scclDataType)99;
  return scclLaunch(comm, plans[call.plan], send, recv, call.count, call.type,
                    call.op, NULL);
}

/* Makes call `i`, and looks at its data if it goes well. */
static scclResult makeCall(unsigned number, const struct Case *what, int i,
                           scclComm comm, void *send, void *recv) {
  struct Call call = callOf(what, i);
  int isFaulty = rank == what->victim && i >= what->at && what->fault != None;
  scclResult result;
  for (size_t j = 0; j < sendElements(&call); ++j)
    put(send, j, call.type, valueOf(rank, i, j));
  memset(recv, 0xee, recvElements(&call) * sizeOf(call.type));
  result = make(what, i, comm, send, recv);
  if (result != scclSuccess || isFaulty)
    return result;
  for (size_t j = 0; j < recvElements(&call); ++j)
    if (get(recv, j, call.type) != expected(&call, i, j)) {
      report(number, what, "wrong data with success");
      break;
    }
  return result;
}

/* Buffers of calls that fail stay: messages may be under way there. */
static void *makeBuffer(void) { return malloc((size_t)RANKS * MOST * 8); }

/* Joins, and makes the calls; others may be ahead, and have failed. Returns how
 * the last call ended. */
static scclResult makeCalls(unsigned number, const struct Case *what,
                            scclComm *comm, void *send, void *recv) {
  scclConfig config = SCCL_CONFIG_INITIALIZER;
  scclResult result;
  config.timeoutSeconds = limit;
  result = scclCommInitMPI(MPI_COMM_WORLD, &config, comm);
  for (int i = 0; i < numPlans && result == scclSuccess; ++i)
    result = scclCommLoad(*comm, plans[i]);
  for (int i = 0; i < what->numCalls && result == scclSuccess; ++i) {
    result = makeCall(number, what, i, *comm, send, recv);
    /* A program that does not look goes on. */
    if (result == scclErrorInvalidArgument && rank == what->victim &&
        what->fault == FailedCall && i == what->at)
      result = scclSuccess;
  }
  return result;
}

static void run(unsigned number) {
  struct Case what = drawCase(number);
  scclResult right = what.fault == None ? scclSuccess : scclErrorMismatch;
  scclComm comm = NULL;
  void *send = makeBuffer(), *recv = makeBuffer();
  double begin = MPI_Wtime();
  scclResult result = makeCalls(number, &what, &comm, send, recv);
  while (result == scclSuccess && what.fault != None &&
         MPI_Wtime() - begin < limit) {
    usleep(1000);
    result = scclCommGetError(comm);
  }
  ++made[what.fault];
  if (result != right) {
    char text[1024];
    snprintf(text, sizeof(text), "code %d, expected %d: %s", result, right,
             result ? scclGetLastErrorMessage() : "");
    report(number, &what, text);
  } else if (getenv("SCCL_VERBOSE") && result != scclSuccess) {
    printf("case %u, %s: rank %d: %.0f ms: %s\n", number,
           faultNames[what.fault], rank, (MPI_Wtime() - begin) * 1e3,
           scclGetLastErrorMessage());
    fflush(stdout);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  scclCommDestroy(comm);
  if (what.fault == None) {
    free(send);
    free(recv);
  }
}

int main(int argc, char **argv) {
  int numRanks, all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &numRanks);
  if (argc < 5 || argc > 4 + PLANS || numRanks != RANKS)
    return 1;
  hosts = atoi(argv[1]);
  numPlans = argc - 4;
  for (int i = 0; i < numPlans; ++i) {
    scclPlanInfo info;
    info.size = sizeof(info);
    if (scclPlanLoad(argv[4 + i], &plans[i]) ||
        scclPlanGetInfo(plans[i], &info)) {
      printf("%s: %s\n", argv[4 + i], scclGetLastErrorMessage());
      return 1;
    }
    kinds[i] = info.collective;
    roots[i] = (unsigned)info.root;
  }
  unsigned first = (unsigned)atoi(argv[2]), count = (unsigned)atoi(argv[3]);
  for (unsigned number = first; number < first + count; ++number)
    run(number);
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    for (int i = 0; i < FAULTS; ++i)
      printf("%s%s %d", i ? ", " : "", faultNames[i], made[i]);
    printf("\n%u cases, %d wrong\n", count, all);
    fflush(stdout);
  }
  hosts = 0;
  return scclFinalizeMPI(all != 0);
}
