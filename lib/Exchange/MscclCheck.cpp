//===- MscclCheck.cpp - What a file of MSCCL does -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MscclStructure.h"
#include "MscclTrace.h"

#include <algorithm>
#include <numeric>

using namespace sccl;
using namespace sccl::exchange;

static MscclVerdict countParts(const MscclAlgorithm &algorithm,
                               MscclDialect dialect, CollectiveKind kind) {
  MscclVerdict verdict{dialect, kind};
  for (const MscclGpu &gpu : algorithm.gpus) {
    verdict.blocks += gpu.blocks.size();
    verdict.mostBlocks =
        std::max(verdict.mostBlocks, unsigned(gpu.blocks.size()));
    for (const MscclBlock &block : gpu.blocks) {
      verdict.steps += block.steps.size();
      verdict.mostSteps =
          std::max(verdict.mostSteps, unsigned(block.steps.size()));
    }
  }
  return verdict;
}

/// What the count of a call, which is that of a rank where each has a part, has
/// to be a multiple of.
static unsigned countMultiple(const MscclAlgorithm &algorithm,
                              CollectiveKind kind) {
  using enum CollectiveKind;
  auto all = unsigned(algorithm.chunks);
  bool isOfRank =
      kind == AllGather || kind == ReduceScatter || kind == AllToAll;
  return isOfRank ? all / std::gcd(all, unsigned(algorithm.gpus.size())) : all;
}

std::optional<MscclChecked> exchange::runMsccl(const MscclAlgorithm &algorithm,
                                               const MscclCheckOptions &options,
                                               Findings &findings) {
  MscclDialect dialect = options.dialect.value_or(guessDialect(algorithm));
  checkMscclLimits(algorithm, dialect, findings);
  std::optional<CollectiveKind> kind =
      options.as ? options.as : mscclCollective(algorithm, findings);
  if (!findings.empty() || !kind)
    return std::nullopt;
  if (!checkMscclStructure(algorithm, *kind, options.root, findings))
    return std::nullopt;
  MscclVerdict verdict = countParts(algorithm, dialect, *kind);
  // A file that says nothing is for what it does not exclude.
  verdict.inPlace = algorithm.inPlace.value_or(algorithm.outOfPlace == false);
  verdict.outOfPlace = algorithm.outOfPlace.value_or(!verdict.inPlace);
  verdict.countMultiple = countMultiple(algorithm, *kind);
  std::vector<Place> places;
  for (const MscclGpu &gpu : algorithm.gpus)
    places.push_back(gpu.place);
  std::optional<CheckedCall> checked;
  for (bool inPlace : {true, false}) {
    if (!(inPlace ? verdict.inPlace : verdict.outOfPlace))
      continue;
    CallLayout layout =
        layoutOf(algorithm, callOf(algorithm, *kind, options.root, inPlace));
    Trace trace = makeMscclTrace(algorithm, layout, options.inFlight, findings);
    checked.reset();
    if (auto call = checkCall(layout, std::move(trace), places, findings))
      checked.emplace(std::move(*call));
    else
      return std::nullopt;
  }
  return MscclChecked{verdict, std::move(*checked)};
}

std::optional<MscclVerdict>
exchange::checkMsccl(const MscclAlgorithm &algorithm,
                     const MscclCheckOptions &options, Findings &findings) {
  if (auto checked = runMsccl(algorithm, options, findings))
    return checked->verdict;
  return std::nullopt;
}

Result<FoundSchedule> exchange::fromMsccl(const MscclAlgorithm &algorithm,
                                          const MscclCheckOptions &options) {
  Findings findings;
  std::optional<MscclChecked> checked = runMsccl(algorithm, options, findings);
  if (!checked)
    return firstError(findings);
  return scheduleOfCall(checked->call);
}
