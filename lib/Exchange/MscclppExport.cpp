//===- MscclppExport.cpp - From programs to plans of MSCCL++ --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MscclExport.h"
#include "MscclTrace.h"
#include "MscclppPlanner.h"
#include "MscclppStructure.h"

#include "sccl/Exchange/AlgorithmSet.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::exchange;

/// What is tried, the cheapest first.
static std::vector<MscclppManner> mannersOf(bool usesLL) {
  if (usesLL)
    return {{true, false, false, false}, {true, false, true, false}};
  return {{false, false, true, false},
          {false, true, true, false},
          {false, true, true, true}};
}

/// The executor knows plans by name only.
static void nameByContent(MscclppPlan &plan, const std::string &name) {
  plan.name = name;
  plan.name += "_" + hashOfText(printMscclpp(plan));
}

void exchange::limitSizes(MscclppPlan &plan, const std::string &name,
                          uint64_t least, uint64_t most) {
  plan.minBytes = least;
  plan.maxBytes = most;
  nameByContent(plan, name);
}

/// Why the executor has no room for the blocks of a rank; empty if it has.
template <typename Gpus> static std::string overrunOfBlocks(const Gpus &gpus) {
  for (const auto &gpu : gpus)
    if (gpu.blocks.size() > MscclppLimits::blocksPerRank)
      return std::to_string(gpu.blocks.size()) +
             " thread blocks of a rank, which have to run at once, there is "
             "room for " +
             std::to_string(MscclppLimits::blocksPerRank);
  return "";
}

/// The same for a plan.
static std::string overrun(const MscclppPlan &plan) {
  if (std::string problem = overrunOfBlocks(plan.gpus); !problem.empty())
    return problem;
  for (const MscclppGpu &gpu : plan.gpus) {
    for (const MscclppBlock &block : gpu.blocks)
      if (block.operations.size() > MscclppLimits::operationsPerBlock)
        return std::to_string(block.operations.size()) +
               " operations in a thread block, the executor has room for " +
               std::to_string(MscclppLimits::operationsPerBlock);
  }
  return "";
}

static bool crossesBoxes(const MscclAlgorithm &algorithm, unsigned perBox) {
  if (perBox == 0)
    return false;
  for (uint32_t rank = 0; rank < algorithm.gpus.size(); ++rank)
    for (const MscclBlock &block : algorithm.gpus[rank].blocks)
      if (block.sendPeer >= 0 &&
          unsigned(block.sendPeer) / perBox != rank / perBox)
        return true;
  return false;
}

/// The first plan that the check accepts, or what it says of the last.
static Result<MscclppPlan> planOf(const MscclAlgorithm &algorithm,
                                  const Call &call,
                                  const MscclppExportOptions &options) {
  if (options.usesLL && crossesBoxes(algorithm, options.ranksPerBox))
    return Error{"LL words cannot go between boxes, through ports"};
  std::string problem;
  for (const MscclppManner &manner : mannersOf(options.usesLL)) {
    MscclppPlan plan =
        planMscclpp(algorithm, call, options.ranksPerBox, manner);
    problem = overrun(plan);
    if (!problem.empty())
      continue;
    plan.collective = collectiveName(call.kind);
    std::erase(plan.collective, '_');
    plan.minBytes = options.minBytes;
    plan.maxBytes = options.maxBytes;
    Findings findings;
    MscclppCheckOptions check{call.kind, call.root};
    if (auto verdict = checkMscclpp(plan, check, findings)) {
      plan.maxBytes = verdict->mostBytes;
      nameByContent(plan, options.name);
      return plan;
    }
    problem = "as a plan of MSCCL++ it is refused: " +
              findings.first().front().message;
  }
  return Error{problem};
}

Result<MscclppPlan> exchange::toMscclpp(const Collective &collective,
                                        const Program &program,
                                        const MscclppExportOptions &options) {
  if (collective.kind() == CollectiveKind::Custom)
    return Error{"MSCCL++ has no '" + collective.name() + "'"};
  Call call = callOf(collective, program, options.inPlace);
  // Blocks are cut until their operations fit.
  Result<MscclppPlan> result = Error{};
  for (size_t stepsPerBlock : {64, 32, 16, 8}) {
    MscclAlgorithm algorithm = makeMsccl(collective, program, stepsPerBlock);
    if (options.inPlace && !*algorithm.inPlace)
      return Error{"the program cannot be run in place"};
    // A plan has no fewer blocks, and smaller ones are more.
    if (std::string problem = overrunOfBlocks(algorithm.gpus); !problem.empty())
      return result.error().empty() ? Error{problem} : Error{result.error()};
    result = planOf(algorithm, call, options);
    if (result)
      break;
  }
  return result;
}

Result<MscclppPlan> exchange::toMscclpp(const MscclAlgorithm &algorithm,
                                        const MscclCheckOptions &check,
                                        const MscclppExportOptions &options) {
  Findings findings;
  std::optional<MscclChecked> checked = runMsccl(algorithm, check, findings);
  if (!checked)
    return firstError(findings);
  const MscclVerdict &verdict = checked->verdict;
  if (!(options.inPlace ? verdict.inPlace : verdict.outOfPlace))
    return Error{options.inPlace ? "the algorithm is not for calls in place"
                                 : "the algorithm is only for calls in place"};
  return planOf(algorithm,
                callOf(algorithm, verdict.kind, check.root, options.inPlace),
                options);
}
