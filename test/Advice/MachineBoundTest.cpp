//===- MachineBoundTest.cpp - Bounds that hold for machines ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bounds on time against linear programs over the vertices and edges of random
// machines: bytes flow at the machines' own rates, whatever way they take, GPUs
// copy what they get, switches do not. SCCL_BOUND_CASES=10000 tries as many
// machines.
//
//===----------------------------------------------------------------------===//

#include "Advice/TimedBound.h"
#include "Optimize/LinearProgram.h"

#include "sccl/Advice/MachineTiming.h"
#include "sccl/Advice/TimeBound.h"
#include "sccl/Bounds/LowerBound.h"
#include "sccl/Machine/BoundTopology.h"
#include "sccl/Machine/Faults.h"
#include "sccl/Machine/Presets.h"
#include "sccl/Model/TopologyIdentity.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <random>

using namespace sccl;
using Kind = CollectiveKind;

namespace {
const Deadline noLimit{SearchLimits{}};

/// Bytes that one GPU has and others need, over those of a send buffer.
struct Demand {
  unsigned src; ///< ranks
  std::vector<unsigned> dsts;
  double part;
};

class MachineMaker {
public:
  explicit MachineMaker(std::mt19937 &random) : random(random) {}

  Machine make() {
    switch (random() % 3) {
    case 0:
      addGpus(2 + random() % 5, 0);
      addCables(machine.gpus());
      break;
    case 1:
      addGpus(2 + random() % 5, 0);
      if (random() % 2)
        addCables(machine.gpus());
      addSwitches();
      break;
    default:
      addBoxes();
    }
    return std::move(machine);
  }

private:
  /// Odd, and often the same as before.
  Rational rate() {
    if (!rates.empty() && random() % 3)
      return rates[random() % rates.size()];
    rates.emplace_back(1000 + int64_t(random() % 99000), 1000);
    return rates.back();
  }
  unsigned add(VertexKind kind, const std::string &name, unsigned box) {
    return *machine.addVertex({kind, name + std::to_string(names++), box});
  }
  void join(unsigned a, unsigned b, const std::string &kind = "NVLink4") {
    Edge edge{a, b, {rate(), "test"}, std::nullopt, kind};
    (void)machine.addEdge(edge);
    std::swap(edge.src, edge.dst);
    if (random() % 4 == 0)
      edge.bandwidth.value = rate();
    (void)machine.addEdge(edge);
  }
  void addGpus(unsigned count, unsigned box) {
    for (unsigned i = 0; i < count; ++i)
      add(VertexKind::Gpu, "gpu", box);
  }
  void addCables(const std::vector<unsigned> &gpus) {
    for (size_t i = 0; i + 1 < gpus.size(); ++i)
      join(gpus[i], gpus[i + 1]);
    for (unsigned a : gpus)
      for (unsigned b : gpus)
        if (a < b && random() % 2)
          join(a, b);
  }
  void addSwitches() {
    std::vector<unsigned> switches;
    for (unsigned i = 0; i < 1 + random() % 3; ++i)
      switches.push_back(add(VertexKind::Switch, "switch", 0));
    for (unsigned gpu : machine.gpus())
      for (size_t i = 0; i < switches.size(); ++i)
        if (i == 0 || random() % 2)
          join(gpu, switches[i]);
    if (switches.size() > 1 && random() % 2)
      join(switches[0], switches[1]);
  }
  void addBoxes() {
    unsigned boxes = 2, size = 1 + random() % 2, cores = 1 + random() % 2;
    std::vector<unsigned> core;
    for (unsigned i = 0; i < cores; ++i)
      core.push_back(add(VertexKind::Switch, "core", 0));
    for (unsigned box = 0; box < boxes; ++box) {
      size_t first = machine.gpus().size();
      addGpus(size, box);
      std::vector<unsigned> gpus(machine.gpus().begin() + first,
                                 machine.gpus().end());
      addCables(gpus);
      unsigned pcie = add(VertexKind::Switch, "pcie", box);
      for (unsigned gpu : gpus)
        join(gpu, pcie, "PCIe5");
      for (unsigned i = 0; i < 1 + random() % 2; ++i) {
        unsigned nic = add(VertexKind::Nic, "nic", box);
        join(nic, pcie, "PCIe5");
        for (unsigned out : core)
          join(nic, out, "IB");
      }
    }
  }

  std::mt19937 &random;
  Machine machine{"random"};
  std::vector<Rational> rates;
  unsigned names = 0;
};

/// Which part of an edge's bandwidth is left to data.
double dataOfNVLink() {
  const Derivation derivation = *deriveTopology(*makeMachinePreset("h100"));
  return fabricOf(derivation)->fabric.timing.rates[0] /
         (derivation.rates[0].toDouble() * 1e3);
}

/// Microseconds for each byte of a send buffer, if latencies take no time.
class FlowProgram {
public:
  FlowProgram(const Machine &machine, const std::vector<bool> &isOpen,
              bool backward)
      : machine(machine), isOpen(isOpen), backward(backward),
        used(machine.edges().size()) {
    time = program.addColumn(1);
  }

  double leastTime(const std::vector<Demand> &demands) {
    for (const Demand &demand : demands)
      add(demand);
    for (unsigned edge = 0; edge < used.size(); ++edge) {
      if (used[edge].empty())
        continue;
      const Edge &of = machine.edges()[edge];
      double rate = of.bandwidth.value.toDouble() * 1e3;
      if (of.kind == "NVLink4")
        rate *= dataOfNVLink();
      used[edge].emplace_back(time, -rate);
      program.addRow(LinearProgram::Sense::AtMost, 0, used[edge]);
    }
    LPSolution solution = program.solve(noLimit);
    EXPECT_EQ(solution.status, LPStatus::Optimal);
    return solution.optimum;
  }

private:
  using Columns = std::vector<unsigned>; // by edge
  unsigned from(unsigned edge) const {
    return backward ? machine.edges()[edge].dst : machine.edges()[edge].src;
  }
  unsigned to(unsigned edge) const {
    return backward ? machine.edges()[edge].src : machine.edges()[edge].dst;
  }
  Columns addColumns() {
    Columns columns;
    for (size_t edge = 0; edge < used.size(); ++edge)
      columns.push_back(program.addColumn(0));
    return columns;
  }
  /// What comes to a vertex leaves it.
  void conserve(const Columns &columns, unsigned vertex) {
    std::vector<LinearProgram::Term> row;
    for (unsigned edge = 0; edge < used.size(); ++edge) {
      if (isOpen[edge] && from(edge) == vertex)
        row.emplace_back(columns[edge], 1);
      if (isOpen[edge] && to(edge) == vertex)
        row.emplace_back(columns[edge], -1);
    }
    program.addRow(LinearProgram::Sense::Equal, 0, row);
  }
  void addFlow(unsigned src, unsigned dst, const Columns &carried) {
    Columns flow = addColumns();
    std::vector<LinearProgram::Term> arrives;
    for (unsigned edge = 0; edge < used.size(); ++edge) {
      program.addRow(LinearProgram::Sense::AtMost, 0,
                     {{flow[edge], 1}, {carried[edge], -1}});
      if (isOpen[edge] && to(edge) == dst)
        arrives.emplace_back(flow[edge], 1);
      if (isOpen[edge] && from(edge) == dst)
        arrives.emplace_back(flow[edge], -1);
    }
    program.addRow(LinearProgram::Sense::AtLeast, 1, arrives);
    for (unsigned v = 0; v < machine.vertices().size(); ++v)
      if (v != src && v != dst)
        conserve(flow, v);
  }
  void add(const Demand &demand) {
    Columns carried = addColumns();
    for (unsigned v = 0; v < machine.vertices().size(); ++v)
      if (machine.vertices()[v].kind != VertexKind::Gpu)
        conserve(carried, v);
    for (unsigned edge = 0; edge < used.size(); ++edge)
      if (isOpen[edge])
        used[edge].emplace_back(carried[edge], demand.part);
      else
        program.addRow(LinearProgram::Sense::AtMost, 0, {{carried[edge], 1}});
    for (unsigned dst : demand.dsts)
      addFlow(machine.gpus()[demand.src], machine.gpus()[dst], carried);
  }

  const Machine &machine;
  const std::vector<bool> &isOpen;
  const bool backward;
  LinearProgram program;
  unsigned time;
  std::vector<std::vector<LinearProgram::Term>> used; ///< by edge
};

/// A collective among `group`, of all ranks if these are all.
struct Question {
  Kind kind;
  unsigned root;
  std::vector<unsigned> group;

  bool isBackward() const {
    return kind == Kind::Reduce || kind == Kind::ReduceScatter;
  }
  Result<Collective> collective(unsigned numRanks) const {
    unsigned chunks = isPerDestination() ? group.size() : 1;
    if (group.size() == numRanks)
      return Collective::make(kind, numRanks, chunks, root);
    return Collective::makeGrouped(kind, numRanks, {group}, chunks, root);
  }
  std::vector<Demand> demands() const;

private:
  bool isPerDestination() const {
    return kind == Kind::ReduceScatter || kind == Kind::AllToAll;
  }
};

std::vector<Demand> Question::demands() const {
  std::vector<Demand> result;
  double part = isPerDestination() ? 1.0 / double(group.size()) : 1;
  for (size_t i = 0; i < group.size(); ++i) {
    if (isRooted(kind) && i != root)
      continue;
    std::vector<unsigned> others = group;
    others.erase(others.begin() + i);
    if (kind != Kind::AllToAll) {
      result.push_back({group[i], others, part});
      continue;
    }
    for (unsigned other : others)
      result.push_back({group[i], {other}, part});
  }
  return result;
}

Question randomQuestion(unsigned numRanks, std::mt19937 &random) {
  const Kind kinds[] = {Kind::AllGather,     Kind::AllGather, Kind::Broadcast,
                        Kind::ReduceScatter, Kind::Reduce,    Kind::AllToAll};
  Question question{kinds[random() % 6], 0, {}};
  bool isGrouped = numRanks > 2 && random() % 3 == 0;
  for (unsigned rank = 0; rank < numRanks; ++rank)
    if (!isGrouped || random() % 2)
      question.group.push_back(rank);
  if (question.group.size() < 2)
    question.group = {0, numRanks - 1};
  if (isRooted(question.kind))
    question.root = random() % question.group.size();
  return question;
}

/// With a degraded part, or without one, if the machine still holds together.
Machine afterLosses(const Machine &machine, std::mt19937 &random) {
  if (random() % 3)
    return machine;
  const Edge &edge = machine.edges()[random() % machine.edges().size()];
  std::string item = "link:" + machine.vertices()[edge.src].name + "-" +
                     machine.vertices()[edge.dst].name;
  Result<Machine> left = random() % 2
                             ? withoutParts(machine, item)
                             : withSlowerParts(machine, item + "=0.37");
  return left && deriveTopology(*left, {{}, Rational(1, 2)}) ? std::move(*left)
                                                             : machine;
}

std::string describeCase(const Machine &machine, const Question &question) {
  std::string text = std::string(collectiveName(question.kind)) + ", root " +
                     std::to_string(question.root) + ", among";
  for (unsigned rank : question.group)
    text += " " + std::to_string(rank);
  for (const Edge &edge : machine.edges())
    text += "\n" + machine.vertices()[edge.src].name + " -> " +
            machine.vertices()[edge.dst].name + " " +
            edge.bandwidth.value.str() + " " + edge.kind;
  return text;
}

/// Bounds over optima.
struct Ratios {
  unsigned count = 0;
  double most = 0, sum = 0;
  void add(double ratio) {
    ++count;
    most = std::max(most, ratio);
    sum += ratio;
  }
};

class RandomMachines {
public:
  explicit RandomMachines(unsigned seed) : random(seed) {}
  Ratios ofLoads, ofSlots;
  unsigned numFalse = 0; ///< bounds that the derived topology would give

  void tryOne() {
    Machine machine = afterLosses(MachineMaker(random).make(), random);
    DerivationOptions options;
    const Rational tolerances[] = {0, Rational(1, 20), Rational(1, 5)};
    options.tolerance = tolerances[random() % 3];
    Result<Derivation> derivation = deriveTopology(machine, options);
    if (!derivation)
      return;
    Result<MachineFabric> made = fabricOf(*derivation, {{"", latency}});
    Result<BoundTopology> bound = boundTopology(*derivation);
    ASSERT_TRUE(made && bound);
    Question question = randomQuestion(derivation->topology.numRanks(), random);
    Result<Collective> collective =
        question.collective(derivation->topology.numRanks());
    ASSERT_TRUE(collective) << collective.error();
    double optimum =
        FlowProgram(derivation->routed, bound->isOpen, question.isBackward())
            .leastTime(question.demands());
    compare(made->fabric, *collective, optimum,
            describeCase(machine, question));
  }

private:
  static constexpr double latency = 1;

  void compare(const Fabric &fabric, const Collective &collective,
               double optimum, const std::string &what) {
    std::optional<Rational> throughput;
    if (auto own = throughputBound(fabric.topology, collective))
      throughput = own->value;
    numFalse += throughput &&
                throughput->toDouble() * fabric.unitTime > optimum * (1 + 1e-7);
    TimeBound loads =
        machineTimeBound(fabric, collective, throughput, SearchLimits{});
    EXPECT_LE(loads.flags.perByte, optimum * (1 + 1e-7)) << what;
    ofLoads.add(loads.flags.perByte / optimum);
    // What flows do, programs do in many small pieces, but for the latencies of
    // a way through all ranks.
    double bytes = 1e7;
    double reached = optimum * bytes + 8 * fabric.topology.numRanks() * latency;
    const Fabric &own = fabric.forBounds();
    advice::TimedBound slots(own.topology, collective, own.timing);
    double least =
        slots.leastTime(bytes, 0, 2 * reached, Deadline({0, 100'000, nullptr}));
    EXPECT_LE(least, reached) << what;
    if (least > 0)
      ofSlots.add(least / reached);
  }

  std::mt19937 random;
};
} // namespace

TEST(MachineBound, NoneIsAboveTheOptimumOfRandomMachines) {
  const char *text = std::getenv("SCCL_BOUND_CASES");
  unsigned cases = text ? std::atoi(text) : 300;
  RandomMachines machines(23);
  for (unsigned i = 0; i < cases && !testing::Test::HasFailure(); ++i)
    machines.tryOne();
  // What is derived for schedules would not do.
  EXPECT_GT(machines.numFalse, cases / 10);
  // They are met, too, so that they could not be much higher.
  EXPECT_GT(machines.ofLoads.count, cases * 9 / 10);
  EXPECT_GT(machines.ofLoads.most, 1 - 1e-6);
  EXPECT_GT(machines.ofLoads.sum / machines.ofLoads.count, 0.95);
  EXPECT_GT(machines.ofSlots.count, cases / 2);
  if (text)
    std::printf("%u machines: bounds of loads are %.4f of the optimum in the "
                "mean, at most %.8f\n",
                machines.ofLoads.count,
                machines.ofLoads.sum / machines.ofLoads.count,
                machines.ofLoads.most);
}
