//===- TimedBound.cpp - How many bytes can move within a time -------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TimedBound.h"

#include "Optimize/LinearProgram.h"
#include "TimedModel.h"

#include <algorithm>
#include <limits>
#include <set>

using namespace sccl;
using namespace sccl::advice;

using Sense = LinearProgram::Sense;
using Term = LinearProgram::Term;

static constexpr double never = std::numeric_limits<double>::infinity();
/// Of columns.
static constexpr unsigned none = ~0u;

struct TimedBound::Model {
  const Topology &topology;
  const Timing timing;
  std::optional<TimedProblem> problem;
};

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

/// Sums of up to three latencies, those of fewer first.
static std::vector<double> sumsOfLatencies(const Timing &timing, double most) {
  std::set<double> single(timing.latencies.begin(), timing.latencies.end());
  std::vector<double> sums = {0};
  size_t first = 0;
  for (unsigned terms = 0; terms < 3; ++terms) {
    size_t last = sums.size();
    for (; first < last; ++first)
      for (double latency : single)
        if (sums[first] + latency < most && sums.size() < 256)
          sums.push_back(sums[first] + latency);
  }
  return sums;
}

/// Where slots begin, and the end. Any slots do; what matters happens at sums
/// of latencies after the beginning and before the end.
static std::vector<double> slotsOf(const Timing &timing, double time) {
  constexpr size_t most = 22, least = 16;
  // A little on the safe side, so that rounding does not decide what is before
  // what.
  constexpr double nearly = 1 - 1e-9;
  std::set<double> ends = {0, time};
  auto add = [&](double at) {
    auto next = ends.lower_bound(at);
    double apart = time / 60;
    if (ends.size() < most && next != ends.end() && *next - at > apart &&
        at - *std::prev(next) > apart)
      ends.insert(at);
  };
  for (double sum : sumsOfLatencies(timing, time)) {
    if (sum == 0)
      continue;
    add(sum * nearly);
    add(time - sum * nearly);
  }
  while (ends.size() < least) {
    auto widest = ends.begin();
    for (auto it = ends.begin(); std::next(it) != ends.end(); ++it)
      if (*std::next(it) - *it > *std::next(widest) - *widest)
        widest = it;
    ends.insert((*widest + *std::next(widest)) / 2);
  }
  return {ends.begin(), ends.end()};
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

namespace {
class TimedProgram {
public:
  TimedProgram(const Topology &topology, const Timing &timing,
               const TimedProblem &problem, double time);
  /// The least factor on all rates for one byte.
  std::optional<double> solve(const Deadline &deadline) const;

private:
  using Columns = std::vector<std::vector<unsigned>>; ///< by group, slot
  size_t numSlots() const { return ends.size() - 1; }
  double length(size_t slot) const { return ends[slot + 1] - ends[slot]; }
  size_t arrivalSlot(size_t slot, double hop) const;
  bool isPossible(const LinkGroup &group, size_t slot) const;
  void addCommodity(const TimedCommodity &commodity);
  Columns addFlow(const Pair &pair);
  void addConservation(const Pair &pair, const Columns &flow);
  void addCover(const TimedCommodity &commodity, const Pair &pair,
                const Columns &flow, const Columns &carried);
  void addGossip(const TimedCommodity &commodity, const Columns &carried,
                 const std::vector<unsigned> &blockOf);
  void addUse(double bytes, const Columns &columns,
              const std::vector<std::vector<unsigned>> &links);
  void addCapacities();
  std::vector<unsigned> blocksWithin(double latency) const;
  double provenBy(std::vector<double> multipliers) const;

  const Topology &topology;
  const Timing &timing;
  const TimedProblem &problem;
  const std::vector<double> ends;
  std::vector<std::vector<unsigned>> limitsOf; ///< orbits, of each link
  double scale;                                ///< of rates times lengths
  LinearProgram program;
  /// What limits carry, by orbit and slot.
  std::vector<std::vector<std::vector<Term>>> use;
};
} // namespace

TimedProgram::TimedProgram(const Topology &topology, const Timing &timing,
                           const TimedProblem &problem, double time)
    : topology(topology), timing(timing), problem(problem),
      ends(slotsOf(timing, time)), limitsOf(topology.links().size()),
      scale(1 / (std::ranges::max(timing.rates) * time)),
      use(problem.limits.count(),
          std::vector<std::vector<Term>>(ends.size() - 1)) {
  for (size_t i = 0; i < topology.limits().size(); ++i)
    for (unsigned link : topology.limits()[i].links)
      limitsOf[link].push_back(problem.limits.classOf[i]);
  program.addColumn(1); // the factor
  for (const TimedCommodity &commodity : problem.commodities)
    addCommodity(commodity);
  addCapacities();
}

/// Where what is on a link in `slot` may be after it.
size_t TimedProgram::arrivalSlot(size_t slot, double hop) const {
  size_t arrival = slot;
  while (ends[arrival + 1] <= ends[slot] + hop && arrival + 1 < numSlots())
    ++arrival;
  return arrival;
}

bool TimedProgram::isPossible(const LinkGroup &group, size_t slot) const {
  return group.before < ends[slot + 1] &&
         ends[slot] + group.hop + group.after < ends.back();
}

TimedProgram::Columns TimedProgram::addFlow(const Pair &pair) {
  Columns flow;
  for (const LinkGroup &group : pair.groups) {
    std::vector<unsigned> &columns = flow.emplace_back(numSlots(), none);
    for (size_t slot = 0; slot < numSlots(); ++slot)
      if (isPossible(group, slot))
        columns[slot] = program.addColumn(0);
  }
  return flow;
}

/// What has come to a cell by some slot goes on then, or waits. One unit comes
/// to the second rank.
void TimedProgram::addConservation(const Pair &pair, const Columns &flow) {
  std::vector<std::vector<std::vector<Term>>> rows(
      pair.numCells, std::vector<std::vector<Term>>(numSlots()));
  std::vector<Term> arrivals;
  for (size_t i = 0; i < flow.size(); ++i)
    for (size_t slot = 0; slot < numSlots(); ++slot) {
      unsigned column = flow[i][slot];
      if (column == none)
        continue;
      const LinkGroup &group = pair.groups[i];
      rows[group.from][slot].emplace_back(column, -1);
      if (group.to == pair.dstCell)
        arrivals.emplace_back(column, 1);
      else
        rows[group.to][arrivalSlot(slot, group.hop)].emplace_back(column, 1);
    }
  program.addRow(Sense::AtLeast, 1, arrivals);
  for (unsigned cell = 0; cell < pair.numCells; ++cell) {
    if (cell == pair.srcCell || cell == pair.dstCell)
      continue;
    unsigned waiting = none;
    for (size_t slot = 0; slot < numSlots(); ++slot) {
      std::vector<Term> &row = rows[cell][slot];
      if (waiting != none)
        row.emplace_back(waiting, 1);
      if (row.empty())
        continue;
      waiting = program.addColumn(0);
      row.emplace_back(waiting, -1);
      program.addRow(Sense::AtLeast, 0, row);
    }
  }
}

/// All that a pair's flow is on is carried.
void TimedProgram::addCover(const TimedCommodity &commodity, const Pair &pair,
                            const Columns &flow, const Columns &carried) {
  for (size_t i = 0; i < flow.size(); ++i) {
    std::vector<unsigned> count(commodity.orbits.count());
    for (unsigned link : pair.groups[i].links)
      ++count[commodity.orbits.classOf[link]];
    for (size_t slot = 0; slot < numSlots(); ++slot) {
      if (flow[i][slot] == none)
        continue;
      std::vector<Term> row = {{flow[i][slot], -1}};
      for (size_t orbit = 0; orbit < count.size(); ++orbit)
        if (count[orbit] > 0)
          row.emplace_back(carried[orbit][slot], count[orbit]);
      program.addRow(Sense::AtLeast, 0, row);
    }
  }
}

/// Numbers of the blocks that links of at most `latency` join; below 0, of the
/// ranks.
std::vector<unsigned> TimedProgram::blocksWithin(double latency) const {
  std::vector<unsigned> blockOf(topology.numRanks(), none);
  for (unsigned first = 0; first < topology.numRanks(); ++first) {
    if (blockOf[first] != none)
      continue;
    std::vector<unsigned> block = {first};
    blockOf[first] = first;
    for (size_t next = 0; next < block.size(); ++next)
      for (unsigned link : topology.outLinks(block[next])) {
        unsigned other = topology.links()[link].dst;
        if (timing.latencies[link] > latency || blockOf[other] != none)
          continue;
        blockOf[other] = first;
        block.push_back(other);
      }
  }
  return blockOf;
}

void TimedProgram::addGossip(const TimedCommodity &commodity,
                             const Columns &carried,
                             const std::vector<unsigned> &blockOf) {
  std::set<unsigned> blocks(blockOf.begin(), blockOf.end());
  std::vector<unsigned> crossing(commodity.orbits.count());
  for (unsigned link = 0; link < topology.links().size(); ++link)
    crossing[commodity.orbits.classOf[link]] +=
        blockOf[topology.links()[link].src] !=
        blockOf[topology.links()[link].dst];
  std::vector<Term> row;
  for (size_t orbit = 0; orbit < crossing.size(); ++orbit)
    for (unsigned column : carried[orbit])
      if (crossing[orbit] > 0 && column != none)
        row.emplace_back(column, crossing[orbit]);
  if (blocks.size() > 1)
    program.addRow(Sense::AtLeast, 2 * double(blocks.size() - 1), row);
}

/// Counts `columns`, each what is on one of `links`, into what limits carry.
void TimedProgram::addUse(double bytes, const Columns &columns,
                          const std::vector<std::vector<unsigned>> &links) {
  for (size_t i = 0; i < columns.size(); ++i) {
    // Of links that differ, the least counts.
    std::vector<double> least(problem.limits.count(), never);
    for (unsigned link : links[i]) {
      std::vector<double> count(problem.limits.count());
      for (unsigned orbit : limitsOf[link])
        ++count[orbit];
      for (size_t orbit = 0; orbit < count.size(); ++orbit)
        least[orbit] = std::min(least[orbit], count[orbit]);
    }
    for (size_t orbit = 0; orbit < least.size(); ++orbit)
      for (size_t slot = 0; slot < numSlots(); ++slot)
        if (least[orbit] > 0 && columns[i][slot] != none)
          use[orbit][slot].emplace_back(columns[i][slot],
                                        -least[orbit] * bytes);
  }
}

void TimedProgram::addCommodity(const TimedCommodity &commodity) {
  if (commodity.isUnicast) {
    const Pair &pair = commodity.pairs.front();
    Columns flow = addFlow(pair);
    addConservation(pair, flow);
    std::vector<std::vector<unsigned>> links;
    for (const LinkGroup &group : pair.groups)
      links.push_back(group.links);
    return addUse(commodity.bytes, flow, links);
  }
  const Classes &orbits = commodity.orbits;
  std::vector<std::vector<unsigned>> links(orbits.count());
  for (unsigned link = 0; link < orbits.classOf.size(); ++link)
    links[orbits.classOf[link]].push_back(link);
  // By link of an orbit: what counts for limits is all of them.
  Columns carried;
  for (size_t orbit = 0; orbit < orbits.count(); ++orbit) {
    std::vector<unsigned> &columns = carried.emplace_back(numSlots(), none);
    double hop = never;
    for (unsigned link : links[orbit]) {
      auto [from, to] = topology.links()[link];
      hop = std::min(hop, problem.distances[from][to]);
    }
    // What arrives too late is of no use.
    for (size_t slot = 0; slot < numSlots(); ++slot)
      if (ends[slot] + hop < ends.back())
        columns[slot] = program.addColumn(0);
  }
  for (const Pair &pair : commodity.pairs) {
    Columns flow = addFlow(pair);
    addConservation(pair, flow);
    addCover(commodity, pair, flow, carried);
  }
  for (size_t orbit = 0; orbit < orbits.count(); ++orbit)
    addUse(commodity.bytes * orbits.sizes[orbit], {carried[orbit]},
           {links[orbit]});
  if (commodity.isGossip) {
    std::set<double> latencies(timing.latencies.begin(),
                               timing.latencies.end());
    latencies.insert(-1);
    for (double latency : latencies)
      addGossip(commodity, carried, blocksWithin(latency));
  }
}

/// The columns of all limits of an orbit together.
void TimedProgram::addCapacities() {
  for (size_t orbit = 0; orbit < use.size(); ++orbit)
    for (size_t slot = 0; slot < numSlots(); ++slot) {
      std::vector<Term> &row = use[orbit][slot];
      if (row.empty())
        continue;
      double rate = timing.rates[problem.limits.firsts[orbit]];
      row.emplace_back(0u, rate * length(slot) * scale *
                               problem.limits.sizes[orbit]);
      program.addRow(Sense::AtLeast, 0, row);
    }
}

//===----------------------------------------------------------------------===//
// What it proves
//===----------------------------------------------------------------------===//

/// A bound on the optimum from any multipliers of the rows, which are all of
/// the kind "at least". Columns other than the factor need not be above `most`:
/// flows need no more than 1, what is carried no more than gossip asks for.
double TimedProgram::provenBy(std::vector<double> multipliers) const {
  double most = 2.0 * topology.numRanks();
  std::vector<double> reduced = program.columnCosts();
  double sum = 0;
  for (unsigned row = 0; row < program.numRows(); ++row) {
    double &multiplier = multipliers[row];
    multiplier = std::max(multiplier, 0.0);
    sum += multiplier * program.rowBound(row);
    program.visitRow(row, [&](unsigned column, double value) {
      reduced[column] -= multiplier * value;
    });
  }
  double missing = 0;
  for (size_t column = 1; column < reduced.size(); ++column)
    missing += std::max(-reduced[column], 0.0) * most;
  // Multipliers that ask too much of the factor are too large by that.
  return (sum - missing) / std::max(1 - reduced[0], 1.0);
}

std::optional<double> TimedProgram::solve(const Deadline &deadline) const {
  LPSolution solution = program.solve(deadline);
  if (solution.status != LPStatus::Optimal)
    return std::nullopt;
  // Rounding errors of doubles are far below this.
  constexpr double safety = 1 - 1e-9;
  return provenBy(solution.multipliers) * scale * safety;
}

//===----------------------------------------------------------------------===//
// The bound
//===----------------------------------------------------------------------===//

TimedBound::TimedBound(const Topology &topology, const Collective &collective,
                       const Timing &timing)
    : model(new Model{topology, timing,
                      makeTimedProblem(topology, collective, timing)}) {}

TimedBound::~TimedBound() = default;

/// True if not even a word gets everywhere in that time.
static bool isTooShort(const TimedProblem &problem, double time) {
  for (const TimedCommodity &commodity : problem.commodities)
    for (const Pair &pair : commodity.pairs)
      if (problem.distances[pair.src][pair.dst] > time)
        return true;
  return false;
}

double TimedBound::mostBytes(double microseconds, const Deadline &deadline) {
  if (!model->problem || !(microseconds > 0))
    return never;
  if (isTooShort(*model->problem, microseconds))
    return 0;
  auto [it, isNew] = answers.try_emplace(microseconds, never);
  if (isNew) {
    TimedProgram program(model->topology, model->timing, *model->problem,
                         microseconds);
    std::optional<double> factor = program.solve(deadline);
    if (factor && *factor > 0)
      it->second = 1 / *factor;
  }
  return it->second;
}

double TimedBound::leastTime(double bytes, double known, double reached,
                             const Deadline &deadline) {
  constexpr unsigned most = 8;
  constexpr double closeEnough = 1.01;
  if (!model->problem)
    return known;
  for (auto [time, within] : answers)
    if (within < bytes)
      known = std::max(known, time);
    else
      reached = std::min(reached, std::max(time, known));
  for (unsigned i = 0; i < most && known * closeEnough < reached; ++i) {
    if (deadline.expired())
      break;
    double time = (known + reached) / 2;
    (mostBytes(time, deadline) < bytes ? known : reached) = time;
  }
  return known;
}
