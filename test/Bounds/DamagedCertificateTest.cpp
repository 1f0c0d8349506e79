//===- DamagedCertificateTest.cpp - Certificates that were changed --------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// However a certificate is damaged, it proves no more than what is true.
//
//===----------------------------------------------------------------------===//

#include "sccl/Bounds/LowerBound.h"

#include <gtest/gtest.h>

#include <random>

using namespace sccl;

using Kind = CollectiveKind;

namespace {
using Random = std::mt19937;

unsigned below(Random &random, unsigned n) { return random() % n; }

Topology builtin(const char *spec) { return *makeBuiltinTopology(spec); }

/// A claim that is as strong as the truth.
struct Case {
  Topology topology;
  Collective collective;
  Certificate certificate;
};

Case makeCase(const char *spec, Kind kind, unsigned steps,
              std::optional<Rational> target = {}) {
  Topology topology = builtin(spec);
  unsigned ranks = topology.numRanks();
  auto collective = Collective::make(
      kind, ranks, sendsOneSegmentPerRank(kind) ? ranks : 1, 0);
  LowerBoundOptions options;
  options.target = target;
  options.searches = target.has_value();
  auto bound = lowerBound(topology, *collective, steps, options);
  EXPECT_TRUE(bound) << bound.error();
  return {std::move(topology), std::move(*collective),
          std::move(bound->certificate)};
}

/// Bounds that are attained, by (C,S,R) = (1,2,2), (2,3,3)...; no proof may
/// give more.
std::vector<Case> attainedCases() {
  std::vector<Case> cases;
  cases.push_back(makeCase("dgx1", Kind::AllGather, 3));
  cases.push_back(makeCase("dgx1", Kind::Broadcast, 4));
  cases.push_back(makeCase("dgx1", Kind::AllToAll, 2));
  cases.push_back(makeCase("dgx1", Kind::Gather, 3));
  cases.push_back(makeCase("dgx1", Kind::Reduce, 3));
  cases.push_back(makeCase("dgx1", Kind::ReduceScatter, 3));
  cases.push_back(makeCase("dgx1", Kind::AllReduce, 3));
  cases.push_back(makeCase("amd_z52", Kind::Broadcast, 5));
  cases.push_back(makeCase("amd_z52", Kind::AllReduce, 4));
  cases.push_back(makeCase("hypercube:3", Kind::Broadcast, 3, Rational(1)));
  cases.push_back(makeCase("switch:5,2", Kind::AllGather, 1));
  return cases;
}

/// The text of the certificate without the hash at its end, so that damage is
/// judged by what is left of the proof.
std::string unsealedText(const Case &original) {
  std::string text = printCertificate(original.certificate);
  return text.substr(0, text.rfind("end")) + "end\n";
}

/// Whether `text` proves anything but a part of the claim of `original`.
void expectHarmless(const std::string &text, const Case &original) {
  auto parsed = parseCertificate(text);
  if (!parsed ||
      checkCertificate(*parsed, original.topology, original.collective))
    return;
  const Certificate &claim = original.certificate;
  EXPECT_EQ(parsed->kind, claim.kind) << text;
  EXPECT_EQ(parsed->root, claim.root) << text;
  EXPECT_EQ(parsed->steps, claim.steps) << text;
  ASSERT_TRUE(parsed->bound) << text;
  EXPECT_LE(*parsed->bound, *claim.bound) << text;
}
} // namespace

TEST(DamagedCertificate, NoFlippedBitIsAccepted) {
  for (const Case &original : attainedCases()) {
    const std::string text = printCertificate(original.certificate);
    ASSERT_TRUE(parseCertificate(text));
    for (size_t bit = 0; bit < 8 * text.size(); ++bit) {
      std::string damaged = text;
      damaged[bit / 8] ^= 1 << bit % 8;
      EXPECT_FALSE(parseCertificate(damaged)) << damaged;
    }
  }
}

TEST(DamagedCertificate, NoDroppedOrMovedLineIsAccepted) {
  for (const Case &original : attainedCases()) {
    const std::string text = printCertificate(original.certificate);
    for (size_t begin = 0; begin < text.size();) {
      size_t end = text.find('\n', begin) + 1;
      std::string without = text.substr(0, begin) + text.substr(end);
      EXPECT_FALSE(parseCertificate(without)) << without;
      std::string moved = text.substr(begin, end - begin) + without;
      EXPECT_EQ(parseCertificate(moved) ? true : false, moved == text) << moved;
      begin = end;
    }
  }
}

TEST(DamagedCertificate, EveryDigitChanged) {
  for (const Case &original : attainedCases()) {
    std::string text = unsealedText(original);
    for (size_t i = 0; i < text.size(); ++i) {
      if (!std::isdigit(static_cast<unsigned char>(text[i])))
        continue;
      for (char digit = '0'; digit <= '9'; ++digit) {
        std::string damaged = text;
        damaged[i] = digit;
        if (damaged != text)
          expectHarmless(damaged, original);
      }
    }
  }
}

TEST(DamagedCertificate, EveryLineDroppedOrRepeated) {
  for (const Case &original : attainedCases()) {
    std::string text = unsealedText(original);
    for (size_t begin = 0; begin < text.size();) {
      size_t end = text.find('\n', begin) + 1;
      std::string line = text.substr(begin, end - begin);
      std::string dropped = text, repeated = text;
      dropped.erase(begin, end - begin);
      repeated.insert(begin, line);
      expectHarmless(dropped, original);
      // Clauses stand in the order in which they follow, and may repeat.
      if (line.starts_with("clause"))
        expectHarmless(repeated, original);
      else
        EXPECT_FALSE(parseCertificate(repeated)) << line;
      EXPECT_FALSE(parseCertificate(text.substr(0, begin))) << line;
      begin = end;
    }
  }
}

TEST(DamagedCertificate, EveryWordMadeLarger) {
  for (const Case &original : attainedCases()) {
    std::string text = unsealedText(original);
    for (size_t i = 0; i < text.size(); ++i)
      for (const char *inserted : {"1", "-", "9", " ", "\n", "9999999999999"}) {
        std::string damaged = text;
        damaged.insert(i, inserted);
        expectHarmless(damaged, original);
      }
  }
}

namespace {
/// All numbers of a proof.
std::vector<int64_t *> numbersOf(PriceProof &proof) {
  std::vector<int64_t *> numbers;
  auto add = [&numbers](std::vector<int64_t> &values) {
    for (int64_t &value : values)
      numbers.push_back(&value);
  };
  for (LimitPrices &price : proof.prices)
    add(price.values);
  for (CommodityProof &commodity : proof.commodities) {
    numbers.push_back(&commodity.gossip);
    for (TreeProof &tree : commodity.trees) {
      add(tree.arrivals);
      for (RelayValues &relay : tree.relays)
        add(relay.values);
      for (PathPrices &path : tree.paths)
        add(path.values);
    }
  }
  return numbers;
}
} // namespace

TEST(DamagedCertificate, DisturbedProofsProveOnlyWhatIsTrue) {
  Random random(2);
  for (const Case &original : attainedCases()) {
    unsigned accepted = 0;
    for (unsigned trial = 0; trial < 2000; ++trial) {
      Certificate damaged = original.certificate;
      auto numbers = numbersOf(std::get<PriceProof>(damaged.proof));
      for (unsigned i = 1 + below(random, 4); i-- > 0;)
        *numbers[below(random, numbers.size())] +=
            int64_t(below(random, 5)) - 2;
      auto value = provenBound(damaged, original.topology, original.collective);
      if (!value)
        continue;
      ++accepted;
      ASSERT_LE(*value, *original.certificate.bound)
          << printCertificate(damaged);
    }
    EXPECT_GT(accepted, 0u);
  }
}

TEST(DamagedCertificate, OtherTopologyOrCollective) {
  for (const Case &original : attainedCases()) {
    Topology wider = original.topology;
    ASSERT_TRUE(wider.addLimit({0}, 1));
    EXPECT_EQ(
        checkCertificate(original.certificate, wider, original.collective),
        "the claim is for another topology");
    // Even with the right fingerprint a proof does not carry over to a topology
    // with more bandwidth.
    Topology faster("faster", original.topology.numRanks());
    for (const Link &link : original.topology.links())
      ASSERT_TRUE(faster.addLink(link.src, link.dst));
    for (const BandwidthLimit &limit : original.topology.limits())
      ASSERT_TRUE(faster.addLimit(limit.links, 2 * limit.bandwidth));
    Certificate forged = original.certificate;
    forged.topologyPrint = fingerprint(faster);
    EXPECT_TRUE(checkCertificate(forged, faster, original.collective));
    auto other = Collective::make(Kind::Scatter, original.topology.numRanks(),
                                  original.topology.numRanks());
    EXPECT_EQ(checkCertificate(original.certificate, original.topology, *other),
              "the claim is for another collective");
  }
}
