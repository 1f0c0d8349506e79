//===- ChunkSearchTest.cpp - Bounds from searches for single chunks -------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whatever is done to a refutation, it proves nothing that is false; and what
// it proves is what trying all sets of sends finds.
//
//===----------------------------------------------------------------------===//

#include "Bounds/Refutation.h"
#include "sccl/Bounds/LowerBound.h"
#include "sccl/Check/ChunkFormula.h"

#include <gtest/gtest.h>

#include <random>

using namespace sccl;
using namespace sccl::bounds;

using Kind = CollectiveKind;

namespace {
using Random = std::mt19937;
using Steps = std::vector<RefutationStep>;

unsigned below(Random &random, unsigned n) { return random() % n; }

/// Whether the sends of `plan`, one bit each, get from `sources` to all of the
/// postcondition.
bool reaches(const ChunkQuestion &question, uint64_t plan,
             const std::vector<unsigned> &sources) {
  uint64_t knows = 0;
  for (unsigned source : sources)
    knows |= uint64_t(1) << source;
  for (unsigned step = 0; step < question.steps; ++step) {
    uint64_t before = knows;
    for (size_t link = 0; link < question.links.size(); ++link)
      if (plan >> (link * question.steps + step) & 1 &&
          before >> question.links[link].src & 1)
        knows |= uint64_t(1) << question.links[link].dst;
  }
  return std::ranges::all_of(question.post,
                             [&](unsigned rank) { return knows >> rank & 1; });
}

/// The price of the cheapest sends that are enough, by trying all; nothing if
/// none are.
std::optional<int64_t> cheapest(const ChunkQuestion &question) {
  std::optional<int64_t> least;
  size_t sends = question.links.size() * question.steps;
  for (uint64_t plan = 0; plan < uint64_t(1) << sends; ++plan) {
    int64_t price = 0;
    for (size_t send = 0; send < sends; ++send)
      price += plan >> send & 1 ? question.prices[send] : 0;
    if (least && price >= *least)
      continue;
    bool isEnough =
        question.combining
            ? std::ranges::all_of(question.pre,
                                  [&](unsigned source) {
                                    return reaches(question, plan, {source});
                                  })
            : reaches(question, plan, question.pre);
    if (isEnough)
      least = price;
  }
  return least;
}

std::vector<unsigned> someRanks(Random &random, unsigned numRanks) {
  std::vector<unsigned> ranks;
  for (unsigned rank = 0; rank < numRanks; ++rank)
    if (below(random, 2))
      ranks.push_back(rank);
  if (ranks.empty())
    ranks.push_back(below(random, numRanks));
  return ranks;
}

ChunkQuestion randomQuestion(Random &random) {
  unsigned ranks = 2 + below(random, 3);
  ChunkQuestion question{ranks, 1 + below(random, 3), {}, {}, {}, {}, false, 1};
  for (unsigned src = 0; src < ranks; ++src)
    for (unsigned dst = 0; dst < ranks; ++dst)
      if (src != dst && below(random, 2) &&
          (question.links.size() + 1) * question.steps <= 12)
        question.links.push_back({src, dst});
  for (size_t i = 0; i < question.links.size() * question.steps; ++i)
    question.prices.push_back(below(random, 4));
  question.pre = someRanks(random, ranks);
  question.post = someRanks(random, ranks);
  question.combining = below(random, 2);
  return question;
}

std::optional<std::string> check(const ChunkQuestion &question,
                                 const Steps &steps) {
  SearchCheckLimits limits;
  return checkSearch(question, steps, limits);
}

std::optional<Steps> refuteQuestion(const ChunkQuestion &question,
                                    std::optional<std::vector<bool>> &model) {
  Deadline deadline({});
  return refute(*chunkFormula(question), deadline, model);
}

/// Gossip on a ring of 5 in 3 steps takes 11 sends.
struct Gossip {
  ChunkQuestion question;
  Steps steps;
};

Gossip gossipOnRing() {
  Topology ring = *makeBuiltinTopology("ring:5");
  std::vector<unsigned> all = {0, 1, 2, 3, 4};
  ChunkQuestion question{5,   3,   ring.links(), std::vector<int64_t>(30, 1),
                         all, all, true,         11};
  std::optional<std::vector<bool>> model;
  std::optional<Steps> steps = refuteQuestion(question, model);
  EXPECT_TRUE(steps);
  return {std::move(question), steps ? std::move(*steps) : Steps()};
}
} // namespace

TEST(ChunkSearch, AgreesWithTryingAllSends) {
  Random random(1);
  unsigned proved = 0, impossible = 0;
  for (unsigned trial = 0; trial < 400; ++trial) {
    ChunkQuestion question = randomQuestion(random);
    std::optional<int64_t> least = cheapest(question);
    // Where nothing is enough, any price can be proved.
    question.value = least.value_or(100);
    impossible += !least;
    std::optional<std::vector<bool>> model;
    if (question.value > 0) {
      std::optional<Steps> steps = refuteQuestion(question, model);
      ASSERT_TRUE(steps) << trial;
      EXPECT_EQ(check(question, *steps), std::nullopt) << trial;
      ++proved;
    }
    if (!least)
      continue;
    ++question.value;
    EXPECT_FALSE(refuteQuestion(question, model)) << trial;
    EXPECT_TRUE(model) << trial;
  }
  EXPECT_GT(proved, 200u);
  EXPECT_GT(impossible, 20u);
}

TEST(ChunkSearch, EachStepIsNeeded) {
  Gossip gossip = gossipOnRing();
  ASSERT_EQ(check(gossip.question, gossip.steps), std::nullopt);
  for (size_t i = 0; i < gossip.steps.size(); ++i) {
    Steps fewer = gossip.steps;
    fewer.erase(fewer.begin() + ptrdiff_t(i));
    EXPECT_TRUE(check(gossip.question, fewer)) << i;
  }
  EXPECT_EQ(check(gossip.question, {}),
            "a refutation does not end with the empty clause");
}

TEST(ChunkSearch, EachReasonIsNeeded) {
  Gossip gossip = gossipOnRing();
  size_t made = 0;
  for (size_t i = 0; i < gossip.steps.size(); ++i)
    for (size_t j = 0; j < gossip.steps[i].reasons.size(); ++j) {
      Steps fewer = gossip.steps;
      auto &reasons = fewer[i].reasons;
      reasons.erase(reasons.begin() + ptrdiff_t(j));
      EXPECT_TRUE(check(gossip.question, fewer)) << i << ' ' << j;
      ++made;
    }
  EXPECT_GT(made, 100u);
}

TEST(ChunkSearch, NoChangeProvesWhatIsFalse) {
  Gossip gossip = gossipOnRing();
  ChunkQuestion higher = gossip.question;
  ++higher.value;
  EXPECT_TRUE(check(higher, gossip.steps));
  Random random(2);
  unsigned refused = 0;
  constexpr unsigned trials = 3000;
  for (unsigned trial = 0; trial < trials; ++trial) {
    Steps damaged = gossip.steps;
    RefutationStep &step = damaged[below(random, unsigned(damaged.size()))];
    unsigned kind = below(random, 4);
    if (kind < 2 && !step.literals.empty()) {
      int &literal =
          step.literals[below(random, unsigned(step.literals.size()))];
      literal = kind == 0 ? -literal : literal + (literal > 0 ? 1 : -1);
    } else if (kind == 2) {
      step.reasons[below(random, unsigned(step.reasons.size()))] =
          1 + below(random, 700);
    } else {
      std::swap(step, damaged[below(random, unsigned(damaged.size()))]);
    }
    refused += check(gossip.question, damaged).has_value();
    // There are 11 sends that are enough, so nobody must refute that.
    EXPECT_TRUE(check(higher, damaged)) << trial;
  }
  EXPECT_GT(refused, trials * 8 / 10);
}

TEST(ChunkSearch, OtherQuestionsAreOtherFormulas) {
  Gossip gossip = gossipOnRing();
  ChunkQuestion fewer = gossip.question, cheaper = gossip.question,
                moving = gossip.question, longer = gossip.question;
  fewer.pre.pop_back();
  cheaper.prices[0] = 0;
  moving.combining = false;
  longer.steps = 4;
  longer.prices.assign(40, 1);
  for (const ChunkQuestion &other : {fewer, cheaper, moving, longer})
    EXPECT_TRUE(check(other, gossip.steps));
}

TEST(ChunkSearch, WorkIsBounded) {
  Gossip gossip = gossipOnRing();
  SearchCheckLimits limits;
  limits.refutationWork = 1000;
  EXPECT_NE(checkSearch(gossip.question, gossip.steps, limits)
                ->find("takes more work than is done for it"),
            std::string::npos);
  limits = {};
  limits.formulaLiterals = 100;
  EXPECT_EQ(checkSearch(gossip.question, gossip.steps, limits),
            "the formula has more than 100 literals");
  ChunkQuestion dear = gossip.question;
  dear.prices.assign(30, maxProofValue);
  dear.value = maxProofValue;
  EXPECT_EQ(check(dear, gossip.steps),
            "the formula has more than 4194304 literals");
}

/// Proofs that are not what CaDiCaL writes.
TEST(ChunkSearch, BadProofsAreNotExplained) {
  Gossip gossip = gossipOnRing();
  ChunkFormula formula = *chunkFormula(gossip.question);
  Deadline deadline({});
  using namespace std::string_view_literals;
  for (std::string_view drat :
       {""sv, "a"sv, "a\0"sv, "a\x02\0a\0"sv, "a\xff\xff\xff\xff\x0f\0"sv,
        "d\x02\0"sv, "xyz"sv})
    EXPECT_FALSE(explainRefutation(formula, drat, deadline));
}

/// What only a search refutes: bounds of linear programs are 1 there.
TEST(ChunkSearch, RingsAndCubesInFewSteps) {
  struct Row {
    const char *topology;
    Kind kind;
    unsigned steps;
    Rational attained;
  };
  const Row rows[] = {{"amd_z52", Kind::AllReduce, 6, {5, 4}},
                      {"ring:6", Kind::AllReduce, 4, {7, 6}},
                      {"hypercube:3", Kind::AllReduce, 3, {1, 1}},
                      {"hypercube:3", Kind::Broadcast, 3, {1, 1}},
                      // Prices on the way there have no common denominator.
                      {"hypercube:3", Kind::Broadcast, 7, {7, 15}},
                      {"hypercube:3", Kind::Reduce, 5, {5, 9}}};
  for (const Row &row : rows) {
    Topology topology = *makeBuiltinTopology(row.topology);
    Collective collective =
        *Collective::make(row.kind, topology.numRanks(), 1, 0);
    LowerBoundOptions options;
    options.target = row.attained;
    auto weak = lowerBound(topology, collective, row.steps, options);
    ASSERT_TRUE(weak) << row.topology;
    EXPECT_LT(*weak->value, row.attained) << row.topology;
    options.searches = true;
    auto bound = lowerBound(topology, collective, row.steps, options);
    ASSERT_TRUE(bound) << row.topology;
    EXPECT_EQ(*bound->value, row.attained) << row.topology;
    auto again = parseCertificate(printCertificate(bound->certificate));
    ASSERT_TRUE(again) << again.error();
    EXPECT_EQ(*again, bound->certificate);
    EXPECT_EQ(checkCertificate(*again, topology, collective), std::nullopt);
  }
}

/// A limit of work ends the search, and what there was before stays.
TEST(ChunkSearch, EndsWhenItsWorkIsDone) {
  Topology topology = *makeBuiltinTopology("amd_z52");
  Collective collective = *Collective::make(Kind::AllReduce, 8, 1, 0);
  std::atomic<bool> interrupted = false;
  LowerBoundOptions options;
  options.target = Rational(5, 4);
  options.searches = true;
  auto bound = lowerBound(topology, collective, 6, options);
  ASSERT_TRUE(bound);
  EXPECT_EQ(*bound->value, Rational(5, 4));
  // Less than the search takes.
  options.maxWork = 5000;
  LowerBounds bounds(topology, collective);
  auto early = bounds.at(6, options);
  EXPECT_TRUE(!early || *early->value == Rational(1));
  EXPECT_TRUE(bounds.wantsMoreWork());
  options.maxWork = 0;
  EXPECT_EQ(*bounds.at(6, options)->value, Rational(5, 4));
  EXPECT_FALSE(bounds.wantsMoreWork());
  interrupted = true;
  options.interrupt = &interrupted;
  EXPECT_FALSE(lowerBound(topology, collective, 6, options));
}
