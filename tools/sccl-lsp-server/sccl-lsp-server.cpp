//===- sccl-lsp-server.cpp - Language server for .mlir files with coll ----===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Options/Help.h"
#include "sccl/Pipelines/Pipelines.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  sccl::hideForeignOptions();
  mlir::DialectRegistry registry;
  sccl::registerPipelineDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
