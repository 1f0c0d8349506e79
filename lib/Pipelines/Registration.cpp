//===- Registration.cpp - What the pipelines need to be registered --------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Pipelines/Pipelines.h"

#include "sccl/Conversion/Passes.h"
#include "sccl/Dialect/Coll/CollDialect.h"
#include "sccl/Dialect/CollKernel/CollKernelOps.h"
#include "sccl/Transforms/Passes.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"

using namespace mlir;

void sccl::registerPipelinePasses() {
  registerAllPasses();
  coll::registerCollTransformsPasses();
  coll::registerCollConversionPasses();
  registerPipelines();
}

void sccl::registerPipelineDialects(DialectRegistry &registry) {
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerAllGPUToLLVMIRTranslations(registry);
  registry.insert<coll::CollDialect, collk::CollKernelDialect>();
}
