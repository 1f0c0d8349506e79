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

#include <optional>
#include <set>

namespace sccl::collk {

/// The kinds of rows that tables have; the kernel has code for no others.
struct TableFeatures {
  bool reduces = false; ///< in plain memory
  std::set<coll::LLShape> ll;

  /// Adds those of `kernel`.
  void note(KernelOp kernel);
};

/// Which operands of a copy or a reduction hold LL words.
coll::LLShape shapeOf(CopyOp copy);
coll::LLShape shapeOf(ReduceOp reduce);

/// Creates the kernel for all ranks at the builder's insertion point. In one
/// for step `step`, launches are not counted, and there are no flags.
KernelOp createTableKernel(mlir::OpBuilder &builder, mlir::Location loc,
                           const TableFeatures &features,
                           std::optional<unsigned> step);

} // namespace sccl::collk

#endif // SCCL_LIB_CONVERSION_COLLTOKERNEL_TABLEKERNEL_H
