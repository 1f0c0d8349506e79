//===- AdviceTest.cpp - Which schedule for which size ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AdviceTesting.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <tuple>

using namespace sccl;

static FrontierOptions someOptions() {
  FrontierOptions options;
  options.maxSteps = 4;
  options.probeWork = options.stepWork = 100'000;
  return options;
}

TEST(Advice, DraftsAreNotLongerThanPrograms) {
  PipelineContext context;
  std::mt19937 random(3);
  std::vector<uint64_t> sizes = {64, 256, 1024, 4096};
  std::vector<LoweringWay> ways = usualWays({});
  for (CollectiveKind kind :
       {CollectiveKind::AllGather, CollectiveKind::AllReduce}) {
    Fabric fabric = randomFabric(random);
    CollectiveFamily family{kind};
    Result<Advice> lowered =
        advise(context.get(), fabric, family, sizes, someOptions(), ways);
    Result<Advice> drafted = adviseByDrafts(context.get(), fabric, family,
                                            sizes, someOptions(), ways);
    ASSERT_TRUE(bool(lowered)) << lowered.error();
    ASSERT_TRUE(bool(drafted)) << drafted.error();
    for (size_t i = 0; i < sizes.size(); ++i) {
      const SizeAdvice &program = lowered->sizes[i], &draft = drafted->sizes[i];
      EXPECT_TRUE(program.isSimulated() && draft.isSimulated());
      EXPECT_LE(draft.microseconds, program.microseconds * (1 + 1e-9));
      // A shorter program may take a little longer than the best draft.
      EXPECT_LE(program.microseconds, draft.microseconds * 1.2);
      EXPECT_GE(draft.microseconds, draft.bound * (1 - 1e-6));
      EXPECT_GE(program.microseconds, program.bound * (1 - 1e-6));
    }
  }
}

/// True if plans hold both as one schedule.
static bool isSameSchedule(const Candidate &a, const Candidate &b) {
  auto factsOf = [](const Candidate &candidate) {
    const auto &[collective, schedule] = candidate.implementation;
    return std::tuple(collective.chunks(), schedule.steps.size(),
                      schedule.period, schedule.rounds());
  };
  return factsOf(a) == factsOf(b);
}

TEST(Advice, FindsWhereSchedulesTakeOver) {
  PipelineContext context;
  std::mt19937 random(3);
  std::vector<uint64_t> asked = {1, 16, 256, 4096, 65536};
  std::vector<LoweringWay> ways = usualWays({});
  unsigned switches = 0;
  for (CollectiveKind kind :
       {CollectiveKind::AllGather, CollectiveKind::AllReduce}) {
    Fabric fabric = randomFabric(random);
    CollectiveFamily family{kind};
    Result<Advice> advice =
        advise(context.get(), fabric, family, asked, someOptions(), ways);
    ASSERT_TRUE(bool(advice)) << advice.error();
    std::vector<uint64_t> found;
    for (const SizeAdvice &size : advice->sizes)
      found.push_back(size.bytes);
    EXPECT_TRUE(std::ranges::includes(found, asked));
    EXPECT_EQ(std::ranges::adjacent_find(found, std::greater_equal()),
              found.end());
    for (size_t i = 0; i + 1 < found.size(); ++i) {
      const SizeAdvice &below = advice->sizes[i], &above = advice->sizes[i + 1];
      EXPECT_LE(below.microseconds, above.microseconds * 1.01);
      if (isSameSchedule(advice->candidates[below.candidate],
                         advice->candidates[above.candidate]))
        continue;
      ++switches;
      EXPECT_TRUE(double(above.bytes) <= 1.25 * double(below.bytes) ||
                  above.bytes == below.bytes + 1)
          << below.bytes << ' ' << above.bytes;
    }
    // What is looked at among few is as good as among all.
    Result<Advice> again =
        advise(context.get(), fabric, family, found, someOptions(), ways);
    ASSERT_TRUE(bool(again)) << again.error();
    for (const SizeAdvice &size : advice->sizes)
      for (const SizeAdvice &other : again->sizes)
        EXPECT_TRUE(other.bytes != size.bytes ||
                    size.microseconds <= other.microseconds * 1.02);
  }
  EXPECT_GE(switches, 1u);
}
