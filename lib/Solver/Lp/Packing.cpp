//===- Packing.cpp - Schedules from ways for single chunks ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Packing.h"

#include "Solver/Constants.h"
#include "Solver/Quotient.h"

#ifdef SCCL_HAVE_CADICAL
#include "Optimize/Sat.h"
#include "Solver/Sat/TreePairEncoding.h"
#endif

#include <algorithm>
#include <bit>
#include <numeric>

using namespace sccl;
using namespace sccl::packing;

Packing::Packing(const Instance &instance, const SolverOptions &options,
                 const Deadline &deadline, std::vector<Permutation> theGroup)
    : instance(instance), topology(instance.topology), options(options),
      deadline(deadline), group(std::move(theGroup)),
      reduces(instance.collective.combining()),
      outward(topology, instance.steps, SpreadTable::Direction::Outward),
      inward(topology, instance.steps, SpreadTable::Direction::Inward) {
  for (const Permutation &element : group) {
    std::vector<unsigned> &images = linkImages.emplace_back();
    for (const Link &link : topology.links())
      images.push_back(
          *topology.findLink(element[link.src], element[link.dst]));
  }
  findCores();
  findWeights();
}

static RankSet imageOf(const Permutation &element, RankSet set) {
  RankSet image = 0;
  for (unsigned rank = 0; rank < element.size(); ++rank)
    if (set >> rank & 1)
      image |= RankSet(1) << element[rank];
  return image;
}

/// The links between all pairs of `set`; nothing if one is missing.
static std::optional<std::vector<unsigned>>
linksBetween(const Topology &topology, RankSet set) {
  std::vector<unsigned> links;
  for (unsigned src = 0; src < topology.numRanks(); ++src)
    for (unsigned dst = 0; dst < topology.numRanks(); ++dst) {
      if (src == dst || !(set >> src & 1) || !(set >> dst & 1))
        continue;
      std::optional<unsigned> link = topology.findLink(src, dst);
      if (!link)
        return std::nullopt;
      links.push_back(*link);
    }
  return links;
}

void Packing::findCores() {
  if (!reduces) {
    cores.push_back({RankSet(1) << instance.collective.root(), {}});
    return;
  }
  for (RankSet set = 1; set >> topology.numRanks() == 0; ++set) {
    bool isFirst = std::ranges::none_of(group, [&](const auto &element) {
      return imageOf(element, set) < set;
    });
    if (!isFirst)
      continue;
    if (auto links = linksBetween(topology, set))
      cores.push_back({set, std::move(*links)});
  }
}

void Packing::findWeights() {
  for (unsigned i = 0; i < topology.limits().size(); ++i) {
    const std::vector<unsigned> &links = topology.limits()[i].links;
    std::vector<int64_t> weight(topology.links().size());
    bool isFirst = true;
    for (const std::vector<unsigned> &images : linkImages) {
      std::vector<unsigned> image;
      for (unsigned link : links)
        image.push_back(images[link]);
      std::ranges::sort(image);
      isFirst &= !(image < links);
      // All elements, so it is no matter which is the inverse of which.
      for (unsigned link : image)
        ++weight[link];
    }
    if (!isFirst)
      continue;
    limits.push_back(i);
    weights.push_back(std::move(weight));
  }
}

//===----------------------------------------------------------------------===//
// Column generation
//===----------------------------------------------------------------------===//

/// Columns: the rounds of each step, then the chunks of each way, images not
/// counted. Rows: the limits in each step, then the number of chunks, and at
/// the end, if the program is the final one, the rounds of all steps.
IntegerProgram Packing::makeProgram(bool isFinal) const {
  IntegerProgram program;
  int64_t chunks = instance.collective.chunks() / group.size();
  int64_t most = isFinal ? instance.rounds : int64_t(1) << 40;
  for (unsigned step = 0; step < instance.steps; ++step)
    program.addColumn({1, most, isFinal ? 0 : 1, true});
  for (size_t limit = 0; limit < limits.size(); ++limit)
    for (unsigned step = 0; step < instance.steps; ++step) {
      unsigned row = program.addRow({0, false});
      int64_t bandwidth = topology.limits()[limits[limit]].bandwidth;
      program.entries.push_back({row, step, -bandwidth});
    }
  unsigned sum = program.addRow({chunks, true});
  for (const WayColumn &way : columns) {
    unsigned column = program.addColumn({0, chunks, 0, true});
    program.entries.push_back({sum, column, 1});
    for (unsigned row = 0; row < way.load.size(); ++row)
      if (way.load[row] != 0)
        program.entries.push_back({row, column, way.load[row]});
  }
  if (isFinal) {
    unsigned row = program.addRow({instance.rounds, false});
    for (unsigned step = 0; step < instance.steps; ++step)
      program.entries.push_back({row, step, 1});
  }
  return program;
}

/// What a send costs at the multipliers of a relaxation.
StepPrices Packing::pricesOf(const std::vector<double> &multipliers) const {
  StepPrices prices(topology.links().size() * instance.steps);
  for (size_t limit = 0; limit < limits.size(); ++limit)
    for (unsigned step = 0; step < instance.steps; ++step) {
      double price = std::max(-multipliers[rowOf(limit, step)], 0.0);
      for (size_t link = 0; link < topology.links().size(); ++link)
        prices[link * instance.steps + step] +=
            price * double(weights[limit][link]);
    }
  return prices;
}

/// Adds the cheapest way for a core, with sums made in the first `joined`
/// steps and, for a core of several ranks, the one after. A way with the load
/// of another is as good as that.
void Packing::addWay(const Core &core, unsigned joined) {
  unsigned between = exchangeSteps(core);
  WayColumn column{{{}, joined + between}, {}};
  std::vector<TimedLink> &sends = column.way.sends;
  inward.append(core.ranks, joined, sends);
  for (unsigned link : core.exchange)
    sends.push_back({link, joined});
  outward.append(core.ranks, instance.steps - joined - between, sends);
  column.load.resize(limits.size() * instance.steps);
  for (auto [link, step] : sends)
    for (size_t limit = 0; limit < limits.size(); ++limit)
      column.load[rowOf(limit, step)] += weights[limit][link];
  if (loads.insert(column.load).second)
    columns.push_back(std::move(column));
}

/// Adds ways that cost less than `limit`. Returns whether there was a new one.
bool Packing::addWays(const StepPrices &prices, double limit) {
  size_t before = columns.size();
  // 3^ranks additions per step take about a nanosecond each.
  uint64_t work = instance.steps;
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
    work *= 3;
  deadline.charge(1 + work / 1000 * (reduces ? 2 : 1));
  outward.update(prices);
  if (reduces)
    inward.update(prices);
  for (const Core &core : cores) {
    if (isLean && std::popcount(core.ranks) > 2)
      continue;
    unsigned between = exchangeSteps(core);
    for (unsigned joined = 0; joined + between <= instance.steps; ++joined) {
      if (!reduces && joined > 0)
        break;
      double price =
          outward.price(core.ranks, instance.steps - joined - between);
      if (reduces)
        price += inward.price(core.ranks, joined);
      for (unsigned link : core.exchange)
        price += prices[size_t(link) * instance.steps + joined];
      if (price < limit)
        addWay(core, joined);
    }
  }
  return columns.size() > before;
}

/// Collects ways until the relaxation needs the fewest rounds that any ways
/// allow. Returns whether those are few enough.
bool Packing::generate() {
  constexpr double tolerance = 1e-6;
  // Ways that are not quite the cheapest help to find integers.
  constexpr double anyPrice = 1e9;
  StepPrices same(topology.links().size() * instance.steps, 1.0);
  addWays(same, anyPrice);
  if (columns.empty())
    return false;
  LPSolution solution;
  while (!deadline.expired()) {
    IntegerProgram program = makeProgram(/*isFinal=*/false);
    bool isFirst = solution.isBasicRow.empty();
    solution =
        solveRelaxation(program, deadline, isFirst ? nullptr : &solution);
    if (solution.status != LPStatus::Optimal)
      return false;
    double price = solution.multipliers[limits.size() * instance.steps];
    double rounds = std::accumulate(
        solution.values.begin(), solution.values.begin() + instance.steps, 0.0);
    bool isPossible = rounds <= instance.rounds + tolerance;
    relaxed = solution.values;
    // Clauses need no ways but the rounds; branch and bound needs many.
    if (usesClauses() && isPossible)
      return true;
    if (!addWays(pricesOf(solution.multipliers),
                 price * tuned::pairSlack() + tolerance))
      return isPossible;
  }
  return false;
}

bool Packing::relax() {
  if (generate())
    return true;
  isLean = false;
  return reduces && generate();
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

Schedule Packing::decode(const std::vector<int64_t> &values) const {
  Schedule schedule;
  schedule.steps.resize(instance.steps);
  unsigned spare = instance.rounds;
  for (unsigned step = 0; step < instance.steps; ++step) {
    schedule.steps[step].rounds = unsigned(values[step]);
    spare -= schedule.steps[step].rounds;
  }
  schedule.steps.back().rounds += spare;
  unsigned chunk = 0;
  for (size_t i = 0; i < columns.size(); ++i)
    for (int64_t n = 0; n < values[instance.steps + i]; ++n)
      for (const std::vector<unsigned> &images : linkImages) {
        const Way &way = columns[i].way;
        for (auto [link, step] : way.sends) {
          auto [src, dst] = topology.links()[images[link]];
          bool adds = reduces && step < way.joined;
          schedule.steps[step].sends.push_back(
              {chunk, src, dst, adds ? SendAction::Reduce : SendAction::Copy});
        }
        ++chunk;
      }
  return schedule;
}

/// Integers near the rounds of the relaxation that add up to R; the same read
/// backwards if `isPalindrome`. Nothing if there are none.
std::vector<unsigned> Packing::roundsOf(bool isPalindrome) const {
  constexpr double tolerance = 1e-6;
  unsigned steps = instance.steps, spare = instance.rounds;
  std::vector<double> wanted(relaxed.begin(), relaxed.begin() + steps);
  if (isPalindrome)
    for (unsigned step = 0; step < steps; ++step)
      wanted[step] = (relaxed[step] + relaxed[steps - 1 - step]) / 2;
  std::vector<unsigned> rounds;
  for (double value : wanted) {
    rounds.push_back(unsigned(value + tolerance));
    spare -= rounds.back();
  }
  while (spare > 0) {
    // The step that lacks most.
    std::optional<unsigned> chosen;
    auto lack = [&](unsigned step) { return wanted[step] - rounds[step]; };
    auto sizeOf = [&](unsigned step) {
      return isPalindrome && step != steps - 1 - step ? 2u : 1u;
    };
    for (unsigned step = 0; step < steps; ++step)
      if (sizeOf(step) <= spare &&
          (!chosen || lack(step) > lack(*chosen) + tolerance))
        chosen = step;
    if (!chosen)
      return {};
    ++rounds[*chosen];
    if (sizeOf(*chosen) == 2)
      ++rounds[steps - 1 - *chosen];
    spare -= sizeOf(*chosen);
  }
  return rounds;
}

/// Looks for a schedule with the fewest sends by clauses, for a while.
std::optional<Schedule>
Packing::findTreePairs([[maybe_unused]] bool isPalindrome) const {
#ifdef SCCL_HAVE_CADICAL
  std::vector<unsigned> rounds = roundsOf(isPalindrome);
  if (rounds.empty())
    return std::nullopt;
  SatSolver solver(deadline, options.seed, SatAim::Models);
  TreePairEncoding encoding(instance, group, isPalindrome, std::move(rounds),
                            solver);
  encoding.encode([this] { return deadline.expired(); });
  if (solver.search(tuned::pairConflicts()) == SatSolver::Answer::Satisfiable)
    return encoding.decode();
#endif
  return std::nullopt;
}

std::optional<Schedule> Packing::find() {
  if (usesClauses()) {
    bool isPalindrome = isOwnReverse(topology) &&
                        instance.collective.chunks() % (2 * group.size()) == 0;
    return findTreePairs(isPalindrome);
  }
  auto values = findIntegerSolution(makeProgram(/*isFinal=*/true),
                                    tuned::pairNodes(), options.seed, deadline);
  if (!values)
    return std::nullopt;
  return decode(*values);
}
