//===- Inversion.cpp - Schedules turned round -----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/Inversion.h"

#include "ScheduleEdits.h"

#include "sccl/Model/CollectiveFamily.h"

#include <algorithm>
#include <ranges>

using namespace sccl;

//===----------------------------------------------------------------------===//
// Inverse of a collective
//===----------------------------------------------------------------------===//

/// The first chunk with more than one rank, if any.
static std::optional<unsigned>
firstShared(const std::vector<unsigned> &ranksPerChunk) {
  auto it = std::ranges::find_if(ranksPerChunk,
                                 [](unsigned count) { return count > 1; });
  if (it == ranksPerChunk.end())
    return std::nullopt;
  return static_cast<unsigned>(it - ranksPerChunk.begin());
}

/// `set` without the chunks that have no rank in `asked`.
static RankChunkSet onlyAsked(const RankChunkSet &set,
                              const std::vector<unsigned> &asked) {
  RankChunkSet result(set.numRanks(), set.numChunks());
  for (unsigned rank = 0; rank < set.numRanks(); ++rank)
    for (unsigned chunk : set.chunksOf(rank))
      if (asked[chunk] > 0)
        result.insert(rank, chunk);
  return result;
}

static Result<Collective> inverseByConditions(const Collective &collective) {
  std::vector<unsigned> sources = ranksPerChunk(collective.pre());
  std::vector<unsigned> destinations = ranksPerChunk(collective.post());
  if (!collective.combining())
    if (std::optional<unsigned> chunk = firstShared(sources))
      return Error{quoted(collective) + " has no inverse: chunk " +
                   std::to_string(*chunk) + " is at " +
                   std::to_string(sources[*chunk]) +
                   " ranks at the start, at most 1 is allowed"};
  std::optional<unsigned> multicast = firstShared(destinations);
  if (collective.combining() && multicast)
    return Error{quoted(collective) + " has no inverse: the sum of chunk " +
                 std::to_string(*multicast) + " goes to " +
                 std::to_string(destinations[*multicast]) +
                 " ranks, at most 1 is allowed"};
  return Collective::makeCustom(
      collective.name() + "_inverse", collective.chunks(),
      /*combining=*/multicast.has_value(), collective.post(),
      onlyAsked(collective.pre(), destinations), collective.chunksPerSegment());
}

/// The number of ranks that take part; in groups, of each group, and nothing if
/// some are larger than others: then their inverses have different C.
static std::optional<unsigned> ranksTogether(const Collective &collective) {
  const RankGroups &groups = collective.groups();
  if (groups.empty())
    return collective.numRanks();
  size_t size = groups.front().size();
  if (std::ranges::any_of(
          groups, [&](const auto &group) { return group.size() != size; }))
    return std::nullopt;
  return unsigned(size);
}

Result<Collective> sccl::inverseOf(const Collective &collective) {
  std::optional<unsigned> together = ranksTogether(collective);
  bool isGrouped = !collective.groups().empty();
  // Chunks of an all_to_all keep their numbers in groups.
  if (!together ||
      (isGrouped && collective.groupKind() == CollectiveKind::AllToAll))
    return inverseByConditions(collective);
  unsigned ranks = *together, chunks = collective.chunks();
  auto named = [&](CollectiveKind kind, unsigned count) {
    CollectiveFamily family{kind, collective.root(), collective.groups()};
    return family.make(collective.numRanks(), count);
  };
  switch (collective.groupKind()) {
  case CollectiveKind::AllGather:
    return named(CollectiveKind::ReduceScatter, chunks * ranks);
  case CollectiveKind::ReduceScatter:
    return named(CollectiveKind::AllGather, chunks / ranks);
  case CollectiveKind::Broadcast:
    return named(CollectiveKind::Reduce, chunks);
  case CollectiveKind::Reduce:
    return named(CollectiveKind::Broadcast, chunks);
  case CollectiveKind::Gather:
    return named(CollectiveKind::Scatter, chunks * ranks);
  case CollectiveKind::Scatter:
    return named(CollectiveKind::Gather, chunks / ranks);
  case CollectiveKind::AllToAll:
    return collective;
  case CollectiveKind::AllReduce:
  case CollectiveKind::Custom:
    break;
  }
  return inverseByConditions(collective);
}

//===----------------------------------------------------------------------===//
// Inverse of a schedule
//===----------------------------------------------------------------------===//

/// The number that `chunk` of `collective` has in its inverse.
static unsigned inverseChunk(const Collective &collective, unsigned chunk) {
  if (collective.kind() != CollectiveKind::AllToAll)
    return chunk;
  unsigned perRank = collective.chunks();
  unsigned perPair = collective.chunksPerSegment();
  unsigned source = chunk / perRank, destination = chunk % perRank / perPair;
  return destination * perRank + source * perPair + chunk % perPair;
}

Result<Implementation> sccl::invert(const Implementation &implementation) {
  if (std::optional<Error> error = checkNumbers(implementation))
    return *error;
  const auto &[collective, schedule] = implementation;
  Result<Collective> inverse = inverseOf(collective);
  if (!inverse)
    return Error{inverse.error()};
  SendAction action =
      inverse->combining() ? SendAction::Reduce : SendAction::Copy;
  RankChunkSet held = inverse->pre();
  Schedule result;
  result.period = schedule.period;
  for (const Step &step : std::views::reverse(schedule.steps)) {
    Step &turned = result.steps.emplace_back();
    turned.rounds = step.rounds;
    for (const Send &send : step.sends)
      turned.sends.push_back({inverseChunk(collective, send.chunk), send.dst,
                              send.src, action, SendPayload::Current,
                              turnedRound(send.transport)});
    keepUseful(turned, inverse->combining(), held);
  }
  return Implementation{std::move(*inverse), std::move(result)};
}
