//===- RoundsTest.cpp - Tests of the rounds of messages -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MessageTesting.h"

#include "sccl/ABI/MessageTable.h"
#include "sccl/Plan/Plan.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

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
  bool isMessage(unsigned row) const {
    return rows[row].kind == MessageRow::Send ||
           rows[row].kind == MessageRow::Receive;
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
        if (table.isMessage(i)) {
          uint32_t from = sends ? rank : row.peer, to = sends ? row.peer : rank;
          uint32_t &both = rounds[{from, to, row.tag}];
          raise(both, table.rounds[i]);
          raise(table.rounds[i], both);
        }
        for (unsigned next = 0; next < row.numNext; ++next)
          raise(table.rounds[table.nexts[row.firstNext + next]],
                table.rounds[i] + table.isMessage(i));
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
          messages += table.isMessage(row);
      }
      settleRounds(tables);
      EXPECT_NE(messages, 0u) << path;
      for (unsigned rank = 0; rank < tables.size(); ++rank)
        EXPECT_EQ(written[rank], tables[rank].rounds) << path << ' ' << rank;
    }
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
