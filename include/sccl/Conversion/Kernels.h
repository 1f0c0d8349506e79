//===- Kernels.h - What programs become before code -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_CONVERSION_KERNELS_H
#define SCCL_CONVERSION_KERNELS_H

#include "sccl/ABI/ProgramInfo.h"
#include "sccl/Options/LoweringOptions.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace sccl {

namespace coll {
class ProgramOp;
} // namespace coll

/// What convert-coll-to-kernel and collk-tabulate make of a program.
struct Kernels {
  ProgramInfo info; ///< of the program
  /// A `collk.program`, in a module of its own, without its tables.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// By rank, the bytes of the table that the rank passes to its functions
  /// (RankTable.h). Empty if the program has kernels for single ranks.
  std::vector<std::string> tables;
  /// Likewise what the rank passes to functions for a GPU that are traced
  /// (TraceTable.h); otherwise empty.
  std::vector<std::string> traceTables;
};

/// The kernels of `program` for a host or for thread blocks, `program` stays.
/// With `traced` they have marks, and are not tables: fails with that shape. If
/// they are `unweighted`, they cannot form averages.
/// Of ops that become rows of tables, only those of one rank exist at a time.
/// Emits an error and fails where convert-coll-to-kernel does.
mlir::FailureOr<Kernels> makeKernels(coll::ProgramOp program,
                                     CodeShapeChoice shape, bool host,
                                     bool traced, bool unweighted = false);

} // namespace sccl

#endif // SCCL_CONVERSION_KERNELS_H
