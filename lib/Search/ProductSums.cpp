//===- ProductSums.cpp - Sums by one factor after another -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProductSums.h"

#include "ProductWays.h"
#include "Search/Constants.h"

#include "Solver/Quotient.h"

#include "sccl/Model/Composition.h"
#include "sccl/Model/Scaling.h"
#include "sccl/Solver/Makers.h"

#include <algorithm>
#include <cmath>

using namespace sccl;

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// `schedule` of `chunks` chunks on `factor`.
static FactorPart makePart(const Topology &factor, unsigned chunks,
                           Schedule schedule) {
  FactorPart part{chunks, std::move(schedule), {}};
  for (size_t step = 0; step < part.schedule.steps.size(); ++step) {
    std::vector<Send> &sends = part.schedule.steps[step].sends;
    part.rounds.push_back(
        exactPeriod(Schedule{{part.schedule.steps[step]}}, factor) / chunks);
    for (Send &send : sends)
      if (send.payload == SendPayload::Input) {
        part.needsInputs |= step > 0;
        // What the first step reads is the input.
        if (step == 0)
          send.payload = SendPayload::Current;
      }
  }
  return part;
}

static bool isComplete(const Topology &topology) {
  size_t ranks = topology.numRanks();
  return topology.links().size() == ranks * (ranks - 1);
}

/// A step over all links.
static FactorPart partOverAll(const Topology &factor, unsigned chunks,
                              SendAction action, bool isOfTarget) {
  Step step;
  for (const Link &link : factor.links())
    step.sends.push_back({chunks == 1  ? 0
                          : isOfTarget ? link.dst
                                       : link.src,
                          link.src, link.dst, action});
  return makePart(factor, chunks, Schedule{{std::move(step)}});
}

static FactorParts partsOfComplete(const Topology &factor) {
  unsigned ranks = factor.numRanks();
  FactorParts parts;
  parts.sums.push_back(partOverAll(factor, 1, SendAction::Reduce, false));
  parts.scattered.push_back(
      {partOverAll(factor, ranks, SendAction::Reduce, /*isOfTarget=*/true),
       partOverAll(factor, ranks, SendAction::Copy, /*isOfTarget=*/false)});
  return parts;
}

/// A gather, turned round before itself, and both as one sum.
static void addGather(const Topology &factor, const FrontierPoint &point,
                      FactorParts &parts) {
  unsigned ranks = factor.numRanks();
  Result<Implementation> gather =
      point.implement({CollectiveKind::AllGather}, ranks);
  if (!gather)
    return;
  Result<Implementation> scatter = invert(*gather);
  Result<Implementation> both = composeAllReduce(*gather, *gather);
  if (!scatter || !both)
    return;
  unsigned chunks = point.chunks * ranks;
  parts.sums.push_back(
      makePart(factor, both->collective.chunks(), std::move(both->schedule)));
  parts.scattered.push_back(
      {makePart(factor, chunks, std::move(scatter->schedule)),
       makePart(factor, chunks, std::move(gather->schedule))});
}

/// Of few ranks, so that a short search does.
std::optional<FactorParts>
ProductSums::searchedParts(const Topology &factor) const {
  if (factor.numRanks() > tuned::mostFactorRanks() || !isOwnReverse(factor))
    return std::nullopt;
  FrontierOptions options;
  options.maxSteps = problem.options.maxSteps;
  options.probeWork = options.stepWork = tuned::firstCandidateWork();
  options.hasty = true;
  options.timeoutSeconds = problem.deadline.remainingLimit();
  options.solver = problem.options.solver;
  FactorParts parts;
  if (factor.numRanks() <= tuned::fewRanks())
    if (auto sums =
            searchFrontier(factor, {CollectiveKind::AllReduce}, options))
      for (const FrontierPoint &point : sums->points)
        parts.sums.push_back(
            makePart(factor, point.chunks, point.schedule.get()));
  auto gathers = searchFrontier(factor, {CollectiveKind::AllGather}, options);
  if (!gathers || gathers->points.empty())
    return std::nullopt;
  for (const FrontierPoint &point : gathers->points)
    addGather(factor, point, parts);
  std::ranges::stable_sort(parts.sums, {}, &FactorPart::steps);
  return parts;
}

std::optional<FactorParts> ProductSums::partsOf(const Topology &factor) const {
  if (isComplete(factor))
    return partsOfComplete(factor);
  return searchedParts(factor);
}

void ProductSums::findParts() {
  hasParts = true;
  product = factorize(problem.reduced);
  if (!product)
    return;
  for (const Topology &factor : product->factors) {
    std::optional<FactorParts> found = partsOf(factor);
    if (!found || problem.deadline.isOver()) {
      product.reset();
      return;
    }
    parts.push_back(std::move(*found));
  }
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

/// Into how many pieces to cut chunks, at most `most`, so that little is lost
/// where rounds are rounded up.
static unsigned piecesFor(const Schedule &schedule, const Topology &topology,
                          uint64_t most) {
  constexpr double tolerance = 1e-6;
  std::vector<double> exact;
  for (const Step &step : schedule.steps)
    exact.push_back(exactPeriod(Schedule{{step}}, topology));
  unsigned best = 1;
  double least = INFINITY;
  for (unsigned pieces = 1; pieces <= most; ++pieces) {
    double rounds = 0;
    for (double some : exact)
      rounds += std::ceil(some * pieces - tolerance);
    if (rounds / pieces < least * (1 - tolerance)) {
      least = rounds / pieces;
      best = pieces;
    }
  }
  return best;
}

/// `schedule`, with the rounds that it needs; nothing if it is no all_reduce of
/// `chunks` chunks.
static std::optional<FrontierPoint>
pointOf(const Topology &topology, unsigned chunks, Schedule schedule) {
  Result<Collective> collective =
      Collective::make(CollectiveKind::AllReduce, topology.numRanks(), chunks);
  if (!collective)
    return std::nullopt;
  fitRounds(schedule, topology);
  schedule.normalize();
  return checkedPoint(topology, {std::move(*collective), std::move(schedule)},
                      "compose", /*seconds=*/0);
}

std::optional<FrontierPoint> ProductSums::at(unsigned steps) {
  if (!problem.family.isPlain() ||
      problem.family.kind != CollectiveKind::AllReduce ||
      !isAsked(Maker::products))
    return std::nullopt;
  auto [at, isNew] = found.try_emplace(steps);
  if (isNew)
    at->second = find(steps);
  return at->second;
}

std::optional<FrontierPoint> ProductSums::find(unsigned steps) {
  if (!hasParts)
    findParts();
  if (!product)
    return std::nullopt;
  // More takes seconds to write out.
  const uint64_t mostSends = problem.options.maxSends / 4;
  unsigned mostChunks = FrontierOptions::maxMaxChunks / problem.scale;
  std::optional<MixOfWays> mix =
      cheapestMix(*product, parts, {steps, mostChunks, mostSends});
  if (!mix)
    return std::nullopt;
  unsigned chunks = mix->chunks();
  Schedule schedule = writeOut(*mix, *product);
  uint64_t most = std::min<uint64_t>(problem.mostChunks() / chunks,
                                     mostSends / schedule.numSends());
  unsigned pieces = piecesFor(schedule, problem.reduced, most) * problem.scale;
  return pointOf(problem.topology, chunks * pieces,
                 cutChunks(schedule, pieces, /*roundsFactor=*/1));
}
