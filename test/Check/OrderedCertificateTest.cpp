//===- OrderedCertificateTest.cpp - Bounds under an order of additions ----===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CertificateText.h"

#include <algorithm>
#include <random>
#include <set>

using namespace sccl;
using namespace sccl::testing;
using ::testing::HasSubstr;

using Kind = CollectiveKind;

namespace {
std::string judgeReduce(const std::string &claim, const std::string &proof) {
  return judge(line(), make(Kind::Reduce),
               "reduce root 0 on 3 ranks with " + claim, proof);
}

std::string judgeSum(const std::string &claim, const std::string &shares) {
  return judge(*makeBuiltinTopology("line:2"), make(Kind::AllReduce, 2),
               "all_reduce on 2 ranks with " + claim,
               "prices\nprice 1 on 0->1\nprice 1 on 1->0\n"
               "commodity from 0 1 to 0 1\n" +
                   shares);
}
} // namespace

TEST(OrderedCertificate, TreeSaysWhatMustMove) {
  const std::string price = "prices\nprice 1 on 0->1\nprice 1 on 1->0\n";
  // What ranks 1 and 2 have may be added up first, and then pass once.
  EXPECT_EQ(
      judgeReduce("any steps and order ((1+2)+0) has R/C below 1/2", price),
      "accepted");
  EXPECT_THAT(
      judgeReduce("any steps and order ((1+2)+0) has R/C below 1", price),
      HasSubstr("the proof gives 1/2 only"));
  // Rank 1 is last: its input and that of rank 2 pass apart, or rank 0 sends
  // its own.
  EXPECT_EQ(judgeReduce("any steps and order ((0+2)+1) has R/C below 1", price),
            "accepted");
  EXPECT_THAT(judgeReduce("any steps has R/C below 1", price),
              HasSubstr("the proof gives 1/2 only"));
}

TEST(OrderedCertificate, StepsCount) {
  const std::string price = "prices\nprice 1 1 on 1->0\nprice 1 1 on 2->1\n";
  EXPECT_EQ(judgeReduce("2 steps and order left has R/C below 1", price),
            "accepted");
  EXPECT_THAT(judgeReduce("1 steps and order left has R/C below 1",
                          "prices\nprice 1 on 1->0\n"),
              HasSubstr("cannot get everywhere"));
}

TEST(OrderedCertificate, TargetsSharePrices) {
  const std::string shares = "share 0 0 2 1 on 1->0\nshare 0 1 1 1 on 1->0\n"
                             "share 1 0 1 1 on 0->1\nshare 1 0 2 1 on 0->1\n";
  const std::string claim = "any steps and order tree has R/C below 1";
  EXPECT_EQ(judgeSum(claim, shares), "accepted");
  // Without the share of the sum, rank 0 gets that for nothing.
  EXPECT_THAT(judgeSum(claim, shares.substr(shares.find('\n') + 1)),
              HasSubstr("the proof gives 1/2 only"));
  EXPECT_THAT(judgeSum(claim, "share 0 1 1 2 on 1->0\n"),
              HasSubstr("are more than its price"));
  EXPECT_THAT(judgeSum(claim, "share 0 1 1 1 on 1->0\nshare 1 1 1 1 on 1->0\n"),
              HasSubstr("are more than its price"));
  EXPECT_THAT(judgeSum(claim, "share 0 1 2 1 on 1->0\n"),
              HasSubstr("of a sum that is not in the tree"));
  EXPECT_THAT(judgeSum("any steps has R/C below 1", shares),
              HasSubstr("asks for no tree"));
  EXPECT_THAT(judgeSum(claim, "share 0 1 3 1 on 1->0\n"),
              HasSubstr("a number of ranks between 1 and 2"));
  EXPECT_THAT(judgeSum(claim, shares + shares),
              HasSubstr("repeats or belongs"));
}

TEST(OrderedCertificate, RefusesWhatMakesNoSense) {
  const std::string price = "prices\nprice 1 on 1->0\n";
  for (const char *order : {"any", "same", "ring:x", "[0,1,2]", "(2+(0+1))"})
    EXPECT_THAT(judgeReduce("any steps and order " + std::string(order) +
                                " has R/C below 1",
                            price),
                HasSubstr("expected an order of additions that has trees"))
        << order;
  EXPECT_THAT(judgeReduce("any steps and order ring:3 has R/C below 1", price),
              HasSubstr("begins at rank 3, of 3"));
  EXPECT_THAT(judgeReduce("any steps and order (0+1) has R/C below 1", price),
              HasSubstr("is of 2 ranks, and 3 contribute"));
  EXPECT_THAT(judge(line(), make(Kind::Broadcast),
                    "broadcast root 0 on 3 ranks with any steps and order tree "
                    "has R/C below 1",
                    price),
              HasSubstr("nothing is added up"));
  EXPECT_THAT(judge(line(), make(Kind::AllReduce),
                    "all_reduce on 3 ranks with any steps and order tree has "
                    "R/C below 1",
                    "prices\nprice 1 on 0->1\nsymmetry 2 1 0\n"),
              HasSubstr("has no symmetries"));
}

//===----------------------------------------------------------------------===//
// Against ways to add up that are played at random
//===----------------------------------------------------------------------===//

namespace {
/// Sends of one chunk, by node of a tree, link and step.
using PlayedSends = std::set<std::tuple<uint32_t, unsigned, unsigned>>;

/// Sends what ranks have over links at random until all ranks have the result.
/// Nothing if they do not within the steps.
std::optional<PlayedSends> play(const Topology &topology, const SumTree &tree,
                                unsigned steps, std::mt19937 &random) {
  unsigned ranks = topology.numRanks();
  std::vector<std::vector<bool>> has(tree.numNodes(), std::vector<bool>(ranks));
  auto add = [&] {
    for (uint32_t node = tree.numLeaves(); node < tree.numNodes(); ++node)
      for (unsigned rank = 0; rank < ranks; ++rank)
        if (has[tree.left(node)][rank] && has[tree.right(node)][rank])
          has[node][rank] = true;
  };
  for (unsigned rank = 0; rank < ranks; ++rank)
    has[rank][rank] = true;
  PlayedSends sends;
  for (unsigned step = 0; step < steps; ++step) {
    auto before = has;
    for (unsigned link = 0; link < topology.links().size(); ++link)
      for (uint32_t node = 0; node < tree.numNodes(); ++node) {
        auto [src, dst] = topology.links()[link];
        if (!before[node][src] || has[node][dst] || random() % 3 == 0)
          continue;
        has[node][dst] = true;
        sends.emplace(node, link, step);
      }
    add();
  }
  bool isDone = std::ranges::count(has[tree.root()], true) == int(ranks);
  return isDone ? std::optional(sends) : std::nullopt;
}

/// Prices by link and step.
struct RandomPrices {
  std::vector<std::vector<int64_t>> onLinks;
  PriceProof proof;
  int64_t scale = 0; ///< D

  RandomPrices(const Topology &topology, unsigned steps, std::mt19937 &random)
      : onLinks(topology.links().size(), std::vector<int64_t>(steps)) {
    std::vector<int64_t> inStep(steps);
    for (const BandwidthLimit &limit : topology.limits()) {
      LimitPrices price;
      for (unsigned step = 0; step < steps; ++step) {
        price.values.push_back(1 + random() % 20);
        inStep[step] += price.values.back() * limit.bandwidth;
      }
      for (unsigned link : limit.links) {
        price.links.push_back(topology.links()[link]);
        for (unsigned step = 0; step < steps; ++step)
          onLinks[link][step] += price.values[step];
      }
      proof.prices.push_back(std::move(price));
    }
    scale = std::ranges::max(inStep);
  }

  /// Shares each price among all ranks, for each sum anew.
  void share(const Topology &topology, const SumTree &tree,
             std::mt19937 &random) {
    CommodityProof all{{}, {}, 0, {}};
    for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
      all.pre.push_back(rank);
    all.post = all.pre;
    for (uint32_t node = 0; node < tree.numNodes(); ++node) {
      for (unsigned link = 0; link < onLinks.size(); ++link) {
        std::vector<int64_t> rest = onLinks[link];
        for (unsigned target : all.post) {
          SumShare share{target,
                         tree.least(node),
                         tree.size(node),
                         topology.links()[link],
                         {}};
          for (int64_t &left : rest) {
            bool isLast = target + 1 == all.post.size();
            share.values.push_back(isLast ? left : random() % (left + 1));
            left -= share.values.back();
          }
          all.shares.push_back(std::move(share));
        }
      }
    }
    proof.commodities.push_back(std::move(all));
  }
};
} // namespace

TEST(OrderedCertificate, NoWayIsCheaperThanProved) {
  std::mt19937 random(7);
  unsigned played = 0;
  for (unsigned round = 0; round < 300; ++round) {
    const char *shapes[] = {"ring:4", "line:3", "mesh:4", "ring:3"};
    Topology topology = *makeBuiltinTopology(shapes[random() % 4]);
    unsigned steps = 2 + random() % 4;
    SumOrder order = *SumOrder::parse(random() % 2 ? "tree" : "ring:1");
    SumTree tree = *order.treeOf(topology.numRanks());
    Collective collective = make(Kind::AllReduce, topology.numRanks());
    RandomPrices prices(topology, steps, random);
    if (random() % 4)
      prices.share(topology, tree, random);
    Certificate certificate = makeClaim(topology, collective, steps);
    certificate.order = order;
    certificate.proof = prices.proof;
    Result<Rational> bound = provenBound(certificate, topology, collective);
    for (unsigned i = 0; i < 20; ++i) {
      auto sends = play(topology, tree, steps, random);
      if (!sends)
        continue;
      ASSERT_TRUE(bound) << bound.error();
      int64_t cost = 0;
      for (auto [node, link, step] : *sends)
        cost += prices.onLinks[link][step];
      EXPECT_LE(*bound, Rational(cost, prices.scale));
      ++played;
    }
  }
  EXPECT_GT(played, 500u);
}
