//===- TableKernel.h - The kernel that executes tables ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COLLTOKERNEL_TABLEKERNEL_H
#define SCCL_LIB_CONVERSION_COLLTOKERNEL_TABLEKERNEL_H

#include "../Common/LLHelpers.h"
#include "sccl/Dialect/CollKernel/CollKernelOps.h"

#include "mlir/IR/Builders.h"

#include <set>

namespace sccl::collk {

/// The kinds of rows that tables have; the kernel has code for no others.
struct TableFeatures {
  bool reduces = false;                 ///< in plain memory
  std::set<coll::TransferShape> shapes; ///< all others

  /// Adds those of `kernel`.
  void note(KernelOp kernel);
  void merge(const TableFeatures &other);
};

/// Which operands of a copy or a reduction hold LL words, and which of them a
/// switch does.
coll::TransferShape shapeOf(CopyOp copy);
coll::TransferShape shapeOf(ReduceOp reduce);
coll::TransferShape shapeOf(LoadReduceOp reduce);
/// The same of any op; nothing if it does not move chunks.
std::optional<coll::TransferShape> shapeOf(mlir::Operation *op);

/// True if tables are better for programs for so many ranks, however long.
bool isBetterAsTables(unsigned numRanks);
/// True if code for each rank would be longer than code for all of them.
bool isBetterAsTables(ProgramOp program);

/// Makes the kernel of one rank its table.
TableOp makeTable(KernelOp kernel);

/// Adds the kernel for all ranks to `program`. With `steps` there is one for
/// each step, in which launches are not counted, and there are no flags.
void createTableKernels(ProgramOp program, const TableFeatures &features,
                        unsigned steps);

} // namespace sccl::collk

#endif // SCCL_LIB_CONVERSION_COLLTOKERNEL_TABLEKERNEL_H
