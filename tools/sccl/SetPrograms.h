//===- SetPrograms.h - Programs as files of another executor ----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_SETPROGRAMS_H
#define SCCL_TOOLS_SCCL_SETPROGRAMS_H

#include "PlanFabric.h"

#include "sccl/Advice/Advice.h"
#include "sccl/Exchange/AlgorithmSet.h"
#include "sccl/Exchange/Msccl.h"
#include "sccl/Exchange/Mscclpp.h"
#include "sccl/Model/Program.h"

#include <bit>
#include <memory>

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace sccl::driver {

/// A program that may be written: a candidate in pieces, with LL words or not.
struct ProgramKey {
  size_t candidate; ///< the first one of its schedule, and of its order
  unsigned pieces;
  bool usesLL;
  auto operator<=>(const ProgramKey &) const = default;
};

/// A program that was lowered, for the executor and for the clock.
struct LoweredProgram {
  Collective collective;
  Program program;
  Traffic traffic; ///< of chunks of one byte
};

/// As a file without sizes, or why the executor does not take it.
struct Written {
  std::optional<exchange::MscclppPlan> plan;
  std::optional<exchange::MscclAlgorithm> algorithm;
  uint64_t multiple = 1;        ///< see SetFile
  uint64_t most = ~uint64_t(0); ///< that it addresses, of the larger buffer
  std::string reason;           ///< empty if it does
};

/// The programs that were advised, and what becomes of them for an executor.
class SetPrograms {
public:
  SetPrograms(mlir::MLIRContext &context, exchange::SetExecutor executor,
              const NamedFabric &named, const Advice &advice,
              const LoweringOptions &options);

  /// Without files.
  exchange::AlgorithmSet emptySet() const { return set; }
  bool isPlans() const {
    return set.executor == exchange::SetExecutor::Mscclpp;
  }
  /// Bytes of the larger buffer for each one that is sent.
  uint64_t scale() const {
    return set.kind == CollectiveKind::AllGather ? set.ranks : 1;
  }
  /// The program that `size` advises, without LL words where the executor has
  /// none.
  ProgramKey keyOf(const SizeAdvice &size) const;
  /// All that was advised, in its pieces and in fewer, with LL words if keyOf()
  /// has them, by their estimates for `size`.
  std::vector<ProgramKey> othersFor(const SizeAdvice &size) const;
  /// The program as a file. Fails if it cannot be lowered.
  Result<const Written *> write(const ProgramKey &key, bool inPlace);
  /// Why calls from `least` to `most` bytes are not for a file; empty if they
  /// are: multiples of the power of two that is next to the least have to be.
  std::string misfit(const Written &written, uint64_t least,
                     uint64_t most) const;
  /// True if it is known that there is no file of the program.
  bool isRefused(const ProgramKey &key, bool inPlace) const;
  /// Microseconds of a call whose larger buffer has `bytes` bytes; before the
  /// program is written those of one that is not cut for powers of two.
  /// Fails if it cannot be lowered, or does not come to an end.
  Result<double> timeOf(const ProgramKey &key, uint64_t bytes);
  /// The text of `written` for the calls that `file` is for, which is given its
  /// name.
  std::string textOf(exchange::SetFile &file, const Written &written) const;
  /// As "C = 8, S = 3, P = 2, 4 pieces at 2, push".
  std::string describe(const ProgramKey &key) const;

private:
  ProgramKey keyFor(size_t candidate, unsigned pieces, bool usesLL) const;
  unsigned chunksOf(const ProgramKey &key) const;
  bool isUneven(const ProgramKey &key) const {
    return !std::has_single_bit(chunksOf(key));
  }
  Result<const LoweredProgram *> lower(const ProgramKey &key, bool isCut);
  Written written(const LoweredProgram &lowered, const ProgramKey &key,
                  bool inPlace) const;

  mlir::MLIRContext &context;
  const NamedFabric &named;
  const Advice &advice;
  const LoweringOptions options;
  exchange::AlgorithmSet set;
  /// By whether chunks are cut for powers of two, too. Null if they cannot be.
  std::map<std::pair<ProgramKey, bool>, std::unique_ptr<LoweredProgram>>
      programs;
  std::map<std::pair<ProgramKey, bool>, Written> files; ///< by place, too
};

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_SETPROGRAMS_H
