//===- ExplanationTest.cpp - Why a schedule is as fast as it is -----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReportTesting.h"

#include "sccl/Report/Explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sccl;
using namespace sccl::report;
using testing::Contains;
using testing::HasSubstr;

namespace {

constexpr CostModel model{1, 1e-3};

TEST(Explanation, NamesTheFullestLimits) {
  Subject subject = pairsWithBridge();
  Explanation explanation = *explain(subject, {});
  EXPECT_EQ(explanation.numFullest, 2u);
  EXPECT_EQ(explanation.loads[0].limit, 4u);
  EXPECT_EQ(explanation.loads[0].rounds, Rational(2));
  EXPECT_EQ(explanation.loads[2].rounds, Rational(3, 4));
  EXPECT_THAT(limitSentences(subject, explanation, model, 1000),
              Contains(HasSubstr("busy for 2 of the 4 rounds (50 %), with "
                                 "links 0 -> 2, 2 -> 0")));
}

TEST(Explanation, SaysWhetherLatencyOrBandwidthCounts) {
  Subject subject = pairsWithBridge(); // 3 us, and 4 ns a byte
  Explanation explanation = *explain(subject, {});
  EXPECT_THAT(limitSentences(subject, explanation, model, 100),
              Contains(HasSubstr("latency limits it; both are equal at 750 "
                                 "bytes")));
  EXPECT_THAT(limitSentences(subject, explanation, model, 1000),
              Contains(HasSubstr("bandwidth limits it")));
}

TEST(Explanation, FindsWhatTheBoundRestsOn) {
  Subject subject = pairsWithBridge();
  subject.certificate =
      throughputBound(subject.topology, subject.collective)->certificate;
  Explanation explanation = *explain(subject, {});
  EXPECT_TRUE(explanation.isFromFile);
  // The bridge in one direction.
  ASSERT_EQ(explanation.priced.size(), 1u);
  EXPECT_GE(explanation.priced[0].limit, 4u);
  EXPECT_DOUBLE_EQ(explanation.priced[0].share, 1);
  EXPECT_EQ(explanation.anySteps, Rational(2));
  EXPECT_THAT(remedySentences(subject, explanation, model, 1e6),
              Contains(HasSubstr("down to 2 at best, which would save less "
                                 "than 50 %")));
}

TEST(Explanation, TellsOptimalFromNotProved) {
  Subject ring = ringOn("ring:5", CollectiveKind::AllGather);
  Explanation explanation = *explain(ring, {});
  EXPECT_TRUE(explanation.isOptimal);
  EXPECT_THAT(certificateSentences(ring, explanation),
              Contains(HasSubstr("R/C is 2, which is the bound, so it is "
                                 "optimal for 4 steps")));
  Subject slow = ring;
  slow.schedule.steps[0].rounds = 3;
  explanation = *explain(slow, {});
  EXPECT_FALSE(explanation.isOptimal);
  EXPECT_THAT(certificateSentences(slow, explanation),
              Contains(HasSubstr("50 % above the bound")));
  // Hundreds of percent are said as a factor.
  slow.schedule.steps[0].rounds = 9;
  EXPECT_THAT(certificateSentences(slow, *explain(slow, {})),
              Contains(HasSubstr("R/C is 6, 3.0 times the bound")));
}

TEST(Explanation, HasThreeSentencesForACertificate) {
  Subject subject = ringOn("ring:5", CollectiveKind::AllGather);
  EXPECT_EQ(certificateSentences(subject, *explain(subject, {})).size(), 3u);
}

TEST(Explanation, RefusesAFalseCertificate) {
  Subject subject = ringOn("ring:5", CollectiveKind::AllGather);
  subject.certificate = explain(subject, {})->certificate;
  subject.certificate->bound = Rational(3);
  Result<Explanation> explanation = explain(subject, {});
  ASSERT_FALSE(explanation);
  EXPECT_THAT(explanation.error(), HasSubstr("the certificate does not hold"));
}

TEST(Explanation, ChoosesBySize) {
  std::vector<Cost> costs{{2, Rational(3)}, {4, Rational(1)}};
  // 2 + 0.003 L and 4 + 0.001 L us are equal at 1000 bytes.
  ChoiceReason small = chooseFor(costs, model, 100);
  EXPECT_EQ(small.best, 0u);
  EXPECT_DOUBLE_EQ(small.microseconds, 2.3);
  EXPECT_NEAR(*small.upTo, 1000, 1);
  ChoiceReason large = chooseFor(costs, model, 10000);
  EXPECT_EQ(large.best, 1u);
  EXPECT_EQ(large.second, 0u);
  EXPECT_FALSE(large.upTo);
  EXPECT_EQ(choiceSentence(large, {"a", "b"}),
            "b takes 14.0 us in the model, the next best, a, 32.0 us (2.3 "
            "times as long); it is the best from 1001 bytes on");
}

TEST(Explanation, WritesSizesAndTimes) {
  EXPECT_EQ(sizeText(100), "100 bytes");
  EXPECT_EQ(sizeText(1536), "1.5 KiB");
  EXPECT_EQ(sizeText(1 << 20), "1 MiB");
  EXPECT_EQ(timeText(1.234), "1.23 us");
  EXPECT_EQ(timeText(12345), "12.35 ms");
  EXPECT_EQ(timeText(2.5e6), "2.50 s");
}

} // namespace
