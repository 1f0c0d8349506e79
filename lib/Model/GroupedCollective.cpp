//===- GroupedCollective.cpp - Collectives made of others -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/Collective.h"
#include "sccl/Model/CollectiveFamily.h"

#include <algorithm>
#include <numeric>

using namespace sccl;

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

static std::string nameInGroups(CollectiveKind kind) {
  return std::string(collectiveName(kind)) + "_groups";
}

namespace {
/// Puts what groups do side by side.
class GroupJoin {
public:
  GroupJoin(unsigned numRanks, unsigned numChunks)
      : pre(numRanks, numChunks), post(numRanks, numChunks) {}

  void add(const std::vector<unsigned> &group, const Collective &part) {
    for (unsigned i = 0; i < group.size(); ++i) {
      for (unsigned chunk : part.pre().chunksOf(i))
        pre.insert(group[i], next + chunk);
      for (unsigned chunk : part.post().chunksOf(i))
        post.insert(group[i], next + chunk);
    }
    next += part.numChunks();
  }
  RankChunkSet pre, post;

private:
  unsigned next = 0; ///< the first chunk of the next group
};
} // namespace

Result<Collective> Collective::makeGrouped(CollectiveKind kind,
                                           unsigned numRanks, RankGroups groups,
                                           unsigned chunks, unsigned root) {
  if (auto error = checkRankGroups(groups, numRanks))
    return *error;
  std::vector<Collective> parts;
  uint64_t numChunks = 0;
  unsigned segment = 0;
  for (const std::vector<unsigned> &group : groups) {
    Result<Collective> part = make(kind, group.size(), chunks, root);
    if (!part)
      return Error{"in group " + printRankGroups({group}) + ": " +
                   part.error()};
    numChunks += part->numChunks();
    segment = std::gcd(segment, part->chunksPerSegment());
    parts.push_back(std::move(*part));
  }
  if (numRanks * numChunks > maxPairs)
    return Error{std::to_string(numRanks) + " ranks with " +
                 std::to_string(numChunks) + " distinct chunks are more than " +
                 std::to_string(maxPairs) + " pairs"};
  GroupJoin joined(numRanks, unsigned(numChunks));
  for (size_t i = 0; i < groups.size(); ++i)
    joined.add(groups[i], parts[i]);
  Result<Collective> result =
      makeCustom(nameInGroups(kind), chunks, isCombining(kind),
                 std::move(joined.pre), std::move(joined.post), segment);
  if (!result)
    return result;
  result->kindInGroups = kind;
  result->theRoot = isRooted(kind) ? root : 0;
  result->theGroups = std::move(groups);
  return result;
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

static RankChunkSet cutSet(const RankChunkSet &set, unsigned pieces) {
  RankChunkSet result(set.numRanks(), set.numChunks() * pieces);
  for (unsigned rank = 0; rank < set.numRanks(); ++rank)
    for (unsigned chunk : set.chunksOf(rank))
      for (unsigned piece = 0; piece < pieces; ++piece)
        result.insert(rank, chunk * pieces + piece);
  return result;
}

Result<Collective> Collective::cutChunks(const Collective &collective,
                                         unsigned pieces) {
  uint64_t numChunks = uint64_t(collective.numChunks()) * pieces;
  uint64_t chunks = uint64_t(collective.chunks()) * pieces;
  if (pieces == 0 || chunks > UINT32_MAX || numChunks > maxPairs ||
      collective.numRanks() * numChunks > maxPairs)
    return Error{"the chunks of '" + collective.name() +
                 "' cannot be cut into " + std::to_string(pieces) +
                 " pieces: there would be " + std::to_string(numChunks) +
                 " on " + std::to_string(collective.numRanks()) + " ranks"};
  return makeCustom(collective.name(), unsigned(chunks), collective.combining(),
                    cutSet(collective.pre(), pieces),
                    cutSet(collective.post(), pieces),
                    collective.chunksPerSegment() * pieces);
}

//===----------------------------------------------------------------------===//
// Families
//===----------------------------------------------------------------------===//

CollectiveFamily CollectiveFamily::of(const Collective &collective) {
  if (!collective.groups().empty())
    return {collective.groupKind(), collective.root(), collective.groups()};
  CollectiveFamily family{collective.kind(), collective.root()};
  if (collective.kind() == CollectiveKind::Custom)
    family.defined = std::make_shared<const Collective>(collective);
  return family;
}

std::string CollectiveFamily::name() const {
  if (defined)
    return defined->name();
  return groups.empty() ? std::string(collectiveName(kind))
                        : nameInGroups(kind);
}

uint64_t CollectiveFamily::unit(unsigned numRanks) const {
  if (defined)
    return defined->chunks();
  if (!sendsOneSegmentPerRank(kind))
    return 1;
  uint64_t unit = groups.empty() ? numRanks : 1;
  for (const std::vector<unsigned> &group : groups)
    unit = std::min<uint64_t>(std::lcm(unit, group.size()), UINT32_MAX);
  return unit;
}

Result<Collective> CollectiveFamily::make(unsigned numRanks,
                                          unsigned chunks) const {
  if (!defined)
    return groups.empty()
               ? Collective::make(kind, numRanks, chunks, root)
               : Collective::makeGrouped(kind, numRanks, groups, chunks, root);
  if (numRanks != defined->numRanks())
    return Error{"collective '" + defined->name() + "' is for " +
                 std::to_string(defined->numRanks()) + " ranks, got " +
                 std::to_string(numRanks)};
  if (chunks == defined->chunks())
    return *defined;
  if (chunks % defined->chunks() != 0)
    return Error{"collective '" + defined->name() + "' has " +
                 std::to_string(defined->chunks()) +
                 " chunks; C must be a multiple of that, got " +
                 std::to_string(chunks)};
  return Collective::cutChunks(*defined, chunks / defined->chunks());
}
