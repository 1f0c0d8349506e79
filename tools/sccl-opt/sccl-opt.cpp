//===- sccl-opt.cpp - Run passes on .mlir files ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Pipelines/Pipelines.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  sccl::registerPipelineDialects(registry);
  sccl::registerPipelinePasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "sccl optimizer\n", registry));
}
