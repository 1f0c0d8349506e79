//===- Candidates.cpp - Schedules that may be the best --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Candidates.h"

#include "Blockwise.h"

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
  candidate.latency = latencyOf(candidate.implementation, fabric);
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
  void add(Implementation implementation, std::optional<LowerBound> bound);
  void add(Result<PipelinedSchedule> found) {
    if (found)
      add(std::move(found->implementation), std::move(found->bound));
  }
  size_t leastSteps(size_t most) const;
  std::vector<Candidate> take() { return std::move(candidates); }

private:
  const Fabric &fabric;
  std::vector<Candidate> candidates;
};
} // namespace

void PipelinedCandidates::add(Implementation implementation,
                              std::optional<LowerBound> bound) {
  Candidate candidate =
      candidateOf(std::move(implementation), std::move(bound), fabric);
  const auto &[collective, schedule] = candidate.implementation;
  for (const Candidate &other : candidates) {
    const auto &[known, steps] = other.implementation;
    if (steps.steps.size() <= schedule.steps.size() &&
        known.chunks() <= collective.chunks() &&
        other.load <= candidate.load * asGood &&
        other.latency <= candidate.latency * asGood)
      return;
  }
  candidates.push_back(std::move(candidate));
}

size_t PipelinedCandidates::leastSteps(size_t most) const {
  for (const Candidate &candidate : candidates)
    most = std::min(most, candidate.implementation.schedule.steps.size());
  return most;
}

/// The limits of one question: what is left of the time, and some work; more
/// for an all_reduce, whose trees go both ways.
static SearchLimits limitsFor(CollectiveKind kind, const Deadline &deadline,
                              const FrontierOptions &options) {
  bool isTwoWay = kind == CollectiveKind::AllReduce;
  const uint64_t depthWork = isTwoWay ? 500'000 : 150'000;
  return {deadline.remainingLimit(), depthWork, options.solver.interrupt};
}

/// Schedules in which chunks take one slow link at most, if there are slow and
/// fast ones: of two steps either, or of three the middle one.
static void addSlowOnce(const Fabric &fabric, CollectiveKind kind,
                        const FrontierOptions &options,
                        const Deadline &deadline, PipelinedDepths &depths,
                        PipelinedCandidates &found) {
  auto [least, most] = std::ranges::minmax(fabric.timing.latencies);
  if (least * 2 >= most)
    return;
  LinkWindow window;
  for (double latency : fabric.timing.latencies)
    window.links.push_back(latency * 2 > most);
  for (auto [steps, slow] : {std::pair(2u, 0u), {2u, 1u}, {3u, 1u}})
    for (unsigned maxChunks : {1u, 4u}) {
      if (deadline.isOver() || steps > options.maxSteps)
        return;
      window.first = window.last = slow;
      if (std::optional<Implementation> some = depths.within(
              window, steps, maxChunks, limitsFor(kind, deadline, options)))
        found.add(std::move(*some), std::nullopt);
    }
}

/// Those of few steps and few chunks, and that of the least load.
static void addPipelined(const Fabric &fabric, const CollectiveFamily &family,
                         const FrontierOptions &options,
                         const Deadline &deadline, PipelinedCandidates &found) {
  if (!family.isPlain() || !hasPipelinedSchedules(family.kind))
    return;
  const Topology &topology = fabric.topology;
  PipelinedDepths depths(topology, family.kind, family.root);
  // All_reduces that do so are those that boxes suggest.
  if (family.kind != CollectiveKind::AllReduce)
    addSlowOnce(fabric, family.kind, options, deadline, depths, found);
  // That of any depth takes long on many ranks, where few steps often do.
  std::optional<Result<PipelinedSchedule>> limit;
  auto isLeast = [&](const PipelinedSchedule &schedule) {
    if (schedule.optimal && schedule.holdsForAnyDepth())
      return true;
    if (!limit)
      limit = synthesizePipelined(topology, family.kind, family.root,
                                  limitsFor(family.kind, deadline, options));
    return *limit && loadOf(schedule.implementation, topology) <=
                         loadOf((*limit)->implementation, topology) *
                             PipelinedCandidates::asGood;
  };
  for (unsigned maxChunks : {1u, 4u, 16u}) {
    // More steps are of no use where they have not been for two.
    constexpr unsigned patience = 2;
    double least = std::numeric_limits<double>::infinity();
    unsigned idle = 0;
    for (unsigned steps = 1; steps <= options.maxSteps && idle < patience;
         ++steps) {
      if (deadline.isOver())
        return;
      Result<PipelinedSchedule> deep =
          depths.at(steps, limitsFor(family.kind, deadline, options), maxChunks)
              .schedule;
      if (!deep)
        continue;
      // More steps for a load that is as small would only take longer.
      if (isLeast(*deep))
        idle = patience;
      double load = loadOf(deep->implementation, topology);
      idle += load * PipelinedCandidates::asGood >= least;
      least = std::min(least, load);
      found.add(std::move(deep));
    }
  }
  if (limit)
    found.add(std::move(*limit));
}

//===----------------------------------------------------------------------===//
// The frontier
//===----------------------------------------------------------------------===//

/// The steps that the frontier is searched for. On many ranks that takes long,
/// and a pipelined candidate in one piece is as good as one step by step.
static unsigned stepsToSearch(const Topology &topology,
                              const FrontierOptions &options,
                              const PipelinedCandidates &pipelined) {
  constexpr unsigned fewRanks = 16;
  return topology.numRanks() > fewRanks
             ? unsigned(pipelined.leastSteps(options.maxSteps))
             : options.maxSteps;
}

/// The same implementation, with steps that overlap.
static Implementation overlapped(Implementation implementation,
                                 const Topology &topology) {
  implementation.schedule.period =
      leastPeriod(implementation.schedule, topology);
  return implementation;
}

/// Points as they are, and, if they have several steps, pipelined.
static void addPoints(const Fabric &fabric, const CollectiveFamily &family,
                      const Frontier &frontier,
                      std::vector<Candidate> &candidates,
                      PipelinedCandidates &pipelined) {
  const Topology &topology = fabric.topology;
  for (const FrontierPoint &point : frontier.points) {
    Result<Collective> collective =
        family.make(topology.numRanks(), point.chunks);
    if (!collective)
      continue;
    Implementation whole{std::move(*collective), point.schedule.get()};
    if (whole.schedule.steps.size() > 1)
      pipelined.add(overlapped(whole, topology), std::nullopt);
    candidates.push_back(candidateOf(std::move(whole), point.bound, fabric));
  }
}

/// All_reduces that boxes suggest, both ways.
static void addBlockwise(const Fabric &fabric, const CollectiveFamily &family,
                         std::vector<Candidate> &candidates,
                         PipelinedCandidates &pipelined) {
  if (!family.isPlain() || family.kind != CollectiveKind::AllReduce)
    return;
  for (Implementation &whole : blockwiseAllReduces(fabric)) {
    pipelined.add(overlapped(whole, fabric.topology), std::nullopt);
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
  if (!*isDone) {
    Deadline part(
        {deadline.remainingLimit() * ofPipelined, 0, options.solver.interrupt});
    addPipelined(fabric, family, options, part, pipelined);
    FrontierOptions few = within(ofFrontier);
    few.maxSteps = stepsToSearch(topology, options, pipelined);
    Result<Frontier> frontier = searchFrontier(topology, family, few);
    if (!frontier)
      return Error{frontier.error()};
    found.frontier = std::move(*frontier);
  }
  addPoints(fabric, family, found.frontier, candidates, pipelined);
  addBlockwise(fabric, family, candidates, pipelined);
  found.candidates = together(std::move(candidates), pipelined.take());
  return found;
}

std::vector<Candidate> advice::candidatesOf(const Implementation &whole,
                                            const Fabric &fabric) {
  PipelinedCandidates pipelined(fabric);
  if (whole.schedule.steps.size() > 1)
    pipelined.add(overlapped(whole, fabric.topology), std::nullopt);
  return together({candidateOf(whole, std::nullopt, fabric)}, pipelined.take());
}
