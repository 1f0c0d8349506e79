//===- TecclDemands.cpp - Demands of TE-CCL -------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TecclDemands.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::exchange;

void TecclDemands::add(TecclPiece piece, unsigned to) {
  vertices.insert({piece.from, to});
  destinations[piece].insert(to);
}

std::optional<unsigned> TecclDemands::rankOf(unsigned vertex) const {
  auto found = ranks.find(vertex);
  return found == ranks.end() ? std::nullopt : std::optional(found->second);
}

std::optional<unsigned> TecclDemands::chunkOf(TecclPiece piece) const {
  auto found = chunks.find(piece);
  return found == chunks.end() ? std::nullopt : std::optional(found->second);
}

static bool areEqual(const auto &counts) {
  return std::ranges::all_of(counts, [&](const auto &each) {
    return each.second == counts.begin()->second;
  });
}

std::optional<CollectiveKind> TecclDemands::kind() const {
  using enum CollectiveKind;
  auto count = unsigned(vertices.size());
  std::map<unsigned, unsigned> perSource;
  std::map<std::pair<unsigned, unsigned>, unsigned> perPair;
  bool areForAll = true, areForOne = true;
  for (const auto &[piece, to] : destinations) {
    ++perSource[piece.from];
    ++perPair[{piece.from, *to.begin()}];
    areForAll &= to.size() + 1 == count && !to.contains(piece.from);
    areForOne &= to.size() == 1 && !to.contains(piece.from);
  }
  if (areForAll && perSource.size() == 1)
    return Broadcast;
  if (areForAll && perSource.size() == count && areEqual(perSource))
    return AllGather;
  if (areForOne && perPair.size() == size_t(count) * (count - 1) &&
      areEqual(perPair))
    return AllToAll;
  return std::nullopt;
}

/// Chunks in the order of our collective: by source, and by destination where
/// each has its own.
void TecclDemands::numberChunks(CollectiveKind kind, unsigned parts) {
  std::vector<std::pair<std::pair<unsigned, unsigned>, TecclPiece>> order;
  for (const auto &[piece, to] : destinations)
    order.push_back(
        {{piece.from, kind == CollectiveKind::AllToAll ? *to.begin() : 0},
         piece});
  std::ranges::sort(order);
  unsigned perPair = 0, next = 0;
  for (const auto &[ends, piece] : order)
    perPair += ends == order.front().first;
  for (size_t i = 0; i < order.size(); ++i) {
    // What a rank has for itself is in no file.
    if (kind == CollectiveKind::AllToAll && i % perPair == 0) {
      const auto &[from, to] = order[i].first;
      next = (ranks[from] * unsigned(ranks.size()) + ranks[to]) * perPair;
    }
    chunks[order[i].second] = next++ * parts;
  }
}

Result<Collective> TecclDemands::collective(unsigned parts) {
  std::optional<CollectiveKind> is = kind();
  if (!is)
    return Error{"the chunks are for neither an all_gather, a broadcast nor an "
                 "all_to_all"};
  for (unsigned vertex : vertices)
    ranks.try_emplace(vertex, unsigned(ranks.size()));
  auto count = unsigned(ranks.size());
  unsigned first = destinations.begin()->first.from;
  uint64_t perSource = 0;
  for (const auto &[piece, to] : destinations)
    perSource += piece.from == first;
  // A rank of an all_to_all has as many chunks for itself.
  if (*is == CollectiveKind::AllToAll)
    perSource = perSource / (count - 1) * count;
  if (perSource * parts > Collective::maxPairs)
    return Error{std::to_string(perSource * parts) + " chunks of a rank"};
  Result<Collective> collective = Collective::make(
      *is, count, unsigned(perSource * parts), ranks.at(first));
  if (collective)
    numberChunks(*is, parts);
  return collective;
}
