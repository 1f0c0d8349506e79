//===- GPUSwitchTest.cpp - Tests of memory at a switch --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans for the host that say that their ranks are behind a switch. Their code
// does not use it; what it would have is looked up in the tables that it gets,
// and the driver of fake/Switch.cpp stands in for multimem.
//
//===----------------------------------------------------------------------===//

#include "GPUTesting.h"

using namespace sccl;

namespace {
/// The plan `name` for GPUs of CUDA, in which the programs that are not left
/// out have ranks in such groups.
std::string planAtSwitch(const char *name, std::vector<unsigned> groups,
                         unsigned plainPrograms = 0) {
  auto read = plan::readPlan(gpuPlan(name, scclDeviceCUDA));
  if (!read)
    return "";
  std::vector<plan::ProgramEntry> &programs = read->manifest.programs;
  for (size_t i = plainPrograms; i < programs.size(); ++i)
    programs[i].switchGroups = groups;
  auto written = plan::serialize(*read);
  return written ? *written : "";
}

class GPUSwitch : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_NE(fake.library, nullptr) << dlerror();
    fake.reset();
    ASSERT_EQ(fake.live(), 0u);
  }
  void TearDown() override { EXPECT_EQ(fake.live(), 0u); }

  /// Whether a word that is written at the switch of a rank's group comes to
  /// the scratch of its members, and only there, and a word that is read there
  /// is the sum of theirs.
  int checkSwitch(const RankEnd &end, const std::vector<unsigned> &groups) {
    auto *tables = reinterpret_cast<const PeerEntry *>(
        fake.get<uintptr_t(int)>("scclFakePeers", "")(int(end.rank)));
    auto *multicast =
        fake.get<bool(uint64_t, uint32_t)>("scclFakeMulticast", "");
    auto *reduce =
        fake.get<bool(uint64_t, uint32_t *)>("scclFakeLoadReduce", "");
    const PeerEntry &atSwitch = tables[end.numRanks];
    auto isAlone = [&](unsigned rank) {
      return std::count(groups.begin(), groups.end(), groups[rank]) == 1;
    };
    bool hasSwitch = !isAlone(end.rank);
    uint64_t place = uint64_t(atSwitch.scratch) + 4 * end.rank;
    auto wordOf = [&](unsigned rank, unsigned writer) -> uint32_t & {
      return static_cast<uint32_t *>(tables[rank].scratch)[writer];
    };
    int failed = check(!hasSwitch || (!atSwitch.input && !atSwitch.output &&
                                      !atSwitch.control),
                       "scratch only");
    meet(end);
    wordOf(end.rank, end.rank) = 0;
    for (unsigned writer = 0; writer < end.numRanks; ++writer)
      wordOf(end.rank, writer) = 0;
    meet(end);
    if (hasSwitch)
      failed += check(multicast(place, 100 + end.rank), "multicast");
    meet(end);
    for (unsigned rank = 0; rank < end.numRanks; ++rank)
      for (unsigned writer = 0; writer < end.numRanks; ++writer)
        failed += check(wordOf(rank, writer) ==
                            (groups[rank] == groups[writer] && !isAlone(rank)
                                 ? 100 + writer
                                 : 0),
                        "word " + std::to_string(writer) + " of rank " +
                            std::to_string(rank));
    meet(end);
    wordOf(end.rank, 0) = 1 + end.rank;
    meet(end);
    uint32_t sum = 0, expected = 0;
    for (unsigned rank = 0; rank < end.numRanks; ++rank)
      expected += groups[rank] == groups[end.rank] ? 1 + rank : 0;
    if (hasSwitch)
      failed +=
          check(reduce(uint64_t(atSwitch.scratch), &sum) && sum == expected,
                "sum " + std::to_string(sum));
    meet(end);
    return failed;
  }

  /// Launches of all programs, and then the switch of the last one.
  int useAll(const RankEnd &end, const std::string &bytes, bool gathers,
             const std::vector<unsigned> &groups) {
    Member member;
    if (check(!join(member, end, bytes, scclDeviceCUDA, 10, end.numRanks),
              "join"))
      return 1;
    constexpr size_t count = 70001;
    void *send = nullptr, *recv = nullptr;
    if (check(!scclMemAlloc(member.comm, count * 4, &send) &&
                  !scclMemAlloc(member.comm, count * 4 * end.numRanks, &recv),
              "scclMemAlloc"))
      return 1;
    int failed = 0;
    scclChoice choice = {};
    choice.size = sizeof(choice);
    for (choice.program = 0; choice.program < 3; ++choice.program)
      for (scclPath path : {scclPathDirect, scclPathStaging}) {
        choice.path = path;
        choice.pieceBytes = path == scclPathStaging ? 1 << 14 : 0;
        bool isRight = false;
        failed += check(!scclCommSetChoice(member.comm, member.plan, &choice) &&
                            !collect(member, end, gathers, count, send, recv,
                                     nullptr, isRight) &&
                            isRight,
                        "program " + std::to_string(choice.program));
        failed += checkSwitch(end, groups);
      }
    return failed;
  }

  /// Joins with ranks as threads; all of them must get the same.
  void expectFailure(const std::string &bytes, scclResult code,
                     const std::string &message, int devices = 2) {
    EXPECT_EQ(0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
                Member member;
                return check(join(member, end, bytes, scclDeviceCUDA, 10,
                                  devices) == code &&
                                 messageHas(message),
                             message);
              }));
  }

  Setting devices{"SCCL_FAKE_DEVICES", "4"};
  Fake fake{scclDeviceCUDA};
};
} // namespace

TEST_F(GPUSwitch, BindsScratch) {
  for (RanksAs how : {RanksAs::Threads, RanksAs::Processes}) {
    std::string pair = planAtSwitch("pair-halves-all_reduce", {0, 0});
    std::string four = planAtSwitch("ring4-all_gather", {0, 1, 1, 0});
    ASSERT_FALSE(pair.empty() || four.empty());
    EXPECT_EQ(0, runRanks(2, how, [&](const RankEnd &end) {
                return useAll(end, pair, false, {0, 0});
              }));
    EXPECT_EQ(0, runRanks(4, how, [&](const RankEnd &end) {
                return useAll(end, four, true, {0, 1, 1, 0});
              }));
    // Two ranks that are behind no switch.
    four = planAtSwitch("ring4-all_gather", {0, 1, 2, 0});
    EXPECT_EQ(0, runRanks(4, how, [&](const RankEnd &end) {
                return useAll(end, four, true, {0, 1, 2, 0});
              }));
  }
}

TEST_F(GPUSwitch, RefusesWhatCannot) {
  std::string bytes = planAtSwitch("pair-halves-all_reduce", {0, 0});
  {
    Setting none("SCCL_FAKE_NO_SWITCH", "1");
    expectFailure(bytes, scclErrorUnsupported,
                  "has only programs with multicast, and sm_90 device ");
  }
  {
    Setting one("SCCL_FAKE_NO_SWITCH", "2");
    expectFailure(bytes, scclErrorUnsupported,
                  "sm_90 device 1 has no multicast through a switch");
    // Rank 1 would do without.
    expectFailure(planAtSwitch("pair-halves-all_reduce", {0, 0}, 1),
                  scclErrorMismatch,
                  "rank 0 has multicast through a switch for this plan, and "
                  "rank 1 has none");
  }
  auto read = plan::readPlan(planAtSwitch("ring4-all_gather", {0, 1, 1, 0}));
  ASSERT_TRUE(bool(read)) << read.error();
  read->manifest.programs[0].switchGroups = {0, 0, 1, 1};
  std::string different = *plan::serialize(*read);
  EXPECT_EQ(0, runRanks(4, RanksAs::Threads, [&](const RankEnd &end) {
              Member member;
              return check(join(member, end, different, scclDeviceCUDA, 10,
                                4) == scclErrorUnsupported &&
                               messageHas("different groups of ranks"),
                           "different groups");
            }));
}

/// Without multicast the plan's other programs are taken.
TEST_F(GPUSwitch, FallsBack) {
  std::string bytes = planAtSwitch("pair-halves-all_reduce", {0, 0}, 1);
  for (const char *none : {"0", "1"}) {
    Setting setting("SCCL_FAKE_NO_SWITCH", none);
    fake.reset();
    EXPECT_EQ(0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
                Member member;
                if (check(!join(member, end, bytes, scclDeviceCUDA), "join"))
                  return 1;
                void *send = nullptr, *recv = nullptr;
                bool isRight = false;
                scclMemAlloc(member.comm, 4000, &send);
                scclMemAlloc(member.comm, 4000, &recv);
                int failed = check(!collect(member, end, false, 1000, send,
                                            recv, nullptr, isRight) &&
                                       isRight,
                                   "launch");
                meet(end);
                return failed;
              }));
    EXPECT_EQ(fake.calls("cuMulticastCreate", ""), *none == '0' ? 1u : 0u);
  }
}

/// What a switch does not reduce, another program of the plan does, whichever
/// was chosen.
TEST_F(GPUSwitch, LeavesTypesToOthers) {
  auto read = plan::readPlan(gpuPlan("pair-halves-all_reduce", scclDeviceCUDA));
  ASSERT_TRUE(bool(read)) << read.error();
  read->manifest.programs[0].switchGroups = {0, 0};
  for (plan::KernelInfo &kernel : read->manifest.kernels)
    if (kernel.program == 0)
      kernel.element = "f64";
  std::string bytes = *plan::serialize(*read);
  EXPECT_EQ(0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
              Member member;
              if (check(!join(member, end, bytes, scclDeviceCUDA), "join"))
                return 1;
              void *send = nullptr, *recv = nullptr;
              bool isRight = false;
              scclMemAlloc(member.comm, 4000, &send);
              scclMemAlloc(member.comm, 4000, &recv);
              scclChoice choice = {};
              choice.size = sizeof(choice);
              int failed =
                  check(!scclCommSetChoice(member.comm, member.plan, &choice) &&
                            !collect(member, end, false, 1000, send, recv,
                                     nullptr, isRight) &&
                            isRight,
                        "launch");
              meet(end);
              return failed;
            }));
}

/// Without a switch, or for a type that it does not reduce, the table counts
/// that names no program at one.
TEST_F(GPUSwitch, HasSizesWithoutSwitches) {
  for (bool lacksType : {false, true}) {
    auto read =
        plan::readPlan(gpuPlan("pair-halves-all_reduce", scclDeviceCUDA));
    ASSERT_TRUE(bool(read)) << read.error();
    plan::Manifest &manifest = read->manifest;
    manifest.programs[0].switchGroups = {0, 0};
    manifest.tables = {
        {"model", "", "", {{0, 0, plan::Path::Auto, 0}}},
        {"model",
         "",
         "",
         {{0, 1, plan::Path::Auto, 0}, {1 << 20, 2, plan::Path::Auto, 0}}}};
    for (plan::KernelInfo &kernel : manifest.kernels)
      if (kernel.program == 0 && lacksType)
        kernel.element = "f64";
    std::string bytes = *plan::serialize(*read);
    for (const char *none : {"0", "1"}) {
      Setting setting("SCCL_FAKE_NO_SWITCH", none);
      bool hasSwitch = *none == '0';
      EXPECT_EQ(0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
                  Member member;
                  if (check(!join(member, end, bytes, scclDeviceCUDA), "join"))
                    return 1;
                  auto taken = [&](size_t count) {
                    scclChoice choice = {};
                    choice.size = sizeof(choice);
                    scclQueryChoice(member.comm, member.plan, count,
                                    scclFloat32, scclSum, &choice);
                    return choice.path == scclPathDirect ? choice.program : -1;
                  };
                  bool isAtSwitch = hasSwitch && !lacksType;
                  int failed =
                      check(taken(50000) == (isAtSwitch ? 0 : 1), "small") +
                      check(taken(1000000) == (isAtSwitch ? 0 : 2), "large");
                  meet(end);
                  return failed;
                }));
    }
  }
}

/// Whatever call fails, all ranks get an error, and nothing is left.
TEST_F(GPUSwitch, FailsTogether) {
  std::string bytes = planAtSwitch("pair-halves-all_reduce", {0, 0});
  for (const char *call :
       {"cuMemCreate:1", "cuMemCreate:2", "cuMemAddressReserve:1",
        "cuMemAddressReserve:3", "cuMemMap:2", "cuMemMap:4", "cuMemSetAccess:1",
        "cuMemSetAccess:3", "cuMemExportToShareableHandle:1",
        "cuMemExportToShareableHandle:3", "cuMemImportFromShareableHandle:1",
        "cuMemGetAllocationGranularity:1", "cuMulticastGetGranularity:1",
        "cuMulticastGetGranularity:3", "cuMulticastCreate:1",
        "cuMulticastAddDevice:1", "cuMulticastAddDevice:2",
        "cuMulticastBindMem:1", "cuMulticastBindMem:2"}) {
    SCOPED_TRACE(call);
    fake.reset();
    Setting fail("SCCL_FAKE_FAIL", call);
    expectFailure(bytes, scclErrorDevice, "told to fail");
    EXPECT_EQ(fake.live(), 0u);
  }
}
