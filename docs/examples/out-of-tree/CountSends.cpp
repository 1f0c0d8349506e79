//===- CountSends.cpp - A pass outside of sccl's source -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Pipelines/Pipelines.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

using namespace mlir;
using namespace sccl::coll;

namespace {
struct CountSends : PassWrapper<CountSends, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CountSends)
  StringRef getArgument() const override { return "count-sends"; }
  StringRef getDescription() const override {
    return "Say how many sends each schedule has";
  }
  void runOnOperation() override {
    for (auto schedule : getOperation().getOps<ScheduleOp>()) {
      unsigned sends = 0;
      schedule.walk([&](SendOp) { ++sends; });
      schedule.emitRemark() << sends << " sends";
    }
  }
};
} // namespace

int main(int argc, char **argv) {
  DialectRegistry registry;
  sccl::registerPipelineDialects(registry);
  sccl::registerPipelinePasses();
  PassRegistration<CountSends>();
  return asMainReturnCode(
      MlirOptMain(argc, argv, "sccl and one pass\n", registry));
}
