//===- PicturesTest.cpp - Machines, frontiers and schedules as SVG --------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReportTesting.h"

#include "sccl/Report/Pictures.h"

#include <pugixml.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sccl;
using namespace sccl::report;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

namespace {

/// The titles of the elements of `picture` that have `kind` among their
/// classes.
std::vector<std::string> titlesOf(const std::string &picture,
                                  const std::string &kind) {
  pugi::xml_document document;
  EXPECT_TRUE(document.load_string(picture.c_str()));
  std::vector<std::string> titles;
  std::string path =
      "//*[contains(concat(' ', @class, ' '), ' " + kind + " ')]/title";
  for (pugi::xpath_node node : document.select_nodes(path.c_str()))
    titles.push_back(node.node().text().get());
  return titles;
}

TEST(Pictures, ShowHowBusyLinksAre) {
  Subject subject = pairsWithBridge();
  std::string picture =
      machinePicture(subject.topology, guessBoxes(subject.topology), &subject,
                     PictureFor::File);
  EXPECT_THAT(titlesOf(picture, "rank"),
              ElementsAre("rank 0", "rank 1", "rank 2", "rank 3"));
  EXPECT_THAT(titlesOf(picture, "link"), SizeIs(6));
  EXPECT_THAT(titlesOf(picture, "load2"), SizeIs(2));
  EXPECT_THAT(titlesOf(picture, "load1"),
              Contains("0 -> 1, bandwidth 4, 3 chunks, busy 19 %"));
  EXPECT_EQ(picture,
            machinePicture(subject.topology, guessBoxes(subject.topology),
                           &subject, PictureFor::File));
}

TEST(Pictures, HoldNamesOfAnyBytes) {
  Subject subject = pairsWithBridge();
  subject.name = std::string("a\x1b[31m\xff\0<b>", 11);
  std::string picture = stepsPicture(
      subject, groupsToDraw(subject.topology, {}), PictureFor::File);
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(picture.c_str()));
  EXPECT_EQ(document.child("svg").child("title").text().get(),
            std::string("a\uFFFD[31m\uFFFD\uFFFD<b>, ranks and steps"));
}

TEST(Pictures, GuessBoxesByTheWidestLinks) {
  EXPECT_THAT(guessBoxes(pairsWithBridge().topology),
              ElementsAre(ElementsAre(0u, 1u), ElementsAre(2u, 3u)));
  EXPECT_THAT(guessBoxes(*makeBuiltinTopology("ring:5")), SizeIs(1));
}

TEST(Pictures, DrawManyRanksAsOne) {
  Topology ring = *makeBuiltinTopology("ring:1000");
  RankGroups groups = groupsToDraw(ring, guessBoxes(ring));
  EXPECT_LE(groups.size(), 64u);
  EXPECT_THAT(groups.front(), SizeIs(32));
  std::string picture =
      machinePicture(ring, guessBoxes(ring), nullptr, PictureFor::File);
  EXPECT_THAT(titlesOf(picture, "rank"), Contains("ranks 0-31"));
  EXPECT_LT(picture.size(), 100'000u);
}

TEST(Pictures, LeadManyLinksThroughHubs) {
  Topology mesh = *makeBuiltinTopology("mesh:16");
  RankGroups boxes(2);
  for (unsigned rank = 0; rank < 16; ++rank)
    boxes[rank / 8].push_back(rank);
  std::string picture = machinePicture(mesh, boxes, nullptr, PictureFor::File);
  EXPECT_THAT(titlesOf(picture, "hub"),
              ElementsAre("hub of 0 to 7", "hub of 8 to 15"));
  // To and from the hub of each rank, and between hubs.
  EXPECT_THAT(titlesOf(picture, "link"), SizeIs(16 * 2 + 2));
  EXPECT_THAT(titlesOf(picture, "link"),
              Contains("0 -> hub of 0 to 7: 15 links, the widest of bandwidth "
                       "1"));
  // Eight ranks can be told apart.
  Topology small = *makeBuiltinTopology("mesh:8");
  EXPECT_THAT(titlesOf(machinePicture(small, guessBoxes(small), nullptr,
                                      PictureFor::File),
                       "link"),
              SizeIs(8 * 7));
}

TEST(Pictures, DrawManyBoxesAsOneEach) {
  Topology mesh = *makeBuiltinTopology("mesh:64");
  RankGroups boxes(16);
  for (unsigned rank = 0; rank < 64; ++rank)
    boxes[rank / 4].push_back(rank);
  std::string picture = machinePicture(mesh, boxes, nullptr, PictureFor::File);
  EXPECT_THAT(titlesOf(picture, "hub"), ElementsAre("hub"));
  EXPECT_THAT(titlesOf(picture, "link"), SizeIs(16 * 2));
  EXPECT_THAT(titlesOf(picture, "rank"), Contains("ranks 4-7"));
}

TEST(Pictures, TakeTheBoxesOfTheFile) {
  Subject subject = pairsWithBridge();
  subject.boxes = {{0, 2}, {1, 3}};
  EXPECT_EQ(boxesOf(subject), subject.boxes);
  subject.boxes.clear();
  EXPECT_EQ(boxesOf(subject), guessBoxes(subject.topology));
}

TEST(Pictures, HaveAMarkForEachPointOfAFrontier) {
  std::string picture =
      frontierPicture({{"certified bounds", "the bound", 2, 1.5},
                       {"schedules", "mine & <yours>", 2, 1.75}},
                      Rational(7, 6), PictureFor::File);
  EXPECT_THAT(titlesOf(picture, "open"), ElementsAre("the bound"));
  EXPECT_THAT(titlesOf(picture, "mark"), ElementsAre("mine & <yours>"));
  EXPECT_THAT(titlesOf(picture, "bound"),
              ElementsAre(HasSubstr("any number of steps has R/C below 7/6")));
}

TEST(Pictures, DrawTimesAsLinesAndMarks) {
  std::string picture = timePicture({{"model", true, {{1024, 1}, {4096, 3}}},
                                     {"measured", false, {{2048, 5}}}},
                                    PictureFor::File);
  EXPECT_THAT(titlesOf(picture, "curve"), Contains("model"));
  EXPECT_THAT(titlesOf(picture, "mark"),
              ElementsAre("measured: 2 KiB, 5.00 us"));
}

TEST(Pictures, LegendsEndWithinThePicture) {
  auto legendOf = [](const std::string &name) {
    std::string picture =
        timePicture({{name, true, {{1024, 1}, {4096, 3}}}}, PictureFor::File);
    size_t end = picture.rfind(">" + name + "<");
    return picture.substr(picture.rfind("<text", end), 120);
  };
  EXPECT_THAT(legendOf("model, C = 65392, S = 4, R = 8272"),
              Not(HasSubstr("textLength")));
  EXPECT_THAT(legendOf("model, C = 65392, S = 4, R = 8272, 64 pieces at 6"),
              HasSubstr("textLength=\"266\""));
}

TEST(Pictures, LeaveOutWhatTakesNoTime) {
  std::string picture =
      timePicture({{"bound", true, {{1024, 0}, {4096, 0}}}}, PictureFor::File);
  EXPECT_THAT(picture, Not(HasSubstr("nan")));
}

TEST(Pictures, AxesHaveRoundTimes) {
  auto axesOf = [](double least, double most) {
    std::string picture = timePicture(
        {{"model", true, {{1, least}, {64, most}}}}, PictureFor::File);
    return picture.substr(0, picture.find("class=\"curve"));
  };
  std::string axes = axesOf(0.1, 2e7);
  for (const char *label : {">0.1 us<", ">1 us<", ">100 us<", ">1 ms<",
                            ">100 ms<", ">1 s<", ">10 s<"})
    EXPECT_NE(axes.find(label), axes.npos) << label;
  // Where there is no power of ten, or one.
  axes = axesOf(700, 1800);
  for (const char *label : {">800 us<", ">1 ms<", ">1.2 ms<", ">1.8 ms<"})
    EXPECT_NE(axes.find(label), axes.npos) << label;
}

TEST(Pictures, HaveALineForEachPairOfRanksInAStep) {
  Subject subject = pairsWithBridge();
  std::string picture = stepsPicture(
      subject, groupsToDraw(subject.topology, {}), PictureFor::File);
  EXPECT_THAT(titlesOf(picture, "send"), SizeIs(4 + 2 + 2));
  EXPECT_THAT(titlesOf(picture, "send"),
              Contains("step 1: 0 -> 2, chunks 0, 1"));
}

TEST(Pictures, DrawTheWayOfAChunk) {
  Subject subject = pairsWithBridge();
  std::string picture = treesPicture(subject, 1, PictureFor::File);
  EXPECT_THAT(
      titlesOf(picture, "send"),
      ElementsAre("step 0: 0 -> 1", "step 1: 0 -> 2", "step 2: 2 -> 3"));
  Subject sum = ringOn("ring:4", CollectiveKind::AllReduce);
  EXPECT_THAT(titlesOf(treesPicture(sum, 1, PictureFor::File), "send"),
              SizeIs(6));
}

TEST(Pictures, HaveColoursOfTheirOwnOnlyInFiles) {
  Topology ring = *makeBuiltinTopology("ring:4");
  EXPECT_THAT(machinePicture(ring, guessBoxes(ring), nullptr, PictureFor::File),
              HasSubstr("<style>"));
  EXPECT_THAT(machinePicture(ring, guessBoxes(ring), nullptr, PictureFor::Page),
              testing::Not(HasSubstr("<style>")));
}

} // namespace
