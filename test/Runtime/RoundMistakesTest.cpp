//===- RoundMistakesTest.cpp - Tests of the check of rounds ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Conversion/Messages.h"

#include <gtest/gtest.h>

using namespace sccl;

static void add(RankMessages &rank, MessageRow::Kind kind, unsigned peer,
                unsigned round) {
  MessageRow row = {};
  row.kind = kind;
  row.peer = peer;
  rank.rows.push_back(row);
  rank.next.emplace_back();
  if (rank.rows.size() > 1)
    rank.next[rank.rows.size() - 2] = {uint32_t(rank.rows.size() - 1)};
  rank.rounds.push_back(round);
}

TEST(RoundMistakes, AreFound) {
  // Rank 0 sends to rank 1, which passes it on to rank 2.
  std::vector<RankMessages> ranks(3);
  add(ranks[0], MessageRow::Send, 1, 0);
  add(ranks[1], MessageRow::Receive, 0, 0);
  add(ranks[1], MessageRow::Send, 2, 1);
  add(ranks[2], MessageRow::Receive, 1, 1);
  add(ranks[2], MessageRow::Copy, 0, 2);
  EXPECT_EQ(findRoundMistake(ranks), "");
  ranks[2].rounds[1] = 1;
  EXPECT_EQ(findRoundMistake(ranks), "row 1 of rank 2 is in round 1, and needs "
                                     "row 0 of round 1");
  ranks[2].rounds = {0, 2};
  EXPECT_EQ(findRoundMistake(ranks), "rank 2 receives message 0 of rank 1 in "
                                     "round 0, in which that does not send it");
  ranks[2].rounds = {1, 2};
  ranks[1].rows[1].peer = 0;
  EXPECT_EQ(findRoundMistake(ranks), "rank 2 receives message 0 of rank 1 in "
                                     "round 1, in which that does not send it");
}
