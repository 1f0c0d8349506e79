//===- KernelCompiler.cpp - Machine code for programs ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelCompiler.h"

#include "Codegen/HostObject.h"

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/CollKernel/CollKernelOps.h"
#include "sccl/Plan/PlanBuilder.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace sccl;

FailureOr<Kernels *> LoweredProgram::kernels(bool host) {
  std::optional<Kernels> &lowered = host ? forHost : forBlocks;
  if (lowered)
    return &*lowered;
  FailureOr<Kernels> made = makeKernels(
      *program->getOps<coll::ProgramOp>().begin(), options.codeShape, host);
  if (failed(made))
    return failure();
  // The other one gets the same shape.
  options.codeShape =
      made->tables.empty() ? CodeShapeChoice::Unrolled : CodeShapeChoice::Table;
  lowered = std::move(*made);
  return &*lowered;
}

FailureOr<bool> LoweredProgram::hasTables() {
  if (!forBlocks && !forHost && failed(kernels(options.blocksPerLink == 1)))
    return failure();
  return options.codeShape == CodeShapeChoice::Table;
}

LogicalResult LoweredProgram::checkResidency(const Chip &chip) const {
  return runPasses(*program, [&](OpPassManager &manager) {
    addResidencyCheck(manager, options, chip);
  });
}

/// What the code of `program` depends on, beside options; empty if it has code
/// for single ranks, which is the same nowhere else.
static std::string describeKernels(collk::ProgramOp program) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (auto kernel : program.getBody().getOps<collk::KernelOp>()) {
    if (kernel.getRank())
      return "";
    stream << kernel << '\n';
  }
  return text;
}

FailureOr<std::string> KernelCompiler::compile(LoweredProgram &program,
                                               const LoweringOptions &options,
                                               plan::KernelInfo &kernel) {
  std::optional<std::string> cpu = findHostTarget(kernel.target);
  FailureOr<Kernels *> made = program.kernels(cpu.has_value());
  if (failed(made))
    return failure();
  ModuleOp kernels = *(*made)->module;
  ModuleOp module = program.module();
  if (cpu) {
    kernel.format = "elf";
    OwningOpRef<ModuleOp> copy = kernels.clone();
    if (failed(runPasses(*copy, [&](OpPassManager &manager) {
          addKernelToHost(manager, options);
        })))
      return failure();
    return compileHostObject(*copy, *cpu);
  }
  Result<Chip> chip = findChip(kernel.target);
  if (!chip)
    return module.emitError(chip.error());
  if (failed(program.checkResidency(*chip)))
    return failure();
  bool isNVIDIA = chip->isNVIDIA();
  kernel.format = !isNVIDIA ? "hsaco" : assemble ? "cubin" : "ptx";
  OutputKind kind = !isNVIDIA  ? OutputKind::HSACO
                    : assemble ? OutputKind::Cubin
                               : OutputKind::PTX;
  std::string key =
      describeKernels(*kernels.getOps<collk::ProgramOp>().begin());
  bool isShared = !key.empty();
  key += kernel.target + " " + kernel.element + " " + kernel.reduction + " " +
         std::to_string(options.blockSize) + " " +
         std::to_string(options.virtualRanks);
  if (auto found = known.find(key); isShared && found != known.end())
    return found->second;
  OwningOpRef<ModuleOp> copy = kernels.clone();
  FailureOr<std::string> code =
      compileKernels(*copy, *chip, kind, options, /*embedTables=*/false);
  if (succeeded(code) && isShared)
    known[key] = *code;
  return code;
}
