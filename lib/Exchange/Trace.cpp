//===- Trace.cpp - Order of events ----------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Trace.h"

using namespace sccl;
using namespace sccl::exchange;

/// Says for each block that is stuck, and that others do not merely follow,
/// what its next event waits for.
static void explainDeadlock(const Trace &trace,
                            const std::vector<uint32_t> &missing,
                            Findings &findings) {
  auto isStuck = [&](uint32_t event) { return missing[event] > 0; };
  for (uint32_t event = 0; event < trace.events.size(); ++event) {
    if (!isStuck(event) || (!trace.isFirst(event) && isStuck(event - 1)))
      continue;
    const Event &stuck = trace.events[event];
    std::optional<uint32_t> culprit;
    trace.needed(event, [&](uint32_t other) {
      if (!culprit && isStuck(other))
        culprit = other;
    });
    findings.add(stuck.place, "deadlock: rank " + std::to_string(stuck.rank) +
                                  " waits for ever for line " +
                                  trace.events[*culprit].place.str() +
                                  " of rank " +
                                  std::to_string(trace.events[*culprit].rank));
  }
}

std::optional<std::vector<uint32_t>> exchange::orderEvents(const Trace &trace,
                                                           Findings &findings) {
  size_t count = trace.events.size();
  std::vector<uint32_t> missing(count), heads(count + 1), next;
  for (uint32_t event = 0; event < count; ++event)
    trace.needed(event, [&](uint32_t other) {
      ++missing[event];
      ++heads[other + 1];
    });
  for (size_t i = 0; i < count; ++i)
    heads[i + 1] += heads[i];
  next.resize(heads[count]);
  std::vector<uint32_t> at(heads.begin(), heads.end() - 1);
  for (uint32_t event = 0; event < count; ++event)
    trace.needed(event, [&](uint32_t other) { next[at[other]++] = event; });
  std::vector<uint32_t> order;
  order.reserve(count);
  for (uint32_t event = 0; event < count; ++event)
    if (missing[event] == 0)
      order.push_back(event);
  for (size_t i = 0; i < order.size(); ++i)
    for (uint32_t k = heads[order[i]]; k < heads[order[i] + 1]; ++k)
      if (--missing[next[k]] == 0)
        order.push_back(next[k]);
  if (order.size() == count)
    return order;
  explainDeadlock(trace, missing, findings);
  return std::nullopt;
}
