//===- TreeImages.cpp - Trees and their images, each for itself -----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TreeImages.h"

#include "Solver/Constants.h"
#include "StepRounds.h"

#include <algorithm>
#include <numeric>

using namespace sccl;
using namespace sccl::trees;

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
