//===- Takeovers.cpp - Where one schedule takes over from another ---------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Adviser.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

using namespace sccl;
using namespace sccl::advice;

std::vector<size_t> Adviser::allSizes() const {
  std::vector<size_t> numbers(advice.sizes.size());
  std::iota(numbers.begin(), numbers.end(), size_t(0));
  return numbers;
}

/// The numbers of the sizes, ascending by their bytes.
std::vector<size_t> Adviser::inOrder() const {
  std::vector<size_t> order = allSizes();
  std::ranges::sort(order, {}, [&](size_t i) { return advice.sizes[i].bytes; });
  return order;
}

/// Takes the program of a neighbouring size where it is clearly faster: it may
/// not have been ranked for this one. From the largest size down and back up,
/// so that it may pass several sizes.
std::optional<Error> Adviser::tryNeighbours() {
  std::vector<size_t> order = inOrder();
  auto tryAt = [&](size_t own, size_t other) -> std::optional<Error> {
    auto it = taken.find(advice.sizes[other].bytes);
    if (it == taken.end() || !programs.contains(it->second))
      return std::nullopt;
    const Variant variant = it->second;
    Result<std::vector<double>> time =
        improve({own}, programs.at(variant), variant, asGood);
    return time ? std::nullopt : std::optional(Error{time.error()});
  };
  for (size_t i = order.size(); i-- > 1;)
    if (auto error = tryAt(order[i - 1], order[i]))
      return error;
  for (size_t i = 1; i < order.size(); ++i)
    if (auto error = tryAt(order[i], order[i - 1]))
      return error;
  return std::nullopt;
}

/// Pairs of neighbouring sizes that have different best schedules, and are not
/// near each other.
std::vector<std::pair<size_t, size_t>> Adviser::takeovers() const {
  constexpr double near = 1.25;
  std::vector<size_t> order = inOrder();
  auto wholeOf = [&](size_t i) {
    size_t number = advice.sizes[i].candidate;
    auto it = wholes.find(number);
    return it == wholes.end() ? number : it->second;
  };
  std::vector<std::pair<size_t, size_t>> result;
  for (size_t i = 0; i + 1 < order.size(); ++i) {
    const SizeAdvice &below = advice.sizes[order[i]],
                     &above = advice.sizes[order[i + 1]];
    if (below.isSimulated() && above.isSimulated() &&
        wholeOf(order[i]) != wholeOf(order[i + 1]) &&
        double(above.bytes) > near * double(below.bytes) &&
        above.bytes > below.bytes + 1)
      result.emplace_back(order[i], order[i + 1]);
  }
  return result;
}

/// What was the best by drafts, or nearly so, for one of two sizes, and what is
/// the best for some size.
std::vector<Variant> Adviser::bestOf(std::pair<size_t, size_t> sizes) const {
  constexpr double slack = 1.25;
  constexpr size_t few = 8;
  std::vector<Variant> result;
  for (size_t size : {sizes.first, sizes.second})
    for (const auto &[number, rated] : llvm::enumerate(ranked[size])) {
      bool isNear =
          rated.microseconds <= slack * ranked[size].front().microseconds;
      if ((number < few && isNear) || programs.contains(rated.variant))
        result.push_back(rated.variant);
    }
  return result;
}

/// The geometric mean, to a sixteenth of a power of two.
static uint64_t meanOf(uint64_t below, uint64_t above) {
  auto mean = uint64_t(std::llround(std::sqrt(double(below) * double(above))));
  uint64_t unit = std::max<uint64_t>(std::bit_floor(mean) / 16, 1);
  return (mean + unit / 2) / unit * unit;
}

/// Adds a size, ranked, between those of each pair.
std::optional<Error>
Adviser::addBetween(const std::vector<std::pair<size_t, size_t>> &pairs) {
  std::vector<Result<std::vector<RatedVariant>>> results(
      pairs.size(), std::vector<RatedVariant>());
  std::vector<SizeAdvice> sizes;
  for (auto [below, above] : pairs) {
    uint64_t bytes =
        meanOf(advice.sizes[below].bytes, advice.sizes[above].bytes);
    sizes.push_back({bytes, 0, "", std::numeric_limits<double>::infinity(),
                     advice.bound.microseconds(double(bytes))});
  }
  inTwoThreads(pairs.size(), [&](size_t first) {
    Choice own(fabric, advice.candidates, ways, deadline, drafts);
    for (size_t i = first; i < pairs.size(); i += 2)
      results[i] =
          own.rankOf(bestOf(pairs[i]), double(sizes[i].bytes), sizes[i].bound);
  });
  for (Result<std::vector<RatedVariant>> &result : results) {
    if (!result)
      return Error{result.error()};
    ranked.push_back(std::move(*result));
  }
  llvm::append_range(advice.sizes, sizes);
  return std::nullopt;
}

/// Halves what lies between different schedules, all such places at once, so
/// that what is lowered serves several. What time does not suffice for is left
/// out.
std::optional<Error> Adviser::findTakeovers() {
  while (!deadline.isOver()) {
    auto pairs = takeovers();
    if (pairs.empty())
      break;
    size_t known = advice.sizes.size();
    if (auto error = addBetween(pairs))
      return error;
    for (const auto &[variant, traffic] : programs)
      if (auto error = simulateProgram(traffic, variant, known))
        return error;
    if (auto error = lowerAll())
      return error;
    if (auto error = confirmDrafts())
      return error;
    if (deadline.isOver())
      advice.sizes.erase(advice.sizes.begin() + known, advice.sizes.end());
  }
  if (!deadline.isOver())
    return tryNeighbours();
  advice.stopped = deadline.reason();
  return finish();
}
