//===- RoundsTest.cpp - Tests of the rounds of messages -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MessageTesting.h"

#include "sccl/ABI/NearParts.h"
#include "sccl/Plan/Plan.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>

using namespace sccl;

namespace {
/// A table that may be changed.
struct Table {
  MessageHeader header;
  std::vector<MessageRow> rows;
  std::vector<uint32_t> nexts, rounds;

  explicit Table(const std::string &bytes) {
    const char *at = bytes.data();
    auto take = [&](void *to, size_t count) {
      std::memcpy(to, at, count);
      at += count;
    };
    take(&header, sizeof(header));
    rows.resize(header.rows);
    nexts.resize(header.nexts);
    rounds.resize(header.rows);
    take(rows.data(), rows.size() * sizeof(MessageRow));
    take(nexts.data(), nexts.size() * sizeof(uint32_t));
    take(rounds.data(), rounds.size() * sizeof(uint32_t));
    EXPECT_EQ(at, bytes.data() + bytes.size());
  }
  std::string bytes() const {
    std::string text;
    auto give = [&](const void *from, size_t count) {
      text.append(static_cast<const char *>(from), count);
    };
    give(&header, sizeof(header));
    give(rows.data(), rows.size() * sizeof(MessageRow));
    give(nexts.data(), nexts.size() * sizeof(uint32_t));
    give(rounds.data(), rounds.size() * sizeof(uint32_t));
    return text;
  }
};
} // namespace

static plan::Plan planOf(const char *path) {
  return *plan::readPlan(readFile(path));
}

/// Repeats until nothing changes what MessageTable.h says of rounds, for the
/// smallest ones there are.
static void settleRounds(std::vector<Table> &tables) {
  std::map<std::array<uint32_t, 3>, uint32_t> rounds; // of messages
  for (bool changes = true; changes;) {
    changes = false;
    auto raise = [&](uint32_t &round, uint32_t least) {
      changes |= round < least;
      round = std::max(round, least);
    };
    for (unsigned rank = 0; rank < tables.size(); ++rank)
      for (unsigned i = 0; i < tables[rank].rows.size(); ++i) {
        Table &table = tables[rank];
        const MessageRow &row = table.rows[i];
        bool sends = row.kind == MessageRow::Send;
        if (table.rows[i].isMessage()) {
          uint32_t from = sends ? rank : row.peer, to = sends ? row.peer : rank;
          uint32_t &both = rounds[{from, to, row.tag}];
          raise(both, table.rounds[i]);
          raise(table.rounds[i], both);
        }
        for (unsigned next = 0; next < row.numNext; ++next)
          raise(table.rounds[table.nexts[row.firstNext + next]],
                table.rounds[i] + table.rows[i].isMessage());
      }
  }
}

TEST(Rounds, AreTheLongestPaths) {
  for (const char *path : {pairReduce, ringGather, cubeBroadcast, meshReduce})
    for (const plan::RankTableSet &set : planOf(path).rankTables) {
      std::vector<Table> tables(set.begin(), set.end());
      unsigned messages = 0;
      std::vector<std::vector<uint32_t>> written;
      for (Table &table : tables) {
        written.push_back(table.rounds);
        std::fill(table.rounds.begin(), table.rounds.end(), 0);
        for (unsigned row = 0; row < table.rows.size(); ++row)
          messages += table.rows[row].isMessage();
      }
      settleRounds(tables);
      EXPECT_NE(messages, 0u) << path;
      for (unsigned rank = 0; rank < tables.size(); ++rank)
        EXPECT_EQ(written[rank], tables[rank].rounds) << path << ' ' << rank;
    }
}

namespace {
/// Two ranks of a host that send each other two messages in one round, of which
/// a reduction of each rank in that round has to be done before its row
/// `waits[rank]`, if there is one.
struct TwoRanks {
  enum Row : uint32_t { FirstSend, FirstReceive, SecondSend, SecondReceive };
  std::array<std::vector<MessageRow>, 2> rows;
  NearParts parts;

  explicit TwoRanks(std::array<std::optional<Row>, 2> waits) {
    for (uint32_t rank : {0, 1}) {
      for (uint32_t tag : {0, 1})
        for (auto kind : {MessageRow::Send, MessageRow::Receive})
          add(rank, kind, 1 - rank, tag);
      add(rank, MessageRow::Reduce, 0, 0);
      auto next = [&](uint32_t row) {
        return row == SecondReceive + 1 && waits[rank]
                   ? std::vector<uint32_t>{*waits[rank]}
                   : std::vector<uint32_t>();
      };
      parts.add(rank, rows[rank], std::vector<uint32_t>(rows[rank].size()),
                next, [](uint32_t) { return true; });
    }
    parts.settle();
  }
  void add(uint32_t rank, MessageRow::Kind kind, uint32_t peer, uint32_t tag) {
    MessageRow row = {};
    row.kind = kind;
    row.peer = peer;
    row.tag = tag;
    row.count = 1;
    rows[rank].push_back(row);
  }
  bool isLate(uint32_t rank, Row row) const {
    return parts.isLate(rank, rows[rank][row]);
  }
};
} // namespace

TEST(NearParts, WhatWaitsAtOneEndIsLateAtBoth) {
  using Row = TwoRanks::Row;
  for (Row waiting : {Row::SecondSend, Row::SecondReceive}) {
    TwoRanks both({waiting, waiting});
    for (uint32_t rank : {0, 1})
      for (Row row : {Row::FirstSend, Row::FirstReceive, Row::SecondSend,
                      Row::SecondReceive})
        EXPECT_EQ(both.isLate(rank, row), row >= Row::SecondSend) << row;
  }
}

/// Rank 1 would send two chunks early, and rank 0 one late.
TEST(NearParts, AreOneWhereTwoTakeLonger) {
  TwoRanks one({TwoRanks::SecondSend, std::nullopt});
  for (uint32_t rank : {0, 1})
    EXPECT_TRUE(one.isLate(rank, TwoRanks::FirstSend)) << rank;
  TwoRanks none({std::nullopt, std::nullopt});
  for (uint32_t rank : {0, 1})
    EXPECT_FALSE(none.isLate(rank, TwoRanks::FirstSend)) << rank;
}

/// Loads pairReduce, of which `change` has changed the tables, by both ranks,
/// and expects an error with `message`, or that it works if that is empty.
template <typename Change>
static void loadChanged(Change change, const std::string &message) {
  plan::Plan changed = planOf(pairReduce);
  for (plan::RankTableSet &set : changed.rankTables)
    for (unsigned rank = 0; rank < set.size(); ++rank)
      set[rank] = change(Table(set[rank]), rank);
  std::string bytes = *plan::serialize(changed);
  LoopNetwork network;
  EXPECT_EQ(
      0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
        Member member;
        scclConfig config = SCCL_CONFIG_INITIALIZER;
        scclTransport transport = network.transport(end);
        if (check(
                !scclPlanLoadMemory(bytes.data(), bytes.size(), &member.plan) &&
                    !scclCommInitTransport(&transport, &config, &member.comm),
                "join"))
          return 1;
        scclResult result = scclCommLoad(member.comm, member.plan);
        if (!message.empty())
          return check(result == scclErrorInvalidPlan && messageHas(message),
                       message);
        std::vector<float> send(1000), recv(1000);
        return check(!result, "load") +
               reduceOnce(member, end, send.data(), recv.data(), 1000);
      }));
}

TEST(Rounds, OfOlderTablesAreNotMissed) {
  auto drop = [](Table table, unsigned) {
    table.header.version = messageTableWithoutRounds;
    table.rounds.clear();
    return table.bytes();
  };
  loadChanged(drop, "");
}

TEST(Rounds, BelowThoseOfWhatIsNeededAreRefused) {
  auto lower = [](Table table, unsigned) {
    *std::max_element(table.rounds.begin(), table.rounds.end()) = 0;
    return table.bytes();
  };
  loadChanged(lower, "rounds in no order");
}

TEST(Rounds, ThatDifferAtTheTwoEndsAreRefused) {
  // Later for all rows of a rank, each rank by itself is as it should be.
  auto raise = [](Table table, unsigned rank) {
    for (uint32_t &round : table.rounds)
      round += rank;
    return table.bytes();
  };
  loadChanged(raise, "at their two ends");
  auto raiseAll = [](Table table, unsigned) {
    for (uint32_t &round : table.rounds)
      ++round;
    return table.bytes();
  };
  loadChanged(raiseAll, "");
}

TEST(Rounds, BeyondAllMessagesAreRefused) {
  auto raise = [](Table table, unsigned) {
    for (uint32_t &round : table.rounds)
      round += 1 << 20;
    return table.bytes();
  };
  loadChanged(raise, "rounds without messages");
}
