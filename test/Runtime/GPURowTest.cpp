//===- GPURowTest.cpp - What sccl plan answers, on GPUs of several hosts --===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every schedule that sccl plan has found for some size of a collective, on
// hosts as the machine has them: kernels and writes within a host, messages
// between hosts. Collectives that other tests have are not here again.
//
//===----------------------------------------------------------------------===//

#include "GPURounds.h"

#include <filesystem>

using namespace sccl;

namespace {
/// A collective on ranks with `count` elements in each segment.
struct Definition {
  std::string collective;
  unsigned ranks, root;
  size_t count;

  bool sendsAll() const {
    return collective == "all_to_all" || collective == "reduce_scatter" ||
           collective == "scatter";
  }
  std::vector<float> input(unsigned rank) const {
    return inputOf<float>(rank, sendsAll() ? ranks * count : count);
  }
  std::vector<float> segment(unsigned of, unsigned number) const {
    std::vector<float> all = input(of);
    return {all.begin() + number * count, all.begin() + (number + 1) * count};
  }
  std::vector<float> sum(unsigned number) const {
    std::vector<float> result(count);
    for (unsigned of = 0; of < ranks; ++of) {
      std::vector<float> part = segment(of, number);
      for (size_t i = 0; i < count; ++i)
        result[i] += part[i];
    }
    return result;
  }
  /// Of a rank that has no output nothing.
  std::vector<float> output(unsigned rank) const {
    if (collective == "broadcast")
      return segment(root, 0);
    if (collective == "scatter")
      return segment(root, rank);
    if (collective == "reduce_scatter")
      return sum(rank);
    if (collective == "all_reduce" || collective == "reduce")
      return collective == "reduce" && rank != root ? std::vector<float>()
                                                    : sum(0);
    std::vector<float> result;
    if (collective == "gather" && rank != root)
      return result;
    for (unsigned of = 0; of < ranks; ++of) {
      std::vector<float> part =
          segment(of, collective == "all_to_all" ? rank : 0);
      result.insert(result.end(), part.begin(), part.end());
    }
    return result;
  }
};

class Rows : public Rounds {
protected:
  /// All programs of the plan, for a size at which all chunks have something
  /// and for one at which most have nothing.
  static int runPrograms(const RankEnd &end, RoundRank &rank) {
    scclPlanInfo info = {};
    info.size = sizeof(info);
    scclChoice choice = {};
    choice.size = sizeof(choice);
    int failed = check(!scclPlanGetInfo(rank.member.plan, &info), "plan");
    for (; choice.program < info.numPrograms; ++choice.program)
      for (size_t count : {size_t(3), mostElements}) {
        Definition what = {info.collective, end.numRanks, unsigned(info.root),
                           count};
        std::string name = what.collective + " of " + std::to_string(count) +
                           " elements by program " +
                           std::to_string(choice.program);
        failed += check(!scclCommSetChoice(rank.member.comm, rank.member.plan,
                                           &choice),
                        "choice") +
                  rank.put(rank.send, what.input(end.rank)) +
                  check(!rank.launch(rank.send, rank.recv, count), name) +
                  rank.expect(rank.recv, what.output(end.rank), name);
      }
    return failed;
  }
  static constexpr size_t mostElements = 2003;
};
} // namespace

INSTANTIATE_TEST_SUITE_P(GPU, Rows,
                         testing::Values(scclDeviceCUDA, scclDeviceHIP),
                         [](const auto &info) {
                           return info.param == scclDeviceCUDA ? "CUDA" : "HIP";
                         });

/// Of machines with such GPUs.
TEST_P(Rows, OfAllCollectivesOnSeveralBoxes) {
  Setting many("SCCL_FAKE_DEVICES", "32");
  unsigned plans = 0;
  for (const auto &file :
       std::filesystem::directory_iterator(SCCL_TEST_PLANS "/rows")) {
    std::string path = file.path(), name = file.path().filename();
    if (!name.ends_with(kind == scclDeviceHIP ? ".hip.sccl" : ".cuda.sccl"))
      continue;
    ++plans;
    Ranks ranks;
    ranks.plan = path.c_str();
    ranks.count = unsigned(std::stoul(name));
    ranks.ofHost = 8;
    for (bool isDirect : {false, true}) {
      // 32 threads that wait for each other take long.
      if (isDirect && ranks.count > 16)
        continue;
      ranks.isDirect = isDirect;
      size_t most = ranks.count * mostElements;
      EXPECT_EQ(0, onRanks(ranks, most, most, runPrograms))
          << name << (isDirect ? " by a transport" : " by the library");
    }
  }
  EXPECT_EQ(plans,
            kind == scclDeviceHIP ? SCCL_TEST_ROWS_HIP : SCCL_TEST_ROWS_CUDA);
}
