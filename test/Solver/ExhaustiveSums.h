//===- ExhaustiveSums.h - All schedules with partial sums -------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tries every partial sum on every link in every step, for one chunk on up to
// four ranks; where the order of additions is a tree, every node. A rank holds
// a set of sets of contributions; to hold more is never worse, so nothing is
// forgotten.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_SOLVER_EXHAUSTIVESUMS_H
#define SCCL_TEST_SOLVER_EXHAUSTIVESUMS_H

#include "sccl/Model/Instance.h"

#include <set>

namespace sccl::test {

/// For links of their own, whose bandwidth is 1.
class ExhaustiveSums {
public:
  explicit ExhaustiveSums(const Instance &instance)
      : instance(instance), numRanks(instance.topology.numRanks()) {
    if (instance.hasOrder())
      allowed = nodesOf(instance);
  }

  bool exists() {
    State state(numRanks);
    for (unsigned rank : instance.collective.pre().ranksOf(0))
      state[rank] = Held(1) << (1u << rank);
    return search(state, 0, instance.rounds);
  }

private:
  /// Bit i: the sum of the contributors that are the bits of i can be made.
  using Held = uint32_t;
  using State = std::vector<Held>; ///< by rank

  /// The nodes of the tree.
  static Held nodesOf(const Instance &instance) {
    std::vector<unsigned> ranks = instance.collective.pre().ranksOf(0);
    SumTree tree = *instance.order.treeOf(unsigned(ranks.size()));
    std::vector<unsigned> sums(tree.numNodes());
    Held nodes = 0;
    for (uint32_t node = 0; node < tree.numNodes(); ++node) {
      sums[node] = tree.isLeaf(node)
                       ? 1u << ranks[node]
                       : sums[tree.left(node)] | sums[tree.right(node)];
      nodes |= Held(1) << sums[node];
    }
    return nodes;
  }

  /// With all disjoint unions that may be.
  Held close(Held held) const {
    for (Held before = 0; before != held;) {
      before = held;
      for (unsigned a = 1; a < 16; ++a)
        for (unsigned b = 1; b < 16; ++b)
          if ((held >> a & 1) && (held >> b & 1) && (a & b) == 0 &&
              (allowed >> (a | b) & 1))
            held |= Held(1) << (a | b);
    }
    return held;
  }

  bool isDone(const State &state) const {
    unsigned all = 0;
    for (unsigned rank : instance.collective.pre().ranksOf(0))
      all |= 1u << rank;
    for (unsigned rank : instance.collective.post().ranksOf(0))
      if (!(close(state[rank]) >> all & 1))
        return false;
    return true;
  }

  bool search(const State &state, unsigned step, unsigned left) {
    if (step == instance.steps)
      return isDone(state);
    if (!seen.insert({step, left, state}).second)
      return false;
    unsigned later = instance.steps - step - 1;
    for (unsigned rounds = 1; rounds + later <= left; ++rounds)
      if (send(state, state, 0, rounds, rounds, step, left - rounds))
        return true;
    return false;
  }

  /// Chooses what goes over the links from `link` on; `room` is left on it.
  bool send(const State &before, const State &after, unsigned link,
            unsigned room, unsigned rounds, unsigned step, unsigned left) {
    if (link == instance.topology.links().size())
      return search(after, step + 1, left);
    auto [src, dst] = instance.topology.links()[link];
    Held sums = close(before[src]), known = close(after[dst]);
    bool isIdle = true; // a link that can bring something had better do so
    for (unsigned sum = 1; sum < 16 && room > 0; ++sum) {
      if (!(sums >> sum & 1) || (known >> sum & 1))
        continue;
      isIdle = false;
      State next = after;
      next[dst] |= Held(1) << sum;
      if (send(before, next, link, room - 1, rounds, step, left))
        return true;
    }
    return isIdle && send(before, after, link + 1, rounds, rounds, step, left);
  }

  const Instance &instance;
  const unsigned numRanks;
  Held allowed = ~Held(0);
  std::set<std::tuple<unsigned, unsigned, State>> seen;
};

inline bool existsWithSums(const Instance &instance) {
  return ExhaustiveSums(instance).exists();
}

} // namespace sccl::test

#endif // SCCL_TEST_SOLVER_EXHAUSTIVESUMS_H
