//===- TimedProgram.cpp - A linear program over links and times -----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TimedProgram.h"

#include <algorithm>
#include <set>

using namespace sccl;
using namespace sccl::advice;

std::vector<double> advice::sumsOfLatencies(const Timing &timing) {
  constexpr size_t many = 256;
  std::set<double> single(timing.latencies.begin(), timing.latencies.end());
  std::vector<double> sums = {0};
  size_t first = 0;
  for (unsigned terms = 0; terms < 3; ++terms) {
    size_t last = sums.size();
    for (; first < last; ++first)
      for (double latency : single)
        if (sums.size() < many)
          sums.push_back(sums[first] + latency);
  }
  sums.erase(sums.begin());
  return sums;
}

std::vector<double> advice::crossingTimes(const Timing &timing) {
  constexpr double same = 1e-4; // relative
  std::vector<double> sums = sumsOfLatencies(timing);
  sums.push_back(0);
  std::set<double> all;
  for (double first : sums)
    for (double last : sums)
      if (first + last > 0)
        all.insert(first + last);
  std::vector<double> times;
  for (double time : all)
    if (times.empty() || time > times.back() * (1 + same))
      times.push_back(time);
  return times;
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

// All that is compared is linear in T, so the ends of the span tell.

/// True if `last` is never more than `delay` after `first`.
bool Slots::isWithin(Moment first, Moment last, double delay) const {
  return last.at(span.from) <= first.at(span.from) + delay &&
         last.at(span.to) <= first.at(span.to) + delay;
}

bool Slots::isInOrder(Moment first, Moment last) const {
  return first.at(span.from) <= last.at(span.from) &&
         first.at(span.to) <= last.at(span.to);
}

/// True if a slot between the two is worth its while.
bool Slots::isApart(Moment first, Moment last) const {
  constexpr double little = 1.0 / 60;
  return isInOrder(first, last) &&
         (last.at(span.from) - first.at(span.from) > span.from * little ||
          last.at(span.to) - first.at(span.to) > span.to * little);
}

/// Does nothing if the moment passes another one.
void Slots::insert(Moment moment) {
  for (size_t i = 0; i + 1 < moments.size(); ++i)
    if (isApart(moments[i], moment) && isApart(moment, moments[i + 1])) {
      moments.insert(moments.begin() + ptrdiff_t(i) + 1, moment);
      return;
    }
}

Slots::Slots(const Timing &timing, Span span)
    : span(span), moments{{0, 0}, {0, 1}} {
  constexpr size_t most = 22;
  // A little on the safe side, so that rounding does not decide what is before
  // what.
  constexpr double nearly = 1 - 1e-9;
  for (double sum : sumsOfLatencies(timing)) {
    if (count() + 2 > most)
      break;
    insert({sum * nearly, 0});
    insert({-sum * nearly, 1});
  }
}

double Slots::length(size_t slot) const {
  return moments[slot + 1].at(span.from) - moments[slot].at(span.from);
}

size_t Slots::arrivalSlot(size_t slot, double hop) const {
  size_t arrival = slot;
  while (arrival + 1 < count() &&
         isWithin(moments[slot], moments[arrival + 1], hop))
    ++arrival;
  return arrival;
}

using Sense = LinearProgram::Sense;
using Term = LinearProgram::Term;

static constexpr unsigned noColumn = ~0u;

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

TimedProgram::TimedProgram(const Topology &topology, const Timing &timing,
                           const TimedProblem &problem, Span span, double bytes)
    : topology(topology), timing(timing), problem(problem), span(span),
      bytes(bytes), unit(span.from > 0 ? span.from : span.to),
      slots(timing, span), limitsOf(topology.links().size()),
      use(problem.limits.count(),
          std::vector<std::vector<Term>>(slots.count())) {
  // Far more than more time is worth, so that it is left to what is too late.
  constexpr double ofOvertime = 50;
  for (size_t i = 0; i < topology.limits().size(); ++i)
    for (unsigned link : topology.limits()[i].links)
      limitsOf[link].push_back(problem.limits.classOf[i]);
  program.addColumn(1); // T, above the beginning of the span
  program.addColumn(ofOvertime);
  for (const TimedCommodity &commodity : problem.commodities)
    addCommodity(commodity);
  addCapacities();
}

bool TimedProgram::isPossible(const LinkGroup &group, size_t slot) const {
  return slots.endsAfter(slot, group.before) &&
         slots.beginsBefore(slot, group.hop + group.after);
}

TimedProgram::Columns TimedProgram::addFlow(const Pair &pair) {
  Columns flow;
  for (const LinkGroup &group : pair.groups) {
    std::vector<unsigned> &columns = flow.emplace_back(slots.count(), noColumn);
    for (size_t slot = 0; slot < slots.count(); ++slot)
      if (isPossible(group, slot))
        columns[slot] = program.addColumn(0);
  }
  return flow;
}

/// What has come to a cell by some slot goes on then, or waits. One unit comes
/// to the second rank.
void TimedProgram::addConservation(const Pair &pair, const Columns &flow) {
  std::vector<std::vector<std::vector<Term>>> rows(
      pair.numCells, std::vector<std::vector<Term>>(slots.count()));
  std::vector<Term> arrivals;
  for (size_t i = 0; i < flow.size(); ++i)
    for (size_t slot = 0; slot < slots.count(); ++slot) {
      unsigned column = flow[i][slot];
      if (column == noColumn)
        continue;
      const LinkGroup &group = pair.groups[i];
      rows[group.from][slot].emplace_back(column, -1);
      if (group.to == pair.dstCell)
        arrivals.emplace_back(column, 1);
      else
        rows[group.to][slots.arrivalSlot(slot, group.hop)].emplace_back(column,
                                                                        1);
    }
  program.addRow(Sense::AtLeast, 1, arrivals);
  for (unsigned cell = 0; cell < pair.numCells; ++cell) {
    if (cell == pair.srcCell || cell == pair.dstCell)
      continue;
    unsigned waiting = noColumn;
    for (size_t slot = 0; slot < slots.count(); ++slot) {
      std::vector<Term> &row = rows[cell][slot];
      if (waiting != noColumn)
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
    for (size_t slot = 0; slot < slots.count(); ++slot) {
      if (flow[i][slot] == noColumn)
        continue;
      std::vector<Term> row = {{flow[i][slot], -1}};
      for (size_t orbit = 0; orbit < count.size(); ++orbit)
        if (count[orbit] > 0)
          row.emplace_back(carried[orbit][slot], count[orbit]);
      program.addRow(Sense::AtLeast, 0, row);
    }
  }
}

/// Sends between blocks number 2 (blocks - 1), where each counts by how likely
/// it is to be of use: see TimedBound.h. Links of an orbit look alike.
void TimedProgram::addGossip(const TimedCommodity &commodity,
                             const Columns &carried, const Blocks &blocks) {
  std::vector<unsigned> blockOf(topology.numRanks());
  for (unsigned block = 0; block < blocks.size(); ++block)
    for (unsigned rank : blocks[block])
      blockOf[rank] = block;
  const double crossings = 2 * (double(blocks.size()) - 1);
  std::vector<Term> row;
  for (size_t orbit = 0; orbit < carried.size(); ++orbit) {
    unsigned link = commodity.orbits.firsts[orbit];
    auto [from, to] = topology.links()[link];
    if (blockOf[from] == blockOf[to])
      continue;
    for (size_t slot = 0; slot < slots.count(); ++slot) {
      if (carried[orbit][slot] == noColumn)
        continue;
      double count =
          commodity.orbits.sizes[orbit] * useOf(link, slot, blocks, blockOf);
      row.emplace_back(carried[orbit][slot], count);
      mostCarried = std::max(mostCarried, crossings / count);
    }
  }
  if (blocks.size() > 1)
    program.addRow(Sense::AtLeast, crossings, row);
}

/// How likely it is, at most, that what is on `link` in `slot` carries the
/// contribution of a rank drawn from some block, and tells another such rank of
/// it.
double TimedProgram::useOf(unsigned link, size_t slot, const Blocks &blocks,
                           const std::vector<unsigned> &blockOf) const {
  auto ends = topology.links()[link];
  double carries = 0, tells = 0;
  for (unsigned rank = 0; rank < blockOf.size(); ++rank) {
    double drawn = 1 / double(blocks[blockOf[rank]].size());
    double before = problem.distances[rank][ends.src];
    double after = problem.distances[ends.src][ends.dst] +
                   problem.distances[ends.dst][rank];
    if (blockOf[rank] != blockOf[ends.dst] && slots.endsAfter(slot, before))
      carries += drawn;
    if (blockOf[rank] != blockOf[ends.src] && slots.beginsBefore(slot, after))
      tells += drawn;
  }
  return std::min(carries, 1.0) * std::min(tells, 1.0);
}

/// Counts `columns`, each what is on one of `links`, into what limits carry.
void TimedProgram::addUse(double part, const Columns &columns,
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
      for (size_t slot = 0; slot < slots.count(); ++slot)
        if (least[orbit] > 0 && columns[i][slot] != noColumn)
          use[orbit][slot].emplace_back(columns[i][slot], -least[orbit] * part);
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
    std::vector<unsigned> &columns =
        carried.emplace_back(slots.count(), noColumn);
    double hop = never;
    for (unsigned link : links[orbit]) {
      auto [from, to] = topology.links()[link];
      hop = std::min(hop, problem.distances[from][to]);
    }
    // What arrives too late is of no use.
    for (size_t slot = 0; slot < slots.count(); ++slot)
      if (slots.beginsBefore(slot, hop))
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
      addGossip(commodity, carried, joinedWithin(topology, timing, latency));
  }
}

/// The columns of all limits of an orbit together, over what one unit of time
/// is worth to them. What has been put off at the end of a slot is there within
/// the time of a load.
void TimedProgram::addCapacities() {
  numDemands = program.numRows();
  const double access = timing.accessTime / unit;
  for (size_t orbit = 0; orbit < use.size(); ++orbit) {
    unsigned before = noColumn; // put off into the slot
    for (size_t slot = 0; slot < slots.count(); ++slot) {
      std::vector<Term> &row = use[orbit][slot];
      if (row.empty() && before == noColumn)
        continue;
      double rate = timing.rates[problem.limits.firsts[orbit]];
      double ofUse = bytes / (rate * problem.limits.sizes[orbit] * unit);
      for (auto &[column, value] : row)
        value *= ofUse;
      if (before != noColumn)
        row.emplace_back(before, -1);
      before = access > 0 ? program.addColumn(0) : noColumn;
      if (before != noColumn) {
        row.emplace_back(before, 1);
        program.addRow(Sense::AtLeast, -access, {{before, -1}});
      }
      row.emplace_back(time, slots.growth(slot));
      row.emplace_back(overtime, 1);
      program.addRow(Sense::AtLeast, -slots.length(slot) / unit, row);
    }
  }
}

//===----------------------------------------------------------------------===//
// What it proves
//===----------------------------------------------------------------------===//

/// From any multipliers of the rows, which are all of the kind "at least".
/// There is no overtime in truth. Columns that stand for bytes need not be
/// above `mostCarried`: flows need no more than 1, what is carried no more than
/// gossip asks for, and what is put off no more than a load takes, which is
/// less than `unit`.
TimeLine TimedProgram::provenBy(std::vector<double> multipliers) const {
  std::vector<double> reduced = program.columnCosts();
  double ofBytes = 0, ofCapacities = 0;
  for (unsigned row = 0; row < program.numRows(); ++row) {
    double &multiplier = multipliers[row];
    multiplier = std::max(multiplier, 0.0);
    (row < numDemands ? ofBytes : ofCapacities) +=
        multiplier * program.rowBound(row);
    program.visitRow(row, [&](unsigned column, double value) {
      reduced[column] -= multiplier * value;
    });
  }
  // Rounding errors of doubles are far below this.
  constexpr double safety = 1e-9;
  ofBytes -= safety * (ofBytes - ofCapacities);
  for (size_t column = firstOfBytes; column < reduced.size(); ++column)
    ofBytes -= std::max(-reduced[column], 0.0) * mostCarried;
  // Multipliers that ask too much of time are too large by that.
  double scale = unit / std::max(1 - reduced[time], 1.0);
  return {span, span.from + ofCapacities * scale, ofBytes * scale / bytes};
}

std::optional<TimeLine> TimedProgram::solve(const Deadline &deadline) const {
  LPSolution solution = program.solve(deadline);
  if (solution.status != LPStatus::Optimal)
    return std::nullopt;
  return provenBy(solution.multipliers);
}
