//===- MscclTest.cpp - Files of MSCCL, right and wrong --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExchangeTesting.h"

#include "sccl/Exchange/Msccl.h"

#include <gtest/gtest.h>

#include <random>

using namespace sccl;
using namespace sccl::exchange;

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

namespace {
/// One step as text, with a place for its number.
struct StepText {
  std::string type, srcBuffer, dstBuffer;
  int src, dst, count = 1, block = -1, step = -1;
  bool isAwaited = false;
};

struct BlockText {
  int send, receive, channel;
  std::vector<StepText> steps;
};

/// A file, from which tests take parts away.
struct FileText {
  std::string collective;
  int chunks;
  bool inPlace, outOfPlace;
  int inputs, outputs, scratch;
  std::vector<std::vector<BlockText>> gpus;
  int channels = 1;

  std::string str() const;
};
} // namespace

static std::string attribute(const char *name, const std::string &value) {
  return " " + std::string(name) + "=\"" + value + "\"";
}
static std::string attribute(const char *name, int value) {
  return attribute(name, std::to_string(value));
}

std::string FileText::str() const {
  std::string text =
      "<algo name=\"test\" proto=\"Simple\"" + attribute("coll", collective) +
      attribute("nchannels", channels) + attribute("nchunksperloop", chunks) +
      attribute("ngpus", int(gpus.size())) + attribute("inplace", inPlace) +
      attribute("outofplace", outOfPlace) + " minBytes=\"0\" maxBytes=\"0\">\n";
  for (size_t rank = 0; rank < gpus.size(); ++rank) {
    text += "<gpu" + attribute("id", int(rank)) +
            attribute("i_chunks", inputs) + attribute("o_chunks", outputs) +
            attribute("s_chunks", scratch) + ">\n";
    for (size_t b = 0; b < gpus[rank].size(); ++b) {
      const BlockText &block = gpus[rank][b];
      text += "<tb" + attribute("id", int(b)) + attribute("send", block.send) +
              attribute("recv", block.receive) +
              attribute("chan", block.channel) + ">\n";
      for (size_t s = 0; s < block.steps.size(); ++s) {
        const StepText &step = block.steps[s];
        text += "<step" + attribute("s", int(s)) +
                attribute("type", step.type) +
                attribute("srcbuf", step.srcBuffer) +
                attribute("srcoff", step.src) +
                attribute("dstbuf", step.dstBuffer) +
                attribute("dstoff", step.dst) + attribute("cnt", step.count) +
                attribute("depid", step.block) + attribute("deps", step.step) +
                attribute("hasdep", step.isAwaited) + "/>\n";
      }
      text += "</tb>\n";
    }
    text += "</gpu>\n";
  }
  return text + "</algo>\n";
}

/// The ring all_reduce in place: one block per rank.
static FileText makeRing(int ranks) {
  FileText file{"allreduce", ranks, true, false, ranks, 0, 0, {}};
  for (int rank = 0; rank < ranks; ++rank) {
    auto at = [&](int chunk) {
      return ((rank + chunk) % ranks + ranks) % ranks;
    };
    BlockText block{at(1), at(-1), 0, {}};
    block.steps.push_back({"s", "i", "i", at(0), at(0)});
    for (int i = 1; i + 1 < ranks; ++i)
      block.steps.push_back({"rrs", "i", "i", at(-i), at(-i)});
    block.steps.push_back({"rrcs", "i", "i", at(1), at(1)});
    for (int i = 0; i + 2 < ranks; ++i)
      block.steps.push_back({"rcs", "i", "i", at(-i), at(-i)});
    block.steps.push_back({"r", "i", "i", at(2), at(2)});
    file.gpus.push_back({block});
  }
  return file;
}

/// All ranks send to all: into scratch memory, where they are summed up by
/// another block, which waits for all of them.
static FileText makeAllPairs(int ranks) {
  FileText file{"allreduce", 1, false, true, 1, 1, ranks - 1, {}};
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<BlockText> blocks;
    BlockText sum{-1, -1, 0, {{"cpy", "i", "o", 0, 0}}};
    for (int i = 0; i + 1 < ranks; ++i) {
      int peer = i < rank ? i : i + 1;
      blocks.push_back(
          {peer,
           peer,
           0,
           {{"s", "i", "s", 0, 0}, {"r", "i", "s", 0, i, 1, -1, -1, true}}});
      if (i + 2 < ranks)
        sum.steps.push_back({"nop", "i", "i", 0, 0, 1, i, 1});
      else
        sum.steps.push_back({"re", "s", "o", 0, 0, 1, i, 1});
    }
    for (int i = 1; i + 1 < ranks; ++i)
      sum.steps.push_back({"re", "s", "o", i, 0});
    blocks.push_back(sum);
    file.gpus.push_back(blocks);
  }
  return file;
}

static FileText makeAllGather(int ranks, bool inPlace) {
  FileText file{"allgather", 2 * ranks, inPlace, !inPlace, 2, 2 * ranks, 0, {}};
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<BlockText> blocks;
    for (int peer = 0; peer < ranks; ++peer)
      if (peer != rank)
        blocks.push_back({peer,
                          peer,
                          0,
                          {{"s", "i", "o", 0, 2 * rank, 2},
                           {"r", "i", "o", 0, 2 * peer, 2}}});
    if (!inPlace)
      blocks.push_back({-1, -1, 0, {{"cpy", "i", "o", 0, 2 * rank, 2}}});
    file.gpus.push_back(blocks);
  }
  return file;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Empty if a file is accepted; otherwise what is wrong with it, a line each.
static std::string verdictOn(const std::string &text,
                             MscclCheckOptions options = {}) {
  Findings findings;
  std::optional<MscclAlgorithm> algorithm = parseMsccl(text, findings);
  if (algorithm && checkMsccl(*algorithm, options, findings)) {
    EXPECT_TRUE(findings.empty());
    return "";
  }
  EXPECT_FALSE(findings.empty());
  return exchange::testing::linesOf(findings);
}

static std::string verdictOn(const FileText &file) {
  return verdictOn(file.str());
}

static MscclCheckOptions as(CollectiveKind kind, unsigned root = 0) {
  MscclCheckOptions options;
  options.as = kind;
  options.root = root;
  return options;
}
static MscclCheckOptions on(MscclDialect dialect) {
  MscclCheckOptions options;
  options.dialect = dialect;
  return options;
}

static bool contains(const std::string &text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Msccl, RightFiles) {
  for (int ranks : {2, 3, 4, 8, 17}) {
    EXPECT_EQ(verdictOn(makeRing(ranks + 1)), "") << ranks;
    EXPECT_EQ(verdictOn(makeAllPairs(ranks)), "") << ranks;
    for (bool inPlace : {false, true})
      EXPECT_EQ(verdictOn(makeAllGather(ranks, inPlace)), "") << ranks;
  }
}

TEST(Msccl, WhatIsDoneIsWhatWasAskedFor) {
  FileText file = makeRing(4);
  file.collective = "allgather";
  EXPECT_NE(verdictOn(file), "");
  EXPECT_EQ(verdictOn(file.str(), as(CollectiveKind::AllReduce)), "");
  file.collective = "custom";
  EXPECT_TRUE(contains(verdictOn(file), "what 'custom' is to do is not known"));
  // A reduce is part of it, to any root.
  EXPECT_EQ(verdictOn(file.str(), as(CollectiveKind::Reduce, 3)), "");
  EXPECT_EQ(verdictOn(file.str(), as(CollectiveKind::Reduce, 4)),
            "1: root 4 of 4 ranks\n");
}

TEST(Msccl, WrongResults) {
  FileText lacks = makeAllPairs(3);
  lacks.gpus[1].back().steps.pop_back();
  EXPECT_TRUE(contains(verdictOn(lacks),
                       "output chunk 0 of rank 1 lacks input chunk 0 of rank"))
      << verdictOn(lacks);
  FileText twice = makeAllPairs(3);
  twice.gpus[1].back().steps.push_back(twice.gpus[1].back().steps.back());
  EXPECT_TRUE(contains(verdictOn(twice), "rank 2 2 times")) << verdictOn(twice);
  FileText elsewhere = makeAllGather(3, false);
  elsewhere.gpus[0].back().steps[0].src = 0;
  elsewhere.gpus[0].back().steps[0].count = 1;
  EXPECT_TRUE(contains(verdictOn(elsewhere),
                       "output chunk 1 of rank 0 has never been written"));
  FileText unwritten = makeAllPairs(3);
  unwritten.gpus[0][0].steps[1].dst = 1;
  EXPECT_TRUE(contains(verdictOn(unwritten),
                       "reads a chunk that nothing has been written to"))
      << verdictOn(unwritten);
}

TEST(Msccl, SendsAndReceivesThatDoNotMeet) {
  FileText lost = makeAllGather(3, true);
  lost.gpus[0][1].steps.pop_back();
  EXPECT_TRUE(contains(verdictOn(lost), "nobody receives this send from rank 2 "
                                        "to rank 0 on channel 0"));
  FileText awaited = makeAllGather(3, true);
  awaited.gpus[0][1].steps.erase(awaited.gpus[0][1].steps.begin());
  EXPECT_TRUE(
      contains(verdictOn(awaited),
               "nobody sends what this receives from rank 0 to rank 2"));
  FileText longer = makeAllGather(3, true);
  longer.gpus[0][0].steps[1].count = 1;
  EXPECT_TRUE(contains(verdictOn(longer), "receives 1 chunks of the 2 that"));
}

TEST(Msccl, Deadlock) {
  FileText file = makeAllGather(3, true);
  for (std::vector<BlockText> &blocks : file.gpus)
    for (BlockText &block : blocks)
      std::swap(block.steps[0], block.steps[1]);
  EXPECT_TRUE(contains(verdictOn(file), "deadlock: rank 0 waits for ever"));
}

TEST(Msccl, RoomOfConnections) {
  FileText file{"allgather", 6, true, false, 3, 6, 0, {}};
  for (int rank : {0, 1}) {
    BlockText block{1 - rank, 1 - rank, 0, {}};
    for (int i = 0; i < 3; ++i)
      block.steps.push_back({"s", "i", "o", i, 3 * rank + i});
    for (int i = 0; i < 3; ++i)
      block.steps.push_back({"r", "i", "o", i, 3 * (1 - rank) + i});
    file.gpus.push_back({block});
  }
  MscclCheckOptions options;
  for (auto [inFlight, isRight] :
       {std::pair{0u, true}, {1u, false}, {2u, false}, {3u, true}}) {
    options.inFlight = inFlight;
    EXPECT_EQ(verdictOn(file.str(), options).empty(), isRight) << inFlight;
  }
}

TEST(Msccl, Races) {
  FileText file = makeAllPairs(3);
  StepText &last = file.gpus[2].back().steps[2];
  ASSERT_EQ(last.type, "re");
  // Without waits of its own it could add what is not there yet.
  FileText early = file;
  for (StepText &step : early.gpus[2].back().steps)
    step.block = step.step = -1;
  EXPECT_TRUE(contains(verdictOn(early), "race: this reads what line"))
      << verdictOn(early);
  // Two blocks write one chunk.
  FileText both = makeAllGather(3, true);
  both.gpus[1][1].steps[1].dst = both.gpus[1][0].steps[1].dst;
  EXPECT_TRUE(contains(verdictOn(both), "race: this writes where line"));
}

TEST(Msccl, LimitsOfInterpreters) {
  FileText ring = makeRing(40);
  EXPECT_TRUE(contains(verdictOn(ring.str(), on(MscclDialect::Nccl)),
                       "79 steps in a thread block, msccl-executor-nccl has "
                       "room for 64"));
  EXPECT_EQ(verdictOn(ring.str(), on(MscclDialect::Original)), "");
  FileText pairs = makeAllGather(66, true);
  EXPECT_TRUE(contains(verdictOn(pairs.str(), on(MscclDialect::Rccl)),
                       "65 thread blocks of a rank, RCCL has room for 64"));
  FileText wide = makeAllGather(2, true);
  wide.chunks = wide.outputs = 144;
  wide.inputs = 72;
  for (int rank : {0, 1}) {
    StepText &send = wide.gpus[rank][0].steps[0];
    StepText &receive = wide.gpus[rank][0].steps[1];
    send.count = receive.count = 72;
    send.dst = 72 * rank;
    receive.dst = 72 * (1 - rank);
  }
  EXPECT_TRUE(contains(verdictOn(wide.str(), on(MscclDialect::Nccl)),
                       "72 chunks in a step"));
  std::string text = makeRing(4).str();
  text.erase(text.find(" minBytes=\"0\""), 13);
  EXPECT_EQ(verdictOn(text), "");
  EXPECT_TRUE(contains(verdictOn(text, on(MscclDialect::Nccl)),
                       "1: <algo> has no attribute 'minBytes'"));
}

TEST(Msccl, References) {
  auto with = [](auto change) {
    FileText file = makeAllPairs(3);
    change(file);
    return verdictOn(file);
  };
  EXPECT_TRUE(contains(with([](FileText &f) { f.gpus[0][0].send = 0; }),
                       "a thread block of rank 0 sends to rank 0"));
  EXPECT_TRUE(contains(with([](FileText &f) { f.gpus[0][0].send = 3; }),
                       "a thread block of rank 0 sends to rank 3"));
  EXPECT_TRUE(contains(with([](FileText &f) { f.gpus[0][0].send = -1; }),
                       "sends, and its thread block has no peer for it"));
  EXPECT_TRUE(contains(with([](FileText &f) { f.gpus[0][0].channel = 1; }),
                       "channel 1 of 1"));
  EXPECT_TRUE(contains(with([](FileText &f) { f.gpus[0][1].send = 1; }),
                       "two thread blocks, the other in line"));
  EXPECT_TRUE(
      contains(with([](FileText &f) { f.gpus[0][0].steps[1].isAwaited = 0; }),
               "waits for step 1 of thread block 0, which tells nobody"));
  EXPECT_TRUE(
      contains(with([](FileText &f) { f.gpus[0].back().steps[1].step = 2; }),
               "waits for step 2 of thread block 0, which is not"));
  EXPECT_TRUE(contains(with([](FileText &f) { f.scratch = 1; }),
                       "chunks 1 to 1 of a buffer of 1"));
  EXPECT_TRUE(contains(with([](FileText &f) { f.outOfPlace = false; }),
                       "neither in place nor out of place"));
  EXPECT_TRUE(contains(with([](FileText &f) {
                         f.gpus[0].back().steps[1].block = -1;
                         f.gpus[0].back().steps[2].block = -1;
                         f.gpus[0].back().steps[1].block = 0;
                       }),
                       "a nop that waits must be before a step that waits"));
}

TEST(Msccl, FilesThatSayOnlyWhatTheyAreNotFor) {
  std::string text = makeRing(4).str();
  text.erase(text.find(" inplace=\"1\""), 12);
  EXPECT_EQ(verdictOn(text), "");
  text.replace(text.find("coll=\"allreduce\""), 16, "coll=\"allgather\"");
  EXPECT_NE(verdictOn(text), "");
}

TEST(Msccl, WhatIsNoFile) {
  EXPECT_TRUE(contains(verdictOn(std::string("")), "this is no XML"));
  EXPECT_TRUE(contains(verdictOn(std::string("<algo><gpu")), "this is no XML"));
  EXPECT_TRUE(contains(verdictOn(std::string("<system/>")),
                       "1: expected <algo>, got <system>"));
  std::string text = makeRing(3).str();
  auto replaced = [&](std::string_view what, std::string_view by) {
    std::string copy = text;
    copy.replace(copy.find(what), what.size(), by);
    return verdictOn(copy);
  };
  EXPECT_TRUE(
      contains(replaced("type=\"s\"", "type=\"x\""), "4: a step of type 'x'"));
  EXPECT_TRUE(contains(replaced("cnt=\"1\"", "cnt=\"1e9\""),
                       "'cnt' is \"1e9\", expected a number between 0 and"));
  EXPECT_TRUE(contains(replaced("srcbuf=\"i\"", ""),
                       "4: <step> has no attribute 'srcbuf'"));
  EXPECT_TRUE(contains(replaced("ngpus=\"3\"", "ngpus=\"4\""),
                       "1: 'ngpus' is 4, and there are 3 <gpu>"));
  EXPECT_TRUE(contains(replaced("id=\"1\"", "id=\"0\""),
                       "the ids of gpus must be 0 to 2, there is twice 0"));
  EXPECT_TRUE(contains(replaced(" s=\"1\"", " s=\"7\""),
                       "the ids of steps must be 0 to 4, there is no 1"));
  // No entity is expanded, and none opens a file.
  EXPECT_TRUE(
      contains(replaced("<algo name=\"test\" proto=\"Simple\"",
                        "<!DOCTYPE a [<!ENTITY b \"3\">]><algo proto=\"&b;\""),
               "'proto' is '&b;'"));
}

//===----------------------------------------------------------------------===//
// Mutants
//===----------------------------------------------------------------------===//

namespace {
/// Takes one thing of a random step of `file` away, so that it is wrong.
class Mutator {
public:
  explicit Mutator(unsigned seed) : random(seed) {}
  FileText operator()(FileText file) {
    BlockText &block = pick(pick(file.gpus));
    size_t i = random() % block.steps.size();
    StepText &step = block.steps[i];
    switch (random() % 5) {
    case 0: // dropped
      block.steps.erase(block.steps.begin() + long(i));
      break;
    case 1: // doubled: what is sent or summed up twice
      block.steps.insert(block.steps.begin() + long(i), StepText(step));
      break;
    case 2: // another count
      ++step.count;
      break;
    case 3: // a peer who does not expect it
      block.send = (block.send + 1) % int(file.gpus.size());
      break;
    default: // another destination
      ++(step.type == "s" || step.type == "rrs" ? step.src : step.dst);
      break;
    }
    return file;
  }

private:
  template <typename T> T &pick(std::vector<T> &items) {
    return items[random() % items.size()];
  }
  std::mt19937 random;
};
} // namespace

TEST(Msccl, MutantsAreRefused) {
  FileText ring = makeRing(6);
  for (unsigned seed = 0; seed < 500; ++seed) {
    FileText mutant = Mutator(seed)(ring);
    EXPECT_NE(verdictOn(mutant), "") << seed << "\n" << mutant.str();
  }
}

/// Two neighbours change places, or a step does not wait any more.
TEST(Msccl, OtherOrdersAreRefused) {
  FileText ring = makeRing(5);
  for (size_t rank = 0; rank < 5; ++rank)
    for (size_t i = 0; i + 1 < ring.gpus[rank][0].steps.size(); ++i) {
      FileText mutant = ring;
      std::vector<StepText> &steps = mutant.gpus[rank][0].steps;
      std::swap(steps[i], steps[i + 1]);
      EXPECT_NE(verdictOn(mutant), "") << mutant.str();
    }
  FileText pairs = makeAllPairs(5);
  for (size_t rank = 0; rank < 5; ++rank)
    for (size_t i = 0; i < pairs.gpus[rank].back().steps.size(); ++i) {
      FileText mutant = pairs;
      StepText &step = mutant.gpus[rank].back().steps[i];
      if (step.block < 0)
        continue;
      step.block = step.step = -1;
      EXPECT_NE(verdictOn(mutant), "") << mutant.str();
    }
}
