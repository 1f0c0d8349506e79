//===- Target.h - From programs to device code ------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_CODEGEN_TARGET_H
#define SCCL_CODEGEN_TARGET_H

#include "sccl/Model/Chip.h"
#include "sccl/Pipelines/Pipelines.h"

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace sccl {

/// What to make of a schedule.
enum class OutputKind {
  MLIR,   ///< the gpu.module, lowered to NVVM or ROCDL
  PTX,    ///< NVIDIA assembly
  Cubin,  ///< NVIDIA binary, needs ptxas
  Fatbin, ///< NVIDIA binary and PTX, needs ptxas and fatbinary
  GCN,    ///< AMD assembly
  HSACO,  ///< AMD code object, needs ld.lld
};

/// The kind that a file name asks for by its extension: .mlir .ptx .cubin
/// .fatbin .s .hsaco.
std::optional<OutputKind> outputKindOf(llvm::StringRef path);

/// The chip that the kernels of `module` are lowered for, which holds nothing
/// else: what sccl-to-nvvm and sccl-to-rocdl leave. Nothing if there are none.
std::optional<std::string> chipOfKernels(mlir::ModuleOp module);

/// To be called before threads compile at once: registers LLVM's back ends, and
/// takes what MLIR would not find out of the environment.
void prepareForThreads();

/// Lowers the schedule in `module` for `chip` and returns the bytes of the
/// output; or takes kernels that are lowered already, which options do not
/// change. `module` is consumed. Emits an error and fails if the module does
/// not hold exactly one schedule or program, or kernels for `chip`, a pass
/// fails, a rank needs more blocks than are resident together (check D3), the
/// kind does not fit the chip, the audit of the assembly finds something, or a
/// tool is missing or fails. An error inside LLVM's back end ends the process;
/// `findChip` has excluded the known ones.
mlir::FailureOr<std::string> compileFor(mlir::ModuleOp module, const Chip &chip,
                                        OutputKind kind,
                                        const LoweringOptions &options);

/// The target of kernels that call NCCL's device functions.
inline constexpr const char *ncclTarget = "nccl-device";

/// Lowers the schedule in `module` to kernels that call NCCL's device functions
/// (`sccl/ABI/NcclDevice.h`), for boxes of `ranksPerBox` ranks, 0 for those of
/// the machine, and returns LLVM IR as text. What it calls is only declared:
/// libnccl_device.bc has it. Emits an error and fails like `compileFor`, or if
/// the program does what functions of NCCL cannot.
mlir::FailureOr<std::string> compileForNccl(mlir::ModuleOp module,
                                            const LoweringOptions &options,
                                            unsigned ranksPerBox);

/// The same as `compileFor` for the one collk.program in `module`, which
/// `addKernelConversion` has made. With `embedTables` the output brings the
/// tables of ranks.
mlir::FailureOr<std::string> compileKernels(mlir::ModuleOp module,
                                            const Chip &chip, OutputKind kind,
                                            const LoweringOptions &options,
                                            bool embedTables,
                                            const ReductionSet &set = {});

} // namespace sccl

#endif // SCCL_CODEGEN_TARGET_H
