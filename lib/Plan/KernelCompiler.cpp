//===- KernelCompiler.cpp - Machine code for programs ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelCompiler.h"

#include "Codegen/HostObject.h"

#include "sccl/ABI/MessageTable.h"
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
      *program->getOps<coll::ProgramOp>().begin(), options.codeShape, host,
      options.traced, contractFor(options).isUnweighted());
  if (failed(made))
    return failure();
  // The other one gets the same shape.
  options.codeShape =
      made->tables.empty() ? CodeShapeChoice::Unrolled : CodeShapeChoice::Table;
  lowered = std::move(*made);
  return &*lowered;
}

FailureOr<Kernels *> LoweredProgram::anyKernels() {
  return kernels(/*host=*/!forBlocks);
}

LogicalResult LoweredProgram::checkResidency(const Chip &chip) const {
  return runPasses(*program, [&](OpPassManager &manager) {
    addResidencyCheck(manager, options, chip);
  });
}

/// The CPU that a kernel for `target` is compiled for; nothing if it is none.
static std::optional<std::string> cpuOf(const std::string &target) {
  return findHostTarget(target == messageTarget ? "host" : target);
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

/// What the code depends on beside the program.
static std::string describeOptions(const LoweringOptions &options,
                                   const ReductionSet &set,
                                   const plan::KernelInfo &kernel) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << cpuOf(kernel.target).value_or(chipOf(kernel.target).str()) << ' '
         << options.blockSize << ' ' << options.virtualRanks << ' '
         << options.cacheBytes;
  for (Element element : set.elements)
    stream << ' ' << element;
  for (Reduction reduction : set.reductions)
    stream << ' ' << reduction;
  return text;
}

FailureOr<Kernels *>
KernelCompiler::kernelsFor(LoweredProgram &program,
                           const plan::KernelInfo &kernel) const {
  return program.kernels(cpuOf(kernel.target).has_value() &&
                         instrument != Instrument::Channels);
}

FailureOr<std::string> KernelCompiler::compile(LoweredProgram &program,
                                               const LoweringOptions &options,
                                               const ReductionSet &set,
                                               plan::KernelInfo &kernel) {
  bool isHost = cpuOf(kernel.target).has_value();
  if (isHost) {
    kernel.format = "elf";
  } else {
    Result<Chip> chip = findChip(chipOf(kernel.target));
    if (!chip)
      return program.module().emitError(chip.error());
    if (failed(program.checkResidency(*chip)))
      return failure();
    kernel.format = chip->isNVIDIA() ? (assemble ? "cubin" : "ptx")
                                     : (asText ? "gcn" : "hsaco");
  }
  FailureOr<Kernels *> made = kernelsFor(program, kernel);
  if (failed(made))
    return failure();
  std::string kernels =
      describeKernels(*(*made)->module->getOps<collk::ProgramOp>().begin());
  if (kernels.empty())
    return compileNew(program, options, set, kernel);
  std::string key = kernels + describeOptions(options, set, kernel) + ' ' +
                    kernel.format + ' ' + std::to_string(int(instrument));
  if (auto found = known.find(key); found != known.end())
    return found->second;
  FailureOr<std::string> code = compileNew(program, options, set, kernel);
  if (succeeded(code))
    known[key] = *code;
  return code;
}

FailureOr<std::string> KernelCompiler::compileNew(
    LoweredProgram &program, const LoweringOptions &options,
    const ReductionSet &set, const plan::KernelInfo &kernel) {
  std::optional<std::string> cpu = cpuOf(kernel.target);
  FailureOr<Kernels *> made = kernelsFor(program, kernel);
  OwningOpRef<ModuleOp> copy = (*made)->module->clone();
  if (cpu) {
    if (failed(runPasses(*copy, [&](OpPassManager &manager) {
          addKernelToHost(manager, options, set);
        })))
      return failure();
    return compileHostObject(*copy, *cpu, instrument != Instrument::No);
  }
  OutputKind kind = kernel.format == "hsaco"   ? OutputKind::HSACO
                    : kernel.format == "gcn"   ? OutputKind::GCN
                    : kernel.format == "cubin" ? OutputKind::Cubin
                                               : OutputKind::PTX;
  return compileKernels(*copy, *findChip(chipOf(kernel.target)), kind, options,
                        /*embedTables=*/false, set);
}
