//===- PageTest.cpp - A report as one HTML file ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReportTesting.h"

#include "sccl/Report/Page.h"

#include "llvm/Support/JSON.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sccl;
using namespace sccl::report;
using testing::HasSubstr;
using testing::Not;

namespace {

std::string pageOf(Subject subject) {
  std::vector<Subject> subjects{std::move(subject)};
  std::vector<Explanation> explanations{*explain(subjects[0], {0, 100'000})};
  RankGroups boxes = guessBoxes(subjects[0].topology);
  return pageText(
      {subjects,
       explanations,
       boxes,
       {1, 1e-3},
       1 << 20,
       {{"schedules", titleOfPoint(subjects[0], explanations[0]), 3, 4}},
       explanations[0].anySteps,
       {{"model", true, {{1024, 1}, {4096, 3}}}},
       {}});
}

llvm::json::Value dataOf(llvm::StringRef page) {
  llvm::StringRef text = page.split("id=\"data\">").second;
  llvm::Expected<llvm::json::Value> value =
      llvm::json::parse(text.split("</script>").first);
  EXPECT_TRUE(bool(value));
  return value ? *value : llvm::json::Value(nullptr);
}

TEST(Page, HoldsEachStep) {
  llvm::json::Value data = dataOf(pageOf(pairsWithBridge()));
  const llvm::json::Object &schedule =
      *data.getAsObject()->getArray("schedules")->front().getAsObject();
  const llvm::json::Array &steps = *schedule.getArray("steps");
  ASSERT_EQ(steps.size(), 3u);
  const llvm::json::Object &second = *steps[1].getAsObject();
  EXPECT_EQ(second.getInteger("rounds"), 2);
  using llvm::json::Array;
  EXPECT_EQ(*second.getArray("moves"), (Array{Array{0, 2, 2, Array{0, 1}, 0},
                                              Array{2, 0, 2, Array{2, 3}, 0}}));
  EXPECT_EQ(schedule.getArray("uses")->front(),
            llvm::json::Value(Array{0, 1, 3, 19}));
}

TEST(Page, HoldsOneRowForLimitsOfOneLoad) {
  llvm::json::Value data =
      dataOf(pageOf(ringOn("ring:4", CollectiveKind::AllGather)));
  const llvm::json::Object &schedule =
      *data.getAsObject()->getArray("schedules")->front().getAsObject();
  using llvm::json::Array;
  EXPECT_EQ(*schedule.getArray("loads"),
            (Array{Array{8, "0 -> 1; 0 -> 3; 1 -> 0; 1 -> 2; ...", 3, "3"}}));
  EXPECT_TRUE(data.getAsObject()->getArray("hubs")->empty());
}

TEST(Page, NeedsNothingElse) {
  std::string page = pageOf(pairsWithBridge());
  EXPECT_THAT(page, Not(HasSubstr(" src=")));
  EXPECT_THAT(page, Not(HasSubstr("href=")));
  EXPECT_THAT(page, Not(HasSubstr("url(")));
  EXPECT_THAT(page, Not(HasSubstr("@DATA@")));
}

TEST(Page, TakesNoMarkupFromNames) {
  Subject subject = pairsWithBridge();
  subject.name = "</script><b>&@DATA@";
  std::string page = pageOf(subject);
  EXPECT_THAT(page, Not(HasSubstr("</script><b>")));
  EXPECT_THAT(page, HasSubstr("\\u003c/script>\\u003cb>&@DATA@"));
}

TEST(Page, IsSmallForManyRanks) {
  std::string page = pageOf(ringOn("ring:1024", CollectiveKind::Broadcast));
  EXPECT_LT(page.size(), 5'000'000u);
  EXPECT_THAT(page, HasSubstr("ranks 0-31"));
}

} // namespace
