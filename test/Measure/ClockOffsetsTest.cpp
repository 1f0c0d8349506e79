//===- ClockOffsetsTest.cpp - Clocks of several hosts ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Measure/PlanRank.h"

#include "gtest/gtest.h"

#include <chrono>
#include <cmath>
#include <map>
#include <random>

using namespace sccl;

static uint64_t steadyNanoseconds() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

/// Hours ahead, or behind.
static int64_t shiftOf(unsigned rank) {
  constexpr int64_t hour = 3'600'000'000'000;
  return rank % 2 ? hour * rank : -hour * rank / 7;
}

// However long exchanges take, the offset is between what they say.
TEST(ClockOffsets, AreWithinTheBoundsOfExchanges) {
  for (RanksAs kind : {RanksAs::Threads, RanksAs::Processes})
    EXPECT_EQ(0, runRanks(4, kind, [](const RankEnd &end) {
                auto clock = [&] {
                  return steadyNanoseconds() + shiftOf(end.rank);
                };
                uint64_t begin = clock();
                std::vector<ClockOffset> offsets = compareClocks(end, clock);
                int wrong = offsets.size() != 4;
                for (unsigned rank = 0; rank < offsets.size(); ++rank) {
                  const ClockOffset &offset = offsets[rank];
                  wrong += offset.least > shiftOf(rank);
                  wrong += offset.most < shiftOf(rank);
                  wrong += offset.best() < offset.least;
                  wrong += offset.best() > offset.most;
                }
                wrong += offsets[end.rank].at < begin;
                wrong += offsets[end.rank].at > clock();
                return wrong;
              }));
}

TEST(ClockOffsets, AreNoneIfARankHasGone) {
  EXPECT_EQ(0, runRanks(3, RanksAs::Processes, [](const RankEnd &end) {
              if (end.rank == 2)
                return 0;
              return compareClocks(end, steadyNanoseconds).empty() ? 0 : 1;
            }));
}

// A clock that is 5 seconds ahead and gains 1 us in a second.
TEST(ClockOffsets, GrowEvenly) {
  constexpr uint64_t second = 1'000'000'000, us = 1000;
  ClockOffset before = {5 * int64_t(second) - 10, 5 * int64_t(second) + 10,
                        100 * second};
  ClockOffset after = {before.least + 10 * int64_t(us),
                       before.most + 10 * int64_t(us), 110 * second};
  EXPECT_EQ(onFirstClock(100 * second, before, after), 95 * second);
  EXPECT_EQ(onFirstClock(105 * second, before, after), 100 * second - 5 * us);
  EXPECT_EQ(onFirstClock(110 * second, before, after), 105 * second - 10 * us);
  // And one that is behind.
  ClockOffset behind = {-7, -5, 50};
  EXPECT_EQ(onFirstClock(60, behind, behind), 66u);
}

// What rank 1 waits for ends after rank 0 has sent it, though its clock is
// late.
TEST(ClockOffsets, BringTracesTogether) {
  constexpr int64_t second = 1'000'000'000;
  scclTraceEvent sent = {}, wait = {};
  sent.begin = 10 * second;
  sent.end = sent.begin + 100;
  wait.begin = sent.begin + 20 - 3 * second;
  wait.end = sent.begin + 120 - 3 * second;
  PlanRank::Trace trace = {{sent}, {wait}};
  ClockOffset none, late = {-3 * second, -3 * second, 7 * second};
  alignClocks(trace, {none, late}, {none, late});
  EXPECT_EQ(trace[0][0].begin, sent.begin);
  EXPECT_EQ(trace[1][0].begin, sent.begin + 20);
  EXPECT_EQ(trace[1][0].end, sent.begin + 120);
}

//===----------------------------------------------------------------------===//
// By messages
//===----------------------------------------------------------------------===//

namespace {
/// Ranks with clocks of their own that send each other messages.
struct Messages {
  static constexpr unsigned ranks = 6;
  std::mt19937_64 random;
  PlanRank::Trace trace{ranks};
  std::vector<int64_t> ahead;                 ///< by rank, of the host
  std::vector<double> gain{0, 0, 0, 0, 0, 0}; ///< by rank, in a nanosecond
  uint64_t tick; ///< nanoseconds between ticks of the clocks
  uint64_t flags = 0;

  Messages(uint64_t seed, uint64_t tick) : random(seed), tick(tick) {
    constexpr int64_t hour = 3'600'000'000'000;
    for (unsigned rank = 0; rank < ranks; ++rank)
      ahead.push_back(int64_t(random() % (2 * hour)) - hour);
  }
  uint64_t onClock(unsigned rank, uint64_t time) const {
    int64_t gained = std::llround(double(time - start) * gain[rank]);
    return (time + ahead[rank] + gained) / tick * tick;
  }
  void add(unsigned rank, scclTraceKind kind, uint64_t begin, uint64_t end) {
    scclTraceEvent event = {};
    event.kind = kind;
    event.begin = onClock(rank, begin);
    event.end = onClock(rank, end);
    event.flag = flags;
    event.value = 1;
    trace[rank].push_back(event);
  }
  void send(unsigned from, unsigned to, uint64_t at, uint64_t latency) {
    ++flags;
    add(from, scclTraceSignal, at, at + 10);
    add(to, scclTraceWait, at - random() % 500, at + latency);
  }
  void sort() {
    for (auto &events : trace)
      std::stable_sort(
          events.begin(), events.end(),
          [](auto &left, auto &right) { return left.begin < right.begin; });
  }
  void align(uint64_t length = ms) {
    sort();
    alignByMessages(trace,
                    std::vector<HostWindow>(ranks, {start, start + length}));
  }
  /// How much later the latest signal is than the end of its wait.
  int64_t latest() const {
    std::map<uint64_t, uint64_t> signals;
    for (const auto &events : trace)
      for (const scclTraceEvent &event : events)
        if (event.kind == scclTraceSignal)
          signals[event.flag] = event.begin;
    int64_t result = INT64_MIN;
    for (const auto &events : trace)
      for (const scclTraceEvent &event : events)
        if (event.kind == scclTraceWait)
          result = std::max(result, int64_t(signals[event.flag] - event.end));
    return result;
  }

  /// How far times of a rank are from the host's, now that they are aligned.
  int64_t off(unsigned rank, const Messages &before) const {
    auto firstOf = [&](const PlanRank::Trace &trace) {
      uint64_t first = UINT64_MAX;
      for (const scclTraceEvent &event : trace[rank])
        first = std::min(first, event.begin);
      return first;
    };
    return int64_t(firstOf(trace) - firstOf(before.trace)) + ahead[rank];
  }

  static constexpr uint64_t ms = 1'000'000, start = 1'000'000'000'000'000;
};
} // namespace

// Messages in both directions say where clocks are, as near as they take.
TEST(MessageClocks, AreAsNearAsMessages) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Messages messages(seed, /*tick=*/1);
    for (unsigned i = 0; i < 300; ++i) {
      unsigned from = messages.random() % Messages::ranks;
      unsigned to = (from + 1 + messages.random() % (Messages::ranks - 1)) %
                    Messages::ranks;
      messages.send(from, to,
                    Messages::start + 1000 + messages.random() % 900000,
                    300 + messages.random() % 3000);
    }
    Messages before = messages;
    messages.align();
    EXPECT_LE(messages.latest(), 1);
    int64_t first = messages.off(0, before);
    for (unsigned rank = 0; rank < Messages::ranks; ++rank)
      EXPECT_LT(std::abs(messages.off(rank, before) - first), 3300);
    // And not far from the host's, which knows less.
    EXPECT_LT(std::abs(first), int64_t(Messages::ms));
  }
}

// Where messages go one way only, the host says the rest.
TEST(MessageClocks, DoWithoutAnswers) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Messages messages(seed, /*tick=*/1);
    for (unsigned rank = 1; rank < Messages::ranks; ++rank)
      for (unsigned i = 0; i < 20; ++i)
        messages.send(rank - 1, rank,
                      Messages::start + 1000 + 40000 * i + 3000 * rank, 900);
    messages.align();
    EXPECT_LE(messages.latest(), 1);
    for (const auto &events : messages.trace)
      for (const scclTraceEvent &event : events) {
        EXPECT_GE(event.begin + 1, Messages::start);
        EXPECT_LE(event.end, Messages::start + Messages::ms + 1);
      }
  }
}

// Clocks that tick every microsecond say that messages came before they left.
TEST(MessageClocks, TickSeldom) {
  constexpr uint64_t tick = 1024;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Messages messages(seed, tick);
    for (unsigned i = 0; i < 300; ++i) {
      unsigned from = messages.random() % Messages::ranks;
      unsigned to = (from + 1) % Messages::ranks;
      if (i % 2)
        std::swap(from, to);
      messages.send(from, to,
                    Messages::start + 5000 + messages.random() % 900000, 400);
    }
    messages.sort();
    Messages before = messages;
    messages.align();
    EXPECT_LE(messages.latest(), int64_t(2 * tick));
    // Times keep their distances.
    auto length = [](const std::vector<scclTraceEvent> &events) {
      return double(events.back().begin - events.front().begin);
    };
    for (unsigned rank = 0; rank < Messages::ranks; ++rank)
      EXPECT_NEAR(length(messages.trace[rank]), length(before.trace[rank]),
                  1000);
  }
}

namespace {
/// Of clocks that gain or lose up to 50 us in a second, in `length`
/// nanoseconds, of which `rest` are left at the end.
Messages messagesThatGrow(uint64_t seed, uint64_t length, uint64_t rest) {
  Messages messages(seed, /*tick=*/1);
  for (double &gain : messages.gain)
    gain = (double(messages.random() % 101) - 50) * 1e-6;
  for (unsigned i = 0; i < 3000; ++i) {
    unsigned from = messages.random() % Messages::ranks;
    unsigned to = (from + 1 + messages.random() % (Messages::ranks - 1)) %
                  Messages::ranks;
    messages.send(from, to,
                  Messages::start + 1000 + messages.random() % (length - rest),
                  300 + messages.random() % 3000);
  }
  return messages;
}
} // namespace

// Clocks that gain or lose up to 50 us in a second, for a tenth of that.
TEST(MessageClocks, DoNotRunAlike) {
  constexpr uint64_t length = 100 * Messages::ms;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Messages messages = messagesThatGrow(seed, length, 9000);
    messages.align(length);
    EXPECT_LE(messages.latest(), 1) << seed;
  }
}

// Clocks by which more time has passed than by the host's.
TEST(MessageClocks, ContradictTheHost) {
  constexpr uint64_t length = 1000 * Messages::ms;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Messages messages = messagesThatGrow(seed, length, 6000);
    for (unsigned rank = 0; rank < Messages::ranks; ++rank)
      messages.add(rank, scclTraceCopy, Messages::start,
                   Messages::start + length);
    messages.align(length);
    EXPECT_LE(messages.latest(), 1) << seed;
  }
}

// A wait for a signal that nobody has recorded says nothing of the next one.
TEST(MessageClocks, KnowNothingOfSignalsBefore) {
  Messages messages(3, /*tick=*/1);
  for (unsigned i = 0; i < 20; ++i) {
    messages.send(0, 1, Messages::start + 10000 * i + 5000, 700);
    messages.send(1, 0, Messages::start + 10000 * i + 9000, 700);
  }
  // The flag gets 2 long after the wait for 1.
  ++messages.flags;
  messages.add(1, scclTraceWait, Messages::start, Messages::start + 10);
  messages.add(0, scclTraceSignal, Messages::start + 900000,
               Messages::start + 900010);
  messages.trace[0].back().value = 2;
  Messages before = messages;
  messages.align();
  EXPECT_LT(std::abs(messages.off(1, before) - messages.off(0, before)), 701);
}

// A rank that takes no part says nothing of the others.
TEST(MessageClocks, DoWithoutTheFirstRank) {
  Messages messages(4, /*tick=*/1);
  for (unsigned i = 0; i < 20; ++i) {
    messages.send(2, 3, Messages::start + 10000 * i + 5000, 700);
    messages.send(3, 2, Messages::start + 10000 * i + 9000, 700);
  }
  Messages before = messages;
  messages.align();
  EXPECT_LE(messages.latest(), 1);
  EXPECT_LT(std::abs(messages.off(2, before) - messages.off(3, before)), 701);
  EXPECT_LT(std::abs(messages.off(2, before)), int64_t(Messages::ms));
}

// Nobody waits: clocks stay as they are.
TEST(MessageClocks, AreLeftAloneWithoutMessages) {
  Messages messages(1, 1);
  messages.add(0, scclTraceCopy, Messages::start, Messages::start + 5);
  messages.add(1, scclTraceWait, Messages::start, Messages::start + 5);
  PlanRank::Trace before = messages.trace;
  messages.align();
  for (unsigned rank = 0; rank < 2; ++rank)
    EXPECT_EQ(messages.trace[rank][0].begin, before[rank][0].begin);
}
