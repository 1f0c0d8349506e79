//===- sccl-opt.cpp - Run passes on .mlir files ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Conversion/Passes.h"
#include "sccl/Dialect/Coll/CollDialect.h"
#include "sccl/Transforms/Passes.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<sccl::coll::CollDialect>();
  mlir::registerAllPasses();
  sccl::coll::registerCollConversionPasses();
  sccl::coll::registerCollTransformsPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "sccl optimizer\n", registry));
}
