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
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

#include <optional>
#include <string>

namespace mlir {
class DialectRegistry;
class ModuleOp;
class OpPassManager;
} // namespace mlir

namespace sccl {

/// Appends what lets `pieces` of chunks follow each other in schedules, as
/// `options` say: check-schedule and cut-into-pieces, or nothing for one piece.
void addPieces(mlir::OpPassManager &manager, unsigned pieces,
               const LoweringOptions &options);

/// Appends what makes synchronized, checked programs of schedules:
/// `addPieces`, check-schedule, choose-transport, lower-schedule,
/// fuse-reductions, then insert-flag-sync and remove-redundant-sync or
/// insert-step-barriers, and check-program, for the order that `options` ask
/// for or for `asked`.
void addLowering(mlir::OpPassManager &manager, const LoweringOptions &options);
void addLowering(mlir::OpPassManager &manager, const LoweringOptions &options,
                 const SumContract &contract);

/// The same from choose-transport on and without check-program, for those who
/// check meanwhile.
void addUncheckedLowering(mlir::OpPassManager &manager,
                          const LoweringOptions &options);

/// Appends check-program, for what `contract` asks of sums.
void addProgramCheck(mlir::OpPassManager &manager, const SumContract &contract);

/// `options` for programs whose ranks exchange messages: plain pushes, with
/// tables.
LoweringOptions messageLowering(LoweringOptions options);

/// As addLowering() and addUncheckedLowering(), with what messageLowering()
/// returns. All flags stay, since messages replace them.
void addMessageLowering(mlir::OpPassManager &manager,
                        const LoweringOptions &options);
void addUncheckedMessageLowering(mlir::OpPassManager &manager,
                                 const LoweringOptions &options);

/// Appends the check that the blocks of synchronized programs run at once on
/// `chip`, unless it is switched off.
void addResidencyCheck(mlir::OpPassManager &manager,
                       const LoweringOptions &options, const Chip &chip);

/// Appends what makes of synchronized programs what blocks, or host threads,
/// execute: the same for all element types, reductions and chips.
void addKernelConversion(mlir::OpPassManager &manager,
                         const LoweringOptions &options, bool host);

/// Appends what makes a gpu.module of that. With `embedTables` it brings the
/// tables of ranks.
void addKernelToGPU(mlir::OpPassManager &manager,
                    const LoweringOptions &options, const Chip &chip,
                    bool embedTables, const ReductionSet &set = {});

/// Appends what makes functions for this machine of it.
void addKernelToHost(mlir::OpPassManager &manager,
                     const LoweringOptions &options,
                     const ReductionSet &set = {});

/// Appends what makes a gpu.module of programs, in the NVVM or ROCDL dialect
/// for `chip`.
void addGPUConversion(mlir::OpPassManager &manager,
                      const LoweringOptions &options, const Chip &chip);

/// Appends what makes functions in the LLVM dialect of programs, for this
/// machine.
void addHostConversion(mlir::OpPassManager &manager,
                       const LoweringOptions &options);

/// Appends what makes functions of programs whose ranks exchange messages of
/// MPI, in MLIR's mpi dialect.
void addMessageConversion(mlir::OpPassManager &manager,
                          const LoweringOptions &options);

/// What of `options` and `chip` is not for kernels that call NCCL's device
/// functions, or nothing.
std::optional<std::string> findNcclMistake(const LoweringOptions &options,
                                           const Chip &chip);

/// Appends what makes synchronized, checked programs for ranks in several boxes
/// of schedules: `addLowering` without fuse-reductions, whose ops write to
/// other boxes, and without remove-redundant-sync, which trusts third ranks.
void addNcclLowering(mlir::OpPassManager &manager,
                     const LoweringOptions &options);

/// Appends what makes a gpu.module of those, in the NVVM dialect for `chip`,
/// with calls of NCCL's device functions; `ranksPerBox` 0 means those of the
/// machine.
void addNcclConversion(mlir::OpPassManager &manager,
                       const LoweringOptions &options, const Chip &chip,
                       unsigned ranksPerBox);

/// Appends the passes of MLIR that `text` names: their headers take half a
/// minute to compile. Ends the process if they are not registered.
void addUpstream(mlir::OpPassManager &manager, const llvm::Twine &text);

/// Runs the passes that `add` appends, on `module`. Obeys --mlir-timing,
/// --mlir-print-ir-after-all and MLIR's other options of pass managers, in
/// tools that have registered them.
llvm::LogicalResult
runPasses(mlir::ModuleOp module,
          llvm::function_ref<void(mlir::OpPassManager &)> add);

/// Registers sccl-lower, sccl-to-nvvm, sccl-to-rocdl, sccl-to-host and
/// sccl-to-mpi by name.
void registerPipelines();

/// Registers the passes that the pipelines use, sccl's and MLIR's.
void registerPipelinePasses();

/// Registers every dialect, extension and translation that the pipelines need.
void registerPipelineDialects(mlir::DialectRegistry &registry);

} // namespace sccl

#endif // SCCL_PIPELINES_PIPELINES_H
