//===- PlanDamageTest.cpp - Plans that are not what they say --------------===//
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
#include <random>

using namespace sccl;
using namespace sccl::plan;

/// Writes the hash that belongs to `bytes` into the header.
static void repairHash(std::string &bytes) {
  using llvm::support::endian::read64le;
  llvm::StringRef text = bytes;
  llvm::SHA256 hash;
  hash.update(text.take_front(48));
  hash.update(text.substr(prefixBytes, read64le(bytes.data() + 16) +
                                           read64le(bytes.data() + 24)));
  std::array<uint8_t, 32> result = hash.final();
  std::copy(result.begin(), result.end(), bytes.begin() + 48);
}

TEST(Plan, RefusesBlobsElsewhere) {
  const std::string whole = *serialize(makePlan());
  auto errorOf = [](std::string bytes) {
    repairHash(bytes);
    return parse(bytes).error();
  };
  EXPECT_EQ(errorOf(whole), "");
  const std::string refused = "the plan is broken: its blobs and parts do not "
                              "follow each other as they should";
  for (auto [from, to] : {std::pair("\"bytes\":10000", "\"bytes\":12289"),
                          {"\"bytes\":5", "\"bytes\":0"},
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
  EXPECT_EQ(errorOf(bytes), "the plan is broken: there is something between "
                            "its blobs and parts");
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

/// Flips bits of `bytes`, half of them in the header, or cuts the file off.
static void damage(std::string &bytes, std::mt19937 &random) {
  for (unsigned i = 0; i < 1 + random() % 3; ++i) {
    size_t range = random() % 2 ? 48 : bytes.size();
    bytes[random() % range] ^= char(1 << random() % 8);
  }
  if (random() % 4 == 0)
    bytes.resize(prefixBytes + random() % (bytes.size() - prefixBytes));
  // Half the time, the size in the header is that of the file.
  if (random() % 2 == 0)
    for (unsigned i = 0; i < 8; ++i)
      bytes[32 + i] = char(bytes.size() >> 8 * i);
}

/// Damaged parts under a right hash: a reader may refuse, but not crash.
TEST(Plan, SurvivesDamagedParts) {
  const std::string whole = *serialize(makePlan());
  PlanView view = *parse(whole);
  std::mt19937 random(1);
  unsigned refused = 0;
  for (unsigned round = 0; round < 5000; ++round) {
    std::string part = partOf(view, whole, 1);
    part[random() % part.size()] = char(random());
    if (random() % 2)
      part.resize(random() % part.size());
    view.parts[1].hash = llvm::SHA256::hash(llvm::arrayRefFromStringRef(part));
    refused += !readPart(view, 1, part);
  }
  EXPECT_GT(refused, 4000u);
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
      EXPECT_TRUE(blob.data() >= bytes.data() + prefixBytes &&
                  blob.end() <= bytes.data() + bytes.size());
    for (const KernelInfo &kernel : view->manifest.kernels)
      EXPECT_LT(kernel.blob, view->blobs.size());
    for (const PartRange &range : view->parts)
      EXPECT_LE(range.offset + range.bytes, bytes.size());
  }
  // Flips in blobs are what is accepted.
  EXPECT_GT(accepted, 500u);
  EXPECT_GT(refused, 2500u);
}
