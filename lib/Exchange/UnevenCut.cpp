//===- UnevenCut.cpp - Chunks for counts that engines take ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Exchange/UnevenCut.h"

#include <algorithm>
#include <bit>

using namespace sccl;
using namespace sccl::exchange;

/// The first part of a chunk; the larger ones come first.
static unsigned firstPart(unsigned chunk, unsigned chunks, unsigned parts) {
  return chunk * (parts / chunks) + std::min(chunk, parts % chunks);
}

double exchange::unevenness(unsigned chunks, unsigned parts) {
  unsigned largest = firstPart(1, chunks, parts);
  return double(largest) * chunks / parts - 1;
}

unsigned exchange::cutForPowersOfTwo(unsigned chunks) {
  unsigned parts = std::bit_ceil(chunks);
  for (unsigned i = 0; i < 5 && unevenness(chunks, parts) > 0.05; ++i)
    parts *= 2;
  return parts;
}

Result<CutSchedule> exchange::cutUnevenly(const Collective &collective,
                                          const Schedule &schedule,
                                          unsigned parts) {
  unsigned chunks = collective.chunksPerSegment();
  if (collective.kind() == CollectiveKind::Custom)
    return Error{"'" + collective.name() +
                 "' has no keyword, so that it is not cut"};
  uint64_t all = uint64_t(collective.chunks()) / chunks * parts;
  if (parts < chunks || all > Collective::maxPairs)
    return Error{std::to_string(parts) + " parts for " +
                 std::to_string(chunks) + " chunks"};
  Result<Collective> cut =
      Collective::make(collective.kind(), collective.numRanks(), unsigned(all),
                       collective.root());
  if (!cut)
    return Error{cut.error()};
  CutSchedule result{std::move(*cut), schedule};
  result.schedule.period = 0;
  uint64_t sends = 0;
  for (Step &step : result.schedule.steps) {
    std::vector<Send> whole = std::move(step.sends);
    step.sends.clear();
    for (const Send &send : whole) {
      unsigned place = send.chunk % chunks;
      unsigned segment = send.chunk / chunks * parts;
      for (unsigned i = firstPart(place, chunks, parts);
           i < firstPart(place + 1, chunks, parts); ++i) {
        step.sends.push_back(send);
        step.sends.back().chunk = segment + i;
      }
    }
    sends += step.sends.size();
    if (sends > Schedule::maxSends)
      return Error{"more than " + std::to_string(Schedule::maxSends) +
                   " sends"};
  }
  result.schedule.normalize();
  return result;
}
