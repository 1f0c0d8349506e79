//===- TimedBound.cpp - How little time bytes can take --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TimedBound.h"

#include "TimedProgram.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::advice;

struct TimedBound::Model {
  const Topology &topology;
  const Timing timing;
  std::optional<TimedProblem> problem;
  std::vector<double> crossings;
  std::vector<TimeLine> lines; ///< that were proven

  double latency() const;
  bool isSteep(double bytes, double most) const;
  Span spanAround(double middle) const;
};

TimedBound::TimedBound(const Topology &topology, const Collective &collective,
                       const Timing &timing)
    : model(new Model{topology,
                      timing,
                      makeTimedProblem(topology, collective, timing),
                      crossingTimes(timing),
                      {}}) {}

TimedBound::~TimedBound() = default;

/// What not even a word stays below.
double TimedBound::Model::latency() const {
  double most = 0;
  for (const TimedCommodity &commodity : problem->commodities)
    for (const Pair &pair : commodity.pairs)
      most = std::max(most, problem->distances[pair.src][pair.dst]);
  return most;
}

/// True if a line after all crossings grows with the bytes as fast as `most`
/// microseconds for `bytes` do, the bound of busy limits. As the least time is
/// convex in the bytes, no other line is much above it for more of them.
bool TimedBound::Model::isSteep(double bytes, double most) const {
  constexpr double nearly = 0.99;
  return std::ranges::any_of(lines, [&](const TimeLine &line) {
    return !crossings.empty() && line.span.from >= crossings.back() &&
           line.perByte * bytes >= nearly * most;
  });
}

/// From the last crossing before `time` to the first one after it; after the
/// last one times have no end.
Span TimedBound::Model::spanAround(double time) const {
  constexpr double beside = 1e-6, endless = 1e9;
  auto next = std::ranges::lower_bound(crossings, time);
  double from = next == crossings.begin() ? 0 : *std::prev(next);
  double to = next == crossings.end() ? time * endless : *next;
  return {from * (1 + beside), to * (1 - beside)};
}

double TimedBound::leastTime(double bytes, double known, double reached,
                             const Deadline &deadline) {
  constexpr unsigned most = 8;
  constexpr double closeEnough = 1.01;
  if (!model->problem)
    return known;
  const double loadBound = known;
  known = std::max(known, model->latency());
  auto use = [&](const TimeLine &line) {
    double time = line.at(bytes);
    if (time > line.span.from)
      known = std::max(known, time);
  };
  for (const TimeLine &line : model->lines)
    use(line);
  if (model->isSteep(bytes, loadBound))
    return known;
  for (unsigned i = 0; i < most && known * closeEnough < reached; ++i) {
    Span span = model->spanAround((known + reached) / 2);
    TimedProgram program(model->topology, model->timing, *model->problem, span,
                         bytes);
    std::optional<TimeLine> line = program.solve(deadline);
    if (!line)
      break;
    model->lines.push_back(*line);
    use(*line);
    // What is above is not proven there, but may be with other slots.
    if (line->at(bytes) < span.to)
      reached = std::min(reached, std::max(line->at(bytes), span.from));
  }
  return known;
}
