//===- RoundSearch.cpp - Rounds that satisfy cuts -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RoundSearch.h"

#include <algorithm>

using namespace sccl;

std::optional<std::vector<unsigned>>
RoundSearch::next(const Deadline &deadline) {
  trial.assign(steps, 1);
  if (!descend(0, rounds, !last.empty(), deadline))
    return std::nullopt;
  last = trial;
  skipping = false;
  return last;
}

/// True if no distribution of `left` rounds to the steps from `step` on
/// satisfies some cut.
bool RoundSearch::isHopeless(unsigned step, unsigned left) const {
  return std::any_of(cuts.begin(), cuts.end(), [&](const RoundCut &cut) {
    int64_t sum = 0, heaviest = 0;
    for (unsigned t = 0; t < steps; ++t) {
      sum += cut.weight[t] * (t < step ? trial[t] : 1);
      if (t >= step)
        heaviest = std::max(heaviest, cut.weight[t]);
    }
    int64_t spare = int64_t(left) - (steps - step);
    return sum + spare * heaviest < cut.least;
  });
}

/// Chooses the rounds from `step` on. While `onPath`, the choices so far are
/// those of the distribution last returned, and nothing before it is looked at.
bool RoundSearch::descend(unsigned step, unsigned left, bool onPath,
                          const Deadline &deadline) {
  // About as long as it takes to look at the cuts.
  uint64_t work = 1 + cuts.size() * steps / 512;
  if (deadline.tick(work) || isHopeless(step, left))
    return false;
  if (step + 1 == steps) {
    trial[step] = left;
    return !(onPath && skipping);
  }
  // From many rounds to few: early steps have most chunks to spread.
  unsigned most = left - (steps - step - 1);
  if (onPath)
    most = last[step];
  for (unsigned choice = most; choice >= 1; --choice) {
    trial[step] = choice;
    if (descend(step + 1, left - choice, onPath && choice == most, deadline))
      return true;
  }
  trial[step] = 1;
  return false;
}

std::optional<std::vector<unsigned>> RoundSearch::guess() const {
  std::vector<unsigned> result(steps, 1);
  auto shortfall = [&](const RoundCut &cut) {
    int64_t missing = cut.least;
    for (unsigned t = 0; t < steps; ++t)
      missing -= cut.weight[t] * result[t];
    return missing;
  };
  for (unsigned spare = rounds - steps;; --spare) {
    // What one more round in each step would do for the unsatisfied cuts.
    std::vector<int64_t> gain(steps);
    bool satisfied = true;
    for (const RoundCut &cut : cuts) {
      int64_t missing = shortfall(cut);
      satisfied &= missing <= 0;
      for (unsigned t = 0; missing > 0 && t < steps; ++t)
        gain[t] += std::min(cut.weight[t], missing);
    }
    if (satisfied) {
      result.back() += spare;
      return result;
    }
    if (spare == 0)
      return std::nullopt;
    ++result[std::max_element(gain.begin(), gain.end()) - gain.begin()];
  }
}
