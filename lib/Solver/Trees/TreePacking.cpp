//===- TreePacking.cpp - Column generation over trees ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The program over the trees at hand says what a send over each link in each
// step costs; trees that are cheap at these prices are added, until none are
// found. Coarse cells are searched first, finer ones when those give nothing.
//
//===----------------------------------------------------------------------===//

#include "TreePacking.h"

#include "Solver/Constants.h"
#include "TreeImages.h"
#include "TreeMixes.h"
#include "TreeProgram.h"
#include "WholeChunks.h"

#include <algorithm>
#include <numeric>
#include <utility>

using namespace sccl;
using namespace sccl::trees;

/// Links to look at for all origins together; more take minutes.
/// The same, if sums are collected at several ranks, too.

TreePacking::TreePacking(PackingProblem theProblem, const Deadline &deadline)
    : problem(std::move(theProblem)),
      orbits(problem.topology, problem.generators, problem.group.size()) {
  for (unsigned i = 0; i < problem.topology.limits().size(); ++i)
    limitKeys.push_back(orbits.orbitOf(i));
  unsigned ranks = problem.topology.numRanks();
  int64_t order = int64_t(problem.group.size());
  unsigned demands = 1;
  if (problem.kind == CollectiveKind::Broadcast) {
    addOrigin({{problem.root}, {}}, 0, order);
  } else {
    std::vector<unsigned> firsts = rankOrbits(problem.generators, ranks);
    bool reduces = problem.kind == CollectiveKind::AllReduce;
    demands = 0;
    uint64_t origins = 0;
    for (unsigned rank = 0; rank < ranks; ++rank)
      origins += firsts[rank] == rank;
    uint64_t links = origins * problem.topology.links().size();
    isTooMuch = links > tuned::mostLinksOfOrigins();
    // Elements that keep a rank make chunks of its own of each of its trees.
    for (unsigned rank = 0; rank < ranks; ++rank) {
      isTooMuch |= deadline.isOver();
      if (firsts[rank] != rank || isTooMuch)
        continue;
      if (reduces)
        addMeetings(rank, links <= tuned::mostLinksOfMeetings());
      else
        addOrigin({{rank}, {}}, demands++,
                  order / std::ranges::count(firsts, rank));
    }
    demands = std::max(demands, 1u);
  }
  program = std::make_unique<TreeProgram>(
      problem.topology, orbits, problem.steps, problem.rounds, demands);
}

TreePacking::~TreePacking() = default;

void TreePacking::addOrigin(Meeting at, unsigned demand, int64_t share) {
  origins.push_back(std::make_unique<TreeOrigin>(problem, limitKeys,
                                                 std::move(at), demand, share));
}

/// Of one demand, as a chunk may be summed up anywhere.
void TreePacking::addMeetings(unsigned rank, bool alsoOfSeveral) {
  for (Meeting &meeting : meetingsOf(problem.topology, rank, limitKeys))
    if (alsoOfSeveral || meeting.ranks.size() == 1)
      addOrigin(std::move(meeting), 0, int64_t(problem.group.size()));
}

//===----------------------------------------------------------------------===//
// Pricing
//===----------------------------------------------------------------------===//

EdgePrices TreePacking::pricesFor(const CellGraph &graph,
                                  const TreePrices &prices, unsigned first,
                                  unsigned count) const {
  EdgePrices result{count, {}};
  result.values.resize(graph.numLinkClasses() * (count + 1));
  for (unsigned cls = 0; cls < graph.numLinkClasses(); ++cls)
    for (unsigned step = 1; step <= count; ++step) {
      unsigned at = scheduleStep(graph.direction(), first, count, step);
      result.values[size_t(cls) * (count + 1) + step] =
          priceOfSend(graph.linkOf(cls), at, prices);
    }
  return result;
}

double TreePacking::priceOfSend(unsigned link, unsigned step,
                                const TreePrices &prices) const {
  double sum = 0;
  orbits.visit(link, [&](unsigned orbit) {
    sum += prices.values[program->rowOf(orbit, step)];
  });
  return sum;
}

void TreePacking::append(const TreeSearch &search, const CellTree &tree,
                         const EdgePrices &prices, unsigned first,
                         unsigned count, std::vector<TreeSend> &sends) const {
  const CellGraph &graph = search.cellGraph();
  std::vector<unsigned> edges = search.edgesOf(tree.arrivals, prices);
  SendAction action = graph.direction() == Direction::Inward
                          ? SendAction::Reduce
                          : SendAction::Copy;
  for (unsigned cell = 0; cell < graph.numCells(); ++cell) {
    if (edges[cell] == TreeSearch::none)
      continue;
    unsigned step =
        scheduleStep(graph.direction(), first, count, tree.arrivals[cell]);
    for (unsigned link : graph.linksOf(edges[cell])) {
      auto [src, dst] = problem.topology.links()[link];
      sends.push_back({step, src, dst, action});
    }
  }
}

/// Adds trees of `origin` that cost less than they are worth. Returns whether
/// there were new ones.
bool TreePacking::price(TreeOrigin &origin, const TreePrices &prices,
                        const Deadline &deadline) {
  constexpr double tolerance = 1e-7;
  double worth = prices.worth[origin.demand] * double(origin.share);
  double limit = worth - tolerance * std::max(1.0, std::abs(worth));
  bool added = false;
  for (auto &[steps, search] : origin.spreads[origin.level]) {
    EdgePrices edges = pricesFor(search.cellGraph(), prices, 0, steps);
    for (const CellTree &tree : search.find(edges, limit, deadline)) {
      ChunkTree result{origin.at.ranks.front(), 1, {}};
      append(search, tree, edges, 0, steps, result.sends);
      added |= program->add(origin.demand, origin.share, std::move(result));
    }
  }
  return added;
}

/// The same for trees to and from `origin`, whose chunks turn round after some
/// step, which is another for each chunk.
bool TreePacking::priceReductions(TreeOrigin &origin, const TreePrices &prices,
                                  const Deadline &deadline) {
  bool added = false;
  for (unsigned turn = 0; turn < problem.steps; ++turn)
    added |= priceReduction(origin, turn, prices, deadline);
  return added;
}

/// Those that turn round after `turn` steps. Several ranks that have collected
/// parts exchange these in the next step.
bool TreePacking::priceReduction(TreeOrigin &origin, unsigned turn,
                                 const TreePrices &prices,
                                 const Deadline &deadline) {
  constexpr double tolerance = 1e-7, any = 1e14;
  double worth = prices.worth[origin.demand] * double(origin.share);
  double limit = worth - tolerance * std::max(1.0, std::abs(worth));
  const std::vector<unsigned> &exchanges = origin.at.exchanges;
  unsigned from = turn + (exchanges.empty() ? 0 : 1);
  unsigned left = problem.steps - from;
  TreeSearch &gather = origin.gathers[origin.level].at(turn);
  if (!gather.isPossible())
    return false;
  TreeSearch &spread = origin.spreads[origin.level].at(left);
  for (unsigned link : exchanges)
    limit -= priceOfSend(link, turn, prices);
  if (!spread.isPossible() || limit <= 0)
    return false;
  EdgePrices before = pricesFor(gather.cellGraph(), prices, 0, turn);
  EdgePrices after = pricesFor(spread.cellGraph(), prices, from, left);
  std::vector<CellTree> ins = gather.find(before, any, deadline);
  std::vector<CellTree> outs = spread.find(after, any, deadline);
  bool added = false;
  for (const CellTree &in : ins)
    for (const CellTree &out : outs) {
      // Each with the best of the others.
      if ((&in != &ins.front() && &out != &outs.front()) ||
          in.price + out.price >= limit)
        continue;
      ChunkTree result{origin.at.ranks.front(), 1, {}};
      append(gather, in, before, 0, turn, result.sends);
      for (unsigned link : exchanges) {
        auto [src, dst] = problem.topology.links()[link];
        result.sends.push_back({turn, src, dst, SendAction::Reduce});
      }
      append(spread, out, after, from, left, result.sends);
      added |= program->add(origin.demand, origin.share, std::move(result));
    }
  return added;
}

/// True if little is gained any more at the level of `origin`. Where each level
/// costs seconds, it is not waited for the end of that.
bool TreePacking::isSlow(const TreeOrigin &origin) const {
  const std::vector<double> &values = origin.values;
  return problem.inHalves && values.size() > tuned::slowRounds() &&
         values.back() > (1 - tuned::slowGain()) *
                             values[values.size() - 1 - tuned::slowRounds()];
}

/// Adds trees of `origin`, of finer cells where coarse ones give none. Returns
/// whether there were new ones. After the finest level those before it may give
/// some again, at the prices of today.
bool TreePacking::priceLevels(TreeOrigin &origin, const TreePrices &prices,
                              const Deadline &deadline) {
  bool reduces = problem.kind == CollectiveKind::AllReduce;
  bool added = false;
  while (true) {
    bool isNew = reduces ? priceReductions(origin, prices, deadline)
                         : price(origin, prices, deadline);
    added |= isNew;
    origin.isFruitful |= isNew;
    if ((isNew && !isSlow(origin)) || deadline.expired())
      return added;
    origin.values.clear();
    if (origin.level + 1 < origin.numLevels() || origin.addLevel()) {
      ++origin.level;
      continue;
    }
    if (!problem.inHalves || !std::exchange(origin.isFruitful, false))
      return added;
    origin.level = 0;
  }
}

/// Where many solutions are as good, prices swing from one to the other, and
/// trees that are cheap at either are of little use: adds some at prices in
/// between, at the levels last searched. Returns whether there were new ones.
bool TreePacking::priceBetween(const TreePrices &between,
                               const Deadline &deadline) {
  bool added = false;
  if (!isSlowToSolve() || between.values.empty())
    return added;
  for (auto &origin : origins)
    added |= problem.kind == CollectiveKind::AllReduce
                 ? priceReductions(*origin, between, deadline)
                 : price(*origin, between, deadline);
  return added;
}

std::optional<double> TreePacking::generate(std::optional<double> target,
                                            const Deadline &deadline) {
  if (isTooMuch || program->isTooLarge())
    return std::nullopt;
  constexpr double tolerance = 1e-9;
  TreePrices prices, between;
  prices.values.assign(program->numRows(), 1.0);
  prices.worth.assign(origins.size(), 1e12);
  if (program->numTrees() != 0)
    if ((value = program->solve(deadline)))
      prices = program->prices();
  while (!deadline.expired()) {
    if (!priceBetween(between, deadline)) {
      bool added = false;
      for (auto &origin : origins)
        added |= priceLevels(*origin, prices, deadline);
      if (!added)
        break;
    }
    std::optional<double> solved = program->isLarge()
                                       ? program->solveOn(deadline)
                                       : program->solve(deadline);
    // What was found before limits stopped it stays good.
    if (!solved)
      break;
    value = solved;
    if (target && *value <= *target * (1 + tolerance))
      break;
    prices = program->prices();
    between.moveHalfwayTo(prices);
    for (auto &origin : origins)
      origin->values.push_back(*value);
  }
  return value;
}

std::vector<ChunkTree> TreePacking::usedTrees() const {
  std::vector<ChunkTree> result;
  for (size_t i = 0; i < program->numTrees(); ++i)
    if (program->isUsed(i))
      result.push_back(program->tree(i));
  return result;
}

void TreePacking::beginWith(const std::vector<ChunkTree> &trees) {
  for (const ChunkTree &tree : trees)
    program->add(/*demand=*/0, origins.front()->share, tree);
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

/// Of `rounds` for each slot of the program.
TreeSchedule TreePacking::makeSchedule(uint64_t chunks,
                                       std::vector<uint64_t> rounds,
                                       const std::vector<int64_t> &counts,
                                       const TreeProgram &from) const {
  TreeSchedule schedule{
      problem.kind, chunks, std::move(rounds), problem.generators, {}};
  for (size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0) {
      schedule.trees.push_back(from.tree(i));
      schedule.trees.back().count = uint64_t(counts[i]);
    }
  if (problem.rounds == Rounds::InAll) {
    schedule.period = schedule.rounds.front();
    schedule.rounds =
        roundsPerStep(problem.topology, orbits, problem.steps, schedule.trees);
    dropIdleSteps(schedule);
  }
  return schedule;
}

std::optional<TreeSchedule> TreePacking::exact(const Deadline &deadline) const {
  if (!value)
    return std::nullopt;
  std::optional<FractionList> fractions = program->exact(deadline);
  if (!fractions)
    return std::nullopt;
  // The denominator makes all rounds and counts whole.
  auto counts = fractions->numerators.begin() + program->numSlots();
  TreeSchedule schedule = makeSchedule(
      uint64_t(fractions->denominator), {fractions->numerators.begin(), counts},
      {counts, fractions->numerators.end()}, *program);
  dropIdleSteps(schedule);
  return schedule;
}

uint64_t TreePacking::chunkUnit() const {
  bool reduces = problem.kind == CollectiveKind::AllReduce;
  uint64_t unit = reduces ? problem.topology.numRanks() : 1;
  for (const auto &origin : origins)
    unit = std::lcm(unit, uint64_t(origin->share));
  return unit;
}

std::optional<TreeSchedule> TreePacking::round(uint64_t chunks,
                                               const Deadline &deadline) const {
  if (!value)
    return std::nullopt;
  std::optional<WholeSolution> whole =
      wholeChunks(*program, program->numDemands(), chunks, deadline,
                  problem.isHuge() ? TreesToTry::OfSolution : TreesToTry::All);
  if (!whole)
    return std::nullopt;
  return makeSchedule(chunks, std::move(whole->rounds), whole->counts,
                      *program);
}

std::optional<TreeSchedule> TreePacking::roundMixed(uint64_t chunks,
                                                    const Deadline &deadline) {
  if (!value || problem.kind == CollectiveKind::AllReduce)
    return std::nullopt;
  if (!mixed)
    mixed = std::make_unique<TreeProgram>(
        withMixes(*program, problem.topology.numRanks()));
  std::optional<WholeSolution> whole =
      wholeChunks(*mixed, mixed->numDemands(), chunks, deadline);
  if (!whole)
    return std::nullopt;
  return makeSchedule(chunks, std::move(whole->rounds), whole->counts, *mixed);
}

std::optional<TreeSchedule>
TreePacking::roundForEach(uint64_t chunks, uint64_t below,
                          const Deadline &deadline) {
  if (!value)
    return std::nullopt;
  if (!images)
    images = std::make_unique<TreeImages>(problem, *program);
  return images->choose(chunks, below, deadline);
}
