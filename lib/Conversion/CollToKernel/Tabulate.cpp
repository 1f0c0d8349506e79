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
          (codeShape == CodeShapeChoice::Auto && !isBetterAsTables(program)))
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
    for (KernelOp kernel : kernels) {
      if (kernel.getStep())
        steps = std::max(steps, *kernel.getStep() + 1);
      makeTable(kernel);
    }
    createTableKernels(program, features, steps);
  }
};
} // namespace
