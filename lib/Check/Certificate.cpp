//===- Certificate.cpp - Claims and their text form -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything is sorted before it is hashed or printed, so that the order in
// which a topology was built does not show.
//
//===----------------------------------------------------------------------===//

#include "sccl/Check/Certificate.h"

#include "CertificateGraph.h"
#include "Hash.h"

#include "sccl/Model/RanksByChunk.h"
#include "sccl/Model/TopologyIdentity.h"

#include <algorithm>
#include <map>
#include <numeric>

using namespace sccl;
using namespace sccl::certificate;

//===----------------------------------------------------------------------===//
// Fingerprints and claims
//===----------------------------------------------------------------------===//

uint64_t sccl::fingerprint(const Topology &topology) {
  TopologyIdentity identity = identityOf(topology);
  Hash hash;
  auto addLinks = [&hash](const std::vector<TopologyIdentity::Link> &links) {
    hash.add(links.size());
    for (auto [src, dst] : links) {
      hash.add(src);
      hash.add(dst);
    }
  };
  hash.add(identity.numRanks);
  addLinks(identity.links);
  for (const auto &[links, bandwidth] : identity.limits) {
    hash.add(bandwidth);
    addLinks(links);
  }
  for (const Switch &joined : identity.switches) {
    hash.add(joined.multicast + 2 * joined.reduces + 4 * joined.ownCopies);
    hash.add(joined.ranks.size());
    for (unsigned rank : joined.ranks)
      hash.add(rank);
  }
  return hash.value();
}

uint64_t sccl::fingerprint(const Collective &collective) {
  std::map<ChunkEnds, unsigned> counts = countByEnds(collective);
  unsigned divisor = collective.chunks();
  for (const auto &[ends, count] : counts)
    divisor = std::gcd(divisor, count);
  Hash hash;
  hash.add(collective.chunks() / divisor);
  hash.add(collective.combining());
  for (const auto &[ends, count] : counts) {
    hash.add(count / divisor);
    for (const auto *ranks : {&ends.first, &ends.second}) {
      hash.add(ranks->size());
      for (unsigned rank : *ranks)
        hash.add(rank);
    }
  }
  return hash.value();
}

Certificate sccl::makeClaim(const Topology &topology,
                            const Collective &collective,
                            std::optional<unsigned> steps) {
  Certificate claim;
  claim.kind = collective.kind();
  claim.root = isRooted(claim.kind) ? collective.root() : 0;
  if (claim.kind == CollectiveKind::Custom)
    claim.collectivePrint = fingerprint(collective);
  claim.numRanks = topology.numRanks();
  claim.topologyPrint = fingerprint(topology);
  claim.steps = steps;
  return claim;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

std::string sccl::claimText(const Certificate &certificate,
                            std::string_view name) {
  if (name.empty() || certificate.kind != CollectiveKind::Custom)
    name = collectiveName(certificate.kind);
  std::string text = "no schedule of " + std::string(name);
  if (isRooted(certificate.kind))
    text += " root " + std::to_string(certificate.root);
  text += " on " + std::to_string(certificate.numRanks) + " ranks with ";
  text += certificate.steps ? std::to_string(*certificate.steps) : "any";
  text += " steps ";
  if (certificate.order.isTree())
    text += "and order " + certificate.order.toString() + " ";
  if (!certificate.bound)
    return text + "exists";
  return text + (certificate.pipelined ? "has load below " : "has R/C below ") +
         certificate.bound->str();
}

template <typename Number>
static void printNumbers(std::string &text, const std::vector<Number> &values) {
  for (Number value : values)
    text.append(1, ' ').append(std::to_string(value));
}

static void printPrices(std::string &text,
                        const std::vector<LimitPrices> &prices) {
  for (const LimitPrices &price : prices) {
    text += "price";
    printNumbers(text, price.values);
    text += " on";
    for (const Link &link : price.links)
      text.append(1, ' ').append(linkText(link));
    text += "\n";
  }
}

static void printTree(std::string &text, const TreeProof &tree) {
  text += tree.backward ? "tree into" : "tree from";
  printNumbers(text, tree.roots);
  text += "\narrive";
  printNumbers(text, tree.arrivals);
  text += "\n";
  for (const RelayValues &relay : tree.relays) {
    text += "relay";
    printNumbers(text, relay.values);
    text += " on " + linkText(relay.link) + "\n";
  }
  for (const PathPrices &path : tree.paths) {
    text += "path " + std::to_string(path.target);
    printNumbers(text, path.values);
    text += " on " + linkText(path.link) + "\n";
  }
}

static void printSearch(std::string &text, const SearchProof &search) {
  text += "search " + std::to_string(search.value) + "\n";
  for (const RefutationStep &step : search.steps) {
    text += "clause";
    printNumbers(text, step.literals);
    text += " by";
    printNumbers(text, step.reasons);
    text += "\n";
  }
}

static void printProof(std::string &text, const PriceProof &proof) {
  text += "prices\n";
  printPrices(text, proof.prices);
  for (const std::vector<unsigned> &symmetry : proof.symmetries) {
    text += "symmetry";
    printNumbers(text, symmetry);
    text += "\n";
  }
  for (const CommodityProof &commodity : proof.commodities) {
    text += "commodity from";
    printNumbers(text, commodity.pre);
    text += " to";
    printNumbers(text, commodity.post);
    text += "\n";
    if (commodity.search)
      printSearch(text, *commodity.search);
    if (commodity.gossip != 0)
      text += "gossip " + std::to_string(commodity.gossip) + "\n";
    for (const std::vector<unsigned> &block : commodity.blocks) {
      text += "block";
      printNumbers(text, block);
      text += "\n";
    }
    for (const TreeProof &tree : commodity.trees)
      printTree(text, tree);
    for (const SumShare &share : commodity.shares) {
      text += "share";
      printNumbers(text, std::vector{share.target, share.first, share.count});
      printNumbers(text, share.values);
      text += " on " + linkText(share.link) + "\n";
    }
  }
}

static void printProof(std::string &text, const CutProof &proof) {
  text += "cut";
  printNumbers(text, proof.side);
  text += "\n";
  printPrices(text, proof.prices);
}

static void printProof(std::string &text, const DistanceProof &proof) {
  text += "distance " + std::to_string(proof.src) + " " +
          std::to_string(proof.dst) + "\n";
}

std::string sccl::printCertificate(const Certificate &certificate) {
  std::string text = "sccl-certificate 1\n" + claimText(certificate) + "\n";
  text += "topology " + hexText(certificate.topologyPrint) + "\n";
  if (certificate.kind == CollectiveKind::Custom)
    text += "collective " + hexText(certificate.collectivePrint) + "\n";
  if (certificate.vertices != 0)
    text += "vertices " + std::to_string(certificate.vertices) + "\n";
  std::visit([&text](const auto &proof) { printProof(text, proof); },
             certificate.proof);
  return text + "end " + hexText(hashOf(text)) + "\n";
}
