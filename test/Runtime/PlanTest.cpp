//===- PlanTest.cpp - Tests of the container of plans ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Plan/Plan.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/SHA256.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

using namespace sccl;
using namespace sccl::plan;

/// A plan that uses every field.
static Plan makePlan() {
  Plan plan;
  Manifest &manifest = plan.manifest;
  manifest.generator = "test";
  manifest.collective = "all_reduce";
  manifest.ranks = 2;
  manifest.combining = true;
  manifest.layout = {{1, 1, 0}, {1, 1, std::nullopt}};
  manifest.layout[1].inPlaceOffset = -3;
  manifest.conditions = {3, 5, {{4}, {2}}, {{2}, {4}}};
  manifest.topology = "pair";
  manifest.fingerprint = "0123";
  manifest.schedules = {{"a", 2, 1, 1, 2, "1"}, {"b", 4, 4, 2, 2, "1/2"}};
  ProgramInfo program;
  program.schedule = 1;
  program.variant = "push";
  program.codeShape = "table";
  program.blocks = 4;
  program.peersTouchOutput = true;
  program.announcesReady = false;
  program.ranks = {{2, 3, 640}, {1, 0, 1280}};
  // From the second and third chunk of rank 1's input to rank 0's scratch.
  EngineCopy copy{1, 1, 0, 1, 0, 2, 0, 1, 2};
  program.copies = {{}, {copy}};
  manifest.programs = {program};
  manifest.kernels = {
      {0, "x86-64", "elf", "f32", "sum", 1, {"a_rank0", "a_rank1"}, 1, ""}};
  manifest.tables = {
      {"model", "", "", {{0, 0, Path::Auto, 0}}},
      {"measured",
       "x86-64",
       "threads",
       {{0, 0, Path::Staging, 4096}, {77, 0, Path::Direct, 1 << 20}}}};
  plan.blobs = {"", std::string(10000, 'x'), "third"};
  return plan;
}

TEST(Plan, RoundTrips) {
  Plan plan = makePlan();
  Result<std::string> bytes = serialize(plan);
  ASSERT_TRUE(bool(bytes)) << bytes.error();
  Result<PlanView> view = parse(*bytes);
  ASSERT_TRUE(bool(view)) << view.error();
  EXPECT_EQ(view->manifest, plan.manifest);
  ASSERT_EQ(view->blobs.size(), plan.blobs.size());
  for (size_t i = 0; i < plan.blobs.size(); ++i) {
    EXPECT_EQ(view->blobs[i], plan.blobs[i]);
    EXPECT_EQ((view->blobs[i].data() - bytes->data()) % 4096, 0);
    EXPECT_FALSE(checkBlob(*view, i));
  }
  EXPECT_EQ(view->hash.size(), 64u);
  EXPECT_EQ(*bytes, *serialize(plan));
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
  bytes.back() ^= 1;
  Result<PlanView> view = parse(bytes);
  ASSERT_TRUE(bool(view)) << view.error();
  EXPECT_FALSE(checkBlob(*view, 1));
  std::optional<Error> error = checkBlob(*view, 2);
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
  bytes[8] = 2;
  EXPECT_EQ(parse(bytes).error(),
            "the plan has format version 2, this is for version 1");
  bytes[8] = 1;
  bytes[100] ^= 1;
  EXPECT_EQ(parse(bytes).error(), "the plan is damaged: its manifest does not "
                                  "have the SHA-256 that its header says");
  EXPECT_EQ(parse(llvm::StringRef(bytes).take_front(70)).error(),
            "the plan is truncated or too long: it has 70 bytes and should "
            "have " +
                std::to_string(bytes.size()));
}

static std::vector<BlobRange> makeRanges() {
  std::string hash(64, '0');
  return {{4096, 0, hash}, {4096, 10000, hash}, {16384, 5, hash}};
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
  EXPECT_EQ(
      errorAfter("\"program\":0,\"reduction\"", "\"program\":1,\"reduction\""),
      prefix + "'program' is 1, expected 0 to 0");
  EXPECT_EQ(errorAfter("\"blob\":1", "\"blob\":3"),
            prefix + "'blob' is 3, expected 0 to 2");
  EXPECT_EQ(errorAfter("\"a_rank0\",", ""),
            prefix + "'symbols' is no list of 2 strings");
  EXPECT_EQ(errorAfter("\"virtualSymbol\":\"\"", "\"virtualSymbol\":1"),
            prefix + "'virtualSymbol' is missing or no string");
  EXPECT_EQ(errorAfter("\"direct\"", "\"sideways\""),
            prefix + "'path' is neither auto, direct nor bounce");
  EXPECT_EQ(errorAfter("\"firstByte\":77", "\"firstByte\":0"),
            prefix + "the sizes of a table do not ascend from 0");
  EXPECT_EQ(errorAfter("\"codeShape\":\"table\"", "\"codeShape\":\"list\""),
            prefix + "'codeShape' is 'list', expected unrolled or table");
  EXPECT_EQ(errorAfter("\"codeShape\":\"table\"", "\"codeShape\":2"),
            prefix + "'codeShape' is missing or no string");
  EXPECT_EQ(errorAfter("\"step\":1}", "\"step\":2}"),
            prefix + "'step' is 2, expected 0 to 1");
  EXPECT_EQ(errorAfter("\"steps\":2,\"variant\"", "\"steps\":0,\"variant\""),
            prefix + "'copies' has 1 entries, expected 0 to 0");
  EXPECT_EQ(errorAfter("\"srcSlot\":1", "\"srcSlot\":3"),
            prefix + "'srcSlot' is 3, expected 0 to 2");
  EXPECT_EQ(errorAfter("\"srcSlot\":1", "\"srcSlot\":2"),
            prefix + "a copy has two positions in a segment");
  EXPECT_EQ(errorAfter("\"dstSlot\":0", "\"dstSlot\":2"),
            prefix + "'dstSlot' is 2, expected 0 to 1");
  EXPECT_EQ(errorAfter("\"dstRank\":0", "\"dstRank\":1"),
            prefix + "a copy has more chunks than its buffer");
  EXPECT_EQ(errorAfter("\"count\":2", "\"count\":4"),
            prefix + "'count' is 4, expected 1 to 3");
  EXPECT_EQ(errorAfter("\"srcRank\":1", "\"srcRank\":0"),
            prefix + "a copy is done by another rank than that of its source");
  EXPECT_EQ(errorAfter("\"dstBuffer\":2", "\"dstBuffer\":1"),
            prefix + "a copy has two positions in a segment");
  EXPECT_EQ(errorAfter("\"offset\":4096", "\"offset\":1e99"),
            prefix + "'offset' is missing or no integer");
  EXPECT_EQ(errorAfter("\"sha256\":\"0000", "\"sha256\":\"0"),
            prefix + "'sha256' is '" + std::string(61, '0') +
                "', expected 64 hexadecimal digits");
  EXPECT_EQ(errorAfter("\"inPlace\":false", "\"inPlace\":0"),
            prefix + "'inPlace' is missing or neither true nor false");
  EXPECT_EQ(errorAfter("\"a_rank0\"", "\"a\\u0000\""),
            prefix + "'symbols' has control characters");
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

TEST(Plan, ChecksConditions) {
  const std::string prefix = "the manifest is broken: ";
  EXPECT_EQ(errorAfter("\"distinct\":5", "\"distinct\":1000000000"),
            prefix + "'distinct' is 1000000000, expected 1 to 134217728");
  EXPECT_EQ(errorAfter("\"pre\":[[4]", "\"pre\":[[5]"),
            prefix + "'pre' has no ascending chunks");
  EXPECT_EQ(errorAfter("\"pre\":[[4]", "\"pre\":[[-1]"),
            prefix + "'pre' has no ascending chunks");
  EXPECT_EQ(errorAfter("\"post\":[[2]", "\"post\":[[2,2]"),
            prefix + "'post' has no ascending chunks");
  EXPECT_EQ(errorAfter("\"post\":[[2]", "\"post\":[[2,3]"),
            prefix + "'post' differs from 'layout'");
  EXPECT_EQ(errorAfter("\"post\":[[2]", "\"post\":[2"),
            prefix + "'post' differs from 'layout'");
  EXPECT_EQ(errorAfter("\"pre\":[[4],", "\"pre\":["),
            prefix + "'pre' is no list of chunks per rank");
  EXPECT_EQ(errorAfter("\"conditions\":{", "\"conditions\":[],\"x\":{"),
            prefix + "'conditions' is no object");
}

TEST(Plan, ChecksWhereCopiesGo) {
  const std::string prefix = "the manifest is broken: a copy goes to a ";
  Plan plan = makePlan();
  EngineCopy &copy = plan.manifest.programs[0].copies[1][0];
  copy.dstSlot = copy.position;
  copy.dstBuffer = 0;
  EXPECT_EQ(serialize(plan).error(), prefix + "send buffer");
  copy.dstBuffer = 1;
  EXPECT_TRUE(bool(serialize(plan)));
  plan.manifest.programs[0].peersTouchOutput = false;
  EXPECT_EQ(serialize(plan).error(),
            prefix + "receive buffer that peers leave alone");
}

TEST(Plan, RefusesDeepNesting) {
  std::vector<BlobRange> blobs;
  EXPECT_EQ(parseManifest(std::string(1000000, '['), blobs).error(),
            "the manifest is broken: it nests deeper than 12");
  EXPECT_NE(parseManifest("\"[[[[[[[[[[[[[[[[[[[[\\\"", blobs).error(), "");
}

TEST(Plan, RefusesKernelsWithoutBlob) {
  Plan plan = makePlan();
  plan.manifest.kernels[0].blob = 3;
  EXPECT_EQ(serialize(plan).error(),
            "the manifest is broken: 'blob' is 3, expected 0 to 2");
}

static void repairHash(std::string &bytes);

TEST(Plan, RefusesBlobsElsewhere) {
  const std::string whole = *serialize(makePlan());
  auto errorOf = [](std::string bytes) {
    repairHash(bytes);
    return parse(bytes).error();
  };
  EXPECT_EQ(errorOf(whole), "");
  const std::string refused =
      "the plan is broken: its blobs do not follow each other as they should";
  for (auto [from, to] : {std::pair("\"bytes\":10000", "\"bytes\":12289"),
                          {"\"bytes\":5", "\"bytes\":6"},
                          {"\"offset\":16384", "\"offset\":12288"},
                          {"\"offset\":16384", "\"offset\":20480"}}) {
    std::string bytes = whole;
    size_t at = bytes.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    bytes.replace(at, strlen(from), to);
    EXPECT_EQ(errorOf(bytes), refused) << to;
  }
  std::string bytes = whole;
  bytes[4095] = 'x';
  EXPECT_EQ(errorOf(bytes), refused);
}

/// Damaged manifests under a right hash: a reader may refuse, but not crash.
TEST(Plan, SurvivesDamagedManifests) {
  std::vector<BlobRange> blobs = makeRanges();
  const std::string text = manifestText(makePlan().manifest, blobs);
  std::mt19937 random(1);
  unsigned refused = 0;
  for (unsigned round = 0; round < 20000; ++round) {
    std::string damaged = text;
    for (unsigned i = 0; i < 1 + round % 3; ++i)
      switch (random() % 3) {
      case 0:
        damaged[random() % damaged.size()] = char(random());
        break;
      case 1:
        damaged.erase(random() % damaged.size(), random() % 9);
        break;
      default:
        damaged.insert(random() % damaged.size(),
                       damaged.substr(random() % damaged.size(), 9));
      }
    refused += !parseManifest(damaged, blobs);
  }
  EXPECT_GT(refused, 15000u);
}

/// Writes the hash that belongs to `bytes` into the header.
static void repairHash(std::string &bytes) {
  llvm::SHA256 hash;
  hash.update(llvm::StringRef(bytes).take_front(32));
  hash.update(llvm::StringRef(bytes).substr(
      64, llvm::support::endian::read64le(bytes.data() + 16)));
  std::array<uint8_t, 32> result = hash.final();
  std::copy(result.begin(), result.end(), bytes.begin() + 32);
}

/// Flips bits of `bytes`, half of them in the header, or cuts the file off.
static void damage(std::string &bytes, std::mt19937 &random) {
  for (unsigned i = 0; i < 1 + random() % 3; ++i) {
    size_t range = random() % 2 ? 32 : bytes.size();
    bytes[random() % range] ^= char(1 << random() % 8);
  }
  if (random() % 4 == 0)
    bytes.resize(64 + random() % (bytes.size() - 64));
  // Half the time, the size in the header is that of the file.
  if (random() % 2 == 0)
    for (unsigned i = 0; i < 8; ++i)
      bytes[24 + i] = char(bytes.size() >> 8 * i);
}

/// Damaged files under a right hash: what is read lies within them.
TEST(Plan, SurvivesDamagedFiles) {
  const std::string whole = *serialize(makePlan());
  std::mt19937 random(1);
  unsigned refused = 0, accepted = 0;
  for (unsigned round = 0; round < 5000; ++round) {
    std::string bytes = whole;
    damage(bytes, random);
    repairHash(bytes);
    Result<PlanView> view = parse(bytes);
    ++(view ? accepted : refused);
    if (!view)
      continue;
    for (llvm::StringRef blob : view->blobs)
      EXPECT_TRUE(blob.data() >= bytes.data() + 64 &&
                  blob.end() <= bytes.data() + bytes.size());
    for (const KernelInfo &kernel : view->manifest.kernels)
      EXPECT_LT(kernel.blob, view->blobs.size());
  }
  // Flips in blobs are what is accepted.
  EXPECT_GT(accepted, 500u);
  EXPECT_GT(refused, 2500u);
}
