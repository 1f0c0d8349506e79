//===- RankTrace.cpp - What all ranks have done ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Measure/PlanRank.h"

#include "sccl/ABI/TraceClock.h"

#include <algorithm>

using namespace sccl;

namespace {
/// What ranks gather at a time.
struct Bundle {
  uint64_t left; ///< events of this rank from here on
  scclTraceEvent events[64];
};
} // namespace

static void countFromFirst(PlanRank::Trace &trace) {
  uint64_t first = ~uint64_t(0);
  for (const std::vector<scclTraceEvent> &events : trace)
    if (!events.empty())
      first = std::min(first, events.front().begin);
  for (std::vector<scclTraceEvent> &events : trace)
    for (scclTraceEvent &event : events) {
      event.begin -= first;
      event.end -= first;
    }
}

void sccl::alignClocks(PlanRank::Trace &trace,
                       const std::vector<ClockOffset> &before,
                       const std::vector<ClockOffset> &after) {
  for (size_t rank = 0; rank < trace.size(); ++rank)
    for (scclTraceEvent &event : trace[rank]) {
      event.begin = onFirstClock(event.begin, before[rank], after[rank]);
      event.end = onFirstClock(event.end, before[rank], after[rank]);
    }
}

/// Collective. By rank, the events of all: of this one `count` from `own` on.
/// Nothing if a rank has gone.
static std::optional<PlanRank::Trace>
gatherEvents(const RankEnd &end, const scclTraceEvent *own, size_t count) {
  PlanRank::Trace trace(end.numRanks);
  bool isMore = true;
  while (isMore) {
    Bundle bundle = {count, {}};
    size_t here = std::min(count, std::size(bundle.events));
    std::copy_n(own, here, bundle.events);
    own += here;
    count -= here;
    std::vector<Bundle> all;
    if (!end.gather(bundle, all))
      return std::nullopt;
    isMore = false;
    for (unsigned rank = 0; rank < all.size(); ++rank) {
      size_t theirs =
          std::min<size_t>(all[rank].left, std::size(bundle.events));
      trace[rank].insert(trace[rank].end(), all[rank].events,
                         all[rank].events + theirs);
      isMore |= all[rank].left > theirs;
    }
  }
  return trace;
}

Result<PlanRank::Trace> PlanRank::trace() {
  std::vector<ClockOffset> clocksAfter;
  if (end.isOnSeveralHosts) {
    clocksAfter = compareClocks(end, traceClock);
    if (clocksAfter.empty() || clocksBefore.empty())
      return Error{hasGone};
  }
  HostWindow window{recordedFrom, traceClock()};
  const scclTraceEvent *own = nullptr;
  size_t count = 0;
  scclResult result = scclQueryTrace(theComm, &own, &count);
  std::string error = result == scclSuccess ? "" : scclGetLastErrorMessage();
  if (Result<bool> agreed = agree(error); !agreed)
    return Error{agreed.error()};
  std::optional<Trace> trace = gatherEvents(end, own, count);
  if (!trace)
    return Error{hasGone};
  if (end.isOnSeveralHosts)
    alignClocks(*trace, clocksBefore, clocksAfter);
  std::vector<HostWindow> windows;
  if (!isHost) {
    if (!end.gather(window, windows))
      return Error{hasGone};
    alignByMessages(*trace, windows);
  }
  countFromFirst(*trace);
  return std::move(*trace);
}
