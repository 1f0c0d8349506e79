//===- RankTrace.cpp - What all ranks have done ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Measure/PlanRank.h"

#include <algorithm>

using namespace sccl;

namespace {
/// What ranks gather at a time.
struct Bundle {
  uint64_t left; ///< events of this rank from here on
  scclTraceEvent events[64];
};
} // namespace

/// Of several hosts the clocks differ.
static void countFromFirst(PlanRank::Trace &trace, bool isOnSeveralHosts) {
  uint64_t first = ~uint64_t(0);
  for (const std::vector<scclTraceEvent> &events : trace)
    if (!events.empty())
      first = std::min(first, events.front().begin);
  for (std::vector<scclTraceEvent> &events : trace) {
    if (isOnSeveralHosts && !events.empty())
      first = events.front().begin;
    for (scclTraceEvent &event : events) {
      event.begin -= first;
      event.end -= first;
    }
  }
}

Result<PlanRank::Trace> PlanRank::trace() {
  const scclTraceEvent *own = nullptr;
  size_t left = 0;
  scclResult result = scclQueryTrace(theComm, &own, &left);
  std::string error = result == scclSuccess ? "" : scclGetLastErrorMessage();
  if (Result<bool> agreed = agree(error); !agreed)
    return Error{agreed.error()};
  Trace trace(end.numRanks);
  bool isMore = true;
  while (isMore) {
    Bundle bundle = {left, {}};
    size_t count = std::min(left, std::size(bundle.events));
    std::copy_n(own, count, bundle.events);
    own += count;
    left -= count;
    std::vector<Bundle> all;
    if (!end.gather(bundle, all))
      return Error{"a rank has gone, or cannot be reached"};
    isMore = false;
    for (unsigned rank = 0; rank < all.size(); ++rank) {
      size_t here = std::min<size_t>(all[rank].left, std::size(bundle.events));
      trace[rank].insert(trace[rank].end(), all[rank].events,
                         all[rank].events + here);
      isMore |= all[rank].left > here;
    }
  }
  countFromFirst(trace, end.isOnSeveralHosts);
  return trace;
}
