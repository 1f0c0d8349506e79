//===- MscclInterpreterTest.cpp - What interpreters make of files ---------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files that say what is right, and that interpreters run otherwise.
//
//===----------------------------------------------------------------------===//

#include "ExchangeTesting.h"

#include "sccl/Exchange/Msccl.h"

#include <gtest/gtest.h>

#include <sstream>

using namespace sccl;
using namespace sccl::exchange;

namespace {
struct BlockText {
  int send, receive;
  /// Such as "re s0 o2 1": a type, where from, where to and how many. After it
  /// may be the block and step that it waits for, "0:1", and "!" if it is
  /// awaited itself.
  std::vector<std::string> steps;
};
struct GpuText {
  int inputs, outputs, scratch;
  std::vector<BlockText> blocks;
};
} // namespace

static std::string stepText(size_t number, const std::string &step) {
  std::istringstream words(step);
  std::string type, src, dst, count, word, block = "-1", awaited = "-1";
  words >> type >> src >> dst >> count;
  bool isAwaited = false;
  while (words >> word)
    if (word == "!") {
      isAwaited = true;
    } else {
      block = word.substr(0, word.find(':'));
      awaited = word.substr(word.find(':') + 1);
    }
  auto place = [](const char *end, const std::string &at) {
    return std::string(" ") + end + "buf=\"" + at[0] + "\" " + end + "off=\"" +
           at.substr(1) + "\"";
  };
  return "<step s=\"" + std::to_string(number) + "\" type=\"" + type + "\"" +
         place("src", src) + place("dst", dst) + " cnt=\"" + count +
         "\" depid=\"" + block + "\" deps=\"" + awaited + "\" hasdep=\"" +
         (isAwaited ? "1" : "0") + "\"/>\n";
}

/// A file of two chunks, for calls out of place. Each step has a line.
static std::string fileText(const std::string &collective,
                            const std::vector<GpuText> &gpus,
                            int channels = 1) {
  auto attribute = [](const char *name, int value) {
    return std::string(" ") + name + "=\"" + std::to_string(value) + "\"";
  };
  std::string text = "<algo name=\"t\" proto=\"Simple\" nchunksperloop=\"2\"" +
                     attribute("nchannels", channels) +
                     attribute("ngpus", int(gpus.size())) + " coll=\"" +
                     collective +
                     "\" inplace=\"0\" outofplace=\"1\" minBytes=\"0\" "
                     "maxBytes=\"0\">\n";
  for (size_t rank = 0; rank < gpus.size(); ++rank) {
    const GpuText &gpu = gpus[rank];
    text += "<gpu" + attribute("id", int(rank)) +
            attribute("i_chunks", gpu.inputs) +
            attribute("o_chunks", gpu.outputs) +
            attribute("s_chunks", gpu.scratch) + ">\n";
    for (size_t i = 0; i < gpu.blocks.size(); ++i) {
      const BlockText &block = gpu.blocks[i];
      text += "<tb" + attribute("id", int(i)) + attribute("send", block.send) +
              attribute("recv", block.receive) + " chan=\"0\">\n";
      for (size_t k = 0; k < block.steps.size(); ++k)
        text += stepText(k, block.steps[k]);
      text += "</tb>\n";
    }
    text += "</gpu>\n";
  }
  return text + "</algo>\n";
}

/// Empty if `text` is accepted for `dialect`; otherwise what is wrong with it.
static std::string verdictOn(const std::string &text,
                             MscclDialect dialect = MscclDialect::Nccl) {
  MscclCheckOptions options;
  options.dialect = dialect;
  Findings findings;
  std::optional<MscclAlgorithm> algorithm = parseMsccl(text, findings);
  if (algorithm && checkMsccl(*algorithm, options, findings))
    return "";
  return exchange::testing::linesOf(findings);
}

static bool contains(const std::string &text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

//===----------------------------------------------------------------------===//
// Overlaps
//===----------------------------------------------------------------------===//

/// A broadcast of which rank 1 receives both chunks, and then has `steps`.
static std::string broadcastThen(const std::string &received,
                                 std::vector<std::string> steps) {
  steps.insert(steps.begin(), "r i0 " + received + " 2");
  return fileText(
      "broadcast",
      {{2, 2, 0, {{1, -1, {"s i0 " + received + " 2", "cpy i0 o0 2"}}}},
       {2, 2, 3, {{-1, 0, steps}}}});
}

TEST(MscclInterpreter, TransfersThatOverlapThemselves) {
  const char *race = "11: race: this reads what it writes for another chunk";
  EXPECT_TRUE(contains(
      verdictOn(broadcastThen("s0", {"cpy s0 s1 2", "cpy s1 o0 2"})), race));
  EXPECT_TRUE(contains(
      verdictOn(broadcastThen("s1", {"cpy s1 s0 2", "cpy s0 o0 2"})), race));
  // One chunk after the other is right, and onto itself a copy is.
  EXPECT_EQ(verdictOn(broadcastThen(
                "s0", {"cpy s1 s2 1", "cpy s0 s1 1", "cpy s1 o0 2"})),
            "");
  EXPECT_EQ(verdictOn(broadcastThen("s0", {"cpy s0 s0 2", "cpy s0 o0 2"})), "");
}

/// A reduce of which rank 0 receives both chunks and adds its own in place.
static std::string reduceWith(const std::string &receive) {
  return fileText(
      "reduce", {{2, 2, 3, {{-1, 1, {"cpy i0 s0 2", receive, "cpy s0 o0 2"}}}},
                 {2, 2, 0, {{0, -1, {"s i0 s0 2"}}}}});
}

TEST(MscclInterpreter, ReductionsThatOverlapThemselves) {
  EXPECT_EQ(verdictOn(reduceWith("rrc s0 s0 2")), "");
  EXPECT_TRUE(contains(verdictOn(reduceWith("rrc s0 s1 2")),
                       "5: race: this reads what it writes for another chunk"));
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// A broadcast to rank 1, with numbers of chunks as the file says them.
static std::string broadcastWith(int inputs, int outputs) {
  return fileText(
      "broadcast",
      {{inputs, 2, 0, {{1, -1, {"s i0 o0 1", "s i1 o1 1", "cpy i0 o0 2"}}}},
       {0, outputs, 0, {{-1, 0, {"r i0 o0 1", "r i0 o1 1"}}}}});
}

TEST(MscclInterpreter, BuffersThatAreTooSmall) {
  EXPECT_EQ(verdictOn(broadcastWith(2, 2)), "");
  EXPECT_EQ(verdictOn(broadcastWith(1, 2)),
            "5: reads chunk 1 of the input, and 'i_chunks' is 1\n");
  EXPECT_EQ(verdictOn(broadcastWith(2, 1)),
            "12: writes chunk 1 of the output, and 'o_chunks' is 1\n");
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// A reduce of three ranks of which rank 0 receives both chunks of the others,
/// and sums up by `steps`.
static std::string sumBy(std::vector<std::string> steps) {
  steps.insert(steps.begin(), {"nop i0 o0 0 0:0", "cpy i0 o0 2 1:0"});
  return fileText(
      "reduce",
      {{2,
        2,
        4,
        {{-1, 1, {"r i0 s0 2 !"}}, {-1, 2, {"r i0 s2 2 !"}}, {-1, -1, steps}}},
       {2, 0, 0, {{0, -1, {"s i0 s0 2"}}}},
       {2, 0, 0, {{0, -1, {"s i0 s2 2"}}}}});
}

TEST(MscclInterpreter, JoinedReductions) {
  EXPECT_EQ(verdictOn(sumBy({"re s0 o0 2", "re s2 o0 2"})), "");
  std::string unequal = sumBy({"re s0 o0 2", "re s2 o0 1", "re s3 o1 1"});
  for (auto [dialect, name] :
       {std::pair{MscclDialect::Original, "the original MSCCL"},
        std::pair{MscclDialect::Nccl, "msccl-executor-nccl"},
        std::pair{MscclDialect::Rccl, "RCCL"}})
    EXPECT_EQ(
        verdictOn(unequal, dialect),
        "13: adds 1 chunks after the 2 of line 12:1: " + std::string(name) +
            " joins both, and takes this count for both\n");
  // What is awaited, waits or comes after something else is not joined.
  EXPECT_EQ(verdictOn(sumBy({"re s0 o0 2 !", "re s2 o0 1", "re s3 o1 1"})), "");
  EXPECT_EQ(verdictOn(sumBy({"re s0 o0 2", "re s2 o0 1 0:0", "re s3 o1 1"})),
            "");
  EXPECT_EQ(verdictOn(sumBy({"re s0 o0 2", "re s3 o1 1", "re s2 o0 1"})), "");
  EXPECT_EQ(verdictOn(sumBy(
                {"re s0 o0 2", "cpy s2 s2 1", "re s2 o0 1", "re s3 o1 1"})),
            "");
}

TEST(MscclInterpreter, JoinedReductionsEndAtTheSixteenth) {
  for (int more : {13, 14, 15}) {
    std::vector<std::string> steps = {"re s0 o0 2 !", "re s2 o0 2 !"};
    steps.insert(steps.end(), more, "re i0 s0 2");
    steps.push_back("re i0 s0 1");
    EXPECT_EQ(verdictOn(sumBy(steps)).empty(), more == 14) << more;
  }
}

//===----------------------------------------------------------------------===//
// Nops
//===----------------------------------------------------------------------===//

/// A broadcast of which a block of rank 1 has `steps`, and another waits for
/// step `awaited` before it copies what they have received.
static std::string copyAfter(const std::vector<std::string> &steps,
                             int awaited) {
  return fileText("broadcast",
                  {{2, 2, 0, {{1, -1, {"s i0 s0 2", "cpy i0 o0 2"}}}},
                   {2,
                    2,
                    2,
                    {{-1, 0, steps},
                     {-1, -1, {"cpy s0 o0 2 0:" + std::to_string(awaited)}}}}});
}

TEST(MscclInterpreter, NopsThatAreNotCounted) {
  EXPECT_EQ(verdictOn(copyAfter({"r i0 s0 2 !"}, 0)), "");
  EXPECT_EQ(verdictOn(copyAfter({"r i0 s0 2 !", "nop i0 i0 0"}, 0)), "");
  EXPECT_EQ(verdictOn(copyAfter({"nop i0 i0 0", "r i0 s0 2 !"}, 1)),
            "14: waits for step 1 of thread block 0, whose number interpreters "
            "do not reach: the nop of line 10:1 waits for nothing, so that it "
            "is not counted\n");
  EXPECT_EQ(verdictOn(copyAfter({"r i0 s0 2", "nop i0 i0 0 !"}, 1)),
            "14: waits for step 1 of thread block 0, a nop, of which "
            "interpreters tell nobody\n");
}

//===----------------------------------------------------------------------===//
// XML
//===----------------------------------------------------------------------===//

TEST(MscclInterpreter, WhatOnlyLenientParsersTakeForXml) {
  std::string text = copyAfter({"r i0 s0 2 !"}, 0);
  EXPECT_EQ(verdictOn("<?xml version=\"1.0\"?>\n<!-- a -->\n" + text +
                      "<!-- b -->\n\n"),
            "");
  std::string twice = text;
  twice.replace(twice.find("cnt=\"2\""), 7, "cnt=\"2\" cnt=\"1\"");
  EXPECT_EQ(verdictOn(twice), "4: <step> has the attribute 'cnt' twice\n");
  auto placesOf = [](const std::string &wrong) {
    Findings findings;
    EXPECT_FALSE(parseMsccl(wrong, findings));
    std::string all;
    for (const Finding &finding : findings.first())
      all += finding.place.str() + ": " + finding.message + "\n";
    return all;
  };
  EXPECT_EQ(placesOf(text + "<algo/>"),
            "17:1: this is no XML: a second element\n");
  EXPECT_EQ(placesOf(text + "\n  text"),
            "18:3: this is no XML: text outside the element\n");
  EXPECT_EQ(placesOf("text " + text),
            "1:1: this is no XML: text outside the element\n");
  EXPECT_EQ(placesOf("<!-- a -->"), "1:11: this is no XML: no element\n");
}

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

TEST(MscclInterpreter, Channels) {
  auto with = [](int channels) {
    return fileText("broadcast",
                    {{2, 2, 0, {{1, -1, {"s i0 o0 2", "cpy i0 o0 2"}}}},
                     {2, 2, 0, {{-1, 0, {"r i0 o0 2"}}}}},
                    channels);
  };
  for (auto [dialect, most] : {std::pair{MscclDialect::Original, 32},
                               std::pair{MscclDialect::Nccl, 32},
                               std::pair{MscclDialect::Rccl, 128}}) {
    EXPECT_EQ(verdictOn(with(most), dialect), "");
    EXPECT_TRUE(contains(verdictOn(with(most + 1), dialect),
                         "1: " + std::to_string(most + 1) + " channels, "));
  }
}
