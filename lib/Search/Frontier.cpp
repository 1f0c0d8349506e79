//===- Frontier.cpp - The Pareto frontier of a collective -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// First the bounds, one per number of steps: they cost milliseconds and say at
// which numbers of steps a cheaper schedule can exist at all. Then the
// schedules that meet them.
//
//===----------------------------------------------------------------------===//

#include "sccl/Search/Frontier.h"

#include "sccl/Model/Instance.h"

#include <algorithm>
#include <chrono>
#include <future>

using namespace sccl;

Result<Collective> sccl::smallestCollective(const CollectiveFamily &family,
                                            unsigned numRanks) {
  unsigned chunks = sendsOneSegmentPerRank(family.kind) ? numRanks : 1;
  return Collective::make(family.kind, numRanks, chunks, family.root);
}

namespace {
using Clock = std::chrono::steady_clock;

/// One (C, R) to try at some number of steps.
struct Candidate {
  unsigned chunks, rounds;
  Rational bandwidth() const { return Rational(rounds, chunks); }
};

class FrontierSearch {
public:
  FrontierSearch(const Topology &topology, const CollectiveFamily &family,
                 const FrontierOptions &options, const Collective &smallest)
      : topology(topology), family(family), options(options),
        smallest(smallest), begin(Clock::now()) {}

  Frontier run(const std::function<void(const FrontierPoint &)> &progress) {
    findBounds();
    std::vector<unsigned> steps = options.k ? allSteps() : improvingSteps();
    for (size_t first = 0; first < steps.size(); first += options.jobs) {
      size_t last = std::min<size_t>(first + options.jobs, steps.size());
      std::vector<std::future<std::optional<FrontierPoint>>> searches;
      for (size_t i = first; i < last; ++i)
        searches.push_back(std::async(
            options.jobs > 1 ? std::launch::async : std::launch::deferred,
            [this, s = steps[i]] { return searchAt(s); }));
      for (size_t i = first; i < last; ++i) {
        if (std::optional<FrontierPoint> point = searches[i - first].get())
          add(std::move(*point), progress);
        else
          unsettled.push_back(steps[i]);
      }
      if (timeIsOver() || meetsThroughput())
        break;
    }
    conclude();
    return std::move(frontier);
  }

private:
  //===--- Bounds ---===//

  void findBounds() {
    Result<LowerBound> any = throughputBound(topology, smallest);
    if (any)
      frontier.throughput = *any;
    bounds.resize(options.maxSteps + 1);
    for (unsigned s = 1; s <= options.maxSteps && !timeIsOver(); ++s) {
      LowerBoundOptions boundOptions;
      boundOptions.timeoutSeconds = remainingSeconds();
      // What fewer steps can do anyway need not be proved again.
      if (frontier.throughput)
        boundOptions.target = frontier.throughput->value;
      Result<LowerBound> bound =
          lowerBound(topology, smallest, s, boundOptions);
      if (bound)
        bounds[s] = *bound;
      if (bound && bound->value && frontier.throughput &&
          *bound->value == frontier.throughput->value) {
        // More steps cannot be cheaper.
        lastSteps = s;
        return;
      }
    }
    lastSteps = options.maxSteps;
  }

  bool isImpossible(unsigned s) const { return bounds[s] && !bounds[s]->value; }

  std::vector<unsigned> allSteps() const {
    std::vector<unsigned> steps;
    for (unsigned s = 1; s <= options.maxSteps; ++s)
      if (!isImpossible(s))
        steps.push_back(s);
    return steps;
  }

  /// The numbers of steps at which the bound leaves room for a cheaper schedule
  /// than with fewer steps.
  std::vector<unsigned> improvingSteps() const {
    std::vector<unsigned> steps;
    std::optional<Rational> best;
    for (unsigned s = 1; s <= lastSteps; ++s) {
      if (isImpossible(s))
        continue;
      if (bounds[s] && best && !(*bounds[s]->value < *best))
        continue;
      if (bounds[s])
        best = bounds[s]->value;
      steps.push_back(s);
    }
    return steps;
  }

  //===--- Schedules ---===//

  /// The (C, R) to try at `s` steps, cheapest first; of equal ones the smallest
  /// first.
  std::vector<Candidate> candidatesAt(unsigned s) const {
    unsigned unit = smallest.chunks();
    unsigned maxChunks = std::max(options.maxChunks, unit);
    std::optional<Rational> floor;
    if (bounds[s])
      floor = bounds[s]->value;
    std::vector<Candidate> candidates;
    for (unsigned c = unit; c <= maxChunks; c += unit) {
      unsigned most = options.k ? s + *options.k : s + 4 * maxChunks;
      for (unsigned r = s; r <= most; ++r) {
        if (floor && Rational(r, c) < *floor)
          continue;
        candidates.push_back({c, r});
        // Without k, the smallest R that the bound allows is the one to try.
        if (!options.k)
          break;
      }
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate &a, const Candidate &b) {
                       return a.bandwidth() < b.bandwidth();
                     });
    return candidates;
  }

  std::optional<FrontierPoint> searchAt(unsigned s) {
    for (const Candidate &candidate : candidatesAt(s)) {
      if (timeIsOver())
        return std::nullopt;
      // Fewer steps do as well or better.
      if (cheapestKnown && !(candidate.bandwidth() < *cheapestKnown))
        return std::nullopt;
      Result<Collective> collective = Collective::make(
          family.kind, topology.numRanks(), candidate.chunks, family.root);
      if (!collective)
        continue;
      Result<Instance> instance =
          Instance::make(topology, std::move(*collective), s, candidate.rounds);
      if (!instance)
        continue;
      SolverOptions solver = options.solver;
      solver.timeoutSeconds =
          std::min(options.probeSeconds, remainingSeconds());
      SynthesisResult result = synthesize(*instance, solver, options.engine);
      if (auto *satisfied = std::get_if<Satisfied>(&result.outcome))
        return makePoint(s, candidate, std::move(satisfied->schedule), result);
    }
    return std::nullopt;
  }

  FrontierPoint makePoint(unsigned s, const Candidate &candidate,
                          Schedule schedule,
                          const SynthesisResult &result) const {
    FrontierPoint point{candidate.chunks, s,
                        candidate.rounds, std::move(schedule),
                        result.engine,    result.seconds,
                        bounds[s],        false};
    point.optimal = bounds[s] && bounds[s]->value == point.bandwidth();
    return point;
  }

  void add(FrontierPoint point,
           const std::function<void(const FrontierPoint &)> &progress) {
    if (cheapestKnown && !(point.bandwidth() < *cheapestKnown))
      return;
    cheapestKnown = point.bandwidth();
    if (progress)
      progress(point);
    frontier.points.push_back(std::move(point));
  }

  //===--- Conclusion ---===//

  bool meetsThroughput() const {
    return frontier.throughput && cheapestKnown == frontier.throughput->value;
  }

  void conclude() {
    bool allOptimal =
        std::all_of(frontier.points.begin(), frontier.points.end(),
                    [](const FrontierPoint &point) { return point.optimal; });
    if (timeIsOver()) {
      frontier.why = "time is over, or the search was interrupted";
    } else if (!meetsThroughput()) {
      frontier.why = "no more than " + std::to_string(options.maxSteps) +
                     " steps were looked at";
      if (frontier.throughput && frontier.throughput->value)
        frontier.why += "; the bandwidth bound is R/C = " +
                        frontier.throughput->value->str();
    } else if (options.k) {
      frontier.why = "the bandwidth bound is met; R is at most S + " +
                     std::to_string(*options.k);
    } else if (!allOptimal) {
      frontier.why =
          "the bandwidth bound is met, but not every point is proved "
          "optimal for its steps";
    } else {
      frontier.complete = true;
      frontier.why = "every point is optimal for its steps, and the last one "
                     "meets the bandwidth bound";
    }
  }

  double remainingSeconds() const {
    if (options.timeoutSeconds <= 0)
      return options.probeSeconds;
    std::chrono::duration<double> used = Clock::now() - begin;
    return std::max(1e-3, options.timeoutSeconds - used.count());
  }
  bool timeIsOver() const {
    if (options.solver.interrupt && *options.solver.interrupt)
      return true;
    std::chrono::duration<double> used = Clock::now() - begin;
    return options.timeoutSeconds > 0 && used.count() >= options.timeoutSeconds;
  }

  const Topology &topology;
  const CollectiveFamily &family;
  const FrontierOptions &options;
  const Collective &smallest;
  Clock::time_point begin;
  std::vector<std::optional<LowerBound>> bounds; ///< by steps
  unsigned lastSteps = 0;
  std::optional<Rational> cheapestKnown;
  /// Numbers of steps at which the bound left room but nothing was found.
  std::vector<unsigned> unsettled;
  Frontier frontier;
};
} // namespace

Result<Frontier> sccl::searchFrontier(
    const Topology &topology, const CollectiveFamily &family,
    const FrontierOptions &options,
    const std::function<void(const FrontierPoint &)> &progress) {
  Result<Collective> smallest = smallestCollective(family, topology.numRanks());
  if (!smallest)
    return Error{smallest.error()};
  // Finds out whether every chunk has a path to its destinations.
  Result<Instance> reachable = Instance::make(topology, *smallest, 1, 1);
  if (!reachable)
    return Error{reachable.error()};
  FrontierSearch search(topology, family, options, *smallest);
  return search.run(progress);
}
