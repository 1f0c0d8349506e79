//===- Candidates.cpp - Schedules that may be the best --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Candidates.h"

#include "Blockwise.h"
#include "GrownTrees.h"

#include "sccl/Model/GatheredSums.h"
#include "sccl/Solver/Makers.h"
#include "sccl/Solver/Pipelined.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

using namespace sccl;
using namespace sccl::advice;

/// Rounds of the fullest limit over C, not rounded up.
static double loadOf(const Implementation &implementation,
                     const Topology &topology) {
  return exactPeriod(implementation.schedule, topology) /
         implementation.collective.chunks();
}

/// The same for each step by itself, summed up.
static double serialLoadOf(const Implementation &implementation,
                           const Topology &topology) {
  double sum = 0;
  for (const Step &step : implementation.schedule.steps)
    sum += exactPeriod({.steps = {step}}, topology);
  return sum / implementation.collective.chunks();
}

/// Microseconds that the longest chain of sends takes, each after those that
/// its sender needs.
static double latencyOf(const Implementation &implementation,
                        const Fabric &fabric) {
  const auto &[collective, schedule] = implementation;
  std::vector<double> times(size_t(collective.numRanks()) *
                            collective.numChunks());
  auto at = [&](unsigned rank, uint32_t chunk) -> double & {
    return times[size_t(rank) * collective.numChunks() + chunk];
  };
  for (const Step &step : schedule.steps) {
    // What comes in a step is of no use to its other sends.
    std::vector<double> arrivals;
    for (const Send &send : step.sends)
      arrivals.push_back(
          at(send.src, send.chunk) +
          fabric.timing
              .latencies[*fabric.topology.findLink(send.src, send.dst)]);
    for (size_t i = 0; i < arrivals.size(); ++i) {
      double &time = at(step.sends[i].dst, step.sends[i].chunk);
      time = std::max(time, arrivals[i]);
    }
  }
  return times.empty() ? 0 : std::ranges::max(times);
}

/// `implementation` in one piece.
static Candidate candidateOf(Implementation implementation,
                             std::optional<LowerBound> bound,
                             const Fabric &fabric) {
  Candidate candidate{.implementation = std::move(implementation),
                      .bound = std::move(bound)};
  candidate.load = loadOf(candidate.implementation, fabric.topology);
  candidate.serialLoad =
      serialLoadOf(candidate.implementation, fabric.topology);
  candidate.latency = latencyOf(candidate.implementation, fabric) +
                      double(candidate.implementation.schedule.steps.size()) *
                          fabric.timing.leastTime();
  candidate.flagTime = fabric.timing.flagTime();
  return candidate;
}

//===----------------------------------------------------------------------===//
// Pipelined schedules
//===----------------------------------------------------------------------===//

namespace {
/// Collects pipelined candidates, without those that others make superfluous.
class PipelinedCandidates {
public:
  explicit PipelinedCandidates(const Fabric &fabric) : fabric(fabric) {}
  static constexpr double asGood = 1.01; ///< of loads, relative
  void add(Implementation implementation) {
    addTo(candidates, std::move(implementation));
  }
  /// What has grown. Others are added beside it, as they have more of a
  /// pattern, which keeps links busier than their loads say.
  void addGrown(Implementation implementation) {
    addTo(grown, std::move(implementation));
  }
  /// What boxes suggest where some ranks have no part in it: neither that nor
  /// others make each other superfluous, as loads say little of either.
  void addUneven(Implementation implementation) {
    addTo(uneven, std::move(implementation));
  }
  /// For loads of any schedule.
  void setBound(std::optional<LowerBound> found) { bound = std::move(found); }
  /// True if no load is less than that of some candidate of up to `steps` steps
  /// by more than a factor of `slack`.
  bool meetBound(size_t steps, double slack) const;
  size_t leastSteps(size_t most) const;
  /// Of those of about the least load.
  size_t leastStepsOfLeastLoad(size_t most) const;
  std::vector<Candidate> take();

private:
  void addTo(std::vector<Candidate> &list, Implementation implementation);
  template <typename Visitor> void forEach(Visitor visit) const {
    llvm::for_each(candidates, visit);
    llvm::for_each(grown, visit);
    llvm::for_each(uneven, visit);
  }

  const Fabric &fabric;
  std::vector<Candidate> candidates, grown, uneven;
  std::optional<LowerBound> bound;
};
} // namespace

/// True if `one` takes no more of anything than `other`, or hardly more.
static bool isAsGood(const Candidate &one, const Candidate &other) {
  constexpr double asGood = PipelinedCandidates::asGood;
  const auto &[collective, schedule] = one.implementation;
  const auto &[others, steps] = other.implementation;
  return schedule.steps.size() <= steps.steps.size() &&
         collective.chunks() <= others.chunks() &&
         one.load <= other.load * asGood &&
         one.serialLoad <= other.serialLoad * asGood &&
         one.latency <= other.latency * asGood;
}

void PipelinedCandidates::addTo(std::vector<Candidate> &list,
                                Implementation implementation) {
  Candidate candidate =
      candidateOf(std::move(implementation), std::nullopt, fabric);
  for (const Candidate &other : list)
    if (isAsGood(other, candidate))
      return;
  std::erase_if(
      list, [&](const Candidate &other) { return isAsGood(candidate, other); });
  list.push_back(std::move(candidate));
}

static size_t stepsOf(const Candidate &candidate) {
  return candidate.implementation.schedule.steps.size();
}

bool PipelinedCandidates::meetBound(size_t steps, double slack) const {
  bool isMet = false;
  forEach([&](const Candidate &candidate) {
    isMet |= bound && stepsOf(candidate) <= steps &&
             candidate.load <= bound->value->toDouble() * slack;
  });
  return isMet;
}

size_t PipelinedCandidates::leastSteps(size_t most) const {
  forEach([&](const Candidate &candidate) {
    most = std::min(most, stepsOf(candidate));
  });
  return most;
}

size_t PipelinedCandidates::leastStepsOfLeastLoad(size_t most) const {
  double least = std::numeric_limits<double>::infinity();
  forEach([&](const Candidate &candidate) {
    least = std::min(least, candidate.load);
  });
  forEach([&](const Candidate &candidate) {
    if (candidate.load <= least * asGood)
      most = std::min(most, stepsOf(candidate));
  });
  return most;
}

std::vector<Candidate> PipelinedCandidates::take() {
  for (Candidate &candidate : grown)
    if (llvm::none_of(candidates, [&](const Candidate &other) {
          return isAsGood(other, candidate);
        }))
      candidates.push_back(std::move(candidate));
  llvm::append_range(candidates, std::move(uneven));
  for (Candidate &candidate : candidates)
    candidate.bound = bound;
  return std::move(candidates);
}

/// Of more ranks each question takes long.
static constexpr unsigned fewRanks = 16;

/// The limits of one question: what is left of the time, and some work; more
/// for an all_reduce, whose trees go both ways.
static SearchLimits limitsFor(CollectiveKind kind, const Deadline &deadline,
                              const FrontierOptions &options) {
  bool isTwoWay = kind == CollectiveKind::AllReduce;
  const uint64_t depthWork = isTwoWay ? 500'000 : 150'000;
  return {deadline.remainingLimit(), depthWork, options.solver.interrupt};
}

/// Those of few steps and few chunks, down to `least`.
static void addDepths(const Fabric &fabric, const CollectiveFamily &family,
                      const FrontierOptions &options, const Deadline &deadline,
                      double least, PipelinedDepths &depths,
                      PipelinedCandidates &found) {
  if (!isAsked(Maker::depths))
    return;
  bool isLong = family.kind == CollectiveKind::AllReduce &&
                fabric.topology.numRanks() > fewRanks;
  for (unsigned maxChunks : {1u, 4u, 16u}) {
    // An all_reduce has as many for each rank.
    if (isLong && maxChunks > 4)
      return;
    // More steps are of no use where they have not been for two.
    constexpr unsigned patience = 2;
    double leastSoFar = std::numeric_limits<double>::infinity();
    unsigned idle = 0;
    for (unsigned steps = 1; steps <= options.maxSteps && idle < patience;
         ++steps) {
      if (deadline.isOver())
        return;
      std::optional<Implementation> deep = depths.packed(
          steps, maxChunks, limitsFor(family.kind, deadline, options));
      if (!deep)
        continue;
      double load = loadOf(*deep, fabric.topology);
      idle += load * PipelinedCandidates::asGood >= leastSoFar;
      // More steps for a load that is as small would only take longer.
      if (load <= least * PipelinedCandidates::asGood)
        idle = patience;
      leastSoFar = std::min(leastSoFar, load);
      found.add(std::move(*deep));
    }
  }
}

/// Those of few steps and few chunks, and that of the least load, unless there
/// are many ranks and what is there has no more load.
static void addPipelined(const Fabric &fabric, const CollectiveFamily &family,
                         const FrontierOptions &options,
                         const Deadline &deadline, PipelinedCandidates &found) {
  constexpr uint64_t boundWork = 1'000'000;
  if (!family.isPlain() || !hasPipelinedSchedules(family.kind))
    return;
  const Topology &topology = fabric.topology;
  PipelinedDepths depths(topology, family.kind, family.root);
  SearchLimits limits{deadline.remainingLimit(), boundWork,
                      options.solver.interrupt};
  found.setBound(depths.boundForAnyDepth(limits));
  // Trees that go both ways take seconds, and have seldom come as close.
  constexpr double close = 1.15;
  bool isTwoWay = family.kind == CollectiveKind::AllReduce;
  if (topology.numRanks() > fewRanks &&
      found.meetBound(options.maxSteps,
                      isTwoWay ? close : PipelinedCandidates::asGood))
    return;
  Result<PipelinedSchedule> limit = synthesizePipelined(
      topology, family.kind, family.root,
      {deadline.remainingLimit(), boundWork, options.solver.interrupt});
  double least = limit ? loadOf(limit->implementation, topology) : 0;
  addDepths(fabric, family, options, deadline, least, depths, found);
  if (limit)
    found.add(std::move(limit->implementation));
}

std::vector<Candidate>
advice::switchedCandidates(const Fabric &fabric, const CollectiveFamily &family,
                           const FrontierOptions &options,
                           const Deadline &deadline) {
  constexpr uint64_t boundWork = 1'000'000;
  if (!family.isPlain() || !hasPipelinedSchedules(family.kind))
    return {};
  const Deadline half(
      {deadline.remainingLimit() / 2, 0, options.solver.interrupt});
  PipelinedDepths depths(fabric.topology, family.kind, family.root);
  PipelinedCandidates found(fabric);
  std::optional<LowerBound> bound = depths.boundForAnyDepth(
      {half.remainingLimit(), boundWork, options.solver.interrupt});
  double least = bound ? bound->value->toDouble() : 0;
  found.setBound(std::move(bound));
  addDepths(fabric, family, options, half, least, depths, found);
  return found.take();
}

//===----------------------------------------------------------------------===//
// The frontier
//===----------------------------------------------------------------------===//

/// The steps that the frontier is searched for. On many ranks that takes long,
/// and a pipelined candidate in one piece is as good as one step by step; for
/// an all_reduce of as many steps as one of the least load, too.
static unsigned stepsToSearch(const Topology &topology,
                              const CollectiveFamily &family,
                              const FrontierOptions &options,
                              const PipelinedCandidates &pipelined) {
  if (topology.numRanks() > fewRanks)
    return unsigned(pipelined.leastSteps(options.maxSteps));
  if (family.kind != CollectiveKind::AllReduce)
    return options.maxSteps;
  size_t steps = pipelined.leastStepsOfLeastLoad(options.maxSteps + 1);
  return unsigned(std::max<size_t>(steps, 2) - 1);
}

/// The same implementation, with steps that overlap.
static Implementation overlapped(Implementation implementation,
                                 const Topology &topology) {
  implementation.schedule.period =
      leastPeriod(implementation.schedule, topology);
  return implementation;
}

/// Points as they are, and pipelined if there is something to overlap: several
/// steps, or a reduction of what has come.
static void addPoints(const Fabric &fabric, const CollectiveFamily &family,
                      const Frontier &frontier,
                      std::vector<Candidate> &candidates,
                      PipelinedCandidates &pipelined) {
  const Topology &topology = fabric.topology;
  for (const FrontierPoint &point : frontier.points) {
    Result<Implementation> whole = point.implement(family, topology.numRanks());
    if (!whole)
      continue;
    if (whole->schedule.steps.size() > 1 || whole->collective.combining())
      pipelined.add(overlapped(*whole, topology));
    std::optional<LowerBound> bound;
    if (point.bound)
      bound = *point.bound;
    candidates.push_back(
        candidateOf(std::move(*whole), std::move(bound), fabric));
  }
}

/// True if all ranks send the same number of chunks.
static bool isEven(const Implementation &implementation) {
  std::vector<size_t> sends(implementation.collective.numRanks());
  for (const Step &step : implementation.schedule.steps)
    for (const Send &send : step.sends)
      ++sends[send.src];
  return llvm::all_equal(sends);
}

/// All_reduces that boxes suggest, both ways.
static void addBlockwise(const Fabric &fabric, const CollectiveFamily &family,
                         std::vector<Candidate> &candidates,
                         PipelinedCandidates &pipelined) {
  if (!family.isPlain() || family.kind != CollectiveKind::AllReduce ||
      !isAsked(Maker::blockwise))
    return;
  for (Implementation &whole : blockwiseAllReduces(fabric)) {
    Implementation inPieces = overlapped(whole, fabric.topology);
    if (isEven(whole))
      pipelined.add(std::move(inPieces));
    else
      pipelined.addUneven(std::move(inPieces));
    candidates.push_back(candidateOf(std::move(whole), std::nullopt, fabric));
  }
}

/// True if each rank has a link to each: then few schedules are worth a look,
/// and one step may be all it takes.
static bool joinsAllRanks(const Topology &topology) {
  size_t ranks = topology.numRanks();
  return topology.links().size() == ranks * (ranks - 1);
}

/// True if one step is as good as any number.
static Result<bool> isOneStepAll(const Topology &topology,
                                 const CollectiveFamily &family,
                                 FrontierOptions options, Found &found) {
  if (!joinsAllRanks(topology))
    return false;
  options.maxSteps = 1;
  Result<Frontier> frontier = searchFrontier(topology, family, options);
  if (!frontier)
    return Error{frontier.error()};
  found.frontier = std::move(*frontier);
  return found.frontier.complete;
}

/// All_reduces in which each rank gets all inputs, which no load of the
/// frontier shows: for few bytes, and since few others of few steps have all
/// ranks sum up in one order.
static void addGatheredSums(const Fabric &fabric,
                            const CollectiveFamily &family,
                            FrontierOptions options,
                            std::vector<Candidate> &candidates) {
  unsigned ranks = fabric.topology.numRanks();
  if (family.kind != CollectiveKind::AllReduce || ranks > fewRanks ||
      !isAsked(Maker::gather_sums))
    return;
  CollectiveFamily gather{CollectiveKind::AllGather, 0, family.groups};
  Result<Frontier> frontier = searchFrontier(fabric.topology, gather, options);
  if (!frontier)
    return;
  for (const FrontierPoint &point : frontier->points) {
    Result<Implementation> whole = point.implement(gather, ranks);
    if (!whole)
      continue;
    if (Result<Implementation> sum = sumOnArrival(*whole))
      candidates.push_back(candidateOf(std::move(*sum), std::nullopt, fabric));
  }
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

/// `stepByStep`, and `pipelined` in at least two pieces where one is there step
/// by step.
static std::vector<Candidate> together(std::vector<Candidate> stepByStep,
                                       std::vector<Candidate> pipelined) {
  for (Candidate &candidate : pipelined)
    if (llvm::any_of(stepByStep, [&](const Candidate &other) {
          return other.implementation.schedule.steps ==
                 candidate.implementation.schedule.steps;
        }))
      candidate.pieces = 2;
  llvm::append_range(stepByStep, std::move(pipelined));
  return stepByStep;
}

Result<Found> advice::findCandidates(const Fabric &fabric,
                                     const CollectiveFamily &family,
                                     const FrontierOptions &options,
                                     const Deadline &deadline) {
  const Topology &topology = fabric.topology;
  constexpr double ofPipelined = 0.25, ofFrontier = 0.35;
  Found found;
  PipelinedCandidates pipelined(fabric);
  std::vector<Candidate> candidates;
  auto within = [&](double part) {
    FrontierOptions some = options;
    some.timeoutSeconds = deadline.remainingLimit() * part;
    return some;
  };
  Result<bool> isDone =
      isOneStepAll(topology, family, within(ofFrontier), found);
  if (!isDone)
    return Error{isDone.error()};
  addBlockwise(fabric, family, candidates, pipelined);
  if (!*isDone) {
    for (Implementation &whole : grownSchedules(fabric, family, deadline))
      pipelined.addGrown(overlapped(std::move(whole), topology));
    Deadline part(
        {deadline.remainingLimit() * ofPipelined, 0, options.solver.interrupt});
    addPipelined(fabric, family, options, part, pipelined);
    FrontierOptions few = within(ofFrontier);
    // Pipelined schedules say how many steps are of use where they are made in
    // any order.
    if (!options.order.isTree())
      few.maxSteps = stepsToSearch(topology, family, options, pipelined);
    Result<Frontier> frontier = searchFrontier(topology, family, few);
    if (!frontier)
      return Error{frontier.error()};
    found.frontier = std::move(*frontier);
    addGatheredSums(fabric, family, few, candidates);
  }
  addPoints(fabric, family, found.frontier, candidates, pipelined);
  found.candidates = together(std::move(candidates), pipelined.take());
  return found;
}

std::vector<Candidate> advice::candidatesOf(const Implementation &whole,
                                            const Fabric &fabric) {
  PipelinedCandidates pipelined(fabric);
  if (whole.schedule.steps.size() > 1)
    pipelined.add(overlapped(whole, fabric.topology));
  return together({candidateOf(whole, std::nullopt, fabric)}, pipelined.take());
}
