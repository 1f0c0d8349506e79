//===- MessagePrograms.cpp - What messages of GPUs take -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Adviser.h"

#include "sccl/Advice/MessageTraffic.h"
#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Pipelines/Pipelines.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

using namespace sccl;
using namespace sccl::advice;

/// What a launch takes at least: the pauses of one channel, as kernels and
/// groups have them where they begin.
static double leastTime(const Traffic &traffic) {
  double most = 0;
  for (const Traffic::Channel &channel : traffic.channels) {
    double pauses = 0;
    for (const Action &action : channel.actions)
      if (action.kind == Action::Kind::Pause)
        pauses += action.pause;
    most = std::max(most, pauses);
  }
  return most;
}

/// Lowers `variant` for messages, and takes it where it is clearly faster. By
/// size what it takes, or infinity if that is far from the best; empty if it
/// breaks the contract.
Result<std::vector<double>>
Adviser::tryMessages(const Variant &variant,
                     const std::optional<Variant> &next) {
  Lowerings::Lowered<MessageTraffic> program =
      lowerings.messages(variant, next, *limit);
  if (!program)
    return Error{program.error()};
  if (!*program)
    return std::vector<double>();
  const Candidate &candidate = advice.candidates[variant.candidate];
  double chunks =
      double(candidate.implementation.collective.chunks()) * variant.pieces;
  auto trafficFor = [&](double bytes) -> const Traffic & {
    return (*program)->of(bytes / chunks);
  };
  const double inTurn = leastTime((*program)->inTurn),
               beside = leastTime((*program)->beside);
  std::vector<size_t> numbers;
  for (size_t i = 0; i < advice.sizes.size(); ++i) {
    const SizeAdvice &size = advice.sizes[i];
    bool isInTurn = &trafficFor(double(size.bytes)) == &(*program)->inTurn;
    if ((isInTurn ? inTurn : beside) < far * size.microseconds)
      numbers.push_back(i);
  }
  Result<std::vector<double>> known = timesOf(numbers, variant, trafficFor);
  if (!known)
    return known;
  std::vector<double> times(advice.sizes.size(),
                            std::numeric_limits<double>::infinity());
  for (auto [number, time] : llvm::zip(numbers, *known))
    times[number] = time;
  for (size_t i = 0; i < times.size(); ++i)
    if (SizeAdvice &size = advice.sizes[i];
        isLess(times[i], size.microseconds)) {
      take(variant, i, times[i]);
      size.way = lowerings.wayOf(variant).name;
    }
  return times;
}

/// True if an earlier candidate has the same schedule, in other pieces.
bool Adviser::isRepeated(size_t number) const {
  const auto &candidates = advice.candidates;
  return std::any_of(candidates.begin(), candidates.begin() + number,
                     [&](const Candidate &other) {
                       return other.implementation.schedule ==
                              candidates[number].implementation.schedule;
                     });
}

/// In pieces a step apart: each begins a round after the one before.
std::optional<Error> Adviser::tryMessages() {
  constexpr PieceOrder order{.distance = 1};
  for (SizeAdvice &size : advice.sizes) {
    size.microseconds = std::numeric_limits<double>::infinity();
    size.way.clear();
  }
  for (size_t number = 0; number < numCandidates; ++number)
    if (!isRepeated(number) && mayTakeLess(advice.candidates[number]))
      if (std::optional<Error> error = tryInPieces(
              {number, 1, order, 0},
              [&](const Variant &variant, const std::optional<Variant> &next) {
                return tryMessages(variant, next);
              }))
        return error;
  if (deadline.isOver())
    advice.stopped = deadline.reason();
  // One program is for all sizes, whatever time there is.
  if (std::ranges::none_of(advice.sizes, &SizeAdvice::isSimulated)) {
    limit = &rest;
    Result<std::vector<double>> times =
        tryMessages({0, 1, {}, 0}, std::nullopt);
    limit = &deadline;
    if (!times)
      return Error{times.error()};
  }
  std::erase_if(advice.sizes,
                [](const SizeAdvice &size) { return !size.isSimulated(); });
  return std::nullopt;
}
