//===- PlanTest.cpp - Tests of the container of plans ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanTesting.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/SHA256.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <malloc.h>
#include <random>

using namespace sccl;
using namespace sccl::plan;

TEST(Plan, RoundTrips) {
  Plan plan = makePlan();
  Result<std::string> bytes = serialize(plan);
  ASSERT_TRUE(bool(bytes)) << bytes.error();
  Result<PlanView> view = parseWhole(*bytes);
  ASSERT_TRUE(bool(view)) << view.error();
  EXPECT_EQ(view->manifest, plan.manifest);
  ASSERT_EQ(view->blobs.size(), plan.blobs.size());
  for (size_t i = 0; i < plan.blobs.size(); ++i) {
    EXPECT_EQ(view->blobs[i], plan.blobs[i]);
    EXPECT_EQ((view->blobs[i].data() - bytes->data()) % 4096, 0);
    EXPECT_FALSE(checkBlob(*view, i, view->blobs[i]));
  }
  EXPECT_EQ(view->hash.size(), 64u);
  EXPECT_EQ(*bytes, *serialize(plan));
  Result<Plan> read = readPlan(*bytes);
  ASSERT_TRUE(bool(read)) << read.error();
  EXPECT_EQ(read->rankTables, plan.rankTables);
  EXPECT_EQ(*bytes, *serialize(*read));
}

/// Bytes of the heap that `make` makes and keeps.
template <typename Make> static size_t heapOf(Make make) {
  size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
  auto made = make();
  EXPECT_TRUE(bool(made)) << made.error();
  return mallinfo2().uordblks + mallinfo2().hblkhd - before;
}

TEST(Plan, TakesLittleMemoryForCopies) {
  Plan plan = makePlan();
  std::vector<EngineCopy> &copies = plan.manifest.programs[0].copies[1];
  copies.assign(100'000, EngineCopy(copies[0]));
  Result<std::string> bytes = serialize(plan);
  ASSERT_TRUE(bool(bytes)) << bytes.error();
  EXPECT_LT(bytes->size(), 4u << 20);
  EXPECT_LT(heapOf([&] { return parseWhole(*bytes); }), 8u << 20);
}

/// A rank reads the head and its own part.
TEST(Plan, GivesEachRankItsPart) {
  std::string bytes = *serialize(makePlan());
  uint64_t length = *headBytes(bytes.substr(0, prefixBytes), bytes.size());
  Result<PlanView> view = parseHead(bytes.substr(0, length), bytes.size());
  ASSERT_TRUE(bool(view)) << view.error();
  EXPECT_TRUE(view->manifest.programs[0].copies.empty());
  std::string first = partOf(*view, bytes, 0), second = partOf(*view, bytes, 1);
  Result<RankPart> part = readPart(*view, 0, first);
  ASSERT_TRUE(bool(part)) << part.error();
  EXPECT_EQ(part->rankTables[0], "");
  EXPECT_EQ(part->rankTables[1], std::string(100, 'r'));
  EXPECT_EQ((part->rankTables[1].data() - first.data()) % 16, 0);
  EXPECT_TRUE(part->copies[0][1].empty());
  EXPECT_EQ(part->pre, std::vector<unsigned>{4});
  part = readPart(*view, 1, second);
  ASSERT_TRUE(bool(part)) << part.error();
  EXPECT_EQ(part->rankTables[1], "s");
  EXPECT_EQ(part->copies[0][1], makePlan().manifest.programs[0].copies[1]);
  EXPECT_EQ(part->post, std::vector<unsigned>{4});
  // What is wrong with the part of another rank is nobody's concern.
  bytes[view->parts[0].offset] ^= 1;
  EXPECT_TRUE(bool(parse(bytes)));
  EXPECT_EQ(readPart(*view, 0, partOf(*view, bytes, 0)).error(),
            "the plan is damaged: the part of rank 0 does not have the SHA-256 "
            "that the index says");
  EXPECT_EQ(parseWhole(bytes).error(),
            readPart(*view, 0, partOf(*view, bytes, 0)).error());
}

/// The time does not depend on what other ranks need.
TEST(Plan, LoadsTheRankOfAThousandFast) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr double enough = 0.1;
#else
  constexpr double enough = 0.010;
#endif
  Plan plan = makePlan();
  Manifest &manifest = plan.manifest;
  manifest.ranks = Limits::ranks;
  manifest.conditions.reset();
  manifest.layout.assign(manifest.ranks, {1, 1024, 0});
  manifest.programs[0].ranks.assign(manifest.ranks, {20, 3, 640});
  manifest.programs.resize(8, manifest.programs[0]);
  manifest.kernels[0].symbols = {"a"};
  manifest.kernels.resize(8 * 3, manifest.kernels[0]);
  plan.rankTables.assign(2, RankTableSet(manifest.ranks, "table"));
  plan.rankTables[1][77].assign(200000, 't');
  std::string bytes = *serialize(plan);
  double best = 1;
  for (unsigned round = 0; round < 50; ++round) {
    auto begin = std::chrono::steady_clock::now();
    uint64_t length = *headBytes(bytes.substr(0, prefixBytes), bytes.size());
    PlanView view = *parseHead(bytes.substr(0, length), bytes.size());
    RankPart part = *readPart(view, 77, partOf(view, bytes, 77));
    std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - begin;
    best = std::min(best, elapsed.count());
    EXPECT_EQ(part.rankTables[1].size(), 200000u);
  }
  EXPECT_LT(best, enough);
  RecordProperty("milliseconds", std::to_string(best * 1e3));
}

TEST(Plan, ChecksLengths) {
  const std::string wrong =
      "the plan is broken: a list by rank or step has another length";
  Plan plan = makePlan();
  plan.rankTables[1].pop_back();
  EXPECT_EQ(serialize(plan).error(), wrong);
  plan = makePlan();
  plan.rankTables.pop_back();
  EXPECT_EQ(serialize(plan).error(), wrong);
  plan = makePlan();
  plan.manifest.layout.pop_back();
  EXPECT_EQ(serialize(plan).error(), wrong);
  plan = makePlan();
  plan.manifest.kernels[0].rankTables = 2;
  EXPECT_EQ(serialize(plan).error(), "the manifest is broken: 'rankTables' is "
                                     "2, expected 0 to 1");
}

TEST(Plan, NoticesEveryFlippedBit) {
  std::string bytes = *serialize(makePlan());
  for (size_t bit = 0; bit < bytes.size() * 8; bit += bit < 2048 ? 1 : 509) {
    bytes[bit / 8] ^= char(1 << bit % 8);
    EXPECT_FALSE(bool(parseWhole(bytes))) << "bit " << bit;
    bytes[bit / 8] ^= char(1 << bit % 8);
  }
  EXPECT_TRUE(bool(parseWhole(bytes)));
}

/// Only what is used of a plan is worth the time.
TEST(Plan, LeavesBlobsForLater) {
  std::string bytes = *serialize(makePlan());
  const std::string hash = parse(bytes)->hash;
  bytes[bytes.find("third")] ^= 1;
  Result<PlanView> view = parse(bytes);
  ASSERT_TRUE(bool(view)) << view.error();
  EXPECT_FALSE(checkBlob(*view, 1, view->blobs[1]));
  std::optional<Error> error = checkBlob(*view, 2, view->blobs[2]);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->message, "the plan is damaged: blob 2 does not have the "
                            "SHA-256 that the manifest says");
  EXPECT_EQ(parseWhole(bytes).error(), error->message);
  // Plans that differ in blobs differ in the hash.
  Plan other = makePlan();
  other.blobs.back() = "THIRD";
  EXPECT_NE(parse(*serialize(other))->hash, hash);
}

TEST(Plan, NoticesTruncationAndGrowth) {
  std::string bytes = *serialize(makePlan());
  for (size_t size = 0; size < bytes.size(); size += size < 200 ? 1 : 397)
    EXPECT_FALSE(bool(parse(llvm::StringRef(bytes).take_front(size)))) << size;
  EXPECT_FALSE(bool(parse(bytes + "x")));
}

TEST(Plan, SaysWhatIsWrong) {
  EXPECT_EQ(parse("ELF").error(),
            "this is no sccl plan: it does not begin with SCCLPLAN");
  std::string bytes = *serialize(makePlan());
  bytes[8] = 1;
  EXPECT_EQ(parse(bytes).error(), "the plan has format version 1, this is for "
                                  "version 4; compile it again");
  bytes[8] = formatVersion;
  bytes[100] ^= 1;
  EXPECT_EQ(parse(bytes).error(), "the plan is damaged: its head does not have "
                                  "the SHA-256 that its header says");
  EXPECT_EQ(parse(llvm::StringRef(bytes).take_front(70)).error(),
            "the plan is truncated: it has 70 bytes, its header alone 80");
  EXPECT_EQ(parse(llvm::StringRef(bytes).take_front(90)).error(),
            "the plan is truncated or too long: it has 90 bytes and should "
            "have " +
                std::to_string(bytes.size()));
}

/// The error for the manifest of makePlan() with `from` replaced by `to`.
static std::string errorAfter(const std::string &from, const std::string &to) {
  std::vector<BlobRange> blobs = makeRanges();
  std::string text = manifestText(makePlan().manifest, blobs);
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  return parseManifest(text, blobs).error();
}

TEST(Plan, ChecksTheManifest) {
  const std::string prefix = "the manifest is broken: ";
  EXPECT_EQ(errorAfter("\"ranks\":2,\"root\"", "\"ranks\":2000,\"root\""),
            prefix + "'ranks' is 2000, expected 1 to 1024");
  EXPECT_EQ(errorAfter("\"ranks\":2,\"root\"", "\"ranks\":-2,\"root\""),
            prefix + "'ranks' is -2, expected 1 to 1024");
  EXPECT_EQ(errorAfter("\"root\":0", "\"root\":2"),
            prefix + "'root' is 2, expected 0 to 1");
  EXPECT_EQ(errorAfter("\"schedule\":1", "\"schedule\":2"),
            prefix + "'schedule' is 2, expected 0 to 1");
  EXPECT_EQ(errorAfter("\"program\":0,\"rankT", "\"program\":1,\"rankT"),
            prefix + "'program' is 1, expected 0 to 0");
  EXPECT_EQ(errorAfter("\"blob\":1", "\"blob\":3"),
            prefix + "'blob' is 3, expected 0 to 2");
  EXPECT_EQ(errorAfter("\"a_rank0\",", ""), "");
  EXPECT_EQ(errorAfter("\"a_rank0\",\"a_rank1\"", ""),
            prefix + "'symbols' is no list of 2 strings, nor of one");
  EXPECT_EQ(errorAfter("\"virtualSymbol\":\"\"", "\"virtualSymbol\":1"),
            prefix + "'virtualSymbol' is missing or no string");
  EXPECT_EQ(errorAfter("\"direct\"", "\"sideways\""),
            prefix + "'path' is neither auto, direct nor staging");
  EXPECT_EQ(errorAfter("\"firstByte\":77", "\"firstByte\":0"),
            prefix + "the sizes of a table do not ascend from 0");
  EXPECT_EQ(errorAfter("\"bytes\":99", "\"bytes\":8"),
            prefix + "the sizes of times do not ascend");
  EXPECT_EQ(errorAfter("\"nanoseconds\":1500", "\"nanoseconds\":-1"),
            prefix + "'nanoseconds' is -1, expected 0 to 4611686018427387904");
  EXPECT_EQ(errorAfter("\"stepsTouchPeers\":true", "\"stepsTouchPeers\":1"),
            prefix + "'stepsTouchPeers' is missing or neither true nor false");
  EXPECT_EQ(errorAfter("\"codeShape\":\"table\"", "\"codeShape\":\"list\""),
            prefix + "'codeShape' is 'list', expected unrolled or table");
  EXPECT_EQ(errorAfter("\"codeShape\":\"table\"", "\"codeShape\":2"),
            prefix + "'codeShape' is missing or no string");
  EXPECT_EQ(errorAfter("\"offset\":4096", "\"offset\":\"x\""),
            prefix + "'offset' is missing or no integer");
  EXPECT_EQ(errorAfter("\"sha256\":\"0000", "\"sha256\":\"0"),
            prefix + "'sha256' is '" + std::string(61, '0') +
                "', expected 64 hexadecimal digits");
  EXPECT_EQ(errorAfter("\"inPlace\":false", "\"inPlace\":0"),
            prefix + "'inPlace' is missing or neither true nor false");
  EXPECT_EQ(errorAfter("\"a_rank0\"", "\"a\\u0000\""),
            prefix + "'symbols' has control characters");
}

/// What writers never make: unknown fields, fields that are there twice or in
/// another order, spaces, other spellings of a number or a character.
TEST(Plan, RefusesOtherSpellings) {
  const std::string prefix = "the manifest is broken: it is written in another "
                             "way than plans are, from byte ";
  const std::pair<const char *, const char *> changes[] = {
      {"{\"blobs\"", "{\"author\":1,\"blobs\""},
      {"\"root\":0", "\"root\":1,\"root\":0"},
      {"\"ranks\":2,\"root\":0", "\"root\":0,\"ranks\":2"},
      {"\"root\":0", "\"root\": 0"},
      {"\"direct\"", "\"d\\u0069rect\""}};
  for (auto [from, to] : changes)
    EXPECT_TRUE(llvm::StringRef(errorAfter(from, to)).starts_with(prefix))
        << from << " to " << to << ": " << errorAfter(from, to);
  // Manifests have no fractions, and no characters by number but ASCII.
  for (auto [from, to] : {std::pair("\"root\":0", "\"root\":0.0"),
                          {"\"root\":0", "\"root\":1e99"},
                          {"\"root\":0", "\"root\":null"},
                          {"\"direct\"", "\"d\\u00e9\""},
                          {"\"direct\"", "\"d\xff\""}})
    EXPECT_TRUE(llvm::StringRef(errorAfter(from, to))
                    .starts_with("the manifest is not the JSON of one: "))
        << to << ": " << errorAfter(from, to);
}

TEST(Plan, TakesNamesInAnyLanguage) {
  const std::string prefix = "the manifest is broken: 'collective' has ";
  auto errorOf = [](const std::string &name) {
    Plan plan = makePlan();
    plan.manifest.collective = name;
    Result<std::string> bytes = serialize(plan);
    if (bytes) {
      EXPECT_EQ(parse(*bytes)->manifest.collective, name);
    }
    return bytes.error();
  };
  for (const char *name : {"größe", "集約", " ~", "\u00a0", "é"})
    EXPECT_EQ(errorOf(name), "") << name;
  for (const char *name : {"a\nb", "\x1f", "\x7f", "\u0080", "x\u009f"})
    EXPECT_EQ(errorOf(name), prefix + "control characters");
  EXPECT_EQ(errorOf("a\xff"), "the name 'a\ufffd' is not UTF-8");
  EXPECT_EQ(errorOf(std::string(512, 'x')), "");
  EXPECT_EQ(errorOf(std::string(513, 'x')),
            prefix + "513 bytes, the limit is 512");
}

/// The error for makePlan() after `change`.
template <typename Change> static std::string errorWith(Change change) {
  Plan plan = makePlan();
  change(plan);
  return serialize(plan).error();
}

TEST(Plan, ChecksConditions) {
  EXPECT_EQ(errorAfter("\"distinct\":5", "\"distinct\":1000000000"),
            "the manifest is broken: 'distinct' is 1000000000, expected 1 to "
            "134217728");
  EXPECT_EQ(errorAfter("\"conditions\":{", "\"conditions\":[],\"x\":{"),
            "the manifest is broken: 'conditions' is no object");
  auto changed = [](auto change) {
    return errorWith([&](Plan &plan) { change(*plan.manifest.conditions); });
  };
  const std::string prefix = "the part of rank 0 is broken: ";
  EXPECT_EQ(changed([](Conditions &c) { c.pre[0] = {5}; }),
            prefix + "'pre' has no ascending chunks");
  EXPECT_EQ(changed([](Conditions &c) {
              c.post[0] = {2, 3};
            }),
            prefix + "'post' differs from the buffers");
  EXPECT_EQ(changed([](Conditions &c) { c.post[0] = {}; }),
            prefix + "'post' differs from the buffers");
  EXPECT_EQ(errorWith([](Plan &plan) {
              plan.manifest.layout[0].outputSegments = 2;
              plan.manifest.conditions->post[0] = {2, 2};
            }),
            prefix + "'post' has no ascending chunks");
  EXPECT_EQ(changed([](Conditions &c) { c.pre.pop_back(); }),
            "the plan is broken: a list by rank or step has another length");
}

TEST(Plan, ChecksGroupsAtSwitches) {
  const std::string prefix = "the manifest is broken: ";
  auto errorOf = [](std::vector<unsigned> groups) {
    return errorWith([&](Plan &plan) {
      plan.manifest.programs[0].switchGroups = std::move(groups);
    });
  };
  EXPECT_EQ(errorOf({0, 0}), "");
  EXPECT_EQ(errorOf({1, 1}), "");
  EXPECT_EQ(errorOf({0}), prefix + "'switchGroups' is no list of 2 numbers");
  EXPECT_EQ(errorOf({0, 1}), "");
  EXPECT_EQ(errorOf({0, 2}),
            prefix + "an entry of 'switchGroups' is no number of a group");
  Plan plan = makePlan();
  plan.manifest.programs[0].switchGroups = {0, 0};
  EXPECT_EQ(readPlan(*serialize(plan))->manifest, plan.manifest);
}

TEST(Plan, ChecksWhereCopiesGo) {
  const std::string prefix = "the part of rank 1 is broken: ";
  auto changed = [](auto change) {
    return errorWith(
        [&](Plan &plan) { change(plan.manifest.programs[0].copies[1][0]); });
  };
  EXPECT_EQ(changed([](EngineCopy &copy) { copy.srcSlot = 3; }),
            prefix + "'srcSlot' is 3, expected 0 to 2");
  EXPECT_EQ(changed([](EngineCopy &copy) { copy.srcSlot = 2; }),
            prefix + "a copy has two positions in a segment");
  EXPECT_EQ(changed([](EngineCopy &copy) { copy.dstSlot = 2; }),
            prefix + "'dstSlot' is 2, expected 0 to 1");
  EXPECT_EQ(changed([](EngineCopy &copy) { copy.dstRank = 1; }),
            prefix + "a copy has more chunks than its buffer");
  EXPECT_EQ(changed([](EngineCopy &copy) { copy.dstRank = 2; }),
            prefix + "'dstRank' is 2, expected 0 to 1");
  EXPECT_EQ(changed([](EngineCopy &copy) { copy.count = 4; }),
            prefix + "'count' is 4, expected 1 to 3");
  EXPECT_EQ(changed([](EngineCopy &copy) { copy.dstBuffer = 1; }),
            prefix + "a copy has two positions in a segment");
  EXPECT_EQ(changed([](EngineCopy &copy) { copy.srcBuffer = 3; }),
            prefix + "'srcBuffer' is 3, expected 0 to 2");
  EXPECT_EQ(changed([](EngineCopy &copy) { copy.srcRank = 0; }),
            "the plan is broken: a copy is done by another rank than that of "
            "its source");
  EXPECT_EQ(errorWith([](Plan &plan) { plan.manifest.programs[0].steps = 1; }),
            "the plan is broken: a list by rank or step has another length");
  auto toBuffer = [](unsigned buffer) {
    return [buffer](EngineCopy &copy) {
      copy.dstSlot = copy.position;
      copy.dstBuffer = buffer;
    };
  };
  EXPECT_EQ(changed(toBuffer(0)), prefix + "a copy goes to a send buffer");
  EXPECT_EQ(changed(toBuffer(1)), "");
  EXPECT_EQ(errorWith([&](Plan &plan) {
              ProgramEntry &program = plan.manifest.programs[0];
              toBuffer(1)(program.copies[1][0]);
              program.peersTouchOutput = false;
            }),
            prefix + "a copy goes to a receive buffer that peers leave alone");
}

TEST(Plan, ChecksTheIndexOfRanks) {
  auto changed = [](auto change) {
    return errorWith([&](Plan &plan) { change(plan.manifest); });
  };
  const std::string prefix = "the plan is broken: rank 1 has ";
  EXPECT_EQ(changed([](Manifest &manifest) {
              manifest.layout[1].inPlaceOffset = 1 << 29;
            }),
            prefix + "an offset in place that is no number of segments");
  EXPECT_EQ(changed([](Manifest &manifest) {
              manifest.layout[1].inputSegments = 1 << 29;
              manifest.conditions.reset();
            }),
            prefix + "more segments than the limit, 268435456");
  EXPECT_EQ(changed([](Manifest &manifest) {
              manifest.programs[0].ranks[1].channels = 1 << 15;
            }),
            prefix + "more channels, slots or bytes of flags than the limit");
}

TEST(Plan, RefusesDeepNesting) {
  std::vector<BlobRange> blobs;
  EXPECT_EQ(parseManifest(std::string(1000000, '['), blobs).error(),
            "the manifest is broken: it nests deeper than 12");
  EXPECT_NE(parseManifest("\"[[[[[[[[[[[[[[[[[[[[\\\"", blobs).error(), "");
}

/// Each would take kilobytes in memory.
TEST(Plan, RefusesManyObjects) {
  std::string text = "[";
  for (unsigned i = 0; i <= Limits::manifestObjects; ++i)
    text += R"({"":0},)";
  std::vector<BlobRange> blobs;
  EXPECT_EQ(parseManifest(text, blobs).error(),
            "the manifest is broken: it has more than 32768 objects");
}

TEST(Plan, RefusesKernelsWithoutBlob) {
  Plan plan = makePlan();
  plan.manifest.kernels[0].blob = 3;
  EXPECT_EQ(serialize(plan).error(),
            "the manifest is broken: 'blob' is 3, expected 0 to 2");
}
