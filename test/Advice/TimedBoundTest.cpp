//===- TimedBoundTest.cpp - How many bytes can move within a time ---------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Advice/TimedBound.h"
#include "Advice/Blockwise.h"

#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Model/Pieces.h"
#include "sccl/Pipelines/Pipelines.h"
#include "sccl/Simulate/Traffic.h"
#include "sccl/Solver/Pipelined.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include <gtest/gtest.h>

#include <random>

using namespace sccl;
using advice::TimedBound;
using Kind = CollectiveKind;

namespace {
const Deadline noLimit{SearchLimits{}};
/// Of one question.
constexpr uint64_t someWork = 100'000;

/// Blocks of ranks, all joined within, and some links between, which share what
/// goes out of their ranks.
Fabric randomFabric(std::mt19937 &random) {
  unsigned blocks = 1 + random() % 3, size = 1 + random() % 3;
  unsigned ranks = std::max(blocks * size, 2u);
  Fabric fabric{Topology("random", ranks), {}, 1};
  const double latencies[] = {0, 0.5, 1, 3, 7};
  double fast = latencies[random() % 5], slow = latencies[random() % 5];
  std::vector<std::vector<unsigned>> out(ranks);
  auto add = [&](unsigned a, unsigned b, double latency) {
    if (a == b || fabric.topology.findLink(a, b))
      return;
    Result<unsigned> link = fabric.topology.addLink(a, b, 1 + random() % 4);
    ASSERT_TRUE(bool(link));
    out[a].push_back(*link);
    fabric.timing.latencies.push_back(latency);
  };
  bool isRegular = random() % 2;
  for (unsigned a = 0; a < ranks; ++a) {
    add(a, (a + 1) % ranks, slow); // all reach all
    for (unsigned b = 0; b < ranks; ++b)
      if (a / size == b / size)
        add(a, b, fast);
      else if (isRegular ? a % size == b % size : random() % 3 == 0)
        add(a, b, slow);
  }
  for (const std::vector<unsigned> &links : out)
    if (links.size() > 1 && random() % 2) {
      EXPECT_TRUE(bool(fabric.topology.addLimit(links, 1 + random() % 3)));
    }
  for (const BandwidthLimit &limit : fabric.topology.limits())
    fabric.timing.rates.push_back(limit.bandwidth * 10.0);
  fabric.timing.copyRate = random() % 2 ? 50 : 0;
  return fabric;
}

LoweringOptions randomLowering(std::mt19937 &random) {
  LoweringOptions options;
  const TransportChoice transports[] = {
      TransportChoice::Auto, TransportChoice::Push, TransportChoice::Pull};
  switch (random() % 3) {
  case 0:
    options.transport = transports[random() % 3];
    break;
  case 1:
    options.throughScratch = options.doubleBuffer = true;
    break;
  default:
    options.ll = true;
  }
  return options;
}

/// What a lowered program takes for send buffers of `bytes` bytes.
std::optional<double> timeOf(mlir::MLIRContext &context, const Fabric &fabric,
                             const Implementation &implementation,
                             const LoweringOptions &options, double bytes) {
  const auto &[collective, schedule] = implementation;
  mlir::OwningOpRef<mlir::ModuleOp> module = coll::exportModule(
      context, "tried", fabric.topology, collective, schedule);
  if (failed(runPasses(*module, [&](mlir::OpPassManager &manager) {
        addLowering(manager, options);
      })))
    return std::nullopt;
  for (auto program : module->getOps<coll::ProgramOp>()) {
    auto traffic =
        coll::trafficOf(program, fabric.topology, bytes / collective.chunks());
    if (failed(traffic))
      return std::nullopt;
    auto result = simulate(fabric.topology, *traffic, fabric.timing);
    if (result)
      return result->microseconds;
  }
  return std::nullopt;
}
} // namespace

TEST(TimedBound, NoProgramIsFaster) {
  mlir::DialectRegistry registry;
  registerPipelineDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  std::mt19937 random(15);
  unsigned simulated = 0, known = 0;
  double closest = 0;
  for (unsigned i = 0; i < 150; ++i) {
    Fabric fabric = randomFabric(random);
    const Kind kinds[] = {Kind::AllGather, Kind::AllReduce, Kind::Broadcast,
                          Kind::Reduce, Kind::ReduceScatter};
    Kind kind = kinds[random() % 5];
    unsigned root = isRooted(kind) ? random() % fabric.topology.numRanks() : 0;
    std::vector<Implementation> tried;
    if (auto found = synthesizePipelined(fabric.topology, kind, root))
      tried.push_back(std::move(found->implementation));
    if (kind == Kind::AllReduce)
      for (Implementation &whole : advice::blockwiseAllReduces(fabric))
        tried.push_back(std::move(whole));
    for (const Implementation &whole : tried) {
      auto cut = cutIntoPieces(whole, fabric.topology, 1 + random() % 4,
                               1 + random() % 4);
      if (!cut || cut->schedule.numSends() > 400)
        continue;
      double bytes = std::exp2(double(random() % 12));
      std::optional<double> time =
          timeOf(context, fabric, *cut, randomLowering(random), bytes);
      if (!time)
        continue;
      ++simulated;
      TimedBound bound(fabric.topology, cut->collective, fabric.timing);
      Deadline limit({0, someWork, nullptr});
      double most = bound.mostBytes(*time, limit);
      known += std::isfinite(most);
      EXPECT_GE(most, bytes * (1 - 1e-6))
          << collectiveName(kind) << ", " << fabric.topology.numRanks()
          << " ranks, " << *time << " us, round " << i;
      if (std::isfinite(most))
        closest = std::max(closest, bytes / most);
    }
  }
  EXPECT_GT(simulated, 60u);
  EXPECT_GT(known, simulated / 2);
  // The bound is met now and then, so it could not be much higher.
  EXPECT_GT(closest, 0.95);
}

TEST(TimedBound, HopsTakeTimeThatBytesDoNotHave) {
  Result<Topology> line = makeBuiltinTopology("line:3");
  ASSERT_TRUE(bool(line));
  Timing timing = Timing::uniform(*line, 5, 10);
  Result<Collective> all = Collective::make(Kind::AllGather, 3, 1);
  ASSERT_TRUE(bool(all));
  TimedBound bound(*line, *all, timing);
  // Over two links in 5 + 5 + t; both links need the time for one more byte.
  EXPECT_NEAR(bound.mostBytes(12, noLimit), 20, 1);
  double least = bound.leastTime(20, 0, 40, noLimit);
  EXPECT_LE(least, 12);
  EXPECT_GE(least, 10);
  // Without bytes only latencies count.
  EXPECT_LE(bound.mostBytes(10.1, noLimit), 7);
  EXPECT_EQ(bound.mostBytes(9.9, noLimit), 0);
}

TEST(TimedBound, KnowsNothingOfOthers) {
  Result<Topology> ring = makeBuiltinTopology("ring:200");
  ASSERT_TRUE(bool(ring));
  Result<Collective> all = Collective::make(Kind::AllGather, 200, 1);
  ASSERT_TRUE(bool(all));
  TimedBound bound(*ring, *all, Timing::uniform(*ring, 1, 1));
  EXPECT_TRUE(std::isinf(bound.mostBytes(1, noLimit)));
  EXPECT_EQ(bound.leastTime(1e9, 3, 100, noLimit), 3);
}
