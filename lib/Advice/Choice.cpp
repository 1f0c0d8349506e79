//===- Choice.cpp - Which variants are worth lowering ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Choice.h"

#include "Draft.h"

#include "sccl/Model/Pieces.h"

#include <algorithm>
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

/// Microseconds that a variant takes at least, from what it took for smaller
/// sizes: its time is the longest of many paths, each linear in the bytes, so
/// it grows by no less per byte than it did. Fair shares may bend that a
/// little.
double Choice::expected(const Variant &variant) const {
  auto it = histories.find(variant);
  if (it == histories.end())
    return 0;
  const auto &[sizes, times] = it->second;
  double slope =
      sizes[0] > 0 ? (times[1] - times[0]) / (sizes[1] - sizes[0]) : 0;
  return times[1] + std::max(slope, 0.0) * (bytes - sizes[1]);
}

/// Estimates know nothing of flags, copies and fair shares, which are much the
/// same for the pieces of a candidate, and for a size and the next one.
double Choice::ratioOf(size_t candidate) const {
  if (auto it = ratios.find(candidate); it != ratios.end())
    return it->second;
  double least = 1;
  for (const auto &[other, ratio] : ratios)
    least = std::min(least, ratio);
  return least;
}

void Choice::learnRatios() {
  std::map<size_t, double> least;
  for (const auto &[variant, time] : rated) {
    double estimate = candidates[variant.candidate].estimate(
        fabric.unitTime, bytes, variant.pieces);
    auto [it, isNew] = least.try_emplace(variant.candidate, time / estimate);
    it->second = std::min(it->second, time / estimate);
  }
  for (auto [candidate, ratio] : least)
    ratios[candidate] = ratio;
}

/// All candidates in all numbers of pieces that are not too many. Those of the
/// least expected times come first, but sends count a little, too.
std::vector<Choice::Cut> Choice::cutsFor(double bytes) const {
  constexpr unsigned maxPieces = 256, fewPieces = 8;
  constexpr uint64_t maxSends = 120'000;
  constexpr double leastGain = 0.005, gainOfSend = 2e-7; // of the estimate
  std::vector<Cut> cuts;
  for (size_t number = 0; number < candidates.size(); ++number) {
    const Candidate &candidate = candidates[number];
    unsigned most = candidate.isPipelined() ? maxPieces : 1;
    for (unsigned pieces = candidate.pieces; pieces <= most; pieces *= 2) {
      if (pieces > 1 && sendsOf({number, pieces, 0, 0}) > maxSends)
        break;
      double estimate = candidate.estimate(fabric.unitTime, bytes, pieces);
      cuts.push_back({estimate * ratioOf(number), estimate, number, pieces});
      // Then more pieces are only more work, the more the more sends there are.
      double gain =
          leastGain + gainOfSend * double(sendsOf({number, pieces, 0, 0}));
      if (pieces >= fewPieces &&
          estimate > (1 - gain) *
                         candidate.estimate(fabric.unitTime, bytes, pieces / 2))
        break;
    }
  }
  auto order = [&](const Cut &cut) {
    constexpr double ofSend = 5e-7; // of the estimate
    auto sends = double(sendsOf({cut.candidate, cut.pieces, 0, 0}));
    return cut.expected * (1 + ofSend * sends);
  };
  std::ranges::stable_sort(cuts, {}, order);
  return cuts;
}

/// LL words take twice the bytes, which may be worth no flags while bytes take
/// less time than latencies do.
bool Choice::mayBeBest(const Cut &cut, const LoweringWay &way) const {
  const Candidate &candidate = candidates[cut.candidate];
  double moving = candidate.load * bytes * fabric.unitTime;
  if (way.options.ll) {
    double most = std::ranges::max(fabric.timing.latencies);
    if (moving > most * double(candidate.implementation.schedule.steps.size()))
      return false;
    moving *= 2;
  }
  return std::max(moving, candidate.latency) < best();
}

const Traffic *Choice::draftOf(const Variant &variant) {
  constexpr uint64_t maxDraftedSends = 2'000'000;
  if (auto it = drafts.find(variant); it != drafts.end())
    return &it->second;
  Result<Implementation> cut =
      cutIntoPieces(candidates[variant.candidate].implementation,
                    fabric.topology, variant.pieces, variant.distance);
  if (!cut)
    return nullptr;
  if (draftedSends > maxDraftedSends) {
    drafts.clear();
    draftedSends = 0;
  }
  draftedSends += sendsOf(variant);
  Traffic draft =
      draftTraffic(fabric.topology, *cut, ways[variant.way].options);
  return &drafts.emplace(variant, std::move(draft)).first->second;
}

/// Does nothing once time is over or the bound is reached, if there would be
/// too many chunks, or if it is known to take too long.
std::optional<Error> Choice::rate(const Variant &variant) {
  constexpr double tooLong = 1.02;
  if (deadline.isOver() || isDone() || rated.contains(variant) ||
      expected(variant) > best() * tooLong)
    return std::nullopt;
  const Traffic *draft = draftOf(variant);
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
  History &history = histories[variant];
  history.bytes[0] = std::exchange(history.bytes[1], bytes);
  history.times[0] = std::exchange(history.times[1], result->microseconds);
  return std::nullopt;
}

/// In all ways, unless that which is the best so far takes much longer here.
std::optional<Error> Choice::rateWays(const Cut &cut, unsigned distance) {
  constexpr double muchLonger = 1.1;
  auto least = std::ranges::min_element(
      rated, {}, [](const auto &entry) { return entry.second; });
  size_t first = least == rated.end() ? 0 : least->first.way;
  double limit = best() * muchLonger;
  for (size_t i = 0; i < ways.size(); ++i) {
    size_t way = (first + i) % ways.size();
    Variant variant{cut.candidate, cut.pieces, distance, way};
    if (!mayBeBest(cut, ways[way]))
      continue;
    if (auto error = rate(variant))
      return error;
    if (auto it = rated.find(variant); it != rated.end() && it->second > limit)
      break;
  }
  return std::nullopt;
}

/// At a distance that hides latencies where pieces are small, and at one that
/// has most steps under way at once where they are large.
std::optional<Error> Choice::rateCuts() {
  constexpr double slack = 1.25, slackOfKnown = 1.1;
  constexpr uint64_t maxSends = 1'000'000, few = 8'000;
  double hop = std::ranges::max(fabric.timing.latencies);
  for (const Cut &cut : cutsFor(bytes)) {
    double most = ratios.contains(cut.candidate) ? slackOfKnown : slack;
    if (!rated.empty() && cut.expected > most * best())
      continue;
    uint64_t sends = sendsOf({cut.candidate, cut.pieces, 0, 0});
    if (!rated.empty() && sends > few &&
        ratedSends + sends * ways.size() > maxSends)
      continue;
    const Candidate &candidate = candidates[cut.candidate];
    double piece = candidate.load * bytes * fabric.unitTime / cut.pieces;
    unsigned distance = piece < hop || cut.pieces == 1 ? 6 : 2;
    if (auto error = rateWays(cut, distance))
      return error;
  }
  return std::nullopt;
}

std::optional<Error> Choice::rateDistances() {
  constexpr size_t few = 2;
  std::vector<RatedVariant> ranked;
  for (const auto &[variant, time] : rated)
    ranked.push_back({time, variant});
  std::ranges::sort(ranked);
  // Another way of the same pieces counts, too: a program may take longer than
  // its draft.
  std::set<std::tuple<size_t, unsigned, size_t>> seen;
  for (size_t i = 0; i < ranked.size() && seen.size() < few; ++i) {
    Variant variant = ranked[i].variant;
    const Schedule &schedule =
        candidates[variant.candidate].implementation.schedule;
    if (!seen.emplace(variant.candidate, variant.pieces, variant.way).second ||
        variant.pieces == 1 || schedule.steps.size() == 1)
      continue;
    for (unsigned distance : {6u, 4u, 3u, 2u, 1u}) {
      variant.distance = distance;
      if (auto error = rate(variant))
        return error;
    }
  }
  return std::nullopt;
}

Result<std::vector<RatedVariant>> Choice::rank(double bytesOfSize,
                                               double boundOfSize) {
  bytes = bytesOfSize;
  bound = boundOfSize;
  ratedSends = 0;
  rated.clear();
  if (auto error = rateCuts())
    return *error;
  if (auto error = rateDistances())
    return *error;
  learnRatios();
  std::vector<RatedVariant> ranked;
  for (const auto &[variant, time] : rated)
    ranked.push_back({time, variant});
  std::ranges::sort(ranked);
  return ranked;
}
