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
// bounds, from one rank to a clock and back, are how far that can be from this
// rank's at most; rank 0 unless that has done nothing. Half-way between the two
// all bounds hold at once: of the lengths d, half of d(a, 0) <= w(a, b) +
// d(b, 0) and half of d(0, b) <= d(0, a) + w(a, b) add up to the bound w(a, b)
// on the two middles.
//
// Bounds contradict each other where clocks tick seldom, and in long traces,
// because clocks do not run alike. Each half of the trace is then looked at by
// itself, if that explains messages better.
//
//===----------------------------------------------------------------------===//

#include "sccl/Measure/PlanRank.h"

#include <algorithm>
#include <cmath>
#include <functional>
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
/// Of two clocks, in a nanosecond: crystals are off by less.
static constexpr double mostGrowth = 500e-6;

namespace {
struct Signal {
  unsigned rank;
  uint64_t begin;
};
/// Nothing has come at `end` that was not sent at `begin`; on the clocks of the
/// ranks.
struct Message {
  unsigned from, to;
  uint64_t begin, end;
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

/// What waits have waited for that other ranks have sent.
static std::vector<Message> messagesOf(const PlanRank::Trace &trace) {
  Signals signals;
  for (unsigned rank = 0; rank < trace.size(); ++rank)
    for (const scclTraceEvent &event : trace[rank])
      if (event.kind == scclTraceSignal)
        signals.insert({{event.flag, event.value}, {rank, event.begin}});
  std::vector<Message> messages;
  for (unsigned rank = 0; rank < trace.size(); ++rank)
    for (const scclTraceEvent &event : trace[rank]) {
      if (event.kind != scclTraceWait)
        continue;
      const Signal *signal = signalOf(signals, event);
      if (signal && signal->rank != rank)
        messages.push_back({signal->rank, rank, signal->begin, event.end});
    }
  return messages;
}

/// The least bounds by messages for each two ranks.
static Bounds boundsBy(const std::vector<Message> &messages) {
  std::map<std::pair<unsigned, unsigned>, int64_t> least;
  for (const Message &message : messages) {
    int64_t most = int64_t(message.end - message.begin);
    auto [known, isNew] = least.insert({{message.from, message.to}, most});
    if (!isNew)
      known->second = std::min(known->second, most);
  }
  Bounds bounds;
  for (const auto &[ranks, most] : least)
    bounds.push_back({ranks.first, ranks.second, most});
  return bounds;
}

/// The bounds by what the host has seen, whose number is that of ranks and
/// whose clock grows apart from the others by `growth` in a nanosecond.
static void addHost(const PlanRank::Trace &trace,
                    const std::vector<HostWindow> &windows, double growth,
                    Bounds &bounds) {
  unsigned host = trace.size();
  for (unsigned rank = 0; rank < trace.size(); ++rank) {
    if (trace[rank].empty())
      continue;
    uint64_t last = 0;
    for (const scclTraceEvent &event : trace[rank])
      last = std::max(last, event.end);
    const HostWindow &window = windows[rank];
    int64_t first = int64_t(trace[rank].front().begin);
    int64_t apart = int64_t(growth * double(window.to - window.from));
    bounds.push_back({host, rank, first - int64_t(window.from) + apart});
    bounds.push_back({rank, host, int64_t(window.to - last) + apart});
  }
}

/// How far it is from clock `first` to the others, or back. Nothing if the
/// bounds contradict each other, although each is `slack` more.
static std::optional<Distances> distances(const Bounds &bounds, size_t clocks,
                                          unsigned first, int64_t slack,
                                          bool isBack) {
  Distances result(clocks, unreached);
  result[first] = 0;
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

namespace {
struct Corrections {
  std::vector<int64_t> byClock; ///< what has to be added for the first one's
  bool isExact;                 ///< all bounds hold
};

/// What has to be added to a clock: so much at two times, and evenly more from
/// one to the other.
struct Line {
  uint64_t first = 0, second = 1;
  int64_t atFirst = 0, atSecond = 0;

  uint64_t correct(uint64_t time) const {
    double passed =
        double(int64_t(time - first)) / double(int64_t(second - first));
    double growth = passed * double(atSecond - atFirst);
    return time + uint64_t(atFirst + std::llround(growth));
  }
  /// In short traces ticks look like more than crystals are off by.
  bool isPlausible() const {
    return std::abs(double(atSecond - atFirst)) <=
           mostGrowth * double(int64_t(second - first));
  }
};
} // namespace

static Corrections correctionsOf(const Bounds &bounds, size_t clocks,
                                 unsigned first) {
  // Clocks that tick seldom contradict each other by a tick.
  for (int64_t slack = 0;; slack = std::max<int64_t>(2 * slack, 1)) {
    auto there = distances(bounds, clocks, first, slack, /*isBack=*/false);
    auto back = distances(bounds, clocks, first, slack, /*isBack=*/true);
    if (!there || !back)
      continue;
    Corrections result{std::vector<int64_t>(clocks), slack == 0};
    for (size_t i = 0; i < clocks; ++i)
      if ((*there)[i] != unreached && (*back)[i] != unreached)
        result.byClock[i] = ((*back)[i] - (*there)[i]) / 2;
    return result;
  }
}

/// By messages and the host; see addHost.
static Corrections corrections(const PlanRank::Trace &trace,
                               const std::vector<HostWindow> &windows,
                               const std::vector<Message> &messages,
                               unsigned first, double growth) {
  Bounds bounds = boundsBy(messages);
  addHost(trace, windows, growth, bounds);
  return correctionsOf(bounds, trace.size() + 1, first);
}

/// How much earlier than it was sent a message has come, at most.
static int64_t worst(const std::vector<Message> &messages,
                     const std::vector<Line> &lines) {
  int64_t result = INT64_MIN;
  for (const Message &message : messages)
    result =
        std::max(result, int64_t(lines[message.from].correct(message.begin) -
                                 lines[message.to].correct(message.end)));
  return result;
}

/// Clocks that do not run alike: set by the messages of each half of the trace
/// to that of rank `first`, which is `offset` off the host's.
static std::vector<Line> growingLines(const PlanRank::Trace &trace,
                                      const std::vector<HostWindow> &windows,
                                      const std::vector<Message> &messages,
                                      unsigned first, int64_t offset) {
  std::vector<Line> lines(trace.size());
  for (size_t rank = 0; rank < trace.size(); ++rank) {
    if (trace[rank].empty())
      continue;
    uint64_t begin = trace[rank].front().begin;
    uint64_t length = trace[rank].back().begin - begin;
    lines[rank].first = begin + length / 4;
    lines[rank].second = begin + length - length / 4 + 1;
  }
  for (bool isLate : {false, true}) {
    std::vector<Message> half;
    for (const Message &message : messages) {
      const Line &line = lines[message.to];
      uint64_t middle = line.first + (line.second - line.first) / 2;
      if ((message.end > middle) == isLate)
        half.push_back(message);
    }
    Corrections found = corrections(trace, windows, half, first, mostGrowth);
    for (size_t rank = 0; rank < trace.size(); ++rank)
      (isLate ? lines[rank].atSecond : lines[rank].atFirst) =
          found.byClock[rank] + offset;
  }
  return lines;
}

/// True if clocks that do not run alike have been brought closer together.
static bool alignOnce(PlanRank::Trace &trace,
                      const std::vector<HostWindow> &windows) {
  std::vector<Message> messages = messagesOf(trace);
  if (messages.empty())
    return false;
  unsigned first = 0;
  while (trace[first].empty())
    ++first;
  Corrections found = corrections(trace, windows, messages, first, 0);
  // The host knows less than messages.
  if (!found.isExact)
    found = corrections(trace, windows, messages, first, mostGrowth);
  int64_t offset = -found.byClock.back();
  std::vector<Line> lines(trace.size());
  for (size_t rank = 0; rank < trace.size(); ++rank)
    lines[rank].atFirst = lines[rank].atSecond = found.byClock[rank] + offset;
  bool grows = false;
  if (!found.isExact) {
    std::vector<Line> growing =
        growingLines(trace, windows, messages, first, offset);
    grows = std::all_of(growing.begin(), growing.end(),
                        std::mem_fn(&Line::isPlausible)) &&
            worst(messages, growing) < worst(messages, lines);
    if (grows)
      lines = growing;
  }
  for (size_t rank = 0; rank < trace.size(); ++rank)
    for (scclTraceEvent &event : trace[rank])
      for (uint64_t *time : {&event.begin, &event.end})
        *time = lines[rank].correct(*time);
  return grows;
}

void sccl::alignByMessages(PlanRank::Trace &trace,
                           const std::vector<HostWindow> &windows) {
  // What a half has got wrong, because clocks grew apart in it, is less then.
  constexpr unsigned mostTimes = 4;
  for (unsigned i = 0; i < mostTimes && alignOnce(trace, windows); ++i)
    continue;
}
