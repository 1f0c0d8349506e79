//===- Frame.h - Where code finds the arguments of its rank -----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_KERNELPATTERNS_FRAME_H
#define SCCL_LIB_CONVERSION_KERNELPATTERNS_FRAME_H

#include "sccl/ABI/KernelABI.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace sccl::collk {

/// The arguments of a rank's function, and which block executes it.
struct Frame {
  /// By Argument; empty if they are in memory.
  llvm::SmallVector<mlir::Value> arguments;
  /// The RankArguments that hold them. Those of kernels stand in constant
  /// memory, and registers that held them across calls would be too many, so
  /// they are loaded for each use.
  mlir::Value record;
  /// Among the blocks of the rank, as i32; null where there is one thread.
  mlir::Value blockIndex;

  mlir::Value get(mlir::OpBuilder &builder, mlir::Location loc,
                  Argument argument) const;
  /// The blocks that the launch has for each channel, as i32.
  mlir::Value getBlocks(mlir::OpBuilder &builder, mlir::Location loc) const;
};

/// The types of the arguments, for pointers of type `pointer`.
llvm::SmallVector<mlir::Type> argumentTypes(mlir::Type pointer);

/// `base`, `bytes` bytes further.
mlir::Value byteOffset(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value base, mlir::Value bytes);
mlir::Value byteOffset(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value base, uint64_t bytes);

/// The frames of a module, by the op whose regions they are for.
class Frames {
public:
  void add(mlir::Operation *scope, Frame frame) {
    frames[scope] = std::move(frame);
  }
  /// That of the innermost op around `op` that has one.
  const Frame &of(mlir::Operation *op) const;

private:
  llvm::DenseMap<mlir::Operation *, Frame> frames; // looked up, not iterated
};

} // namespace sccl::collk

#endif // SCCL_LIB_CONVERSION_KERNELPATTERNS_FRAME_H
