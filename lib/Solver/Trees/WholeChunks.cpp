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
  /// A step of which the fullest limit takes so many rounds.
  void add(double most) {
    constexpr double tolerance = 1e-7;
    rounds += std::max<uint64_t>(uint64_t(std::ceil(most - tolerance)), 1);
    load += most;
  }
  bool operator<(const WholeCost &other) const {
    if (rounds != other.rounds)
      return rounds < other.rounds;
    return load < other.load - 1e-9;
  }
};

class WholeSearch {
public:
  WholeSearch(const TreeProgram &program, unsigned demands, TreesToTry which);

  std::optional<WholeSolution> run(uint64_t chunks, const Deadline &deadline);

private:
  bool start(uint64_t chunks, const Deadline &deadline);
  bool improve(const Deadline &deadline);
  void change(size_t tree, int64_t by);
  void refill();
  WholeCost costWith(const double *added, const double *removed) const;
  WholeCost leastCostWith(const double *added, const double *removed) const;
  uint64_t roundsOf(size_t step) const;
  const double *filledBy(size_t tree) const {
    return filled.data() + tree * loads.size();
  }
  bool tick(uint64_t distributions, const Deadline &deadline);

  const TreeProgram &program;
  const unsigned demands;
  std::vector<size_t> candidates; ///< trees to give chunks to
  std::vector<int64_t> counts, loads;
  /// Rounds that the loads of each row take, and that a chunk over each tree
  /// adds to them: nearly exact, and much faster to compare than fractions.
  std::vector<double> full, filled;
  std::vector<double> none;
  std::vector<size_t> fullestRows; ///< by step, the first of those of `full`
  mutable std::vector<double> fullest; ///< by step
  uint64_t looked = 0;                 ///< at rows, not charged yet
};
} // namespace

static std::vector<size_t> numbersOf(const TreeProgram &program,
                                     TreesToTry which) {
  std::vector<size_t> result;
  for (size_t i = 0; i < program.numTrees(); ++i)
    if (which == TreesToTry::All || program.isUsed(i))
      result.push_back(i);
  return result;
}

WholeSearch::WholeSearch(const TreeProgram &program, unsigned demands,
                         TreesToTry which)
    : program(program), demands(demands), candidates(numbersOf(program, which)),
      counts(program.numTrees()), loads(program.numRows()), full(loads.size()),
      none(loads.size()), fullestRows(program.numSlots()),
      fullest(program.numSlots()) {
  filled.reserve(counts.size() * loads.size());
  for (size_t tree = 0; tree < counts.size(); ++tree)
    for (size_t row = 0; row < loads.size(); ++row)
      filled.push_back(double(program.loadsOf(tree)[row]) *
                       double(program.imagesPerSend()) /
                       double(program.bandwidth(row / program.numSlots())));
}

void WholeSearch::change(size_t tree, int64_t by) {
  counts[tree] += by;
  const std::vector<int64_t> &each = program.loadsOf(tree);
  for (size_t row = 0; row < each.size(); ++row)
    loads[row] += by * each[row];
}

void WholeSearch::refill() {
  for (size_t row = 0; row < loads.size(); ++row)
    full[row] = double(loads[row]) * double(program.imagesPerSend()) /
                double(program.bandwidth(row / program.numSlots()));
  size_t slots = program.numSlots();
  for (size_t step = 0; step < slots; ++step)
    fullestRows[step] = step;
  for (size_t row = 0; row < full.size(); ++row)
    if (size_t &fullestRow = fullestRows[row % slots];
        full[fullestRow] < full[row])
      fullestRow = row;
}

/// Rounds times bandwidth of all limits must hold all images.
uint64_t WholeSearch::roundsOf(size_t step) const {
  uint64_t rounds = 1;
  for (size_t orbit = 0; orbit < program.numOrbits(); ++orbit) {
    uint64_t all =
        uint64_t(loads[program.rowOf(orbit, step)]) * program.imagesPerSend();
    uint64_t bandwidth = program.bandwidth(orbit);
    rounds = std::max(rounds, (all + bandwidth - 1) / bandwidth);
  }
  return rounds;
}

/// What the distribution costs once a tree has one chunk more, and another one
/// less.
WholeCost WholeSearch::costWith(const double *added,
                                const double *removed) const {
  size_t slots = program.numSlots();
  std::ranges::fill(fullest, 0.0);
  for (size_t row = 0; row < full.size(); row += slots)
    for (size_t step = 0; step < slots; ++step)
      fullest[step] =
          std::max(fullest[step],
                   full[row + step] + added[row + step] - removed[row + step]);
  WholeCost result;
  for (double most : fullest)
    result.add(most);
  return result;
}

/// No more than that, from the rows that are the fullest now: most changes
/// leave these so full that no other row needs to be looked at.
WholeCost WholeSearch::leastCostWith(const double *added,
                                     const double *removed) const {
  WholeCost result;
  for (size_t row : fullestRows)
    result.add(std::max(0.0, full[row] + added[row] - removed[row]));
  return result;
}

/// Charges for looking at `distributions` more.
bool WholeSearch::tick(uint64_t distributions, const Deadline &deadline) {
  constexpr uint64_t rowsPerUnit = 512;
  looked += distributions * (loads.size() + 8);
  uint64_t units = looked / rowsPerUnit;
  looked %= rowsPerUnit;
  return deadline.tick(units);
}

/// A first distribution. False if there is none.
bool WholeSearch::start(uint64_t chunks, const Deadline &deadline) {
  std::vector<int64_t> missing;
  for (unsigned demand = 0; demand < demands; ++demand)
    missing.push_back(int64_t(chunks) * program.amountOf(demand));
  for (size_t i = 0; i < counts.size(); ++i) {
    // Where the solution is within tolerances only, some are below zero.
    double used = std::max(program.usage(i), 0.0);
    int64_t whole = int64_t(std::floor(used * double(chunks) + 1e-6));
    change(i, whole);
    missing[program.demandOf(i)] -= whole * program.shareOf(i);
  }
  refill();
  for (unsigned demand = 0; demand < demands; ++demand)
    while (missing[demand] > 0) {
      std::optional<size_t> best;
      WholeCost least;
      for (size_t i : candidates) {
        if (program.demandOf(i) != demand ||
            program.shareOf(i) > missing[demand])
          continue;
        if (best && !(leastCostWith(filledBy(i), none.data()) < least))
          continue;
        WholeCost now = costWith(filledBy(i), none.data());
        if (!best || now < least) {
          best = i;
          least = now;
        }
      }
      if (!best || tick(candidates.size(), deadline))
        return false;
      change(*best, 1);
      refill();
      missing[demand] -= program.shareOf(*best);
    }
  return std::ranges::all_of(missing, [](int64_t m) { return m == 0; });
}

/// Moves a chunk from one tree to another. Returns whether that helped.
bool WholeSearch::improve(const Deadline &deadline) {
  bool helped = false;
  WholeCost least = costWith(none.data(), none.data());
  for (size_t from : candidates)
    for (size_t to : candidates) {
      if (counts[from] <= 0)
        break;
      if (from == to || program.demandOf(from) != program.demandOf(to) ||
          program.shareOf(from) != program.shareOf(to))
        continue;
      if (tick(1, deadline))
        return false;
      if (!(leastCostWith(filledBy(to), filledBy(from)) < least))
        continue;
      WholeCost now = costWith(filledBy(to), filledBy(from));
      if (!(now < least))
        continue;
      change(from, -1);
      change(to, 1);
      refill();
      least = now;
      helped = true;
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
  for (size_t step = 0; step < program.numSlots(); ++step)
    result.rounds.push_back(roundsOf(step));
  return result;
}

std::optional<WholeSolution> trees::wholeChunks(const TreeProgram &program,
                                                unsigned demands,
                                                uint64_t chunks,
                                                const Deadline &deadline,
                                                TreesToTry which) {
  return WholeSearch(program, demands, which).run(chunks, deadline);
}
