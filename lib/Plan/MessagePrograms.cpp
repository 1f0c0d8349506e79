//===- MessagePrograms.cpp - Programs of ranks that exchange messages -----===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelCompiler.h"

#include "sccl/ABI/MessageTable.h"
#include "sccl/ABI/RankTable.h"
#include "sccl/Analysis/Program.h"
#include "sccl/Conversion/Messages.h"
#include "sccl/Conversion/ProgramInfo.h"
#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Plan/PlanBuilder.h"
#include "sccl/Transforms/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace sccl;

/// Adds the program of a schedule, in so many pieces, whose ranks exchange
/// messages.
LogicalResult PlanBuilder::addMessages(ModuleOp module, unsigned pieces,
                                       const Collective &collective) {
  LoweringOptions options = messageLowering(request.lowering);
  OwningOpRef<ModuleOp> lowered = module.clone();
  if (failed(runPasses(*lowered, [&](OpPassManager &manager) {
        addMessageLowering(manager, options);
      })))
    return failure();
  coll::ProgramOp program = *lowered->getOps<coll::ProgramOp>().begin();
  LoweredProgram kernels(std::move(lowered), options);
  return addMessageProgram(program, pieces, kernels, options, collective);
}

/// What ranks compute is done by the function that reads tables of a host, and
/// by that of GPUs where they are asked for.
LogicalResult PlanBuilder::addMessageProgram(coll::ProgramOp program,
                                             unsigned pieces,
                                             LoweredProgram &kernels,
                                             const LoweringOptions &options,
                                             const Collective &collective) {
  plan::Manifest &manifest = result.manifest;
  FailureOr<std::vector<RankMessages>> ranks = makeMessages(
      program, collective, contractFor(options).isUnweighted(), pieces);
  if (failed(ranks))
    return failure();
  if (std::string mistake = findRoundMistake(*ranks); !mistake.empty())
    return program.emitOpError("has messages in no order: ") << mistake;
  plan::ProgramEntry info;
  static_cast<ProgramInfo &>(info) =
      describeProgram(program, collective, coll::FlagTable(program));
  info.inPlace = coll::allowsInPlace(program, collective);
  info.peersReadInput = info.peersTouchOutput = false;
  info.announcesReady = true;
  for (auto [needs, messages] : llvm::zip(info.ranks, *ranks)) {
    needs.scratchSlots = messages.scratchSlots;
    needs.controlBytes = ControlLayout{1, 0, 1}.controlBytes();
  }
  info.schedule = number;
  info.variant = messageTarget;
  info.codeShape = "table";
  manifest.programs.push_back(std::move(info));
  plan::KernelInfo kernel;
  kernel.program = manifest.programs.size() - 1;
  kernel.target = messageTarget;
  kernel.symbols = {tableFunction};
  kernel.rankTables = addTables(messageTables(*ranks, collective));
  if (failed(addKernel(kernels, options, allSets(), kernel)))
    return failure();
  kernel.blockSize = options.blockSize;
  for (const std::string &target : request.targets) {
    kernel.target = target;
    if (isMessageTarget(target) && !isCPUTarget(target) &&
        failed(addKernel(kernels, options, allSets(), kernel)))
      return failure();
  }
  return success();
}
