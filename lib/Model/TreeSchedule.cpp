//===- TreeSchedule.cpp - Schedules as trees and symmetries ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/TreeSchedule.h"

#include <numeric>

using namespace sccl;

uint64_t TreeSchedule::totalRounds() const {
  return std::accumulate(rounds.begin(), rounds.end(), uint64_t(0));
}

Rational TreeSchedule::bandwidth() const {
  return Rational(int64_t(totalRounds()), int64_t(chunks));
}

/// The sends of all chunks; nothing if they are too many.
static std::optional<uint64_t> countSends(const TreeSchedule &schedule,
                                          size_t order) {
  uint64_t sends = 0;
  for (const ChunkTree &tree : schedule.trees) {
    unsigned __int128 all =
        static_cast<unsigned __int128>(tree.count) * tree.sends.size() * order;
    if (all > Schedule::maxSends || (sends += all) > Schedule::maxSends)
      return std::nullopt;
  }
  return sends;
}

Result<Schedule> sccl::expand(const TreeSchedule &schedule,
                              const Collective &collective) {
  if (collective.kind() != schedule.kind ||
      collective.chunks() != schedule.chunks)
    return Error{
        "the trees are for '" + std::string(collectiveName(schedule.kind)) +
        "' with " + std::to_string(schedule.chunks) + " chunks, got '" +
        collective.name() + "' with " + std::to_string(collective.chunks())};
  unsigned ranks = collective.numRanks();
  std::vector<Permutation> group =
      groupElements(schedule.generators, ranks, TreeSchedule::maxElements);
  if (group.empty() || !countSends(schedule, group.size()))
    return Error{"the schedule has more than " +
                 std::to_string(Schedule::maxSends) + " sends"};
  bool isPerOrigin = schedule.kind == CollectiveKind::AllGather;
  std::vector<uint64_t> next(ranks); // number of the next chunk, per origin
  for (unsigned rank = 0; isPerOrigin && rank < ranks; ++rank)
    next[rank] = rank * schedule.chunks;
  Schedule result;
  result.period = unsigned(schedule.period);
  for (uint64_t rounds : schedule.rounds)
    result.steps.push_back({unsigned(rounds), {}});
  for (const ChunkTree &tree : schedule.trees)
    for (const Permutation &image : group) {
      uint64_t &chunk = next[isPerOrigin ? image[tree.origin] : 0];
      for (uint64_t i = 0; i < tree.count; ++i, ++chunk)
        for (const TreeSend &send : tree.sends)
          result.steps[send.step].sends.push_back(
              {uint32_t(chunk), image[send.src], image[send.dst], send.action});
    }
  result.normalize();
  return result;
}

Result<Implementation> sccl::writeOut(const TreeSchedule &schedule,
                                      CollectiveKind kind, unsigned numRanks,
                                      unsigned root) {
  if (schedule.chunks > UINT32_MAX)
    return Error{"there are more than " + std::to_string(UINT32_MAX) +
                 " chunks"};
  Result<Collective> collective = Collective::make(
      schedule.kind, numRanks, unsigned(schedule.chunks), root);
  if (!collective)
    return Error{collective.error()};
  Result<Schedule> expanded = expand(schedule, *collective);
  if (!expanded)
    return Error{expanded.error()};
  Implementation result{std::move(*collective), std::move(*expanded)};
  if (kind == schedule.kind)
    return result;
  return invert(result);
}
