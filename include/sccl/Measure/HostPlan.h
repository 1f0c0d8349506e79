//===- HostPlan.h - A program as a plan for this machine --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MEASURE_HOSTPLAN_H
#define SCCL_MEASURE_HOSTPLAN_H

#include "sccl/Measure/PlanRank.h"
#include "sccl/Pipelines/Pipelines.h"
#include "sccl/Plan/PlanBuilder.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace sccl {

/// A plan in memory, with one program, or the same one twice, and code for this
/// machine's CPU. Peers access the caller's buffers whatever the size, if the
/// program lets them and they can.
struct HostPlan {
  std::string bytes; ///< as in a file
  plan::Manifest manifest;

  const plan::ProgramEntry &program() const { return manifest.programs.back(); }

  /// Compiles the one schedule or program in `module`, lowered as `options`
  /// say, for this host or a `target` such as "sm_90", and with `messages` for
  /// ranks on several hosts as well. Emits an error and fails if there is
  /// another number of them, or if it cannot be compiled. Code in `known` is
  /// used again.
  static mlir::FailureOr<HostPlan> compile(mlir::ModuleOp module,
                                           const LoweringOptions &options,
                                           llvm::StringRef target = "",
                                           bool messages = false,
                                           KnownCode *known = nullptr);
};

/// Collective. What one rank does to measure `plan`: joins the others,
/// measures, and leaves. Fails as these do.
Result<Measurement> measureOnRank(const HostPlan &plan,
                                  const MeasureRequest &request,
                                  const scclConfig &config, const RankEnd &end);

/// Measures `plan` with ranks as threads of this process. Fails as
/// PlanRank::measure does, and if the buffers do not fit in memory. Of a launch
/// without progress for `timeoutSeconds` too.
Result<Measurement> measureOnThreads(const HostPlan &plan,
                                     const MeasureRequest &request,
                                     double timeoutSeconds = 60);

} // namespace sccl

#endif // SCCL_MEASURE_HOSTPLAN_H
