//===- LibraryTest.cpp - Tests of libsccl ---------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LibraryTesting.h"

#include "sccl/Plan/Plan.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace sccl;

/// See Allocations.cpp.
extern std::atomic<uint64_t> allocations;

INSTANTIATE_TEST_SUITE_P(Library, EitherWay,
                         testing::Values(RanksAs::Threads, RanksAs::Processes),
                         [](const auto &info) {
                           return ranksAsName(info.param).str();
                         });

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

TEST(Library, KnowsItsVersion) {
  int version = 0;
  EXPECT_EQ(scclGetVersion(&version), scclSuccess);
  EXPECT_EQ(version, SCCL_VERSION_CODE);
  EXPECT_EQ(scclGetVersion(nullptr), scclErrorInvalidArgument);
  EXPECT_STREQ(scclErrorString(scclErrorBusy), "a launch is in flight");
  EXPECT_STREQ(scclErrorString(scclResult(99)), "unknown result code");
}

TEST(Library, DescribesAPlan) {
  scclPlan plan = nullptr;
  ASSERT_EQ(scclPlanLoad(allReduce, &plan), scclSuccess);
  scclPlanInfo info = {};
  EXPECT_EQ(scclPlanGetInfo(plan, &info), scclErrorInvalidArgument);
  EXPECT_TRUE(messageHas("info.size is 0"));
  info.size = sizeof(info);
  EXPECT_EQ(scclPlanGetInfo(plan, &info), scclSuccess);
  EXPECT_STREQ(info.collective, "all_reduce");
  EXPECT_EQ(info.ranks, 2);
  EXPECT_EQ(info.combining, 1);
  EXPECT_EQ(strlen(info.hash), 64u);
  EXPECT_EQ(scclPlanDestroy(plan), scclSuccess);
}

TEST(Library, RefusesBadPlans) {
  scclPlan plan = nullptr;
  EXPECT_EQ(scclPlanLoad("/nonexistent.sccl", &plan), scclErrorSystem);
  EXPECT_TRUE(messageHas("cannot open /nonexistent.sccl: No such file"));
  EXPECT_EQ(scclPlanLoad("/", &plan), scclErrorInvalidPlan);
  EXPECT_TRUE(messageHas("/ is no regular file"));
  EXPECT_EQ(scclPlanLoad(nullptr, &plan), scclErrorInvalidArgument);
  EXPECT_EQ(scclPlanLoad("/proc/self/exe", &plan), scclErrorInvalidPlan);
  EXPECT_TRUE(messageHas("this is no sccl plan"));
  std::string bytes = readFile(allReduce);
  ASSERT_FALSE(bytes.empty());
  for (size_t size : {size_t(0), size_t(30), size_t(64), bytes.size() - 1})
    EXPECT_EQ(scclPlanLoadMemory(bytes.data(), size, &plan),
              scclErrorInvalidPlan);
  size_t end = *plan::headBytes(bytes, bytes.size()); // the rest comes later
  for (size_t i = 0; i < end; i += 211) {
    bytes[i] ^= 4;
    EXPECT_EQ(scclPlanLoadMemory(bytes.data(), bytes.size(), &plan),
              scclErrorInvalidPlan)
        << i;
    bytes[i] ^= 4;
  }
  bytes[8] = 9;
  EXPECT_EQ(scclPlanLoadMemory(bytes.data(), bytes.size(), &plan),
            scclErrorInvalidPlan);
  EXPECT_TRUE(messageHas("format version 9, this is for version 2"));
  EXPECT_EQ(plan, nullptr);
}

TEST(Library, RefusesAPipeWithoutWaiting) {
  std::string path =
      testing::TempDir() + "sccl-pipe-" + std::to_string(getpid());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  scclPlan plan = nullptr;
  alarm(20);
  EXPECT_EQ(scclPlanLoad(path.c_str(), &plan), scclErrorInvalidPlan);
  alarm(0);
  EXPECT_TRUE(messageHas("is no regular file"));
  unlink(path.c_str());
}

/// The time does not depend on code for other devices.
TEST(Library, LoadsFast) {
  std::string bytes = readFile(allReduce);
  Result<plan::Plan> read = plan::readPlan(bytes);
  ASSERT_TRUE(bool(read)) << read.error();
  plan::Plan &large = *read;
  large.blobs.resize(large.blobs.size() + 10, std::string(500000, 'x'));
  bytes = *plan::serialize(large);
  double best = 1;
  for (unsigned i = 0; i < 20; ++i) {
    Stopwatch watch;
    scclPlan plan = nullptr;
    ASSERT_EQ(scclPlanLoadMemory(bytes.data(), bytes.size(), &plan),
              scclSuccess);
    best = std::min(best, watch.seconds());
    scclPlanDestroy(plan);
  }
  EXPECT_LT(best, 0.010);
}

//===----------------------------------------------------------------------===//
// Joining
//===----------------------------------------------------------------------===//

TEST_P(EitherWay, RefusesTheWrongNumberOfRanks) {
  EXPECT_EQ(0, runRanks(3, GetParam(), [](const RankEnd &end) {
              Member member;
              return check(member.join(end, allReduce) == scclErrorMismatch &&
                               messageHas("is for 2 ranks, and there are 3"),
                           "three ranks");
            }));
}

TEST_P(EitherWay, RefusesDifferentPlans) {
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              Member member;
              return check(
                  member.join(end, end.rank == 0 ? allReduce : ptxOnly) ==
                          scclErrorMismatch &&
                      messageHas("has another plan") && messageHas("(M1)"),
                  "different plans");
            }));
}

TEST_P(EitherWay, FailsForAllIfOneFails) {
  // Rank 1 asks for a device that there is not.
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              Member member;
              scclPlanLoad(allReduce, &member.plan);
              scclConfig config = SCCL_CONFIG_INITIALIZER;
              config.scratchBytes = end.rank == 1 ? 1 : 0;
              scclResult result = member.join(end, config, 2);
              return check(result == scclErrorOutOfMemory &&
                               messageHas("bytes of memory, which is more"),
                           "scratch memory of 1 byte");
            }));
}

TEST(Library, RefusesBadArgumentsOfInit) {
  Member member;
  ASSERT_EQ(scclPlanLoad(allReduce, &member.plan), scclSuccess);
  auto never = [](void *, const void *, void *, size_t) { return 1; };
  auto init = [&](int rank, int ranks, const scclConfig *config) {
    return scclCommInit(rank, ranks, never, nullptr, config, &member.comm);
  };
  EXPECT_EQ(init(2, 2, nullptr), scclErrorInvalidArgument);
  EXPECT_EQ(init(-1, 2, nullptr), scclErrorInvalidArgument);
  EXPECT_EQ(init(0, 0, nullptr), scclErrorInvalidArgument);
  scclConfig config = SCCL_CONFIG_INITIALIZER;
  config.timeoutSeconds = 0;
  EXPECT_EQ(init(0, 2, &config), scclErrorInvalidArgument);
  config = SCCL_CONFIG_INITIALIZER;
  config.size = 4;
  EXPECT_EQ(init(0, 2, &config), scclErrorInvalidArgument);
  EXPECT_EQ(init(0, 2, nullptr), scclErrorSystem);
  EXPECT_TRUE(messageHas("all-gather failed"));
  EXPECT_EQ(scclCommInit(0, 2, nullptr, nullptr, nullptr, &member.comm),
            scclErrorInvalidArgument);
}

TEST_P(EitherWay, RefusesDamagedCode) {
  std::string bytes = readFile(allReduce);
  size_t code = bytes.find("\x7f"
                           "ELF");
  ASSERT_NE(code, std::string::npos);
  bytes[code + 200] ^= 4;
  EXPECT_EQ(0, runRanks(2, GetParam(), [&](const RankEnd &end) {
              Member member;
              scclConfig config = SCCL_CONFIG_INITIALIZER;
              return check(!scclPlanLoadMemory(bytes.data(), bytes.size(),
                                               &member.plan) &&
                               member.join(end, config, 2) ==
                                   scclErrorInvalidPlan &&
                               messageHas("blob 0 does not have the SHA-256"),
                           "damaged code");
            }));
}

TEST_P(EitherWay, RefusesAPlanForOtherDevices) {
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              Member member;
              return check(member.join(end, ptxOnly) == scclErrorUnsupported &&
                               messageHas("it has code for: sm_90"),
                           "a plan without code for CPUs");
            }));
}

//===----------------------------------------------------------------------===//
// Launching
//===----------------------------------------------------------------------===//

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
      EXPECT_EQ(0, runRanks(ranks, GetParam(),
                            [plan, count](const RankEnd &end) {
                              Member member;
                              if (check(!member.join(end, plan), "join"))
                                return 1;
                              return exchangeEveryWay(
                                  member, {end, plan == allToAll, count});
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

/// Open files and mappings of shared memory of this process.
static std::string resources() {
  namespace fs = std::filesystem;
  auto count = [](const char *path) {
    return std::distance(fs::directory_iterator(path),
                         fs::directory_iterator());
  };
  std::ifstream maps("/proc/self/maps");
  std::string line;
  unsigned shared = 0;
  while (std::getline(maps, line))
    shared += line.find("memfd:sccl") != std::string::npos;
  return std::to_string(count("/proc/self/fd")) + " files, " +
         std::to_string(shared) + " mappings, " +
         std::to_string(count("/dev/shm")) + " names";
}

TEST(Library, ReleasesWhatItTakes) {
  std::string before = resources();
  for (unsigned round = 0; round < 3; ++round)
    EXPECT_EQ(0, runRanks(4, RanksAs::Threads, [&](const RankEnd &end) {
                Member member;
                void *memory = nullptr;
                std::vector<int> all;
                int failed = check(!member.join(end, allGather), "join") +
                             check(!scclMemAlloc(member.comm, 4096, &memory),
                                   "scclMemAlloc");
                std::vector<float> a(100), b(400);
                failed += check(!member.launch(a.data(), b.data(), 100), "run");
                end.gather(0, all);
                return failed;
              }));
  EXPECT_EQ(resources(), before);
}
