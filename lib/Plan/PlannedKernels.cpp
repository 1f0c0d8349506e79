//===- PlannedKernels.cpp - The code of a plan's programs -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckedLowering.h"
#include "KernelCompiler.h"

#include "sccl/ABI/MessageTable.h"
#include "sccl/ABI/RankTable.h"
#include "sccl/Conversion/ProgramInfo.h"
#include "sccl/Model/SwitchAccess.h"
#include "sccl/Plan/PlanBuilder.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir;
using namespace sccl;

/// The number of a set of tables, which is stored once.
unsigned PlanBuilder::addTables(const plan::RankTableSet &tables) {
  auto known = llvm::find(result.rankTables, tables);
  unsigned number = known - result.rankTables.begin();
  if (known == result.rankTables.end())
    result.rankTables.push_back(tables);
  result.manifest.rankTables = result.rankTables.size();
  return number;
}

/// Notes how the functions of `kernel` are called and what they read.
LogicalResult PlanBuilder::addSymbols(LoweredProgram &program,
                                      const LoweringOptions &options,
                                      plan::KernelInfo &kernel) {
  plan::Manifest &manifest = result.manifest;
  bool isHost = findHostTarget(kernel.target).has_value();
  FailureOr<Kernels *> kernels =
      program.kernels(isHost && request.instrument != Instrument::Channels);
  if (failed(kernels))
    return failure();
  const plan::RankTableSet &tables = (*kernels)->tables;
  std::string symbol = symbolOf(manifest.schedules[number].name);
  if (tables.empty()) {
    for (unsigned rank = 0; rank < manifest.ranks; ++rank)
      kernel.symbols.push_back(symbol + "_rank" + std::to_string(rank));
    if (!(*kernels)->traceTables.empty())
      kernel.rankTables = addTables((*kernels)->traceTables);
  } else {
    symbol = tableFunction;
    kernel.symbols = {symbol};
    kernel.rankTables = addTables(tables);
  }
  if (!isHost && options.virtualRanks)
    kernel.virtualSymbol = symbol + virtualSuffix;
  return success();
}

LogicalResult PlanBuilder::addKernels(LoweredProgram &program,
                                      const LoweringOptions &options) {
  const plan::Manifest &manifest = result.manifest;
  for (const std::string &target : request.targets) {
    if (isMessageTarget(target))
      continue;
    plan::KernelInfo kernel;
    kernel.program = manifest.programs.size() - 1;
    std::optional<std::string> cpu = findHostTarget(target);
    kernel.target = cpu.value_or(target);
    kernel.blockSize = cpu ? 1 : options.blockSize;
    if (cpu && options.blocksPerLink != blocksToBuild().front())
      continue;
    if (failed(addSymbols(program, options, kernel)))
      return failure();
    bool isAtSwitch = !cpu && !manifest.programs.back().switchGroups.empty();
    if (isAtSwitch && setsAtSwitch(*findChip(target)).empty())
      emitRemark(program.module().getLoc())
          << "has no code in-network for " << target
          << ", for which other programs of the plan are: its switch does "
             "nothing with what is asked for";
    for (const ReductionSet &set :
         isAtSwitch ? setsAtSwitch(*findChip(target)) : std::vector{allSets()})
      if (failed(addKernel(program, options, set, kernel)))
        return failure();
  }
  return success();
}

/// What all other programs have code for.
ReductionSet PlanBuilder::allSets() const {
  if (!result.manifest.combining)
    return {};
  return {request.elements, request.reductions};
}

/// What switches do for `chip`, as few sets as can be. For the rest there are
/// the other programs of a plan.
std::vector<ReductionSet> PlanBuilder::setsAtSwitch(const Chip &chip) const {
  if (!hasSwitchAccess(chip))
    return {};
  if (!result.manifest.combining)
    return {ReductionSet()};
  std::vector<ReductionSet> sets;
  for (Element element : request.elements) {
    std::vector<Reduction> reductions = request.reductions;
    llvm::erase_if(reductions, [&](Reduction reduction) {
      return !switchReduces(element, reduction);
    });
    auto known = llvm::find_if(sets, [&](const ReductionSet &set) {
      return set.reductions == reductions;
    });
    if (known != sets.end())
      known->elements.push_back(element);
    else if (!reductions.empty())
      sets.push_back({{element}, reductions});
  }
  return sets;
}

/// Compiles once for all types and reductions of `set`, and notes each of them.
LogicalResult PlanBuilder::addKernel(LoweredProgram &program,
                                     const LoweringOptions &options,
                                     const ReductionSet &set,
                                     plan::KernelInfo kernel) {
  if (request.watch)
    request.watch(result.manifest.schedules[number].name + ", " +
                  result.manifest.programs.back().variant + ", for " +
                  kernel.target);
  FailureOr<std::string> code =
      compiler->compile(program, options, set, kernel);
  if (failed(code))
    return failure();
  // The same code is stored once, whoever needs it.
  auto known = llvm::find(result.blobs, *code);
  kernel.blob = known - result.blobs.begin();
  if (known == result.blobs.end())
    result.blobs.push_back(std::move(*code));
  std::vector<plan::KernelInfo> &kernels = result.manifest.kernels;
  if (!result.manifest.combining)
    kernels.push_back(kernel);
  for (Element element : set.elements)
    for (Reduction reduction : set.reductions) {
      kernel.element = optionText(element);
      kernel.reduction = optionText(reduction);
      kernels.push_back(kernel);
    }
  return success();
}

LogicalResult PlanBuilder::awaitCode() {
  if (request.threads == 0)
    return success();
  std::vector<std::string> codes;
  std::vector<unsigned> numbers; // of blobs, by what stood for their code
  for (const std::string &name : result.blobs) {
    FailureOr<std::string> code = compiler->await(name);
    if (failed(code))
      return failure();
    auto known = llvm::find(codes, *code);
    numbers.push_back(known - codes.begin());
    if (known == codes.end())
      codes.push_back(std::move(*code));
  }
  bool wereKnown = codes.size() == numbers.size();
  result.blobs = std::move(codes);
  for (plan::KernelInfo &kernel : result.manifest.kernels)
    kernel.blob = numbers[kernel.blob];
  for (unsigned i = 0; !wereKnown && i < result.manifest.programs.size(); ++i)
    if (findRepeated(i))
      return failure();
  return success();
}
