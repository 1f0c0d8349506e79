//===- MessageTrafficTest.cpp - Tests of what messages of GPUs take -------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AdviceTesting.h"

#include "sccl/Advice/MessageTraffic.h"
#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Pipelines/Pipelines.h"

#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

using namespace sccl;

namespace {
/// A latency of 1 us, 1 byte in a us over each link; copies take no time.
struct Cluster {
  Topology topology;
  Timing timing;
  MessageClock clock;

  Cluster(unsigned ranks, std::vector<std::vector<unsigned>> hosts)
      : topology("cluster", ranks), clock{std::move(hosts), 5, 10} {
    for (unsigned src = 0; src < ranks; ++src)
      for (unsigned dst = 0; dst < ranks; ++dst)
        if (src != dst) {
          EXPECT_TRUE(topology.addLink(src, dst));
          unsigned link = *topology.findLink(src, dst);
          EXPECT_TRUE(topology.addLimit({link}, 1));
        }
    timing = Timing::uniform(topology, /*latency=*/1, /*unitRate=*/1);
  }

  /// Microseconds of `schedule` for so many bytes of a chunk, in one stream or
  /// two.
  double timeOf(const Collective &collective, const Schedule &schedule,
                double chunkBytes, bool isBeside, unsigned pieces = 1) const {
    PipelineContext context;
    mlir::OwningOpRef<mlir::ModuleOp> module = coll::exportModule(
        context.get(), "schedule", topology, collective, schedule);
    EXPECT_TRUE(succeeded(runPasses(*module, [&](mlir::OpPassManager &manager) {
      addMessageLowering(manager, messageLowering({}));
    })));
    mlir::FailureOr<MessageTraffic> traffic =
        messageTrafficOf(*module->getOps<coll::ProgramOp>().begin(), collective,
                         topology, clock, pieces);
    EXPECT_TRUE(succeeded(traffic));
    SimulationOptions options;
    options.scale = chunkBytes;
    Result<SimulationResult> result =
        simulate(topology, isBeside ? traffic->beside : traffic->inTurn, timing,
                 options);
    EXPECT_TRUE(result);
    return result->microseconds;
  }
};

/// Each rank sends its chunk to all others.
Schedule toAll(unsigned ranks) {
  Schedule schedule;
  schedule.steps.resize(1);
  schedule.steps[0].rounds = 1;
  for (unsigned src = 0; src < ranks; ++src)
    for (unsigned dst = 0; dst < ranks; ++dst)
      if (src != dst)
        schedule.steps[0].sends.push_back({src, src, dst});
  return schedule;
}
} // namespace

static Collective make(CollectiveKind kind, unsigned ranks, unsigned chunks) {
  CollectiveFamily family;
  family.kind = kind;
  return *family.make(ranks, chunks);
}

TEST(MessageTrafficTest, AGroupTakesItsTimeALatencyAndTheBytes) {
  Cluster cluster(2, {{0}, {1}});
  Collective gather = make(CollectiveKind::AllGather, 2, 1);
  EXPECT_EQ(cluster.timeOf(gather, toAll(2), 100, false), 10 + 100 + 1);
  EXPECT_EQ(cluster.timeOf(gather, toAll(2), 100, true), 10 + 100 + 1);
}

/// A kernel copies what is the rank's own before.
TEST(MessageTrafficTest, WritesWithinAHostWaitForTheMemoryOfTheOther) {
  Cluster cluster(2, {{0, 1}});
  Collective gather = make(CollectiveKind::AllGather, 2, 1);
  EXPECT_EQ(cluster.timeOf(gather, toAll(2), 100, false), 5 + 1 + 100 + 1);
  cluster.clock.hosts.clear();
  EXPECT_EQ(cluster.timeOf(gather, toAll(2), 100, false), 5 + 1 + 100 + 1);
}

TEST(MessageTrafficTest, TwoStreamsHaveWritesAndMessagesAtOnce) {
  Cluster cluster(3, {{0, 1}, {2}});
  Collective gather = make(CollectiveKind::AllGather, 3, 1);
  EXPECT_EQ(cluster.timeOf(gather, toAll(3), 100, false), 107 + 111);
  EXPECT_EQ(cluster.timeOf(gather, toAll(3), 100, true), 5 + 111);
}

/// Where buffers are one, the copy of what is the rank's own changes nothing.
TEST(MessageTrafficTest, WritesAreBesideCopiesThatTheyDoNotNeed) {
  Cluster cluster(2, {{0, 1}});
  cluster.timing.copyRate = 1;
  Collective gather = make(CollectiveKind::AllGather, 2, 1);
  double copy = 100, write = 1 + 100 + 1;
  EXPECT_EQ(cluster.timeOf(gather, toAll(2), 100, false), copy + 5 + write);
  EXPECT_EQ(cluster.timeOf(gather, toAll(2), 100, true),
            std::max(5 + copy, write));
}

TEST(MessageTrafficTest, PiecesAreARoundApart) {
  Cluster cluster(3, {{0}, {1}, {2}});
  Collective broadcast = make(CollectiveKind::Broadcast, 3, 2);
  Schedule line;
  line.steps = {
      {1, {{0, 0, 1}}}, {1, {{1, 0, 1}, {0, 1, 2}}}, {1, {{1, 1, 2}}}};
  EXPECT_EQ(cluster.timeOf(broadcast, line, 50, false, /*pieces=*/2),
            3 * (10 + 50) + 2);
  EXPECT_EQ(cluster.timeOf(broadcast, line, 50, false, /*pieces=*/1),
            2 * (10 + 100) + 2);
}

TEST(MessageTrafficTest, TwoStreamsAreForLongMessages) {
  MessageTraffic traffic;
  traffic.mostChunks = 4;
  EXPECT_EQ(&traffic.of(32767), &traffic.inTurn);
  EXPECT_EQ(&traffic.of(32768), &traffic.beside);
}
