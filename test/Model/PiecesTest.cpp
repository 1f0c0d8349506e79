//===- PiecesTest.cpp - Schedules whose pieces follow each other ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/Pieces.h"

#include "ScheduleTesting.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace sccl;

TEST(Pieces, RandomSchedulesOfAllKinds) {
  std::mt19937 random(7);
  Topology topology = oneWay(6);
  for (CollectiveKind kind : allCollectiveKinds())
    for (unsigned pieces : {1u, 2u, 5u}) {
      if (isCombining(kind))
        continue; // flood does not reduce
      unsigned distance = 1 + random() % 3;
      Implementation whole = flood(random, topology, make(kind, 6, 6, 2));
      auto cut = cutIntoPieces(whole, topology, pieces, {distance});
      ASSERT_TRUE(cut) << cut.error();
      expectValid(topology, *cut);
      EXPECT_EQ(cut->collective.kind(), kind);
      EXPECT_EQ(cut->collective.chunks(), 6 * pieces);
      EXPECT_LE(cut->schedule.steps.size(),
                (whole.schedule.steps.size() - 1) * distance + pieces);
      EXPECT_EQ(cut->schedule.numSends(), whole.schedule.numSends() * pieces);
    }
}

TEST(Pieces, InRoundsOfAllKinds) {
  std::mt19937 random(11);
  Topology topology = oneWay(6);
  for (CollectiveKind kind : allCollectiveKinds()) {
    if (isCombining(kind))
      continue;
    PieceOrder order{.distance = unsigned(1 + random() % 4), .inRounds = true};
    Implementation whole = flood(random, topology, make(kind, 6, 6, 2));
    auto cut = cutIntoPieces(whole, topology, 3, order);
    ASSERT_TRUE(cut) << cut.error();
    expectValid(topology, *cut);
    EXPECT_EQ(cut->schedule.numSends(), whole.schedule.numSends() * 3);
  }
  auto sums =
      invert(flood(random, topology, make(CollectiveKind::AllGather, 6, 2)));
  ASSERT_TRUE(sums) << sums.error();
  auto cut = cutIntoPieces(*sums, topology.reversed(), 4, {2, true});
  ASSERT_TRUE(cut) << cut.error();
  expectValid(topology.reversed(), *cut);
}

TEST(Pieces, InRoundsAnExchangeStaysOne) {
  // All send to all what they have: later none could without counting twice.
  auto mesh = makeBuiltinTopology("mesh:3");
  ASSERT_TRUE(mesh);
  Schedule schedule;
  schedule.steps.resize(1);
  for (uint32_t chunk = 0; chunk < 4; ++chunk)
    for (uint32_t src = 0; src < 3; ++src)
      for (uint32_t dst = 0; dst < 3; ++dst)
        if (src != dst)
          schedule.steps[0].sends.push_back(
              {chunk, src, dst, SendAction::Reduce});
  fitRounds(schedule, *mesh);
  Implementation whole{make(CollectiveKind::AllReduce, 3, 4), schedule};
  auto cut = cutIntoPieces(whole, *mesh, 2, {1, true});
  ASSERT_TRUE(cut) << cut.error();
  expectValid(*mesh, *cut);
  EXPECT_EQ(cut->schedule.steps.size(), 8u);
}

TEST(Pieces, InRoundsLinksAreNeverIdle) {
  // Four chunks over two links: step by step the second one is idle while the
  // first piece is on the first link.
  Topology line("line", 3);
  ASSERT_TRUE(line.addLink(0, 1, 1));
  ASSERT_TRUE(line.addLink(1, 2, 1));
  Schedule schedule;
  schedule.steps.resize(2);
  for (uint32_t chunk = 0; chunk < 4; ++chunk) {
    schedule.steps[0].sends.push_back({chunk, 0, 1});
    schedule.steps[1].sends.push_back({chunk, 1, 2});
  }
  fitRounds(schedule, line);
  Implementation whole{make(CollectiveKind::Broadcast, 3, 4), schedule};
  auto bySteps = cutIntoPieces(whole, line, 2, {.distance = 1});
  auto inRounds = cutIntoPieces(whole, line, 2, {1, true});
  ASSERT_TRUE(bySteps && inRounds);
  expectValid(line, *inRounds);
  EXPECT_EQ(bySteps->schedule.rounds(), 12u);
  EXPECT_EQ(inRounds->schedule.rounds(), 9u);
  EXPECT_EQ(roundsOfOnePiece(whole, line, 1), 5u);
  EXPECT_EQ(roundsOfOnePiece(whole, line, 3), 7u);
}

TEST(Pieces, OfReductionsAndOfCustomCollectives) {
  std::mt19937 random(8);
  Topology topology = oneWay(5);
  auto inverse =
      invert(flood(random, topology, make(CollectiveKind::AllGather, 5, 2)));
  ASSERT_TRUE(inverse) << inverse.error();
  auto cut = cutIntoPieces(*inverse, topology.reversed(), 3);
  ASSERT_TRUE(cut) << cut.error();
  expectValid(topology.reversed(), *cut);

  RankChunkSet pre(5, 2), post(5, 2);
  pre.insert(0, 0);
  pre.insert(3, 1);
  post.insert(4, 0);
  post.insert(1, 1);
  auto custom = Collective::makeCustom("cross", 1, false, pre, post);
  ASSERT_TRUE(custom) << custom.error();
  auto crossed = cutIntoPieces(flood(random, topology, *custom), topology, 4);
  ASSERT_TRUE(crossed) << crossed.error();
  expectValid(topology, *crossed);
  EXPECT_EQ(crossed->collective.name(), "cross");
  EXPECT_EQ(crossed->collective.numChunks(), 8u);
  EXPECT_EQ(crossed->collective.chunksPerSegment(), 4u);
}

TEST(Pieces, OfGroups) {
  std::mt19937 random(9);
  Topology topology = oneWay(6);
  auto grouped = Collective::makeGrouped(CollectiveKind::AllGather, 6,
                                         {{0, 2, 4}, {1, 5}}, 2);
  ASSERT_TRUE(grouped) << grouped.error();
  auto cut = cutIntoPieces(flood(random, topology, *grouped), topology, 3);
  ASSERT_TRUE(cut) << cut.error();
  expectValid(topology, *cut);
  EXPECT_EQ(cut->collective.groups(), grouped->groups());
  EXPECT_EQ(cut->collective.chunksPerSegment(),
            3 * grouped->chunksPerSegment());
}

TEST(Pieces, NeighboursStayNeighbours) {
  // Rank 0 sends its two chunks, 0 and 1, and rank 1 its own, 2 and 3.
  Topology pair("pair", 2);
  ASSERT_TRUE(pair.addLink(0, 1, 1));
  ASSERT_TRUE(pair.addLink(1, 0, 1));
  Schedule schedule;
  schedule.steps = {{2, {{0, 0, 1}, {1, 0, 1}, {2, 1, 0}, {3, 1, 0}}}};
  auto cut = cutIntoPieces({make(CollectiveKind::AllGather, 2, 2), schedule},
                           pair, 3, {.distance = 1});
  ASSERT_TRUE(cut) << cut.error();
  expectValid(pair, *cut);
  ASSERT_EQ(cut->schedule.steps.size(), 3u);
  for (uint32_t piece = 0; piece < 3; ++piece) {
    std::vector<uint32_t> chunks;
    for (const Send &send : cut->schedule.steps[piece].sends)
      chunks.push_back(send.chunk);
    std::ranges::sort(chunks);
    EXPECT_EQ(chunks, (std::vector<uint32_t>{2 * piece, 2 * piece + 1,
                                             6 + 2 * piece, 7 + 2 * piece}));
  }
}

TEST(Pieces, AllStepsAreUnderWayAtOnce) {
  // Two hops of one chunk: m pieces take m + 1 steps of one round each.
  Topology line("line", 3);
  ASSERT_TRUE(line.addLink(0, 1, 1));
  ASSERT_TRUE(line.addLink(1, 2, 1));
  Schedule schedule;
  schedule.steps = {{1, {{0, 0, 1}}}, {1, {{0, 1, 2}}}};
  auto cut = cutIntoPieces({make(CollectiveKind::Broadcast, 3, 1), schedule},
                           line, 10, {.distance = 1});
  ASSERT_TRUE(cut) << cut.error();
  expectValid(line, *cut);
  EXPECT_EQ(cut->schedule.rounds(), 11u);
}

TEST(Pieces, WhatCannotBeCut) {
  Topology line("line", 2);
  ASSERT_TRUE(line.addLink(0, 1, 1));
  Schedule schedule;
  schedule.steps = {{1, {{0, 0, 1}}}};
  Implementation whole{make(CollectiveKind::Broadcast, 2, 1), schedule};
  EXPECT_EQ(cutIntoPieces(whole, line, 0).error(),
            "a chunk cannot be cut into 0 pieces");
  EXPECT_EQ(cutIntoPieces(whole, line, 2, {0}).error(),
            "the steps of a piece cannot be at a distance of 0");
  EXPECT_FALSE(cutIntoPieces(whole, line, ~0u));
  EXPECT_EQ(cutIntoPieces(whole, Topology("none", 2), 2).error(),
            "a send from 0 to 1 has no link");
}
