//===- ProblemFacts.cpp - What a plan says about its problem --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProblemFacts.h"

#include "sccl/Model/InPlace.h"
#include "sccl/Model/TopologyIdentity.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

#include <algorithm>

using namespace sccl;

/// The SHA-256 of what a topology is.
static std::string fingerprint(const Topology &topology) {
  TopologyIdentity identity = identityOf(topology);
  std::string text = "ranks " + std::to_string(identity.numRanks);
  auto add = [&text](const TopologyIdentity::Link &link) {
    text +=
        " " + std::to_string(link.first) + ">" + std::to_string(link.second);
  };
  text += "\nlinks";
  llvm::for_each(identity.links, add);
  for (const auto &[links, bandwidth] : identity.limits) {
    text += "\nlimit " + std::to_string(bandwidth);
    llvm::for_each(links, add);
  }
  llvm::SHA256 hash;
  hash.update(text);
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

/// The buffers of every rank of `collective`.
static std::vector<plan::RankLayout> layoutOf(const Collective &collective) {
  int perSegment = collective.chunksPerSegment();
  std::vector<plan::RankLayout> layout;
  for (unsigned rank = 0; rank < collective.numRanks(); ++rank) {
    plan::RankLayout &entry = layout.emplace_back();
    entry.inputSegments = collective.inputSlots(rank) / perSegment;
    entry.outputSegments = collective.outputSlots(rank) / perSegment;
    if (std::optional<int64_t> slots = findInPlaceOffset(collective, rank))
      entry.inPlaceOffset = *slots / perSegment;
  }
  return layout;
}

/// The segments that a sending rank's buffer has: the L of the cost model.
static unsigned sendSegments(const Collective &collective) {
  unsigned most = 0;
  for (unsigned rank = 0; rank < collective.numRanks(); ++rank)
    most = std::max(most, collective.inputSlots(rank));
  return most / collective.chunksPerSegment();
}

/// The segments that `chunks` of a rank make.
static std::vector<unsigned> toSegments(const std::vector<unsigned> &chunks,
                                        unsigned perSegment) {
  std::vector<unsigned> segments;
  for (unsigned chunk : chunks)
    if (chunk % perSegment == 0)
      segments.push_back(chunk / perSegment);
  return segments;
}

/// What a plan must say of a user-defined collective; its name tells nothing.
/// Segments, which may be cut into other numbers of chunks by each schedule.
static std::optional<plan::Conditions>
conditionsOf(const Collective &collective) {
  if (collective.kind() != CollectiveKind::Custom)
    return std::nullopt;
  plan::Conditions conditions;
  unsigned perSegment = collective.chunksPerSegment();
  conditions.chunks = std::max(collective.chunks() / perSegment, 1u);
  conditions.distinct = collective.numChunks() / perSegment;
  for (unsigned rank = 0; rank < collective.numRanks(); ++rank) {
    conditions.pre.push_back(
        toSegments(collective.pre().chunksOf(rank), perSegment));
    conditions.post.push_back(
        toSegments(collective.post().chunksOf(rank), perSegment));
  }
  return conditions;
}

plan::Manifest sccl::describeProblem(const Collective &collective,
                                     const Topology &topology) {
  plan::Manifest manifest;
  manifest.collective = collective.name();
  manifest.ranks = collective.numRanks();
  manifest.root = collective.root();
  manifest.combining = collective.combining();
  manifest.sendSegments = sendSegments(collective);
  manifest.layout = layoutOf(collective);
  manifest.conditions = conditionsOf(collective);
  manifest.topology = topology.name();
  manifest.fingerprint = fingerprint(topology);
  return manifest;
}
