//===- Pruning.cpp - Removal of useless sends -----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pruning.h"

#include <algorithm>
#include <cassert>
#include <ranges>

using namespace sccl;

namespace {
/// The contributors to the values of all ranks, of all chunks.
class Contributions {
public:
  using Set = std::vector<bool>; // per rank

  explicit Contributions(const Collective &collective)
      : numChunks(collective.numChunks()), numRanks(collective.numRanks()),
        sets(numRanks * numChunks, Set(numRanks)) {
    for (unsigned rank = 0; rank < numRanks; ++rank)
      for (unsigned chunk : collective.pre().chunksOf(rank))
        of(rank, chunk)[rank] = true;
  }

  Set &of(unsigned rank, unsigned chunk) {
    return sets[rank * numChunks + chunk];
  }
  Set payload(const Send &send) {
    if (send.payload == SendPayload::Current)
      return of(send.src, send.chunk);
    Set own(numRanks);
    own[send.src] = true;
    return own;
  }

private:
  const size_t numChunks;
  const unsigned numRanks;
  std::vector<Set> sets;
};
} // namespace

/// Removes the copies of what the receiver has.
static void dropIdleCopies(const Collective &collective, Schedule &schedule) {
  Contributions values(collective);
  for (Step &step : schedule.steps) {
    std::erase_if(step.sends, [&](const Send &send) {
      return send.action == SendAction::Copy &&
             values.payload(send) == values.of(send.dst, send.chunk);
    });
    // All sends read before any writes.
    std::vector<Contributions::Set> payloads;
    for (const Send &send : step.sends)
      payloads.push_back(values.payload(send));
    for (size_t i = 0; i < payloads.size(); ++i) {
      const Send &send = step.sends[i];
      Contributions::Set &value = values.of(send.dst, send.chunk);
      if (send.action == SendAction::Copy)
        value = payloads[i];
      else
        for (size_t rank = 0; rank < value.size(); ++rank)
          value[rank] = value[rank] || payloads[i][rank];
    }
  }
}

/// Removes the sends to values that nobody reads.
static void dropUnread(const Collective &collective, Schedule &schedule) {
  RankChunkSet read = collective.post();
  for (Step &step : std::views::reverse(schedule.steps)) {
    std::erase_if(step.sends, [&](const Send &send) {
      return !read.contains(send.dst, send.chunk);
    });
    // What was read after the step is read before it, unless replaced.
    RankChunkSet replaced(collective.numRanks(), collective.numChunks());
    for (const Send &send : step.sends)
      if (send.action == SendAction::Copy)
        replaced.insert(send.dst, send.chunk);
    RankChunkSet before(collective.numRanks(), collective.numChunks());
    for (unsigned rank = 0; rank < collective.numRanks(); ++rank)
      for (unsigned chunk : read.chunksOf(rank))
        if (!replaced.contains(rank, chunk))
          before.insert(rank, chunk);
    for (const Send &send : step.sends)
      if (send.payload == SendPayload::Current)
        before.insert(send.src, send.chunk);
    read = std::move(before);
  }
}

void sccl::dropUselessReductions(const Collective &collective,
                                 Schedule &schedule) {
  assert(collective.combining());
  // Without a dead send, a later copy may turn out to change nothing.
  for (size_t before = ~size_t(0); schedule.numSends() < before;) {
    before = schedule.numSends();
    dropIdleCopies(collective, schedule);
    dropUnread(collective, schedule);
  }
}

void sccl::dropUselessSends(const Collective &collective, Schedule &schedule) {
  assert(!collective.combining());

  // Forward: keep the first arrival only, so that each has one cause.
  RankChunkSet held = collective.pre();
  for (Step &step : schedule.steps)
    std::erase_if(step.sends, [&](const Send &send) {
      bool again = held.contains(send.dst, send.chunk);
      held.insert(send.dst, send.chunk);
      return again;
    });

  // Backward: an arrival is needed if it is asked for, or if a later send that
  // is needed starts from it.
  RankChunkSet needed = collective.post();
  for (Step &step : std::views::reverse(schedule.steps))
    std::erase_if(step.sends, [&](const Send &send) {
      if (!needed.contains(send.dst, send.chunk))
        return true;
      needed.insert(send.src, send.chunk);
      return false;
    });
}
