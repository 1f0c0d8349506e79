//===- MessageClocks.cpp - Clocks of several GPUs -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Let x be what has to be added to the clock of a rank. A wait at b that a
// signal at a has ended says
//
//   x(a) - x(b) <= end(b) - begin(a),
//
// and so does the host, whose clock is one more: nothing begins before it has
// asked for the trace, or ends after it has read it. Shortest paths over these
// bounds, from rank 0 to a clock and back, are how far that can be from rank
// 0's at most. Half-way between the two all bounds hold at once: of the lengths
// d, half of d(a, 0) <= w(a, b) + d(b, 0) and half of d(0, b) <= d(0, a) +
// w(a, b) add up to the bound w(a, b) on the two middles.
//
//===----------------------------------------------------------------------===//

#include "sccl/Measure/PlanRank.h"

#include <algorithm>
#include <map>
#include <optional>

using namespace sccl;

namespace {
/// x(from) - x(to) is at most `most`.
struct Bound {
  unsigned from, to;
  int64_t most;
};
using Bounds = std::vector<Bound>;
using Distances = std::vector<int64_t>;
} // namespace

static constexpr int64_t unreached = INT64_MAX;

namespace {
struct Signal {
  unsigned rank;
  uint64_t begin;
};
/// By flag and value.
using Signals = std::map<std::pair<uint64_t, uint64_t>, Signal>;
} // namespace

/// The signal that was there when `wait` ended; the first from its value on.
/// None if one before that may have been sent before anybody recorded.
static const Signal *signalOf(const Signals &signals,
                              const scclTraceEvent &wait) {
  auto signal = signals.lower_bound({wait.flag, wait.value});
  if (signal == signals.end() || signal->first.first != wait.flag)
    return nullptr;
  bool isFirst =
      signal == signals.begin() || std::prev(signal)->first.first != wait.flag;
  return isFirst && signal->first.second != wait.value ? nullptr
                                                       : &signal->second;
}

/// The bounds by signals that waits have waited for, the least for two ranks.
static Bounds boundsByMessages(const PlanRank::Trace &trace) {
  Signals signals;
  for (unsigned rank = 0; rank < trace.size(); ++rank)
    for (const scclTraceEvent &event : trace[rank])
      if (event.kind == scclTraceSignal)
        signals.insert({{event.flag, event.value}, {rank, event.begin}});
  std::map<std::pair<unsigned, unsigned>, int64_t> least;
  for (unsigned rank = 0; rank < trace.size(); ++rank)
    for (const scclTraceEvent &event : trace[rank]) {
      if (event.kind != scclTraceWait)
        continue;
      const Signal *signal = signalOf(signals, event);
      if (!signal || signal->rank == rank)
        continue;
      int64_t most = int64_t(event.end - signal->begin);
      auto [known, isNew] = least.insert({{signal->rank, rank}, most});
      if (!isNew)
        known->second = std::min(known->second, most);
    }
  Bounds bounds;
  for (const auto &[ranks, most] : least)
    bounds.push_back({ranks.first, ranks.second, most});
  return bounds;
}

/// The bounds by what the host has seen, whose number is that of ranks.
static void addHost(const PlanRank::Trace &trace,
                    const std::vector<HostWindow> &windows, Bounds &bounds) {
  unsigned host = trace.size();
  for (unsigned rank = 0; rank < trace.size(); ++rank) {
    if (trace[rank].empty())
      continue;
    uint64_t last = 0;
    for (const scclTraceEvent &event : trace[rank])
      last = std::max(last, event.end);
    int64_t first = int64_t(trace[rank].front().begin);
    bounds.push_back({host, rank, first - int64_t(windows[rank].from)});
    bounds.push_back({rank, host, int64_t(windows[rank].to - last)});
  }
}

/// How far it is from clock 0 to the others, or back. Nothing if the bounds
/// contradict each other, although each is `slack` more.
static std::optional<Distances> distances(const Bounds &bounds, size_t clocks,
                                          int64_t slack, bool isBack) {
  Distances result(clocks, unreached);
  result[0] = 0;
  for (size_t round = 0; round <= clocks; ++round) {
    bool isDone = true;
    for (const Bound &bound : bounds) {
      unsigned from = isBack ? bound.to : bound.from;
      unsigned to = isBack ? bound.from : bound.to;
      if (result[from] == unreached)
        continue;
      int64_t length = result[from] + bound.most + slack;
      if (length >= result[to])
        continue;
      result[to] = length;
      isDone = false;
    }
    if (isDone)
      return result;
  }
  return std::nullopt;
}

/// By clock, what has to be added to it for rank 0's.
static std::vector<int64_t> correctionsOf(const Bounds &bounds, size_t clocks) {
  // Clocks that tick seldom contradict each other by a tick.
  for (int64_t slack = 0;; slack = std::max<int64_t>(2 * slack, 1)) {
    auto there = distances(bounds, clocks, slack, /*isBack=*/false);
    auto back = distances(bounds, clocks, slack, /*isBack=*/true);
    if (!there || !back)
      continue;
    std::vector<int64_t> corrections(clocks);
    for (size_t i = 0; i < clocks; ++i)
      if ((*there)[i] != unreached && (*back)[i] != unreached)
        corrections[i] = ((*back)[i] - (*there)[i]) / 2;
    return corrections;
  }
}

void sccl::alignByMessages(PlanRank::Trace &trace,
                           const std::vector<HostWindow> &windows) {
  Bounds bounds = boundsByMessages(trace);
  if (bounds.empty())
    return;
  addHost(trace, windows, bounds);
  std::vector<int64_t> corrections = correctionsOf(bounds, trace.size() + 1);
  for (size_t rank = 0; rank < trace.size(); ++rank)
    for (scclTraceEvent &event : trace[rank])
      for (uint64_t *time : {&event.begin, &event.end})
        *time += uint64_t(corrections[rank] - corrections.back());
}
