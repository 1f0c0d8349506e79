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

KernelCompiler::KernelCompiler(const PlanRequest &request)
    : assemble(request.assemble), asText(request.asText),
      instrument(request.instrument),
      known(request.known ? *request.known : own) {
  if (request.threads == 0)
    return;
  prepareForThreads();
  threads = std::make_unique<llvm::DefaultThreadPool>(
      llvm::hardware_concurrency(request.threads));
}

/// True if there is code for single ranks, which is the same in few programs.
static bool hasCodeOfRanks(collk::ProgramOp program) {
  return llvm::any_of(
      program.getBody().getOps<collk::KernelOp>(),
      [](collk::KernelOp kernel) { return kernel.getRank().has_value(); });
}

/// What the code of `program` depends on, beside options.
static std::string describeKernels(collk::ProgramOp program) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (hasCodeOfRanks(program))
    stream << program;
  else
    for (auto kernel : program.getBody().getOps<collk::KernelOp>())
      stream << kernel << '\n';
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
  ModuleOp kernels = *(*made)->module;
  auto compiled = *kernels.getOps<collk::ProgramOp>().begin();
  auto copyOfKernels = [&] {
    return std::make_shared<OwningOpRef<ModuleOp>>(kernels.clone());
  };
  if (!threads && hasCodeOfRanks(compiled))
    return compileNew(**copyOfKernels(), options, set, kernel);
  std::string key = describeKernels(compiled) +
                    describeOptions(options, set, kernel) + ' ' +
                    kernel.format + ' ' + std::to_string(int(instrument));
  if (threads) {
    if (auto [it, isNew] = apart.try_emplace(key); isNew)
      it->second = threads->async(
          [this, copy = copyOfKernels(), options, set, kernel]() -> Code {
            // The pool keeps what it has called.
            OwningOpRef<ModuleOp> own = std::move(*copy);
            return compileNew(*own, options, set, kernel);
          });
    return key;
  }
  if (auto found = known.find(key); found != known.end())
    return found->second;
  Code code = compileNew(**copyOfKernels(), options, set, kernel);
  if (succeeded(code))
    known[key] = *code;
  return code;
}

FailureOr<std::string> KernelCompiler::await(const std::string &name) {
  return apart.extract(name).mapped().get();
}

/// The code of `kernels`, which it replaces.
FailureOr<std::string>
KernelCompiler::compileNew(ModuleOp kernels, const LoweringOptions &options,
                           const ReductionSet &set,
                           const plan::KernelInfo &kernel) const {
  if (std::optional<std::string> cpu = cpuOf(kernel.target)) {
    if (failed(runPasses(kernels, [&](OpPassManager &manager) {
          addKernelToHost(manager, options, set);
        })))
      return failure();
    return compileHostObject(kernels, *cpu, instrument != Instrument::No);
  }
  OutputKind kind = kernel.format == "hsaco"   ? OutputKind::HSACO
                    : kernel.format == "gcn"   ? OutputKind::GCN
                    : kernel.format == "cubin" ? OutputKind::Cubin
                                               : OutputKind::PTX;
  return compileKernels(kernels, *findChip(chipOf(kernel.target)), kind,
                        options, /*embedTables=*/false, set);
}
