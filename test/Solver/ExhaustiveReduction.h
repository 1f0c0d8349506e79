//===- ExhaustiveReduction.h - All schedules of a reduction -----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tries everything that the rules in Schedule.h allow, step by step, on sets of
// states. For about three ranks and two chunks.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_SOLVER_EXHAUSTIVEREDUCTION_H
#define SCCL_TEST_SOLVER_EXHAUSTIVEREDUCTION_H

#include "sccl/Model/Instance.h"

#include <map>
#include <set>
#include <tuple>

namespace sccl::test {

/// Finds out whether a schedule exists.
class ExhaustiveReduction {
public:
  explicit ExhaustiveReduction(const Instance &instance)
      : instance(instance), topology(instance.topology),
        numRanks(topology.numRanks()), numLinks(topology.links().size()),
        numChunks(instance.collective.numChunks()) {}

  bool exists() { return search(initial(), 0, instance.rounds); }

private:
  /// The contributors to the value of each rank, as bits.
  using Values = std::vector<unsigned>;
  using State = std::vector<Values>; // per chunk
  /// The links that a chunk uses in a step, as bits, and its values after it.
  using Moves = std::set<std::pair<unsigned, Values>>;

  std::set<State> initial() const {
    State state(numChunks, Values(numRanks));
    for (unsigned chunk = 0; chunk < numChunks; ++chunk)
      for (unsigned rank : instance.collective.pre().ranksOf(chunk))
        state[chunk][rank] = 1u << rank;
    return {state};
  }

  bool isDone(unsigned chunk, const Values &values) const {
    unsigned all = 0;
    for (unsigned rank : instance.collective.pre().ranksOf(chunk))
      all |= 1u << rank;
    for (unsigned rank : instance.collective.post().ranksOf(chunk))
      if (values[rank] != all)
        return false;
    return true;
  }

  /// Tries all rounds of this step on all states at once.
  bool search(const std::set<State> &states, unsigned step, unsigned left) {
    if (step == instance.steps)
      return !states.empty(); // only those that are done are left
    unsigned later = instance.steps - step - 1;
    for (unsigned rounds = 1; rounds + later <= left; ++rounds) {
      std::set<State> next;
      for (const State &state : states) {
        std::vector<unsigned> load(numLinks, 0);
        extend(state, rounds, /*isLast=*/later == 0, load, {}, next);
      }
      if (search(next, step + 1, left - rounds))
        return true;
    }
    return false;
  }

  /// Adds to `next` all that can become of `state`, of which the first chunks
  /// have become `done`.
  void extend(const State &state, unsigned rounds, bool isLast,
              std::vector<unsigned> &load, const State &done,
              std::set<State> &next) {
    unsigned chunk = done.size();
    if (chunk == numChunks) {
      next.insert(done);
      return;
    }
    for (const auto &[links, values] : movesOf(chunk, state[chunk], isLast)) {
      for (unsigned link = 0; link < numLinks; ++link)
        load[link] += links >> link & 1;
      if (fits(load, rounds)) {
        State longer = done;
        longer.push_back(values);
        extend(state, rounds, isLast, load, longer, next);
      }
      for (unsigned link = 0; link < numLinks; ++link)
        load[link] -= links >> link & 1;
    }
  }

  bool fits(const std::vector<unsigned> &load, unsigned rounds) const {
    for (const BandwidthLimit &limit : topology.limits()) {
      unsigned sum = 0;
      for (unsigned link : limit.links)
        sum += load[link];
      if (sum > limit.bandwidth * rounds)
        return false;
    }
    return true;
  }

  /// All moves, or only those that leave the chunk where it must be.
  const Moves &movesOf(unsigned chunk, const Values &values, bool isLast) {
    auto [it, isNew] = moves.try_emplace({chunk, values, isLast});
    if (isNew) {
      addMoves(chunk, values, 0, 0, values, 0, 0, it->second);
      if (isLast)
        std::erase_if(it->second, [&](const auto &move) {
          return !isDone(chunk, move.second);
        });
    }
    return it->second;
  }

  /// Chooses what goes over the links from `link` on. `received` and `copied`
  /// are the ranks that got something, and those that got a copy.
  void addMoves(unsigned chunk, const Values &before, unsigned link,
                unsigned used, const Values &after, unsigned received,
                unsigned copied, Moves &result) {
    if (link == numLinks) {
      result.insert({used, after});
      return;
    }
    addMoves(chunk, before, link + 1, used, after, received, copied, result);
    auto [src, dst] = topology.links()[link];
    unsigned input =
        instance.collective.pre().contains(src, chunk) ? 1u << src : 0;
    for (unsigned payload : {before[src], input}) {
      if (payload == 0 || copied >> dst & 1)
        continue;
      Values added = after;
      if (!(added[dst] & payload)) {
        added[dst] |= payload;
        addMoves(chunk, before, link + 1, used | 1u << link, added,
                 received | 1u << dst, copied, result);
      }
      if (received >> dst & 1)
        continue;
      Values replaced = after;
      replaced[dst] = payload;
      addMoves(chunk, before, link + 1, used | 1u << link, replaced,
               received | 1u << dst, copied | 1u << dst, result);
    }
  }

  const Instance &instance;
  const Topology &topology;
  const unsigned numRanks, numLinks, numChunks;
  std::map<std::tuple<unsigned, Values, bool>, Moves> moves;
};

inline bool existsReduction(const Instance &instance) {
  return ExhaustiveReduction(instance).exists();
}

} // namespace sccl::test

#endif // SCCL_TEST_SOLVER_EXHAUSTIVEREDUCTION_H
