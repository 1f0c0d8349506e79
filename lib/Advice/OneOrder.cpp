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

bool advice::mayBreakContract(const Implementation &implementation,
                              const LoweringOptions &options) {
  const auto &[collective, schedule] = implementation;
  if (collective.combining() && contractFor(options).addsInputs())
    return true;
  if (options.sumOrder == SumOrder::Any)
    return false;
  // Schedules do not say what becomes of sums that a switch forms.
  return (collective.combining() && options.inNetwork) ||
         OrderedSums(collective, schedule, options.sumOrder,
                     /*oneRounding=*/false)
             .mayDiffer();
}

bool advice::isInOneOrder(mlir::MLIRContext &context, const Topology &topology,
                          const Implementation &implementation,
                          const LoweringOptions &options) {
  if (!mayBreakContract(implementation, options))
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
  const SumContract contract = contractFor(options);
  if (!contract.asksForAnything() || candidates.empty())
    return std::nullopt;
  if (std::optional<Error> error = checkTrees(
          candidates.front().implementation.collective, options.sumOrder))
    return error;
  std::erase_if(candidates, [&](const Candidate &candidate) {
    const Implementation &implementation = candidate.implementation;
    return deadline.isOver()
               ? mayBreakContract(implementation, options)
               : !isInOneOrder(context, topology, implementation, options);
  });
  if (!candidates.empty() || deadline.isOver())
    return std::nullopt;
  if (contract.oneRounding)
    return Error{"no program is found that rounds each sum once, as " +
                 std::string(options.wire == Wire::F32 ? "--wire=f32"
                                                       : "--one-rounding") +
                 " asks, and reduces in the order " +
                 options.sumOrder.toString()};
  return Error{"no program is found in which all ranks reduce in the order " +
               options.sumOrder.toString() + "; --order=any asks for none"};
}
