//===- TreeSums.cpp - Schedules that add up by a tree ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TreeSums.h"

#include "Solver/Constants.h"
#include "Solver/Quotient.h"

#include "sccl/Model/Composition.h"
#include "sccl/Model/GatheredSums.h"
#include "sccl/Model/OrderCheck.h"
#include "sccl/Model/Scaling.h"
#include "sccl/Solver/Makers.h"

#include <algorithm>
#include <numeric>

using namespace sccl;

CollectiveFamily GatherSums::gatherFamily() const {
  return {CollectiveKind::AllGather, 0, problem.family.groups};
}

size_t GatherSums::ranksTogether() const {
  const RankGroups &groups = problem.family.groups;
  return groups.empty() ? problem.topology.numRanks() : groups.front().size();
}

bool GatherSums::isAddedOnArrival() const {
  return ranksTogether() <= tuned::mostAddedOnArrival();
}

/// In groups of different sizes their C would differ. Where no rank relays for
/// others, engines find what two all_gathers make.
bool GatherSums::isTried() const {
  return isAsked(Maker::gather_sums) &&
         problem.family.kind == CollectiveKind::AllReduce &&
         (isAddedOnArrival() || problem.mayRelay()) &&
         std::ranges::all_of(problem.family.groups, [&](const auto &group) {
           return group.size() == ranksTogether();
         });
}

/// Programs of many ranks take seconds, which this is not worth.
bool GatherSums::mayBeBelow(const Rational &known, unsigned steps,
                            uint64_t work) const {
  Result<Collective> smallest =
      smallestCollective(gatherFamily(), problem.topology.numRanks());
  if (problem.hasManyRanks() || problem.mayRelay() || !smallest)
    return true;
  Result<LowerBound> bound =
      lowerBound(problem.topology, *smallest, steps,
                 LowerBoundOptions{problem.limitsOf(work)});
  return !bound || (bound->value && *bound->value < known);
}

void GatherSums::findGathers(uint64_t work) {
  FrontierOptions options = problem.options;
  options.k.reset();
  options.watch = nullptr;
  options.improved = nullptr;
  options.trees = nullptr;
  options.probeWork = options.stepWork = work;
  auto search = [&](const Topology &topology) {
    options.timeoutSeconds = problem.deadline.remainingLimit();
    Result<Frontier> frontier =
        searchFrontier(topology, gatherFamily(), options);
    return frontier ? std::move(frontier->points) : Points();
  };
  gathers = search(problem.topology);
  if (problem.mayRelay())
    onReversed = isOwnReverse(problem.topology)
                     ? *gathers
                     : search(problem.topology.reversed());
}

std::optional<FrontierPoint>
GatherSums::makePoint(Result<Implementation> sum,
                      const FrontierPoint &gather) const {
  if (!sum)
    return std::nullopt;
  return checkedPoint(problem.topology, std::move(*sum),
                      "compose/" + gather.engine, gather.seconds);
}

std::optional<FrontierPoint> GatherSums::addedOnArrival(unsigned steps) const {
  auto gather = std::ranges::find(*gathers, steps, &FrontierPoint::steps);
  if (gather == gathers->end() || !isAddedOnArrival())
    return std::nullopt;
  Result<Implementation> whole =
      gather->implement(gatherFamily(), problem.topology.numRanks());
  return makePoint(whole ? sumOnArrival(*whole) : Error{whole.error()},
                   *gather);
}

std::optional<FrontierPoint> GatherSums::joined(unsigned steps) const {
  struct Pair {
    const FrontierPoint *before, *after;
    double cost() const {
      return before->bandwidth().toDouble() + after->bandwidth().toDouble();
    }
  };
  std::vector<Pair> pairs;
  for (const FrontierPoint &before : onReversed)
    for (const FrontierPoint &after : *gathers)
      if (before.steps + after.steps == steps &&
          std::lcm(uint64_t(before.chunks), uint64_t(after.chunks)) *
                  ranksTogether() <=
              FrontierOptions::maxMaxChunks)
        pairs.push_back({&before, &after});
  auto best = std::ranges::min_element(pairs, {}, &Pair::cost);
  if (best == pairs.end())
    return std::nullopt;
  const CollectiveFamily family = gatherFamily();
  unsigned ranks = problem.topology.numRanks();
  Result<Implementation> before = best->before->implement(family, ranks),
                         after = best->after->implement(family, ranks);
  if (!before || !after)
    return std::nullopt;
  return makePoint(composeAllReduce(*before, *after), *best->after);
}

std::optional<FrontierPoint>
GatherSums::at(unsigned steps, const std::optional<Rational> &known,
               uint64_t work) {
  if (!isTried() || (!gathers && known && !mayBeBelow(*known, steps, work)))
    return std::nullopt;
  if (!gathers)
    findGathers(work);
  std::optional<FrontierPoint> one = addedOnArrival(steps), two = joined(steps);
  bool isTwo = two && (!one || two->bandwidth() < one->bandwidth());
  return isTwo ? two : one;
}

static constexpr const char *maker = "ordered_sums";

static bool isBelow(const Rational &cost,
                    const std::optional<Rational> &known) {
  return !known || cost < *known;
}

/// Nothing if a check refuses it.
TreeSums::Point TreeSums::checked(Implementation found, std::string engine,
                                  double seconds) const {
  if (checkOrder(found.collective, found.schedule, problem.options.order))
    return std::nullopt;
  return checkedPoint(problem.topology, std::move(found), std::move(engine),
                      seconds);
}

/// All inputs go to those that want their sum, in the one step that there is:
/// no other schedule has one step only.
TreeSums::Point TreeSums::direct() const {
  const Collective &collective = problem.smallest;
  Step step;
  for (unsigned chunk = 0; chunk < collective.numChunks(); ++chunk)
    for (unsigned to : collective.post().ranksOf(chunk))
      for (unsigned from : collective.pre().ranksOf(chunk)) {
        if (from == to)
          continue;
        if (!problem.topology.findLink(from, to))
          return std::nullopt;
        step.sends.push_back({chunk, from, to, SendAction::Reduce});
      }
  // In so many pieces, chunks fill the rounds of the fullest limit.
  std::vector<int64_t> loads(problem.topology.links().size());
  for (const Send &send : step.sends)
    ++loads[*problem.topology.findLink(send.src, send.dst)];
  Rational fullest(0);
  for (const BandwidthLimit &limit : problem.topology.limits()) {
    int64_t load = 0;
    for (unsigned link : limit.links)
      load += loads[link];
    fullest = std::max(fullest, Rational(load, limit.bandwidth));
  }
  auto pieces = uint64_t(fullest.denominator());
  if (pieces > FrontierOptions::maxMaxChunks)
    return std::nullopt;
  Schedule schedule = cutChunks({{std::move(step)}}, unsigned(pieces), 1);
  Result<Collective> cut =
      problem.collectiveOf(collective.chunks() * unsigned(pieces));
  if (!cut)
    return std::nullopt;
  fitRounds(schedule, problem.topology);
  return checked({std::move(*cut), std::move(schedule)}, maker, 0);
}

TreeSums::Point TreeSums::packed(unsigned steps,
                                 const std::optional<Rational> &known) {
  constexpr uint64_t work = 600'000;
  Deadline clock(problem.limitsOf(work));
  if (!synthesis)
    synthesis = std::make_unique<MulticastSynthesis>(
        problem.reduced, problem.smallest, problem.options.order);
  unsigned scale = problem.scale, most = FrontierOptions::maxMaxChunks / scale;
  TreeSynthesis::Wanted wanted{steps, std::min(problem.mostChunks(), most),
                               most * problem.unit(), problem.options.maxSends};
  if (problem.options.maxChunksIsFirm)
    wanted.maxExactChunks = problem.mostChunks();
  if (known)
    wanted.below =
        Rational(known->numerator() * int64_t(scale), known->denominator());
  std::optional<Implementation> found =
      synthesis->best(wanted, problem.limitsOf(work), &lastPrices);
  if (!found)
    return std::nullopt;
  Result<Collective> collective =
      problem.collectiveOf(found->collective.chunks() * scale);
  if (!collective)
    return std::nullopt;
  return checked({std::move(*collective), cutChunks(found->schedule, scale, 1)},
                 maker, clock.elapsedSeconds());
}

/// The frontier of a part of an all_reduce.
const std::vector<FrontierPoint> &TreeSums::pointsOf(CollectiveKind kind) {
  auto [at, isNew] = parts.try_emplace(kind);
  if (!isNew)
    return at->second;
  FrontierOptions options = problem.options;
  options.watch = nullptr;
  options.improved = nullptr;
  options.trees = nullptr;
  options.timeoutSeconds = problem.deadline.remainingLimit();
  Result<Frontier> frontier = searchFrontier(
      problem.topology, {kind, 0, problem.family.groups}, options);
  if (frontier)
    at->second = std::move(frontier->points);
  return at->second;
}

Result<Implementation> TreeSums::implement(CollectiveKind kind,
                                           const FrontierPoint &point) const {
  return point.implement({kind, 0, problem.family.groups},
                         problem.topology.numRanks());
}

TreeSums::Point TreeSums::addedOnArrival(unsigned steps,
                                         const std::optional<Rational> &known) {
  const auto &gathers = pointsOf(CollectiveKind::AllGather);
  auto gather = std::ranges::find(gathers, steps, &FrontierPoint::steps);
  if (gather == gathers.end() || !isBelow(gather->bandwidth(), known))
    return std::nullopt;
  Result<Implementation> whole = implement(CollectiveKind::AllGather, *gather);
  Result<Implementation> sum =
      whole ? sumOnArrival(*whole) : Error{whole.error()};
  if (!sum)
    return std::nullopt;
  return checked(std::move(*sum), "compose/" + gather->engine, gather->seconds);
}

/// The cheapest pair of as many steps in all.
TreeSums::Point TreeSums::joined(unsigned steps,
                                 const std::optional<Rational> &known) {
  const CollectiveFamily family{CollectiveKind::ReduceScatter, 0,
                                problem.family.groups};
  auto segments = unsigned(family.unit(problem.topology.numRanks()));
  const FrontierPoint *before = nullptr, *after = nullptr;
  auto costOf = [&](const FrontierPoint *scatter, const FrontierPoint *gather) {
    return scatter->bandwidth().toDouble() +
           gather->bandwidth().toDouble() / segments;
  };
  auto chunksOf = [&](const FrontierPoint *scatter,
                      const FrontierPoint *gather) {
    return std::lcm(uint64_t(scatter->chunks) / segments,
                    uint64_t(gather->chunks));
  };
  for (const FrontierPoint &scatter : pointsOf(CollectiveKind::ReduceScatter))
    for (const FrontierPoint &gather : pointsOf(CollectiveKind::AllGather))
      if (scatter.steps + gather.steps == steps &&
          chunksOf(&scatter, &gather) <= FrontierOptions::maxMaxChunks &&
          (!before || costOf(&scatter, &gather) < costOf(before, after))) {
        before = &scatter;
        after = &gather;
      }
  if (!before || (known && costOf(before, after) >= known->toDouble()))
    return std::nullopt;
  Result<Implementation> first =
                             implement(CollectiveKind::ReduceScatter, *before),
                         second = implement(CollectiveKind::AllGather, *after);
  if (!first || !second)
    return std::nullopt;
  Result<Implementation> sum =
      joinSum(*first, *second, FrontierOptions::maxMaxChunks);
  if (!sum)
    return std::nullopt;
  return checked(std::move(*sum), "compose/" + before->engine,
                 before->seconds + after->seconds);
}

TreeSums::Point TreeSums::at(unsigned steps,
                             const std::optional<Rational> &known) {
  lastPrices.clear();
  if (!isAsked(Maker::ordered_sums))
    return std::nullopt;
  if (steps == 1)
    return direct();
  Point best;
  std::optional<Rational> least = known;
  auto offer = [&](Point point) {
    if (!point || !isBelow(point->bandwidth(), least))
      return;
    least = point->bandwidth();
    best = std::move(point);
  };
  if (problem.family.kind == CollectiveKind::AllReduce) {
    offer(joined(steps, least));
    offer(addedOnArrival(steps, least));
  }
  offer(packed(steps, least));
  return best;
}
