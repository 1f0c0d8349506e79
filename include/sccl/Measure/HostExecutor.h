//===- HostExecutor.h - Run a program on this machine's CPU -----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MEASURE_HOSTEXECUTOR_H
#define SCCL_MEASURE_HOSTEXECUTOR_H

#include "sccl/Conversion/ProgramInfo.h"
#include "sccl/Model/Collective.h"
#include "sccl/Model/ElementType.h"
#include "sccl/Model/Result.h"
#include "sccl/Pipelines/Pipelines.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mlir {
class ExecutionEngine;
class ModuleOp;
} // namespace mlir

namespace sccl {

/// A collective compiled for the CPU: one function per rank, see KernelABI.h.
class HostPlan {
public:
  using RankFunction = void (*)(void *input, void *output, void *scratch,
                                void *control, void *peers, uint64_t *abort,
                                uint64_t segmentBytes, uint64_t distanceBytes,
                                const void *table);

  /// Lowers the one schedule or program in `module` and compiles it with LLVM's
  /// JIT. Consumes `module`. Emits an error and fails if lowering does.
  static mlir::FailureOr<HostPlan> compile(mlir::ModuleOp module,
                                           const LoweringOptions &options);
  HostPlan(HostPlan &&);
  ~HostPlan();

  const Collective &collective() const { return theCollective; }
  const ProgramInfo &info() const { return programInfo; }
  /// True if send and receive buffers may overlap.
  bool allowsInPlace() const { return inPlace; }
  /// The function of `rank`; of step `step` if the program has steps.
  RankFunction function(unsigned rank, unsigned step = 0) const {
    return functions[step * programInfo.numRanks + rank];
  }

  /// What `rank` passes to it as its last argument.
  const void *table(unsigned rank) const {
    return tables.empty() ? nullptr : tables[rank].data();
  }

private:
  explicit HostPlan(Collective collective);
  Collective theCollective;
  ProgramInfo programInfo;
  bool inPlace = false;
  std::vector<RankFunction> functions;
  std::vector<std::string> tables; ///< by rank; none if code is of single ranks
  std::unique_ptr<mlir::ExecutionEngine> engine;
};

/// One measurement.
struct RunOptions {
  uint64_t segmentBytes; ///< see Collective::chunksPerSegment
  /// What the plan was compiled for, as the next.
  ElementType element = *findElementType("f32");
  Reduction reduction = Reduction::Sum;
  unsigned iterations = 10;   ///< launches, every one of them verified
  double timeoutSeconds = 60; ///< for all launches together
  bool inPlace = false;       ///< one buffer for sending and receiving
};

/// What came out.
struct RunReport {
  uint64_t elements = 0;  ///< compared, in all launches
  uint64_t wrong = 0;     ///< of these
  std::string firstWrong; ///< "launch 3, rank 1, output element 17: ..."
  double bestSeconds =
      0;               ///< fastest timed launch, from first start to last end
  std::string failure; ///< timeout or overrun; empty if there was none
  bool ok() const { return wrong == 0 && failure.empty(); }
};

/// Runs `plan` with one thread per rank on recognizable data. The launches
/// follow each other without any reset or barrier in between, with other data
/// each time, and every element of every output is compared; a few more
/// launches are timed. Buffers have guard zones whose overwriting is reported.
/// A launch that does not end in time is aborted. Fails if the plan does not
/// work in place and is to, if the buffers do not fit in memory.
Result<RunReport> runOnHost(const HostPlan &plan, const RunOptions &options);

} // namespace sccl

#endif // SCCL_MEASURE_HOSTEXECUTOR_H
