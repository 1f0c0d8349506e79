//===- MilpBackend.cpp - All-to-all by integer programming ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The relaxation comes first: it is often integral once the rounds are, and its
// multipliers refute exactly. Branch and bound is for the rest, on the
// quotients by large groups before those by small ones.
//
//===----------------------------------------------------------------------===//

#include "Optimize/IntegerProgram.h"
#include "Solver/Backends.h"
#include "Solver/Constants.h"
#include "Solver/Flow/TokenFlow.h"
#include "Solver/Pruning.h"
#include "Solver/Quotient.h"
#include "Solver/StepSplitting.h"

#include "sccl/Model/Schedule.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace sccl;

// What one rank sends to all others is one flow with many sinks: which unit of
// it ends where can be chosen afterwards. So one integer per (source, link,
// step) describes a schedule, and one source per orbit is enough.

namespace {
/// The program of an all_to_all on the quotient by a free group. Its relaxation
/// does not depend on the group: the average of a solution over the group is a
/// solution.
class AllToAllProgram {
public:
  /// Minimizes the rounds, whatever R is. `steps` is S.
  AllToAllProgram(const Instance &instance, unsigned steps,
                  std::vector<Permutation> group);

  const IntegerProgram &program() const { return lp; }

  /// The rounds per step of a solution, rounded so that their sum is R.
  std::vector<unsigned> nearestRounds(const std::vector<double> &values) const;
  /// The program with R rounds at most.
  IntegerProgram withinRounds() const;
  /// The program with these rounds, minimizing the sends instead.
  IntegerProgram withRounds(const std::vector<unsigned> &rounds) const;
  /// The schedule of an integral solution of one of the last two.
  Schedule decode(const std::vector<int64_t> &values) const;

private:
  void addSource(size_t position);
  void addCapacities();
  std::vector<unsigned> balanceRows(unsigned firstStep);
  void addSends(size_t position, Schedule &schedule,
                const std::vector<int64_t> &values) const;

  const Instance &instance;
  const Topology &topology;
  const unsigned steps;
  const int64_t perPair; // chunks from each rank to each other
  const Quotient quotient;
  IntegerProgram lp;
  static constexpr unsigned none = ~0u;
  std::vector<unsigned> roundColumns; // per step - 1
  /// Per representative source, step - 1 and link.
  std::vector<std::vector<std::vector<unsigned>>> flowColumns;
};
} // namespace

AllToAllProgram::AllToAllProgram(const Instance &instance, unsigned steps,
                                 std::vector<Permutation> group)
    : instance(instance), topology(instance.topology), steps(steps),
      perPair(instance.collective.chunksPerSegment()),
      quotient(topology, instance.collective, std::move(group)) {
  // Even the relaxation must not lack rounds, or no multipliers would say how
  // many it needs.
  uint64_t ranks = topology.numRanks();
  int64_t most = std::max<int64_t>(instance.rounds,
                                   perPair * int64_t(ranks * (ranks - 1)));
  for (unsigned step = 0; step < steps; ++step)
    roundColumns.push_back(lp.addColumn({1, most, 1, true}));
  for (size_t i = 0; i < quotient.representativeRanks().size(); ++i)
    addSource(i);
  addCapacities();
}

/// One row for each step after which chunks can be at a rank: what has stayed
/// or arrived, stays or leaves. After the last step, that is what the rank
/// gets.
std::vector<unsigned> AllToAllProgram::balanceRows(unsigned firstStep) {
  std::vector<unsigned> rows(steps + 1, none);
  for (unsigned step = firstStep; step <= steps; ++step)
    rows[step] = lp.addRow({step == steps ? perPair : 0, true});
  // Staying from one step to the next.
  int64_t most = perPair * (topology.numRanks() - 1);
  for (unsigned step = firstStep; step < steps; ++step) {
    unsigned stay = lp.addColumn({0, most, 0, false});
    lp.entries.push_back({rows[step], stay, -1});
    lp.entries.push_back({rows[step + 1], stay, 1});
  }
  return rows;
}

void AllToAllProgram::addSource(size_t position) {
  unsigned source = quotient.representativeRanks()[position];
  int64_t most = perPair * (topology.numRanks() - 1);
  std::vector<unsigned> distance = topology.distancesFrom(source);
  std::vector<std::vector<unsigned>> rows(topology.numRanks());
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
    if (rank != source)
      rows[rank] = balanceRows(distance[rank]);
  auto &columns = flowColumns.emplace_back(
      steps, std::vector<unsigned>(topology.links().size(), none));
  for (unsigned link = 0; link < topology.links().size(); ++link) {
    const Link &ends = topology.links()[link];
    if (ends.dst == source)
      continue; // nothing returns
    for (unsigned step = distance[ends.src] + 1; step <= steps; ++step) {
      unsigned column = lp.addColumn({0, most, 0, true});
      columns[step - 1][link] = column;
      lp.entries.push_back({rows[ends.dst][step], column, 1});
      if (ends.src != source)
        lp.entries.push_back({rows[ends.src][step - 1], column, -1});
    }
  }
}

void AllToAllProgram::addCapacities() {
  for (unsigned index : quotient.representativeLimits())
    for (unsigned step = 0; step < steps; ++step) {
      const BandwidthLimit &limit = topology.limits()[index];
      // A column can occur for several links of the limit.
      std::map<unsigned, int64_t> load;
      for (const auto &columns : flowColumns)
        for (unsigned link : limit.links)
          for (unsigned element = 0; element < quotient.order(); ++element) {
            unsigned column = columns[step][quotient.linkImage(element, link)];
            if (column != none)
              ++load[column];
          }
      unsigned row = lp.addRow({0, false});
      for (auto [column, count] : load)
        lp.entries.push_back({row, column, count});
      lp.entries.push_back(
          {row, roundColumns[step], -int64_t(limit.bandwidth)});
    }
}

//===----------------------------------------------------------------------===//
// Solutions
//===----------------------------------------------------------------------===//

std::vector<unsigned>
AllToAllProgram::nearestRounds(const std::vector<double> &values) const {
  std::vector<unsigned> rounds;
  std::vector<std::pair<double, unsigned>> fractions;
  unsigned spare = instance.rounds;
  for (unsigned step = 0; step < steps; ++step) {
    double value = std::max(1.0, values[roundColumns[step]]);
    double whole = std::floor(value + 1e-6);
    rounds.push_back(static_cast<unsigned>(whole));
    fractions.push_back({whole - value, step}); // largest fraction first
    spare -= std::min(spare, rounds.back());
  }
  std::sort(fractions.begin(), fractions.end());
  for (unsigned i = 0; i < spare; ++i)
    ++rounds[fractions[i % steps].second];
  return rounds;
}

IntegerProgram
AllToAllProgram::withRounds(const std::vector<unsigned> &rounds) const {
  IntegerProgram result = lp;
  for (IntegerProgram::Column &column : result.columns)
    column.cost = column.isInteger ? 1 : 0;
  for (unsigned step = 0; step < steps; ++step) {
    IntegerProgram::Column &column = result.columns[roundColumns[step]];
    column.lower = column.upper = rounds[step];
  }
  return result;
}

IntegerProgram AllToAllProgram::withinRounds() const {
  IntegerProgram result = lp;
  unsigned row = result.addRow({instance.rounds, false});
  for (unsigned column : roundColumns)
    result.entries.push_back({row, column, 1});
  return result;
}

/// Names the units of one source's flow and repeats their ways for its images.
void AllToAllProgram::addSends(size_t position, Schedule &schedule,
                               const std::vector<int64_t> &values) const {
  unsigned source = quotient.representativeRanks()[position];
  std::vector<unsigned> atStart(topology.numRanks());
  atStart[source] = static_cast<unsigned>(perPair * (topology.numRanks() - 1));
  std::vector<unsigned> used(topology.numRanks());
  unsigned perSource = instance.collective.chunks();
  for (const TokenPath &token : followTokens(
           topology, steps, atStart, [&](unsigned link, unsigned step) {
             unsigned column = flowColumns[position][step - 1][link];
             return column == none ? 0 : values[column];
           })) {
    unsigned chunk = source * perSource +
                     token.end * static_cast<unsigned>(perPair) +
                     used[token.end]++;
    for (const TokenPath::Hop &hop : token.hops)
      for (unsigned element = 0; element < quotient.order(); ++element) {
        const Link &link =
            topology.links()[quotient.linkImage(element, hop.link)];
        schedule.steps[hop.step - 1].sends.push_back(
            {quotient.chunkImage(element, chunk), link.src, link.dst});
      }
  }
}

Schedule AllToAllProgram::decode(const std::vector<int64_t> &values) const {
  Schedule schedule;
  for (unsigned column : roundColumns)
    schedule.steps.push_back({static_cast<unsigned>(values[column]), {}});
  schedule.steps.back().rounds += instance.rounds - schedule.rounds();
  for (size_t i = 0; i < quotient.representativeRanks().size(); ++i)
    addSends(i, schedule, values);
  // A unit of flow may have run in a cycle.
  dropUselessSends(instance.collective, schedule);
  schedule.normalize();
  return schedule;
}

namespace {
class MilpRun {
public:
  MilpRun(const Instance &instance, unsigned seed, const Deadline &deadline)
      : instance(instance), seed(seed), deadline(deadline) {}

  Outcome answer();

private:
  using Group = std::vector<Permutation>;
  std::vector<unsigned> stepCounts() const;
  std::optional<Outcome> tryGroup(unsigned steps, const Group &group);
  std::optional<std::vector<int64_t>> findSolution(const AllToAllProgram &flows,
                                                   const LPSolution &relaxed);

  const Instance &instance;
  const unsigned seed;
  const Deadline &deadline;
};
} // namespace

static unsigned longestDistance(const Topology &topology) {
  unsigned longest = 0;
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
    for (unsigned distance : topology.distancesFrom(rank))
      longest = std::max(longest, distance);
  return longest;
}

/// Numbers of steps to try: the fewest, whose program is the smallest and whose
/// schedules can be split, and S itself.
std::vector<unsigned> MilpRun::stepCounts() const {
  unsigned least = std::max(1u, longestDistance(instance.topology));
  if (least == instance.steps || !instance.topology.isPointToPoint())
    return {instance.steps};
  return {least, instance.steps};
}

/// An integral solution, once the relaxation has one.
std::optional<std::vector<int64_t>>
MilpRun::findSolution(const AllToAllProgram &flows, const LPSolution &relaxed) {
  IntegerProgram program =
      flows.withRounds(flows.nearestRounds(relaxed.values));
  LPSolution solution = solveRelaxation(program, deadline);
  if (solution.status == LPStatus::Optimal) {
    if (auto values = roundSolution(program, solution.values))
      return values;
    if (auto values =
            findIntegerSolution(program, tuned::milpNodes(), seed, deadline))
      return values;
  }
  return findIntegerSolution(flows.withinRounds(), tuned::milpNodes(), seed,
                             deadline);
}

/// Returns the answer, if it is one for the instance.
std::optional<Outcome> MilpRun::tryGroup(unsigned steps, const Group &group) {
  AllToAllProgram flows(instance, steps, group);
  const IntegerProgram &program = flows.program();
  LPSolution relaxed = solveRelaxation(program, deadline);
  if (relaxed.status != LPStatus::Optimal)
    return std::nullopt;
  if (proveCostAbove(program, relaxed.multipliers, instance.rounds)) {
    if (steps == instance.steps)
      return Unsatisfiable{"refuted by a linear relaxation"};
    return std::nullopt;
  }
  if (auto values = findSolution(flows, relaxed)) {
    Schedule schedule = flows.decode(*values);
    if (steps < instance.steps)
      schedule = splitSteps(instance.topology, std::move(schedule),
                            instance.steps, instance.rounds);
    return Satisfied{std::move(schedule)};
  }
  return std::nullopt;
}

Outcome MilpRun::answer() {
  if (unsigned needed = longestDistance(instance.topology);
      needed > instance.steps)
    return Unsatisfiable{"some chunk needs " + std::to_string(needed) +
                         " steps"};
  std::vector<Group> groups = quotientGroups(instance, /*perOrder=*/1);
  for (unsigned steps : stepCounts())
    for (const Group &group : groups) {
      std::optional<Outcome> outcome = tryGroup(steps, group);
      if (outcome)
        return std::move(*outcome);
      if (deadline.expired())
        return gaveUp(deadline);
    }
  return Unknown{"no integral flow found"};
}

//===----------------------------------------------------------------------===//
// The engine
//===----------------------------------------------------------------------===//

namespace {
class MilpBackend final : public SolverBackend {
public:
  MilpBackend()
      : SolverBackend({.name = "milp",
                       .workUnit = "iterations",
                       .kinds = {CollectiveKind::AllToAll},
                       .refutes = true,
                       .hasSeed = true}) {}

  SynthesisResult solve(const Instance &instance,
                        const SolverOptions &options) const override {
    return runEngine(*this, instance, options, [&](const Deadline &deadline) {
      return MilpRun(instance, options.seed, deadline).answer();
    });
  }
};
} // namespace

std::unique_ptr<SolverBackend> sccl::createMilpBackend() {
  return std::make_unique<MilpBackend>();
}
