//===- GinPatterns.h - Ops that go from box to box --------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COLLTONCCLDEVICE_GINPATTERNS_H
#define SCCL_LIB_CONVERSION_COLLTONCCLDEVICE_GINPATTERNS_H

#include "../KernelPatterns/KernelPatterns.h"
#include "Crossings.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace sccl::collk {

/// What becomes of ops that cross boxes, in the functions of a program.
struct GinLowering {
  KernelLowering &kernels;
  const Crossings &crossings;
  /// By function; only looked up.
  llvm::DenseMap<mlir::Operation *, unsigned> ranks{};

  unsigned rankOf(mlir::Operation *op) const;
};

/// Prepares the function of a rank, which holds collk ops: flags of one op are
/// all of this box, or none is; and before memory that has been put may be
/// written again, by whomever, the block waits until it has been read.
void prepareCrossings(mlir::gpu::GPUFuncOp function,
                      const GinLowering &lowering);

/// Adds patterns for copies, signals and waits that cross boxes.
void addGinPatterns(mlir::RewritePatternSet &patterns,
                    const mlir::TypeConverter &converter,
                    const GinLowering &lowering);

} // namespace sccl::collk

#endif // SCCL_LIB_CONVERSION_COLLTONCCLDEVICE_GINPATTERNS_H
