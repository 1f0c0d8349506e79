//===- DraftTest.cpp - What a program will send, before there is one ------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Advice/Draft.h"
#include "Advice/Blockwise.h"
#include "AdviceTesting.h"

#include "sccl/Model/Pieces.h"
#include "sccl/Solver/Pipelined.h"

#include <gtest/gtest.h>

using namespace sccl;
using Kind = CollectiveKind;

static std::vector<Implementation> schedulesFor(const Fabric &fabric, Kind kind,
                                                unsigned root) {
  std::vector<Implementation> result;
  if (auto found = synthesizePipelined(fabric.topology, kind, root))
    result.push_back(std::move(found->implementation));
  if (kind == Kind::AllReduce)
    for (Implementation &whole : advice::blockwiseAllReduces(fabric))
      result.push_back(std::move(whole));
  return result;
}

/// What the draft takes in terms of what the program takes.
static std::optional<double> ratioOf(mlir::MLIRContext &context,
                                     const Fabric &fabric,
                                     const Implementation &implementation,
                                     const LoweringOptions &options,
                                     double bytes) {
  std::optional<double> time =
      timeOf(context, fabric, implementation, options, bytes);
  Traffic draft = advice::draftTraffic(fabric.topology, fabric.timing,
                                       implementation, options);
  Result<SimulationResult> result =
      simulate(fabric.topology, draft, fabric.timing,
               {.scale = bytes / implementation.collective.chunks()});
  EXPECT_TRUE(bool(result)) << result.error();
  if (!time || !result || *time == 0)
    return std::nullopt;
  return result->microseconds / *time;
}

TEST(Draft, TakesWhatTheProgramTakes) {
  PipelineContext context;
  std::mt19937 random(7);
  const std::vector<LoweringWay> ways = usualWays(LoweringOptions());
  std::vector<unsigned> compared(ways.size()), equal(ways.size());
  for (unsigned i = 0; i < 150; ++i) {
    Fabric fabric = randomFabric(random);
    const Kind kinds[] = {Kind::AllGather, Kind::AllReduce, Kind::Broadcast,
                          Kind::Reduce, Kind::ReduceScatter};
    Kind kind = kinds[random() % 5];
    unsigned root = isRooted(kind) ? random() % fabric.topology.numRanks() : 0;
    for (const Implementation &whole : schedulesFor(fabric, kind, root)) {
      auto cut = cutIntoPieces(whole, fabric.topology, 1 + random() % 4,
                               {unsigned(1 + random() % 4), random() % 2 == 0});
      if (!cut || cut->schedule.numSends() > 400)
        continue;
      double bytes = std::exp2(double(random() % 12));
      size_t way = random() % ways.size();
      std::optional<double> ratio =
          ratioOf(context.get(), fabric, *cut, ways[way].options, bytes);
      if (!ratio)
        continue;
      ++compared[way];
      equal[way] += std::abs(*ratio - 1) < 1e-6;
      // The program joins LL words, and asks in more places whether a half
      // of scratch is free.
      double least = ways[way].options.ll ? 0.5 : 0.95;
      EXPECT_GT(*ratio, least) << ways[way].name << ", round " << i;
      // The draft copies together what a step brings of LL words, also where it
      // is not at even distances.
      double most = ways[way].options.ll ? 1.05 : 1.001;
      EXPECT_LT(*ratio, most) << ways[way].name << ", round " << i;
    }
  }
  for (size_t way = 0; way < ways.size(); ++way) {
    EXPECT_GT(compared[way], 20u) << ways[way].name;
    EXPECT_GT(equal[way], compared[way] * 3 / 4) << ways[way].name;
  }
}
