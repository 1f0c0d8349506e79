//===- PartialSumsTest.cpp - Tests of schedules of partial sums -----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/PartialSums.h"
#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Model/Composition.h"
#include "sccl/Model/GatheredSums.h"
#include "sccl/Model/Inversion.h"

#include <gtest/gtest.h>

using namespace sccl;

static Topology line(unsigned numRanks, unsigned bandwidth = 1) {
  Topology topology("line", numRanks);
  for (unsigned rank = 1; rank < numRanks; ++rank) {
    EXPECT_TRUE(topology.addLink(rank - 1, rank, bandwidth));
    EXPECT_TRUE(topology.addLink(rank, rank - 1, bandwidth));
  }
  return topology;
}

/// The schedule of `messages`, which must be there and right.
static Schedule written(const Topology &topology, const Collective &collective,
                        const std::vector<SumMessage> &messages,
                        const std::vector<SumResult> &results) {
  auto sends = writePartialSums(collective, messages, results);
  Schedule schedule;
  EXPECT_TRUE(sends);
  for (size_t i = 0; sends && i < messages.size(); ++i) {
    schedule.steps.resize(
        std::max<size_t>(schedule.steps.size(), messages[i].step + 1));
    if ((*sends)[i])
      schedule.steps[messages[i].step].sends.push_back(*(*sends)[i]);
  }
  fitRounds(schedule, topology);
  schedule.normalize();
  auto violation = checkSchedule(topology, collective, schedule);
  EXPECT_FALSE(violation) << violation->message;
  return schedule;
}

static Collective allReduce(unsigned numRanks) {
  return *Collective::make(CollectiveKind::AllReduce, numRanks, 1);
}

TEST(PartialSums, EndsOfALine) {
  // Rank 1 passes on each end's input with its own.
  std::vector<SumMessage> messages = {
      {0, 0, 0, 1, {true, {}}},
      {0, 0, 2, 1, {true, {}}},
      {1, 0, 1, 0, {true, {1}}},
      {1, 0, 1, 2, {true, {0}}},
  };
  std::vector<SumResult> results = {
      {0, 0, {true, {2}}}, {1, 0, {true, {0, 1}}}, {2, 0, {true, {3}}}};
  Schedule schedule = written(line(3), allReduce(3), messages, results);
  Schedule expected{{{1,
                      {{0, 0, 1, SendAction::Reduce, SendPayload::Input,
                        SendTransport::Any, 1},
                       {0, 2, 1, SendAction::Reduce, SendPayload::Input,
                        SendTransport::Any, 2}}},
                     {1,
                      {{0, 1, 0, SendAction::Reduce, SendPayload::Input,
                        SendTransport::Any, 0, 2},
                       {0, 1, 2, SendAction::Reduce, SendPayload::Input,
                        SendTransport::Any, 0, 1}}}}};
  EXPECT_EQ(schedule, expected);
}

TEST(PartialSums, ValuesWhereTheyDo) {
  // A running sum along a line, and its copy back.
  std::vector<SumMessage> messages = {{0, 0, 0, 1, {true, {}}},
                                      {1, 0, 1, 2, {true, {0}}},
                                      {2, 0, 2, 1, {true, {1}}},
                                      {3, 0, 1, 0, {false, {2}}},
                                      {3, 0, 1, 2, {true, {0}}}};
  std::vector<SumResult> results = {
      {0, 0, {false, {3}}}, {1, 0, {false, {2}}}, {2, 0, {true, {1}}}};
  Schedule schedule = written(line(3), allReduce(3), messages, results);
  EXPECT_EQ(schedule.numSends(), 4u); // the last message serves nobody
  // Rank 1 needs its value replaced, so it cannot be the running sum.
  EXPECT_EQ(schedule.steps[2].sends[0].action, SendAction::Copy);
  EXPECT_EQ(schedule.steps[3].sends[0].payload, SendPayload::Current);
}

TEST(PartialSums, RelaysWithoutAValue) {
  RankChunkSet pre(3, 1), post(3, 1);
  pre.insert(0, 0);
  post.insert(2, 0);
  Collective reduce = *Collective::makeCustom("to", 1, true, pre, post);
  std::vector<SumMessage> messages = {{0, 0, 0, 1, {true, {}}},
                                      {1, 0, 1, 2, {false, {0}}}};
  Schedule schedule =
      written(line(3), reduce, messages, {{2, 0, {false, {1}}}});
  EXPECT_EQ(schedule.steps[0].sends[0].action, SendAction::Keep);
  EXPECT_EQ(schedule.steps[0].sends[0].keep, 1);
  EXPECT_EQ(schedule.steps[1].sends[0].kept, 1u);
}

TEST(PartialSums, WhatNoScheduleSays) {
  // A star: its centre would keep 33 arrivals, each for another step.
  constexpr unsigned leaves = Send::maxKept + 1, centre = leaves;
  std::vector<SumMessage> messages;
  std::vector<SumResult> results;
  for (unsigned rank = 0; rank < leaves; ++rank)
    messages.push_back({0, 0, rank, centre, {true, {}}});
  for (unsigned rank = 0; rank < leaves; ++rank) {
    SumMessage message{1, 0, centre, rank, {true, {}}};
    for (size_t other = 0; other < leaves; ++other)
      if (other != rank)
        message.sum.parts.push_back(other);
    results.push_back({rank, 0, {true, {messages.size()}}});
    messages.push_back(std::move(message));
  }
  EXPECT_FALSE(writePartialSums(allReduce(leaves + 1), messages, results));

  // Two arrivals of a step, one with the rank's own input, replace its value.
  messages = {{0, 0, 0, 1, {true, {}}},
              {0, 0, 2, 3, {true, {}}},
              {1, 0, 1, 0, {true, {0}}},
              {1, 0, 3, 0, {true, {1}}}};
  results = {{0, 0, {false, {2, 3}}}};
  EXPECT_FALSE(writePartialSums(allReduce(4), messages, results));
}

TEST(PartialSums, ComposedAndInverted) {
  // A reduce to rank 2 whose relay keeps what it passes on.
  Collective reduce = *Collective::make(CollectiveKind::Reduce, 3, 1, 2);
  Schedule schedule{{{1,
                      {{0, 0, 1, SendAction::Keep, SendPayload::Input,
                        SendTransport::Any, 1}}},
                     {1,
                      {{0, 1, 2, SendAction::Reduce, SendPayload::Input,
                        SendTransport::Any, 0, 1}}}}};
  ASSERT_FALSE(checkSchedule(line(3), reduce, schedule));
  Result<Implementation> inverse = invert({reduce, schedule});
  ASSERT_TRUE(inverse) << inverse.error();
  EXPECT_FALSE(checkSchedule(line(3), inverse->collective, inverse->schedule));
  Result<Implementation> both = compose({reduce, schedule}, *inverse);
  ASSERT_TRUE(both) << both.error();
  EXPECT_EQ(both->collective.kind(), CollectiveKind::AllReduce);
  EXPECT_FALSE(checkSchedule(line(3), both->collective, both->schedule));
}

TEST(GatheredSums, AddUpAtTheOwner) {
  // What ranks 0 and 2 have for each other passes by rank 1, whose own input
  // goes beside it: no partial sum is sent.
  Collective moved = *Collective::make(CollectiveKind::AllToAll, 3, 3);
  Schedule schedule{
      {{2, {{1, 0, 1}, {2, 0, 1}, {6, 2, 1}, {7, 2, 1}, {3, 1, 0}, {5, 1, 2}}},
       {1, {{2, 1, 2}, {6, 1, 0}}}}};
  ASSERT_FALSE(checkSchedule(line(3), moved, schedule));
  Result<Implementation> sum = sumOnArrival({moved, schedule});
  ASSERT_TRUE(sum) << sum.error();
  EXPECT_EQ(sum->collective.kind(), CollectiveKind::ReduceScatter);
  EXPECT_FALSE(checkSchedule(line(3), sum->collective, sum->schedule));
  for (const Send &send : sum->schedule.steps[0].sends)
    EXPECT_TRUE(send.src == 1 || send.dst == 1) << send.chunk;
  for (const Send &send : sum->schedule.steps[1].sends) {
    EXPECT_EQ(send.payload, SendPayload::Kept);
    EXPECT_EQ(std::popcount(send.kept), 1);
  }
  Collective gather = *Collective::make(CollectiveKind::AllGather, 3, 2);
  Schedule both{{{4,
                  {{0, 0, 1},
                   {1, 0, 1},
                   {4, 2, 1},
                   {5, 2, 1},
                   {2, 1, 0},
                   {3, 1, 0},
                   {2, 1, 2},
                   {3, 1, 2}}},
                 {2, {{0, 1, 2}, {1, 1, 2}, {4, 1, 0}, {5, 1, 0}}}}};
  ASSERT_FALSE(checkSchedule(line(3), gather, both));
  Result<Implementation> whole = joinSum(*sum, {gather, both}, 2);
  ASSERT_TRUE(whole) << whole.error();
  EXPECT_EQ(whole->collective.kind(), CollectiveKind::AllReduce);
  EXPECT_EQ(whole->collective.chunks(), 6u);
  EXPECT_FALSE(checkSchedule(line(3), whole->collective, whole->schedule));
  EXPECT_EQ(joinSum(*sum, {gather, both}, 1).error(),
            "'reduce_scatter' and 'all_gather' have 2 chunks for each rank and "
            "28 sends, the limits are 1 and 67108864");
}

TEST(GatheredSums, FollowGathersToARoot) {
  Collective moved = *Collective::make(CollectiveKind::Gather, 3, 1, 2);
  Schedule schedule{{{1, {{0, 0, 1}, {1, 1, 2}}}, {1, {{0, 1, 2}}}}};
  ASSERT_FALSE(checkSchedule(line(3), moved, schedule));
  Result<Implementation> sum = sumOnArrival({moved, schedule});
  ASSERT_TRUE(sum) << sum.error();
  EXPECT_EQ(sum->collective.kind(), CollectiveKind::Reduce);
  EXPECT_EQ(sum->collective.root(), 2u);
  EXPECT_FALSE(checkSchedule(line(3), sum->collective, sum->schedule));
}

TEST(GatheredSums, TakeMovesOfAllInputsOnly) {
  Collective broadcast = *Collective::make(CollectiveKind::Broadcast, 3, 1);
  EXPECT_EQ(
      sumOnArrival({broadcast, {}}).error(),
      "only an all_gather, an all_to_all and a gather bring all inputs of "
      "a sum, got 'broadcast'");
  Collective gather = *Collective::make(CollectiveKind::AllGather, 3, 1);
  EXPECT_EQ(sumOnArrival({gather, {{{1, {{0, 1, 2}}}}}}).error(),
            "rank 1 passes on what it does not have");
}
