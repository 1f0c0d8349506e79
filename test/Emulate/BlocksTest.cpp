//===- BlocksTest.cpp - Launches of few blocks and of many ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program for up to so many blocks of each channel is launched with any
// number of them, another one each time, without anybody waiting in between.
//
//===----------------------------------------------------------------------===//

#include "Judging.h"
#include "Mutants.h"

using namespace sccl;
using namespace sccl::test;

namespace {
class Blocks : public testing::TestWithParam<std::string> {
protected:
  static constexpr unsigned most = 5;

  /// The ways to lower to this target, for up to `most` blocks.
  static std::vector<Way> waysOfBlocks() {
    std::vector<Way> all = waysFor(GetParam());
    for (Way &way : all)
      way.options.blocksPerLink = most;
    return all;
  }

  /// With each number of blocks once after each other one.
  static Request launches(const Compiled &compiled, const Way &way,
                          unsigned seed) {
    Request execution = executionOf(compiled, way, seed);
    std::vector<unsigned> &blocks = execution.request.blocks;
    blocks.clear();
    for (unsigned first = most; first > 0; --first)
      for (unsigned second = 1; second < first; ++second)
        blocks.insert(blocks.end(), {first, second});
    blocks.push_back(most);
    execution.request.launches = blocks.size();
    return execution;
  }

  static void expectRight(const Subject &subject) {
    for (const Way &way : waysOfBlocks()) {
      SCOPED_TRACE(way.name);
      std::optional<Compiled> compiled =
          compile(subject, way.options, way.target);
      if (!compiled && way.options.steps)
        continue; // hosts do everything
      ASSERT_TRUE(compiled);
      Result<emulate::Code> code = emulate::Code::parse(compiled->text());
      ASSERT_TRUE(code) << code.error();
      for (unsigned seed = 0; seed < 2; ++seed) {
        Executed executed =
            execute(*compiled, *code, launches(*compiled, way, seed));
        EXPECT_TRUE(executed.isRight()) << executed.str();
        EXPECT_NE(executed.elements, 0u);
      }
    }
  }
};
} // namespace

TEST_P(Blocks, OfSumsOnARing) {
  std::optional<Subject> subject =
      synthesized("ring:3", CollectiveKind::AllReduce, 3, 4, 4);
  ASSERT_TRUE(subject);
  expectRight(*subject);
}

/// Ranks begin anew before others have read.
TEST_P(Blocks, OfCopiesAtOnce) {
  std::optional<Subject> subject = oneShotGather();
  ASSERT_TRUE(subject);
  expectRight(*subject);
}

/// What does not end the epochs of absent blocks is right as long as all
/// launches have the same number, and only then: halves of scratch, and LL
/// words, go by epochs.
TEST_P(Blocks, EndTheEpochsOfThoseThatAreAbsent) {
  std::optional<Subject> subject = oneShotGather();
  ASSERT_TRUE(subject);
  unsigned judged = 0;
  for (const Way &way : waysOfBlocks()) {
    // Eager programs wait for ready in each launch.
    if (!way.options.doubleBuffer || !way.options.throughScratch)
      continue;
    SCOPED_TRACE(way.name);
    std::optional<Compiled> compiled =
        compile(*subject, way.options, way.target);
    ASSERT_TRUE(compiled);
    for (const Mutant &mutant : mutantsOf(compiled->text())) {
      if (mutant.kind != "begin: absent blocks left out")
        continue;
      Result<emulate::Code> code = emulate::Code::parse(mutant.text);
      ASSERT_TRUE(code) << code.error();
      for (unsigned blocks : {1u, most}) {
        Request same = executionOf(*compiled, way, /*seed=*/0);
        same.request.blocks = {blocks};
        EXPECT_TRUE(execute(*compiled, *code, same).isRight());
      }
      Request changing = launches(*compiled, way, /*seed=*/0);
      changing.request.settings.instructions = 1 << 24;
      EXPECT_FALSE(execute(*compiled, *code, changing).isRight());
      ++judged;
    }
  }
  EXPECT_EQ(judged, 4u);
}

INSTANTIATE_TEST_SUITE_P(Targets, Blocks, testing::Values("sm_90", "gfx942"),
                         [](const auto &info) { return info.param; });
