//===- FrontierProblem.cpp - What all parts of one search share -----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepSearch.h"

#include "sccl/Model/OrderCheck.h"
#include "sccl/Model/Scaling.h"
#include "sccl/Solver/Makers.h"

#include <algorithm>

using namespace sccl;

std::optional<Error> sccl::checkOptions(const FrontierOptions &options,
                                        const Topology &topology,
                                        const Collective &smallest) {
  auto between = [](const char *what, unsigned value, unsigned limit) {
    return Error{"the largest number of " + std::string(what) + " is " +
                 std::to_string(value) + ", expected between 1 and " +
                 std::to_string(limit)};
  };
  if (options.maxSteps < 1 || options.maxSteps > FrontierOptions::maxMaxSteps)
    return between("steps", options.maxSteps, FrontierOptions::maxMaxSteps);
  if (options.maxChunks < 1 ||
      options.maxChunks > FrontierOptions::maxMaxChunks)
    return between("chunks", options.maxChunks, FrontierOptions::maxMaxChunks);
  if (options.k && *options.k > FrontierOptions::maxMaxSteps)
    return Error{"k is " + std::to_string(*options.k) + ", the limit is " +
                 std::to_string(FrontierOptions::maxMaxSteps)};
  if (!topology.switches().empty())
    return Error{"through switches that copy or reduce, schedules are "
                 "pipelined"};
  return checkTrees(smallest, options.order);
}

/// The most chunks that a link passes in a round.
static unsigned mostPerRound(const Topology &topology) {
  std::vector<unsigned> least(topology.links().size(), ~0u);
  for (const BandwidthLimit &limit : topology.limits())
    for (unsigned link : limit.links)
      least[link] = std::min(least[link], limit.bandwidth);
  std::erase(least, ~0u);
  return least.empty() ? 1 : std::ranges::max(least);
}

/// Those that were given where trees lead to all ranks: whether the best are
/// found is a matter of luck in any numbering. Trees of additions are of ranks
/// as they are numbered.
static CanonicalNumbers numbersFor(const Topology &topology,
                                   const CollectiveFamily &family,
                                   const SumOrder &order,
                                   const Collective &smallest) {
  return family.isPlain() || order.isTree()
             ? CanonicalNumbers()
             : CanonicalNumbers(topology, smallest);
}

FrontierProblem::FrontierProblem(const Topology &topology,
                                 const CollectiveFamily &family,
                                 const FrontierOptions &options,
                                 const Collective &smallest)
    : given{topology, family, smallest},
      numbers(numbersFor(topology, family, options.order, smallest)),
      topology(numbers.of(topology)), family(numbers.of(family)),
      options(options),
      smallest(*smallestCollective(this->family, topology.numRanks())),
      // The paper counts rounds, so that its k means something for the
      // bandwidths as they are.
      scale(options.k ? 1 : commonBandwidth(topology)),
      reduced(dividedBy(this->topology, scale)),
      perRound(mostPerRound(reduced)),
      deadline(SearchLimits{.timeoutSeconds = options.timeoutSeconds,
                            .interrupt = options.solver.interrupt}) {}

FrontierPoint FrontierProblem::original(FrontierPoint point) const {
  if (numbers.areGiven())
    return point;
  auto write = [found = point.schedule, chunks = point.chunks,
                ranks = topology.numRanks(), numbers = numbers,
                canonical = family, family = given.family] {
    return numbers
        .original({*canonical.make(ranks, chunks), found.get()}, family)
        .schedule;
  };
  point.schedule = LazySchedule(write);
  return point;
}

Result<Collective> FrontierProblem::collectiveOf(unsigned chunks) const {
  return family.make(topology.numRanks(), chunks);
}

bool FrontierProblem::wantsTrees() const {
  bool isWanted = options.engine == "auto" || options.engine == treeEngine();
  // Routes of an all_to_all on all ranks are those of engines of its own.
  bool isExchange = family.isPlain() && family.kind == CollectiveKind::AllToAll;
  isWanted &= isAsked(packsAllRanks() ? Maker::frontier_trees
                                      : Maker::frontier_multicasts);
  return isWanted && !options.k && !isExchange && !hasOrder() &&
         (packsAllRanks() || MulticastSynthesis::takes(smallest));
}

unsigned FrontierProblem::mostChunks() const {
  if (options.maxChunksIsFirm)
    return options.maxChunks;
  uint64_t factor = std::max(perRound / tuned::usualPerRound(), 1u);
  return std::min<uint64_t>(options.maxChunks * factor,
                            FrontierOptions::maxMaxChunks);
}

void FrontierProblem::makeTrees() const {
  std::call_once(hasTrees, [this] {
    if (packsAllRanks())
      treesOnReduced =
          std::make_unique<TreeSynthesis>(reduced, family.kind, family.root);
    else
      multicastsOnReduced =
          std::make_unique<MulticastSynthesis>(reduced, smallest);
  });
}

const TreeSynthesis *FrontierProblem::treesToAll() const {
  makeTrees();
  return treesOnReduced.get();
}

const MulticastSynthesis *FrontierProblem::treesToSome() const {
  makeTrees();
  return multicastsOnReduced.get();
}
