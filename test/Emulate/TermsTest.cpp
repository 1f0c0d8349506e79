//===- TermsTest.cpp - Sums of several terms, as code ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each of 8 ranks adds up all inputs by itself, in all shapes that code has:
// small floats are rounded once.
//
//===----------------------------------------------------------------------===//

#include "Emulated.h"
#include "Ways.h"

using namespace sccl;
using namespace sccl::test;

static constexpr unsigned ranks = 8;

/// All send their inputs to all.
static Subject directSum() {
  Subject subject = {*makeBuiltinTopology("mesh:8"),
                     {*Collective::make(CollectiveKind::AllReduce, ranks, 1)}};
  Step &step = subject.implementation.schedule.steps.emplace_back();
  for (unsigned src = 0; src < ranks; ++src)
    for (unsigned dst = 0; dst < ranks; ++dst)
      if (src != dst)
        step.sends.push_back({0, src, dst, SendAction::Reduce});
  fitRounds(subject.implementation.schedule, subject.topology);
  return subject;
}

namespace {
class Terms : public testing::TestWithParam<std::string> {};
} // namespace

/// Runs `compiled`, for bf16, with 256 as the input of one rank and 1 as those
/// of the others. Returns how many elements are not 264, the number next to
/// 263.
static unsigned countWrong(const Compiled &compiled) {
  constexpr uint16_t large = 0x4380, small = 0x3f80, sum = 0x4384;
  constexpr unsigned elements = 1000;
  emulate::RunRequest request;
  request.segmentBytes = {elements * sizeof(uint16_t)};
  unsigned wrong = 0;
  emulate::RunData data;
  data.fill = [&](unsigned rank, unsigned launch, void *input) {
    std::fill_n(static_cast<uint16_t *>(input), elements,
                rank == launch ? large : small);
  };
  data.compare = [&](unsigned, unsigned, const void *output) {
    const auto *begin = static_cast<const uint16_t *>(output);
    wrong += elements - std::count(begin, begin + elements, sum);
  };
  Result<emulate::Code> code = emulate::Code::parse(compiled.text());
  EXPECT_TRUE(code) << code.error();
  Result<emulate::RunReport> report =
      emulate::runPlan(*code, compiled.plan, compiled.kernel(), request, data);
  EXPECT_TRUE(report) << report.error();
  for (const emulate::Finding &finding : report->findings)
    ADD_FAILURE() << finding.message;
  return wrong;
}

TEST_P(Terms, areRoundedOnce) {
  Subject subject = directSum();
  for (const Way &way : waysFor(GetParam())) {
    if (way.options.virtualRanks) // small chips cannot hold all ranks
      continue;
    SCOPED_TRACE(way.name);
    LoweringOptions options = way.options;
    options.element = Element::BF16;
    std::optional<Compiled> compiled = compile(subject, options, way.target);
    if (!compiled && options.steps)
      continue; // hosts do everything
    ASSERT_TRUE(compiled);
    EXPECT_EQ(countWrong(*compiled), 0u);
  }
}

/// Executes code for all types and reductions that `isAsked` takes, in `orders`
/// by turns.
static void runTypes(const std::string &chip,
                     const std::vector<SumOrder> &orders,
                     bool (*isAsked)(const ElementType &, Reduction)) {
  std::vector<Way> all = waysFor(chip);
  Subject subject = directSum();
  unsigned turn = 0;
  for (const ElementType &type : elementTypes())
    for (Reduction reduction : reductions()) {
      if (!isAsked(type, reduction))
        continue;
      // "push" and "push table", or "ll" and "ll table", whose words carry 4
      // bytes.
      bool isLL = turn / 2 % 2 == 1 && type.bytes <= 4;
      const Way &way =
          all[(isLL ? std::array{3, 5} : std::array{0, 1})[turn % 2]];
      ++turn;
      Request execution;
      execution.elements = {1, 333};
      execution.element = type;
      execution.reduction = reduction;
      execution.request.misalignment = turn % 3 == 0 ? type.bytes : 0;
      LoweringOptions options = way.options;
      options.element = type.id;
      options.reduction = reduction;
      options.sumOrder = orders[turn % orders.size()];
      SCOPED_TRACE(std::string(type.name) + " " + toString(reduction) + " " +
                   way.name + " " + options.sumOrder.toString());
      std::optional<Compiled> compiled = compile(subject, options, way.target);
      ASSERT_TRUE(compiled);
      EXPECT_EQ(compiled->plan.manifest.sumOrder, options.sumOrder.toString());
      Result<emulate::Code> code = emulate::Code::parse(compiled->text());
      ASSERT_TRUE(code) << code.error();
      Executed executed = execute(*compiled, *code, execution);
      EXPECT_TRUE(executed.isRight()) << executed.str();
    }
}

/// Within the bounds for all types and reductions.
TEST_P(Terms, ofAllTypes) {
  runTypes(GetParam(), {SumOrder::Same},
           [](const ElementType &, Reduction) { return true; });
}

/// To the bit where the order makes a difference.
TEST_P(Terms, ofFloatsByATree) {
  runTypes(GetParam(),
           {SumOrder::Tree, SumOrder::Left, *SumOrder::parse("ring:3"),
            *SumOrder::parse("((((0+2)+4)+6)+((1+3)+(5+7)))")},
           [](const ElementType &type, Reduction reduction) {
             return type.isFloat() && reduction != Reduction::Min &&
                    reduction != Reduction::Max;
           });
}

/// Threads have several lines of LL words at once, then fewer, then single
/// words, the last of which is cut short: whatever is left of a chunk, and
/// wherever buffers begin.
TEST_P(Terms, ofLinesOfWords) {
  std::optional<Subject> ring =
      synthesized("ring:3", CollectiveKind::AllReduce, 3, 4, 4);
  ASSERT_TRUE(ring);
  const Way way = waysFor(GetParam())[3];
  for (const char *name : {"f32", "f16", "f8e4m3", "u8"}) {
    ElementType type = *findElementType(name);
    LoweringOptions options = way.options;
    options.blockSize = 64;
    options.element = type.id;
    std::optional<Compiled> compiled = compile(*ring, options, way.target);
    ASSERT_TRUE(compiled);
    Result<emulate::Code> code = emulate::Code::parse(compiled->text());
    ASSERT_TRUE(code) << code.error();
    // 2 KiB of a chunk are a round for all threads.
    for (uint64_t bytes : {4096 + 1024 + 512 + 20, 1024 + 4})
      for (unsigned misalignment : {0u, type.bytes}) {
        SCOPED_TRACE(std::string(name) + " " + std::to_string(bytes) + " " +
                     std::to_string(misalignment));
        Request execution;
        uint64_t elements = 3 * bytes / type.bytes;
        execution.elements = {elements, elements - 1};
        execution.element = type;
        execution.request.misalignment = misalignment;
        Executed executed = execute(*compiled, *code, execution);
        EXPECT_TRUE(executed.isRight()) << executed.str();
      }
  }
}

/// Short slices of several chunks, and of several repetitions, are copied by a
/// team each, longer ones by all threads together.
TEST_P(Terms, ofSlicesForTeams) {
  std::optional<Subject> gather =
      synthesized("mesh:8", CollectiveKind::AllGather, 3, 1, 3);
  ASSERT_TRUE(gather);
  for (unsigned number : {3, 5}) // "ll", "ll table"
    for (unsigned blocks : {1, 2}) {
      const Way way = waysFor(GetParam())[number];
      LoweringOptions options = way.options;
      options.blockSize = 64;
      options.blocksPerLink = blocks;
      std::optional<Compiled> compiled = compile(*gather, options, way.target);
      ASSERT_TRUE(compiled);
      EXPECT_NE(compiled->text().find("coll_copy_mp_team"), std::string::npos);
      Result<emulate::Code> code = emulate::Code::parse(compiled->text());
      ASSERT_TRUE(code) << code.error();
      SCOPED_TRACE(way.name + " " + std::to_string(blocks));
      Request execution;
      execution.elements = {3, 700, 3 * 2000 + 1};
      Executed executed = execute(*compiled, *code, execution);
      EXPECT_TRUE(executed.isRight()) << executed.str();
    }
}

INSTANTIATE_TEST_SUITE_P(Chips, Terms, testing::Values("sm_90", "gfx942"));
