//===- ProgramConverter.h - The kernels of one program ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COLLTOKERNEL_PROGRAMCONVERTER_H
#define SCCL_LIB_CONVERSION_COLLTOKERNEL_PROGRAMCONVERTER_H

#include "ChannelBuilder.h"

#include "sccl/Conversion/ProgramInfo.h"
#include "sccl/Model/Collective.h"

#include <memory>

namespace sccl::coll {

/// Makes the kernels of one program, rank by rank.
class ProgramConverter {
public:
  /// For a host, or for thread blocks; with marks if it is `traced`. Emits an
  /// error and fails if the program is not finished, with copies by engines but
  /// without barriers, or cannot be for a host.
  static mlir::FailureOr<std::unique_ptr<ProgramConverter>>
  make(ProgramOp program, const Collective &collective, bool host,
       bool traced = false, bool unweighted = false);

  const ProgramInfo &info() const { return theInfo; }

  /// Creates a program that kernels may go into, at the insertion point of
  /// `builder`.
  collk::ProgramOp createProgram(mlir::OpBuilder &builder);
  /// Adds the kernel of `rank` to `result`, or one for each step. Once for each
  /// rank; different threads may add to different programs.
  void emit(RankOp rank, collk::ProgramOp result);

private:
  /// What is executed one after the other, by part: parts are what barriers
  /// divide a program into.
  using Parts = std::vector<llvm::SmallVector<mlir::Operation *>>;

  ProgramConverter(ProgramOp program, Collective collective,
                   AverageWords averages, bool host, bool traced);

  llvm::LogicalResult orderForHost();
  llvm::LogicalResult checkSwitches();
  std::vector<Parts> partsOf(RankOp rank);
  uint64_t countSlots() const;

  ProgramOp program;
  bool host;
  Collective collective;
  ProgramContext context;
  ProgramInfo theInfo;
  uint64_t slots;           ///< see countSlots
  std::vector<Parts> order; ///< on a host, by rank: all channels
};

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COLLTOKERNEL_PROGRAMCONVERTER_H
