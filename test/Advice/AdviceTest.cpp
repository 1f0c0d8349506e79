//===- AdviceTest.cpp - Which schedule for which size ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AdviceTesting.h"

#include "sccl/Model/Pieces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <tuple>

using namespace sccl;

static FrontierOptions someOptions() {
  FrontierOptions options;
  options.maxSteps = 4;
  options.probeWork = options.stepWork = 100'000;
  return options;
}

TEST(Advice, DraftsAreNotLongerThanPrograms) {
  PipelineContext context;
  std::mt19937 random(3);
  std::vector<uint64_t> sizes = {64, 256, 1024, 4096};
  std::vector<LoweringWay> ways = usualWays({});
  for (CollectiveKind kind :
       {CollectiveKind::AllGather, CollectiveKind::AllReduce}) {
    Fabric fabric = randomFabric(random);
    CollectiveFamily family{kind};
    Result<Advice> lowered =
        advise(context.get(), fabric, family, sizes, someOptions(), ways);
    Result<Advice> drafted = adviseByDrafts(context.get(), fabric, family,
                                            sizes, someOptions(), ways);
    ASSERT_TRUE(bool(lowered)) << lowered.error();
    ASSERT_TRUE(bool(drafted)) << drafted.error();
    for (const SizeAdvice &draft : drafted->sizes) {
      const SizeAdvice &program =
          *std::ranges::find(lowered->sizes, draft.bytes, &SizeAdvice::bytes);
      EXPECT_TRUE(program.isSimulated() && draft.isSimulated());
      EXPECT_LE(draft.microseconds, program.microseconds * (1 + 1e-9));
      // A shorter program may take a little longer than the best draft.
      EXPECT_LE(program.microseconds, draft.microseconds * 1.2);
      EXPECT_GE(draft.microseconds, draft.bound * (1 - 1e-6));
      EXPECT_GE(program.microseconds, program.bound * (1 - 1e-6));
    }
  }
}

/// True if plans hold both as one schedule.
static bool isSameSchedule(const Candidate &a, const Candidate &b) {
  auto factsOf = [](const Candidate &candidate) {
    const auto &[collective, schedule] = candidate.implementation;
    return std::tuple(collective.chunks(), schedule.steps.size(),
                      schedule.period, schedule.rounds());
  };
  return factsOf(a) == factsOf(b);
}

TEST(Advice, FindsWhereSchedulesTakeOver) {
  PipelineContext context;
  std::mt19937 random(3);
  std::vector<uint64_t> asked = {1, 16, 256, 4096, 65536};
  std::vector<LoweringWay> ways = usualWays({});
  unsigned switches = 0;
  std::vector<std::pair<CollectiveKind, Fabric>> problems;
  for (CollectiveKind kind :
       {CollectiveKind::AllGather, CollectiveKind::AllReduce})
    problems.emplace_back(kind, randomFabric(random));
  // Two steps for few bytes, three for many.
  Topology dgx1 = *makeBuiltinTopology("dgx1");
  problems.emplace_back(CollectiveKind::AllGather,
                        Fabric{dgx1, Timing::uniform(dgx1, 1, 10), 0.1});
  for (const auto &[kind, fabric] : problems) {
    CollectiveFamily family{kind};
    Result<Advice> advice =
        advise(context.get(), fabric, family, asked, someOptions(), ways);
    ASSERT_TRUE(bool(advice)) << advice.error();
    std::vector<uint64_t> found;
    for (const SizeAdvice &size : advice->sizes)
      found.push_back(size.bytes);
    EXPECT_TRUE(std::ranges::includes(found, asked));
    EXPECT_EQ(std::ranges::adjacent_find(found, std::greater_equal()),
              found.end());
    for (size_t i = 0; i + 1 < found.size(); ++i) {
      const SizeAdvice &below = advice->sizes[i], &above = advice->sizes[i + 1];
      EXPECT_LE(below.microseconds, above.microseconds * 1.01);
      if (isSameSchedule(advice->candidates[below.candidate],
                         advice->candidates[above.candidate]))
        continue;
      ++switches;
      EXPECT_TRUE(double(above.bytes) <= 1.25 * double(below.bytes) ||
                  above.bytes == below.bytes + 1)
          << below.bytes << ' ' << above.bytes;
    }
    // What is looked at among few is as good as among all.
    Result<Advice> again =
        advise(context.get(), fabric, family, found, someOptions(), ways);
    ASSERT_TRUE(bool(again)) << again.error();
    for (const SizeAdvice &size : advice->sizes)
      for (const SizeAdvice &other : again->sizes)
        EXPECT_TRUE(other.bytes != size.bytes ||
                    size.microseconds <= other.microseconds * 1.02);
  }
  EXPECT_GE(switches, 1u);
}

/// `topology` with links that are as fast as NVLink.
static Fabric fabricOf(Topology topology, double gbps, double latency) {
  Timing timing = Timing::uniform(topology, latency, gbps * 1e3);
  timing.copyRate = 1e6;
  return {std::move(topology), std::move(timing), 1 / (gbps * 1e3)};
}

/// DGX-1 without the link between two ranks.
static Fabric dgx1Without(unsigned a, unsigned b) {
  Topology whole = *makeBuiltinTopology("dgx1");
  Topology left("left", whole.numRanks());
  for (const BandwidthLimit &limit : whole.limits()) {
    auto [src, dst] = whole.links()[limit.links.front()];
    if (std::minmax(src, dst) != std::minmax(a, b)) {
      EXPECT_TRUE(bool(left.addLink(src, dst, limit.bandwidth)));
    }
  }
  return fabricOf(std::move(left), 25, 0.4);
}

static FrontierOptions hastyOptions() {
  FrontierOptions options;
  options.probeWork = 100'000;
  options.stepWork = 200'000;
  options.maxChunks = 32;
  options.hasty = true;
  return options;
}

/// What takes `bytes` bytes on `fabric`, by drafts, if sizes grow fourfold.
static SizeAdvice draftedFor(const Fabric &fabric, CollectiveKind kind,
                             uint64_t bytes) {
  PipelineContext context;
  std::vector<uint64_t> sizes;
  for (uint64_t size = 1024; size <= bytes; size *= 4)
    sizes.push_back(size);
  Result<Advice> advice = adviseByDrafts(context.get(), fabric, {kind}, sizes,
                                         hastyOptions(), usualWays({}));
  EXPECT_TRUE(bool(advice)) << advice.error();
  return advice ? advice->sizes.back() : SizeAdvice{};
}

TEST(Advice, StepsThatFillAllLinksAreKeptBesideSmallLoads) {
  // Pipelined schedules of fewer steps and no more load begin and end slowly.
  EXPECT_LT(
      draftedFor(dgx1Without(0, 2), CollectiveKind::AllReduce, 262144).gap(),
      0.25);
  EXPECT_LT(
      draftedFor(dgx1Without(1, 2), CollectiveKind::AllReduce, 262144).gap(),
      0.15);
}

TEST(Advice, WhatWasSlowForFewBytesIsLookedAtAgain) {
  Fabric fabric = fabricOf(*makeBuiltinTopology("switch:8,1"), 450, 0.8);
  EXPECT_LT(draftedFor(fabric, CollectiveKind::Broadcast, 16 << 20).gap(),
            0.05);
}

TEST(Advice, ManyPiecesTakeWhatTheirDraftsDo) {
  PipelineContext context;
  Fabric fabric = dgx1Without(2, 3);
  constexpr uint64_t bytes = 4 << 20;
  std::vector<LoweringWay> ways = usualWays({});
  Result<Advice> advice =
      advise(context.get(), fabric, {CollectiveKind::AllReduce}, {bytes},
             hastyOptions(), ways);
  ASSERT_TRUE(bool(advice)) << advice.error();
  const SizeAdvice &size = advice->sizes.front();
  const Candidate &candidate = advice->candidates[size.candidate];
  EXPECT_GT(candidate.implementation.schedule.numSends() * candidate.pieces,
            8'000u);
  Result<Implementation> cut =
      cutIntoPieces(candidate.implementation, fabric.topology, candidate.pieces,
                    candidate.order);
  ASSERT_TRUE(bool(cut));
  auto way = std::ranges::find(ways, size.way, &LoweringWay::name);
  std::optional<double> time =
      timeOf(context.get(), fabric, *cut, way->options, double(bytes));
  ASSERT_TRUE(time);
  EXPECT_NEAR(*time, size.microseconds, *time * 1e-3);
}
