//===- CertificateParser.cpp - Reads certificates -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One text for each certificate, and one certificate for each text: whatever
// could be written in two ways is accepted in one only, so that a damaged file
// is more likely to be noticed here than to need explaining by the check.
//
//===----------------------------------------------------------------------===//

#include "sccl/Check/Certificate.h"

#include "Hash.h"
#include "WordReader.h"

#include "sccl/Model/Instance.h"

#include <algorithm>
#include <limits>
#include <tuple>

using namespace sccl;
using certificate::WordReader;

using LinkEnds = std::pair<unsigned, unsigned>;

static LinkEnds endsOf(const Link &link) { return {link.src, link.dst}; }

namespace {
/// Reads a certificate line by line.
class CertificateReader {
public:
  explicit CertificateReader(std::string_view text) : words(text) {}

  Result<Certificate> read();

private:
  void readClaim();
  void readOrder();
  void readBound();
  void readVertices();
  /// Ranks, or vertices, and steps of what the proof is about.
  unsigned numRanks() const {
    return result.vertices != 0 ? result.vertices : result.numRanks;
  }
  unsigned columns() const {
    unsigned steps = result.steps.value_or(1);
    return result.vertices != 0 && result.steps ? 2 * steps : steps;
  }
  unsigned readRank();
  std::vector<unsigned> readRanks();
  Link readLink();
  StepValues readValues(int64_t least);
  std::vector<LimitPrices> readPrices();
  PriceProof readPriceProof();
  CommodityProof readCommodity();
  SearchProof readSearch();
  RefutationStep readRefutationStep();
  std::vector<SumShare> readShares();
  TreeProof readTree();
  CutProof readCutProof();
  DistanceProof readDistanceProof();
  void readSeal();

  /// Complains at the end of a line unless it ranks after the one before.
  template <typename Key>
  void requireAscending(bool isFirst, Key last, Key now);

  WordReader words;
  Certificate result;
};
} // namespace

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

template <typename Key>
void CertificateReader::requireAscending(bool isFirst, Key last, Key now) {
  if (!isFirst && !(last < now))
    words.fail("this line repeats or belongs before an earlier one");
}

unsigned CertificateReader::readRank() {
  return words.number(0, int64_t(numRanks()) - 1, "a rank");
}

/// One or more ranks in ascending order, up to a word that is no number.
std::vector<unsigned> CertificateReader::readRanks() {
  std::vector<unsigned> ranks;
  do {
    unsigned rank = readRank();
    if (!ranks.empty() && rank <= ranks.back())
      words.fail("expected ranks in ascending order");
    ranks.push_back(rank);
  } while (words.ok() && WordReader::toNumber(words.peek()));
  return ranks;
}

Link CertificateReader::readLink() {
  std::string_view word = words.peek();
  size_t arrow = word.find("->");
  auto src = WordReader::toNumber(word.substr(0, arrow));
  auto dst = arrow == word.npos ? std::nullopt
                                : WordReader::toNumber(word.substr(arrow + 2));
  auto isRank = [this](std::optional<int64_t> number) {
    return number && *number >= 0 && *number < int64_t(numRanks());
  };
  if (!isRank(src) || !isRank(dst) || *src == *dst) {
    words.failWord("a link such as 0->1 between different ranks below " +
                   std::to_string(numRanks()));
    return {0, 0};
  }
  words.skipWord();
  return {unsigned(*src), unsigned(*dst)};
}

StepValues CertificateReader::readValues(int64_t least) {
  StepValues values;
  unsigned count = columns();
  // No reserve: the claim may name more steps than the file has numbers.
  while (words.ok() && values.size() < count)
    values.push_back(words.number(least, maxProofValue, "a value"));
  if (std::all_of(values.begin(), values.end(), [](int64_t v) { return !v; }))
    words.fail("expected a value that is not 0");
  return values;
}

void CertificateReader::readOrder() {
  if (words.peek() != "and")
    return;
  words.skipWord();
  words.expect("order");
  Result<SumOrder> order = SumOrder::parse(words.peek());
  if (!order || !order->isTree() || order->toString() != words.peek())
    return words.failWord("an order of additions that has trees");
  result.order = std::move(*order);
  words.skipWord();
}

void CertificateReader::readBound() {
  if (words.peek() == "exists") {
    words.skipWord();
    return;
  }
  words.expect("has");
  result.pipelined = words.peek() == "load";
  words.expect(result.pipelined ? "load" : "R/C");
  words.expect("below");
  std::string_view fraction = words.peek();
  size_t slash = fraction.find('/');
  auto num = WordReader::toNumber(fraction.substr(0, slash));
  std::optional<int64_t> den = 1;
  if (slash != fraction.npos)
    den = WordReader::toNumber(fraction.substr(slash + 1));
  if (!num || !den || *num < 0 || *den < 1 ||
      Rational(*num, *den).str() != fraction)
    return words.failWord("a fraction in lowest terms");
  result.bound = Rational(*num, *den);
  words.skipWord();
}

void CertificateReader::readClaim() {
  for (const char *word : {"no", "schedule", "of"})
    words.expect(word);
  auto kind = parseCollectiveName(words.peek());
  if (!kind || collectiveName(*kind) != words.peek())
    return words.failWord("a collective");
  words.skipWord();
  result.kind = *kind;
  if (isRooted(*kind)) {
    words.expect("root");
    result.root = words.number(0, Topology::maxRanks - 1, "a rank");
  }
  words.expect("on");
  result.numRanks = words.number(int64_t(result.root) + 1, Topology::maxRanks,
                                 "a number of ranks");
  for (const char *word : {"ranks", "with"})
    words.expect(word);
  if (words.peek() == "any")
    words.skipWord();
  else
    result.steps = words.number(1, Instance::maxRounds, "'any' or a number");
  words.expect("steps");
  readOrder();
  readBound();
  words.endLine();
}

std::vector<LimitPrices> CertificateReader::readPrices() {
  auto ends = [](const LimitPrices &price) {
    std::vector<LinkEnds> set;
    for (const Link &link : price.links)
      set.push_back(endsOf(link));
    return set;
  };
  std::vector<LimitPrices> prices;
  while (words.peek() == "price") {
    words.skipWord();
    LimitPrices price;
    price.values = readValues(0);
    words.expect("on");
    do {
      Link link = readLink();
      if (!price.links.empty() && endsOf(link) <= endsOf(price.links.back()))
        words.fail("expected links in ascending order");
      price.links.push_back(link);
    } while (words.ok() && !words.atLineEnd());
    requireAscending(prices.empty(),
                     prices.empty() ? ends(price) : ends(prices.back()),
                     ends(price));
    words.endLine();
    prices.push_back(std::move(price));
  }
  return prices;
}

TreeProof CertificateReader::readTree() {
  TreeProof tree;
  words.expect("tree");
  tree.backward = words.peek() == "into";
  words.expect(tree.backward ? "into" : "from");
  tree.roots = readRanks();
  words.endLine();
  words.expect("arrive");
  while (words.ok() && tree.arrivals.size() < numRanks())
    tree.arrivals.push_back(
        words.number(-maxProofValue, maxProofValue, "a value"));
  words.endLine();
  while (words.peek() == "relay") {
    words.skipWord();
    StepValues values = readValues(0);
    words.expect("on");
    Link link = readLink();
    requireAscending(
        tree.relays.empty(),
        endsOf(tree.relays.empty() ? link : tree.relays.back().link),
        endsOf(link));
    words.endLine();
    tree.relays.push_back({link, std::move(values)});
  }
  auto key = [](const PathPrices &path) {
    return std::pair(path.target, endsOf(path.link));
  };
  while (words.peek() == "path") {
    words.skipWord();
    PathPrices path;
    path.target = readRank();
    path.values = readValues(0);
    words.expect("on");
    path.link = readLink();
    requireAscending(tree.paths.empty(),
                     key(tree.paths.empty() ? path : tree.paths.back()),
                     key(path));
    words.endLine();
    tree.paths.push_back(std::move(path));
  }
  return tree;
}

RefutationStep CertificateReader::readRefutationStep() {
  constexpr int64_t most = std::numeric_limits<int>::max();
  RefutationStep step;
  words.expect("clause");
  while (words.ok() && words.peek() != "by") {
    step.literals.push_back(int(words.number(-most, most, "a literal")));
    if (words.ok() && step.literals.back() == 0)
      words.fail("expected a literal, which is not 0, before this place");
  }
  words.expect("by");
  do
    step.reasons.push_back(unsigned(words.number(1, most, "a clause")));
  while (words.ok() && !words.atLineEnd());
  words.endLine();
  return step;
}

SearchProof CertificateReader::readSearch() {
  SearchProof search;
  words.expect("search");
  search.value = words.number(1, maxProofValue, "a value");
  words.endLine();
  while (words.peek() == "clause")
    search.steps.push_back(readRefutationStep());
  return search;
}

std::vector<SumShare> CertificateReader::readShares() {
  auto key = [](const SumShare &share) {
    return std::tuple(share.target, share.first, share.count,
                      endsOf(share.link));
  };
  std::vector<SumShare> shares;
  while (words.peek() == "share") {
    words.skipWord();
    SumShare share{readRank(), readRank(), 0, {}, {}};
    share.count =
        unsigned(words.number(1, result.numRanks, "a number of ranks"));
    share.values = readValues(0);
    words.expect("on");
    share.link = readLink();
    requireAscending(shares.empty(),
                     key(shares.empty() ? share : shares.back()), key(share));
    words.endLine();
    shares.push_back(std::move(share));
  }
  return shares;
}

CommodityProof CertificateReader::readCommodity() {
  CommodityProof commodity;
  for (const char *word : {"commodity", "from"})
    words.expect(word);
  commodity.pre = readRanks();
  words.expect("to");
  commodity.post = readRanks();
  words.endLine();
  if (words.peek() == "search") {
    commodity.search = readSearch();
    return commodity;
  }
  if (words.peek() == "share") {
    commodity.shares = readShares();
    return commodity;
  }
  if (words.peek() == "gossip") {
    words.skipWord();
    commodity.gossip = words.number(1, maxProofValue, "a value");
    words.endLine();
  }
  std::vector<std::vector<unsigned>> &blocks = commodity.blocks;
  while (commodity.gossip != 0 && words.peek() == "block") {
    words.skipWord();
    std::vector<unsigned> block = readRanks();
    if (block.size() < 2)
      words.fail("expected a block of several ranks");
    requireAscending(blocks.empty(), blocks.empty() ? block : blocks.back(),
                     block);
    words.endLine();
    blocks.push_back(std::move(block));
  }
  auto key = [](const TreeProof &tree) {
    return std::tie(tree.backward, tree.roots);
  };
  std::vector<TreeProof> &trees = commodity.trees;
  while (words.peek() == "tree") {
    TreeProof tree = readTree();
    requireAscending(trees.empty(), key(trees.empty() ? tree : trees.back()),
                     key(tree));
    trees.push_back(std::move(tree));
  }
  return commodity;
}

PriceProof CertificateReader::readPriceProof() {
  PriceProof proof;
  words.expect("prices");
  words.endLine();
  proof.prices = readPrices();
  while (words.peek() == "symmetry") {
    words.skipWord();
    std::vector<unsigned> symmetry;
    while (words.ok() && symmetry.size() < numRanks())
      symmetry.push_back(readRank());
    const auto &last =
        proof.symmetries.empty() ? symmetry : proof.symmetries.back();
    requireAscending(proof.symmetries.empty(), last, symmetry);
    words.endLine();
    proof.symmetries.push_back(std::move(symmetry));
  }
  auto key = [](const CommodityProof &commodity) {
    return std::tie(commodity.pre, commodity.post);
  };
  auto &list = proof.commodities;
  while (words.peek() == "commodity") {
    CommodityProof commodity = readCommodity();
    requireAscending(list.empty(), key(list.empty() ? commodity : list.back()),
                     key(commodity));
    list.push_back(std::move(commodity));
  }
  return proof;
}

CutProof CertificateReader::readCutProof() {
  CutProof proof;
  words.expect("cut");
  proof.side = readRanks();
  words.endLine();
  proof.prices = readPrices();
  return proof;
}

DistanceProof CertificateReader::readDistanceProof() {
  DistanceProof proof;
  words.expect("distance");
  proof.src = readRank();
  proof.dst = readRank();
  words.endLine();
  return proof;
}

/// Ranks and the vertices for switches, if there are switches.
void CertificateReader::readVertices() {
  if (words.peek() != "vertices")
    return;
  words.skipWord();
  result.vertices =
      words.number(result.numRanks, Topology::maxRanks, "a number of vertices");
  words.endLine();
}

/// "end", with the hash of all before it unless the text was written by hand. A
/// proof is worth no less for a digit that does not matter, but nobody should
/// have changed it.
void CertificateReader::readSeal() {
  uint64_t found = hashOf(words.before());
  words.expect("end");
  if (!words.peek().empty() && words.hex() != found)
    words.fail("the hash at the end is not that of the text");
  words.endLine();
}

Result<Certificate> CertificateReader::read() {
  for (const char *word : {"sccl-certificate", "1"})
    words.expect(word);
  words.endLine();
  readClaim();
  words.expect("topology");
  result.topologyPrint = words.hex();
  words.endLine();
  if (words.ok() && result.kind == CollectiveKind::Custom) {
    words.expect("collective");
    result.collectivePrint = words.hex();
    words.endLine();
  }
  readVertices();
  if (words.peek() == "prices")
    result.proof = readPriceProof();
  else if (words.peek() == "cut")
    result.proof = readCutProof();
  else if (words.peek() == "distance" && result.vertices == 0)
    result.proof = readDistanceProof();
  else
    words.failWord("'prices', 'cut' or 'distance'");
  readSeal();
  if (words.ok() && !words.atEnd())
    words.fail("expected nothing after 'end'");
  if (!words.ok())
    return words.error();
  return std::move(result);
}

Result<Certificate> sccl::parseCertificate(std::string_view text) {
  return CertificateReader(text).read();
}
