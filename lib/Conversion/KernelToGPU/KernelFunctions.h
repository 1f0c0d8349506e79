//===- KernelFunctions.h - The functions that kernels become ----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_KERNELTOGPU_KERNELFUNCTIONS_H
#define SCCL_LIB_CONVERSION_KERNELTOGPU_KERNELFUNCTIONS_H

#include "../KernelPatterns/KernelPatterns.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace sccl::collk {

/// Creates the GPU functions of a program. What they execute stays collk ops,
/// with frames around them.
class KernelFunctions {
public:
  /// Functions go to the builder's insertion point.
  KernelFunctions(mlir::OpBuilder &builder, ProgramOp program,
                  KernelLowering &lowering, const coll::HelperOptions &options);

  /// A function for each kernel, which takes its body; with `isVirtual` one
  /// more that runs all ranks.
  void create(bool isVirtual);
  /// True if the program has one kernel for all ranks.
  bool haveTables() const { return !tableKernels.empty(); }

private:
  mlir::gpu::GPUFuncOp createFunction(llvm::StringRef name, bool isVirtual);
  void addAttributes(mlir::gpu::GPUFuncOp function);
  mlir::Value constant(int64_t value);
  mlir::Value blockIndex();
  Frame directFrame(mlir::gpu::GPUFuncOp function);
  void createRankFunction(KernelOp kernel);
  void createTableFunction(KernelOp kernel);
  void createVirtualRanks();
  void createVirtualTable();
  mlir::Value findRecord(mlir::Value ranks, mlir::Value index,
                         mlir::Value &indexInRank);
  mlir::Value loadWord(mlir::Value base, uint64_t bytes);
  mlir::scf::IfOp ifPresent(mlir::Value record);
  /// Begins a switch over channels, which have so many times the `blocks` of
  /// the launch, and calls `emit` for each, with the number of the block within
  /// it.
  void switchOver(mlir::Value blocks, llvm::ArrayRef<unsigned> spreads,
                  llvm::function_ref<void(unsigned, mlir::Value)> emit);
  mlir::Value channelOf(mlir::Value group, llvm::ArrayRef<unsigned> spreads);
  mlir::Value blocksOf(const Frame &frame);
  void noteGridSize(mlir::gpu::GPUFuncOp function,
                    llvm::ArrayRef<unsigned> spreads);
  /// Copies `body` to the insertion point, with `block` for its argument.
  void copyBody(mlir::Block &body, mlir::Value block);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  ProgramOp program;
  KernelLowering &lowering;
  const coll::HelperOptions &options;
  llvm::SmallVector<KernelOp> rankKernels, tableKernels;
};

} // namespace sccl::collk

#endif // SCCL_LIB_CONVERSION_KERNELTOGPU_KERNELFUNCTIONS_H
