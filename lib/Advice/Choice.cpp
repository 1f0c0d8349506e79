//===- Choice.cpp - Which variants are worth lowering ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Choice.h"

#include "Draft.h"
#include "Latencies.h"

#include "sccl/Model/Pieces.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

using namespace sccl;
using namespace sccl::advice;

uint64_t Choice::sendsOf(const Variant &variant) const {
  const Candidate &candidate = candidates[variant.candidate];
  return candidate.implementation.schedule.numSends() *
         uint64_t(variant.pieces);
}

double Choice::best() const {
  double least = std::numeric_limits<double>::infinity();
  for (const auto &[variant, time] : rated)
    least = std::min(least, time);
  return least;
}

bool Choice::isDone() const {
  constexpr double closeEnough = 1.005;
  return best() <= bound * closeEnough;
}

/// True if pieces of `candidate` may follow each other in rounds.
bool Choice::takesRounds(size_t candidate) const {
  constexpr uint64_t maxSends = 20'000; // of a piece
  const Schedule &schedule = candidates[candidate].implementation.schedule;
  return schedule.isPipelined() && schedule.steps.size() > 1 &&
         schedule.numSends() <= maxSends;
}

/// Microseconds that a candidate takes about in so many pieces. In rounds one
/// begins every period, and the last one takes all its rounds.
double Choice::estimate(size_t number, unsigned pieces, bool inRounds) {
  const Candidate &candidate = candidates[number];
  if (!inRounds)
    return candidate.estimate(fabric.unitTime, bytes, pieces);
  const Implementation &whole = candidate.implementation;
  auto [rounds, isNew] = roundsOfOne.try_emplace(number);
  if (isNew)
    rounds->second = roundsOfOnePiece(whole, fabric.topology, /*distance=*/1);
  double round = bytes * fabric.unitTime / whole.collective.chunks() / pieces;
  double all = rounds->second + (pieces - 1.0) * whole.schedule.period;
  return candidate.latency + round * all;
}

/// Adds numbers of pieces of a candidate, as far as they are not too many.
void Choice::addCuts(size_t number, std::vector<Cut> &cuts) {
  // Of what is not pipelined the first of two pieces may go out eagerly.
  constexpr unsigned maxPieces = 256, fewPieces = 8, unpipelined = 2;
  constexpr double leastGain = 0.005, gainOfSend = 2e-7; // of the estimate
  const Candidate &candidate = candidates[number];
  constexpr uint64_t maxSends = 120'000;
  unsigned most = candidate.isPipelined() ? maxPieces : unpipelined;
  for (unsigned pieces = candidate.pieces; pieces <= most; pieces *= 2) {
    uint64_t sends = sendsOf({number, pieces, {}, 0});
    if (pieces > 1 && sends > maxSends)
      break;
    double time = estimate(number, pieces, /*inRounds=*/false);
    cuts.push_back({time, number, pieces});
    // Then more pieces are only more work, the more the more sends there are.
    double gain = leastGain + gainOfSend * double(sends);
    if (pieces >= fewPieces &&
        time > (1 - gain) * estimate(number, pieces / 2, /*inRounds=*/false))
      break;
  }
}

/// All candidates in all numbers of pieces. Those of the least estimates come
/// first, but sends count a little, too.
std::vector<Choice::Cut> Choice::cutsFor() {
  std::vector<Cut> cuts;
  for (size_t number = 0; number < candidates.size(); ++number)
    addCuts(number, cuts);
  auto order = [&](const Cut &cut) {
    constexpr double ofSend = 5e-7; // of the estimate
    auto sends = double(sendsOf({cut.candidate, cut.pieces, {}, 0}));
    return cut.estimate * (1 + ofSend * sends);
  };
  std::ranges::stable_sort(cuts, {}, order);
  return cuts;
}

/// At a distance that hides latencies where pieces are small, or each step
/// fills links as much as all together do, and at one that has most steps under
/// way at once where they are large.
PieceOrder Choice::stepsFor(size_t number, unsigned pieces) const {
  constexpr double asMuch = 1.35;
  const Candidate &candidate = candidates[number];
  double hop = longestHop(fabric.timing);
  double piece = candidate.load * bytes * fabric.unitTime / pieces;
  constexpr unsigned few = 4;
  bool isFull =
      pieces <= few && candidate.serialLoad <= candidate.load * asMuch;
  return {.distance = piece < hop || pieces == 1 || isFull ? 6u : 2u};
}

/// At a distance that takes as long as a hop. There are few different ones, so
/// that one program serves several sizes.
PieceOrder Choice::roundsFor(size_t candidate, unsigned pieces) const {
  constexpr unsigned most = 64;
  const Collective &collective =
      candidates[candidate].implementation.collective;
  double hop = longestHop(fabric.timing);
  double round = bytes * fabric.unitTime / collective.chunks() / pieces;
  PieceOrder order{.distance = 2, .inRounds = true};
  while (order.distance < most && (order.distance - 1) * round < hop)
    order.distance *= 2;
  return order;
}

/// Two halves of scratch take memory, which has to be worth a handshake. What
/// is not pipelined is only cut for its first piece to be eager.
bool Choice::isWorthMemory(const Variant &variant) const {
  constexpr double worth = 0.01; // of the time
  const Candidate &candidate = candidates[variant.candidate];
  const LoweringOptions &options = ways[variant.way].options;
  if (!options.doubleBuffer || options.ll)
    return variant.pieces == 1 || candidate.isPipelined();
  double moving = candidate.load * bytes * fabric.unitTime;
  return moving * worth <= longestHop(fabric.timing);
}

/// LL words take twice the bytes, which may be worth no flags while bytes take
/// less time than hops do.
bool Choice::mayBeBest(const Cut &cut, size_t number) const {
  const Candidate &candidate = candidates[cut.candidate];
  const LoweringWay &way = ways[number];
  if (!isWorthMemory({cut.candidate, cut.pieces, {}, number}))
    return false;
  double moving = candidate.load * bytes * fabric.unitTime;
  if (way.options.ll) {
    double hop = longestHop(fabric.timing);
    if (moving > hop * double(candidate.implementation.schedule.steps.size()))
      return false;
    moving *= 2;
  }
  return std::max(moving, candidate.latency) < best();
}

std::shared_ptr<const Traffic> Choice::draftOf(const Variant &variant) {
  if (auto known = drafts.find(variant))
    return *known;
  Result<Implementation> cut =
      cutIntoPieces(candidates[variant.candidate].implementation,
                    fabric.topology, variant.pieces, variant.order);
  if (!cut)
    return nullptr;
  auto draft = std::make_shared<const Traffic>(draftTraffic(
      fabric.topology, fabric.timing, *cut, ways[variant.way].options));
  drafts.add(variant, draft, sendsOf(variant));
  return draft;
}

/// Does nothing once time is over or the bound is reached, if there would be
/// too many chunks, or if more memory gains too little.
std::optional<Error> Choice::rate(const Variant &variant) {
  if (deadline.isOver() || isDone() || rated.contains(variant) ||
      !isWorthMemory(variant))
    return std::nullopt;
  std::shared_ptr<const Traffic> draft = draftOf(variant);
  if (!draft)
    return std::nullopt;
  ratedSends += sendsOf(variant);
  const Collective &collective =
      candidates[variant.candidate].implementation.collective;
  SimulationOptions options;
  options.isOver = [this] { return deadline.isOver(); };
  options.scale = bytes / (double(collective.chunks()) * variant.pieces);
  Result<SimulationResult> result =
      simulate(fabric.topology, *draft, fabric.timing, options);
  if (deadline.isOver())
    return std::nullopt;
  if (!result)
    return Error{result.error()};
  rated[variant] = result->microseconds;
  return std::nullopt;
}

/// In all ways, unless that which is the best so far takes much longer here.
std::optional<Error> Choice::rateWays(const Cut &cut, PieceOrder order) {
  const double muchLonger = order.inRounds ? 1 : 1.1;
  auto least = std::ranges::min_element(
      rated, {}, [](const auto &entry) { return entry.second; });
  size_t first = least == rated.end() ? bestWay() : least->first.way;
  double limit = best() * muchLonger;
  for (size_t i = 0; i < ways.size(); ++i) {
    size_t way = (first + i) % ways.size();
    Variant variant{cut.candidate, cut.pieces, order, way};
    if (!mayBeBest(cut, way))
      continue;
    if (auto error = rate(variant))
      return error;
    if (auto it = rated.find(variant);
        i == 0 && it != rated.end() && it->second > limit)
      break;
  }
  return std::nullopt;
}

/// The least time of a candidate in so many pieces, in any way.
double Choice::bestOf(size_t candidate, unsigned pieces,
                      PieceOrder order) const {
  double least = std::numeric_limits<double>::infinity();
  for (size_t way = 0; way < ways.size(); ++way)
    if (auto it = rated.find({candidate, pieces, order, way});
        it != rated.end())
      least = std::min(least, it->second);
  return least;
}

/// In rounds, with twice the pieces as long as that helps.
std::optional<Error> Choice::climb(size_t candidate) {
  constexpr double leastGain = 0.01, gainOfSend = 4e-7; // of the time
  constexpr unsigned maxPieces = 256;
  constexpr uint64_t maxSends = 64'000;
  double last = std::numeric_limits<double>::infinity();
  for (unsigned pieces = 2; pieces <= maxPieces; pieces *= 2) {
    uint64_t sends = sendsOf({candidate, pieces, {}, 0});
    if (sends > maxSends)
      break;
    Cut cut{0, candidate, pieces};
    PieceOrder order = roundsFor(candidate, pieces);
    if (auto error = rateWays(cut, order))
      return error;
    // What is known to take too long was not looked at.
    double least = bestOf(candidate, pieces, order);
    double gain = leastGain + gainOfSend * double(sends);
    if (!std::isinf(least) && least > last * (1 - gain))
      break;
    last = std::min(last, least);
  }
  return std::nullopt;
}

/// Drafts in rounds take the longest to rate, so these must promise to be
/// hardly worse than the best so far.
std::optional<Error> Choice::rateRounds() {
  constexpr double slack = 1.05;
  constexpr unsigned usualPieces = 8;
  std::vector<std::pair<double, size_t>> order;
  for (size_t number = 0; number < candidates.size(); ++number)
    if (takesRounds(number))
      order.emplace_back(estimate(number, usualPieces, true), number);
  std::ranges::sort(order);
  for (auto [time, number] : order)
    if (rated.empty() || time <= slack * best())
      if (auto error = climb(number))
        return error;
  return std::nullopt;
}

/// Estimates know nothing of flags and copies, so those of others may be
/// longer. Of cuts with many sends not too many are rated.
std::optional<Error> Choice::rateCuts() {
  constexpr double slack = 1.3;
  constexpr uint64_t maxSends = 250'000, few = 8'000;
  ratedSends = 0;
  for (const Cut &cut : cutsFor()) {
    uint64_t sends = sendsOf({cut.candidate, cut.pieces, {}, 0});
    if (!rated.empty() && cut.estimate > slack * best())
      continue;
    uint64_t numWays = 0;
    for (size_t way = 0; way < ways.size(); ++way)
      numWays += mayBeBest(cut, way);
    if (!rated.empty() && sends > few &&
        ratedSends + sends * numWays > maxSends)
      continue;
    if (auto error = rateWays(cut, stepsFor(cut.candidate, cut.pieces)))
      return error;
  }
  return std::nullopt;
}

/// What was rated for the present size, best first.
std::vector<RatedVariant> Choice::ranked() const {
  std::vector<RatedVariant> result;
  for (const auto &[variant, time] : rated)
    result.push_back({time, variant});
  std::ranges::sort(result);
  return result;
}

std::optional<Error> Choice::rateDistances() {
  constexpr size_t few = 2;
  // Another way of the same pieces counts, too: a program may take longer than
  // its draft.
  std::set<std::pair<unsigned, size_t>> seen;
  for (auto [time, variant] : ranked()) {
    if (seen.size() == few)
      break;
    const Schedule &schedule =
        candidates[variant.candidate].implementation.schedule;
    if (variant.order.inRounds ||
        !seen.emplace(variant.pieces, variant.way).second ||
        variant.pieces == 1 || schedule.steps.size() == 1)
      continue;
    for (unsigned distance : {6u, 4u, 3u, 2u, 1u}) {
      variant.order.distance = distance;
      if (auto error = rate(variant))
        return error;
    }
  }
  return std::nullopt;
}

std::optional<Error> Choice::rateAll() {
  if (auto error = rateLast())
    return error;
  if (auto error = rateRounds())
    return error;
  if (auto error = rateCuts())
    return error;
  return rateDistances();
}

/// The best of the last size.
std::optional<Error> Choice::rateLast() {
  constexpr size_t few = 3;
  for (size_t i = 0; i < std::min(few, lastRanked.size()); ++i)
    if (auto error = rate(lastRanked[i].variant))
      return error;
  return std::nullopt;
}

Result<std::vector<RatedVariant>> Choice::rank(double bytesOfSize,
                                               double boundOfSize) {
  bytes = bytesOfSize;
  bound = boundOfSize;
  rated.clear();
  if (auto error = rateAll())
    return *error;
  std::vector<RatedVariant> result = ranked();
  if (!result.empty())
    lastRanked = result;
  return result;
}

Result<std::vector<RatedVariant>>
Choice::rankOf(const std::vector<Variant> &variants, double bytesOfSize,
               double boundOfSize) {
  bytes = bytesOfSize;
  bound = boundOfSize;
  rated.clear();
  for (const Variant &variant : variants)
    if (auto error = rate(variant))
      return *error;
  return ranked();
}
