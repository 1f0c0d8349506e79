//===- SparesTest.cpp - What measuring may find to be better --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Advice/Advice.h"

#include <gtest/gtest.h>

using namespace sccl;

/// A broadcast among four ranks over the links of each step. Latency and load
/// are what the test says.
static Candidate candidate(
    double latency, double load,
    const std::vector<std::vector<std::pair<unsigned, unsigned>>> &steps) {
  Collective collective = *Collective::make(CollectiveKind::Broadcast, 4, 1, 0);
  Candidate result{.implementation = {std::move(collective), {}}};
  for (const auto &links : steps) {
    Step &step = result.implementation.schedule.steps.emplace_back();
    step.rounds = 1;
    for (auto [src, dst] : links)
      step.sends.push_back({.chunk = 0, .src = src, .dst = dst});
  }
  result.latency = latency;
  result.load = result.serialLoad = load;
  return result;
}

static Advice adviceOf(std::vector<Candidate> candidates,
                       const std::vector<size_t> &best) {
  Advice advice;
  advice.candidates = std::move(candidates);
  for (size_t number : best)
    advice.sizes.push_back({8 * (advice.sizes.size() + 1), number, "", 1, 1});
  return advice;
}

TEST(Spares, WhatNoOtherBeats) {
  // The root sends thrice; a binomial tree; a chain, whose ranks send and get
  // one message each, as those of the tree do at most; and what is worse.
  Candidate star = candidate(1, 3, {{{0, 1}, {0, 2}, {0, 3}}});
  Candidate tree = candidate(2, 2, {{{0, 2}}, {{0, 1}, {2, 3}}});
  Candidate chain = candidate(3, 1, {{{0, 1}}, {{1, 2}}, {{2, 3}}});
  Candidate late = candidate(4, 2, {{{0, 2}}, {{0, 1}, {2, 3}}});
  using Numbers = std::vector<size_t>;
  EXPECT_EQ(spareCandidates(adviceOf({star, tree, chain, late}, {0, 0})),
            Numbers({1, 2}));
  EXPECT_EQ(spareCandidates(adviceOf({star, tree, chain, late}, {0, 2})),
            Numbers({1}));
  EXPECT_EQ(spareCandidates(adviceOf({late, star}, {0})), Numbers({1}));
}

TEST(Spares, FewerMessagesAreAMerit) {
  Candidate star = candidate(1, 1, {{{0, 1}, {0, 2}, {0, 3}}});
  Candidate tree = candidate(2, 2, {{{0, 2}}, {{0, 1}, {2, 3}}});
  using Numbers = std::vector<size_t>;
  EXPECT_EQ(spareCandidates(adviceOf({star, tree}, {0})), Numbers({1}));
  // Neither beats the other: once is enough.
  EXPECT_EQ(spareCandidates(adviceOf({star, tree, tree, star}, {3})),
            Numbers({1}));
}
