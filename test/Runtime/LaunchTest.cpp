//===- LaunchTest.cpp - Tests of launches on CPUs -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LibraryTesting.h"

#include "sccl/Plan/Plan.h"

#include <atomic>
#include <cstdlib>
#include <thread>
#include <utility>

using namespace sccl;

/// See Allocations.cpp.
extern std::atomic<uint64_t> allocations;

TEST_P(EitherWay, ReducesAnySizeFromAnyMemory) {
  for (const char *plan : {allReduce, exchange})
    EXPECT_EQ(
        0, runRanks(2, GetParam(), [plan](const RankEnd &end) {
          Member member;
          if (check(member.join(end, plan) == scclSuccess, "join"))
            return 1;
          constexpr size_t most = 3000001;
          void *shared[2];
          for (void *&memory : shared)
            if (scclMemAlloc(member.comm, most * 4, &memory))
              return check(false, "scclMemAlloc");
          std::vector<float> send(most), recv(most);
          for (size_t count :
               {size_t(1), size_t(3), size_t(1000), size_t(65537), most}) {
            auto *a = static_cast<float *>(shared[0]);
            auto *b = static_cast<float *>(shared[1]);
            if (reduceOnce(member, end, send.data(), recv.data(), count) ||
                reduceOnce(member, end, a, b, count) ||
                reduceOnce(member, end, a, a, count) ||
                reduceOnce(member, end, send.data(), send.data(), count) ||
                // One rank registered, the other not.
                reduceOnce(member, end, end.rank ? a : send.data(),
                           end.rank ? b : recv.data(), count))
              return 1;
          }
          int failed = check(!scclMemFree(member.comm, shared[0]), "free") +
                       check(scclMemFree(member.comm, shared[0]) ==
                                 scclErrorInvalidArgument,
                             "second free");
          return failed;
        }));
}

/// What ranks send to each other, by all_gather or all_to_all.
struct Exchange {
  const RankEnd &end;
  bool isAllToAll;
  size_t count; ///< of a segment

  unsigned sendSegments() const { return isAllToAll ? end.numRanks : 1; }
  static float value(unsigned rank, unsigned segment, size_t i) {
    return float((rank * 31 + segment * 7 + i) % 1021);
  }
  void fill(float *send) const {
    for (unsigned segment = 0; segment < sendSegments(); ++segment)
      for (size_t i = 0; i < count; ++i)
        send[segment * count + i] = value(end.rank, segment, i);
  }
  /// 0 if `recv` holds what everyone has sent here.
  int compare(const float *recv, const std::string &what) const {
    for (unsigned from = 0; from < end.numRanks; ++from)
      for (size_t i = 0; i < count; ++i)
        if (recv[from * count + i] != value(from, isAllToAll ? end.rank : 0, i))
          return check(false, what + ", from rank " + std::to_string(from) +
                                  ", element " + std::to_string(i));
    return 0;
  }
};

/// Launches every program with every path and length of pieces, from memory of
/// all kinds.
static int exchangeEveryWay(Member &member, const Exchange &exchange) {
  const RankEnd &end = exchange.end;
  size_t elements = exchange.count * end.numRanks;
  void *shared[2];
  for (void *&memory : shared)
    if (scclMemAlloc(member.comm, elements * 4, &memory))
      return check(false, "scclMemAlloc");
  std::vector<float> own[2] = {std::vector<float>(elements),
                               std::vector<float>(elements)};
  scclChoice choice = {};
  choice.size = sizeof(choice);
  unsigned programs = 0;
  for (; choice.path = scclPathDirect,
         scclCommSetChoice(member.comm, member.plan, &choice) == scclSuccess;
       ++choice.program, ++programs)
    for (scclPath path : {scclPathDirect, scclPathStaging})
      for (size_t piece : {0, 192, 20000})
        for (unsigned kinds = 0; kinds < 8; ++kinds) {
          choice.path = path;
          choice.pieceBytes = piece;
          scclCommSetChoice(member.comm, member.plan, &choice);
          auto memory = [&](unsigned index) {
            return kinds >> index & 1 ? static_cast<float *>(shared[index])
                                      : own[index].data();
          };
          float *recv = memory(1), *send = memory(0);
          // Where one rank works in place, the others need not.
          if (kinds & 4 && end.rank != 1)
            send =
                exchange.isAllToAll ? recv : recv + end.rank * exchange.count;
          exchange.fill(send);
          std::string what = "program " + std::to_string(choice.program) +
                             ", path " + std::to_string(path) + ", pieces of " +
                             std::to_string(piece) + ", memory " +
                             std::to_string(kinds);
          if (check(!member.launch(send, recv, exchange.count), what) ||
              exchange.compare(recv, what))
            return 1;
        }
  return check(programs == 4, "programs of the plan");
}

TEST_P(EitherWay, MovesEveryWay) {
  for (auto [plan, ranks] : {std::pair(allGather, 4), {allToAll, 2}})
    for (size_t count : {1, 47, 6001})
      EXPECT_EQ(
          0,
          runRanks(
              ranks, GetParam(),
              [plan, count](const RankEnd &end) {
                Member member;
                if (check(!member.join(end, plan), "join"))
                  return 1;
                return exchangeEveryWay(member, {end, plan == allToAll, count});
              }))
          << plan << ", " << count << " elements";
}

TEST_P(EitherWay, RefusesBadBuffers) {
  EXPECT_EQ(
      0, runRanks(2, GetParam(), [](const RankEnd &end) {
        Member member;
        if (check(member.join(end, allReduce) == scclSuccess, "join"))
          return 1;
        std::vector<float> a(100), b(100);
        char *bytes = reinterpret_cast<char *>(a.data());
        auto *odd = reinterpret_cast<float *>(bytes + 1);
        auto refuses = [&](const float *send, float *recv, size_t count,
                           const char *message) {
          return check(member.launch(send, recv, count) ==
                               scclErrorInvalidArgument &&
                           messageHas(message),
                       message);
        };
        int failed = refuses(nullptr, b.data(), 10,
                             "send is null, and should "
                             "have 40 bytes") +
                     refuses(a.data(), nullptr, 10, "recv is null") +
                     refuses(odd, b.data(), 10, "send is not aligned to 4") +
                     refuses(a.data(), a.data() + 1, 10, "overlap") +
                     refuses(a.data(), b.data(), SIZE_MAX / 2, "too much") +
                     refuses(reinterpret_cast<float *>(UINTPTR_MAX - 15),
                             b.data(), 10, "beyond the end");
        auto code = [&](scclDataType type, scclRedOp op, void *stream) {
          return scclLaunch(member.comm, member.plan, a.data(), b.data(), 10,
                            type, op, stream);
        };
        failed +=
            check(code(scclDataType(12), scclSum, nullptr) ==
                      scclErrorInvalidArgument,
                  "type 12") +
            check(code(scclFloat32, scclRedOp(-1), nullptr) ==
                      scclErrorInvalidArgument,
                  "op -1") +
            check(code(scclFloat32, scclSum, &failed) ==
                      scclErrorInvalidArgument,
                  "a stream") +
            check(code(scclFloat64, scclSum, nullptr) == scclErrorUnsupported &&
                      messageHas("cannot reduce f64 sum; it has: f32 sum"),
                  "f64");
        // None of this has harmed the communicator.
        return failed + reduceOnce(member, end, a.data(), b.data(), 100) +
               check(member.launch(nullptr, nullptr, 0) == scclSuccess,
                     "count 0");
      }));
}

TEST(Library, CountsAllocations) {
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) &&                    \
    !defined(__SANITIZE_THREAD__)
  // Volatile, or the compiler leaves them out.
  void *(*volatile get)(size_t) = std::malloc;
  void *(*volatile getZeroed)(size_t, size_t) = std::calloc;
  void *(*volatile change)(void *, size_t) = std::realloc;
  void *(*volatile getAligned)(size_t, size_t) = std::aligned_alloc;
  uint64_t before = allocations;
  void *memory = get(10);
  EXPECT_EQ(allocations, before + 1);
  memory = change(memory, 100000);
  EXPECT_EQ(allocations, before + 2);
  std::free(memory);
  std::free(getZeroed(3, 5));
  EXPECT_EQ(allocations, before + 3);
  std::free(getAligned(64, 128));
  EXPECT_EQ(allocations, before + 4);
#endif
  uint64_t start = allocations;
  int *volatile number = new int(1);
  EXPECT_EQ(allocations, start + 1);
  delete number;
}

TEST_P(EitherWay, DoesNotAllocateInLaunches) {
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              Member member;
              if (check(member.join(end, allReduce) == scclSuccess, "join"))
                return 1;
              std::vector<float> a(100000), b(100000);
              std::vector<int> all;
              for (size_t count : {size_t(2), a.size()})
                if (check(member.launch(a.data(), b.data(), count) == 0, "1st"))
                  return 1;
              end.gather(0, all);
              uint64_t before = allocations;
              for (unsigned i = 0; i < 100; ++i)
                for (size_t count : {size_t(2), a.size()})
                  if (check(!member.launch(a.data(), b.data(), count), "nth"))
                    return 1;
              uint64_t after = allocations;
              end.gather(0, all);
              return check(after == before, "allocations in launches");
            }));
}

TEST_P(EitherWay, TellsWhatItChooses) {
  EXPECT_EQ(
      0, runRanks(2, GetParam(), [](const RankEnd &end) {
        Member member;
        if (check(member.join(end, allReduce) == scclSuccess, "join"))
          return 1;
        scclChoice choice = {};
        choice.size = sizeof(choice);
        size_t scratch = 0;
        auto query = [&](size_t count) {
          return scclQueryChoice(member.comm, member.plan, count, scclFloat32,
                                 scclSum, &choice);
        };
        int failed = check(query(1) == 0 && choice.program == 2 &&
                               std::string(choice.reason) ==
                                   "cheapest in the cost model",
                           "small") +
                     check(query(1 << 20) == 0 && choice.path == scclPathDirect,
                           "large") +
                     check(scclQueryScratch(member.comm, &scratch) == 0 &&
                               scratch > 4096,
                           "scratch");
        for (auto [type, op] : {std::pair(99, 0), {-1, 0}, {scclFloat32, 77}})
          failed += check(scclQueryChoice(member.comm, member.plan, 1,
                                          scclDataType(type), scclRedOp(op),
                                          &choice) == scclErrorInvalidArgument,
                          "query of type " + std::to_string(type) + " and op " +
                              std::to_string(op));
        choice.path = scclPathStaging;
        choice.pieceBytes = 4096;
        failed +=
            check(scclCommSetChoice(member.comm, member.plan, &choice) == 0,
                  "set") +
            check(query(1 << 20) == 0 && choice.pieceBytes == 4096 &&
                      choice.path == scclPathStaging,
                  "forced");
        std::vector<float> a(100000), b(100000);
        failed += reduceOnce(member, end, a.data(), b.data(), a.size());
        choice.program = 77;
        return failed +
               check(scclCommSetChoice(member.comm, member.plan, &choice) ==
                         scclErrorUnsupported,
                     "program 77");
      }));
}

/// A plan that asks for less control memory than its code uses.
TEST_P(EitherWay, NoticesWhoWritesBesideItsMemory) {
  plan::Plan broken = *plan::readPlan(readFile(exchange));
  for (plan::ProgramEntry &program : broken.manifest.programs)
    program.ranks[1].controlBytes -= 128;
  std::string bytes = *plan::serialize(broken);
  EXPECT_EQ(0, runRanks(2, GetParam(), [&](const RankEnd &end) {
              Member member;
              scclConfig config = SCCL_CONFIG_INITIALIZER;
              config.timeoutSeconds = 5;
              int failed = check(!scclPlanLoadMemory(bytes.data(), bytes.size(),
                                                     &member.plan) &&
                                     !member.join(end, config, 2),
                                 "join");
              // What comes out is anybody's guess.
              float a = 1, b = 0;
              (void)member.launch(&a, &b, 1);
              meet(end);
              scclResult code =
                  scclCommDestroy(std::exchange(member.comm, nullptr));
              if (end.rank == 0)
                return failed + check(code == scclSuccess, "rank 0");
              return failed + check(code == scclErrorInternal &&
                                        messageHas("written beside the memory "
                                                   "that rank 1 has for it"),
                                    "rank 1");
            }));
}

/// Two programs whose LL words say only which launch of their own they are
/// from: what one of them has left in scratch memory is not for the other.
TEST_P(EitherWay, KeepsLLWordsOfProgramsApart) {
  plan::Plan plan =
      *plan::readPlan(readFile(SCCL_TEST_PLANS "/pair-ll-all_reduce.sccl"));
  ASSERT_EQ(plan.manifest.programs.size(), 2u);
  std::vector<plan::SizeChoice> &choices = plan.manifest.tables.front().choices;
  choices = {{0, 0, plan::Path::Auto, 0}, {1000, 1, plan::Path::Auto, 0}};
  const std::string bytes = *plan::serialize(plan);
  EXPECT_EQ(0, runRanks(2, GetParam(), [&](const RankEnd &end) {
              Member member;
              scclConfig config = SCCL_CONFIG_INITIALIZER;
              int failed = check(!scclPlanLoadMemory(bytes.data(), bytes.size(),
                                                     &member.plan) &&
                                     !member.join(end, config, 2),
                                 "join");
              std::vector<float> send(500), recv(500);
              for (unsigned i = 0; i < 200 && !failed; ++i)
                failed = reduceOnce(member, end, send.data(), recv.data(),
                                    i % 2 ? 500 - i : 249 - i);
              return failed;
            }));
}

TEST_P(EitherWay, RecordsNothingOfCodeThatDoesNotTell) {
  EXPECT_EQ(0, runRanks(2, GetParam(), [&](const RankEnd &end) {
              Member member;
              const scclTraceEvent *events = nullptr;
              size_t count = 1;
              std::vector<float> send(500), recv(500);
              scclResult none = scclCommTrace(nullptr, 1);
              int failed =
                  check(none == scclErrorInvalidArgument, "no communicator") +
                  check(!member.join(end, exchange) &&
                            !scclCommTrace(member.comm, 1),
                        "begin");
              failed += reduceOnce(member, end, send.data(), recv.data(), 500);
              return failed +
                     check(scclQueryTrace(member.comm, nullptr, &count) ==
                               scclErrorInvalidArgument,
                           "null") +
                     check(!scclQueryTrace(member.comm, &events, &count) &&
                               count == 0,
                           "nothing") +
                     check(!scclCommTrace(member.comm, 0), "end");
            }));
}
