//===- SumCase.cpp - Sums on machines that have a name --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QuietContext.h"
#include "SlowProgram.h"

#include "sccl/Model/Composition.h"
#include "sccl/Model/GatheredSums.h"

#include "mlir/Pass/PassManager.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::test;

static constexpr const char *machines[] = {
    "mesh:4", "dgx1",   "mesh:8", "amd_z52", "boxes",
    "mesh:4", "ring:6", "mesh:2", "mesh:16", "line:5"};

/// Two boxes of two or three ranks, of which those at one place are joined.
static Topology makeMachine(Random &random, const std::string &name) {
  if (name != "boxes")
    return must(makeBuiltinTopology(name));
  unsigned size = 2 + random() % 2;
  Topology topology(name, 2 * size);
  for (unsigned a = 0; a < 2 * size; ++a)
    for (unsigned b = 0; b < 2 * size; ++b)
      if (a != b && (a / size == b / size || a % size == b % size))
        must(topology.addLink(a, b, 1));
  return topology;
}

/// All_reduce of a chunk for each rank by halves that travel, from the nearest
/// ranks on: what arrives is a node of the balanced tree.
static Implementation sumByHalves(unsigned numRanks, bool isScattered) {
  CollectiveKind kind =
      isScattered ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce;
  Implementation sum{must(Collective::make(kind, numRanks, numRanks)), {}};
  for (uint32_t bit = 1; bit < numRanks; bit *= 2) {
    Step step;
    for (uint32_t chunk = 0; chunk < numRanks; ++chunk)
      for (uint32_t to = 0; to < numRanks; ++to) {
        // Who goes on for this chunk differs from its owner in higher bits.
        if (isScattered && ((to ^ chunk) & (2 * bit - 1)) != 0)
          continue;
        step.sends.push_back({chunk, to ^ bit, to, SendAction::Reduce});
      }
    step.rounds = unsigned(step.sends.size());
    sum.schedule.steps.push_back(std::move(step));
  }
  return sum;
}

/// An all_gather or a broadcast that grows, with few chunks.
static Implementation grow(Random &random, const Topology &topology,
                           CollectiveKind kind) {
  unsigned ranks = topology.numRanks();
  unsigned chunks = kind == CollectiveKind::Broadcast ? 1 : 1 + random() % 2;
  Collective collective =
      must(Collective::make(kind, ranks, chunks, random() % ranks));
  return {collective, growSchedule(random, topology, collective)};
}

static Implementation makeSum(Random &random, const Topology &topology,
                              std::string &source) {
  constexpr CollectiveKind all = CollectiveKind::AllGather;
  unsigned ranks = topology.numRanks(), kind = random() % 5;
  bool isFull = topology.links().size() == ranks * (ranks - 1);
  if (kind < 3 && isFull && (ranks & (ranks - 1)) == 0) {
    source = "halves";
    return sumByHalves(ranks, random() % 2);
  }
  Topology reversed = topology.reversed();
  if (kind < 3) {
    source = "grown, to a root";
    return must(invert(grow(random, reversed, CollectiveKind::Broadcast)));
  }
  if (kind == 3) {
    source = "grown, composed";
    return must(composeAllReduce(grow(random, reversed, all),
                                 grow(random, topology, all)));
  }
  source = "gathered";
  return must(sumOnArrival(grow(random, topology, all)));
}

/// "((0+2)+1)", a random tree of `leaves` leaves.
static std::string randomTree(Random &random, unsigned leaves) {
  std::vector<std::string> parts;
  for (unsigned leaf = 0; leaf < leaves; ++leaf)
    parts.push_back(std::to_string(leaf));
  while (parts.size() > 1) {
    std::swap(parts[random() % parts.size()], parts.back());
    std::string last = std::move(parts.back());
    parts.pop_back();
    std::string &other = parts[random() % parts.size()];
    other = "(" + other + "+" + last + ")";
  }
  return parts.front();
}

/// The tree of a sum of one chunk, as a program adds it up that nobody asks for
/// another one.
static std::optional<std::string> ownTree(const RandomCase &made) {
  const Collective &collective = made.implementation.collective;
  if (collective.numChunks() != 1)
    return std::nullopt;
  QuietContext quiet;
  mlir::OwningOpRef<mlir::ModuleOp> module = moduleOf(quiet.context, made);
  if (failed(runPasses(*module, [&](mlir::OpPassManager &manager) {
        addLowering(manager, {}, {SumOrder::Any});
      })))
    return std::nullopt;
  coll::ProgramOp program = *module->getOps<coll::ProgramOp>().begin();
  std::string tree = slowTrees(program, collective, false).begin()->second;
  std::ranges::replace(tree, ' ', '+');
  return tree;
}

RandomCase test::makeSumCase(Random &random, unsigned number) {
  Topology topology =
      makeMachine(random, machines[number % std::size(machines)]);
  std::string source;
  Implementation sum = makeSum(random, topology, source);
  RandomCase made{topology, std::move(sum), source};
  made.lowering = randomLowering(random);
  constexpr Element elements[] = {Element::F32,    Element::F64,
                                  Element::F16,    Element::BF16,
                                  Element::F8E4M3, Element::F8E5M2};
  constexpr Reduction reductions[] = {Reduction::Sum, Reduction::Prod,
                                      Reduction::Avg};
  made.lowering.element = elements[random() % std::size(elements)];
  made.lowering.reduction = reductions[random() % std::size(reductions)];
  made.lowering.ll &= elementType(made.lowering.element).bytes <= 4;
  unsigned ranks = topology.numRanks();
  std::vector<SumOrder> orders = {
      SumOrder::Any,
      SumOrder::Same,
      must(SumOrder::parse(ownTree(made).value_or(randomTree(random, ranks)))),
      must(SumOrder::parse("ring:" + std::to_string(random() % ranks))),
      SumOrder::Left,
      SumOrder::Tree};
  std::swap(orders.back(), orders[2 + random() % 4]);
  do {
    made.lowering.sumOrder = orders.back();
    orders.pop_back();
  } while (!orders.empty() && breaksOrder(made));
  return made;
}
