//===- OneOrder.cpp - Candidates that all ranks sum up alike --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OneOrder.h"

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Model/OrderCheck.h"
#include "sccl/Model/OrderedSums.h"
#include "sccl/Pipelines/Pipelines.h"
#include "sccl/Transforms/Passes.h"

using namespace sccl;
using namespace sccl::advice;

bool advice::mayDifferInOrder(const Implementation &implementation,
                              const SumOrder &asked) {
  return OrderedSums(implementation.collective, implementation.schedule, asked)
      .mayDiffer();
}

bool advice::isInOneOrder(mlir::MLIRContext &context, const Topology &topology,
                          const Implementation &implementation,
                          const LoweringOptions &options) {
  if (options.sumOrder == SumOrder::Any ||
      !mayDifferInOrder(implementation, options.sumOrder))
    return true;
  const auto &[collective, schedule] = implementation;
  mlir::OwningOpRef<mlir::ModuleOp> module = coll::exportModule(
      context, collective.name() + "_schedule", topology, collective, schedule);
  if (failed(runPasses(*module, [&](mlir::OpPassManager &manager) {
        addUncheckedLowering(manager, options);
      })))
    return false;
  return llvm::all_of(module->getOps<coll::ProgramOp>(), [&](auto program) {
    return coll::isRight(program, collective, contractFor(options));
  });
}

std::optional<Error>
advice::keepInOneOrder(mlir::MLIRContext &context, const Topology &topology,
                       const LoweringOptions &options, const Deadline &deadline,
                       std::vector<Candidate> &candidates) {
  if (options.sumOrder == SumOrder::Any || candidates.empty())
    return std::nullopt;
  if (std::optional<Error> error = checkTrees(
          candidates.front().implementation.collective, options.sumOrder))
    return error;
  std::erase_if(candidates, [&](const Candidate &candidate) {
    const Implementation &implementation = candidate.implementation;
    return deadline.isOver()
               ? mayDifferInOrder(implementation, options.sumOrder)
               : !isInOneOrder(context, topology, implementation, options);
  });
  if (!candidates.empty() || deadline.isOver())
    return std::nullopt;
  return Error{"no program is found in which all ranks reduce in the order " +
               options.sumOrder.toString() + "; --order=any asks for none"};
}
