//===- Pipelines.h - Named pass pipelines -----------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only place that knows the order of passes. Their options are declared in
// LoweringOptions.td.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_PIPELINES_PIPELINES_H
#define SCCL_PIPELINES_PIPELINES_H

#include "sccl/Model/Chip.h"
#include "sccl/Options/LoweringOptions.h"

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

namespace mlir {
class DialectRegistry;
class OpPassManager;
} // namespace mlir

namespace sccl {

/// Appends what makes synchronized, checked programs of schedules:
/// check-schedule, choose-transport, lower-schedule, fuse-reductions, then
/// insert-flag-sync and remove-redundant-sync or insert-step-barriers, and
/// check-program.
void addLowering(mlir::OpPassManager &manager, const LoweringOptions &options);

/// Appends what makes a gpu.module of programs, in the NVVM or ROCDL dialect for
/// `chip`.
void addGPUConversion(mlir::OpPassManager &manager,
                      const LoweringOptions &options, const Chip &chip);

/// Appends what makes functions in the LLVM dialect of programs, for this
/// machine.
void addHostConversion(mlir::OpPassManager &manager,
                       const LoweringOptions &options);

/// Appends the passes that `text` names. Emits an error and fails on a name
/// that is not registered.
llvm::LogicalResult appendPipeline(mlir::OpPassManager &manager,
                                   llvm::StringRef text);

/// Registers sccl-lower, sccl-to-nvvm, sccl-to-rocdl and sccl-to-host by name.
void registerPipelines();

/// Registers the passes that the pipelines use, sccl's and MLIR's.
void registerPipelinePasses();

/// Registers every dialect, extension and translation that the pipelines need.
void registerPipelineDialects(mlir::DialectRegistry &registry);

} // namespace sccl

#endif // SCCL_PIPELINES_PIPELINES_H
