//===- RoundSearch.h - Rounds that satisfy cuts -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With the rounds of each step given, flows decide an instance; each cut that
// refutes one distribution of the rounds is an inequality that refutes many.
// Collecting them until a distribution passes, or none is left, decides the
// instance for all distributions at once.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_ROUNDSEARCH_H
#define SCCL_LIB_SOLVER_ROUNDSEARCH_H

#include "sccl/Optimize/Deadline.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace sccl {

/// The rounds r_1, r_2, ... must satisfy sum weight[t] * r_t >= least.
struct RoundCut {
  std::vector<int64_t> weight; ///< per step, none negative
  int64_t least;
};

/// Distributions of R rounds to S steps, each step at least one.
class RoundSearch {
public:
  RoundSearch(unsigned steps, unsigned rounds) : steps(steps), rounds(rounds) {}

  void require(RoundCut cut) { cuts.push_back(std::move(cut)); }

  /// The first distribution, in a fixed order, that is not before the one last
  /// returned and satisfies all cuts; or nothing if there is none, or
  /// `deadline` expired on the way.
  std::optional<std::vector<unsigned>> next(const Deadline &deadline);

  /// A distribution that satisfies all cuts, found greedily; nothing proves
  /// nothing.
  std::optional<std::vector<unsigned>> guess() const;

  /// Makes the following call of `next` look behind the one last returned.
  void skip() { skipping = true; }
  /// The number of distributions refuted one by one.
  size_t numCuts() const { return cuts.size(); }

private:
  bool descend(unsigned step, unsigned left, bool onPath,
               const Deadline &deadline);
  bool isHopeless(unsigned step, unsigned left) const;

  const unsigned steps, rounds;
  std::vector<RoundCut> cuts;
  std::vector<unsigned> last, trial;
  bool skipping = false;
};

} // namespace sccl

#endif // SCCL_LIB_SOLVER_ROUNDSEARCH_H
