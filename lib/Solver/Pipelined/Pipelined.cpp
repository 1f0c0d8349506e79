//===- Pipelined.cpp - Schedules whose pieces follow each other -----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Solver/Pipelined.h"

#include "Allocation.h"
#include "Question.h"

#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Model/Composition.h"
#include "sccl/Model/Instance.h"
#include "sccl/Model/Symmetry.h"
#include "sccl/Model/TopologyIdentity.h"
#include "sccl/Solver/Makers.h"
#include "sccl/Solver/SpanningTrees.h"

#include <algorithm>
#include <numeric>

using namespace sccl;

std::optional<Error> pipelined::checkQuestion(const Topology &topology,
                                              CollectiveKind kind,
                                              unsigned root) {
  if (topology.numRanks() < 2)
    return Error{"a single rank has nothing to send"};
  if (isRooted(kind) && root >= topology.numRanks())
    return Error{"the root " + std::to_string(root) + " is out of range for " +
                 std::to_string(topology.numRanks()) + " ranks"};
  if (!hasPipelinedSchedules(kind))
    return Error{"there are no pipelined schedules of " +
                 std::string(collectiveName(kind)) + " yet"};
  return std::nullopt;
}

bool sccl::hasPipelinedSchedules(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllGather:
  case CollectiveKind::AllReduce:
  case CollectiveKind::Broadcast:
  case CollectiveKind::Reduce:
  case CollectiveKind::ReduceScatter:
    return true;
  default:
    return false;
  }
}

//===----------------------------------------------------------------------===//
// Trees as sends
//===----------------------------------------------------------------------===//

/// The sends of `chunk` along `tree`, each in the first step in which its
/// source has the chunk.
static void addSends(const PackedTree &tree, unsigned numRanks, uint32_t chunk,
                     std::vector<Step> &steps) {
  std::vector<unsigned> depth(numRanks);
  for (const Link &link : tree.links) {
    unsigned step = depth[link.src];
    depth[link.dst] = step + 1;
    if (step == steps.size())
      steps.emplace_back();
    steps[step].sends.push_back({chunk, link.src, link.dst});
  }
}

/// The schedule that sends every chunk of a root along one of its trees, the
/// chunks of each root in the order of its trees.
static Schedule scheduleOf(const SpanningTreePacking &packing,
                           const Collective &collective,
                           const Topology &topology) {
  bool isRooted = collective.kind() == CollectiveKind::Broadcast;
  std::vector<uint32_t> nextChunk(collective.numRanks());
  for (unsigned rank = 0; !isRooted && rank < collective.numRanks(); ++rank)
    nextChunk[rank] = rank * collective.chunks();
  Schedule schedule;
  for (const PackedTree &tree : packing.trees)
    for (int64_t copy = 0; copy < tree.copies; ++copy)
      addSends(tree, collective.numRanks(), nextChunk[tree.root]++,
               schedule.steps);
  schedule.normalize();
  fitRounds(schedule, topology);
  schedule.period = leastPeriod(schedule, topology);
  return schedule;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// Multiplies the chunks of `packing` so that its fullest limit is used for
/// whole rounds.
static void wholeRounds(SpanningTreePacking &packing,
                        const Topology &topology) {
  std::vector<int64_t> chunks(topology.links().size());
  for (const PackedTree &tree : packing.trees)
    for (auto [src, dst] : tree.links)
      chunks[*topology.findLink(src, dst)] += tree.copies;
  Rational fullest(0);
  for (const BandwidthLimit &limit : topology.limits()) {
    int64_t load = 0;
    for (unsigned link : limit.links)
      load += chunks[link];
    fullest = std::max(fullest, Rational(load, limit.bandwidth));
  }
  packing.period = fullest.numerator();
  packing.chunks *= fullest.denominator();
  for (PackedTree &tree : packing.trees)
    tree.copies *= fullest.denominator();
}

/// Trees for an all_gather, or a broadcast from `root`.
static Result<SpanningTreePacking> packFor(const Topology &topology,
                                           CollectiveKind kind, unsigned root,
                                           const Deadline &deadline) {
  std::vector<unsigned> roots = {root};
  std::optional<unsigned> fixed = root;
  if (kind == CollectiveKind::AllGather) {
    roots.resize(topology.numRanks());
    std::iota(roots.begin(), roots.end(), 0u);
    fixed.reset();
  }
  Result<CapacityGraph> graph = capacityGraphOf(topology);
  if (graph) {
    Result<SpanningTreePacking> packing =
        packSpanningTrees(*graph, roots, deadline);
    if (packing || deadline.expired())
      return packing;
  }
  // Limits of other kinds, or switches that get more than they can pass on, or
  // less.
  graph = pipelined::allocateLimits(
      topology, roots, automorphismGenerators(topology, fixed), deadline);
  if (!graph)
    return Error{graph.error()};
  Result<SpanningTreePacking> packing =
      packSpanningTrees(*graph, roots, deadline);
  if (packing)
    wholeRounds(*packing, topology);
  return packing;
}

/// The schedule of `packing`. Fails, before it uses memory, if it is too large.
static Result<Implementation> emit(const SpanningTreePacking &packing,
                                   const Topology &topology,
                                   CollectiveKind kind, unsigned root) {
  int64_t ranks = topology.numRanks();
  int64_t roots = kind == CollectiveKind::AllGather ? ranks : 1;
  int64_t most = int64_t(Schedule::maxSends) / (roots * (ranks - 1));
  if (packing.chunks > most)
    return Error{"the least load takes " + std::to_string(packing.chunks) +
                 " chunks, more than the " + std::to_string(most) +
                 " that a schedule has room for"};
  Result<Collective> collective = Collective::make(
      kind, topology.numRanks(), unsigned(packing.chunks), root);
  if (!collective)
    return Error{collective.error()};
  Schedule schedule = scheduleOf(packing, *collective, topology);
  return Implementation{std::move(*collective), std::move(schedule)};
}

static Result<Implementation> spread(const Topology &topology,
                                     CollectiveKind kind, unsigned root,
                                     const Deadline &deadline) {
  Result<SpanningTreePacking> packing = packFor(topology, kind, root, deadline);
  if (!packing)
    return Error{packing.error()};
  return emit(*packing, topology, kind, root);
}

/// A reduction is a broadcast on the topology turned round, turned round.
static Result<Implementation> reduce(const Topology &topology,
                                     CollectiveKind kind, unsigned root,
                                     const Deadline &deadline) {
  Result<Implementation> spreading =
      spread(topology.reversed(), kind, root, deadline);
  return spreading ? invert(*spreading) : spreading;
}

static Result<Implementation> reduceAndSpread(const Topology &topology,
                                              const Deadline &deadline) {
  constexpr auto kind = CollectiveKind::AllGather;
  Topology reversed = topology.reversed();
  Result<Implementation> allGather = spread(topology, kind, 0, deadline);
  bool isSymmetric = identityOf(reversed) == identityOf(topology);
  Result<Implementation> onReversed =
      isSymmetric ? allGather : spread(reversed, kind, 0, deadline);
  if (!onReversed || !allGather)
    return onReversed ? allGather : onReversed;
  Result<Implementation> whole = composeAllReduce(*onReversed, *allGather);
  if (whole)
    whole->schedule.period = leastPeriod(whole->schedule, topology);
  return whole;
}

static Result<Implementation> implement(const Topology &topology,
                                        CollectiveKind kind, unsigned root,
                                        const Deadline &deadline) {
  switch (kind) {
  case CollectiveKind::AllGather:
  case CollectiveKind::Broadcast:
    return spread(topology, kind, root, deadline);
  case CollectiveKind::ReduceScatter:
    return reduce(topology, CollectiveKind::AllGather, 0, deadline);
  case CollectiveKind::Reduce:
    return reduce(topology, CollectiveKind::Broadcast, root, deadline);
  case CollectiveKind::AllReduce:
    return reduceAndSpread(topology, deadline);
  default:
    return Error{"not a kind that `checkQuestion` accepts"};
  }
}

Result<PipelinedSchedule>
sccl::synthesizePipelined(const Topology &topology, CollectiveKind kind,
                          unsigned root, const SearchLimits &limits) {
  if (std::optional<Error> error =
          pipelined::checkQuestion(topology, kind, root))
    return *error;
  if (!topology.switches().empty())
    return Error{"through switches that copy or reduce, a schedule is found "
                 "for a number of steps"};
  if (!isAsked(Maker::any_depth))
    return Error{"the maker is left out"};
  Deadline deadline(limits);
  Result<Implementation> found = implement(topology, kind, root, deadline);
  if (!found)
    return Error{found.error()};
  if (std::optional<Violation> violation =
          checkSchedule(topology, found->collective, found->schedule))
    return Error{"the checker refuses the schedule: " + violation->message};
  LowerBoundOptions options;
  options.timeoutSeconds = deadline.remainingLimit();
  options.interrupt = limits.interrupt;
  options.pipelined = true;
  PipelinedSchedule result{std::move(*found), std::nullopt, false};
  options.target = result.cost().load;
  Result<LowerBound> bound =
      throughputBound(topology, result.implementation.collective, options);
  if (bound) {
    result.optimal = bound->value == result.cost().load;
    result.bound = std::move(*bound);
  }
  return result;
}
