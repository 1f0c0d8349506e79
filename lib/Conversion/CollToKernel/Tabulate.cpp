//===- Tabulate.cpp - From kernels of ranks to tables and one kernel ------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Conversion/Passes.h"

#include "TableKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::collk;

namespace sccl::coll {
#define GEN_PASS_DEF_TABULATEKERNELS
#include "sccl/Conversion/Passes.h.inc"
} // namespace sccl::coll

/// Kernels of programs for up to so many ranks, with up to so many rows each,
/// stay code: on NVIDIA that takes 64 registers, where tables take 76.
static constexpr unsigned ranksAsCode = 8, rowsAsCode = 512;

/// The rows that a table of `kernel` would have.
static unsigned countRows(KernelOp kernel) {
  unsigned rows = 0;
  kernel.walk([&](Operation *op) {
    rows += isa<CopyOp, ReduceOp, SignalOp, WaitOp, JoinOp>(op);
  });
  return rows;
}

/// True if code for each rank would be longer than code for all of them.
static bool isLong(ProgramOp program) {
  if (program.getRanks() > ranksAsCode)
    return true;
  return llvm::any_of(
      program.getBody().getOps<KernelOp>(),
      [](KernelOp kernel) { return countRows(kernel) > rowsAsCode; });
}

namespace {
struct TabulateKernelsPass
    : coll::impl::TabulateKernelsBase<TabulateKernelsPass> {
  using TabulateKernelsBase::TabulateKernelsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<ProgramOp> programs;
    TableFeatures features;
    for (ProgramOp program : module.getOps<ProgramOp>()) {
      auto kernels = program.getBody().getOps<KernelOp>();
      bool isTabulated = llvm::any_of(
          kernels, [](KernelOp kernel) { return !kernel.getRank(); });
      if (isTabulated || codeShape == CodeShapeChoice::Unrolled ||
          (codeShape == CodeShapeChoice::Auto && !isLong(program)))
        continue;
      programs.push_back(program);
      llvm::for_each(kernels, [&](KernelOp kernel) { features.note(kernel); });
    }
    for (ProgramOp program : programs)
      tabulate(program, features);
  }

  static void tabulate(ProgramOp program, const TableFeatures &features) {
    SmallVector<KernelOp> kernels(program.getBody().getOps<KernelOp>());
    unsigned steps = 0;
    OpBuilder builder(program.getContext());
    for (KernelOp kernel : kernels) {
      if (kernel.getStep())
        steps = std::max(steps, *kernel.getStep() + 1);
      builder.setInsertionPoint(kernel);
      auto table = TableOp::create(builder, kernel.getLoc(),
                                   kernel.getRankAttr(), kernel.getStepAttr());
      table.getBody().takeBody(kernel.getBody());
      kernel.erase();
    }
    builder.setInsertionPointToEnd(&program.getBody().front());
    if (steps == 0)
      createTableKernel(builder, program.getLoc(), features, std::nullopt);
    for (unsigned step = 0; step < steps; ++step)
      createTableKernel(builder, program.getLoc(), features, step);
  }
};
} // namespace
