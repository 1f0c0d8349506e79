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

/// 64 bits of FNV-1a, in hexadecimal.
static std::string hashOf(std::string_view text) {
  uint64_t hash = 14695981039346656037u;
  for (unsigned char c : text)
    hash = (hash ^ c) * 1099511628211u;
  std::string digits(16, '0');
  for (size_t i = 16; i-- > 0; hash >>= 4)
    digits[i] = "0123456789abcdef"[hash & 15];
  return digits;
}

/// The executor knows plans by name only.
static void nameByContent(MscclppPlan &plan, const std::string &name) {
  plan.name = name;
  plan.name += "_" + hashOf(printMscclpp(plan));
}

/// Why the executor has no room for a plan; empty if it has.
static std::string overrun(const MscclppPlan &plan) {
  for (const MscclppGpu &gpu : plan.gpus) {
    if (gpu.blocks.size() > MscclppLimits::blocksPerRank)
      return std::to_string(gpu.blocks.size()) +
             " thread blocks of a rank, which have to run at once, there is "
             "room for " +
             std::to_string(MscclppLimits::blocksPerRank);
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
