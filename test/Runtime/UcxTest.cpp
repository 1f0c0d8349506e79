//===- UcxTest.cpp - Messages of UCX --------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The transport of libsccl-ucx, among threads and processes, by TCP and by
// whatever UCX takes within a host.
//
//===----------------------------------------------------------------------===//

#include "Injection.h"
#include "LibraryTesting.h"

#include "Runtime/Messages/UcxTransport.h"

#include <algorithm>
#include <thread>
#include <unistd.h>

using namespace sccl;

namespace {
/// One rank's end of the transport, which closes with this.
class Wire {
public:
  explicit Wire(const RankEnd &end, double limit = 20) {
    result = scclUcxTransport(int(end.rank), int(end.numRanks), end.allGather,
                              end.context, limit, &t);
    if (result == scclSuccess)
      t.reserve(t.context, 1 << 12);
  }
  explicit Wire(const scclTransport &made) : t(made), result(scclSuccess) {
    t.reserve(t.context, 16);
  }
  ~Wire() { close(0); }
  void close(int failed) {
    if (result == scclSuccess)
      t.close(t.context, failed);
    result = scclErrorAborted;
  }

  void send(int request, const void *data, size_t bytes, int peer, int tag) {
    t.send(t.context, request, data, bytes, peer, tag);
  }
  void receive(int request, void *data, size_t bytes, int peer, int tag) {
    t.receive(t.context, request, data, bytes, peer, tag);
  }
  /// Waits for any message to end; request -1 if none does.
  scclCompletion await(double seconds = 20) {
    Stopwatch watch;
    scclCompletion ended = {-1, 0, 0, 0};
    int count = 0;
    while (count == 0 && watch.seconds() < seconds) {
      if (t.poll(t.context, &ended, 1, &count) != 0)
        break;
      if (count == 0)
        usleep(20);
    }
    return count == 0 ? scclCompletion{-1, 0, 0, 0} : ended;
  }
  bool meet() {
    char mine = 0;
    std::vector<char> all(t.numRanks);
    return t.allGather(t.context, &mine, all.data(), 1) == 0;
  }

  scclTransport t = {};
  scclResult result;
};

struct Case {
  RanksAs ranks;
  const char *tls;
};

class UcxTest : public testing::TestWithParam<Case> {
protected:
  UcxTest() { setenv("UCX_TLS", GetParam().tls, 1); }
  ~UcxTest() override { unsetenv("UCX_TLS"); }
  int run(unsigned numRanks, llvm::function_ref<int(const RankEnd &)> body) {
    return runRanks(numRanks, GetParam().ranks, body);
  }
};
} // namespace

INSTANTIATE_TEST_SUITE_P(Wires, UcxTest,
                         testing::Values(Case{RanksAs::Threads, "all"},
                                         Case{RanksAs::Processes, "all"},
                                         Case{RanksAs::Processes, "tcp"}),
                         [](const testing::TestParamInfo<Case> &info) {
                           return ranksAsName(info.param.ranks).str() + "_" +
                                  info.param.tls;
                         });

static std::vector<char> bytesOf(size_t count, unsigned seed) {
  std::vector<char> bytes(count);
  for (size_t i = 0; i < count; ++i)
    bytes[i] = char(i * 7 + i / 251 + seed);
  return bytes;
}

TEST_P(UcxTest, MessagesOfAnyLengthArrive) {
  EXPECT_EQ(run(2,
                [](const RankEnd &end) {
                  Wire wire(end);
                  int wrong = check(wire.result == scclSuccess, "join");
                  int peer = 1 - int(end.rank);
                  for (size_t bytes :
                       {size_t(0), size_t(1), size_t(8192), size_t(8193),
                        size_t(1) << 20, size_t(64) << 20}) {
                    std::vector<char> sent = bytesOf(bytes, end.rank),
                                      received(bytes + 1);
                    wire.receive(5, received.data(), bytes + 1, peer, 3);
                    wire.send(7, sent.data(), bytes, peer, 3);
                    for (int i = 0; i < 2; ++i) {
                      scclCompletion ended = wire.await();
                      wrong |= check(ended.error == 0 && ended.request >= 0,
                                     "a message ends");
                      if (ended.request == 5)
                        wrong |=
                            check(ended.bytes == bytes && ended.peer == peer,
                                  "its length and sender");
                    }
                    received.resize(bytes);
                    wrong |= check(received == bytesOf(bytes, unsigned(peer)),
                                   std::to_string(bytes) + " bytes");
                  }
                  return wrong;
                }),
            0);
}

TEST_P(UcxTest, TagsAndOrderTellMessagesApart) {
  EXPECT_EQ(run(3,
                [](const RankEnd &end) {
                  Wire wire(end);
                  constexpr int count = 100;
                  int numbers[2 * count], wrong = 0;
                  if (end.rank != 0) {
                    for (int i = 0; i < 2 * count; ++i) {
                      numbers[i] = i;
                      wire.send(i, &numbers[i], sizeof(int), 0, i % 2);
                    }
                    for (int i = 0; i < 2 * count; ++i)
                      wrong |= check(wire.await().error == 0, "is sent");
                    return wrong;
                  }
                  // Tag 1 of anybody, then tag 0 of each.
                  int next[3] = {0, 1, 1}, number = 0;
                  for (int i = 0; i < 2 * count; ++i) {
                    wire.receive(9, &number, sizeof(int), SCCL_ANY_RANK, 1);
                    scclCompletion ended = wire.await();
                    wrong |= check(ended.peer >= 1 && ended.peer <= 2 &&
                                       number == next[ended.peer],
                                   "from anybody");
                    next[ended.peer] = number + 2;
                  }
                  for (int peer : {2, 1})
                    for (int i = 0; i < count; ++i) {
                      wire.receive(9, &number, sizeof(int), peer, 0);
                      scclCompletion ended = wire.await();
                      wrong |= check(ended.peer == peer && number == 2 * i,
                                     "in order");
                    }
                  return wrong;
                }),
            0);
}

TEST_P(UcxTest, TooLongMessagesAreToldAndNotWritten) {
  EXPECT_EQ(run(2,
                [](const RankEnd &end) {
                  Wire wire(end);
                  int wrong = 0;
                  for (size_t bytes : {size_t(100), size_t(1) << 20}) {
                    std::vector<char> data(bytes + 1, 'x');
                    if (end.rank == 0) {
                      wire.send(0, data.data(), bytes, 1, 0);
                      wrong |= check(wire.await().request == 0, "is sent");
                      continue;
                    }
                    data.assign(bytes, 'y');
                    wire.receive(0, data.data(), bytes / 2, 0, 0);
                    scclCompletion ended = wire.await();
                    wrong |= check(ended.error == 0 && ended.bytes > bytes / 2,
                                   "is too long");
                    wrong |=
                        check(std::count(data.begin() + bytes / 2, data.end(),
                                         'y') == long(bytes - bytes / 2),
                              "what is behind stays");
                  }
                  return wrong;
                }),
            0);
}

TEST_P(UcxTest, WhatAsksEndsWhenItIsTaken) {
  EXPECT_EQ(run(2,
                [](const RankEnd &end) {
                  Wire wire(end);
                  int number = 17, wrong = 0;
                  if (end.rank == 0) {
                    wire.t.sendAsking(wire.t.context, 3, &number,
                                      sizeof(number), 1, 0);
                    wrong |= check(wire.await(0.1).request == -1, "not yet");
                    wrong |= check(wire.meet(), "meet");
                    wrong |= check(wire.await().request == 3, "is taken");
                    return wrong;
                  }
                  wrong |= check(wire.meet(), "meet");
                  int received = 0;
                  wire.receive(1, &received, sizeof(received), 0, 0);
                  wrong |=
                      check(wire.await().request == 1 && received == 17, "17");
                  return wrong;
                }),
            0);
}

/// The last rank to close has all that others have sent, who wait for that.
TEST_P(UcxTest, WhatWasSentBeforeTheEndArrives) {
  EXPECT_EQ(run(2,
                [](const RankEnd &end) {
                  Wire wire(end);
                  constexpr int count = 2000;
                  std::vector<char> data = bytesOf(4096, 1);
                  int wrong = 0;
                  if (end.rank == 0) {
                    for (int i = 0; i < count; ++i)
                      wire.send(i, data.data(), data.size(), 1, 0);
                    for (int i = 0; i < count; ++i)
                      wrong |= check(wire.await().error == 0, "is sent");
                    return wrong; // and closes
                  }
                  usleep(100000);
                  for (int i = 0; i < count; ++i) {
                    std::vector<char> received(data.size());
                    wire.receive(0, received.data(), data.size(), 0, 0);
                    scclCompletion ended = wire.await();
                    wrong |= check(ended.request == 0 && ended.error == 0 &&
                                       received == data,
                                   "message " + std::to_string(i));
                    if (wrong)
                      break;
                  }
                  return wrong;
                }),
            0);
}

TEST_P(UcxTest, PartsHaveMessagesOfTheirOwnAndLastLonger) {
  EXPECT_EQ(
      run(5,
          [](const RankEnd &end) {
            auto whole = std::make_unique<Wire>(end);
            scclTransport made = {};
            // Odd ranks, even ones the other way round, and none.
            int color = end.rank == 4 ? -1 : int(end.rank % 2);
            int key = color == 0 ? -int(end.rank) : 0;
            int wrong =
                check(whole->t.split(whole->t.context, color, key, &made) == 0,
                      "split");
            if (color < 0)
              return wrong | check(made.context == nullptr, "none");
            Wire part(made);
            int place = color == 0 ? end.rank == 0 : end.rank == 3;
            wrong |= check(made.rank == place && made.numRanks == 2, "place");
            int mine = int(end.rank), other = -1;
            // One of the whole under way is none of the part.
            int stray = -1;
            whole->receive(0, &stray, sizeof(int), SCCL_ANY_RANK, 0);
            part.receive(0, &other, sizeof(int), 1 - place, 0);
            part.send(1, &mine, sizeof(int), 1 - place, 0);
            for (int i = 0; i < 2; ++i)
              wrong |= check(part.await().error == 0, "message of a part");
            wrong |= check(other == int(end.rank ^ 2) && stray == -1, "whose");
            whole.reset();
            int all[2];
            wrong |= check(part.t.allGather(part.t.context, &mine, all,
                                            sizeof(int)) == 0 &&
                               all[place] == mine && all[1 - place] == other,
                           "gather in a part");
            return wrong;
          }),
      0);
}

TEST_P(UcxTest, AllGathersOfAnyNumberOfRanks) {
  for (unsigned numRanks : {1, 2, 3, 4, 5, 7, 8})
    EXPECT_EQ(run(numRanks,
                  [&](const RankEnd &end) {
                    Wire wire(end);
                    int wrong = 0;
                    for (size_t bytes : {size_t(1), size_t(100000)}) {
                      std::vector<char> mine = bytesOf(bytes, end.rank),
                                        all(numRanks * bytes);
                      wrong |=
                          check(wire.t.allGather(wire.t.context, mine.data(),
                                                 all.data(), bytes) == 0,
                                "gather");
                      for (unsigned rank = 0; rank < numRanks; ++rank) {
                        std::vector<char> part = bytesOf(bytes, rank);
                        wrong |= check(std::equal(part.begin(), part.end(),
                                                  all.begin() + rank * bytes),
                                       "part of " + std::to_string(rank));
                      }
                    }
                    return wrong;
                  }),
              0)
        << numRanks;
}

TEST_P(UcxTest, WhoDoesNotComeIsLateAndNobodyWaitsAtTheEnd) {
  EXPECT_EQ(run(2,
                [](const RankEnd &end) {
                  Wire wire(end, /*limit=*/0.3);
                  int wrong = check(wire.meet(), "meet");
                  if (end.rank == 0) {
                    Stopwatch watch;
                    char mine = 0, all[2];
                    wrong |= check(wire.t.allGather(wire.t.context, &mine, all,
                                                    1) == SCCL_ERROR_LATE,
                                   "late");
                    wrong |= check(!wire.meet(), "and stays so");
                    // What nobody takes.
                    std::vector<char> large(1 << 22);
                    wire.send(0, large.data(), large.size(), 1, 5);
                    wire.receive(1, large.data(), large.size(), 1, 6);
                    wire.close(1);
                    wrong |= check(watch.seconds() < 5, "in time");
                  }
                  meet(end);
                  return wrong;
                }),
            0);
}

/// Messages with a process that has ended fail; others of its kind go on.
TEST_P(UcxTest, LostRanksEndTheirMessages) {
  if (GetParam().ranks != RanksAs::Processes)
    GTEST_SKIP() << "threads end together";
  EXPECT_EQ(run(3,
                [](const RankEnd &end) {
                  Wire wire(end);
                  int wrong = check(wire.meet(), "meet");
                  int value = 0;
                  if (end.rank == 2) {
                    usleep(200000);
                    _exit(0);
                  }
                  wire.receive(0, &value, sizeof(int), 2, 0);
                  scclCompletion ended = wire.await();
                  wrong |= check(ended.request == 0 && ended.error != 0,
                                 "the receive fails");
                  wrong |= check(std::string(wire.t.errorText(
                                     wire.t.context, ended.error)) != "Success",
                                 "in words");
                  wire.send(1, &value, sizeof(int), 2, 0);
                  ended = wire.await();
                  wrong |= check(ended.request == 1 && ended.error != 0,
                                 "the send fails");
                  int mine = int(end.rank), peer = 1 - mine;
                  wire.receive(2, &value, sizeof(int), peer, 0);
                  wire.send(3, &mine, sizeof(int), peer, 0);
                  for (int i = 0; i < 2; ++i)
                    wrong |= check(wire.await().error == 0, "the others");
                  return wrong | check(value == peer, "are well");
                }),
            0);
}

/// All ranks learn which one cannot.
TEST_P(UcxTest, WhoCannotOpenIsNamed) {
  if (GetParam().ranks != RanksAs::Processes)
    GTEST_SKIP() << "threads have one environment";
  EXPECT_EQ(run(3,
                [](const RankEnd &end) {
                  if (end.rank == 1)
                    setenv("UCX_TLS", "nonsense", 1);
                  Wire wire(end);
                  return check(wire.result == scclErrorSystem &&
                                   messageHas("rank 1 cannot open UCX: "),
                               "rank 1");
                }),
            0);
}

/// The next allocation of this thread fails.
static void failNext() {
  inject(Injected::Allocations, 1, 0);
  injection.isArmed = true;
}

/// Ranks join, and rank 1 is out of memory after so many all-gathers.
static int joinWithout(const RankEnd &end, int gathers) {
  struct Meeting {
    const RankEnd &end;
    int gathers;
  } meeting = {end, end.rank == 1 ? gathers : -1};
  auto gather = [](void *context, const void *mine, void *all, size_t bytes) {
    auto &meeting = *static_cast<Meeting *>(context);
    int error = meeting.end.allGather(meeting.end.context, mine, all, bytes);
    if (--meeting.gathers == 0)
      failNext();
    return error;
  };
  if (meeting.gathers == 0)
    failNext();
  scclTransport made = {};
  scclResult code = scclUcxTransport(int(end.rank), int(end.numRanks), gather,
                                     &meeting, /*limit=*/20, &made);
  bool hasFailed = injection.hasFailed();
  inject(Injected::Nothing, 0, 0);
  // After the last all-gather others have joined: the caller closes them.
  if (end.rank != 1 && gathers == 3) {
    int wrong = check(code == scclSuccess, "has joined");
    made.close(made.context, /*failed=*/1);
    return wrong;
  }
  return check(code == scclErrorOutOfMemory &&
                   messageHas("rank 1 cannot open UCX: "),
               "without memory after " + std::to_string(gathers)) +
         check(hasFailed == (end.rank == 1), "it failed");
}

TEST_P(UcxTest, WhoHasNoMemoryMeetsTheOthers) {
  if (!canInject(Injected::Allocations))
    GTEST_SKIP() << "allocations cannot be made to fail here";
  for (int gathers : {0, 1, 3})
    EXPECT_EQ(
        run(3, [&](const RankEnd &end) { return joinWithout(end, gathers); }),
        0)
        << gathers;
  EXPECT_EQ(run(3,
                [](const RankEnd &end) {
                  Wire wire(end);
                  scclTransport made = {};
                  if (end.rank == 1)
                    failNext();
                  int error = wire.t.split(wire.t.context, 0, 0, &made);
                  inject(Injected::Nothing, 0, 0);
                  return check(error != 0 && error != SCCL_ERROR_LATE,
                               "no part") +
                         check(wire.meet(), "the whole goes on");
                }),
            0);
}
