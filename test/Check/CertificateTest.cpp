//===- CertificateTest.cpp - Text and check of certificates ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Certificates here are written by hand, so that each can be followed on paper
// and no solver is needed.
//
//===----------------------------------------------------------------------===//

#include "CertificateText.h"

using namespace sccl;
using namespace sccl::testing;

using Kind = CollectiveKind;

/// Judges a proof about a rooted broadcast from rank 0 on the line in 3 steps.
static std::string judgeBroadcast(const std::string &bound,
                                  const std::string &proof) {
  return judge(
      line(), make(Kind::Broadcast),
      "broadcast root 0 on 3 ranks with 3 steps has R/C below " + bound, proof);
}

//===----------------------------------------------------------------------===//
// Proofs that hold
//===----------------------------------------------------------------------===//

TEST(Certificate, PathsNeedNoEvidence) {
  // Both other chunks must enter rank 2 over one link.
  const char *claim = "gather root 2 on 3 ranks with 2 steps has R/C below 2";
  EXPECT_EQ(judge(line(), make(Kind::Gather, 3, 2), claim,
                  "prices\nprice 1 1 on 1->2\n"),
            "accepted");
  // A later price on the first link forces early sends, and gains nothing.
  EXPECT_EQ(judge(line(), make(Kind::Gather, 3, 2), claim,
                  "prices\nprice 0 1 on 0->1\nprice 1 1 on 1->2\n"),
            "the claim is a bound of 2, the proof gives 1 only");
}

TEST(Certificate, PricesAreBounded) {
  // A line claims a million steps, and prices for them take 4 GB.
  EXPECT_EQ(
      judge(*makeBuiltinTopology("mesh:16"), make(Kind::Gather, 16, 2),
            "gather root 2 on 16 ranks with 1048576 steps has R/C below 2",
            "prices\n"),
      "1048576 steps on 240 links have more prices than the 67108864 "
      "that are checked");
}

TEST(Certificate, BroadcastInThreeSteps) {
  // A chunk for rank 2 takes 0->1 in step 1 or 2 and 1->2 in a later one, which
  // costs 3 at these prices, and no step lets pass more than 2 per round. So
  // (C,S,R) = (2,3,3) is the best.
  const std::string prices =
      "prices\nprice 2 1 0 on 0->1\nprice 0 1 2 on 1->2\n";
  EXPECT_EQ(judgeBroadcast("3/2", prices), "accepted");
  EXPECT_EQ(judgeBroadcast("5/4", prices), "accepted");
  EXPECT_EQ(judgeBroadcast("8/5", prices),
            "the claim is a bound of 8/5, the proof gives 3/2 only");
  // The same as a tree.
  const std::string tree = "commodity from 0 to 0 1 2\ntree from 0\n";
  const std::string paths = "path 2 2 1 0 on 0->1\npath 2 0 1 2 on 1->2\n";
  EXPECT_EQ(judgeBroadcast("3/2", prices + tree + "arrive 0 0 0\n" + paths),
            "accepted");
  // A price can be spent once only.
  EXPECT_EQ(judgeBroadcast("3/2", prices + tree + "arrive 0 0 0\n" +
                                      "path 1 1 0 0 on 0->1\n" + paths),
            "the proof of a commodity takes more than the price of link 0->1 "
            "in step 1");
  EXPECT_EQ(judgeBroadcast("3/2", prices + tree + "arrive 0 0 1\n" + paths),
            "the proof of a commodity takes more than the price of link 1->2 "
            "in step 2");
}

TEST(Certificate, ArrivalsCountOnEveryLinkIntoARank) {
  const std::string tree = "commodity from 0 to 0 1 2\ntree from 0\n";
  const std::string last = "price 1 1 1 on 1->2\n";
  EXPECT_EQ(judgeBroadcast("1", "prices\n" + last + tree + "arrive 0 0 1\n"),
            "accepted");
  // Rank 1 could be entered from rank 2, though not before step 3.
  EXPECT_EQ(judgeBroadcast("1", "prices\nprice 1 1 1 on 0->1\n" + tree +
                                    "arrive 0 1 0\n"),
            "the proof of a commodity takes more than the price of link 2->1 "
            "in step 3");
  EXPECT_EQ(judgeBroadcast("1/2", "prices\nprice 1 1 1 on 0->1\n"
                                  "price 0 0 1 on 2->1\n" +
                                      tree + "arrive 0 1 0\n"),
            "accepted");
}

TEST(Certificate, Relays) {
  // In 2 steps rank 1 must be entered in step 1. That rank 2 is entered, and
  // rank 1 before it, moves the value of the former to 0->1.
  const std::string claim = "broadcast root 0 on 3 ranks with 2 steps has R/C "
                            "below 1";
  const std::string head = "prices\nprice 1 0 on 0->1\n"
                           "commodity from 0 to 0 1 2\n"
                           "tree from 0\narrive 0 0 1\n";
  EXPECT_EQ(
      judge(line(), make(Kind::Broadcast), claim, head + "relay 0 1 on 1->2\n"),
      "accepted");
  EXPECT_EQ(judge(line(), make(Kind::Broadcast), claim, head),
            "the proof of a commodity takes more than the price of link 1->2 "
            "in step 2");
  EXPECT_EQ(
      judge(line(), make(Kind::Broadcast), claim, head + "relay 0 1 on 0->1\n"),
      "a relay value on 0->1 is on a root");
  EXPECT_EQ(judge(line(), make(Kind::Broadcast),
                  "broadcast root 0 on 3 ranks with any steps has R/C below 1",
                  "prices\nprice 1 on 0->1\ncommodity from 0 to 0 1 2\n"
                  "tree from 0\narrive 0 0 1\nrelay 1 on 1->2\n"),
            "relay values need a number of steps");
}

TEST(Certificate, ReductionsAreReadBackwards) {
  // The inverse of the proof above.
  const std::string claim = "reduce root 0 on 3 ranks with 2 steps has R/C "
                            "below 1";
  const std::string head = "prices\nprice 0 1 on 1->0\n"
                           "commodity from 0 1 2 to 0\n";
  EXPECT_EQ(judge(line(), make(Kind::Reduce), claim,
                  head + "tree into 0\narrive 0 0 1\nrelay 1 0 on 2->1\n"),
            "accepted");
  EXPECT_EQ(judge(line(), make(Kind::Reduce), claim,
                  head + "tree into 1\narrive 0 0 1\n"),
            "a tree of reductions must have one root, in the postcondition");
  EXPECT_EQ(judge(line(), make(Kind::Reduce), claim,
                  head + "tree from 0 1\narrive 0 0 0\n"),
            "a tree of reductions must have one root, in the precondition");
  EXPECT_EQ(judgeBroadcast("1", "prices\nprice 1 1 1 on 0->1\n"
                                "commodity from 0 to 0 1 2\n"
                                "tree into 0\narrive 0 0 0\n"),
            "a tree without reductions must lead from all of the precondition");
}

TEST(Certificate, Gossip) {
  // 4 sends of each chunk over 4 links.
  const std::string claim = "all_reduce on 3 ranks with any steps has R/C "
                            "below ";
  const std::string proof =
      "prices\nprice 1 on 0->1\nprice 1 on 1->0\nprice 1 on 1->2\n"
      "price 1 on 2->1\ncommodity from 0 1 2 to 0 1 2\ngossip 1\n";
  Collective reduce = make(Kind::AllReduce);
  EXPECT_EQ(judge(line(), reduce, claim + "1", proof), "accepted");
  EXPECT_EQ(judge(line(), reduce, claim + "5/4", proof),
            "the claim is a bound of 5/4, the proof gives 1 only");
  // Trees and gossip share the prices.
  EXPECT_EQ(
      judge(line(), reduce, claim + "1", proof + "tree from 0\narrive 0 1 0\n"),
      "the proof of a commodity takes more than the price of link 0->1 "
      "in step 1");
  EXPECT_EQ(judgeBroadcast("1", "prices\nprice 1 1 1 on 0->1\n"
                                "commodity from 0 to 0 1 2\ngossip 1\n"),
            "a gossip value needs a reduction");
}

TEST(Certificate, Symmetry) {
  Topology ring = *makeBuiltinTopology("ring:3");
  Collective gather = make(Kind::AllGather);
  const std::string claim = "all_gather on 3 ranks with 1 steps has R/C below ";
  const std::string prices = "prices\nprice 1 on 0->1\nprice 1 on 0->2\n"
                             "price 1 on 1->0\nprice 1 on 1->2\n"
                             "price 1 on 2->0\nprice 1 on 2->1\n";
  const std::string tree =
      "commodity from 0 to 0 1 2\ntree from 0\narrive 0 1 1\n";
  EXPECT_EQ(
      judge(ring, gather, claim + "1", prices + "symmetry 1 2 0\n" + tree),
      "accepted");
  EXPECT_EQ(judge(ring, gather, claim + "1", prices + tree),
            "the claim is a bound of 1, the proof gives 2/3 only");
  EXPECT_EQ(
      judge(ring, gather, claim + "1", prices + "symmetry 1 1 0\n" + tree),
      "a symmetry is not a renumbering of the ranks");
  EXPECT_EQ(judge(line(), gather,
                  "all_gather on 3 ranks with 2 steps has R/C below 1",
                  "prices\nprice 1 1 on 1->0\nsymmetry 0 2 1\n"),
            "a symmetry maps link 0->1 to 0->2, which the topology does not "
            "have");
  EXPECT_EQ(judge(line(), gather,
                  "all_gather on 3 ranks with 2 steps has R/C below 1",
                  "prices\nprice 1 1 on 0->1\nsymmetry 2 1 0\n"),
            "a symmetry maps link 0->1 to 2->1, which has another price");
}

TEST(Certificate, Cuts) {
  const std::string claim = "all_gather on 3 ranks with any steps has R/C "
                            "below ";
  Collective gather = make(Kind::AllGather);
  EXPECT_EQ(judge(line(), gather, claim + "2", "cut 0 1\nprice 1 on 1->2\n"),
            "accepted");
  EXPECT_EQ(judge(line(), gather, claim + "3", "cut 0 1\nprice 1 on 1->2\n"),
            "the claim is a bound of 3, the proof gives 2 only");
  // The price is not on the cut.
  EXPECT_EQ(judge(line(), gather, claim + "2", "cut 0 1\nprice 1 on 0->1\n"),
            "the claim is a bound of 2, the proof gives 0 only");
  EXPECT_EQ(judge(line(), gather, claim + "2", "cut 0 1 2\nprice 1 on 0->1\n"),
            "no link leaves the side of the cut");
  EXPECT_EQ(judge(line(), gather,
                  "all_gather on 3 ranks with 2 steps has R/C below 2",
                  "cut 0 1\nprice 1 1 on 1->2\n"),
            "a cut is for any number of steps");
}

TEST(Certificate, CheapestLinkOfACutCounts) {
  Topology ring = *makeBuiltinTopology("ring:3");
  const std::string claim = "all_gather on 3 ranks with any steps has R/C "
                            "below ";
  const std::string proof = "cut 0\nprice 1 on 0->1\nprice 2 on 0->2\n";
  EXPECT_EQ(judge(ring, make(Kind::AllGather), claim + "1/3", proof),
            "accepted");
  EXPECT_EQ(judge(ring, make(Kind::AllGather), claim + "2/3", proof),
            "the claim is a bound of 2/3, the proof gives 1/3 only");
}

TEST(Certificate, CopiesOnBothSidesOfACut) {
  RankChunkSet pre(3, 1), post(3, 1);
  pre.insert(0, 0);
  pre.insert(2, 0);
  for (unsigned rank : {0u, 1u, 2u})
    post.insert(rank, 0);
  auto check = [&](bool combining) {
    auto collective = Collective::makeCustom("x", 1, combining, pre, post);
    Certificate certificate = makeClaim(line(), *collective, std::nullopt);
    certificate.bound = Rational(1);
    certificate.proof = CutProof{{0}, {{{{0, 1}}, {1}}}};
    return checkCertificate(certificate, line(), *collective)
        .value_or("accepted");
  };
  EXPECT_EQ(check(false), "the claim is a bound of 1, the proof gives 0 only");
  EXPECT_EQ(check(true), "accepted");
}

TEST(Certificate, EveryContributionNeedsAPath) {
  EXPECT_EQ(judge(line(), make(Kind::Reduce),
                  "reduce root 0 on 3 ranks with 2 steps has R/C below 1",
                  "prices\nprice 1 1 on 1->0\n"),
            "accepted");
}

TEST(Certificate, Distances) {
  const std::string claim = "broadcast root 0 on 3 ranks with 1 steps exists";
  Collective broadcast = make(Kind::Broadcast);
  EXPECT_EQ(judge(line(), broadcast, claim, "distance 0 2\n"), "accepted");
  const std::string near = " over more than 1 links";
  EXPECT_EQ(judge(line(), broadcast, claim, "distance 0 1\n"),
            "no chunk must get from rank 0 to rank 1" + near);
  // Far away, but not asked for.
  EXPECT_EQ(judge(line(), broadcast, claim, "distance 2 0\n"),
            "no chunk must get from rank 2 to rank 0" + near);
  EXPECT_EQ(judge(line(), broadcast,
                  "broadcast root 0 on 3 ranks with 2 steps exists",
                  "distance 0 2\n"),
            "no chunk must get from rank 0 to rank 2 over more than 2 links");
  const char *only = "only a distance and a number of steps prove that there "
                     "is no schedule, and nothing else";
  EXPECT_EQ(judge(line(), broadcast, claim, "prices\nprice 1 on 0->1\n"), only);
  EXPECT_EQ(judge(line(), broadcast,
                  "broadcast root 0 on 3 ranks with 1 steps has R/C below 1",
                  "distance 0 2\n"),
            only);
  EXPECT_EQ(judge(line(), broadcast,
                  "broadcast root 0 on 3 ranks with any steps exists",
                  "distance 0 2\n"),
            only);
}

TEST(Certificate, NearestCopyCounts) {
  // The chunk starts at both ends, so that nothing is far.
  RankChunkSet pre(3, 1), post(3, 1);
  pre.insert(0, 0);
  pre.insert(2, 0);
  for (unsigned rank : {0u, 1u, 2u})
    post.insert(rank, 0);
  Certificate certificate;
  auto copies = Collective::makeCustom("copies", 1, false, pre, post);
  auto sums = Collective::makeCustom("sums", 1, true, pre, post);
  certificate = makeClaim(line(), *copies, 1);
  certificate.proof = DistanceProof{0, 2};
  EXPECT_TRUE(checkCertificate(certificate, line(), *copies));
  // With reductions rank 2 needs the part of rank 0.
  certificate = makeClaim(line(), *sums, 1);
  certificate.proof = DistanceProof{0, 2};
  EXPECT_EQ(checkCertificate(certificate, line(), *sums), std::nullopt);
}

//===----------------------------------------------------------------------===//
// Proofs that do not hold
//===----------------------------------------------------------------------===//

TEST(Certificate, NumbersOutOfPlace) {
  const std::string prices = "prices\nprice 1 1 1 on 0->1\n";
  const std::string commodity = "commodity from 0 to 0 1 2\n";
  EXPECT_EQ(judgeBroadcast("1", "prices\nprice 1 1 1 on 0->2\n"),
            "the price on 0->2 and 1 links in all is on no limit of the "
            "topology");
  EXPECT_EQ(judgeBroadcast("1", "prices\nprice 1 1 1 on 0->1 1->2\n"),
            "the price on 0->1 and 2 links in all is on no limit of the "
            "topology");
  EXPECT_EQ(judgeBroadcast("1", "prices\n"), "all prices are 0");
  EXPECT_EQ(judgeBroadcast("1", prices + "commodity from 1 to 0 1 2\n"),
            "no chunk has the pre- and postcondition of a commodity of the "
            "proof");
  EXPECT_EQ(
      judgeBroadcast("1", prices + commodity + "tree from 0\narrive 1 0 0\n"),
      "the arrival value 1 of rank 0, a root, is not 0");
  EXPECT_EQ(judgeBroadcast("1", prices + commodity +
                                    "tree from 0\narrive 0 0 0\n"
                                    "path 0 0 1 0 on 0->1\n"),
            "a price to rank 0 is of no target");
  EXPECT_EQ(judgeBroadcast("1", prices + commodity +
                                    "tree from 0\narrive 0 0 0\n"
                                    "path 1 0 1 0 on 0->2\n"),
            "a price to rank 1 on 0->2 is on no link of the topology");
}

TEST(Certificate, RanksThatATreeMayLeaveOut) {
  // From rank 0 to ranks 2 and 3 of a line; it passes rank 1, which does not
  // ask for it.
  Topology four = *makeBuiltinTopology("line:4");
  RankChunkSet pre(4, 1), post(4, 1);
  pre.insert(0, 0);
  post.insert(2, 0);
  post.insert(3, 0);
  auto custom = Collective::makeCustom("far", 1, false, pre, post);
  Certificate certificate = makeClaim(four, *custom, std::nullopt);
  certificate.bound = Rational(1);
  TreeProof tree{false, {0}, {0, 1, 0, 0}, {}, {}};
  PriceProof proof{
      {{{{0, 1}}, {1}}, {{{2, 1}}, {1}}}, {}, {{{0}, {2, 3}, 0, {tree}}}};
  certificate.proof = proof;
  EXPECT_EQ(checkCertificate(certificate, four, *custom),
            "the arrival value 1 of rank 1, not a target, is positive");
}

TEST(Certificate, RelayValuesCostWhereTheRankIsEntered) {
  EXPECT_EQ(judge(line(), make(Kind::Broadcast),
                  "broadcast root 0 on 3 ranks with 2 steps has R/C below 2",
                  "prices\nprice 0 1 on 1->2\ncommodity from 0 to 0 1 2\n"
                  "tree from 0\narrive 0 0 2\nrelay 0 1 on 1->2\n"),
            "the proof of a commodity takes more than the price of link 0->1 "
            "in step 1");
}

TEST(Certificate, TreesDoNotMakeUpForEachOther) {
  // What one tree loses on a link, another must not gain: it need not use it.
  EXPECT_EQ(judge(line(), make(Kind::AllReduce),
                  "all_reduce on 3 ranks with any steps has R/C below 1",
                  "prices\nprice 1 on 1->2\ncommodity from 0 1 2 to 0 1 2\n"
                  "tree from 0\narrive 0 1 0\n"
                  "tree from 2\narrive 0 -1 0\n"),
            "the proof of a commodity takes more than the price of link 0->1 "
            "in step 1");
}

TEST(Certificate, TreesFromElsewhere) {
  EXPECT_EQ(judgeBroadcast("1", "prices\nprice 1 1 1 on 0->1\n"
                                "commodity from 0 to 0 1 2\n"
                                "tree from 1\narrive 0 0 0\n"),
            "a tree without reductions must lead from all of the precondition");
}

TEST(Certificate, TooFewStepsForAnyPath) {
  EXPECT_EQ(judge(line(), make(Kind::Broadcast),
                  "broadcast root 0 on 3 ranks with 1 steps has R/C below 1",
                  "prices\nprice 1 on 0->1\n"),
            "a chunk cannot get everywhere it must in so many steps");
}

TEST(Certificate, ValuesThatParsingWouldRefuse) {
  Certificate certificate = makeClaim(line(), make(Kind::Broadcast), 1);
  certificate.bound = Rational(1);
  PriceProof proof;
  proof.prices.push_back({{{0, 1}}, {-1}});
  certificate.proof = proof;
  auto check = [&] {
    return checkCertificate(certificate, line(), make(Kind::Broadcast))
        .value_or("accepted");
  };
  EXPECT_EQ(check(), "the price on 0->1 has the value -1, the limits are 0 "
                     "and 1099511627776");
  proof.prices[0].values = {1, 1};
  certificate.proof = proof;
  EXPECT_EQ(check(), "the price on 0->1 has 2 values, expected 1");
  certificate.proof = CutProof{{3}, {{{{0, 1}}, {1}}}};
  certificate.steps.reset();
  EXPECT_EQ(check(), "rank 3 is out of range for 3 ranks");
}

TEST(Certificate, OtherSubject) {
  const std::string proof = "prices\nprice 1 1 1 on 0->1\n";
  const std::string claim =
      "broadcast root 0 on 3 ranks with 3 steps has R/C below 1";
  EXPECT_EQ(judge(line(), make(Kind::Broadcast, 3, 1), claim, proof),
            "the claim is for another collective");
  EXPECT_EQ(judge(line(), make(Kind::Scatter), claim, proof),
            "the claim is for another collective");
  Topology other = line();
  other.setName("other");
  EXPECT_EQ(judge(other, make(Kind::Broadcast), claim, proof), "accepted");
  auto certificate = parseCertificate(textOf(line(), claim, proof));
  ASSERT_TRUE(certificate);
  EXPECT_EQ(checkCertificate(*certificate, *makeBuiltinTopology("ring:3"),
                             make(Kind::Broadcast)),
            "the claim is for another topology");
  EXPECT_EQ(checkCertificate(*certificate, *makeBuiltinTopology("line:4"),
                             make(Kind::Broadcast, 4)),
            "the claim is for 3 ranks, the topology has 4 and the collective "
            "4");
}

TEST(Certificate, FingerprintIgnoresOrderAndName) {
  Topology a("a", 3), b("b", 3), c("c", 3), d("d", 3);
  for (Topology *topology : {&a, &c, &d}) {
    ASSERT_TRUE(topology->addLink(0, 1, 1));
    ASSERT_TRUE(topology->addLink(0, 2, topology == &c ? 1 : 2));
    ASSERT_TRUE(topology->addLimit({0, 1}, 2));
  }
  ASSERT_TRUE(b.addLink(0, 2));
  ASSERT_TRUE(b.addLink(0, 1));
  ASSERT_TRUE(b.addLimit({1, 0}, 2));
  ASSERT_TRUE(b.addLimit({0}, 2));
  ASSERT_TRUE(b.addLimit({1}, 1));
  EXPECT_EQ(fingerprint(a), fingerprint(b));
  EXPECT_NE(fingerprint(a), fingerprint(c));
  ASSERT_TRUE(d.addLink(1, 0));
  EXPECT_NE(fingerprint(a), fingerprint(d));
}

TEST(Certificate, TightestLimitOfASet) {
  Topology topology("twice", 2);
  ASSERT_TRUE(topology.addLink(0, 1, 5));
  ASSERT_TRUE(topology.addLimit({0}, 3));
  EXPECT_EQ(judge(topology, make(Kind::Broadcast, 2),
                  "broadcast root 0 on 2 ranks with any steps has R/C below "
                  "1/3",
                  "prices\nprice 1 on 0->1\n"),
            "accepted");
}

TEST(Certificate, LargestValuesDoNotOverflow) {
  std::string most = std::to_string(maxProofValue);
  EXPECT_EQ(judgeBroadcast("1", "prices\nprice " + most + " " + most + " " +
                                    most + " on 0->1\n"),
            "accepted");
  EXPECT_EQ(
      judgeBroadcast("999999999999999999", "prices\nprice 1 1 1 on 0->1\n"),
      "the claim is a bound of 999999999999999999, the proof gives 1 "
      "only");
}
