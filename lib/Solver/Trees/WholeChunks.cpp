//===- WholeChunks.cpp - Whole numbers of chunks on trees -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rounds the solution in fractions down, gives what is missing to the trees
// that cost least there, and then moves chunks from tree to tree as long as
// that helps. There are some tens of trees, so this takes less than a
// millisecond, where branch and bound takes seconds to prove what no one asked.
//
//===----------------------------------------------------------------------===//

#include "WholeChunks.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace sccl;
using namespace sccl::trees;

uint64_t WholeSolution::totalRounds() const {
  return std::accumulate(rounds.begin(), rounds.end(), uint64_t(0));
}

namespace {
/// What a distribution costs: rounds first, then how full they are.
struct WholeCost {
  uint64_t rounds = 0;
  double load = 0;
  bool operator<(const WholeCost &other) const {
    if (rounds != other.rounds)
      return rounds < other.rounds;
    return load < other.load - 1e-9;
  }
};

class WholeSearch {
public:
  WholeSearch(const TreeProgram &program, unsigned demands)
      : program(program), demands(demands), counts(program.numTrees()),
        loads(program.numRows()) {}

  std::optional<WholeSolution> run(uint64_t chunks, const Deadline &deadline);

private:
  bool start(uint64_t chunks, const Deadline &deadline);
  bool improve(const Deadline &deadline);
  void change(size_t tree, int64_t by);
  WholeCost cost() const;
  uint64_t roundsOf(size_t step, double *load) const;
  /// Work of looking at one distribution.
  uint64_t effort() const { return 1 + program.numRows() / 256; }

  const TreeProgram &program;
  const unsigned demands;
  std::vector<int64_t> counts, loads;
};
} // namespace

void WholeSearch::change(size_t tree, int64_t by) {
  counts[tree] += by;
  const std::vector<int64_t> &each = program.loadsOf(tree);
  for (size_t row = 0; row < each.size(); ++row)
    loads[row] += by * each[row];
}

uint64_t WholeSearch::roundsOf(size_t step, double *load) const {
  uint64_t rounds = 1;
  double fullest = 0;
  for (size_t orbit = 0; orbit < program.numOrbits(); ++orbit) {
    // Rounds times bandwidth of all limits must hold all images.
    uint64_t all =
        uint64_t(loads[program.rowOf(orbit, step)]) * program.imagesPerSend();
    uint64_t bandwidth = program.bandwidth(orbit);
    rounds = std::max(rounds, (all + bandwidth - 1) / bandwidth);
    fullest = std::max(fullest, double(all) / double(bandwidth));
  }
  *load += fullest;
  return rounds;
}

WholeCost WholeSearch::cost() const {
  WholeCost result;
  for (size_t step = 0; step < program.numSlots(); ++step)
    result.rounds += roundsOf(step, &result.load);
  return result;
}

/// A first distribution. False if there is none.
bool WholeSearch::start(uint64_t chunks, const Deadline &deadline) {
  std::vector<int64_t> missing;
  for (unsigned demand = 0; demand < demands; ++demand)
    missing.push_back(int64_t(chunks) * program.amountOf(demand));
  for (size_t i = 0; i < counts.size(); ++i) {
    int64_t whole =
        int64_t(std::floor(program.usage(i) * double(chunks) + 1e-6));
    change(i, whole);
    missing[program.demandOf(i)] -= whole * program.shareOf(i);
  }
  for (unsigned demand = 0; demand < demands; ++demand)
    while (missing[demand] > 0) {
      std::optional<size_t> best;
      WholeCost least;
      for (size_t i = 0; i < counts.size(); ++i) {
        if (program.demandOf(i) != demand ||
            program.shareOf(i) > missing[demand])
          continue;
        change(i, 1);
        WholeCost now = cost();
        if (!best || now < least) {
          best = i;
          least = now;
        }
        change(i, -1);
      }
      if (!best || deadline.tick(effort() * counts.size()))
        return false;
      change(*best, 1);
      missing[demand] -= program.shareOf(*best);
    }
  return std::ranges::all_of(missing, [](int64_t m) { return m == 0; });
}

/// Moves a chunk from one tree to another. Returns whether that helped.
bool WholeSearch::improve(const Deadline &deadline) {
  bool helped = false;
  WholeCost least = cost();
  for (size_t from = 0; from < counts.size(); ++from)
    for (size_t to = 0; to < counts.size() && counts[from] > 0; ++to) {
      if (from == to || program.demandOf(from) != program.demandOf(to) ||
          program.shareOf(from) != program.shareOf(to))
        continue;
      if (deadline.tick(effort()))
        return false;
      change(from, -1);
      change(to, 1);
      WholeCost now = cost();
      if (now < least) {
        least = now;
        helped = true;
        continue;
      }
      change(from, 1);
      change(to, -1);
    }
  return helped;
}

std::optional<WholeSolution> WholeSearch::run(uint64_t chunks,
                                              const Deadline &deadline) {
  if (!start(chunks, deadline))
    return std::nullopt;
  while (improve(deadline)) {
  }
  WholeSolution result{counts, {}};
  double load = 0;
  for (size_t step = 0; step < program.numSlots(); ++step)
    result.rounds.push_back(roundsOf(step, &load));
  return result;
}

std::optional<WholeSolution> trees::wholeChunks(const TreeProgram &program,
                                                unsigned demands,
                                                uint64_t chunks,
                                                const Deadline &deadline) {
  return WholeSearch(program, demands).run(chunks, deadline);
}
