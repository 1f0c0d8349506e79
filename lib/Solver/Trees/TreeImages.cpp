//===- TreeImages.cpp - Trees and their images, each for itself -----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TreeImages.h"

#include "Solver/Constants.h"
#include "TreeProgram.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace sccl;
using namespace sccl::trees;

// Rounds are given, and chunks move to other trees until no limit is too full.
// Where that ends with some too full, these weigh more from then on (Morris:
// The breakout method for escaping from local minima), and if that does not
// help for long, the slot that is short of most gets another round.

namespace {
class ChoiceSearch {
public:
  ChoiceSearch(const ChoiceProblem &problem, uint64_t chunks);
  std::optional<TreeChoice> run(uint64_t below, const Deadline &deadline);

private:
  void chooseRounds(uint64_t chunks);
  void deal();
  bool settle(const Deadline &deadline);
  bool sweep(bool all);
  unsigned bestTree(unsigned demand) const;
  double priceOf(unsigned row, unsigned sends) const;
  void priceAll();
  double costOf(unsigned tree) const;
  void change(unsigned tree, int64_t by);
  int64_t capacity(unsigned row) const {
    return int64_t(problem.bandwidths[row / numSlots()] *
                   rounds[row % numSlots()]);
  }
  int64_t excess(unsigned row) const {
    return std::max<int64_t>(loads[row] - capacity(row), 0);
  }
  bool isTooFull(unsigned tree) const;
  size_t numSlots() const { return problem.rounds.size(); }
  uint64_t totalRounds() const {
    return std::accumulate(rounds.begin(), rounds.end(), uint64_t(0));
  }

  const ChoiceProblem &problem;
  std::vector<std::vector<unsigned>> treesOf; ///< by demand
  std::vector<std::vector<unsigned>> taken;   ///< by demand and chunk
  std::vector<uint64_t> rounds;
  std::vector<int64_t> loads;
  std::vector<double> weights; ///< of rows that are too full
  std::vector<double> prices;  ///< of one more send, by row
  uint64_t effort = 0;         ///< what a sweep looks at
};
} // namespace

ChoiceSearch::ChoiceSearch(const ChoiceProblem &problem, uint64_t chunks)
    : problem(problem), treesOf(problem.demands),
      taken(problem.demands, std::vector<unsigned>(chunks)),
      loads(problem.bandwidths.size() * numSlots()), weights(loads.size(), 1),
      prices(loads.size()) {
  for (unsigned tree = 0; tree < problem.trees.size(); ++tree) {
    treesOf[problem.trees[tree].demand].push_back(tree);
    effort += problem.trees[tree].loads.size() * chunks;
  }
  chooseRounds(chunks);
}

/// As many as the fractions say, rounded up in all.
void ChoiceSearch::chooseRounds(uint64_t chunks) {
  constexpr double tolerance = 1e-6;
  double all = 0;
  for (double each : problem.rounds) {
    double wanted = each * double(chunks);
    all += wanted;
    rounds.push_back(std::max<uint64_t>(uint64_t(wanted + tolerance), 1));
  }
  auto missing = [&](size_t slot) {
    return problem.rounds[slot] * double(chunks) - double(rounds[slot]);
  };
  while (double(totalRounds()) < all - tolerance) {
    size_t most = 0;
    for (size_t slot = 1; slot < numSlots(); ++slot)
      if (missing(slot) > missing(most))
        most = slot;
    ++rounds[most];
  }
}

void ChoiceSearch::change(unsigned tree, int64_t by) {
  for (auto [row, sends] : problem.trees[tree].loads) {
    loads[row] += by * int64_t(sends);
    prices[row] = priceOf(row, 1);
  }
}

/// What some more sends make worse: what is too much counts most, and then how
/// full limits are.
double ChoiceSearch::priceOf(unsigned row, unsigned sends) const {
  auto limit = double(capacity(row)), before = double(loads[row]);
  double after = before + sends;
  double over = std::max(after - limit, 0.0);
  double was = std::max(before - limit, 0.0);
  return weights[row] * (over * over - was * was) +
         tuned::fullnessWeight() * (after * after - before * before) /
             (limit * limit);
}

void ChoiceSearch::priceAll() {
  for (unsigned row = 0; row < loads.size(); ++row)
    prices[row] = priceOf(row, 1);
}

/// What one more chunk over `tree` makes worse.
double ChoiceSearch::costOf(unsigned tree) const {
  double sum = 0;
  for (auto [row, sends] : problem.trees[tree].loads)
    sum += sends == 1 ? prices[row] : priceOf(row, sends);
  return sum;
}

unsigned ChoiceSearch::bestTree(unsigned demand) const {
  unsigned best = treesOf[demand].front();
  double least = INFINITY;
  for (unsigned tree : treesOf[demand])
    if (double cost = costOf(tree); cost < least) {
      least = cost;
      best = tree;
    }
  return best;
}

bool ChoiceSearch::isTooFull(unsigned tree) const {
  return std::ranges::any_of(problem.trees[tree].loads, [&](const auto &load) {
    return excess(load.first) > 0;
  });
}

/// A first tree for each chunk.
void ChoiceSearch::deal() {
  for (size_t chunk = 0; chunk < taken.front().size(); ++chunk)
    for (unsigned demand = 0; demand < problem.demands; ++demand) {
      taken[demand][chunk] = bestTree(demand);
      change(taken[demand][chunk], 1);
    }
}

/// Moves chunks, of full limits or `all`, to better trees. Returns whether
/// there were any.
bool ChoiceSearch::sweep(bool all) {
  constexpr double tolerance = 1e-9;
  bool moved = false;
  for (unsigned demand = 0; demand < problem.demands; ++demand)
    for (unsigned &tree : taken[demand]) {
      if (!all && !isTooFull(tree))
        continue;
      change(tree, -1);
      unsigned best = bestTree(demand);
      if (costOf(best) < costOf(tree) - tolerance) {
        tree = best;
        moved = true;
      }
      change(tree, 1);
    }
  return moved;
}

/// True if no limit is too full in the end.
bool ChoiceSearch::settle(const Deadline &deadline) {
  constexpr uint64_t effortPerUnit = 512;
  std::ranges::fill(weights, 1);
  priceAll();
  for (unsigned i = 0; i < tuned::mostSweeps(); ++i) {
    bool moved = sweep(/*all=*/i == 0);
    bool isDone = true;
    for (unsigned row = 0; row < loads.size(); ++row)
      if (excess(row) > 0) {
        isDone = false;
        weights[row] += moved ? 0 : 1;
        prices[row] = priceOf(row, 1);
      }
    if (isDone)
      return true;
    if (deadline.tick(1 + effort / effortPerUnit))
      return false;
  }
  return false;
}

std::optional<TreeChoice> ChoiceSearch::run(uint64_t below,
                                            const Deadline &deadline) {
  if (std::ranges::any_of(treesOf, [](const auto &of) { return of.empty(); }))
    return std::nullopt;
  if (totalRounds() >= below)
    return std::nullopt;
  priceAll();
  deal();
  while (!settle(deadline)) {
    std::vector<int64_t> over(numSlots());
    for (unsigned row = 0; row < loads.size(); ++row)
      over[row % numSlots()] += excess(row);
    ++rounds[size_t(std::ranges::max_element(over) - over.begin())];
    if (totalRounds() >= below || deadline.expired())
      return std::nullopt;
  }
  TreeChoice result{std::vector<uint64_t>(problem.trees.size()), rounds};
  for (const std::vector<unsigned> &trees : taken)
    for (unsigned tree : trees)
      ++result.counts[tree];
  return result;
}

std::optional<TreeChoice> trees::chooseTrees(const ChoiceProblem &problem,
                                             uint64_t chunks, uint64_t below,
                                             const Deadline &deadline) {
  return ChoiceSearch(problem, chunks).run(below, deadline);
}

/// The trees of a program that fractions use, and then those that would cost
/// least more.
static std::vector<size_t> mostUseful(const TreeProgram &program) {
  TreePrices prices = program.prices();
  std::vector<std::pair<double, size_t>> order;
  for (size_t i = 0; i < program.numTrees(); ++i) {
    const std::vector<int64_t> &loads = program.loadsOf(i);
    double price = 0;
    for (size_t row = 0; row < loads.size(); ++row)
      price += double(loads[row]) * prices.values[row];
    double worth =
        prices.worth[program.demandOf(i)] * double(program.shareOf(i));
    order.emplace_back(program.isUsed(i) ? -program.usage(i) : price - worth,
                       i);
  }
  std::ranges::stable_sort(order, {}, &std::pair<double, size_t>::first);
  std::vector<size_t> result;
  for (const auto &[cost, i] : order)
    if (result.size() < tuned::mostTreesForImages() || program.isUsed(i))
      result.push_back(i);
  return result;
}

TreeImages::TreeImages(const PackingProblem &problem,
                       const TreeProgram &program)
    : problem(problem), limits(problem.topology, {}, 1) {
  bool isPerOrigin = problem.kind == CollectiveKind::AllGather;
  choice.demands = isPerOrigin ? problem.topology.numRanks() : 1;
  for (size_t limit = 0; limit < limits.count(); ++limit)
    choice.bandwidths.push_back(uint64_t(limits.bandwidth(limit)));
  for (size_t slot = 0; slot < program.numSlots(); ++slot)
    choice.rounds.push_back(program.roundsOf(slot));
  for (size_t i : mostUseful(program))
    addImages(program.tree(i));
}

/// Those of different loads.
void TreeImages::addImages(const ChunkTree &tree) {
  std::set<std::pair<unsigned, std::map<unsigned, unsigned>>> known;
  for (const Permutation &element : problem.group) {
    ChunkTree image{element[tree.origin], 1, {}};
    std::map<unsigned, unsigned> loads;
    for (const TreeSend &send : tree.sends) {
      unsigned src = element[send.src], dst = element[send.dst];
      image.sends.push_back({send.step, src, dst, send.action});
      size_t slot = choice.rounds.size() > 1 ? send.step : 0;
      limits.visit(*problem.topology.findLink(src, dst),
                   [&](unsigned limit) { ++loads[choice.rowOf(limit, slot)]; });
    }
    unsigned demand = choice.demands > 1 ? image.origin : 0;
    if (!known.emplace(demand, loads).second)
      continue;
    choice.trees.push_back({demand, {loads.begin(), loads.end()}});
    trees.push_back(std::move(image));
  }
}

std::optional<TreeSchedule> TreeImages::choose(uint64_t chunks, uint64_t below,
                                               const Deadline &deadline) const {
  std::optional<TreeChoice> found =
      chooseTrees(choice, chunks, below, deadline);
  if (!found)
    return std::nullopt;
  TreeSchedule schedule{problem.kind, chunks, std::move(found->rounds), {}, {}};
  for (size_t i = 0; i < trees.size(); ++i)
    if (found->counts[i] > 0) {
      schedule.trees.push_back(trees[i]);
      schedule.trees.back().count = found->counts[i];
    }
  if (problem.rounds == Rounds::InAll) {
    schedule.period = schedule.rounds.front();
    schedule.rounds =
        roundsPerStep(problem.topology, limits, problem.steps, schedule.trees);
    dropIdleSteps(schedule);
  }
  return schedule;
}
