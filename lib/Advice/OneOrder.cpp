//===- OneOrder.cpp - Candidates that all ranks sum up alike --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OneOrder.h"

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Model/OrderedSums.h"
#include "sccl/Pipelines/Pipelines.h"
#include "sccl/Transforms/Passes.h"

using namespace sccl;
using namespace sccl::advice;

bool advice::mayDifferInOrder(const Implementation &implementation) {
  return OrderedSums(implementation.collective, implementation.schedule)
      .mayDiffer();
}

bool advice::isInOneOrder(mlir::MLIRContext &context, const Topology &topology,
                          const Implementation &implementation,
                          const LoweringOptions &options) {
  if (options.sumOrder == SumOrder::Any || !mayDifferInOrder(implementation))
    return true;
  const auto &[collective, schedule] = implementation;
  mlir::OwningOpRef<mlir::ModuleOp> module = coll::exportModule(
      context, collective.name() + "_schedule", topology, collective, schedule);
  if (failed(runPasses(*module, [&](mlir::OpPassManager &manager) {
        addUncheckedLowering(manager, options);
      })))
    return false;
  return llvm::all_of(module->getOps<coll::ProgramOp>(), [&](auto program) {
    return coll::isRight(program, collective, SumOrder::Same);
  });
}

std::optional<Error>
advice::keepInOneOrder(mlir::MLIRContext &context, const Topology &topology,
                       const LoweringOptions &options, const Deadline &deadline,
                       std::vector<Candidate> &candidates) {
  if (options.sumOrder == SumOrder::Any || candidates.empty())
    return std::nullopt;
  std::erase_if(candidates, [&](const Candidate &candidate) {
    const Implementation &implementation = candidate.implementation;
    return deadline.isOver()
               ? mayDifferInOrder(implementation)
               : !isInOneOrder(context, topology, implementation, options);
  });
  if (!candidates.empty() || deadline.isOver())
    return std::nullopt;
  return Error{"in no program do all ranks reduce in the same order; "
               "--order=any asks for none"};
}
