//===- SimulatorTest.cpp - How long a program takes -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Simulate/Simulator.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace sccl;
using Kind = Action::Kind;

namespace {
Topology builtin(const char *spec) {
  Result<Topology> topology = makeBuiltinTopology(spec);
  EXPECT_TRUE(bool(topology));
  return std::move(*topology);
}

Action push(unsigned link, double bytes) {
  return {.kind = Kind::Push, .link = link, .bytes = bytes};
}
Action signal(unsigned link, unsigned flag, unsigned value) {
  return {.kind = Kind::Signal, .link = link, .flag = flag, .value = value};
}
Action wait(unsigned flag, unsigned value) {
  return {.kind = Kind::Wait, .flag = flag, .value = value};
}

double timeOf(const Topology &topology, const Traffic &traffic,
              const Timing &timing) {
  Result<SimulationResult> result = simulate(topology, traffic, timing);
  if (!result) {
    ADD_FAILURE() << result.error();
    return -1;
  }
  return result->microseconds;
}

/// 0 -> 1 -> 2 with one link each way of bandwidth 1.
struct Line {
  Topology topology{"line", 3};
  unsigned first, second;
  Line() {
    first = *topology.addLink(0, 1, 1);
    second = *topology.addLink(1, 2, 1);
  }
  /// Rank 0 sends to rank 1, which passes it on.
  Traffic relay(double bytes) const {
    return {{{0, {push(first, bytes), signal(first, 0, 1)}},
             {1, {wait(0, 1), push(second, bytes), signal(second, 1, 1)}},
             {2, {wait(1, 1)}}},
            2};
  }
};
} // namespace

TEST(Simulator, LatencyAndBandwidthOfARelay) {
  Line line;
  Timing timing = Timing::uniform(line.topology, 3, 10);
  EXPECT_DOUBLE_EQ(timeOf(line.topology, line.relay(100), timing),
                   2 * (3 + 10));
  timing.startTime = 0.5;
  EXPECT_DOUBLE_EQ(timeOf(line.topology, line.relay(100), timing),
                   2 * (3 + 10 + 0.5));
  EXPECT_DOUBLE_EQ(timeOf(line.topology, line.relay(0), timing), 2 * 3.5);
}

TEST(Simulator, FlowsShareALimit) {
  // A switch whose ports carry one chunk at a time: two go out of rank 0.
  Topology topology = builtin("switch:3,1");
  unsigned a = *topology.findLink(0, 1), b = *topology.findLink(0, 2);
  Timing timing = Timing::uniform(topology, 0, 10);
  // 5 each at first; 100 bytes are gone after 20, the other 100 take 10 more.
  Traffic traffic{{{0, {push(a, 100)}}, {0, {push(b, 200)}}}, 0};
  Result<SimulationResult> result = simulate(topology, traffic, timing);
  ASSERT_TRUE(bool(result));
  EXPECT_DOUBLE_EQ(result->microseconds, 30);
  double most = 0;
  for (double bytes : result->bytesOfLimit)
    most = std::max(most, bytes);
  EXPECT_DOUBLE_EQ(most, 300); // out of rank 0
}

TEST(Simulator, PullsAskFirst) {
  Line line;
  Timing timing = Timing::uniform(line.topology, 3, 10);
  Traffic traffic{
      {{1, {{.kind = Kind::Pull, .link = line.first, .bytes = 100}}}}, 0};
  EXPECT_DOUBLE_EQ(timeOf(line.topology, traffic, timing), 6 + 10);
}

TEST(Simulator, CopiesTakeTheMemoryOfTheirRank) {
  Line line;
  Timing timing = Timing::uniform(line.topology, 0, 10);
  Action copy{.kind = Kind::Copy, .bytes = 100};
  Traffic traffic{{{0, {copy}}, {0, {copy}}, {1, {copy}}}, 0};
  EXPECT_DOUBLE_EQ(timeOf(line.topology, traffic, timing), 0);
  timing.copyRate = 20;
  EXPECT_DOUBLE_EQ(timeOf(line.topology, traffic, timing), 10);
}

TEST(Simulator, BlocksKeepSoManyBytesUnderWay) {
  Line line;
  Timing timing = Timing::uniform(line.topology, 0, 10);
  Action reduction{.kind = Kind::Copy, .bytes = 100, .inputs = 4};
  Traffic traffic{{{0, {push(line.first, 100)}}, {1, {reduction}, 2}}, 0};
  timing.sendRate = 2;
  EXPECT_DOUBLE_EQ(timeOf(line.topology, traffic, timing), 50);
  traffic.blocks = 2;
  EXPECT_DOUBLE_EQ(timeOf(line.topology, traffic, timing), 25);
  // Twice the blocks, and each byte is of 4 that are read.
  timing.loadRate = 6;
  EXPECT_DOUBLE_EQ(timeOf(line.topology, traffic, timing), 25);
  timing.loadRate = 3;
  EXPECT_DOUBLE_EQ(timeOf(line.topology, traffic, timing), 100 / 3.0);
  // Of memory it takes 5 accesses where a copy has 2.
  timing.copyRate = 5;
  EXPECT_DOUBLE_EQ(timeOf(line.topology, traffic, timing), 50);
  traffic.channels[0].actions[0].isWords = true;
  timing.wordRate = 0.5;
  EXPECT_DOUBLE_EQ(timeOf(line.topology, traffic, timing), 100);
}

TEST(Simulator, FlagsAndLaunchesTakeTime) {
  Line line;
  Timing timing = Timing::uniform(line.topology, 3, 10);
  timing.signalTime = 0.25;
  timing.waitTime = 0.5;
  timing.launchTime = 2;
  Traffic traffic = line.relay(100);
  EXPECT_DOUBLE_EQ(timeOf(line.topology, traffic, timing),
                   2 + 2 * (10 + 0.25 + 3 + 0.5));
  // Those that follow each other take it together.
  std::vector<Action> &last = traffic.channels[2].actions;
  last.push_back(last.front());
  traffic.channels[1].actions.push_back(signal(line.second, 1, 1));
  EXPECT_DOUBLE_EQ(timeOf(line.topology, traffic, timing),
                   2 + 2 * (10 + 0.25 + 3 + 0.5));
  // LL words tell of themselves.
  for (Traffic::Channel &channel : traffic.channels)
    for (Action &action : channel.actions)
      action.isWords = true;
  EXPECT_DOUBLE_EQ(timeOf(line.topology, traffic, timing), 2 + 2 * (10 + 3));
}

TEST(Simulator, AWarpPollsWhileAnotherSignals) {
  Line line;
  Timing timing = Timing::uniform(line.topology, 3, 10);
  timing.waitTime = 0.5;
  // The flag that it waits for is there.
  Traffic traffic{
      {{0, {signal(line.first, 0, 1), wait(1, 0), push(line.first, 100)}}}, 2};
  timing.signalTime = 0.25;
  EXPECT_DOUBLE_EQ(timeOf(line.topology, traffic, timing), 0.5 + 10);
  // Both warps have to be back.
  timing.signalTime = 4;
  EXPECT_DOUBLE_EQ(timeOf(line.topology, traffic, timing), 4 + 10);
}

TEST(Simulator, BarriersJoinAllChannels) {
  Line line;
  Timing timing = Timing::uniform(line.topology, 0, 10);
  Action barrier{.kind = Kind::Barrier};
  Traffic traffic{{{0, {push(line.first, 100), barrier}},
                   {1, {barrier, push(line.second, 50), barrier}},
                   {2, {barrier}}},
                  0};
  // The second barrier of rank 1 has nobody else.
  Result<SimulationResult> stuck = simulate(line.topology, traffic, timing);
  ASSERT_FALSE(bool(stuck));
  EXPECT_EQ(stuck.error(), "channel 1, of rank 1, waits for ever at its "
                           "action 2");
  for (unsigned channel : {0u, 2u})
    traffic.channels[channel].actions.push_back(barrier);
  EXPECT_DOUBLE_EQ(timeOf(line.topology, traffic, timing), 15);
}

TEST(Simulator, ThousandRanksAtOnce) {
  // Each rank sends to its neighbour, a thousand times round the ring.
  constexpr unsigned ranks = 1000;
  Topology topology = builtin("ring:1000");
  Traffic traffic;
  traffic.numFlags = ranks;
  for (unsigned rank = 0; rank < ranks; ++rank) {
    unsigned link = *topology.findLink(rank, (rank + 1) % ranks);
    traffic.channels.push_back({rank, {}});
    for (unsigned step = 1; step < ranks; ++step) {
      std::vector<Action> &actions = traffic.channels.back().actions;
      if (step > 1)
        actions.push_back(wait(rank, step - 1));
      actions.push_back(push(link, 10));
      actions.push_back(signal(link, (rank + 1) % ranks, step));
    }
  }
  Timing timing = Timing::uniform(topology, 1, 10);
  EXPECT_NEAR(timeOf(topology, traffic, timing), 2.0 * (ranks - 1), 1e-6);
}

TEST(Simulator, ScalesBytes) {
  Topology ring = builtin("ring:4");
  Traffic traffic{{{0, {push(*ring.findLink(0, 1), 10)}}}, 0};
  Timing timing = Timing::uniform(ring, 1, 5);
  for (double scale : {1.0, 3.0}) {
    Result<SimulationResult> result =
        simulate(ring, traffic, timing, {.scale = scale, .isOver = {}});
    ASSERT_TRUE(bool(result));
    EXPECT_DOUBLE_EQ(result->microseconds, scale * 2);
    EXPECT_DOUBLE_EQ(std::ranges::max(result->bytesOfLimit), scale * 10);
  }
}

TEST(Simulator, GivesUpWhenAsked) {
  Topology ring = builtin("ring:4");
  Traffic traffic{{{0, {}}}, 0};
  traffic.channels[0].actions.assign(20'000, push(*ring.findLink(0, 1), 1));
  unsigned asked = 0;
  SimulationOptions options{.isOver = [&] { return ++asked == 2; }};
  EXPECT_FALSE(
      bool(simulate(ring, traffic, Timing::uniform(ring, 1, 5), options)));
  EXPECT_EQ(asked, 2u);
}
