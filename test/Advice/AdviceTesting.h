//===- AdviceTesting.h - Random fabrics and what programs take --*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_ADVICE_ADVICETESTING_H
#define SCCL_TEST_ADVICE_ADVICETESTING_H

#include "sccl/Advice/Advice.h"

#include "mlir/IR/MLIRContext.h"

#include <optional>
#include <random>

namespace sccl {

/// A context with all that pipelines make.
class PipelineContext {
public:
  PipelineContext();
  mlir::MLIRContext &get() { return context; }

private:
  mlir::MLIRContext context;
};

/// Blocks of ranks, all joined within, and some links between, which share what
/// goes out of their ranks.
Fabric randomFabric(std::mt19937 &random);

/// What a lowered program takes for send buffers of `bytes` bytes.
std::optional<double> timeOf(mlir::MLIRContext &context, const Fabric &fabric,
                             const Implementation &implementation,
                             const LoweringOptions &options, double bytes);

} // namespace sccl

#endif // SCCL_TEST_ADVICE_ADVICETESTING_H
