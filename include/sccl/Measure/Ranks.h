//===- Ranks.h - Starting ranks on this machine -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MEASURE_RANKS_H
#define SCCL_MEASURE_RANKS_H

#include "sccl/sccl.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <vector>

namespace sccl {

/// MPI: the processes that mpirun has started, of which this is one; that of
/// Open MPI or MPICH, or whichever it is.
enum class RanksAs { Threads, Processes, MPI, OpenMPI, MPICH };

/// True for ranks that some mpirun starts.
inline bool isMPI(RanksAs kind) { return kind >= RanksAs::MPI; }

/// "threads", "processes", "mpi", "openmpi" or "mpich", and back.
llvm::StringRef ranksAsName(RanksAs kind);
std::optional<RanksAs> parseRanksAs(llvm::StringRef name);

/// One rank's end of an all-gather among all ranks.
struct RankEnd {
  unsigned rank;
  unsigned numRanks;
  scclAllGatherFn allGather;
  void *context;
  /// Makes a transport for all ranks, collectively; null if they have none.
  using MakeTransport = scclResult (*)(scclTransport *transport);
  MakeTransport makeTransport = nullptr;
  bool isOnSeveralHosts = false;
  /// For ranks of MPI: set when others cannot be reached any more.
  bool *cut = nullptr;

  /// Takes the others for lost.
  void giveUp() const {
    if (cut)
      *cut = true;
  }
  /// Whether the others do not hear this rank any more, so that it has to say
  /// itself what went wrong.
  bool isCut() const { return cut && *cut; }
  /// Gathers `mine` from all ranks. Returns false if a rank has gone.
  template <typename T> bool gather(const T &mine, std::vector<T> &all) const {
    all.resize(numRanks);
    bool isDone =
        !isCut() && allGather(context, &mine, all.data(), sizeof(T)) == 0;
    if (!isDone)
      giveUp();
    return isDone;
  }
};

/// Runs `body` once per rank, at the same time, and returns the largest of
/// their results; with MPI, once in each process, and returns its result.
/// Processes are children of this one, connected to it by
/// sockets; when one ends, the others' next all-gather fails. Returns 1 if a
/// process cannot be started or dies of a signal, or if sccl was not built with
/// the MPI whose mpirun has started this process.
///
/// With a `limitSeconds` children cannot keep this process waiting by being
/// stopped: one that comes to an all-gather so much later than another is
/// killed, and so are those that end so much later than one that failed. Rank 0
/// may take its time when the others are done. With MPI, an all-gather that
/// takes so much longer fails, and all ranks end. 0: no limit.
int runRanks(unsigned numRanks, RanksAs kind,
             llvm::function_ref<int(const RankEnd &)> body,
             double limitSeconds = 0);

/// `code`, or 1 if standard output took less than was printed; prints why. For
/// the end of a process.
int afterFlush(int code);

/// OpenMPI or MPICH if its mpirun has started this process, or nothing.
std::optional<RanksAs> startedBy();
/// Becomes the mpirun of `kind`, which starts `numRanks` processes with the
/// command line `arguments`. Returns only if that fails, with 1.
int becomeMpirun(unsigned numRanks, RanksAs kind,
                 llvm::ArrayRef<const char *> arguments);

} // namespace sccl

#endif // SCCL_MEASURE_RANKS_H
