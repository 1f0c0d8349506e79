//===- AdviceTest.cpp - Which schedule for which size ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AdviceTesting.h"

#include <gtest/gtest.h>

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
