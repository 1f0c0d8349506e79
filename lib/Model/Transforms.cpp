//===- Transforms.cpp - Schedules made from schedules ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Schedules may contain sends that serve nobody, which are legal. Inverted,
// such a send would start from a rank that has nothing; composed, a later one
// may bring what is there already. So both transforms replay who has what, and
// keep only what is needed.
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/Transforms.h"

#include <algorithm>
#include <ranges>

using namespace sccl;

static std::string quoted(const Collective &collective) {
  return "'" + collective.name() + "'";
}

/// Refuses numbers that would index out of bounds.
static std::optional<Error> checkNumbers(const Implementation &implementation) {
  const auto &[collective, schedule] = implementation;
  for (const Step &step : schedule.steps)
    for (const Send &send : step.sends) {
      for (unsigned rank : {send.src, send.dst})
        if (rank >= collective.numRanks())
          return Error{"rank " + std::to_string(rank) +
                       " of a send is out of range for " +
                       std::to_string(collective.numRanks()) + " ranks"};
      if (send.chunk >= collective.numChunks())
        return Error{"chunk " + std::to_string(send.chunk) +
                     " of a send is out of range for " +
                     std::to_string(collective.numChunks()) + " chunks"};
    }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Inverse of a collective
//===----------------------------------------------------------------------===//

/// The number of ranks that each chunk has in `set`.
static std::vector<unsigned> ranksPerChunk(const RankChunkSet &set) {
  std::vector<unsigned> count(set.numChunks());
  for (unsigned rank = 0; rank < set.numRanks(); ++rank)
    for (unsigned chunk : set.chunksOf(rank))
      ++count[chunk];
  return count;
}

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
      onlyAsked(collective.pre(), destinations));
}

Result<Collective> sccl::inverseOf(const Collective &collective) {
  unsigned ranks = collective.numRanks(), chunks = collective.chunks();
  auto named = [&](CollectiveKind kind, unsigned count) {
    return Collective::make(kind, ranks, count, collective.root());
  };
  switch (collective.kind()) {
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

/// Keeps the sends of one step that move something: their source has it, and,
/// unless it is summed up, their destination does not. Updates `held`.
static void keepUseful(Step &step, bool combining, RankChunkSet &held) {
  std::erase_if(step.sends, [&](const Send &send) {
    return !held.contains(send.src, send.chunk) ||
           (!combining && held.contains(send.dst, send.chunk));
  });
  // Of several sends that bring the same to a rank the first is enough.
  std::ranges::sort(step.sends);
  std::erase_if(step.sends, [&](const Send &send) {
    bool again = held.contains(send.dst, send.chunk);
    held.insert(send.dst, send.chunk);
    return again && !combining;
  });
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
  for (const Step &step : std::views::reverse(schedule.steps)) {
    Step &turned = result.steps.emplace_back();
    turned.rounds = step.rounds;
    for (const Send &send : step.sends)
      turned.sends.push_back(
          {inverseChunk(collective, send.chunk), send.dst, send.src, action});
    keepUseful(turned, inverse->combining(), held);
  }
  return Implementation{std::move(*inverse), std::move(result)};
}

//===----------------------------------------------------------------------===//
// Composition
//===----------------------------------------------------------------------===//

/// Why the state after `first` is not that before `second`.
static std::optional<Error> checkJoint(const Collective &first,
                                       const Collective &second) {
  std::string pair =
      "cannot compose " + quoted(first) + " with " + quoted(second) + ": ";
  if (second.combining())
    return Error{pair + "the second must not combine"};
  const RankChunkSet &after = first.post(), &before = second.pre();
  auto shape = [](const RankChunkSet &set) {
    return std::to_string(set.numRanks()) + " ranks and " +
           std::to_string(set.numChunks()) + " chunks";
  };
  if (after.numRanks() != before.numRanks() ||
      after.numChunks() != before.numChunks())
    return Error{pair + "the first has " + shape(after) + ", the second " +
                 shape(before)};
  for (unsigned rank = 0; rank < after.numRanks(); ++rank)
    for (unsigned chunk = 0; chunk < after.numChunks(); ++chunk)
      if (after.contains(rank, chunk) != before.contains(rank, chunk)) {
        bool has = after.contains(rank, chunk);
        return Error{
            pair + "rank " + std::to_string(rank) + (has ? " has" : " lacks") +
            " chunk " + std::to_string(chunk) + " after the first, but " +
            (has ? "must not have" : "needs") + " it before the second"};
      }
  return std::nullopt;
}

/// The collective that leads from `pre` of `first` to `post` of `second`.
static Result<Collective> joinCollectives(const Collective &first,
                                          const Collective &second) {
  for (CollectiveKind kind : allCollectiveKinds())
    for (unsigned root : {first.root(), second.root()}) {
      Result<Collective> named =
          Collective::make(kind, first.numRanks(), first.chunks(), root);
      if (named && named->combining() == first.combining() &&
          named->pre() == first.pre() && named->post() == second.post())
        return named;
    }
  return Collective::makeCustom(first.name() + "_" + second.name(),
                                first.chunks(), first.combining(), first.pre(),
                                second.post());
}

/// The ranks that have the full value of a chunk at the end. Contributions in a
/// schedule that the checker accepts never overlap, so counting them tells.
static RankChunkSet completeAfter(const Implementation &implementation) {
  const auto &[collective, schedule] = implementation;
  const size_t numChunks = collective.numChunks();
  std::vector<unsigned> full(numChunks, 1);
  if (collective.combining())
    full = ranksPerChunk(collective.pre());
  std::vector<unsigned> parts(collective.numRanks() * numChunks);
  for (unsigned rank = 0; rank < collective.numRanks(); ++rank)
    for (unsigned chunk : collective.pre().chunksOf(rank))
      parts[rank * numChunks + chunk] = 1;
  for (const Step &step : schedule.steps) {
    std::vector<unsigned> carried;
    for (const Send &send : step.sends)
      carried.push_back(send.payload == SendPayload::Input
                            ? 1
                            : parts[send.src * numChunks + send.chunk]);
    for (size_t i = 0; i < carried.size(); ++i) {
      const Send &send = step.sends[i];
      unsigned &value = parts[send.dst * numChunks + send.chunk];
      value =
          send.action == SendAction::Reduce ? value + carried[i] : carried[i];
    }
  }
  RankChunkSet result(collective.numRanks(), collective.numChunks());
  for (unsigned rank = 0; rank < collective.numRanks(); ++rank)
    for (unsigned chunk = 0; chunk < numChunks; ++chunk)
      if (parts[rank * numChunks + chunk] >= full[chunk] && full[chunk] > 0)
        result.insert(rank, chunk);
  return result;
}

Result<Implementation> sccl::compose(const Implementation &first,
                                     const Implementation &second) {
  for (const Implementation *part : {&first, &second})
    if (std::optional<Error> error = checkNumbers(*part))
      return *error;
  if (auto error = checkJoint(first.collective, second.collective))
    return *error;
  Result<Collective> collective =
      joinCollectives(first.collective, second.collective);
  if (!collective)
    return Error{collective.error()};
  RankChunkSet held = completeAfter(first);
  Schedule schedule = first.schedule;
  for (const Step &step : second.schedule.steps) {
    Step &next = schedule.steps.emplace_back(step);
    // The inputs of the second are values of the first.
    for (Send &send : next.sends)
      send.payload = SendPayload::Current;
    keepUseful(next, /*combining=*/false, held);
  }
  schedule.normalize();
  return Implementation{std::move(*collective), std::move(schedule)};
}

Result<Implementation> sccl::composeAllReduce(const Implementation &onReversed,
                                              const Implementation &allGather) {
  for (const Implementation *part : {&onReversed, &allGather})
    if (part->collective.kind() != CollectiveKind::AllGather)
      return Error{"all_reduce is composed of two all_gather schedules, got " +
                   quoted(part->collective)};
  Result<Implementation> reduceScatter = invert(onReversed);
  if (!reduceScatter)
    return reduceScatter;
  return compose(*reduceScatter, allGather);
}
