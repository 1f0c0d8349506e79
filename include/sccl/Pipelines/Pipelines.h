//===- Pipelines.h - Named pass pipelines -----------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only place that knows the order of passes. Pipelines are built from text,
// so that `--help`, the documentation and the code say the same thing.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_PIPELINES_PIPELINES_H
#define SCCL_PIPELINES_PIPELINES_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace mlir {
class DialectRegistry;
class OpPassManager;
} // namespace mlir

namespace sccl {

/// Choices that all lowerings share.
struct LoweringOptions {
  unsigned blocks = 1;      ///< thread blocks per channel
  unsigned blockSize = 256; ///< threads per block
  std::string element = "f32";
  std::string reduction = "sum";
  bool audit = true; ///< read the assembly again, see Audit.h
  /// Who moves chunks: push, pull, dma, auto, or given: as the schedule says.
  /// With dma, steps.
  std::string transport = "given";
  /// For transport=auto: bytes of a send buffer, microseconds of a step, and
  /// microseconds per byte over a link of bandwidth 1.
  uint64_t bytes = 1 << 20;
  double alpha = 0.7;
  double beta = 4e-5;
  /// Transports of single links, as "0-1:pull".
  std::vector<std::string> links;
  /// Print the reason of each transport, and what was joined and removed.
  bool explain = false;
  bool steps = false; ///< a kernel per step, in place of one with flags
  bool throughScratch = false; ///< let peers touch nothing but scratch
  bool alternate = false; ///< two halves of scratch by turns, fewer readies
  /// Words of data and launch number in scratch, in place of arrivals: for
  /// small messages. Implies the two options above.
  bool ll = false;
  std::string shape = "auto"; ///< of the code: unrolled, table or auto
  /// On GPUs, also make a kernel that runs all ranks.
  bool virtualRanks = false;
  /// Fail unless all ranks end with bit-identical reductions.
  bool identical = false;
  bool residency = true; ///< check that blocks run at once (D3)
  /// Blocks that the GPU holds at once; 0 means what a product with the chip
  /// holds in any case, see Chip.h.
  unsigned residentBlocks = 0;
  /// Of the cache that the ranks on a CPU share.
  uint64_t cacheBytes = 32 << 20;
};

/// Schedules to synchronized, checked programs: check-schedule,
/// choose-transport, lower-schedule, fuse-reductions, then insert-flag-sync and
/// remove-redundant-sync or insert-step-barriers, and check-program.
std::string loweringPipeline(const LoweringOptions &options);
/// Programs to a gpu.module in the NVVM dialect, for an NVIDIA chip such as
/// "sm_90".
std::string nvvmConversionPipeline(const LoweringOptions &options,
                                   llvm::StringRef chip);
/// The same in the ROCDL dialect, for an AMD chip such as "gfx942".
std::string rocdlConversionPipeline(const LoweringOptions &options,
                                    llvm::StringRef chip);
/// Schedules or programs to functions in the LLVM dialect for this machine.
std::string hostPipeline(const LoweringOptions &options);
/// The last part of it, from synchronized programs on.
std::string hostConversionPipeline(const LoweringOptions &options);

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
