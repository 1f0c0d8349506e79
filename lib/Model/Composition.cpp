//===- Composition.cpp - One schedule after another -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/Composition.h"

#include "ScheduleEdits.h"

#include "sccl/Model/CollectiveFamily.h"
#include "sccl/Model/Scaling.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <ranges>

using namespace sccl;

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
      CollectiveFamily family{kind, root, first.groups()};
      Result<Collective> named = family.make(first.numRanks(), first.chunks());
      if (named && named->combining() == first.combining() &&
          named->pre() == first.pre() && named->post() == second.post())
        return named;
    }
  return Collective::makeCustom(first.name() + "_" + second.name(),
                                first.chunks(), first.combining(), first.pre(),
                                second.post());
}

namespace {
/// The number of contributions in what ranks have of chunks. Contributions in a
/// schedule that the checker accepts never overlap, so counting them tells.
class ContributionCounts {
public:
  explicit ContributionCounts(const Collective &collective)
      : numChunks(collective.numChunks()),
        values(collective.numRanks() * numChunks) {
    for (unsigned rank = 0; rank < collective.numRanks(); ++rank)
      for (unsigned chunk : collective.pre().chunksOf(rank))
        values[rank * numChunks + chunk] = 1;
  }
  void replay(const Step &step) {
    std::vector<unsigned> carried;
    for (const Send &send : step.sends)
      carried.push_back(countOf(send));
    for (size_t i = 0; i < carried.size(); ++i) {
      const Send &send = step.sends[i];
      size_t place = send.dst * numChunks + send.chunk;
      if (send.keep)
        kept[{place, send.keep}] = carried[i];
      if (send.action == SendAction::Reduce)
        values[place] += carried[i];
      else if (send.action == SendAction::Copy)
        values[place] = carried[i];
    }
  }
  unsigned valueOf(unsigned rank, unsigned chunk) const {
    return values[rank * numChunks + chunk];
  }

private:
  unsigned countOf(const Send &send) {
    size_t place = send.src * numChunks + send.chunk;
    if (send.payload == SendPayload::Current)
      return values[place];
    unsigned count = send.payload == SendPayload::Input ? 1 : 0;
    send.forEachKept([&](unsigned number) { count += kept[{place, number}]; });
    return count;
  }

  const size_t numChunks;
  std::vector<unsigned> values;
  /// By rank and chunk, and number.
  std::map<std::pair<size_t, unsigned>, unsigned> kept;
};
} // namespace

/// The ranks that have the full value of a chunk at the end.
static RankChunkSet completeAfter(const Implementation &implementation) {
  const auto &[collective, schedule] = implementation;
  const size_t numChunks = collective.numChunks();
  std::vector<unsigned> full(numChunks, 1);
  if (collective.combining())
    full = ranksPerChunk(collective.pre());
  ContributionCounts counts(collective);
  for (const Step &step : schedule.steps)
    counts.replay(step);
  RankChunkSet result(collective.numRanks(), collective.numChunks());
  for (unsigned rank = 0; rank < collective.numRanks(); ++rank)
    for (unsigned chunk = 0; chunk < numChunks; ++chunk)
      if (counts.valueOf(rank, chunk) >= full[chunk] && full[chunk] > 0)
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
  bool pipelined =
      first.schedule.isPipelined() && second.schedule.isPipelined();
  schedule.period =
      pipelined ? first.schedule.period + second.schedule.period : 0;
  schedule.normalize();
  return Implementation{std::move(*collective), std::move(schedule)};
}

Result<Implementation> sccl::joinSum(const Implementation &reduceScatter,
                                     const Implementation &gather,
                                     uint64_t mostChunks, uint64_t mostSends) {
  uint64_t own = reduceScatter.collective.chunksPerSegment();
  uint64_t segments = reduceScatter.collective.chunks() / own;
  uint64_t chunks = std::lcm(own, uint64_t(gather.collective.chunks()));
  uint64_t sends =
      chunks / own * reduceScatter.schedule.numSends() +
      chunks / gather.collective.chunks() * gather.schedule.numSends();
  if (chunks > mostChunks || sends > mostSends)
    return Error{quoted(reduceScatter.collective) + " and " +
                 quoted(gather.collective) + " have " + std::to_string(chunks) +
                 " chunks for each rank and " + std::to_string(sends) +
                 " sends, the limits are " + std::to_string(mostChunks) +
                 " and " + std::to_string(mostSends)};
  Result<Implementation> first = withChunks(reduceScatter, chunks * segments),
                         second = withChunks(gather, chunks);
  if (!first || !second)
    return first ? second : first;
  return compose(*first, *second);
}

Result<Implementation> sccl::composeAllReduce(const Implementation &onReversed,
                                              const Implementation &allGather) {
  for (const Implementation *part : {&onReversed, &allGather})
    if (part->collective.groupKind() != CollectiveKind::AllGather)
      return Error{"all_reduce is composed of two all_gather schedules, got " +
                   quoted(part->collective)};
  uint64_t chunks = std::lcm(uint64_t(onReversed.collective.chunks()),
                             uint64_t(allGather.collective.chunks()));
  Result<Implementation> before = withChunks(onReversed, chunks);
  Result<Implementation> after = withChunks(allGather, chunks);
  for (const Result<Implementation> *part : {&before, &after})
    if (!*part)
      return *part;
  Result<Implementation> reduceScatter = invert(*before);
  if (!reduceScatter)
    return reduceScatter;
  return compose(*reduceScatter, *after);
}
